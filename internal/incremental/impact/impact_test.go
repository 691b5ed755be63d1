package impact

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/incremental/freshness"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

var builtin = addr.ProviderConfig{Provider: addr.Builtin("terraform")}

// x is another one.
var x = addr.ProviderConfig{Provider: addr.OpenTofu.Provider("x")}

const lineage = "lineage"

// An estate is some files with what is there of them.
type estate struct {
	files module.Memory
	made  Made
	now   time.Time
	// sources are behind calls when something is chosen.
	sources  map[string]*Source
	external map[addr.Provider]bool
}

func instance(t *testing.T, text string) addr.Object {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr.Object{Instance: i}
}

// newEstate has objects of some addresses, looked at a minute ago.
func newEstate(t *testing.T, text string, objects ...string) *estate {
	e := &estate{files: module.Memory{"main.tf": []byte(text)}, now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	e.made = Made{Plan: &plan.Plan{}, State: state.Empty(), At: e.now}
	e.made.State.Lineage = lineage
	seen := map[string]string{}
	for i, text := range objects {
		at := instance(t, text)
		e.made.State.Objects[at] = &state.Object{Provider: builtin, JSON: []byte(`{}`)}
		e.made.Plan.Changes = append(e.made.Plan.Changes, &plan.Change{Addr: at, Provider: &builtin})
		seen[text] = fmt.Sprint(i)
	}
	e.look(e.now.Add(-time.Minute), seen)
	return e
}

// look has objects looked at at a time; what they were is their number.
func (e *estate) look(at time.Time, seen map[string]string) {
	var pairs []string
	for text, what := range seen {
		pairs = append(pairs, fmt.Sprintf("%q:%q", text, what))
	}
	record := fmt.Sprintf(`{"version":1,"looks":[{"at":%q,"objects":{%s}}]}`, at.Format(time.RFC3339), strings.Join(pairs, ","))
	e.made.Looks = freshness.Auto(freshness.Parse([]byte(record)), func(addr.Provider, string) time.Duration { return 15 * time.Minute })
	e.made.Looks.Begin(e.made.State, e.now)
}

func cut(files module.Memory) (list []*File) {
	names, _ := files.List(".")
	for _, name := range names {
		list = append(list, NewFile(name, files[name]))
	}
	return list
}

// record is that of the estate, as it is read again.
func (e *estate) record(t *testing.T) *Record {
	t.Helper()
	made := New(nil, "under", cut(e.files), e.made)
	if made == nil {
		t.Fatal("there is no record")
	}
	r := Parse(made.Text())
	if r == nil || !bytes.Equal(r.Text(), made.Text()) {
		t.Fatalf("%s", made.Text())
	}
	return r
}

// planned are the lines of text that are planned after an edit.
func (e *estate) planned(r *Record, due map[string]bool) string {
	c := r.Choose(cut(e.files), e.sources, due)
	if c == nil {
		return "everything"
	}
	text, _ := c.Of(e.files).ReadFile("main.tf")
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, "{") {
			lines = append(lines, strings.NewReplacer(`terraform_data" "`, "", `"`, "", " {", "").Replace(line))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// closed has a file behind a call.
func closed(t *testing.T, call, text string) func(*estate) {
	t.Helper()
	return func(e *estate) {
		e.sources = map[string]*Source{call: NewSource([]byte(call), []*File{NewFile(call+"/m.tf", []byte(text))})}
		e.made.Sources = e.sources
	}
}

func block(name, in string) string {
	return fmt.Sprintf("resource \"terraform_data\" %q {\n  input = %s\n}\n", name, in)
}

// many are blocks beside, which nothing refers to.
func many() (text string, objects []string) {
	for i := range 20 {
		text += block(fmt.Sprintf("n%d", i), "1")
		objects = append(objects, fmt.Sprintf("terraform_data.n%d", i))
	}
	return text, objects
}

const chain = "variable \"v\" {\n  default = 1\n}\nlocals {\n  l = terraform_data.a.id\n}\noutput \"o\" {\n  value = terraform_data.b.id\n}\n"

func newChain(t *testing.T) *estate {
	text, objects := many()
	text += chain + block("a", "var.v") + block("b", "local.l") + block("c", "terraform_data.b.id")
	return newEstate(t, text, append(objects, "terraform_data.a", "terraform_data.b", "terraform_data.c")...)
}

// TestChoose: what an edit affects is planned with what it refers to, and doubt plans all.
func TestChoose(t *testing.T) {
	replace := func(from, to string) func(e *estate) {
		return func(e *estate) {
			text := strings.Replace(string(e.files["main.tf"]), from, to, 1)
			if text == string(e.files["main.tf"]) {
				t.Fatalf("no %q", from)
			}
			e.files["main.tf"] = []byte(text)
		}
	}
	call := replace(block("n1", "1"), "module \"m\" {\n  source = \"./m\"\n}\n")
	both := func(all ...func(*estate)) func(*estate) {
		return func(e *estate) {
			for _, do := range all {
				do(e)
			}
		}
	}
	for what, test := range map[string]struct {
		before func(e *estate) // the plan that the record is of
		after  func(e *estate)
		due    string
		want   string
	}{
		"nothing":                     {want: "variable v"},
		"one that nothing refers to":  {after: replace(block("n1", "1"), block("n1", "2")), want: "resource n1, variable v"},
		"one at the end":              {after: replace("terraform_data.b.id\n}\nres", "[terraform_data.b.id]\n}\nres"), want: "locals, output o, resource a, resource b, variable v"},
		"one at the beginning":        {after: replace(block("a", "var.v"), block("a", "2")), want: "locals, output o, resource a, resource b, resource c, variable v"},
		"a default":                   {after: replace("default = 1", "default = 2"), want: "locals, output o, resource a, resource b, resource c, variable v"},
		"a local value":               {after: replace("l = terr", "l  = terr"), want: "locals, output o, resource a, resource b, resource c, variable v"},
		"a new one":                   {after: replace(block("n1", "1"), block("new", "terraform_data.n2.id")+block("n1", "1")), want: "resource n2, resource new, variable v"},
		"one that is gone":            {after: replace(block("n1", "1"), ""), want: "variable v"},
		"one that is gone and in use": {after: replace(block("a", "var.v"), ""), want: "locals, output o, resource b, resource c, variable v"},
		"blank lines":                 {after: replace("resource", "\n\nresource"), want: "resource n0, variable v"},
		"due":                         {due: "terraform_data.c", want: "locals, resource a, resource b, resource c, variable v"},
		"a second one of a name":      {after: replace(block("n1", "1"), block("n1", "1")+block("n1", "1")), want: "everything"},
		"another one of a name":       {after: replace(block("n1", "1"), block("n1", "1")+block("n1", "2")), want: "everything"},
		"new settings":                {after: replace(block("n1", "1"), "terraform {\n}\n"), want: "everything"},
		"settings are gone":           {before: replace(block("n1", "1"), "terraform {\n}\n"), after: replace("terraform {\n}\n", ""), want: "everything"},
		"settings stay":               {before: replace(block("n1", "1"), "moved {\n  from = terraform_data.x\n  to   = terraform_data.n2\n}\n"), want: "moved, resource n2, variable v"},
		"no blocks":                   {after: replace(block("n1", "1"), "}\n"), want: "everything"},
		"a broken one":                {after: replace(block("n1", "1"), block("n1", "{")), want: "everything"},
		"a data source":               {before: replace(block("n1", "1"), "data \"x\" \"y\" {\n}\n"+block("n1", "data.x.y.id")), want: "data x y, resource n1, variable v"},
		"a function of the clock":     {before: replace(block("n1", "1"), block("n1", "plantimestamp()")), want: "resource n1, variable v"},
		"another provider's":          {before: replace(block("n1", "1"), "resource \"x_y\" \"z\" {\n}\n"), want: "variable v"},
		"something was to be done":    {before: func(e *estate) { e.made.Plan.Changes[3].Action = plan.Update }, want: "resource n3, variable v"},
		"one had moved":               {before: func(e *estate) { e.made.Plan.Changes[3].From = &addr.Instance{} }, want: "resource n3, variable v"},
		"one was imported":            {before: func(e *estate) { e.made.Plan.Changes[3].Importing = &plan.Importing{} }, want: "resource n3, variable v"},
		"one had drifted":             {before: func(e *estate) { e.made.Plan.Drift = e.made.Plan.Changes[3:4] }, want: "resource n3, variable v"},
		"an output was to change": {before: func(e *estate) { e.made.Plan.Outputs = []*plan.OutputChange{{Name: "o", Action: plan.Create}} },
			want: "locals, output o, resource a, resource b, variable v"},
		"something was said of it": {before: func(e *estate) {
			at := bytes.Index(e.files["main.tf"], []byte(`"n3"`))
			e.made.Diags = diag.List{{Severity: diag.Warning, Subject: &hcl.Range{Filename: "main.tf", Start: hcl.Pos{Line: 1 + bytes.Count(e.files["main.tf"][:at], []byte("\n"))}}}}
		}, want: "resource n3, variable v"},
		"a provider follows from one": {before: replace(block("n1", "1"), "provider \"x\" {\n  y = terraform_data.n2.id\n}\nresource \"x_y\" \"z\" {\n}\nresource \"x_y\" \"other\" {\n  provider = x.far\n}\n"),
			after: replace(block("n2", "1"), block("n2", "2")), want: "provider x, resource n2, resource x_y z, variable v"},
		"a call":                 {before: call, want: "module m, variable v"},
		"a call of files":        {before: both(call, closed(t, "m", "locals {\n}\n")), want: "variable v"},
		"of another provider":    {before: both(call, closed(t, "m", "locals {\n}\n"), replace(block("n3", "1"), "provider \"x\" {\n  y = terraform_data.n2.id\n}\n")), after: replace(block("n2", "1"), block("n2", "2")), want: "module m, provider x, resource n2, variable v"},
		"of other files":         {before: both(call, closed(t, "m", "locals {\n}\n")), after: closed(t, "m", "locals {\n  a = 1\n}\n"), want: "module m, variable v"},
		"of files that are gone": {before: both(call, closed(t, "m", "locals {\n}\n")), after: func(e *estate) { e.sources = nil }, want: "module m, variable v"},
		"of files with data":     {before: both(call, closed(t, "m", "data \"x\" \"y\" {\n}\n")), want: "module m, variable v"},
		"of files with a clock":  {before: both(call, closed(t, "m", "locals {\n  a = timestamp()\n}\n")), want: "module m, variable v"},
		"it wasn't looked at":    {before: func(e *estate) { e.look(e.now, map[string]string{"terraform_data.n1": "1"}) }, want: "everything"},
		"the state has it depend on another": {before: func(e *estate) {
			o := e.made.State.Objects[instance(t, "terraform_data.n2")]
			o.Dependencies = []addr.Resource{instance(t, "terraform_data.n1").Resource}
		}, after: replace(block("n1", "1"), block("n1", "2")), want: "resource n1, resource n2, variable v"},
	} {
		e := newChain(t)
		if test.before != nil {
			test.before(e)
		}
		r := e.record(t)
		if test.after != nil {
			test.after(e)
		}
		if got := e.planned(r, map[string]bool{test.due: true}); got != test.want {
			t.Errorf("%s: %s, not %s", what, got, test.want)
		}
	}
}

// TestNoRecord: of some plans nothing can be known, nor from what isn't a record.
func TestNoRecord(t *testing.T) {
	for what, change := range map[string]func(e *estate){
		"errored":           func(e *estate) { e.made.Plan.Errored = true },
		"an error":          func(e *estate) { e.made.Diags = diag.List{{Severity: diag.Error, Subject: &hcl.Range{}}} },
		"a general warning": func(e *estate) { e.made.Diags = diag.List{{Severity: diag.Warning}} },
		"an action":         func(e *estate) { e.made.Plan.Invocations = []*plan.Invocation{{}} },
		"deferred":          func(e *estate) { e.made.Plan.Deferred = []*plan.Deferred{{}} },
		"no blocks":         func(e *estate) { e.files["main.tf"] = []byte("}\n") },
	} {
		e := newChain(t)
		change(e)
		if New(nil, "", cut(e.files), e.made) != nil {
			t.Error(what)
		}
	}
	text := newChain(t).record(t).Text()
	for _, bad := range [][]byte{nil, []byte("x\n"), text[1:], text[:len(text)-1], bytes.Replace(text, []byte("\t"), nil, 1), bytes.Replace(text, []byte("\t1\t"), []byte("\t0\t"), 1), bytes.Replace(text, []byte("2030"), []byte("x"), 1)} {
		if Parse(bad) != nil {
			t.Errorf("%.100q", bad)
		}
	}
	if (*Record)(nil).Choose(nil, nil, nil) != nil {
		t.Error("something is chosen by nothing")
	}
}

// TestPart: what is left out isn't in the part of the state, and what isn't as the record has
// it is due.
func TestPart(t *testing.T) {
	foreign := func(e *estate) { e.made.State.Objects[instance(t, "terraform_data.n1")].Provider = x }
	for what, test := range map[string]struct {
		change func(e *estate)
		due    string
	}{
		"as it was": {},
		"too old":   {change: func(e *estate) { e.now = e.now.Add(time.Hour); e.made.Looks.Begin(e.made.State, e.now) }, due: "map[terraform_data.n0:true terraform_data.n1:true terraform_data.n2:true]"},
		"another look": {change: func(e *estate) {
			e.look(e.now, map[string]string{"terraform_data.n0": "0", "terraform_data.n1": "other", "terraform_data.n2[0]": "2"})
		}, due: "map[terraform_data.n1:true]"},
		"planned too long ago": {change: func(e *estate) {
			foreign(e)
			e.made.Looks.Begin(e.made.State, e.now.Add(15*time.Minute))
			e.look(e.now.Add(time.Minute), map[string]string{"terraform_data.n0": "0", "terraform_data.n1": "1", "terraform_data.n2[0]": "2"})
			e.made.Looks.Begin(e.made.State, e.now.Add(15*time.Minute))
		}, due: "map[terraform_data.n1:true]"},
		"of a provider under development": {change: func(e *estate) { foreign(e); e.external = map[addr.Provider]bool{x.Provider: true} }, due: "map[terraform_data.n1:true]"},
		"of another provider":             {change: func(e *estate) { foreign(e) }},
		"gone":                            {change: func(e *estate) { delete(e.made.State.Objects, instance(t, "terraform_data.n1")) }, due: "map[terraform_data.n1:true]"},
		"tainted":                         {change: func(e *estate) { e.made.State.Objects[instance(t, "terraform_data.n1")].Tainted = true }, due: "map[terraform_data.n1:true]"},
	} {
		e := newEstate(t, block("n0", "1")+block("n1", "1")+block("n2", "1\n  count = 1")+"output \"o\" {\n  value = 1\n}\n", "terraform_data.n0", "terraform_data.n1", "terraform_data.n2[0]")
		r := e.record(t)
		e.made.State.Objects[instance(t, "terraform_data.old")] = &state.Object{Provider: builtin}
		e.made.State.Outputs["o"], e.made.State.Outputs["old"] = state.Output{}, state.Output{}
		if test.change != nil {
			test.change(e)
		}
		p := r.Choose(cut(e.files), nil, nil).Part(e.made.State, e.made.Looks, e.external)
		if got := fmt.Sprint(p.Due); test.due != strings.Replace(got, "map[]", "", 1) {
			t.Errorf("%s: %s", what, got)
		}
		if len(p.State.Objects) != 1 || len(p.State.Outputs) != 1 || p.State.Lineage != lineage {
			t.Errorf("%s: %v", what, p.State)
		}
		if what == "as it was" && (p.LeftOut.Objects != 3 || !p.LeftOut.Since.Equal(e.now.Add(-time.Minute))) {
			t.Errorf("%v", p.LeftOut)
		}
	}
}

// TestAfter: what wasn't edited and is to change nevertheless isn't resolved any more.
func TestAfter(t *testing.T) {
	of := func(name string) *plan.Plan {
		return &plan.Plan{Changes: []*plan.Change{{Addr: instance(t, "terraform_data."+name), Action: plan.Update, Provider: &builtin}}}
	}
	at := func(e *estate, text string) diag.List {
		line := 1 + bytes.Count(e.files["main.tf"][:bytes.Index(e.files["main.tf"], []byte(text))], []byte("\n"))
		return diag.List{{Severity: diag.Warning, Subject: &hcl.Range{Filename: "main.tf", Start: hcl.Pos{Line: line}}}}
	}
	for what, test := range map[string]struct {
		plan *plan.Plan
		said string
		want string // is planned the next time, when nothing is edited
	}{
		"nothing":                          {plan: &plan.Plan{}, want: "variable v"},
		"the edited one changes":           {plan: of("n1"), want: "variable v"},
		"one that was looked at":           {plan: of("n2"), want: "resource n2, variable v"},
		"something is said of the edited":  {plan: &plan.Plan{}, said: "\"n1\"", want: "variable v"},
		"something is said of another one": {plan: &plan.Plan{}, said: "\"n2\"", want: "resource n2, variable v"},
	} {
		e := newChain(t)
		r := e.record(t)
		before := e.files["main.tf"]
		e.files["main.tf"] = bytes.Replace(before, []byte(block("n1", "1")), []byte(block("n1", "2")), 1)
		var diags diag.List
		if test.said != "" {
			diags = at(e, test.said)
		}
		next := r.Choose(cut(e.files), nil, map[string]bool{"terraform_data.n2": true}).After(test.plan, diags)
		e.files["main.tf"] = before
		if got := e.planned(next, nil); got != test.want || (next == r) != (test.want == "variable v") {
			t.Errorf("%s: %s, not %s", what, got, test.want)
		}
	}
	e := newChain(t)
	if r := e.record(t).Choose(cut(e.files), nil, nil).After(&plan.Plan{}, diag.List{{Severity: diag.Warning}}); r != nil {
		t.Error("a record is kept although something is said of who knows what")
	}
}
