package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/testing/simtest"
)

// A scripted player has in its state what the root's text declares, a line each.
type scripted struct{ fault string }

func (s scripted) play(_ world, step simtest.Step) (outcome, error) {
	lines := map[string]any{}
	for line := range strings.Lines(string(step.Files()["main.tf"])) {
		lines[strings.TrimSpace(line)] = s.fault == "" || !strings.Contains(line, s.fault)
	}
	data, err := json.Marshal(lines)
	return outcome{Results: []result{{Command: "plan"}}, After: world{stateFile: data}}, err
}

// A fault in what an engine leaves is found, made small, and written out so
// that it can be played again.
func TestFaultIsFoundAndShrunk(t *testing.T) {
	const fault = "create_before_destroy"
	m := match{weir: scripted{fault}, peer: scripted{}}
	for seed := uint64(1); seed < 100; seed++ {
		c := simtest.Kit(seed)
		found, err := m.play(c)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			continue
		}
		small := m.shrink(c, found[0], 10_000)
		resources := bytes.Count(small[0].Files()["main.tf"], []byte("\nresource "))
		if len(small) != 1 || resources != 1 || len(small[0].Model.Objects) != 1 {
			t.Errorf("seed %d: %d steps and %d resources are left:\n%s", seed, len(small), resources, small.Text(""))
		}
		again := simtest.Parse(script(small, "Found."))
		if found, err = m.play(again); err != nil || len(found) == 0 {
			t.Errorf("what is written doesn't fail: %v %v", found, err)
		}
		return
	}
	t.Fatal("no history has a " + fault)
}

// The comparison of documents covers: order where it means something, elements
// by what they are otherwise, and nothing that differs from run to run.
func TestCompare(t *testing.T) {
	for _, test := range []struct{ name, peer, weir, want string }{
		{"same", `{"a":1,"timestamp":"x"}`, `{"timestamp":"y","a":1}`, ""},
		{"value", `{"a":1}`, `{"a":2}`, ".a 1 2"},
		{"missing", `{"a":null}`, `{}`, ".a null "},
		{"more", `{}`, `{"a":[]}`, ".a  []"},
		{"order of resources", `{"resource_changes":[{"address":"b","x":1},{"address":"a"}]}`, `{"resource_changes":[{"address":"a"},{"address":"b","x":2}]}`, `.resource_changes["'b'"].x 1 2`},
		{"order of values", `{"after":["a","b"]}`, `{"after":["b","a"]}`, `.after[0] "a" "b"`},
		{"uuid", `{"id":"01234567-0123-0123-0123-0123456789ab"}`, `{"id":"11234567-0123-0123-0123-0123456789ab"}`, ""},
		{"numbers", `{"a":1.0}`, `{"a":1}`, ".a 1.0 1"},
	} {
		c := &collector{}
		c.documents([]byte(test.peer), []byte(test.weir))
		got := ""
		if len(c.list) > 0 {
			got = c.list[0].Path + " " + c.list[0].Peer + " " + c.list[0].Weir
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestOrder(t *testing.T) {
	log := func(ops ...string) (events []event) {
		for _, op := range ops {
			kind, name, _ := strings.Cut(op, " ")
			n := len(events) + 1
			events = append(events, event{Seq: n, Span: n, Phase: "begin", Op: kind, Name: name}, event{Seq: n + 1, Span: n, Phase: "end", Op: kind, Name: name})
		}
		return events
	}
	depends := map[[2]string]bool{{" b", " a"}: true}
	for _, test := range []struct {
		want, got []event
		count     int
	}{
		{log("create a", "create b"), log("create a", "create b"), 0},
		{log("create a", "create b"), log("create b", "create a"), 1},
		{log("create a", "create c"), log("create c", "create a"), 0},
		{log("create c", "delete c"), log("delete c", "create c"), 1},
		{log("create a", "create b"), log("create b"), 0},
	} {
		c := &collector{}
		if c.order(test.want, test.got, depends); len(c.list) != test.count {
			t.Errorf("%v and %v: %v", test.want, test.got, c.list)
		}
	}
}

// Whether an order is forced: by what is stored, but for other instances of a module.
func TestDependencies(t *testing.T) {
	w := world{stateFile: []byte(`{"resources": [
		{"mode": "managed", "type": "sim_object", "name": "root", "instances": [{"attributes": {"name": "root"}}]},
		{"module": "module.m[0]", "mode": "managed", "type": "sim_object", "name": "used", "instances": [{"attributes": {"name": "used-0"}}]},
		{"module": "module.m[1]", "mode": "managed", "type": "sim_object", "name": "used", "instances": [{"attributes": {"name": "used-1"}}]},
		{"module": "module.m[1]", "mode": "managed", "type": "sim_object", "name": "user", "instances": [
			{"attributes": {"name": "user"}, "dependencies": ["module.m.sim_object.used", "sim_object.root"]}]},
		{"module": "module.m[1].module.n", "mode": "managed", "type": "sim_object", "name": "inner", "instances": [
			{"attributes": {"name": "inner"}, "dependencies": ["module.m.sim_object.used"]}]},
		{"mode": "managed", "type": "sim_object", "name": "last", "instances": [{"attributes": {"name": "last"}, "dependencies": ["module.m.sim_object.used"]}]}]}`)}
	var got []string
	for pair := range dependencies(w) {
		got = append(got, pair[0]+" on "+pair[1])
	}
	slices.Sort(got)
	want := "sim_object inner on sim_object used-1, sim_object last on sim_object used-0, sim_object last on sim_object used-1, sim_object user on sim_object root, sim_object user on sim_object used-1"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

// Every known difference is on the page of differences.
func TestKnownAreListed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "where-weir-differs.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range knowns {
		if !bytes.Contains(page, []byte("\n### "+k.Entry+"\n")) {
			t.Errorf("there is no entry %q", k.Entry)
		}
		if k.Where == "" || k.Reason == "" {
			t.Errorf("%q explains too much, or nothing", k.Entry)
		}
	}
}

// An engine does not differ from itself, from run to run and beside a cache.
func TestItself(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs and plays histories with them")
	}
	dir := t.TempDir()
	build := func(name, in, what string) string {
		file := filepath.Join(dir, "bin-"+name)
		cmd := exec.Command("go", "build", "-o", file, what)
		cmd.Dir = in
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", what, err, out)
		}
		return file
	}
	mirror, err := buildMirror(filepath.Join(dir, "mirror"), build("sim", filepath.Join("..", "conformance", "simcloud"), "."))
	if err != nil {
		t.Fatal(err)
	}
	weir, err := newEngine("weir", build("weir", "../..", "./cmd/weir"), mirror, dir)
	if err != nil {
		t.Fatal(err)
	}
	m := match{weir: weir, peer: &cached{player: weir, dir: filepath.Join(dir, "cache"), version: "1"}}
	planned := false
	for _, seed := range []uint64{3, 4, 3} {
		c := simtest.Kit(seed)
		found, err := m.play(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found {
			t.Errorf("seed %d: %s", seed, d.describe())
		}
		o, err := weir.play(nil, c[0])
		if err != nil {
			t.Fatal(err)
		}
		planned = planned || slices.ContainsFunc(o.Results, func(r result) bool { return r.Command == "show" && len(r.Plan) > 0 })
	}
	if !planned {
		t.Error("no plan was made")
	}
}

// A dependency that only the reference stores is explained where no object can have led to it.
func TestOrigins(t *testing.T) {
	files := module.Memory{
		"main.tf": []byte(`
resource "terraform_data" "a" {}
resource "terraform_data" "none" {
  count = 0
  input = terraform_data.a.id
}
resource "terraform_data" "b" { input = terraform_data.none[*].input }
resource "terraform_data" "c" { input = local.both }
locals { both = [terraform_data.a.id, terraform_data.b.id] }
module "m" {
  source = "./m"
  in     = terraform_data.c.id
}
resource "terraform_data" "d" { input = module.m }
resource "terraform_data" "e" { depends_on = [module.m] }
`),
		"m/main.tf": []byte(`
variable "in" {}
resource "terraform_data" "told" { input = var.in }
resource "terraform_data" "untold" {}
output "of" { value = terraform_data.told.id }
`),
	}
	have := map[string]bool{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		have["terraform_data."+name] = true
	}
	have["module.m.terraform_data.told"], have["module.m.terraform_data.untold"] = true, true
	for user, want := range map[string]string{
		"terraform_data.b":    "",
		"terraform_data.c":    "terraform_data.a terraform_data.b",
		"terraform_data.d":    "module.m.terraform_data.told terraform_data.a terraform_data.b terraform_data.c",
		"terraform_data.e":    "module.m.terraform_data.told module.m.terraform_data.untold terraform_data.a terraform_data.b terraform_data.c",
		"terraform_data.gone": strings.Join(sortedKeys(have), " "),
	} {
		if got := strings.Join(sortedKeys(origins(files, user, have)), " "); got != want {
			t.Errorf("%s: got %q, want %q", user, got, want)
		}
	}
}

const unmetAtLine10 = `{"@level":"error","diagnostic":{"severity":"error","summary":"Module output value precondition failed","range":{"filename":"main.tf","start":{"line":10}}}}`

// Remains after a failure are explained by skipped steps, and by nothing else.
func TestLeftUndone(t *testing.T) {
	step := simtest.Step{Text: module.Memory{"main.tf": []byte(`
resource "sim_object" "a" { name = "a" }
resource "sim_object" "b" { name = "b" }
locals { b = sim_object.b.id }
output "a" { value = sim_object.a.id }
output "b" { value = local.b }
output "c" {
  value = 1
  precondition {
    condition     = sim_object.a.id == ""
    error_message = "No."
  }
}
output "d" { value = 2 }
`)}}
	weir := outcome{
		Results: []result{
			{Command: "show", Plan: json.RawMessage(`{"resource_changes": [
				{"address": "sim_object.a", "mode": "managed", "type": "sim_object", "change": {"actions": ["create"], "after": {"name": "a"}}},
				{"address": "sim_object.b", "mode": "managed", "type": "sim_object", "change": {"actions": ["create"], "after": {"name": "b"}}}]}`)},
			{Command: "apply", Exit: 1, Diags: readDiags([]byte(unmetAtLine10)), Events: []event{{Op: "create", Phase: "end", Name: "a"}, {Op: "create", Phase: "end", Name: "b", Error: "broken"}}},
		},
		After: world{stateFile: []byte(`{
			"resources": [{"mode": "managed", "type": "sim_object", "name": "a", "instances": [{"attributes": {"name": "a"}}]}],
			"check_results": [
				{"object_kind": "resource", "config_addr": "sim_object.a", "status": "pass", "objects": [{"object_addr": "sim_object.a", "status": "pass"}]},
				{"object_kind": "resource", "config_addr": "sim_object.b", "status": "pass", "objects": [{"object_addr": "sim_object.b", "status": "fail"}]},
				{"object_kind": "output", "config_addr": "output.c", "status": "fail", "objects": [{"object_addr": "output.c", "status": "fail"}]}]}`)},
	}
	about := func(path, said string) finding { // of the step as it is by then
		return finding{difference: difference{Where: "state", Path: path, Weir: said}, step: step, weir: weir}
	}
	for _, c := range []struct {
		f    finding
		rule func(finding) bool
		want bool
	}{
		{about(".outputs.a.value", ""), finding.outputFailed, false},
		{about(".outputs.b.value", ""), finding.outputFailed, true},
		{about(".outputs.c.value", ""), finding.outputFailed, true}, // its precondition wasn't met
		{about(".outputs.d.value", ""), finding.outputFailed, false},
		{about(`.check_results["'sim_object.a'"].status`, `"pass"`), finding.statusHolds, true},
		{about(`.check_results["'sim_object.a'"].objects["'sim_object.a'"].status`, `"pass"`), finding.statusHolds, true},
		{about(`.check_results["'sim_object.b'"].status`, `"pass"`), finding.statusHolds, false},                              // one isn't
		{about(`.check_results["'sim_object.b'"].objects["'sim_object.b'"].status`, `"pass"`), finding.statusHolds, false},    // none exists
		{about(`.check_results["'sim_object.b'"].objects["'sim_object.b'"].status`, `"fail"`), finding.statusHolds, false},    // nothing was said
		{about(`.check_results["'sim_object.b'"].objects["'sim_object.b'"].status`, `"unknown"`), finding.statusHolds, false}, // nobody knows
		{about(`.check_results["'output.c'"].objects["'output.c'"].status`, `"fail"`), finding.statusHolds, true},
	} {
		if got := c.rule(c.f); got != c.want {
			t.Errorf("%s %s: %t", c.f.Path, c.f.Weir, got)
		}
	}
	weir.Results[1].Diags = []diagnostic{{Severity: "error", Summary: "local-exec provisioner error", Address: "sim_object.a"}}
	if f := about(".outputs.a.value", ""); !f.outputFailed() {
		t.Error("an object whose provisioner failed doesn't count")
	}
	weir.Results[0].Plan = json.RawMessage(`{"resource_changes": [{"address": "sim_object.a", "change": {"actions": ["create"]}}]}`)
	step.Targets = []string{"sim_object.a"}
	for path, want := range map[string]bool{
		".outputs.a": false, ".output_changes.a.after": false, ".planned_values.outputs.a": false, ".output_changes": false,
		".outputs.b": true, ".prior_state.values.outputs.b.value[0]": true,
	} {
		if got := about(path, `{"a":{},"b":{}}`).outputLeftOut(); got != want {
			t.Errorf("%s: left out %t", path, got)
		}
	}
}

// A flag that only weir stores is explained by a user that is created first, written or
// stored, or by the state before.
func TestFirst(t *testing.T) {
	files := module.Memory{
		"main.tf": []byte(`
resource "terraform_data" "alone" {}
resource "terraform_data" "left" {}
resource "terraform_data" "used" {}
module "m" {
  source = "./m"
  in     = terraform_data.used.id
}
`),
		"m/main.tf": []byte(`
variable "in" {}
resource "terraform_data" "first" {
  input = var.in
  lifecycle { create_before_destroy = true }
}
`),
	}
	state := `{"resources": [
		{"mode": "managed", "type": "terraform_data", "name": "alone", "instances": [{}]},
		{"mode": "managed", "type": "terraform_data", "name": "left", "instances": [{"create_before_destroy": true}]},
		{"mode": "managed", "type": "terraform_data", "name": "used", "instances": [{}]},
		{"module": "module.m", "mode": "managed", "type": "terraform_data", "name": "first", "instances": [{"create_before_destroy": true}]},
		{"mode": "managed", "type": "terraform_data", "name": "gone", "instances": [{"create_before_destroy": true, "dependencies": ["terraform_data.left"]}]}]}`
	f := finding{step: simtest.Step{Text: files}, before: world{stateFile: []byte(state)}}
	f.peer.After = f.before
	for object, want := range map[string][2]bool{
		"'managed' 'terraform_data' 'alone'":            {false, false},
		"'managed' 'terraform_data' 'left'":             {true, true},
		"'managed' 'terraform_data' 'used'":             {true, false},
		"'module.m' 'managed' 'terraform_data' 'first'": {true, true},
	} {
		f.Path = `.resources["` + object + `"].instances[""].create_before_destroy`
		if got := [2]bool{f.usedByFirst(), f.wasFirst()}; got != want {
			t.Errorf("%s: got %v, want %v", object, got, want)
		}
	}
}

// An update that comes before a deletion lets go of what is deleted; a mark that only weir
// stores is written, or was there.
func TestHeldToTheStateBefore(t *testing.T) {
	f := finding{
		step: simtest.Step{Text: module.Memory{"main.tf": []byte(`
resource "sim_object" "written" {
  name = "written"
  lifecycle { destroy = false }
}
resource "sim_object" "user" { name = "user" }
`)}},
		before: world{stateFile: []byte(`{"resources": [
			{"mode": "managed", "type": "sim_object", "name": "written", "instances": [{"attributes": {"name": "written"}}]},
			{"mode": "managed", "type": "sim_object", "name": "had", "instances": [{"attributes": {"name": "had"}, "skip_destroy": true}]},
			{"mode": "managed", "type": "sim_object", "name": "user", "instances": [{"attributes": {"name": "user"}, "dependencies": ["sim_object.had"]}]}]}`)},
	}
	f.peer.After, f.Weir = f.before, "true"
	for name, want := range map[string]bool{"written": true, "had": true, "user": false} {
		f.Path = `.resources["'managed' 'sim_object' '` + name + `'"].instances[""].skip_destroy`
		if got := f.neverDestroyed(); got != want {
			t.Errorf("%s: never destroyed %t", name, got)
		}
	}
	for order, want := range map[string]bool{
		"delete sim_object had before update sim_object user":     true,
		"delete sim_object written before update sim_object user": false,
		"delete sim_object user before update sim_object had":     false,
	} {
		if f.Peer = order; updatesUser(f) != want {
			t.Errorf("%s: lets go %t", order, !want)
		}
	}
}
