package review

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
)

var update = flag.Bool("update", false, "rewrite golden files")

func object(name, secret string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal("i-1"), "name": cty.StringVal(name), "secret": cty.StringVal(secret).Mark(value.Sensitive),
	})
}

func change(t *testing.T, address string, action plan.Action, before, after cty.Value) *plan.Change {
	t.Helper()
	i, err := addr.ParseInstance(address)
	if err != nil {
		t.Fatal(err)
	}
	return &plan.Change{Addr: addr.Object{Instance: i}, Provider: &addr.ProviderConfig{}, Action: action, Before: before, After: after}
}

func render(t *testing.T, p *plan.Plan, limit int) string {
	t.Helper()
	var b bytes.Buffer
	if err := Markdown(&b, p, limit); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var none = cty.NullVal(cty.DynamicPseudoType)

// TestMarkdown: text from configurations and providers stays within its cell or its
// fence, and no secret is shown.
func TestMarkdown(t *testing.T) {
	p := &plan.Plan{Outputs: []*plan.OutputChange{{Name: "o", Action: plan.Update, Before: cty.StringVal("a"), After: cty.StringVal("b")}}}
	for i := range 3 {
		p.Changes = append(p.Changes, change(t, fmt.Sprintf("sim.node[%d]", i), plan.Update, object("a", "hunter2"), object("b", "hunter3")))
	}
	p.Changes = append(p.Changes,
		change(t, `sim.odd["a|b</code><script>"]`, plan.Update, object("x|y", "s"), object("<b>*z*</b> `@all`", "s")),
		change(t, "sim.fence", plan.Update, object("a\nb\n", "s"), object("a\n```\nb\n", "s")),
		change(t, "sim.gone", plan.Delete, object("a", "hunter2"), none),
		change(t, "sim.other", plan.DeleteThenCreate, object("a", "s"), object("b", "s")),
		change(t, "sim.new", plan.Create, none, object("b", "hunter2")),
		change(t, "sim.same", plan.NoOp, object("a", "s"), object("a", "s")),
	)
	p.Changes[6].ReplacePaths = []cty.Path{cty.GetAttrPath("name")}
	got := render(t, p, Limit)
	if strings.Contains(got, "hunter") {
		t.Error("a secret is shown")
	}
	const path = "testdata/mixed.md"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || got != string(want) {
		t.Errorf("%v; got:\n%s", err, got)
	}
}

// TestMarkdownOfLeftOut: who reviews a plan sees what it went by.
func TestMarkdownOfLeftOut(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	p := &plan.Plan{Timestamp: now, LeftOut: &plan.LeftOut{Objects: 2, Since: now}}
	if got := render(t, p, Limit); !strings.HasPrefix(got, "### No changes\n\n2 objects weren't read again") {
		t.Errorf("%q", got)
	}
}

func TestMarkdownOfNothing(t *testing.T) {
	if got := render(t, &plan.Plan{}, Limit); got != "### No changes\n\n" {
		t.Errorf("%q", got)
	}
	if got := render(t, &plan.Plan{Errored: true}, Limit); !strings.HasPrefix(got, "### Planning failed\n") {
		t.Errorf("%q", got)
	}
}

// TestLimit: however much there is, it fits, what is lost is there, and what is left
// out is said.
func TestLimit(t *testing.T) {
	p := &plan.Plan{}
	for i := range 1000 {
		for k := range 5 {
			c := change(t, fmt.Sprintf("sim.r%d[%d]", i, k), plan.Update, object("a", "s"), object("b", "s"))
			if i == 999 {
				c.Action = plan.Delete
			}
			p.Changes = append(p.Changes, c)
		}
	}
	for _, limit := range []int{2000, 10_000, Limit, 10_000_000} {
		got := render(t, p, limit)
		if n := utf8.RuneCountInString(got); n > limit {
			t.Errorf("%d characters, and there is room for %d", n, limit)
		}
		if !strings.Contains(got, "`sim.r999[0…4]`") {
			t.Errorf("within %d characters what is destroyed isn't named", limit)
		}
		if cut := strings.Contains(got, "There is no room for the other"); cut != (limit < Limit) {
			t.Errorf("within %d characters: %t", limit, cut)
		}
	}
}

// TestMixed: five thousand changes of all kinds fit a comment. Anything that is lost is on
// top, in the table as in what is folded, and what is left out is counted.
func TestMixed(t *testing.T) {
	kinds := []plan.Action{plan.Create, plan.Update, plan.Update, plan.Read, plan.Update, plan.Create, plan.DeleteThenCreate, plan.Update, plan.Delete, plan.Forget}
	p := &plan.Plan{}
	for i := range 5000 {
		kind := kinds[i%len(kinds)]
		before, after := object("small", "hunter2"), object(fmt.Sprintf("size-%d", i), "hunter3")
		switch kind {
		case plan.Create, plan.Read:
			before = none
		case plan.Delete, plan.Forget:
			after = none
		}
		// Half of them are alike, each twenty.
		at := fmt.Sprintf("module.m%d.sim.r%d", i%7, i)
		if i/10%2 == 0 {
			at = fmt.Sprintf("module.m.sim.alike%d_%d[%d]", i/400, i%10, i)
		}
		p.Changes = append(p.Changes, change(t, at, kind, before, after))
	}
	got := render(t, p, Limit)
	if n := utf8.RuneCountInString(got); n > Limit || n < Limit/2 {
		t.Errorf("%d characters", n)
	}
	if strings.Contains(got, "hunter") {
		t.Error("a secret is shown")
	}
	kept, last := 0, 0
	for line := range strings.Lines(got) {
		symbol, isRow := strings.CutPrefix(line, "| `")
		if !isRow {
			continue
		}
		symbol, _, _ = strings.Cut(symbol, "`")
		rank := slices.Index([]string{"-", "-/+", ".", "~", "+", "<="}, symbol)
		if kept++; rank < last {
			t.Fatalf("after something of rank %d comes %s", last, line)
		}
		last = rank
	}
	if kept < 300 {
		t.Errorf("%d rows", kept)
	}
	folded := strings.Count(got, "<details>")
	if folded < 20 || folded != strings.Count(got, "</details>") || strings.Count(got, "\n```") != 2*folded {
		t.Errorf("%d folded changes", folded)
	}
	if _, after, _ := strings.Cut(got, "<details><summary><code>"); !strings.HasPrefix(after, "- ") {
		t.Error("what is lost isn't first among what is folded")
	}
	for _, text := range []string{"### Plan: 1500 to add, 2000 to change, 1000 to destroy, 500 to forget.", "There is no room for the other ", "\nNot shown in full: "} {
		if !strings.Contains(got, text) {
			t.Errorf("%q isn't there", text)
		}
	}
}

// TestDrift: what changed outside is counted, listed and shown without secrets, and within the limit.
func TestDrift(t *testing.T) {
	p := &plan.Plan{Mode: plan.RefreshOnly, Drift: []*plan.Change{
		change(t, "sim.a", plan.Update, object("a", "hunter2"), object("b", "hunter2")),
		change(t, "sim.gone", plan.Delete, object("a", "hunter2"), none),
	}}
	var b bytes.Buffer
	if err := Drift(&b, p, 3, Limit); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, text := range []string{
		"### Drift: 1 changed, 1 deleted. Not shown: 3 objects that changed earlier.\n", "| `~` | `sim.a` |", "| `-` | `sim.gone` |",
		"# sim.a has changed\n", "# sim.gone has been deleted\n",
	} {
		if !strings.Contains(got, text) {
			t.Errorf("%q isn't there:\n%s", text, got)
		}
	}
	if strings.Contains(got, "hunter") || strings.Contains(got, "will be") {
		t.Error(got)
	}
	b.Reset()
	if err := Drift(&b, &plan.Plan{}, 0, Limit); err != nil || b.String() != "### No drift.\n\n" {
		t.Errorf("%v %q", err, b.String())
	}
}
