package module

import (
	"bytes"
	"strings"
	"testing"

	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// escape keeps a text of JSON from being a template.
var escape = strings.NewReplacer("${", "$${", "%{", "%%{")

// FuzzParseVariables reads any text as a file of values in both syntaxes. Each problem has a
// place, and the values of a file in native syntax are the same from a file in JSON.
func FuzzParseVariables(f *testing.F) {
	for _, text := range []string{
		"a = 1\nb = \"x\"\n", "a = [true, null, { b = \"${1}\" }]\n", "a = \"%{ if true }x%{ endif }\"\n", `{"a": [1, {"b": "$${x}"}], "//": "note"}`,
		"variable \"a\" {\n}\n", "a = var.x\n", "a = <<E\nx\nE\n", "é = 1e100\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"x.tfvars", "x.tfvars.json"} {
			values, diags := ParseVariables(name, []byte(text))
			for _, d := range diags {
				if d.Subject == nil {
					t.Errorf("%s: no place: %s", name, d)
				}
			}
			if diags.HasErrors() || name != "x.tfvars" {
				continue
			}
			for _, v := range values {
				if !v.Value.IsWhollyKnown() || v.Value.IsMarked() {
					continue
				}
				written, err := ctyjson.Marshal(v.Value, v.Value.Type())
				if err != nil {
					continue // a value that JSON doesn't have
				}
				if bytes.Contains(written, []byte("$$")) || bytes.Contains(written, []byte("%%")) {
					continue // several signs before a brace escape each other
				}
				file := []byte(`{"v": ` + escape.Replace(string(written)) + `}`)
				again, diags := ParseVariables("y.tfvars.json", file)
				if diags.HasErrors() || len(again) != 1 {
					t.Errorf("%s: %s: %v", text, file, diags)
					continue
				}
				if !again[0].Value.RawEquals(v.Value) && !v.Value.IsNull() {
					t.Errorf("%s: %#v, and from %s: %#v", text, v.Value, file, again[0].Value)
				}
			}
		}
	})
}
