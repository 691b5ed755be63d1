package s3

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
)

// TestUploads: locks and states are uploaded alike. They have the configured encryption,
// and a checksum, which buckets with object locks insist on.
func TestUploads(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", "none")
	const kind, sum = "X-Amz-Server-Side-Encryption", "X-Amz-Checksum-Sha256"
	for name, test := range map[string]struct {
		values         map[string]cty.Value
		encryption     string
		key            string
		withoutAnyHash bool
	}{
		"plain":        {},
		"encrypted":    {values: map[string]cty.Value{"encrypt": cty.True}, encryption: "AES256"},
		"with a key":   {values: map[string]cty.Value{"encrypt": cty.True, "kms_key_id": cty.StringVal("arn:aws:kms:eu-central-1:123456789012:alias/mine")}, encryption: "aws:kms", key: "arn:aws:kms:eu-central-1:123456789012:alias/mine"},
		"no checksums": {values: map[string]cty.Value{"skip_s3_checksum": cty.True}, withoutAnyHash: true},
	} {
		t.Run(name, func(t *testing.T) {
			puts := map[string]http.Header{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut {
					puts[r.URL.Path] = r.Header
					w.Header().Set("ETag", `"1"`)
					return
				}
				w.WriteHeader(http.StatusNotFound)
			}))
			defer server.Close()
			values := map[string]cty.Value{
				"endpoint": cty.StringVal(server.URL), "use_path_style": cty.True, "use_lockfile": cty.True, "skip_credentials_validation": cty.True,
				"access_key": cty.StringVal("k"), "secret_key": cty.StringVal("s"),
			}
			for key, v := range test.values {
				values[key] = v
			}
			b, said := made(nil, values)
			if b == nil {
				t.Fatal(said)
			}
			s, err := b.State("default")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Lock(t.Context(), storage.NewLockInfo("plan", "me", "1")); err != nil {
				t.Fatal(err)
			}
			if err := s.Write(t.Context(), []byte("{}")); err != nil {
				t.Fatal(err)
			}
			if len(puts) != 2 {
				t.Fatalf("%d uploads", len(puts))
			}
			for path, header := range puts {
				if header.Get(kind) != test.encryption || header.Get(kind+"-Aws-Kms-Key-Id") != test.key {
					t.Errorf("%s is encrypted by %q", path, header.Get(kind))
				}
				if (header.Get(sum) == "") != test.withoutAnyHash {
					t.Errorf("%s has the checksum %q", path, header.Get(sum))
				}
				for key := range header {
					if test.withoutAnyHash && strings.Contains(key, "Checksum") {
						t.Errorf("%s has %s", path, key)
					}
				}
			}
		})
	}
}

// TestRedirected: a state doesn't follow a redirect to another server.
func TestRedirected(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", "none")
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s at the other server", r.Method, r.URL) }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	b, said := made(nil, map[string]cty.Value{
		"endpoint": cty.StringVal(server.URL), "use_path_style": cty.True, "skip_credentials_validation": cty.True, "max_retries": cty.NumberIntVal(1),
		"access_key": cty.StringVal("k"), "secret_key": cty.StringVal("s"),
	})
	if b == nil {
		t.Fatal(said)
	}
	s, err := b.State("default")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), "sends on to another one") {
		t.Error(err)
	}
}

// TestEndpointVariables: the variables of the SDK for other addresses count only where they are
// true.
func TestEndpointVariables(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", "none")
	for value, want := range map[string]string{
		"true":  "https://states.s3-fips.dualstack.eu-central-1.amazonaws.com",
		"false": "https://states.s3.eu-central-1.amazonaws.com",
		"1":     "error: need true, false",
	} {
		t.Setenv("AWS_USE_FIPS_ENDPOINT", value)
		t.Setenv("AWS_USE_DUALSTACK_ENDPOINT", value)
		b, said := made(nil, map[string]cty.Value{"access_key": cty.StringVal("k"), "secret_key": cty.StringVal("s"), "skip_credentials_validation": cty.True})
		if b == nil {
			t.Fatal(said)
		}
		got := ""
		if c, err := b.open(t.Context()); err != nil {
			got = "error: " + err.Error()
		} else {
			got = c.bucket.address.String()
		}
		if !strings.Contains(got, strings.TrimPrefix(want, "error: ")) || strings.HasPrefix(want, "error") != strings.HasPrefix(got, "error") {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
}
