package encryption

import (
	"testing"

	"weir.dev/weir/internal/lang/syntax"
)

// FuzzSettings reads any text as encryption settings, merges them with good ones, and makes
// keys and methods where it may: each problem has a place, and nothing panics.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{
		"key_provider \"pbkdf2\" \"a\" {\n  passphrase = var.passphrase\n}\nmethod \"aes_gcm\" \"m\" {\n  keys = key_provider.pbkdf2.a\n}\nstate {\n  method = method.aes_gcm.m\n  enforced = true\n}\n",
		"method \"unencrypted\" \"m\" {}\nstate {\n  method = method.unencrypted.m\n  fallback {}\n}\nplan {\n  enforced = \"maybe\"\n}\n",
		"remote_state_data_sources {\n  default {\n    method = method.a.b\n  }\n  remote_state_data_source \"x\" {}\n}\n",
		"key_provider \"pbkdf2\" \"a\" {\n  chain = key_provider.pbkdf2.a\n  iterations = 1e9\n  salt_length = -1\n}\nstate {\n  method = method\n}\n",
	} {
		f.Add(text)
	}
	good := configOf(f, "main.tf", "terraform {\n  encryption {\n    method \"unencrypted\" \"m\" {}\n    state {\n      method = method.unencrypted.m\n    }\n  }\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"x.tf", "x.tf.json"} {
			file, diags := syntax.Parse(name, []byte(text))
			if diags.HasErrors() {
				continue
			}
			c, diags := Decode(file.Body, file.Body.MissingItemRange())
			for _, d := range diags {
				if d.Subject == nil {
					t.Errorf("no place: %s", d)
				}
			}
			if c == nil {
				t.Fatal("no settings")
			}
			Merge(good, c)
			Merge(c, good)
			if diags.HasErrors() || len(c.keys) > 0 {
				continue // keys take their time on purpose, and may run programs
			}
			e, diags := New(c, evaluateWith(passphrase), nil, nil)
			if diags.HasErrors() {
				continue
			}
			sealed, err := e.State().Seal([]byte(state1))
			if err != nil {
				continue
			}
			if opened, _, err := e.State().Open(sealed); err != nil || string(opened) != state1 {
				t.Errorf("%s: opens as %q, %v", text, opened, err)
			}
		}
	})
}

// TestConstants: arguments that may not refer to anything are checked.
func TestConstants(t *testing.T) {
	for _, value := range []string{`"maybe"`, "null", "[]", "var.x"} {
		file, diags := syntax.Parse("x.tf", []byte("state {\n  enforced = "+value+"\n}\n"))
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if _, diags := Decode(file.Body, file.Body.MissingItemRange()); !diags.HasErrors() {
			t.Errorf("enforced = %s is accepted", value)
		}
	}
}

// TestShortReferences: a method is named by its type and its name.
func TestShortReferences(t *testing.T) {
	for _, ref := range []string{"method", "method.aes_gcm", "method.aes_gcm.m.keys", "key_provider.aes_gcm.m", `method["aes_gcm"].m`, "method.aes_gcm.other", "1"} {
		file, diags := syntax.Parse("x.tf", []byte("method \"unencrypted\" \"m\" {}\nstate {\n  method = "+ref+"\n}\n"))
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		c, diags := Decode(file.Body, file.Body.MissingItemRange())
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if _, diags := New(c, evaluateWith(passphrase), nil, nil); !diags.HasErrors() {
			t.Errorf("method = %s is accepted", ref)
		}
	}
}
