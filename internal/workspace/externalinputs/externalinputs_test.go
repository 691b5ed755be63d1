package externalinputs

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/stack/remoteoutputs"
	"weir.dev/weir/internal/state/encryption"
)

// An issuer mints tokens for who has its secret, and says where in its discovery
// document; it also has secrets in the form of a server with versions.
func issuer(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": s.URL, "token_endpoint": s.URL + "/token"})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hush" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"value": "jwt for " + strings.Join(r.URL.Query()["audience"], "+")})
	})
	mux.HandleFunc("/v1/kv/data/app", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Vault-Token") != "hush" || r.Header.Get("Authorization") != "Bearer hush" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(`{"data": {"data": {"user": "me", "port": 5}, "metadata": {"version": 3}}}`))
	})
	return s
}

func reader(t *testing.T, settings string) *Reader {
	t.Helper()
	c := &cliconfig.Config{}
	if diags := c.Read("rc", []byte(settings), func(string) string { return "" }, "registry.opentofu.org"); diags.HasErrors() {
		t.Fatal(diags)
	}
	dir := t.TempDir()
	return &Reader{
		Context: context.Background(), Settings: c.Stacks,
		Environ: map[string]string{"SECRET": "hush", "JWT": "from-env", "APP_USER": "me", "APP_PASS": "x", "PATH": os.Getenv("PATH")},
		Path: func(name string) string {
			if filepath.IsAbs(name) {
				return name
			}
			return filepath.Join(dir, name)
		},
		TokenDir: filepath.Join(dir, "tokens"), HTTP: http.DefaultClient,
	}
}

func TestTokens(t *testing.T) {
	s := issuer(t)
	r := reader(t, `stacks {
  identity_token "file" {
    file = "token.txt"
  }
  identity_token "env" {
    environment = "JWT"
  }
  identity_token "run" {
    command = ["sh", "-c", "echo $WEIR_TOKEN for $WEIR_AUDIENCE"]
  }
  identity_token "fails" {
    command = ["sh", "-c", "echo not today >&2; exit 3"]
  }
  identity_token "fails silently" {
    command = ["sh", "-c", "exit 3"]
  }
  identity_token "absent" {
    environment = "NOPE"
  }
  identity_token "refused" {
    url = "`+s.URL+`/token"
  }
  identity_token "*" {
    url    = "`+s.URL+`/token"
    bearer = "SECRET"
  }
}`)
	if err := os.WriteFile(r.Path("token.txt"), []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Secrets = new(secret.Known)
	for _, test := range []struct{ name, want, problem string }{
		{"file", "from-file", ""}, {"env", "from-env", ""}, {"run", "run for a,b", ""}, {"other", "jwt for a+b", ""},
		{"fails", "", "not today"}, {"fails silently", "", "sh: exit status 3"},
		{"absent", "", "no environment variable NOPE"}, {"refused", "", "403"},
	} {
		token, file, err := r.Token(&deploy.Token{Name: test.name, Audience: []string{"a", "b"}})
		if test.problem != "" {
			if err == nil || !strings.Contains(err.Error(), test.problem) || !strings.Contains(err.Error(), "rc:") {
				t.Errorf("%s: got %v", test.name, err)
			}
			continue
		}
		if err != nil || token != test.want {
			t.Errorf("%s: got %q, %v", test.name, token, err)
			continue
		}
		if shown := r.Secrets.Mask("it is " + token); strings.Contains(shown, token) {
			t.Errorf("%s: the token is shown: %q", test.name, shown)
		}
		if data, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(data)) != test.want {
			t.Errorf("%s: the file has %q, %v", test.name, data, err)
		}
	}
	r.Settings = cliconfig.Stacks{}
	if _, _, err := r.Token(&deploy.Token{Name: "new"}); err == nil || !strings.Contains(err.Error(), `identity_token "new"`) {
		t.Errorf("without a setting: %v", err)
	}
}

func TestStores(t *testing.T) {
	s := issuer(t)
	r := reader(t, `stacks {
  store "varset" "vars" {
    file = "a.tfvars"
  }
  store "varset" "varset-7" {
    file = "b.json"
  }
  store "varset" "dotenv" {
    file = "c.env"
  }
  store "varset" "dir" {
    file = "d"
  }
  store "varset" "env" {
    environment = "APP_"
  }
  store "varset" "run" {
    command = ["sh", "-c", "echo '{\"user\": \"me\"}'"]
  }
  store "vault" "*" {
    url    = "`+s.URL+`/v1/kv/data/app"
    bearer = "SECRET"
  }
}`)
	if err := os.Mkdir(r.Path("d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a.tfvars": "user = \"me\"\nlist = [1]\n", "b.json": `{"user": "me"}`, "c.env": "# none\nexport user=\"me\"\n\nx=1\n", "d/user": "me\n",
	} {
		if err := os.WriteFile(r.Path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ typ, name, id, key string }{
		{"varset", "vars", "", "user"}, {"varset", "x", "varset-7", "user"}, {"varset", "dotenv", "", "user"},
		{"varset", "dir", "", "user"}, {"varset", "env", "", "USER"}, {"varset", "run", "", "user"}, {"vault", "any", "", "user"},
	} {
		values, err := r.Store(&deploy.Store{Type: test.typ, Name: test.name, ID: test.id})
		if err != nil || values[test.key].Type() != cty.String || values[test.key].AsString() != "me" {
			t.Errorf("%s: got %v, %v", test.name, values, err)
		}
	}
	if _, err := r.Store(&deploy.Store{Type: "varset", Name: "nope"}); err == nil || !strings.Contains(err.Error(), `store "varset" "nope"`) {
		t.Errorf("without a setting: %v", err)
	}
}

func TestUpstream(t *testing.T) {
	r := reader(t, `stacks {
  upstream "app.example.com/org/project/core" {
    directory = "up"
  }
}`)
	r.Subscriber = r.Path("down")
	r.Published = func(dir string) (map[string]cty.Value, error) {
		return remoteoutputs.Read(r.Path(dir), encryption.State{})
	}
	for _, dir := range []string{"up", "down"} {
		if err := os.Mkdir(r.Path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	u := &deploy.Upstream{Name: "core", Source: "app.example.com/org/project/core"}
	if _, err := r.Upstream(u); err == nil || !strings.Contains(err.Error(), "Apply it first") {
		t.Errorf("nothing is published: %v", err)
	}
	want := map[string]cty.Value{"id": cty.StringVal("x"), "all": cty.ListVal([]cty.Value{cty.NumberIntVal(1)})}
	for i, changed := range []bool{true, false} {
		if got, err := remoteoutputs.Write(r.Path("up"), want, encryption.State{}); err != nil || got != changed {
			t.Errorf("time %d: changed is %t, %v", i, got, err)
		}
	}
	values, err := r.Upstream(u)
	if err != nil || !values["id"].RawEquals(want["id"]) || !values["all"].RawEquals(want["all"]) {
		t.Errorf("got %v, %v", values, err)
	}
	if list, err := remoteoutputs.Readers(r.Path("up")); err != nil || len(list) != 1 || list[0] != filepath.Join("..", "down") {
		t.Errorf("readers are %v, %v", list, err)
	}
	if _, err := r.Upstream(&deploy.Upstream{Source: "app.example.com/org/project/other"}); err == nil || !strings.Contains(err.Error(), "upstream") {
		t.Errorf("without a setting: %v", err)
	}
}
