// Package events_test compares messages of runs with their schema, docs/events.schema.json.
package events_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/actiontrigger"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/ui/cli"
	"weir.dev/weir/internal/ui/view/stream"
)

const (
	page = "../../../docs/events.schema.json"
	docs = "../../../docs/events.md"
	role = "WEIR_TEST_ROLE"
)

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	os.Exit(cli.Run(cli.Process{
		Context: context.Background(), Args: append([]string{"weir"}, os.Args[1:]...), Environ: os.Environ(),
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getwd: os.Getwd, Chdir: os.Chdir, Exit: os.Exit,
	}))
}

// A reader holds messages to the schema and remembers which types there were.
type reader struct {
	t                            *testing.T
	message, validation, version *jsonschema.Schema
	seen                         map[string]map[string]any
}

func newReader(t *testing.T) *reader {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	compile := func(part string) *jsonschema.Schema {
		s, err := c.Compile(page + part)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return &reader{t, compile(""), compile("#/$defs/validation"), compile("#/$defs/version"), map[string]map[string]any{}}
}

func (r *reader) document(s *jsonschema.Schema, text []byte) any {
	r.t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		r.t.Fatalf("%s: %s", err, text)
	}
	if err := s.Validate(v); err != nil {
		r.t.Errorf("%s\n%#v", text, err)
	}
	return v
}

func (r *reader) stream(text []byte) {
	r.t.Helper()
	for line := range bytes.Lines(text) {
		if m, ok := r.document(r.message, line).(map[string]any); ok {
			kind, _ := m["type"].(string)
			r.seen[kind] = m
		}
	}
}

// A place is a directory in which commands are run.
type place struct {
	*reader
	dir string
}

// in makes a directory with files, whose names and contents take turns.
func (r *reader) in(files ...string) *place {
	p := &place{r, r.t.TempDir()}
	p.write(files...)
	return p
}

func (p *place) write(files ...string) {
	p.t.Helper()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(p.dir, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

// output is what a command prints; a failure of it is a result like others.
func (p *place) output(args ...string) []byte {
	p.t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Dir = p.dir
	c.Env = append(os.Environ(), role+"=weir", "HOME="+p.dir, "TF_CLI_CONFIG_FILE="+os.DevNull)
	out, err := c.Output()
	if len(out) == 0 {
		p.t.Fatalf("%q prints nothing: %v", args, err)
	}
	return out
}

// run runs commands, written with spaces between arguments, that print a stream.
func (p *place) run(commands ...string) {
	p.t.Helper()
	for _, c := range commands {
		p.stream(p.output(strings.Fields(c)...))
	}
}

const first = `variable "v" { default = "one" }
resource "terraform_data" "many" {
  count = 3
  input = var.v
  triggers_replace = var.v == "two" ? 1 : 0
}
resource "terraform_data" "keyed" {
  for_each = toset(["a"])
  input    = var.v
  provisioner "local-exec" { command = "echo hello" }
}
resource "terraform_data" "moving" {}
resource "terraform_data" "leaving" {}
resource "terraform_data" "forgotten" {}
module "m" { source = "./m" }
output "o" { value = terraform_data.keyed["a"].output }
output "secret" {
  value     = "hidden"
  sensitive = true
}
check "c" {
  assert {
    condition     = var.v != "two"
    error_message = "It is two."
  }
}
`

const second = `variable "v" { default = "two" }
resource "terraform_data" "many" {
  count = 2
  input = var.v
  triggers_replace = var.v == "two" ? 1 : 0
}
resource "terraform_data" "keyed" {
  for_each = toset(["a"])
  input    = var.v
}
resource "terraform_data" "moved" {}
moved {
  from = terraform_data.moving
  to   = terraform_data.moved
}
removed {
  from = terraform_data.forgotten
  lifecycle { destroy = false }
}
import {
  to = terraform_data.imported
  id = "x"
}
resource "terraform_data" "imported" {}
check "c" {
  assert {
    condition     = var.v != "two"
    error_message = "It is two."
  }
}
resource "terraform_data" "breaks" {
  provisioner "local-exec" { command = "exit 3" }
}
resource "terraform_data" "behind" { input = terraform_data.breaks.id }
`

const tested = `run "one" {
  assert {
    condition     = output.x == "x"
    error_message = "It isn't x."
  }
}
run "two" {
  command = plan
  assert {
    condition     = output.x == "y"
    error_message = "It isn't y."
  }
}
`

// TestCommands holds what commands print, in both dialects, to the schema.
func TestCommands(t *testing.T) {
	r := newReader(t)
	for _, compat := range []string{"-compat=opentofu ", "-compat=terraform "} {
		each := func(p *place, commands ...string) {
			for _, c := range commands {
				p.run(compat + c)
			}
		}
		p := r.in("main.tf", first, "m/main.tf", "resource \"terraform_data\" \"x\" {}\n")
		each(p, "init -json", "plan -json", "apply -json -auto-approve", "taint -json terraform_data.many[0]", "refresh -json -timings", "plan -json -refresh-only", "drift -json", "plan -json -refresh=auto", "plan -json -refresh=auto", "state list -json")
		p.write("main.tf", second)
		each(p, "plan -json -out=p", "apply -json p", "apply -json -auto-approve", "plan -json -target=terraform_data.nothing", "state replace-provider -json terraform.io/builtin/terraform hashicorp/y", "destroy -json -auto-approve")
		each(p, "plan -json -nonsense", "plan -json -var=unknown=1")
		if compat == "-compat=opentofu " {
			p.run("workspace list -json")
		}
		p.write("main.tf", "locals { x = abs(\"a\", 1) + cidrsubnet(\"10.0.0.0/8\", var.n, \"x\") }\nvariable \"n\" {}\nresource \"terraform_data\" \"x\" { nmae = 1 }\n")
		each(p, "plan -json -var=n=1")
		r.document(r.validation, p.output(strings.Fields(compat+"validate -json")...))
	}
	p := r.in("main.tf", "output \"x\" { value = lower(\"X\") }\nresource \"terraform_data\" \"d\" {}\n", "x.tftest.hcl", tested)
	p.run("init -json")
	r.document(r.validation, p.output("validate", "-json"))
	r.document(r.version, p.output("version", "-json"))
	p.run("test -json -verbose", "-compat=terraform test -json -verbose")
	p.write("x.tftest.hcl", strings.Split(tested, "run \"two\"")[0])
	p.run("test -json -mutate")
	d := r.in("main.tf", "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" { count = length(terraform_data.a.id) }\n")
	d.run("plan -json -allow-deferral")
	r.stacks()
	r.made()
	r.complete()
}

// stacks are notified of by deployment.
func (r *reader) stacks() {
	p := r.in()
	if err := os.CopyFS(p.dir, os.DirFS("../../../examples/stacks")); err != nil {
		r.t.Fatal(err)
	}
	p.dir = filepath.Join(p.dir, "network")
	p.write("more.tfdeploy.hcl", "deployment \"more\" {\n  inputs = {\n    range = \"x\"\n    zones = []\n  }\n}\n")
	p.output("stacks", "init")
	text := p.output("stacks", "apply", "-json", "-auto-approve")
	if r.stream(text); !bytes.Contains(text, []byte(`"deployment":"`)) {
		r.t.Errorf("no deployment is named:\n%s", text)
	}
}

// made adds what no command without providers prints.
func (r *reader) made() {
	for _, name := range []string{"events.jsonl", "plan.jsonl"} {
		text, err := os.ReadFile(filepath.Join("../../../internal/ui/view/stream/testdata", name))
		if err != nil {
			r.t.Fatal(err)
		}
		r.stream(text)
	}
	var b bytes.Buffer
	j := stream.NewJSON(&b, dialect.OpenTofu, func() time.Time { return time.Unix(1, 0) })
	defer j.Close()
	at := func(text string) addr.Instance {
		i, err := addr.ParseInstance(text)
		if err != nil {
			r.t.Fatal(err)
		}
		return i
	}
	object := addr.Object{Instance: at(`module.m["k"].sim_object.a[0]`)}
	for _, i := range []*plan.Invocation{
		{Addr: object.Instance},
		{Addr: object.Instance, Object: object.Instance, Event: actiontrigger.AfterCreate, Block: 1},
	} {
		for _, kind := range []event.Kind{event.ActionStart, event.ActionProgress, event.ActionComplete, event.ActionErrored} {
			j.Event(event.Event{Kind: kind, Invocation: i, Text: "said"})
		}
		j.Plan(&plan.Plan{Invocations: []*plan.Invocation{i}})
	}
	secret := cty.StringVal("s").Mark(value.Sensitive)
	l := &plan.Listing{Addr: at("list.sim_object.a"), Config: cty.ObjectVal(map[string]cty.Value{"token": secret})}
	for _, f := range []*plan.Found{
		{Name: "a", Identity: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i")}), Object: cty.NullVal(cty.DynamicPseudoType)},
		{Name: "a", Identity: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i")}), Object: cty.ObjectVal(map[string]cty.Value{"key": secret}), Import: "import {}"},
	} {
		j.Event(event.Event{Kind: event.ListStart, Listing: l})
		j.Event(event.Event{Kind: event.ListFound, Listing: l, Found: f})
		j.Event(event.Event{Kind: event.ListComplete, Listing: l})
	}
	j.Event(event.Event{Kind: event.Slowed, Slowed: &ratelimit.Slowed{Subject: ratelimit.Subject{Type: "sim_object"}, PerSecond: 3}})
	j.Event(event.Event{Kind: event.Slowed, Slowed: &ratelimit.Slowed{Budget: true, AtOnce: 3}})
	j.Event(event.Event{Kind: event.Stopping})
	j.StateDump([]byte(`{"version":4}`))
	r.stream(b.Bytes())
}

// complete holds the schema and its page to what was seen: every type of the schema was, is
// on the page, and takes nothing that it doesn't name.
func (r *reader) complete() {
	text, err := os.ReadFile(page)
	if err != nil {
		r.t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Type struct{ Enum []string }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		r.t.Fatal(err)
	}
	about, err := os.ReadFile(docs)
	if err != nil {
		r.t.Fatal(err)
	}
	rare := []string{"test_cleanup"} // only what can't be destroyed
	for _, kind := range schema.Properties.Type.Enum {
		if r.seen[kind] == nil && !slices.Contains(rare, kind) {
			r.t.Errorf("no message of the type %s was seen", kind)
		}
		if !bytes.Contains(about, []byte("`"+kind+"`")) {
			r.t.Errorf("%s hasn't the type %s", docs, kind)
		}
	}
	for kind, m := range r.seen {
		more := maps.Clone(m)
		more["more"] = true
		other := maps.Clone(m)
		other["type"] = "other"
		if r.message.Validate(more) == nil || r.message.Validate(other) == nil {
			r.t.Errorf("anything is a message of the type %q", kind)
		}
		for _, name := range []string{"hook", "change", "changes", "diagnostic", "invocation"} {
			if inner, ok := m[name].(map[string]any); ok {
				more := maps.Clone(m)
				within := maps.Clone(inner)
				within["more"] = true
				more[name] = within
				if r.message.Validate(more) == nil {
					r.t.Errorf("anything is in the field %s of a message of the type %s", name, kind)
				}
			}
		}
	}
}
