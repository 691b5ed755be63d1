package work

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/temporal/depot"
	"weir.dev/weir/temporal/rounds"
)

// write writes files below a folder and returns it.
func write(t *testing.T, folder string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const network = `
variable "name" { type = string }
required_providers {
  terraform = { source = "terraform.io/builtin/terraform" }
}
provider "terraform" "main" {}
component "a" {
  source    = "./m"
  inputs    = { name = var.name }
  providers = { terraform = provider.terraform.main }
}
component "b" {
  source    = "../shared"
  inputs    = { name = component.a.out }
  providers = { terraform = provider.terraform.main }
}
output "out" {
  type  = string
  value = component.b.out
}
`

const module = `
variable "name" { type = string }
resource "terraform_data" "x" { input = var.name }
output "out" { value = terraform_data.x.output }
`

func newWorker(t *testing.T, d depot.Depot) *Worker {
	return &Worker{Depot: d, Dir: t.TempDir(), Holder: t.Name(), Long: time.Minute, Environ: map[string]string{}, Home: t.TempDir(), Dialect: dialect.OpenTofu, Program: "weir", Log: t.Output()}
}

// whole puts a stack into the depot.
func whole(t *testing.T, d depot.Depot, dir string, o rounds.Options) rounds.Whole {
	t.Helper()
	found, err := Look(t.Context(), dir, dialect.OpenTofu, nil, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := Pack(dir, found.Outside)
	if err != nil {
		t.Fatal(err)
	}
	w := rounds.Whole{ID: t.Name() + time.Now().String(), Stack: Name(dir), Options: o, Publishes: len(found.Stack.Published) > 0}
	if w.Bundle, err = d.Put(t.Context(), bundle); err != nil {
		t.Fatal(err)
	}
	for _, one := range found.Stack.Deployments {
		w.Deployments = append(w.Deployments, one.Name)
	}
	var up []string
	for _, u := range found.Stack.Upstreams {
		up = append(up, Name(u.Source))
	}
	w = signed(t, d, w)
	if err := Note(t.Context(), d, "test", w, up); err != nil {
		t.Fatal(err)
	}
	return w
}

// signed has the depot sign a request.
func signed(t *testing.T, d depot.Depot, w rounds.Whole) rounds.Whole {
	t.Helper()
	w.By = "test"
	if err := Sign(t.Context(), d, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// one is a signed request like another one, for one deployment.
func one(t *testing.T, d depot.Depot, r rounds.Request) rounds.Request {
	t.Helper()
	return signed(t, d, rounds.Whole{ID: r.ID, Stack: r.Stack, Bundle: r.Bundle, Deployments: []string{r.Deployment}, Options: r.Options}).Each()[0]
}

// approve is a signed approval of a plan.
func approve(t *testing.T, d depot.Depot, r rounds.Request, plan string) *rounds.Decision {
	t.Helper()
	said := &rounds.Decision{Kind: rounds.Approve, Plan: plan, Author: rounds.Author{By: "me"}}
	if err := SignDecision(t.Context(), d, r, said); err != nil {
		t.Fatal(err)
	}
	return said
}

// run does what is requested a stack, and says who decides.
func run(t *testing.T, w *Worker, whole rounds.Whole, ask func(rounds.Status) rounds.Decision) ([]rounds.Overview, map[string]rounds.Status) {
	last := map[string]rounds.Status{}
	l := &rounds.Local{Steps: w, Most: 2, Told: func(s rounds.Status) { last[s.Stack+"/"+s.Deployment] = s }}
	l.Ask = func(s rounds.Status) (rounds.Decision, error) {
		said := ask(s)
		return said, SignDecision(t.Context(), w.Depot, s.Asked(), &said)
	}
	return l.Run(t.Context(), whole), last
}

// TestLinkedStacks: a stack is applied by what a person approves, publishes, and the
// one that reads it follows by its rule; nothing happens the second time.
func TestLinkedStacks(t *testing.T) {
	root := write(t, t.TempDir(), map[string]string{
		"net/s.tfcomponent.hcl":  network,
		"net/m/main.tf":          module,
		"shared/main.tf":         module,
		"net/s.tfdeploy.hcl":     "deployment \"one\" {\n  inputs = { name = \"x\" }\n}\ndeployment \"two\" {\n  inputs = { name = \"y\" }\n}\npublish_output \"out\" {\n  value = deployment.one.out\n}\n",
		"app/s.tfcomponent.hcl":  strings.ReplaceAll(network, "../shared", "./m"),
		"app/m/main.tf":          module,
		"app/s.tfdeploy.hcl":     "upstream_input \"net\" {\n  type   = \"stack\"\n  source = \"../net\"\n}\ndeployment_auto_approve \"ok\" {\n  check {\n    condition = context.plan.changes.remove == 0\n    reason    = \"removes\"\n  }\n}\ndeployment_group \"g\" {\n  auto_approve_checks = [deployment_auto_approve.ok]\n}\ndeployment \"only\" {\n  deployment_group = deployment_group.g\n  inputs = { name = upstream_input.net.out }\n}\n",
		"net/.terraform/x/large": "not needed",
	})
	d := &depot.Dir{Root: t.TempDir()}
	w := newWorker(t, d)
	asked := map[string]int{}
	yes := func(s rounds.Status) rounds.Decision {
		asked[s.Deployment]++
		text, err := d.Get(t.Context(), s.Plan.Text)
		if err != nil || !strings.Contains(string(text), "component.b.terraform_data.x") {
			t.Errorf("the plan is %q, %v", text, err)
		}
		return rounds.Decision{Kind: rounds.Approve, Plan: s.Plan.Plan, Author: rounds.Author{By: "me"}}
	}
	net := whole(t, d, filepath.Join(root, "net"), rounds.Options{})
	app := whole(t, d, filepath.Join(root, "app"), rounds.Options{})
	over, last := run(t, w, net, yes)
	if len(over) != 2 || !over[0].OK() || !over[1].OK() || over[1].Stack != "app" {
		t.Fatalf("it came to %+v %+v", over, last)
	}
	if asked["one"] != 1 || asked["two"] != 1 || asked["only"] != 0 {
		t.Errorf("asked %v", asked)
	}
	if s := last["app/only"]; s.Applied.Add != 2 || s.By != "ok" {
		t.Errorf("downstream: %+v", s)
	}
	over, last = run(t, w, net, yes)
	if len(over) != 1 || !over[0].OK() || last["net/one"].Changed {
		t.Errorf("the second time: %+v", over)
	}
	if asked["one"] != 1 {
		t.Errorf("asked %v", asked)
	}

	// A rejected plan waits, and stays unapplied after a no.
	write(t, root, map[string]string{"app/s.tfcomponent.hcl": strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(network, "../shared", "./m"), `component "a"`, `component "z"`), "component.a", "component.z") + "removed {\n  from   = component.a\n  source = \"./m\"\n  providers = { terraform = provider.terraform.main }\n}\n"})
	app = whole(t, d, filepath.Join(root, "app"), rounds.Options{})
	over, last = run(t, w, app, func(s rounds.Status) rounds.Decision {
		if !slices.ContainsFunc(s.Plan.Against, func(why string) bool { return strings.Contains(why, "removes") }) {
			t.Errorf("against it: %v", s.Plan.Against)
		}
		return rounds.Decision{Kind: rounds.Reject, Author: rounds.Author{By: "me"}}
	})
	if over[0].OK() || last["app/only"].Phase != rounds.Rejected {
		t.Errorf("rejected: %+v", over)
	}
	app.Destroy, app.AutoApprove = true, true
	app = signed(t, d, app)
	if over, last = run(t, w, app, nil); !over[0].OK() || last["app/only"].Applied.Destroy != 2 {
		t.Errorf("destroyed: %+v %+v", over, last)
	}
}

// TestApproved: what has become another plan isn't applied by an approval of the former one,
// but the rest of a plan that was started is.
func TestApproved(t *testing.T) {
	root := write(t, t.TempDir(), map[string]string{
		"net/s.tfcomponent.hcl": network, "net/m/main.tf": module, "shared/main.tf": module,
		"net/s.tfdeploy.hcl": "deployment \"one\" {\n  inputs = { name = \"x\" }\n}\n",
	})
	d := &depot.Dir{Root: t.TempDir()}
	w := newWorker(t, d)
	net := whole(t, d, filepath.Join(root, "net"), rounds.Options{})
	r := net.Each()[0]
	p, err := w.Plan(t.Context(), r)
	if err != nil || p.Counts.Add != 2 || p.Approved {
		t.Fatalf("planned %+v, %v", p, err)
	}
	other := r
	write(t, root, map[string]string{"net/s.tfdeploy.hcl": "deployment \"one\" {\n  inputs = { name = \"other\" }\n}\n"})
	other.Bundle = whole(t, d, filepath.Join(root, "net"), rounds.Options{}).Bundle
	other = one(t, d, other)
	p.Approval = approve(t, d, other, p.Plan)
	if a, err := w.Apply(t.Context(), other, p, false); err != nil || !a.Stale {
		t.Errorf("other values: %+v, %v", a, err)
	}
	p.Approval = approve(t, d, r, p.Plan)
	if a, err := w.Apply(t.Context(), r, p, false); err != nil || a.Stale || a.Problem != "" || a.Counts.Add != 2 {
		t.Errorf("as approved: %+v, %v", a, err)
	}
	// The same once more, as if the answer had been lost.
	if a, err := w.Apply(t.Context(), r, p, true); err != nil || a.Stale || a.Counts != p.Counts {
		t.Errorf("again: %+v, %v", a, err)
	}
	// A worker without any of the files continues.
	fresh := newWorker(t, d)
	if p, err := fresh.Plan(t.Context(), r); err != nil || p.Plan != "" {
		t.Errorf("nothing is to be done: %+v, %v", p, err)
	}
	write(t, root, map[string]string{"net/m/main.tf": "resource \"terraform_data\" \"x\" {"})
	broken := r
	bundle, err := Pack(filepath.Join(root, "net"), []string{"../shared"})
	if err != nil {
		t.Fatal(err)
	}
	if broken.Bundle, err = d.Put(t.Context(), bundle); err != nil {
		t.Fatal(err)
	}
	broken = one(t, d, broken)
	if p, err := fresh.Plan(t.Context(), broken); err != nil || !strings.Contains(p.Problem, "main.tf line") {
		t.Errorf("a mistake: %+v, %v", p, err)
	}
}

// TestSigned: a worker does nothing that the store didn't sign, whatever a workflow says.
func TestSigned(t *testing.T) {
	root := write(t, t.TempDir(), map[string]string{
		"net/s.tfcomponent.hcl": network, "net/m/main.tf": module, "shared/main.tf": module,
		"net/s.tfdeploy.hcl": "deployment \"one\" {\n  inputs = { name = \"x\" }\n}\ndeployment \"two\" {\n  inputs = { name = \"x\" }\n}\n",
	})
	d := &depot.Dir{Root: t.TempDir()}
	w := newWorker(t, d)
	whole := whole(t, d, filepath.Join(root, "net"), rounds.Options{})
	r, two := whole.Each()[0], whole.Each()[1]
	p, err := w.Plan(t.Context(), r)
	if err != nil || p.Plan == "" || p.Approval != nil {
		t.Fatalf("planned %+v, %v", p, err)
	}
	elsewhere := &depot.Dir{Root: t.TempDir()}
	other := func(r rounds.Request, change func(*rounds.Request)) rounds.Request {
		change(&r)
		return r
	}
	for name, forged := range map[string]rounds.Request{
		"no signature":             other(r, func(r *rounds.Request) { r.Signature = "" }),
		"another store's":          one(t, elsewhere, r),
		"with -auto-approve":       other(r, func(r *rounds.Request) { r.AutoApprove = true }),
		"destroys":                 other(r, func(r *rounds.Request) { r.Destroy, r.AutoApprove = true, true }),
		"another deployment":       other(r, func(r *rounds.Request) { r.Deployment = "two" }),
		"another request":          other(r, func(r *rounds.Request) { r.ID = "other" }),
		"other files":              other(r, func(r *rounds.Request) { r.Bundle = p.Text }),
		"other variables":          other(r, func(r *rounds.Request) { r.Vars = []string{"name=y"} }),
		"somebody else's name":     other(r, func(r *rounds.Request) { r.By = "root" }),
		"another time":             other(r, func(r *rounds.Request) { r.At = r.At.Add(time.Second) }),
		"the signature of another": other(r, func(r *rounds.Request) { r.Signature = two.Signature }),
	} {
		planned, err := w.Plan(t.Context(), forged)
		if err != nil || !strings.Contains(planned.Problem, "Nobody with the token") {
			t.Errorf("%s is planned: %+v, %v", name, planned, err)
		}
		p.Approval = approve(t, d, r, p.Plan)
		if a, err := w.Apply(t.Context(), forged, p, false); err != nil || !strings.Contains(a.Problem, "Nobody with the token") {
			t.Errorf("%s is applied: %+v, %v", name, a, err)
		}
		if problem, err := w.Settle(t.Context(), forged, *approve(t, d, forged, "")); err != nil || !strings.Contains(problem, "Nobody with the token") {
			t.Errorf("%s is settled: %s, %v", name, problem, err)
		}
	}
	for name, said := range map[string]*rounds.Decision{
		"none":                   nil,
		"no signature":           {Kind: rounds.Approve, Plan: p.Plan, Author: rounds.Author{By: "me"}},
		"another store's":        approve(t, elsewhere, r, p.Plan),
		"of another plan":        approve(t, d, r, p.Text),
		"for another deployment": approve(t, d, two, p.Plan),
		"for another request":    approve(t, d, other(r, func(r *rounds.Request) { r.ID = "other" }), p.Plan),
		"of a rejection":         {Kind: rounds.Reject, Plan: p.Plan, Author: approve(t, d, r, p.Plan).Author},
	} {
		p.Approval = said
		if a, err := w.Apply(t.Context(), r, p, false); err != nil || a.Problem == "" {
			t.Errorf("the approval is %s, and the plan is applied: %+v, %v", name, a, err)
		}
		if said == nil {
			continue
		}
		if problem, err := w.Check(t.Context(), r, *said); err != nil || problem == "" && name != "of another plan" {
			t.Errorf("the approval is %s, and counts: %v", name, err)
		}
	}
	if files, err := d.Files(t.Context(), key("net", "one")); err != nil || len(files) > 0 {
		t.Errorf("something was applied: %d files, %v", len(files), err)
	}
	forged := whole
	forged.Bundle = p.Text
	if p, err := w.Publish(t.Context(), forged); err != nil || !strings.Contains(p.Problem, "Nobody with the token") {
		t.Errorf("published %+v, %v", p, err)
	}
}

// TestReplan: a rule has a deployment planned again that fails once.
func TestReplan(t *testing.T) {
	tried := filepath.Join(t.TempDir(), "tried")
	root := write(t, t.TempDir(), map[string]string{
		"net/s.tfcomponent.hcl": network, "net/m/main.tf": module, "shared/main.tf": module + `
resource "terraform_data" "once" {
  provisioner "local-exec" {
    command = "test -e ` + tried + ` || { touch ` + tried + `; exit 1; }"
  }
}
`,
		"net/s.tfdeploy.hcl": `deployment "one" {
  inputs = { name = "x" }
}
orchestrate "replan" "failed" {
  check {
    condition = !context.success && context.plan.replans < 2
    reason    = "It went well, or failed too often."
  }
}
`,
	})
	w := newWorker(t, &depot.Dir{Root: t.TempDir()})
	net := whole(t, w.Depot, filepath.Join(root, "net"), rounds.Options{AutoApprove: true})
	over, last := run(t, w, net, nil)
	one := last["net/one"]
	if !over[0].OK() || one.Round != 2 || !slices.ContainsFunc(one.Lines, func(l string) bool { return l == "round 1: planned again by the rule failed" }) {
		t.Errorf("it is %+v", one)
	}
}

// TestEncrypted: with encryption nothing in the depot has a value in clear, neither the states
// nor the journal of a run that was killed, and a worker with the key continues.
func TestEncrypted(t *testing.T) {
	root := write(t, t.TempDir(), map[string]string{
		"net/s.tfcomponent.hcl": network, "net/m/main.tf": module, "shared/main.tf": module,
		"net/s.tfdeploy.hcl": "deployment \"one\" {\n  inputs = { name = \"classified\" }\n}\n",
		"net/s.tfbackend.hcl": `
variable "passphrase" {}
terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = var.passphrase
      iterations = 200000
    }
    method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
    state { method = method.aes_gcm.m }
  }
}
`,
	})
	environ := map[string]string{"TF_VAR_passphrase": "a long enough passphrase"}
	d := &depot.Dir{Root: t.TempDir()}
	w := newWorker(t, d)
	w.Environ = environ
	found, err := Look(t.Context(), filepath.Join(root, "net"), dialect.OpenTofu, environ, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := Pack(filepath.Join(root, "net"), found.Outside)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := d.Put(t.Context(), bundle)
	if err != nil {
		t.Fatal(err)
	}
	r := rounds.Request{Stack: "net", Deployment: "one", Bundle: hash, Options: rounds.Options{AutoApprove: true}}
	part := r
	part.Targets = []string{"component.a"}
	r, part = one(t, d, r), one(t, d, part)
	p, err := w.Plan(t.Context(), part)
	if err != nil || p.Problem != "" || p.Counts.Add != 1 {
		t.Fatalf("the target planned %+v, %v", p, err)
	}
	if a, err := w.Apply(t.Context(), r, p, false); err != nil || a.Problem != "" || a.Counts.Add == 0 {
		t.Fatalf("applied %+v, %v", a, err)
	}
	files, err := d.Files(t.Context(), key("net", "one"))
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for name, data := range files {
		if bytes.Contains(data, []byte("classified")) {
			t.Errorf("%s is in clear", name)
		}
	}
	other := newWorker(t, d)
	if p, err := other.Plan(t.Context(), r); err == nil && p.Problem == "" {
		t.Errorf("without the key: %+v", p)
	}
	other = newWorker(t, d)
	other.Environ = environ
	if p, err := other.Plan(t.Context(), r); err != nil || p.Problem != "" || p.Plan != "" {
		t.Errorf("nothing is to be done: %+v, %v", p, err)
	}
}

// TestFenced: who has lost the lease can't write, so nothing is asked of providers.
func TestFenced(t *testing.T) {
	root := write(t, t.TempDir(), map[string]string{
		"net/s.tfcomponent.hcl": network, "net/m/main.tf": module, "shared/main.tf": module,
		"net/s.tfdeploy.hcl": "deployment \"one\" {\n  inputs = { name = \"x\" }\n}\n",
	})
	now := time.Now()
	d := &depot.Dir{Root: t.TempDir(), Now: func() time.Time { return now }}
	w := newWorker(t, d)
	r := whole(t, d, filepath.Join(root, "net"), rounds.Options{AutoApprove: true}).Each()[0]
	if _, err := w.Plan(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	w.Depot = stolen{d, func() { now = now.Add(time.Hour) }}
	if a, err := w.Apply(t.Context(), r, rounds.Planned{}, false); err == nil && a.Problem == "" {
		t.Errorf("it went on: %+v", a)
	}
	files, err := d.Files(context.Background(), "net/one")
	if err != nil || len(files) > 0 {
		t.Errorf("there are %v, %v", files, err)
	}
}

// stolen is a depot where somebody else takes over as soon as something is written.
type stolen struct {
	*depot.Dir
	pass func()
}

func (s stolen) Write(ctx context.Context, l depot.Lease, file string, from int64, data []byte) error {
	s.pass()
	if _, err := s.Acquire(ctx, l.Name, "thief", time.Hour); err != nil {
		return err
	}
	return s.Dir.Write(ctx, l, file, from, data)
}

// TestPool: steps in one bundle share what providers they start; when all are over the next
// one begins again.
func TestPool(t *testing.T) {
	w := newWorker(t, &depot.Dir{Root: t.TempDir()})
	a, b := &bundle{dir: t.TempDir()}, &bundle{dir: t.TempDir()}
	one, leaveOne := w.enter(a)
	two, leaveTwo := w.enter(a)
	other, leaveOther := w.enter(b)
	if one != two || one == other {
		t.Error("steps of one bundle have one pool, those of another one another")
	}
	leaveOne()
	three, leaveThree := w.enter(a)
	if three != one {
		t.Error("the pool ended while a step used it")
	}
	leaveTwo()
	leaveThree()
	leaveOther()
	if next, leave := w.enter(a); next == one {
		t.Error("the pool is used after it has ended")
	} else {
		leave()
	}
}
