package gcs

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
	"weir.dev/weir/internal/state/storage/testservers"
)

func serve(t *testing.T) (*testservers.Google, string) {
	t.Helper()
	c := &testservers.Google{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL
}

// said is who asked for what.
func said(c *testservers.Google) string {
	var lines []string
	for _, r := range c.Log() {
		lines = append(lines, r.Who+" "+r.Method+" "+r.Path)
	}
	return strings.Join(lines, "\n")
}

func made(env map[string]string, values map[string]cty.Value) (*Backend, string) {
	config := Schema().EmptyValue().AsValueMap()
	config["bucket"] = cty.StringVal("states")
	for name, v := range values {
		config[name] = v
	}
	b, diags := New(cty.ObjectVal(config), storage.Env{Getenv: func(name string) string { return env[name] }})
	return b, storagetest.Said(diags)
}

func opened(t *testing.T, address string, values map[string]cty.Value) *Backend {
	t.Helper()
	all := map[string]cty.Value{"access_token": cty.StringVal("token"), "storage_custom_endpoint": cty.StringVal(address + "/storage/v1/")}
	for name, v := range values {
		all[name] = v
	}
	b, said := made(nil, all)
	if b == nil {
		t.Fatal(said)
	}
	return b
}

// TestSilent has a service that stops answering, in each request.
func TestSilent(t *testing.T) {
	_, address := serve(t)
	storagetest.Silent(t, "tcp", strings.TrimPrefix(address, "http://"), func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		b := opened(t, "http://"+address, nil)
		return b, func(d time.Duration) {
			b.access.patience = d
			if b.opened != nil {
				b.opened.patience = d
			}
		}
	})
}

func TestContract(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		_, address := serve(t)
		return storagetest.Subject{
			New: func(t *testing.T) storage.Backend {
				return opened(t, address, map[string]cty.Value{"prefix": cty.StringVal("/a b/c")})
			},
			ServerID: true,
		}
	})
}

// TestLostAnswers has the service do what it is requested, and not say so.
func TestLostAnswers(t *testing.T) {
	c, address := serve(t)
	s, err := opened(t, address, nil).State("default")
	storagetest.Do(t, err)
	_, err = s.Read(t.Context())
	storagetest.Do(t, err)
	c.Lose()
	storagetest.Do(t, s.Write(t.Context(), []byte("1")))
	c.Lose()
	storagetest.Do(t, s.Write(t.Context(), []byte("2")))
	c.Lose()
	id, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	storagetest.Do(t, err)
	if _, want := c.Object("default.tflock"); id != strconv.Itoa(want) {
		t.Errorf("id %s, want %d", id, want)
	}
	c.Fail(2)
	storagetest.Do(t, s.Unlock(t.Context(), id))
	if content, _ := c.Object("default.tfstate"); string(content) != "2" {
		t.Errorf("stored %q", content)
	}
}

// TestKeys has the keys that the server encrypts states with, but not locks.
func TestKeys(t *testing.T) {
	c, address := serve(t)
	const key = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI="
	inFile := filepath.Join(t.TempDir(), "key")
	storagetest.Do(t, os.WriteFile(inFile, []byte(key+"\n"), 0o600))
	for _, given := range []string{key, inFile} {
		s, err := opened(t, address, map[string]cty.Value{"encryption_key": cty.StringVal(given)}).State("default")
		storagetest.Do(t, err)
		c.Log()
		storagetest.Do(t, s.Write(t.Context(), []byte("1")))
		id, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
		storagetest.Do(t, err)
		log := c.Log()
		if state, lock := log[0].Header.Get("X-Goog-Encryption-Key"), log[1].Header.Get("X-Goog-Encryption-Key"); state != key || lock != "" {
			t.Errorf("keys %q and %q", state, lock)
		}
		storagetest.Do(t, s.Unlock(t.Context(), id))
	}
}

func TestImpersonation(t *testing.T) {
	c, address := serve(t)
	b := opened(t, address, map[string]cty.Value{
		"impersonate_service_account":           cty.StringVal("deploy@p.iam.gserviceaccount.com"),
		"impersonate_service_account_delegates": cty.ListVal([]cty.Value{cty.StringVal("a@p")}),
	})
	b.access.iam = address
	_, err := b.Workspaces(t.Context())
	storagetest.Do(t, err)
	want := "token POST /v1/projects/-/serviceAccounts/deploy@p.iam.gserviceaccount.com:generateAccessToken\nother GET /storage/v1/b/states/o"
	if got := said(c); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestConfig(t *testing.T) {
	text := cty.StringVal
	for _, test := range []struct {
		values map[string]cty.Value
		env    map[string]string
		want   string // "" for nothing at all
		base   string
	}{
		{base: "https://storage.googleapis.com/storage/v1"},
		{values: map[string]cty.Value{"universe_domain": text("cloud.example")}, base: "https://storage.cloud.example/storage/v1"},
		{env: map[string]string{"GOOGLE_STORAGE_CUSTOM_ENDPOINT": "http://a/storage/v1/"}, base: "http://a/storage/v1"},
		{env: map[string]string{"STORAGE_EMULATOR_HOST": "localhost:1"}, base: "http://localhost:1/storage/v1"},
		{values: map[string]cty.Value{"bucket": text("")}, want: `The "bucket" attribute value must not be empty.`},
		{values: map[string]cty.Value{"storage_custom_endpoint": text("nonsense")}, want: "must be a URL"},
		{values: map[string]cty.Value{"credentials": text("/nowhere")}, want: "neither valid json nor a valid file path"},
		{env: map[string]string{"GOOGLE_CREDENTIALS": "nonsense"}, want: "neither valid json nor a valid file path"},
		{env: map[string]string{"GOOGLE_CREDENTIALS": "nonsense", "GOOGLE_OAUTH_ACCESS_TOKEN": "token"}},
		{values: map[string]cty.Value{"encryption_key": text("!")}, want: "Error decoding encryption key"},
		{values: map[string]cty.Value{"encryption_key": text("aGVsbG8="), "kms_encryption_key": text("k")}, want: "conflicts with kms_encryption_key"},
	} {
		b, said := made(test.env, test.values)
		if test.want == "" && (b == nil || said != "") || !strings.Contains(said, test.want) {
			t.Errorf("%v: %q, want %q", test.values, said, test.want)
		}
		if test.base != "" && b != nil && b.access.base.String() != test.base {
			t.Errorf("%v: %s, want %s", test.values, b.access.base, test.base)
		}
	}
}

// TestCredentials has a service account's key, whose tokens are had from the address
// in it.
func TestCredentials(t *testing.T) {
	c, address := serve(t)
	const inside = `{"type":"external_account","audience":"a","subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":%q,"credential_source":{"file":%q}}`
	asked := ""
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.FormValue("subject_token")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"federated","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","expires_in":3600,"token_type":"Bearer"}`)
	}))
	defer tokens.Close()
	dir := t.TempDir()
	storagetest.Do(t, os.WriteFile(filepath.Join(dir, "jwt"), []byte("jwt"), 0o600))
	credentials := fmt.Sprintf(inside, tokens.URL, filepath.Join(dir, "jwt"))
	storagetest.Do(t, os.WriteFile(filepath.Join(dir, "key.json"), []byte(credentials), 0o600))
	for _, given := range []string{credentials, filepath.Join(dir, "key.json")} {
		b, problem := made(nil, map[string]cty.Value{"credentials": cty.StringVal(given), "storage_custom_endpoint": cty.StringVal(address + "/storage/v1/")})
		if b == nil {
			t.Fatal(problem)
		}
		c.Log()
		_, err := b.Workspaces(t.Context())
		storagetest.Do(t, err)
		if got := said(c); got != "federated GET /storage/v1/b/states/o" || asked != "jwt" {
			t.Errorf("got %s, asked for %s", got, asked)
		}
	}
}
