package page

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/ui/view/progress"
	"weir.dev/weir/internal/ui/view/steptimes"
)

var update = flag.Bool("update", false, "rewrite golden files")

var none = cty.NullVal(cty.DynamicPseudoType)

func object(name, secret string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"name": cty.StringVal(name), "copy": cty.StringVal("copy of " + secret), "secret": cty.StringVal(secret).Mark(value.Sensitive),
	})
}

func planned(t *testing.T, address string, action plan.Action, before, after cty.Value, needs ...int32) *plan.Change {
	t.Helper()
	i, err := addr.ParseInstance(address)
	if err != nil {
		t.Fatal(err)
	}
	return &plan.Change{Addr: addr.Object{Instance: i}, Provider: &addr.ProviderConfig{}, Action: action, Before: before, After: after, Dependencies: needs}
}

func render(t *testing.T, p *plan.Plan, beside Beside) string {
	t.Helper()
	var b bytes.Buffer
	if err := Plan(&b, p, beside); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// within is the data of a page.
func within(t *testing.T, page string) data {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(page)
	var d data
	if m == nil || json.Unmarshal([]byte(m[1]), &d) != nil {
		t.Fatal("there is no data")
	}
	return d
}

const evil = `</script><img src=x onerror=alert(1)>`

// mixed is a small plan with something of everything.
func mixed(t *testing.T) *plan.Plan {
	p := &plan.Plan{Outputs: []*plan.OutputChange{
		{Name: "o", Action: plan.Update, Before: cty.StringVal(evil), After: cty.StringVal("b")},
		{Name: "s", Action: plan.Update, Before: cty.StringVal("hunter22-a"), After: cty.StringVal("hunter22-b"), Sensitive: true},
	}}
	for i := range 3 {
		p.Changes = append(p.Changes, planned(t, fmt.Sprintf("module.net[0].sim.node[%d]", i), plan.Update, object("a", "hunter2two"), object("b", "hunter3three")))
	}
	p.Changes = append(p.Changes,
		planned(t, `sim.odd["`+evil+`"]`, plan.Update, object(evil, "s"), object("<b>z</b>", "s"), 0),
		planned(t, "sim.gone", plan.Delete, object("a", "hunter2two"), none),
		planned(t, "sim.kept", plan.NoOp, object("a", "s"), object("a", "s"), 1),
		planned(t, "sim.other", plan.DeleteThenCreate, object("a", "s"), object("b", "s"), 2),
		planned(t, "sim.new", plan.Create, none, object("b", "hunter2two"), 3),
	)
	resource := func(i int) addr.Resource { return p.Changes[i].Addr.Resource.Erase() }
	p.Resources = []addr.Resource{resource(0), resource(3), resource(5), resource(6)}
	p.Changes[6].ReplacePaths = []cty.Path{cty.GetAttrPath("name")}
	p.Drift = []*plan.Change{planned(t, "sim.other", plan.Update, object("z", "s"), object("a", "s"))}
	step := func(kind execgraph.Kind, change int, after ...execgraph.ID) execgraph.Step {
		return execgraph.Step{Kind: kind, Object: &p.Changes[change].Addr, Change: change + 1, After: after}
	}
	p.Graph = &execgraph.Graph{Steps: []execgraph.Step{
		step(execgraph.Apply, 0), step(execgraph.Apply, 1), step(execgraph.Apply, 2), step(execgraph.Destroy, 4),
		{Kind: execgraph.Gate, After: []execgraph.ID{0, 1, 2}}, step(execgraph.Apply, 3, 4), step(execgraph.Destroy, 6, 5), step(execgraph.Apply, 6, 6), step(execgraph.Apply, 7, 7),
	}}
	return p
}

// TestPage: text from configurations and providers stays text, and no secret is in
// the page, whatever repeats it.
func TestPage(t *testing.T) {
	got := render(t, mixed(t), Beside{Durations: progress.Durations{"sim update": {Seconds: 30, Runs: 2}}.Text()})
	if strings.Contains(got, "hunter") {
		t.Error("a secret is shown")
	}
	if strings.Contains(got, "<img") || strings.Count(got, "</script") != 2 || strings.Contains(got, "<b>z") {
		t.Error("a value is read as HTML")
	}
	const path = "testdata/mixed.html"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || got != string(want) {
		t.Errorf("%v; the page differs; look at what -update makes of it", err)
	}
	d := within(t, got)
	if n := len(d.Rows); n != 5 {
		t.Fatalf("%d rows", n)
	}
	for _, r := range d.Rows {
		if len(r.Changes) == 0 || r.Changes[0].Text == "" || r.Block < 0 || r.Left > 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestRoots: the page of several plans has their totals, and the page of each plan with changes as text
// of a frame. Its policy allows the script of the frames and no other.
func TestRoots(t *testing.T) {
	var b bytes.Buffer
	list := []Root{{Name: "network", Plan: mixed(t)}, {Name: evil, Upstream: []string{"network"}, Plan: mixed(t)}, {Name: "dns", Plan: &plan.Plan{}}}
	if err := Roots(&b, list); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"<h1>Plan: 4 to add, 8 to change, 4 to destroy.</h1>", "3 roots, 2 with changes.", `<a href="#root-0">network</a></td><td>2</td><td>4</td><td>2</td>`, "<tr><td>dns</td><td>0</td>",
		`<section id="root-1">`, "<p>after network</p>", `srcdoc="&lt;!DOCTYPE html&gt;`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s isn't there", want)
		}
	}
	if strings.Contains(got, "hunter") || strings.Contains(got, "<img") || strings.Contains(got, "<script") || strings.Contains(got, `id="root-2"`) {
		t.Error("a secret, a value as HTML, or a plan without changes is shown")
	}
	policy := regexp.MustCompile(`script-src &#39;(sha256-[^&]*)&#39;`)
	inner := policy.FindStringSubmatch(strings.ReplaceAll(html.UnescapeString(got), "'", "&#39;"))
	if inner == nil || strings.Count(html.UnescapeString(got), inner[1]) != 3 {
		t.Errorf("the policies differ: %v", inner)
	}
}

// TestTimeline: the longest chain is by time, not by number.
func TestTimeline(t *testing.T) {
	p := mixed(t)
	got := timeline(p, progress.Durations{"sim create": {Seconds: 5, Runs: 1}, "sim update": {Seconds: 2, Runs: 1}, "sim destroy": {Seconds: 60, Runs: 1}})
	var critical []string
	for _, b := range got.Bars {
		if b.Critical {
			critical = append(critical, b.What)
		}
	}
	if text := strings.Join(critical, ", "); text != "update module.net.sim.node, update sim.odd, destroy sim.other, create sim.other, create sim.new" {
		t.Error(text)
	}
	if got.Length != "1m14s" || got.Guessed != 0 {
		t.Errorf("%s, %d", got.Length, got.Guessed)
	}
	if got := timeline(p, nil); got.Length != "" || len(got.Bars) != 6 {
		t.Errorf("%+v", got)
	}
	if got := timeline(&plan.Plan{}, nil); got.Bars != nil {
		t.Errorf("%+v", got)
	}
}

func TestPageOfNothing(t *testing.T) {
	if got := render(t, &plan.Plan{}, Beside{}); !strings.Contains(got, "<h1>No changes</h1>") || strings.Contains(got, "<script") {
		t.Error(got)
	}
	failed := mixed(t)
	failed.Errored, failed.Graph = true, nil
	if got := render(t, failed, Beside{}); !strings.Contains(got, `<h1 class="failed">Planning failed</h1>`) || strings.Contains(got, "Nothing is destroyed") {
		t.Error("the failure isn't said")
	}
}

// TestRoom: however much there is, each row has one change in full before any has a second
// one, and changes without room are counted.
func TestRoom(t *testing.T) {
	p := &plan.Plan{}
	long := strings.Repeat("0123456789 ", 1000)
	for i := range 10 {
		for k := range 100 {
			p.Changes = append(p.Changes, planned(t, fmt.Sprintf("sim.r%d[%d]", i, k), plan.Update, object("a"+long, "s"), object("b"+long, "s")))
		}
	}
	got := render(t, p, Beside{})
	if len(got) > 2*room {
		t.Errorf("%d bytes", len(got))
	}
	all := 0
	for _, r := range within(t, got).Rows {
		if len(r.Changes) == 0 {
			t.Error("a row shows nothing")
		}
		all += len(r.Changes) + r.Left
	}
	if all != len(p.Changes) {
		t.Errorf("%d changes", all)
	}
}

// TestLived: after an apply the page has what was: the chain is what the step that ended last
// waited for, and what wasn't started has no row.
func TestLived(t *testing.T) {
	p := mixed(t)
	times := &steptimes.Times{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Steps: make([]steptimes.Step, len(p.Graph.Steps))}
	counted := 0
	for id := range p.Graph.Steps {
		if p.Graph.Steps[id].Kind.Counts() {
			counted++
		}
		times.Steps[id] = steptimes.Step{End: time.Duration(id+1) * time.Second, Ended: true}
	}
	last := len(times.Steps) - 1
	for !p.Graph.Steps[last].Kind.Counts() {
		last--
	}
	times.Steps[last].How = event.Skipped
	got := timeline(p, nil)
	was := lived(p, times)
	if was.NotBegun != 1 || len(was.Bars) > len(got.Bars) || was.Length == "" {
		t.Errorf("%+v", was)
	}
	for _, b := range was.Bars {
		if b.From < 0 || b.From+b.Width > 100.1 {
			t.Errorf("%+v", b)
		}
	}
	times.Steps[last].How = event.Failed
	page := render(t, p, Beside{Took: times})
	for _, part := range []string{"<h2>Timeline</h2>", "began at 2026-01-02 03:04:05 UTC", "1 failed", "on the critical path", "From beginning to end"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %q", part)
		}
	}
}
