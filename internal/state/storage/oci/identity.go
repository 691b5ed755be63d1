package oci

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/youmark/pkcs8"

	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/state/storage/rest"
)

// An identity is what requests are signed as: the id of a key and the key. Tokens end, and
// then it is found again.
type identity struct {
	id    string
	key   *rsa.PrivateKey
	until time.Time // zero for without end
}

// early is how long before their end identities are renewed.
const early = 2 * time.Minute

// who finds the identity for a request.
func (a *access) who(ctx context.Context) (*identity, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now != nil && (a.now.until.IsZero() || time.Until(a.now.until) > early) {
		return a.now, nil
	}
	find := map[string]func(context.Context) (*identity, error){
		apiKey: a.byKey, securityToken: a.byToken, instance: a.byInstance, instanceCertificate: a.byCertificate, resource: a.byResource, workload: a.byPod,
	}[a.kind]
	found, err := find(ctx)
	if err != nil {
		return nil, fmt.Errorf("no credentials were found by %s: %w", a.kind, err)
	}
	a.now = found
	return found, nil
}

// tokened is an identity by a token, whose payload says when it ends.
func tokened(token string, key *rsa.PrivateKey) (*identity, error) {
	token = strings.TrimSpace(token)
	if token == "" {
		return nil, errors.New("the token is empty")
	}
	found := &identity{id: "ST$" + token, key: key}
	if parts := strings.Split(token, "."); len(parts) == 3 {
		var said struct {
			Expires int64 `json:"exp"`
		}
		if content, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil && json.Unmarshal(content, &said) == nil && said.Expires > 0 {
			found.until = time.Unix(said.Expires, 0)
		}
	}
	return found, nil
}

// parseKey reads a private key, which may be encrypted.
func parseKey(content []byte, password string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, errors.New("the private key isn't PEM")
	}
	der := block.Bytes
	//lint:ignore SA1019 keys of users are like that
	if x509.IsEncryptedPEMBlock(block) {
		var err error
		//lint:ignore SA1019 as above
		if der, err = x509.DecryptPEMBlock(block, []byte(password)); err != nil {
			return nil, fmt.Errorf("the private key can't be decrypted: %w", err)
		}
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	var secret []byte
	if block.Type == "ENCRYPTED PRIVATE KEY" {
		secret = []byte(password)
	}
	key, err := pkcs8.ParsePKCS8PrivateKeyRSA(der, secret)
	if err != nil {
		return nil, fmt.Errorf("the private key can't be read: %w", err)
	}
	return key, nil
}

// settings are those of a profile in the files of Oracle's programs, nil without one.
func (a *access) settings() (map[string]string, error) {
	profile := a.profile
	if profile == "" {
		profile = "DEFAULT"
	}
	files := a.files
	if a.profile != "" {
		files = files[:1]
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var found map[string]string
		here := false
		for line := range strings.Lines(string(content)) {
			line = strings.TrimSpace(line)
			if name, ok := strings.CutPrefix(line, "["); ok {
				if here = name == profile+"]"; here {
					found = map[string]string{}
				}
			} else if name, value, ok := strings.Cut(line, "="); ok && here && !strings.HasPrefix(line, "#") {
				found[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
			}
		}
		if found != nil {
			return found, nil
		}
	}
	if a.profile != "" {
		return nil, fmt.Errorf("configuration file did not contain profile: there is no [%s] in %s", a.profile, files[0])
	}
	return nil, nil
}

// where is the region, of the arguments, the profile or the resource.
func (a *access) where() (string, error) {
	region := a.region
	if region == "" && a.kind == resource {
		region = a.getenv("OCI_RESOURCE_PRINCIPAL_REGION")
	}
	if region == "" {
		found, err := a.settings()
		if err != nil {
			return "", err
		}
		region = found["region"]
	}
	if region == "" && a.host == "" {
		return "", errors.New("the region of the bucket isn't known: set region or OCI_region, or write it into the profile")
	}
	return region, nil
}

// byKey is a user with a key, each part of which the arguments have or the profile.
func (a *access) byKey(context.Context) (*identity, error) {
	found := map[string]string{}
	complete := a.tenancy != "" && a.user != "" && a.print != "" && (a.key != "" || a.keyFile != "")
	if !complete {
		var err error
		if found, err = a.settings(); err != nil {
			return nil, err
		}
	}
	or := func(text, name string) string {
		if text == "" {
			return found[name]
		}
		return text
	}
	var id []string
	for _, part := range [][2]string{{a.tenancy, "tenancy"}, {a.user, "user"}, {a.print, "fingerprint"}} {
		text := or(part[0], part[1])
		if text == "" {
			return nil, fmt.Errorf("the %s isn't known: set it as an argument or in a profile", part[1])
		}
		id = append(id, text)
	}
	key, err := a.userKey(found)
	if err != nil {
		return nil, err
	}
	return &identity{id: strings.Join(id, "/"), key: key}, nil
}

// userKey is the one of the arguments, or else of the profile.
func (a *access) userKey(found map[string]string) (*rsa.PrivateKey, error) {
	if a.key != "" {
		return parseKey([]byte(strings.ReplaceAll(a.key, `\n`, "\n")), a.password)
	}
	file, password := a.keyFile, a.password
	if file == "" && found["key_file"] != "" {
		file = a.expand(found["key_file"], a.home)
	}
	if password == "" {
		password = found["pass_phrase"]
	}
	if file == "" {
		return nil, errors.New("there is no key: set private_key or private_key_path, or key_file in a profile")
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseKey(content, password)
}

// byToken is a session of the profile.
func (a *access) byToken(context.Context) (*identity, error) {
	found, err := a.settings()
	if err != nil {
		return nil, err
	}
	if found["security_token_file"] == "" {
		return nil, fmt.Errorf("the profile %s has no security_token_file", a.profile)
	}
	token, err := os.ReadFile(a.expand(found["security_token_file"], a.home))
	if err != nil {
		return nil, err
	}
	key, err := a.userKey(found)
	if err != nil {
		return nil, err
	}
	return tokened(string(token), key)
}

// content is a text, or that of the file that it is the path of.
func content(text string) ([]byte, error) {
	if filepath.IsAbs(text) {
		return os.ReadFile(text)
	}
	return []byte(text), nil
}

// byResource is what functions and their like find in their environment.
func (a *access) byResource(context.Context) (*identity, error) {
	const before = "OCI_RESOURCE_PRINCIPAL_"
	if version := a.getenv(before + "VERSION"); version != "2.2" {
		return nil, fmt.Errorf("%sVERSION is %q, and 2.2 is the only one that is known", before, version)
	}
	var parts [3][]byte
	for i, name := range []string{"RPST", "PRIVATE_PEM", "PRIVATE_PEM_PASSPHRASE"} {
		text := a.getenv(before + name)
		if text == "" && i < 2 {
			return nil, fmt.Errorf("%s isn't set", before+name)
		}
		var err error
		if parts[i], err = content(text); err != nil {
			return nil, err
		}
	}
	key, err := parseKey(parts[1], strings.TrimSpace(string(parts[2])))
	if err != nil {
		return nil, err
	}
	found, err := tokened(string(parts[0]), key)
	if err == nil && found.until.IsZero() {
		found.until = time.Now().Add(early + time.Minute) // the file is replaced now and then
	}
	return found, err
}

// byInstance asks the metadata service for the certificates of the instance.
func (a *access) byInstance(ctx context.Context) (*identity, error) {
	base, err := url.Parse(a.metadata)
	if err != nil {
		return nil, err
	}
	transport, err := a.open()
	if err != nil {
		return nil, err
	}
	client := &rest.Client{HTTP: &http.Client{Transport: transport}, Base: *base, Patience: a.patience, Header: http.Header{"Authorization": {"Bearer Oracle"}}}
	var parts [3][]byte
	for i, name := range []string{"cert.pem", "key.pem", "intermediate.pem"} {
		if _, parts[i], err = client.Do(ctx, rest.Request{Method: http.MethodGet, Path: "/identity/" + name}); err != nil {
			return nil, fmt.Errorf("the metadata service gave no %s: %w", name, err)
		}
	}
	return a.federated(ctx, parts[0], parts[1], parts[2], "")
}

// byCertificate has the certificates of an instance in files.
func (a *access) byCertificate(ctx context.Context) (*identity, error) {
	var parts [3][]byte
	for i, name := range []string{"ip_cert.pem", "ip_key.pem", "intermediate.pem"} {
		var err error
		if parts[i], err = os.ReadFile(filepath.Join(a.certificates, name)); err != nil {
			return nil, err
		}
	}
	phrase, err := os.ReadFile(filepath.Join(a.certificates, "leaf_passphrase"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return a.federated(ctx, parts[0], parts[1], parts[2], strings.TrimSpace(string(phrase)))
}

// federated exchanges the certificate of an instance for a token of a key that is made for
// this run.
func (a *access) federated(ctx context.Context, certificate, private, above []byte, phrase string) (*identity, error) {
	leaf, _ := pem.Decode(certificate)
	if leaf == nil {
		return nil, errors.New("the certificate of the instance isn't PEM")
	}
	parsed, err := x509.ParseCertificate(leaf.Bytes)
	if err != nil {
		return nil, err
	}
	tenancy := ""
	for _, name := range parsed.Subject.Names {
		if text, ok := name.Value.(string); ok && strings.HasPrefix(text, "opc-tenant:") {
			tenancy = strings.TrimPrefix(text, "opc-tenant:")
		}
	}
	own, err := parseKey(private, phrase)
	if err != nil {
		return nil, err
	}
	session, public, err := newKey()
	if err != nil {
		return nil, err
	}
	ask := map[string]any{"certificate": bare(certificate), "publicKey": base64.StdEncoding.EncodeToString(public), "intermediateCertificates": []string{bare(above)}, "fingerprintAlgorithm": "SHA256"}
	print := strings.ReplaceAll(fmt.Sprintf("% x", sha256.Sum256(leaf.Bytes)), " ", ":")
	body, err := a.post(ctx, "https://auth."+a.region+"."+a.domainOf(a.region)+"/v1/x509", ask, func(r *http.Request, body []byte) error {
		return sign(r, &identity{id: tenancy + "/fed-x509-sha256/" + print, key: own}, body)
	})
	if err != nil {
		return nil, err
	}
	var said struct{ Token string }
	if err := json.Unmarshal(body, &said); err != nil {
		return nil, fmt.Errorf("the token of the instance can't be read: %w", err)
	}
	return tokened(said.Token, session)
}

// bare is the content of PEM, in one line.
func bare(content []byte) string {
	block, _ := pem.Decode(content)
	if block == nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(block.Bytes)
}

// newKey makes a key, and the public part of it as others read it.
func newKey() (*rsa.PrivateKey, []byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	return key, public, err
}

// byPod exchanges the token of a pod's service account for one of a key that is made for
// this run.
func (a *access) byPod(ctx context.Context) (*identity, error) {
	host := a.getenv("KUBERNETES_SERVICE_HOST")
	if host == "" {
		return nil, errors.New("KUBERNETES_SERVICE_HOST isn't set, as it is in pods")
	}
	account, err := os.ReadFile(filepath.Join(a.pod, "token"))
	if err != nil {
		return nil, err
	}
	session, public, err := newKey()
	if err != nil {
		return nil, err
	}
	body, err := a.post(ctx, "https://"+host+":12250/resourcePrincipalSessionTokens", map[string]string{"podKey": base64.StdEncoding.EncodeToString(public)}, func(r *http.Request, _ []byte) error {
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(account)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	var wrapped []byte // as base64
	var said struct{ Token string }
	if err = json.Unmarshal(body, &wrapped); err == nil {
		err = json.Unmarshal(wrapped, &said)
	}
	if err != nil {
		return nil, fmt.Errorf("the token of the pod can't be read: %w", err)
	}
	return tokened(strings.TrimPrefix(said.Token, "ST$"), session)
}

// post asks a service that gives tokens.
func (a *access) post(ctx context.Context, to string, ask any, authorize func(*http.Request, []byte) error) ([]byte, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if err := authorize(request, body); err != nil {
		return nil, err
	}
	transport, err := a.open()
	if err != nil {
		return nil, err
	}
	if authority := filepath.Join(a.pod, "ca.crt"); a.kind == workload && a.transport == nil {
		trusted, err := os.ReadFile(authority)
		if err != nil {
			return nil, err
		}
		if transport, err = (rest.Trust{Authorities: trusted, Anybody: a.anybody}).Transport(); err != nil {
			return nil, err
		}
	}
	ctx, end := (&stalltimeout.Pulse{}).Watch(ctx, request.URL.Host, a.patience)
	defer end()
	response, err := transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return nil, stalltimeout.Because(ctx, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s: %.300s", request.URL.Host, response.Status, content)
	}
	return content, err
}
