package kms

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/azurerm"
	"weir.dev/weir/internal/state/storage/backendconfig"
	"weir.dev/weir/internal/state/storage/gcs"
	"weir.dev/weir/internal/state/storage/rest"
	"weir.dev/weir/internal/state/storage/s3"
)

func required(t cty.Type, description string) *schema.Attribute {
	return &schema.Attribute{Type: t, Required: true, Description: description}
}

// limit is how long a service may do nothing.
func limit(env storage.Env) (time.Duration, error) { return stalltimeout.Limit(env.Getenv) }

// An amazon keeps keys with the key management service of AWS, which makes them.
type amazon struct {
	caller    *s3.Caller
	key, spec string
	context   map[string]string
}

func specs() map[string]int {
	return map[string]int{"AES_256": 32, "AES_128": 16}
}

func amazonSchema() *schema.Block {
	s := part(s3.Schema(), []string{
		"access_key", "secret_key", "token", "profile", "region", "sts_region", "max_retries", "retry_mode",
		"skip_credentials_validation", "skip_requesting_account_id", "skip_metadata_api_check", "http_proxy", "https_proxy", "no_proxy", "insecure",
		"use_dualstack_endpoint", "use_fips_endpoint", "custom_ca_bundle", "ec2_metadata_service_endpoint", "ec2_metadata_service_endpoint_mode",
		"shared_credentials_files", "shared_config_files", "assume_role", "assume_role_with_web_identity", "allowed_account_ids", "forbidden_account_ids",
	}, map[string]*schema.Attribute{
		"kms_key_id":         required(cty.String, "The key that keys are encrypted with"),
		"key_spec":           required(cty.String, "The kind of keys: AES_256 or AES_128"),
		"encryption_context": backendconfig.Optional(cty.Map(cty.String), "Texts that each request has to repeat"),
		"endpoints": backendconfig.Object("Addresses of services", map[string]*schema.Attribute{
			"iam": backendconfig.Optional(cty.String, "The address of IAM, which isn't asked for anything"),
			"sts": backendconfig.Optional(cty.String, "The address of STS"),
		}),
	})
	return s
}

func openAmazon(config cty.Value, env storage.Env) (encryption.Keeper, error) {
	k := &amazon{key: text(config, "kms_key_id"), spec: text(config, "key_spec")}
	switch {
	case k.key == "":
		return nil, errors.New("no kms_key_id provided")
	case specs()[k.spec] == 0:
		return nil, fmt.Errorf("invalid key_spec %q, it is AES_256 or AES_128", k.spec)
	}
	given := config.AsValueMap()
	if c := given["encryption_context"]; !c.IsNull() {
		k.context = map[string]string{}
		for name, v := range c.AsValueMap() {
			if v.IsNull() {
				return nil, fmt.Errorf("encryption_context: %q is null", name)
			}
			k.context[name] = v.AsString()
		}
	}
	if e := given["endpoints"]; !e.IsNull() { // the backend knows more of them
		all := e.AsValueMap()
		for name := range s3.Schema().Attributes["endpoints"].Nested.Attributes {
			if _, there := all[name]; !there {
				all[name] = cty.NullVal(cty.String)
			}
		}
		given["endpoints"] = cty.ObjectVal(all)
	}
	delete(given, "kms_key_id") // it means another one there
	caller, diags := s3.NewCaller(whole(s3.Schema(), cty.ObjectVal(given)), env, "KMS")
	k.caller = caller
	return k, problem(diags)
}

func (k *amazon) Size() int { return specs()[k.spec] }

type amazonMeta struct {
	Ciphertext []byte            `json:"ciphertext_blob"`
	Context    map[string]string `json:"encryption_context,omitempty"`
}

func (k *amazon) Make(ctx context.Context) ([]byte, any, error) {
	var made struct{ Plaintext, CiphertextBlob []byte }
	err := k.caller.Call(ctx, "TrentService.GenerateDataKey", k.request(k.context, "KeySpec", k.spec), &made)
	return made.Plaintext, amazonMeta{made.CiphertextBlob, k.context}, err
}

func (k *amazon) Find(ctx context.Context, text []byte) ([]byte, error) {
	var meta amazonMeta
	if err := readMeta(text, &meta, func() bool { return len(meta.Ciphertext) > 0 }); err != nil {
		return nil, err
	}
	var found struct{ Plaintext []byte }
	err := k.caller.Call(ctx, "TrentService.Decrypt", k.request(meta.Context, "CiphertextBlob", meta.Ciphertext), &found)
	return found.Plaintext, err
}

// request is the body of a request about the key.
func (k *amazon) request(about map[string]string, name string, v any) map[string]any {
	body := map[string]any{"KeyId": k.key, name: v}
	if len(about) > 0 {
		body["EncryptionContext"] = about
	}
	return body
}

// A google keeps keys that are made here with the key management service of Google Cloud.
type google struct {
	client   func(context.Context) (*http.Client, error)
	key      string
	size     int
	extra    []byte // authenticated with each key
	patience time.Duration
}

func googleSchema() *schema.Block {
	return part(gcs.Schema(), []string{"credentials", "access_token", "impersonate_service_account", "impersonate_service_account_delegates"}, map[string]*schema.Attribute{
		"kms_encryption_key":            required(cty.String, "The key that keys are encrypted with: projects/…/locations/…/keyRings/…/cryptoKeys/…"),
		"key_length":                    required(cty.Number, "How many bytes keys have"),
		"additional_authenticated_data": backendconfig.Optional(cty.String, "Data that each request has to repeat, in base64"),
	})
}

func openGoogle(config cty.Value, env storage.Env) (encryption.Keeper, error) {
	k := &google{key: text(config, "kms_encryption_key")}
	var err error
	k.size, err = number(config, "key_length")
	switch {
	case err != nil:
		return nil, err
	case k.key == "":
		return nil, errors.New("kms_encryption_key must be provided")
	case k.size < 1 || k.size > 1024:
		return nil, errors.New("key_length must be from 1 to 1024, which is what the service takes")
	}
	if k.extra, err = base64.StdEncoding.DecodeString(text(config, "additional_authenticated_data")); err != nil {
		return nil, errors.New("additional_authenticated_data must be valid standard base64")
	}
	if len(k.extra) > 64<<10 {
		return nil, errors.New("additional_authenticated_data must have at most 64 KiB, which is what the service takes")
	}
	if k.patience, err = limit(env); err != nil {
		return nil, err
	}
	given := config.AsValueMap()
	delete(given, "kms_encryption_key") // it means another one there
	client, diags := gcs.Client(whole(gcs.Schema(), cty.ObjectVal(given)), env, "https://www.googleapis.com/auth/cloudkms")
	k.client = client
	return k, problem(diags)
}

func (k *google) Size() int { return k.size }

type googleMeta struct {
	Ciphertext []byte `json:"ciphertext"`
}

func (k *google) ask(ctx context.Context, verb string, in, into any) error {
	client, err := k.client(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	c := &rest.Client{HTTP: client, Base: url.URL{Scheme: "https", Host: "cloudkms.googleapis.com"}, Patience: k.patience, Say: said}
	return c.Into(ctx, rest.Request{Method: http.MethodPost, Path: "/v1/" + strings.Trim(k.key, "/") + ":" + verb, Body: body}, into)
}

// said is the message of an answer of Google's and of Azure's that means no.
func said(body []byte) string {
	var told struct {
		Error struct{ Message string }
	}
	_ = json.Unmarshal(body, &told) // those of proxies aren't JSON
	return told.Error.Message
}

func (k *google) Make(ctx context.Context) ([]byte, any, error) {
	key := random(k.size)
	var made googleMeta
	err := k.ask(ctx, "encrypt", k.request("plaintext", key), &made)
	return key, made, err
}

func (k *google) Find(ctx context.Context, text []byte) ([]byte, error) {
	var meta googleMeta
	if err := readMeta(text, &meta, func() bool { return len(meta.Ciphertext) > 0 }); err != nil {
		return nil, err
	}
	var found struct{ Plaintext []byte }
	err := k.ask(ctx, "decrypt", k.request("ciphertext", meta.Ciphertext), &found)
	return found.Plaintext, err
}

// request is the body of a request about a key.
func (k *google) request(name string, content []byte) map[string][]byte {
	body := map[string][]byte{name: content}
	if len(k.extra) > 0 {
		body["additionalAuthenticatedData"] = k.extra
	}
	return body
}

// An azure keeps keys that are made here with a vault of Azure.
type azure struct {
	token     func(ctx context.Context, scope string) (string, error)
	client    rest.Client
	scope     string
	key, algo string
	size      int
}

func azureSchema() *schema.Block {
	return part(azurerm.Schema(), []string{
		"use_cli", "client_id", "client_id_file_path", "client_secret", "client_secret_file_path",
		"client_certificate", "client_certificate_password", "client_certificate_path",
		"use_oidc", "oidc_token", "oidc_token_file_path", "oidc_request_url", "oidc_request_token",
		"use_msi", "msi_endpoint", "use_aks_workload_identity", "metadata_host", "environment", "subscription_id", "tenant_id",
	}, map[string]*schema.Attribute{
		"vault_uri":          required(cty.String, "The address of the vault, such as https://example.vault.azure.net/"),
		"vault_key_name":     required(cty.String, "The key that keys are encrypted with"),
		"key_length":         required(cty.Number, "How many bytes keys have"),
		"symmetric":          backendconfig.Optional(cty.Bool, "Whether the key of the vault is a symmetric one"),
		"symmetric_key_size": backendconfig.Optional(cty.Number, "How many bits that has: 128, 192 or 256"),
	})
}

func openAzure(config cty.Value, env storage.Env) (encryption.Keeper, error) {
	k := &azure{key: text(config, "vault_key_name"), algo: "RSA-OAEP-256"}
	size, err := number(config, "key_length")
	bits, wrong := number(config, "symmetric_key_size")
	symmetric := config.GetAttr("symmetric")
	switch err = errors.Join(err, wrong); {
	case err != nil:
		return nil, err
	case !symmetric.IsNull() && symmetric.True() && bits != 128 && bits != 192 && bits != 256:
		return nil, errors.New("when symmetric is set to true, symmetric_key_size must be given a value of 128, 192, or 256")
	case k.key == "":
		return nil, errors.New("vault_key_name must be provided")
	case size < 1:
		return nil, errors.New("key_length must be at least 1")
	}
	if k.size = size; !symmetric.IsNull() && symmetric.True() {
		k.algo = fmt.Sprintf("A%dGCM", bits)
	}
	at, err := url.Parse(text(config, "vault_uri"))
	if err != nil || at.Host == "" || at.Scheme != "https" {
		return nil, errors.New("vault_uri must be an address such as https://example.vault.azure.net/")
	}
	name, domain, _ := strings.Cut(at.Hostname(), ".")
	switch {
	case !regexp.MustCompile(`^[0-9a-zA-Z-]{1,127}$`).MatchString(k.key):
		return nil, errors.New("the name of a key has up to 127 letters, digits and hyphens")
	case !regexp.MustCompile(`^[a-zA-Z][0-9a-zA-Z-]{1,22}[0-9a-zA-Z]$`).MatchString(name) || strings.Contains(name, "--") || domain == "":
		return nil, errors.New("the name of a vault has 3 to 24 letters, digits and hyphens, and begins with a letter")
	}
	k.scope = "https://" + domain + "/.default"
	k.client = rest.Client{
		HTTP: useragent.Client(&http.Client{Transport: env.Transport}, useragent.Name(env.Getenv)), Base: url.URL{Scheme: at.Scheme, Host: at.Host}, Say: said,
	}
	if k.client.Patience, err = limit(env); err != nil {
		return nil, err
	}
	token, diags := azurerm.Tokens(whole(azurerm.Schema(), config), env)
	k.token = token
	return k, problem(diags)
}

func (k *azure) Size() int { return k.size }

type azureMeta struct {
	Ciphertext []byte `json:"ciphertext"`
	IV         []byte `json:"iv"`
	Tag        []byte `json:"authentication_tag"`
	Additional []byte `json:"additional_authenticated_data"`
	Version    string `json:"key_version"`
	Algorithm  string `json:"algo"`
}

// An operation is what the vault is given and answers; bytes are base64 for addresses.
type operation struct {
	Algorithm  string `json:"alg,omitempty"`
	Key        string `json:"kid,omitempty"`
	Value      string `json:"value"`
	IV         string `json:"iv,omitempty"`
	Tag        string `json:"tag,omitempty"`
	Additional string `json:"aad,omitempty"`
}

func (k *azure) ask(ctx context.Context, version, verb string, in operation) (out operation, err error) {
	token, err := k.token(ctx, k.scope)
	if err != nil {
		return out, err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	path := "/keys/" + k.key + "/"
	if version != "" {
		path += version + "/"
	}
	err = k.client.Into(ctx, rest.Request{
		Method: http.MethodPost, Path: path + verb, Query: url.Values{"api-version": {"7.4"}}, Body: body, Header: http.Header{"Authorization": {"Bearer " + token}},
	}, &out)
	return out, err
}

func (k *azure) Make(ctx context.Context) ([]byte, any, error) {
	key := random(k.size)
	made, err := k.ask(ctx, "", "encrypt", operation{Algorithm: k.algo, Value: base64.RawURLEncoding.EncodeToString(key)})
	if err != nil {
		return nil, nil, err
	}
	meta := azureMeta{Algorithm: k.algo, Version: made.Key[strings.LastIndex(made.Key, "/")+1:]}
	for text, into := range map[*string]*[]byte{&made.Value: &meta.Ciphertext, &made.IV: &meta.IV, &made.Tag: &meta.Tag, &made.Additional: &meta.Additional} {
		if *text == "" {
			continue
		}
		if *into, err = base64.RawURLEncoding.DecodeString(*text); err != nil {
			return nil, nil, errors.New("the answer of the vault can't be read")
		}
	}
	return key, meta, nil
}

func (k *azure) Find(ctx context.Context, text []byte) ([]byte, error) {
	var meta azureMeta
	if err := readMeta(text, &meta, func() bool { return len(meta.Ciphertext) > 0 }); err != nil {
		return nil, err
	}
	if meta.Algorithm == "" {
		meta.Algorithm = k.algo
	}
	found, err := k.ask(ctx, meta.Version, "decrypt", operation{
		Algorithm: meta.Algorithm, Value: base64.RawURLEncoding.EncodeToString(meta.Ciphertext), IV: base64.RawURLEncoding.EncodeToString(meta.IV),
		Tag: base64.RawURLEncoding.EncodeToString(meta.Tag), Additional: base64.RawURLEncoding.EncodeToString(meta.Additional),
	})
	if err != nil {
		return nil, err
	}
	key, err := base64.RawURLEncoding.DecodeString(found.Value)
	if err != nil {
		return nil, errors.New("the answer of the vault can't be read")
	}
	return key, nil
}
