package kms

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
	"weir.dev/weir/internal/state/storage/rest"
)

// A bao keeps keys with the transit engine of OpenBao, or of Vault, which makes them.
type bao struct {
	client      rest.Client
	engine, key string
	size        int
	extra       string // authenticated with each key, in base64
}

func baoSchema() *schema.Block {
	token := backendconfig.Optional(cty.String, "The token, BAO_TOKEN by default")
	token.Sensitive = true
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"address":             backendconfig.Optional(cty.String, "The address of the server, BAO_ADDR by default"),
		"token":               token,
		"key_name":            required(cty.String, "The key that keys are encrypted with"),
		"key_length":          backendconfig.Optional(cty.Number, "How many bytes keys have: 16, 32 (the default) or 64"),
		"associated_data":     backendconfig.Optional(cty.String, "Data that each request has to repeat, in base64"),
		"transit_engine_path": backendconfig.Optional(cty.String, "Where the transit engine is, /transit by default"),
	}}
}

func openBao(config cty.Value, env storage.Env) (encryption.Keeper, error) {
	getenv := func(name string) string {
		if env.Getenv == nil {
			return ""
		}
		for _, product := range []string{"BAO_", "VAULT_"} {
			if text := env.Getenv(product + name); text != "" {
				return text
			}
		}
		return ""
	}
	k := &bao{key: text(config, "key_name"), engine: text(config, "transit_engine_path"), extra: text(config, "associated_data")}
	var err error
	if _, err = base64.StdEncoding.DecodeString(k.extra); err != nil {
		return nil, errors.New("associated_data is not valid base64")
	}
	if k.size, err = number(config, "key_length"); err != nil {
		return nil, err
	}
	if k.size == 0 {
		k.size = 32
	}
	switch {
	case k.key == "":
		return nil, errors.New("no key name found")
	case k.size != 16 && k.size != 32 && k.size != 64:
		return nil, fmt.Errorf("data key length should one of 16, 32 or 64 bytes: got %d", k.size)
	}
	if k.engine == "" {
		k.engine = "/transit"
	}
	address := text(config, "address")
	for _, other := range []string{getenv("AGENT_ADDR"), getenv("ADDR"), "https://127.0.0.1:8200"} {
		if address == "" {
			address = other
		}
	}
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "unix" && (at.Host == "" || at.Scheme != "https" && at.Scheme != "http") {
		return nil, fmt.Errorf("the address of the server must be one such as https://127.0.0.1:8200, not %q", address)
	}
	client, err := baoClient(at, getenv)
	if err != nil {
		return nil, err
	}
	if env.Transport != nil {
		client.Transport = env.Transport
	}
	if at.Scheme == "unix" {
		at = &url.URL{Scheme: "http", Host: "openbao.socket"}
	}
	k.client = rest.Client{
		HTTP: sameorigin.Stay(useragent.Client(client, useragent.Name(env.Getenv))), Base: url.URL{Scheme: at.Scheme, Host: at.Host, Path: strings.TrimRight(at.Path, "/")},
		Header: http.Header{"X-Vault-Request": {"true"}}, Say: baoSaid,
	}
	token := text(config, "token")
	if token == "" {
		token = getenv("TOKEN")
	}
	if token != "" {
		k.client.Header.Set("X-Vault-Token", token)
	}
	if space := getenv("NAMESPACE"); space != "" {
		k.client.Header.Set("X-Vault-Namespace", space)
	}
	k.client.Patience, err = limit(env)
	return k, err
}

func baoClient(at *url.URL, getenv func(string) string) (*http.Client, error) {
	trust := rest.Trust{ServerName: getenv("TLS_SERVER_NAME")}
	trust.Anybody, _ = strconv.ParseBool(getenv("SKIP_VERIFY"))
	for name, into := range map[string]*[]byte{"CACERT": &trust.Authorities, "CLIENT_CERT": &trust.Certificate, "CLIENT_KEY": &trust.Key} {
		if file := getenv(name); file != "" {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("the file that BAO_%s names can't be read: %w", name, err)
			}
			*into = content
		}
	}
	transport, err := trust.Transport()
	if err != nil {
		return nil, err
	}
	if at.Scheme == "unix" {
		socket := at.Path
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}
	}
	return &http.Client{Transport: transport}, nil
}

// baoSaid is the message of an answer that means no.
func baoSaid(body []byte) string {
	var told struct{ Errors []string }
	_ = json.Unmarshal(body, &told) // those of proxies aren't JSON
	return strings.Join(told.Errors, "; ")
}

func (k *bao) Size() int { return k.size }

type baoMeta struct {
	Ciphertext []byte `json:"ciphertext"`
	Extra      string `json:"associated_data,omitempty"`
}

func (k *bao) ask(ctx context.Context, verb string, in any) (plain []byte, sealed string, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, "", err
	}
	var answer struct {
		Data struct {
			Plaintext  []byte
			Ciphertext string
		}
	}
	err = k.client.Into(ctx, rest.Request{Method: http.MethodPut, Path: path.Join("/v1", k.engine, verb, k.key), Body: body}, &answer)
	if err == nil && len(answer.Data.Plaintext) == 0 {
		err = errors.New("the answer has no key")
	}
	return answer.Data.Plaintext, answer.Data.Ciphertext, err
}

func (k *bao) Make(ctx context.Context) ([]byte, any, error) {
	key, sealed, err := k.ask(ctx, "datakey/plaintext", repeat(map[string]any{"bits": k.size * 8}, k.extra))
	return key, baoMeta{[]byte(sealed), k.extra}, err
}

func (k *bao) Find(ctx context.Context, text []byte) ([]byte, error) {
	var meta baoMeta
	if err := readMeta(text, &meta, func() bool { return len(meta.Ciphertext) > 0 }); err != nil {
		return nil, err
	}
	key, _, err := k.ask(ctx, "decrypt", repeat(map[string]any{"ciphertext": string(meta.Ciphertext)}, meta.Extra))
	return key, err
}

// repeat adds the data that a key is authenticated with to the body of a request.
func repeat(body map[string]any, extra string) map[string]any {
	if extra != "" {
		body["associated_data"] = extra
	}
	return body
}
