package lockedstate

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/storage/backends"
	statehttp "weir.dev/weir/internal/state/storage/http"
	"weir.dev/weir/internal/workspace/statebackend"
)

// seals is the encryption of states by the content of an encryption block.
func seals(t *testing.T, text string) encryption.State {
	t.Helper()
	file, diags := syntax.Parse("encryption.tf", []byte(text))
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	c, diags := encryption.Decode(file.Body, hcl.Range{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	e, diags := encryption.New(c, func(expr hcl.Expression, vars map[string]cty.Value) (cty.Value, diag.List) {
		v, diags := expr.Value(&hcl.EvalContext{Variables: vars})
		return v, diag.FromHCL(diag.Expression, diags)
	}, nil, nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return e.State()
}

const passphrase = `
key_provider "pbkdf2" "k" {
  passphrase = "a long enough passphrase"
  iterations = 200000
}
method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
method "unencrypted" "u" {}
`

const (
	strict    = passphrase + "state { method = method.aes_gcm.m }"
	gradually = passphrase + "state {\nmethod = method.aes_gcm.m\nfallback { method = method.unencrypted.u }\n}"
)

// A server keeps a state.
type server struct {
	content []byte
	broken  bool
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && s.content == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		w.Write(s.content)
	case s.broken:
		w.WriteHeader(http.StatusInsufficientStorage)
	default:
		s.content, _ = io.ReadAll(r.Body)
	}
}

func open(t *testing.T, url string, by encryption.State) *Session {
	t.Helper()
	config := statehttp.Schema().EmptyValue().AsValueMap()
	config["address"] = cty.StringVal(url)
	b, diags := statebackend.Opener{Types: backends.All(), Getenv: func(string) string { return "" }}.Open("http", cty.ObjectVal(config), nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	s, diags := Open(b, "default", Options{Seals: by, DataDir: t.TempDir(), Program: "weir", Version: "1.12.0"})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return s
}

func words(text string) *state.Snapshot {
	s := state.Empty()
	s.Outputs["words"] = state.Output{Value: cty.StringVal(text)}
	return s
}

func TestSealed(t *testing.T) {
	t.Chdir(t.TempDir())
	srv := &server{}
	at := httptest.NewServer(srv)
	defer at.Close()

	clear := open(t, at.URL, encryption.State{})
	if err := clear.save(t.Context(), words("s3cret")); err != nil || !bytes.Contains(srv.content, []byte("s3cret")) {
		t.Fatalf("in clear: %v\n%s", err, srv.content)
	}
	if diags := open(t, at.URL, seals(t, strict)).Read(t.Context()); !diags.HasErrors() || !strings.Contains(diags[0].Detail, "encountered unencrypted payload") {
		t.Fatalf("a state in clear: %v", diags)
	}

	// The same content, but encrypted; the serial stays.
	to := open(t, at.URL, seals(t, gradually))
	if diags := to.Read(t.Context()); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if err := to.save(t.Context(), to.Snapshot()); err != nil {
		t.Fatal(err)
	}
	sealed := srv.content
	if bytes.Contains(sealed, []byte("s3cret")) || !bytes.Contains(sealed, []byte(`"serial": 1`)) {
		t.Fatalf("not encrypted:\n%s", sealed)
	}
	if err := to.save(t.Context(), to.Snapshot()); err != nil || !bytes.Equal(srv.content, sealed) {
		t.Error("an encrypted state is written without need")
	}

	s := open(t, at.URL, seals(t, strict))
	if diags := s.Read(t.Context()); diags.HasErrors() || s.Base().Outputs["words"].Value.AsString() != "s3cret" {
		t.Fatalf("read back: %v", diags)
	}
	if diags := open(t, at.URL, encryption.State{}).Read(t.Context()); !diags.HasErrors() || !strings.Contains(diags[0].Detail, "is encrypted") {
		t.Errorf("without a configuration: %v", diags)
	}

	if err := os.WriteFile("errored.tfstate", []byte("of an earlier run"), 0o644); err != nil {
		t.Fatal(err)
	}
	srv.broken = true
	next := words("another s3cret")
	why := s.save(t.Context(), next)
	if why == nil {
		t.Fatal("a broken server took a state")
	}
	diags := s.rescue(s.stamped(next), why)
	kept, err := os.ReadFile("errored.tfstate")
	if err != nil || strings.Contains(diags.Err().Error(), "s3cret") {
		t.Fatalf("rescued: %v, %v", err, diags)
	}
	if plain, _, err := s.Seals.Open(kept); err != nil || bytes.Contains(kept, []byte("s3cret")) || !bytes.Contains(plain, []byte("another s3cret")) {
		t.Errorf("rescued %s, %v", kept, err)
	}
	if info, err := os.Stat("errored.tfstate"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the rescued state can be read by others: %v", info.Mode())
	}
}

func TestJournalInClear(t *testing.T) {
	t.Chdir(t.TempDir())
	at := httptest.NewServer(&server{})
	defer at.Close()
	s := open(t, at.URL, seals(t, strict))
	w, err := journal.Start(nil, s.journalPath(), s.journalBegin(), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if diags := s.Read(t.Context()); !diags.HasErrors() || !strings.Contains(diags[0].Detail, "encountered unencrypted payload") {
		t.Errorf("a journal that anybody may have written is taken: %v", diags)
	}
}
