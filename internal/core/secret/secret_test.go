package secret

import (
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
)

func known() *Known {
	k := new(Known)
	secret := func(text string) cty.Value { return cty.StringVal(text).Mark(value.Sensitive) }
	k.AddMarked(cty.ObjectVal(map[string]cty.Value{
		"password": secret("hunter2222"),
		"longer":   secret("hunter2222-and-more"),
		"short":    secret("no"),
		"quoted":   secret("say \"it\" & go"),
		"key":      secret("-----BEGIN-----\nMIIabcdef\n-----END-----\n"),
		"all":      cty.ListVal([]cty.Value{cty.StringVal("in-a-list")}).Mark(value.Sensitive),
		"token":    cty.StringVal("fleeting-token").Mark(value.Ephemeral),
		"region":   cty.StringVal("eu-west-1"),
		"later":    cty.UnknownVal(cty.String).Mark(value.Sensitive),
		"none":     cty.NullVal(cty.String).Mark(value.Sensitive),
		"number":   cty.NumberIntVal(12345678).Mark(value.Sensitive),
	}))
	return k
}

func TestMask(t *testing.T) {
	k := known()
	for text, want := range map[string]string{
		"can't log in with hunter2222 in eu-west-1": "can't log in with (sensitive value) in eu-west-1",
		"hunter2222-and-more, hunter2222":           "(sensitive value), (sensitive value)",
		"no, not that short":                        "no, not that short",
		`it was "say \"it\" & go"`:                  `it was "(sensitive value)"`,
		"https://h/?q=say+%22it%22+%26+go":          "https://h/?q=(sensitive value)",
		"a line: MIIabcdef":                         "a line: (sensitive value)",
		"in-a-list fleeting-token":                  "(sensitive value) (sensitive value)",
		"12345678":                                  "12345678",
	} {
		if got := k.Mask(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
	if got := k.Blot(`x = "hunter2222" # y`); got != `x = "**********" # y` {
		t.Error(got)
	}
	var nobody *Known
	nobody.AddMarked(cty.StringVal("hunter2222").Mark(value.Sensitive))
	if got := nobody.Mask("hunter2222"); got != "hunter2222" {
		t.Error(got)
	}
}

func TestDiagnostics(t *testing.T) {
	before := diag.Bug.As("Wrong hunter2222").List("It is %s.", "hunter2222")
	after := known().Diagnostics(before)
	if after[0].Summary != "Wrong "+Hidden || after[0].Detail != "It is "+Hidden+"." {
		t.Error(after[0])
	}
	if before[0].Summary != "Wrong hunter2222" {
		t.Error("the original was changed")
	}
}

// A secret that comes in two writes is hidden all the same, and nothing is lost.
func TestLines(t *testing.T) {
	var to strings.Builder
	w := &Lines{Known: known(), To: &to}
	for _, part := range []string{"a\nlog in: hunt", "er2222\nnext ", "line\nrest"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := "a\nlog in: (sensitive value)\nnext line\n"; to.String() != want {
		t.Errorf("%q", to.String())
	}
	long := strings.Repeat("x", longest)
	if _, err := w.Write([]byte(long)); err != nil || !strings.HasSuffix(to.String(), "rest"+long) {
		t.Error("a line without end isn't passed on", err)
	}
}

// TestRepeated: a text repeats a secret if it has all of it. A line that a public key shares
// with its private key is no secret by itself.
func TestRepeated(t *testing.T) {
	k := &Known{}
	k.AddText("-----BEGIN-----\nfirst-line\nlast-line==\n-----END-----\n")
	k.AddText("correct-horse")
	v := cty.ObjectVal(map[string]cty.Value{
		"public": cty.StringVal("-----BEGIN PUBLIC-----\nlast-line==\n-----END PUBLIC-----"),
		"echo":   cty.StringVal("user:correct-horse@host"), "set": cty.StringVal("correct-horse"), "null": cty.NullVal(cty.String),
		"whole": cty.StringVal("x\n-----BEGIN-----\nfirst-line\nlast-line==\n-----END-----"),
		"known": cty.StringVal("correct-horse").Mark(value.Sensitive), "later": cty.UnknownVal(cty.String), "number": cty.NumberIntVal(3),
	})
	out, found := k.MarkRepeated(v, func(p cty.Path) bool { return p[0].(cty.GetAttrStep).Name != "set" })
	var names []string
	for _, p := range found {
		names = append(names, value.PathName(p))
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"echo", "whole"}) || !out.GetAttr("echo").HasMark(value.Sensitive) || out.GetAttr("set").IsMarked() || out.GetAttr("public").IsMarked() {
		t.Errorf("%q: %#v", names, out)
	}
	if out, found := new(Known).MarkRepeated(v, nil); found != nil || !out.RawEquals(v) {
		t.Error("without secrets something is marked")
	}
}
