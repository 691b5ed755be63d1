package encryption

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/syntax"
)

// configOf reads the encryption block of a file.
func configOf(t testing.TB, name, src string) *Config {
	t.Helper()
	file, diags := syntax.Parse(name, []byte(src))
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	inside := func(body hcl.Body, typ string) *hcl.Block {
		content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: typ}}})
		if len(content.Blocks) != 1 {
			t.Fatalf("%s has no %s block", name, typ)
		}
		return content.Blocks[0]
	}
	b := inside(inside(file.Body, "terraform").Body, "encryption")
	c, diags := Decode(b.Body, b.DefRange)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return c
}

// evaluateWith evaluates with var.passphrase.
func evaluateWith(passphrase string) Evaluate {
	return func(expr hcl.Expression, vars map[string]cty.Value) (cty.Value, diag.List) {
		all := map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{"passphrase": cty.StringVal(passphrase)})}
		for name, v := range vars {
			all[name] = v
		}
		v, diags := expr.Value(&hcl.EvalContext{Variables: all})
		return v, diag.FromHCL(diag.Expression, diags)
	}
}

// runIn runs commands in a directory.
func runIn(dir string) Run {
	return func(command []string, input []byte) ([]byte, error) {
		c := exec.Command(command[0], command[1:]...)
		c.Dir, c.Stdin = dir, bytes.NewReader(input)
		out, err := c.Output()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return out, err
	}
}

const passphrase = "a long enough passphrase"

func read(t testing.TB, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRecorded opens states and a plan that the reference has sealed, and what this package
// seals for the same configuration.
func TestRecorded(t *testing.T) {
	for _, name := range []string{"passphrase", "settings", "chain", "program", "json"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", name)
			file := "main.tf"
			if name == "json" {
				file += ".json"
			}
			c := configOf(t, file, string(read(t, dir, file)))
			e, diags := New(c, evaluateWith(passphrase), runIn(dir), nil)
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			want := read(t, dir, "state.json")
			plain, migrating, err := e.State().Open(read(t, dir, "sealed.json"))
			if err != nil || migrating || !bytes.Equal(bytes.TrimSpace(plain), bytes.TrimSpace(want)) {
				t.Fatalf("opened %q, %v, %v", plain, migrating, err)
			}
			sealed, err := e.State().Seal(want)
			if err != nil || bytes.Contains(sealed, []byte("quick brown fox")) || !bytes.Contains(sealed, []byte(`"lineage": "`)) {
				t.Fatalf("sealed %s, %v", sealed, err)
			}
			// Another process has nothing but the file.
			again, _ := New(c, evaluateWith(passphrase), runIn(dir), nil)
			if plain, _, err = again.State().Open(sealed); err != nil || !bytes.Equal(plain, want) {
				t.Fatalf("opened again: %q, %v", plain, err)
			}
			if name != "passphrase" {
				return
			}
			if plan, err := e.Plan().Open(read(t, dir, "plan.sealed")); err != nil || !bytes.HasPrefix(plan, []byte("PK")) {
				t.Fatalf("the plan: %.10q, %v", plan, err)
			}
			other, _ := New(c, evaluateWith("some other passphrase"), runIn(dir), nil)
			_, _, err = other.State().Open(sealed)
			if err == nil || !strings.Contains(err.Error(), "decryption failed for all provided methods\nattempted decryption failed for state: decryption failed: cipher: message authentication failed") {
				t.Fatalf("with the wrong passphrase: %v", err)
			}
			if _, err := other.Plan().Open(read(t, dir, "plan.sealed")); err == nil {
				t.Fatal("a plan was opened with the wrong passphrase")
			}
			moved := bytes.Replace(sealed, []byte(`"serial": 1`), []byte(`"serial": 2`), 1)
			if _, _, err := again.State().Open(moved); err == nil || !strings.Contains(err.Error(), "serial field mismatch") {
				t.Fatalf("with another serial: %v", err)
			}
			moved = regexp.MustCompile(`"lineage": "[^"]+"`).ReplaceAll(sealed, []byte(`"lineage": "another"`))
			if plain, _, err := again.State().Open(moved); err == nil || plain != nil || !strings.Contains(err.Error(), `lineage field mismatch "another" vs "`) {
				t.Fatalf("with another lineage: %q, %v", plain, err)
			}
		})
	}
}

const aroundBlock = `
terraform {
  encryption {
    %s
  }
}
`

// keyed is a key provider and a method, with what else there is.
const keyed = `
    key_provider "pbkdf2" "k" {
      passphrase = var.passphrase
      iterations = 200000
    }
    method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
    method "unencrypted" "u" {}
`

const state1 = `{"version":4,"terraform_version":"1.12.0","serial":7,"lineage":"l","outputs":{}}`

func made(t *testing.T, inside string) *Encryption {
	t.Helper()
	e, diags := New(configOf(t, "main.tf", fmt.Sprintf(aroundBlock, inside)), evaluateWith(passphrase), runIn("."), nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return e
}

func TestMigration(t *testing.T) {
	to := made(t, keyed+`
    state {
      method = method.aes_gcm.m
      fallback { method = method.unencrypted.u }
    }`).State()
	only := made(t, keyed+`state { method = method.aes_gcm.m }`).State()
	back := made(t, keyed+`
    state {
      method = method.unencrypted.u
      fallback { method = method.aes_gcm.m }
    }`).State()
	rotated := made(t, keyed+`
    key_provider "pbkdf2" "new" {
      passphrase = "${var.passphrase}, renewed"
      iterations = 200000
    }
    method "aes_gcm" "new" { keys = key_provider.pbkdf2.new }
    state {
      method = method.aes_gcm.new
      fallback { method = method.aes_gcm.m }
    }`).State()

	sealed, err := only.Seal([]byte(state1))
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := rotated.Seal([]byte(state1))
	if err != nil {
		t.Fatal(err)
	}
	if clear, err := back.Seal([]byte(state1)); err != nil || string(clear) != state1 || back.Encrypts() || !to.Encrypts() {
		t.Fatalf("on the way back: %s, %v", clear, err)
	}
	tests := []struct {
		name      string
		by        State
		stored    string
		migrating bool
		problem   string
	}{
		{"clear, to be sealed", to, state1, true, ""},
		{"sealed already", to, string(sealed), false, ""},
		{"clear without a fallback", only, state1, false, "encountered unencrypted payload without unencrypted method configured"},
		{"sealed", only, string(sealed), false, ""},
		{"sealed, to be clear", back, string(sealed), true, ""},
		{"clear", back, state1, false, ""},
		{"old key", rotated, string(sealed), true, ""},
		{"new key", rotated, string(renewed), false, ""},
		{"new key, old configuration", only, string(renewed), false, "decryption failed for all provided methods\nattempted"},
		{"a later version", only, `{"encryption_version":"v9","encrypted_data":"","meta":{}}`, false, "invalid encrypted payload version: v9 != v0"},
		{"no data", only, `{"encryption_version":"v0","encrypted_data":"","meta":{}}`, false, "no decryption key available"},
		{"a serial that is none", only, `{"serial":"x",` + string(sealed)[1:], false, `invalid state metadata: its "serial" can't be read`},
		{"without encryption", State{}, state1, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plain, migrating, err := tt.by.Open([]byte(tt.stored))
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) || plain != nil && len(tt.stored) != len(plain) {
					t.Fatalf("got %q, %v", plain, err)
				}
				return
			}
			if err != nil || string(plain) != state1 || migrating != tt.migrating {
				t.Fatalf("got %q, %v, %v", plain, migrating, err)
			}
		})
	}
	for _, torn := range []string{`{"version":4,`, "x", "[]", `{"a":1}`} {
		if plain, _, err := only.Open([]byte(torn)); err != nil || string(plain) != torn {
			t.Errorf("%q, which is no state, is for others to refuse: %q, %v", torn, plain, err)
		}
	}
	key, err := only.SealKey([]byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := rotated.OpenKey(key); err != nil || string(got) != "key" {
		t.Errorf("a key: %q, %v", got, err)
	}
	if _, err := (State{}).OpenKey(key); err == nil {
		t.Error("a key was opened without a configuration")
	}
	if to.Clear() != nil || only.Clear() == nil || (State{}).Clear() != nil {
		t.Error("what may be clear isn't known")
	}
}

func TestTargets(t *testing.T) {
	e := made(t, keyed+`
    remote_state_data_sources {
      default { method = method.unencrypted.u }
      remote_state_data_source "net[0].vpc" { method = method.aes_gcm.m }
    }`)
	if !e.RemoteState("net[0].vpc").Encrypts() || e.RemoteState("vpc").Encrypts() || e.RemoteState("vpc").target == nil {
		t.Error("a target was taken for another")
	}
	if e.State().target != nil || e.Plan().target != nil {
		t.Error("there are targets that nobody asked for")
	}
	var none *Encryption
	if none.State().Encrypts() || none.RemoteState("x").Encrypts() {
		t.Error("no configuration encrypts")
	}
	sealed, err := none.Plan().Seal([]byte("PK"))
	if err != nil || string(sealed) != "PK" {
		t.Error("a plan was changed without a configuration")
	}
	sealed, _ = made(t, keyed+"plan { method = method.aes_gcm.m }").Plan().Seal([]byte("PK"))
	if _, err := none.Plan().Open(sealed); err == nil || !strings.Contains(err.Error(), "requires a valid encryption configuration") {
		t.Errorf("an encrypted plan: %v", err)
	}
	if _, err := made(t, keyed+"plan { method = method.aes_gcm.m }").Plan().Open([]byte("PK")); err == nil {
		t.Error("a plan in clear was taken")
	}
}

func TestMerge(t *testing.T) {
	below := configOf(t, "main.tf", fmt.Sprintf(aroundBlock, `
    key_provider "pbkdf2" "k" {
      passphrase               = "too short"
      iterations               = 200000
      encrypted_metadata_alias = "kept"
    }
    method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
    state {
      method   = method.aes_gcm.m
      enforced = true
    }`))
	over := configOf(t, "TF_ENCRYPTION.json", `{"terraform":{"encryption":{
      "key_provider":{"pbkdf2":{"k":{"passphrase":"${var.passphrase}"},"old":{"passphrase":"another long passphrase","iterations":200000}}},
      "method":{"aes_gcm":{"old":{"keys":"key_provider.pbkdf2.old"}}},
      "state":{"fallback":{"method":"method.aes_gcm.old"}},
      "remote_state_data_sources":{"default":{"method":"method.aes_gcm.old"}}}}}`)
	c := Merge(Merge(nil, below), Merge(over, nil))
	e, diags := New(c, evaluateWith(passphrase), runIn("."), nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	sealed, err := e.State().Seal([]byte(state1))
	if err != nil || !strings.Contains(string(sealed), `"kept"`) || strings.Contains(string(sealed), "key_provider") {
		t.Errorf("sealed %s, %v", sealed, err)
	}
	if n := len(e.State().target.methods); n != 2 || !c.state.enforced || !e.RemoteState("x").Encrypts() {
		t.Errorf("%d methods, enforced %v", n, c.state.enforced)
	}
	if below.keys[0].body == c.keys[0].body || len(below.keys) != 1 {
		t.Error("merging has changed what it merged")
	}
}

func TestProblems(t *testing.T) {
	state := "\nstate { method = method.aes_gcm.m }"
	gcm := "\nmethod \"aes_gcm\" \"m\" { keys = key_provider.pbkdf2.k }" + state
	tests := []struct {
		name, inside, want string
	}{
		{"short passphrase", `key_provider "pbkdf2" "k" { passphrase = "hunter2" }` + gcm, "Unable to build encryption key data: key_provider.pbkdf2.k failed with error: passphrase is too short (minimum 16 characters)"},
		{"no passphrase", `key_provider "pbkdf2" "k" {}` + gcm, "no passphrase provided and no chained provider defined"},
		{"type of passphrase", `key_provider "pbkdf2" "k" { passphrase = ["hunter2"] }` + gcm, `Inappropriate value for attribute "passphrase"`},
		{"few iterations", "key_provider \"pbkdf2\" \"k\" {\npassphrase = var.passphrase\niterations = 1000\n}" + gcm, "dangerously low"},
		{"many iterations", "key_provider \"pbkdf2\" \"k\" {\npassphrase = var.passphrase\niterations = 1073741824\n}" + gcm, "longer than anybody waits"},
		{"part of an iteration", "key_provider \"pbkdf2\" \"k\" {\npassphrase = var.passphrase\niterations = 300000.5\n}" + gcm, "whole number"},
		{"hash", "key_provider \"pbkdf2\" \"k\" {\npassphrase = var.passphrase\nhash_function = \"md5\"\n}" + gcm, "invalid hash function name: md5"},
		{"salt", "key_provider \"pbkdf2\" \"k\" {\npassphrase = var.passphrase\nsalt_length = 0\n}" + gcm, "salt length"},
		{"key length", "key_provider \"pbkdf2\" \"k\" {\npassphrase = var.passphrase\nkey_length = 17\n}" + gcm, "Invalid method configuration: invalid method configuration: AES-GCM requires the key length to be one of: 16, 24, 32, received 17 bytes"},
		{"both", "key_provider \"pbkdf2\" \"a\" { passphrase = var.passphrase }\nkey_provider \"pbkdf2\" \"k\" {\npassphrase = var.passphrase\nchain = key_provider.pbkdf2.a\n}" + gcm, "mutually exclusive"},
		{"circle", "key_provider \"pbkdf2\" \"a\" { chain = key_provider.pbkdf2.k }\nkey_provider \"pbkdf2\" \"k\" { chain = key_provider.pbkdf2.a }" + gcm, "key_provider.pbkdf2.k -> key_provider.pbkdf2.a -> key_provider.pbkdf2.k"},
		{"alias", "key_provider \"pbkdf2\" \"a\" {\npassphrase = var.passphrase\nencrypted_metadata_alias = \"x\"\n}\nkey_provider \"pbkdf2\" \"k\" {\nchain = key_provider.pbkdf2.a\nencrypted_metadata_alias = \"x\"\n}" + gcm, "Duplicate metadata key"},
		{"argument", "key_provider \"pbkdf2\" \"k\" {\npassphrase = var.passphrase\nsalt = 1\n}" + gcm, `An argument named "salt" is not expected here.`},
		{"service", `key_provider "test_kms" "k" {}` + strings.ReplaceAll(gcm, "pbkdf2", "test_kms"), `key provider with ID test_kms not found. There are external, pbkdf2.`},
		{"key provider", `key_provider "foo" "k" {}` + strings.ReplaceAll(gcm, "pbkdf2", "foo"), `Error fetching key_provider "foo": key provider with ID foo not found. There are external, pbkdf2.`},
		{"undeclared key provider", gcm, `Reference to undeclared key provider: There is no key_provider "pbkdf2" "k" block`},
		{"part of a key provider", "method \"aes_gcm\" \"m\" { keys = key_provider.k }" + state, "Invalid Key Provider expression format"},
		{"method", "method \"foo\" \"m\" {}\nstate { method = method.foo.m }", `Error fetching encryption method "foo": encryption method with ID foo not found. There are aes_gcm, external, unencrypted.`},
		{"undeclared method", state, `Reference to undeclared encryption method: There is no method "aes_gcm" "m" block declared in the encryption block.`},
		{"no method", "state {}", `The argument "method" is required`},
		{"part of a method", "state { method = method.m }", "Invalid encryption method identifier"},
		{"text for a method", "state { method = upper(\"x\") }", "Invalid expression"},
		{"no keys", "method \"aes_gcm\" \"m\" {}" + state, `The argument "keys" is required`},
		{"text for keys", "method \"aes_gcm\" \"m\" { keys = \"hunter2\" }" + state, "Expected key_provider value: Expected a key_provider compatible value, found string instead"},
		{"empty keys", "method \"aes_gcm\" \"m\" { keys = {} }" + state, "Missing encryption_key value"},
		{"large keys", "method \"aes_gcm\" \"m\" { keys = { encryption_key = [256] } }" + state, "The value of encryption_key is not a key"},
		{"enforced", keyed + "state {\nmethod = method.unencrypted.u\nenforced = true\n}", "Unencrypted method is forbidden: Unable to use unencrypted method since the enforced flag is set."},
		{"enforced fallback", keyed + "state {\nmethod = method.aes_gcm.m\nenforced = true\nfallback { method = method.unencrypted.u }\n}", "Unencrypted method is forbidden"},
		{"twice", `key_provider "pbkdf2" "k" {}` + "\n" + `key_provider "pbkdf2" "k" {}`, "Duplicate key_provider: Found multiple instances of key_provider.pbkdf2.k"},
		{"no command", "key_provider \"external\" \"k\" { command = [] }" + strings.ReplaceAll(gcm, "pbkdf2", "external"), "the command option is required"},
		{"failing command", "key_provider \"external\" \"k\" { command = [\"sh\", \"-c\", \"echo no vault >&2; exit 3\"] }" + strings.ReplaceAll(gcm, "pbkdf2", "external"), "Unable to fetch encryption key data: key_provider.external.k failed with error: the external command failed: exit status 3: no vault"},
		{"silent command", "key_provider \"external\" \"k\" { command = [\"true\"] }" + strings.ReplaceAll(gcm, "pbkdf2", "external"), "is not a header"},
		{"other command", "key_provider \"external\" \"k\" { command = [\"sh\", \"-c\", \"echo '{}'\"] }" + strings.ReplaceAll(gcm, "pbkdf2", "external"), "invalid magic"},
		{"no command to encrypt", "method \"external\" \"m\" {\nencrypt_command = []\ndecrypt_command = [\"x\"]\n}\nstate { method = method.external.m }", "the encrypt_command option is required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file, diags := syntax.Parse("main.tf", []byte(tt.inside))
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			c, diags := Decode(file.Body, hcl.Range{Filename: "main.tf"})
			if !diags.HasErrors() {
				_, diags = New(c, evaluateWith(passphrase), runIn("."), nil)
			}
			var all []string
			for _, d := range diags {
				all = append(all, d.Summary+": "+d.Detail)
				if d.Subject == nil || d.Subject.Filename != "main.tf" {
					t.Errorf("%s has no place", d.Summary)
				}
			}
			text := strings.Join(all, "\n")
			if !diags.HasErrors() || !strings.Contains(text, tt.want) {
				t.Errorf("got %s", text)
			}
			if strings.Contains(text, "hunter2") || strings.Contains(text, passphrase) {
				t.Errorf("a secret is shown: %s", text)
			}
		})
	}
}

func TestWarning(t *testing.T) {
	_, diags := New(configOf(t, "main.tf", fmt.Sprintf(aroundBlock, keyed)), evaluateWith(passphrase), runIn("."), nil)
	if len(diags) != 1 || diags[0].Severity != diag.Warning || diags[0].Summary != "Unencrypted method configured" {
		t.Errorf("got %v", diags)
	}
}

// TestManyIterations: what is stored can't ask for more work than anybody waits for, nor for none.
func TestManyIterations(t *testing.T) {
	for _, n := range []string{"1073741824", "0", "-1"} {
		t.Run(n, func(t *testing.T) { testIterations(t, n) })
	}
}

func testIterations(t *testing.T, n string) {
	dir := filepath.Join("testdata", "passphrase")
	stored := read(t, dir, "sealed.json")
	var sealed struct {
		Meta map[string][]byte `json:"meta"`
	}
	if err := json.Unmarshal(stored, &sealed); err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, meta := range sealed.Meta {
		other := regexp.MustCompile(`"iterations":\d+`).ReplaceAll(meta, []byte(`"iterations":`+n))
		b64 := base64.StdEncoding.EncodeToString
		changed += bytes.Count(stored, []byte(b64(meta)))
		stored = bytes.ReplaceAll(stored, []byte(b64(meta)), []byte(b64(other)))
	}
	e, diags := New(configOf(t, "main.tf", string(read(t, dir, "main.tf"))), evaluateWith(passphrase), nil, nil)
	if changed == 0 || diags.HasErrors() {
		t.Fatal(changed, diags)
	}
	if _, _, err := e.State().Open(stored); err == nil || !strings.Contains(err.Error(), "invalid number of iterations ("+n+")") {
		t.Error(err)
	}
}

// A keeper makes one key by the configuration that it was opened with.
type keeper struct{ name, address string }

func (k keeper) Size() int { return 32 }

func (k keeper) Make(context.Context) ([]byte, any, error) {
	return k.key(), k, nil
}

func (k keeper) Find(context.Context, []byte) ([]byte, error) { return k.key(), nil }

func (k keeper) key() []byte {
	sum := sha256.Sum256([]byte(k.name + " at " + k.address))
	return sum[:]
}

// TestService: a service is opened with what its block says, and null for the rest. Blocks
// of one kind are written once.
func TestService(t *testing.T) {
	optional := func(typ cty.Type) *schema.Attribute { return &schema.Attribute{Type: typ, Optional: true} }
	text := func(v cty.Value) string {
		if v.IsNull() {
			return "none"
		}
		return v.AsString()
	}
	var last keeper
	services := Services{"test_kms": {
		Schema: func() *schema.Block {
			return &schema.Block{Attributes: map[string]*schema.Attribute{
				"name": optional(cty.String),
				"endpoints": {Optional: true, Nested: &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{
					"kms": optional(cty.String), "sts": optional(cty.String),
				}}},
			}}
		},
		Blocks: []string{"endpoints"},
		Open: func(config cty.Value) (Keeper, error) {
			last = keeper{name: text(config.GetAttr("name")), address: "none"}
			if e := config.GetAttr("endpoints"); !e.IsNull() {
				last.address = text(e.GetAttr("kms")) + ", " + text(e.GetAttr("sts"))
			}
			return last, nil
		},
	}}
	for inside, want := range map[string]keeper{
		"": {"none", "none"},
		`name = "k"
		 endpoints { kms = "here" }`: {"k", "here, none"},
	} {
		c := configOf(t, "main.tf", fmt.Sprintf(aroundBlock, "key_provider \"test_kms\" \"k\" {\n"+inside+"\n}\nmethod \"aes_gcm\" \"m\" { keys = key_provider.test_kms.k }\nstate { method = method.aes_gcm.m }"))
		e, diags := New(c, evaluateWith(passphrase), nil, services)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if last != want {
			t.Errorf("%q: opened with %+v", inside, last)
		}
		sealed, err := e.State().Seal([]byte(state1))
		if err != nil {
			t.Fatal(err)
		}
		if plain, _, err := e.State().Open(sealed); err != nil || string(plain) != state1 {
			t.Errorf("%q: opened %q, %v", inside, plain, err)
		}
	}
	c := configOf(t, "main.tf", fmt.Sprintf(aroundBlock, "key_provider \"test_kms\" \"k\" {\nendpoints {}\nendpoints {}\n}\nmethod \"aes_gcm\" \"m\" { keys = key_provider.test_kms.k }\nstate { method = method.aes_gcm.m }"))
	if _, diags := New(c, evaluateWith(passphrase), nil, services); len(diags) != 1 || diags[0].Summary != "Duplicate endpoints block" {
		t.Errorf("two blocks: %v", diags)
	}
}

// FuzzOpen holds opening to errors for whatever is stored.
func FuzzOpen(f *testing.F) {
	dir := filepath.Join("testdata", "passphrase")
	c := configOf(f, "main.tf", string(read(f, dir, "main.tf")))
	f.Add(read(f, dir, "sealed.json"))
	f.Add([]byte(state1))
	f.Add([]byte(`{"meta":{"key_provider.pbkdf2.words":"e30="},"encrypted_data":"AAAA","encryption_version":"v0"}`))
	f.Fuzz(func(t *testing.T, stored []byte) {
		if bytes.Contains(stored, []byte("meta")) && len(stored) > 1000 {
			t.Skip("many iterations take long")
		}
		e, diags := New(c, evaluateWith(passphrase), nil, nil)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		e.State().Open(stored)
	})
}
