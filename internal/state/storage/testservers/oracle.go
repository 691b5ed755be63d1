package testservers

import (
	"crypto"
	"crypto/md5" // #nosec G501 -- what the service wants
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Oracle is Object Storage with the bucket states in the namespace ns, as far as backends ask.
// A caller that has the private key may ask by the IDs tenancy/user/print and ST$token. Make
// it with NewOracle.
type Oracle struct {
	key *rsa.PrivateKey

	mu      sync.Mutex
	objects map[string]object
	count   int
	page    int
	fail    int
	lose    bool
	log     []Request

	certificate []byte                    // of an instance, as DER
	sessions    map[string]*rsa.PublicKey // by tokens that were handed out
}

type object struct {
	content []byte
	tag     string
	key     string // the customer's
}

// oracleKey is the same for all of a process: keys take long to make.
var oracleKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// NewOracle makes one.
func NewOracle() *Oracle {
	key := oracleKey()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{OrganizationalUnit: []string{"opc-tenant:tenancy"}}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return &Oracle{key: key, objects: map[string]object{}, certificate: certificate, sessions: map[string]*rsa.PublicKey{"token": &key.PublicKey}}
}

// Key is the private key, as PEM.
func (s *Oracle) Key() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(s.key)}))
}

// Fail has it answer that many requests with 503.
func (s *Oracle) Fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = n
}

// Lose has it take the next upload and answer with 502.
func (s *Oracle) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = true
}

// Pages has lists end after that many objects.
func (s *Oracle) Pages(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page = n
}

// Object is the content of an object, nil for none.
func (s *Oracle) Object(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[name].content
}

// Log is the requests since the last Log.
func (s *Oracle) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// ServeHTTP implements http.Handler.
func (s *Oracle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := bodyOf(r)
	if s.identify(w, r, body) {
		return
	}
	who, err := s.verify(r)
	s.log = append(s.log, Request{who, r.Method, r.URL.Path, r.Header})
	refuse := func(status int, code, message string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": message})
	}
	name, here := strings.CutPrefix(r.URL.Path, "/n/ns/b/states/o")
	name = strings.TrimPrefix(name, "/")
	o, there := s.objects[name]
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	sum := md5.Sum(body)
	switch {
	case err != nil:
		refuse(http.StatusUnauthorized, "NotAuthenticated", err.Error())
	case s.fail > 0:
		s.fail--
		refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "try again")
	case !here:
		refuse(http.StatusNotFound, "BucketNotFound", "Either the bucket does not exist in the namespace or you are not authorized to access it")
	case name == "" && r.Method == http.MethodGet:
		s.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("start"))
	case !there && r.Method != http.MethodPut:
		refuse(http.StatusNotFound, "ObjectNotFound", "The object was not found in the bucket")
	case match != "" && match != o.tag:
		refuse(http.StatusPreconditionFailed, "IfMatchFailed", "The If-Match condition did not hold")
	case none == "*" && there:
		refuse(http.StatusPreconditionFailed, "IfNoneMatchFailed", "The If-None-Match condition did not hold")
	case r.Method == http.MethodPut && r.Header.Get("Content-Md5") != base64.StdEncoding.EncodeToString(sum[:]):
		refuse(http.StatusBadRequest, "UnmatchedContentMD5", "The computed MD5 does not match")
	case r.Method == http.MethodPut:
		s.count++
		s.objects[name] = object{body, "tag-" + strconv.Itoa(s.count), r.Header.Get("Opc-Sse-Customer-Key")}
		if s.lose {
			s.lose = false
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("Etag", s.objects[name].tag)
	case r.Method == http.MethodDelete:
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	case o.key != r.Header.Get("Opc-Sse-Customer-Key"):
		refuse(http.StatusBadRequest, "InvalidSSECustomerKey", "The key isn't the one of the object")
	default:
		w.Header().Set("Etag", o.tag)
		w.Header().Set("Content-Length", strconv.Itoa(len(o.content)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(o.content)
		}
	}
}

func (s *Oracle) list(w io.Writer, prefix, start string) {
	var page struct {
		Objects       []map[string]string `json:"objects"`
		NextStartWith string              `json:"nextStartWith,omitempty"`
	}
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(name, prefix) || name < start {
			continue
		}
		if s.page > 0 && len(page.Objects) == s.page {
			page.NextStartWith = name
			break
		}
		page.Objects = append(page.Objects, map[string]string{"name": name})
	}
	_ = json.NewEncoder(w).Encode(page)
}

// Certificate is that of an instance, as PEM.
func (s *Oracle) Certificate() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.certificate}))
}

// identify is the metadata service of an instance, and the services that exchange its
// certificate, and the account "account" of a pod, for tokens.
func (s *Oracle) identify(w http.ResponseWriter, r *http.Request, body []byte) bool {
	var ask struct{ Certificate, PublicKey, PodKey string }
	_ = json.Unmarshal(body, &ask)
	switch r.URL.Path {
	case "/opc/v2/identity/cert.pem", "/opc/v2/identity/intermediate.pem", "/opc/v2/identity/key.pem":
		switch {
		case r.Header.Get("Authorization") != "Bearer Oracle":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "key.pem"):
			_, _ = io.WriteString(w, s.Key())
		default:
			_, _ = io.WriteString(w, s.Certificate())
		}
	case "/v1/x509":
		print := strings.ReplaceAll(fmt.Sprintf("% x", sha256.Sum256(s.certificate)), " ", ":")
		sum := sha256.Sum256(body)
		who, err := s.verify(r)
		if err != nil || who != "tenancy/fed-x509-sha256/"+print || ask.Certificate != base64.StdEncoding.EncodeToString(s.certificate) ||
			r.Header.Get("X-Content-Sha256") != base64.StdEncoding.EncodeToString(sum[:]) || !strings.Contains(r.Header.Get("Authorization"), "x-content-sha256") {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"token": s.session(ask.PublicKey)})
	case "/resourcePrincipalSessionTokens":
		if r.Header.Get("Authorization") != "Bearer account" {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		told, _ := json.Marshal(map[string]string{"token": "ST$" + s.session(ask.PodKey)})
		_ = json.NewEncoder(w).Encode(told) // which makes it base64
	default:
		return false
	}
	return true
}

// session is a token for a key.
func (s *Oracle) session(key string) string {
	der, _ := base64.StdEncoding.DecodeString(key)
	public, _ := x509.ParsePKIXPublicKey(der)
	token := fmt.Sprintf("session-%d", len(s.sessions))
	s.sessions[token], _ = public.(*rsa.PublicKey)
	return token
}

// verify checks the signature of a request, and reports who asks.
func (s *Oracle) verify(r *http.Request) (who string, err error) {
	said := map[string]string{}
	rest, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Signature ")
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(part, "=")
		said[name] = strings.Trim(value, `"`)
	}
	signature, err := base64.StdEncoding.DecodeString(said["signature"])
	if err != nil || len(signature) == 0 {
		return "", errors.New("there is no signature")
	}
	var lines []string
	for name := range strings.SplitSeq(said["headers"], " ") {
		value := r.Header.Get(name)
		switch name {
		case "(request-target)":
			value = strings.ToLower(r.Method) + " " + r.URL.RequestURI()
		case "host":
			value = r.Host
		}
		lines = append(lines, name+": "+value)
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	who = said["keyId"]
	key := &s.key.PublicKey
	if token, found := strings.CutPrefix(who, "ST$"); found {
		key = s.sessions[token]
	} else if who != "tenancy/user/print" && !strings.HasPrefix(who, "tenancy/fed-x509-sha256/") {
		key = nil
	}
	if key == nil {
		return "", fmt.Errorf("nobody is known as %q", who)
	}
	if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature); err != nil {
		return "", fmt.Errorf("the signature isn't right for %q", lines)
	}
	return who, nil
}
