package kms

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/testservers"
)

// working are the arguments that each kind works with here.
var working = map[string]map[string]cty.Value{
	"aws_kms": {
		"kms_key_id": cty.StringVal(testservers.AmazonKMS), "key_spec": cty.StringVal("AES_128"), "region": cty.StringVal("us-east-1"),
		"access_key": cty.StringVal("key"), "secret_key": cty.StringVal("secret"),
	},
	"gcp_kms": {"kms_encryption_key": cty.StringVal(testservers.GoogleKMS), "key_length": cty.NumberIntVal(24), "access_token": cty.StringVal("token")},
	"azure_vault": {
		"vault_uri": cty.StringVal("https://example.vault.azure.net/"), "vault_key_name": cty.StringVal(testservers.OtherKey), "key_length": cty.NumberIntVal(32),
		"tenant_id": cty.StringVal("tenant"), "client_id": cty.StringVal("client"), "client_secret": cty.StringVal("secret"), "use_cli": cty.False,
	},
	"openbao": {"address": cty.StringVal("http://bao"), "token": cty.StringVal(testservers.BaoToken), "key_name": cty.StringVal(testservers.OtherKey), "key_length": cty.NumberIntVal(64)},
}

// wire has everything go to one server, whatever its name.
func wire(t *testing.T, handler http.Handler) http.RoundTripper {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	plain := httptest.NewServer(handler)
	t.Cleanup(plain.Close)
	to := func(address string) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	}
	transport := &http.Transport{DialContext: to(plain.Listener.Addr().String()), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	transport.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&tls.Dialer{Config: transport.TLSClientConfig}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	return transport
}

func opened(t *testing.T, typ string, env storage.Env, changes map[string]cty.Value) (encryption.Keeper, error) {
	t.Helper()
	service := All(env)[typ]
	config := service.Schema().EmptyValue().AsValueMap()
	for _, values := range []map[string]cty.Value{working[typ], changes} {
		for name, v := range values {
			if config[name] == cty.NilVal {
				t.Fatalf("%s has no %s", typ, name)
			}
			config[name] = v
		}
	}
	return service.Open(cty.ObjectVal(config))
}

// extra is what keys of each kind are authenticated with.
var extra = map[string]map[string]cty.Value{
	"aws_kms": {"encryption_context": cty.MapVal(map[string]cty.Value{"team": cty.StringVal("a")})},
	"gcp_kms": {"additional_authenticated_data": cty.StringVal("YWJj")},
	"openbao": {"associated_data": cty.StringVal("YWJj")},
}

// TestExtraData: a key is found again with the data that it was made with, and only so. AWS and
// OpenBao keep that beside the key.
func TestExtraData(t *testing.T) {
	for typ, values := range extra {
		t.Run(typ, func(t *testing.T) {
			env := storage.Env{Getenv: func(string) string { return "" }, Transport: wire(t, &testservers.Keys{})}
			with, err := opened(t, typ, env, values)
			if err != nil {
				t.Fatal(err)
			}
			without, err := opened(t, typ, env, nil)
			if err != nil {
				t.Fatal(err)
			}
			key, meta, err := with.Make(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(meta)
			if err != nil {
				t.Fatal(err)
			}
			if found, err := with.Find(t.Context(), text); err != nil || !bytes.Equal(found, key) {
				t.Errorf("found %x instead of %x: %v", found, key, err)
			}
			found, err := without.Find(t.Context(), text)
			if kept := typ != "gcp_kms"; kept != (err == nil) || kept && !bytes.Equal(found, key) {
				t.Errorf("without the setting: %x, %v", found, err)
			}
		})
	}
}

// TestAsked looks at what services are asked for, and when.
func TestAsked(t *testing.T) {
	for typ, want := range map[string][2]string{
		"aws_kms": {"aws GenerateDataKey", "aws Decrypt"}, "gcp_kms": {"google encrypt", "google decrypt"},
		"azure_vault": {"azure encrypt RSA-OAEP-256", "azure decrypt RSA-OAEP-256"}, "openbao": {"bao datakey/plaintext", "bao decrypt"},
	} {
		t.Run(typ, func(t *testing.T) {
			service := &testservers.Keys{}
			env := storage.Env{Getenv: func(string) string { return "" }, Transport: wire(t, service)}
			k, err := opened(t, typ, env, nil)
			if err != nil {
				t.Fatal(err)
			}
			if log := service.Log(); len(log) > 0 {
				t.Errorf("asked when it is opened: %q", log)
			}
			key, meta, err := k.Make(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(key) != k.Size() {
				t.Errorf("a key of %d bytes and not %d", len(key), k.Size())
			}
			text, err := json.Marshal(meta)
			if err != nil {
				t.Fatal(err)
			}
			found, err := k.Find(t.Context(), text)
			if err != nil || !bytes.Equal(found, key) {
				t.Errorf("found %x instead of %x: %v", found, key, err)
			}
			if log := strings.Join(service.Log(), ", "); log != want[0]+", "+want[1] {
				t.Errorf("asked for %s", log)
			}
			for _, other := range []string{"{}", "x", `{"ciphertext":"eA==","ciphertext_blob":"eA=="}`} {
				if key, err := k.Find(t.Context(), []byte(other)); err == nil {
					t.Errorf("%s led to %x", other, key)
				}
			}
			service.Fail()
			if _, _, err := k.Make(t.Context()); err == nil {
				t.Error("a key was made although the service refuses")
			}
			if _, err := k.Find(t.Context(), text); err == nil || strings.Contains(err.Error(), "turned:") {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	none, text, number := cty.NullVal(cty.String), cty.StringVal, cty.NumberIntVal
	for _, test := range []struct {
		typ     string
		changes map[string]cty.Value
		env     map[string]string
		want    string
	}{
		{"aws_kms", map[string]cty.Value{"kms_key_id": text("")}, nil, "no kms_key_id provided"},
		{"aws_kms", map[string]cty.Value{"key_spec": text("RSA")}, nil, "invalid key_spec"},
		{"aws_kms", map[string]cty.Value{"region": none}, nil, "AWS_DEFAULT_REGION"},
		{"aws_kms", map[string]cty.Value{"region": none}, map[string]string{"AWS_REGION": "us-east-1"}, ""},
		{"aws_kms", map[string]cty.Value{"endpoints": cty.ObjectVal(map[string]cty.Value{"iam": none, "sts": text("http://sts")})}, nil, ""},
		{"gcp_kms", map[string]cty.Value{"additional_authenticated_data": text("?")}, nil, "valid standard base64"},
		{"openbao", map[string]cty.Value{"associated_data": text("?")}, nil, "not valid base64"},
		{"aws_kms", map[string]cty.Value{"encryption_context": cty.MapVal(map[string]cty.Value{"a": none})}, nil, "is null"},
		{"gcp_kms", map[string]cty.Value{"key_length": number(0)}, nil, "from 1 to 1024"},
		{"gcp_kms", map[string]cty.Value{"key_length": number(1025)}, nil, "from 1 to 1024"},
		{"gcp_kms", map[string]cty.Value{"key_length": cty.NumberFloatVal(1.5)}, nil, "whole number"},
		{"gcp_kms", map[string]cty.Value{"kms_encryption_key": text("")}, nil, "must be provided"},
		{"gcp_kms", map[string]cty.Value{"access_token": none, "credentials": text("nothing")}, nil, "neither valid json"},
		{"azure_vault", map[string]cty.Value{"vault_uri": text("http://example.vault.azure.net/")}, nil, "vault_uri must be an address"},
		{"azure_vault", map[string]cty.Value{"vault_uri": text("https://x.vault.azure.net/")}, nil, "3 to 24"},
		{"azure_vault", map[string]cty.Value{"vault_key_name": text("a_b")}, nil, "letters, digits and hyphens"},
		{"azure_vault", map[string]cty.Value{"vault_key_name": text("")}, nil, "vault_key_name must be provided"},
		{"azure_vault", map[string]cty.Value{"symmetric": cty.True}, nil, "128, 192, or 256"},
		{"azure_vault", map[string]cty.Value{"key_length": number(0)}, nil, "at least 1"},
		{"openbao", map[string]cty.Value{"key_name": text("")}, nil, "no key name found"},
		{"openbao", map[string]cty.Value{"key_length": number(17)}, nil, "16, 32 or 64 bytes: got 17"},
		{"openbao", map[string]cty.Value{"address": text("127.0.0.1:8200")}, nil, "https://127.0.0.1:8200"},
		{"openbao", map[string]cty.Value{"address": none}, map[string]string{"BAO_ADDR": "x"}, `"x"`},
		{"openbao", map[string]cty.Value{"address": none}, map[string]string{"VAULT_ADDR": "unix:///run/bao"}, ""},
		{"openbao", nil, map[string]string{"BAO_CACERT": "/nowhere"}, "BAO_CACERT"},
	} {
		_, err := opened(t, test.typ, storage.Env{Dir: t.TempDir(), Getenv: func(name string) string { return test.env[name] }}, test.changes)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %v: %v, want %q", test.typ, test.changes, err, test.want)
		}
	}
}
