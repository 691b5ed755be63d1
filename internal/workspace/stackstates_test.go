package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/planoptions"
	"weir.dev/weir/internal/workspace/statemgr"
)

const stackConfig = `
required_providers { sim = { source = "hashicorp/sim" } }
provider "sim" "main" {}
variable "name" { type = string }
component "a" {
  source    = "./m"
  inputs    = { name = var.name }
  providers = { sim = provider.sim.main }
}
output "id" {
  type  = string
  value = component.a.id
}
`

const stackModule = `
variable "name" {}
resource "sim_object" "o" { name = var.name }
output "id" { value = sim_object.o.name }
`

const sealing = `
variable "passphrase" {}
terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = var.passphrase
      iterations = 200000
    }
    method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
    method "unencrypted" "u" {}
    state {
      method = method.aes_gcm.m
      fallback { method = method.unencrypted.u }
    }
  }
}
`

func deployments(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "deployment %q {\n inputs = { name = \"name-of-%s\" }\n}\n", name, name)
	}
	fmt.Fprintf(&b, "publish_output \"id\" {\n value = deployment.%s.id\n}\n", names[0])
	return b.String()
}

// machines are processes some of which have been killed.
type machines struct {
	this string
	dead []string
}

func (m machines) This() string          { return m.this }
func (m machines) Gone(info string) bool { return slices.Contains(m.dead, info) }
func (m machines) Exclude(context.Context, string) (func(), error) {
	return func() {}, nil
}

// A site is a directory with a stack.
type site struct {
	*Directory
	provider *fake.Provider
}

// newSite writes the files of a stack into a directory.
func newSite(t *testing.T, dir string, p *fake.Provider, who machines, files map[string]string) *site {
	t.Helper()
	all := map[string]string{"s.tfcomponent.hcl": stackConfig, "m/m.tf": stackModule}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &site{provider: p}
	s.Directory = New(environment.Options{
		Dir: dir, OriginalDir: dir, Environ: map[string]string{"TF_VAR_passphrase": "a long enough passphrase"}, Dialect: dialect.OpenTofu, Program: "weir",
		Now: time.Now, Catalog: provider.Catalog(fake.Catalog{sim: p}), Processes: who,
	})
	t.Cleanup(s.Close)
	s.Settings.OfStack()
	return s
}

func cloud() *fake.Provider {
	p := fake.New()
	p.Resources["sim_object"] = fake.NewType("name string required", "id string computed")
	return p
}

// initializer says yes, and remembers what it was asked.
type initializer struct {
	Initializer
	asked []Copies
}

func (*initializer) Begins(Part)         {}
func (*initializer) BackendSet(string)   {}
func (*initializer) BackendUnset(string) {}
func (*initializer) Module(string)       {}
func (*initializer) Provider(install.Event) {
}
func (*initializer) Locked(bool) {}
func (i *initializer) Copy(_ context.Context, c Copies) (bool, error) {
	i.asked = append(i.asked, c)
	return true, nil
}

// initialize makes the settings of a stack count.
func (s *site) initialize(t *testing.T) *initializer {
	t.Helper()
	stack, diags := OpenStack(t.Context(), s.Directory)
	told := &initializer{}
	if !diags.HasErrors() {
		diags.Append(StackInit{Stack: stack, Init: Init{Backend: true, Migrate: true}}.backend(t.Context(), told))
	}
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return told
}

// apply applies all deployments.
func (s *site) apply(t *testing.T, ctx context.Context, mode plan.Mode) error {
	t.Helper()
	stack, diags := OpenStack(ctx, s.Directory)
	if !diags.HasErrors() {
		diags.Append(stack.Prepare(ctx, stack.Deployments, true))
	}
	if err := diags.Err(); err != nil {
		return err
	}
	for _, one := range stack.Deployments {
		yes := &approver{approved: true}
		if !(StackApply{stack, one, Opening{Operation: "apply"}, planoptions.Planning{Mode: mode}}).Run(ctx, yes) {
			if yes.outcome != nil {
				yes.problems.Append(yes.outcome.Left)
			}
			return yes.problems.Err()
		}
	}
	return stack.Share(ctx, nil).Err()
}

// addresses are the objects in the state of a deployment.
func (s *site) addresses(t *testing.T, deployment string) string {
	t.Helper()
	stack, diags := OpenStack(t.Context(), s.Directory)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	list, diags := stack.Choose([]string{deployment})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	now, diags := stack.State(t.Context(), list[0])
	if now == nil {
		t.Fatal(diags.Err())
	}
	var all []string
	for _, a := range now.Addresses() {
		all = append(all, a.String())
	}
	return strings.Join(all, " ")
}

// published is what other stacks read.
func (s *site) published(t *testing.T) cty.Value {
	t.Helper()
	values, diags := s.States.Published(t.Context())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return values["id"]
}

const object = "component.a.sim_object.o"

// TestStackEncrypted: the parts of a deployment, what is published, earlier states and
// saved plans are encrypted once the stack asks for it, also those in clear before.
func TestStackEncrypted(t *testing.T) {
	dir, p := t.TempDir(), cloud()
	files := map[string]string{"d.tfdeploy.hcl": deployments("dev", "prod")}
	s := newSite(t, dir, p, machines{}, files)
	s.initialize(t)
	if err := s.apply(t, t.Context(), plan.Normal); err != nil {
		t.Fatal(err)
	}
	readable := func() (list []string) {
		for _, sub := range []string{"stacks.tfstate.d", ".terraform"} {
			_ = filepath.WalkDir(filepath.Join(dir, sub), func(path string, e os.DirEntry, err error) error {
				if data, _ := os.ReadFile(path); bytes.Contains(data, []byte("name-of-")) {
					list = append(list, strings.TrimPrefix(path, dir))
				}
				return nil
			})
		}
		return list
	}
	if len(readable()) < 5 {
		t.Fatalf("in clear are only %v", readable())
	}
	files["x.tfbackend.hcl"] = sealing
	files["m/m.tf"] = strings.ReplaceAll(stackModule, "name = var.name", `name = "${var.name}-2"`)
	s = newSite(t, dir, p, machines{}, files)
	if err := s.apply(t, t.Context(), plan.Normal); err != nil {
		t.Fatal(err)
	}
	if left := readable(); len(left) > 0 {
		t.Errorf("still in clear: %v", left)
	}
	if got := s.published(t); !got.RawEquals(cty.StringVal("name-of-dev-2")) {
		t.Errorf("published: %#v", got)
	}
	if got := s.addresses(t, "prod"); got != object {
		t.Errorf("objects: %s", got)
	}
	delete(files, "x.tfbackend.hcl")
	if err := os.Remove(filepath.Join(dir, "x.tfbackend.hcl")); err != nil {
		t.Fatal(err)
	}
	s = newSite(t, dir, p, machines{}, files)
	if err := s.apply(t, t.Context(), plan.Normal); err == nil || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("without the key: %v", err)
	}
}

// TestStackBackends: the states of deployments, and what the stack publishes, are moved
// to a backend, found there from another directory without its files, and are all that
// is needed to destroy a deployment whose block is gone.
func TestStackBackends(t *testing.T) {
	google := httptest.NewServer(&testservers.Google{})
	defer google.Close()
	amazon := httptest.NewServer(&testservers.Amazon{})
	defer amazon.Close()
	rest := httptest.NewServer(&testservers.HTTP{})
	defer rest.Close()
	shared := t.TempDir()
	for kind, test := range map[string]struct {
		block string
		names []string
	}{
		"local": {fmt.Sprintf("path = %q\nworkspace_dir = %q", filepath.Join(shared, "one"), shared), []string{"dev", "prod"}},
		"gcs":   {fmt.Sprintf("bucket = \"states\"\naccess_token = \"t\"\nstorage_custom_endpoint = \"%s/storage/v1/\"", google.URL), []string{"dev", "prod"}},
		"s3": {fmt.Sprintf("bucket = \"states\"\nkey = \"k\"\nregion = \"eu-west-1\"\nendpoints = { s3 = %q }\naccess_key = \"a\"\nsecret_key = \"b\"\nuse_lockfile = true\nuse_path_style = true\n"+
			"skip_credentials_validation = true\nskip_requesting_account_id = true\nskip_region_validation = true\nskip_metadata_api_check = true", amazon.URL), []string{"dev", "prod"}},
		"http": {fmt.Sprintf("address = %q\nlock_address = %q\nunlock_address = %q", rest.URL, rest.URL, rest.URL), []string{"dev"}},
	} {
		t.Run(kind, func(t *testing.T) {
			dir, p := t.TempDir(), cloud()
			files := map[string]string{"d.tfdeploy.hcl": deployments(test.names...)}
			s := newSite(t, dir, p, machines{}, files)
			s.initialize(t)
			if err := s.apply(t, t.Context(), plan.Normal); err != nil {
				t.Fatal(err)
			}

			files["x.tfbackend.hcl"] = "terraform {\nbackend \"" + kind + "\" {\n" + test.block + "\n}\n}\n"
			s = newSite(t, dir, p, machines{}, files)
			if err := s.apply(t, t.Context(), plan.Normal); err == nil || !strings.Contains(err.Error(), "initialization required") {
				t.Fatalf("without init: %v", err)
			}
			told := s.initialize(t)
			if len(told.asked) != 1 || told.asked[0].States != len(test.names) {
				t.Errorf("asked %v", told.asked)
			}
			if err := os.RemoveAll(filepath.Join(dir, "stacks.tfstate.d")); err != nil {
				t.Fatal(err)
			}

			other := newSite(t, t.TempDir(), p, machines{}, files)
			if kind != "http" { // it has no room for it
				if got := other.published(t); !got.RawEquals(cty.StringVal("name-of-dev")) {
					t.Errorf("published: %#v", got)
				}
			}
			if told := other.initialize(t); len(told.asked) > 0 {
				t.Errorf("asked %v", told.asked)
			}
			calls := p.Count("Apply")
			if err := other.apply(t, t.Context(), plan.Normal); err != nil || p.Count("Apply") != calls {
				t.Errorf("made again: %v, %d calls", err, p.Count("Apply")-calls)
			}
			for _, name := range test.names {
				if got := other.addresses(t, name); got != object {
					t.Errorf("objects of %s: %s", name, got)
				}
			}
			files["d.tfdeploy.hcl"] = deployments("dev", "next")
			next := newSite(t, other.Place.Dir, p, machines{}, files)
			stack, diags := OpenStack(t.Context(), next.Directory)
			if kind == "http" {
				if diags := stack.Prepare(t.Context(), stack.Deployments, true); !slices.ContainsFunc(diags, statemgr.OneState.Is) {
					t.Errorf("two deployments in one state: %v", diags)
				}
				return
			}
			if diags.HasErrors() || len(stack.Left) != 1 || stack.Left[0].Name != "prod" {
				t.Fatalf("left are %v, %v", stack.Left, diags)
			}
			if diags := stack.Prepare(t.Context(), stack.Left, false); diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			if in := stack.Left[0].Inputs["name"].Value; !in.RawEquals(cty.StringVal("name-of-prod")) {
				t.Errorf("the inputs it had: %#v", in)
			}
			yes := &approver{approved: true}
			if !(StackApply{stack, stack.Left[0], Opening{Operation: "destroy"}, planoptions.Planning{Mode: plan.Destroy}}).Run(t.Context(), yes) {
				t.Fatal(yes.problems.Err())
			}
			if stack, diags = OpenStack(t.Context(), next.Directory); diags.HasErrors() || len(stack.Left) > 0 {
				t.Errorf("not destroyed: %v, %v", stack.Left, diags)
			}
		})
	}
}

// TestStackKilled: after a run was killed while it created something, another directory
// takes the lock over and knows what is in doubt.
func TestStackKilled(t *testing.T) {
	server := httptest.NewServer(&testservers.Google{})
	defer server.Close()
	files := map[string]string{
		"d.tfdeploy.hcl":  deployments("dev"),
		"x.tfbackend.hcl": fmt.Sprintf("terraform {\nbackend \"gcs\" {\nbucket = \"states\"\naccess_token = \"t\"\nstorage_custom_endpoint = \"%s/storage/v1/\"\n}\n}\n", server.URL),
	}
	p := cloud()
	begun, end := make(chan bool), make(chan bool)
	p.Before = func(_ context.Context, call, _ string, _ cty.Value) error {
		if call == "Apply" {
			close(begun)
			<-end
			return errors.New("its process is gone")
		}
		return nil
	}
	killed := newSite(t, t.TempDir(), p, machines{this: "killed"}, files)
	killed.initialize(t)
	done := make(chan error)
	go func() { done <- killed.apply(t, t.Context(), plan.Normal) }()
	<-begun

	q := cloud()
	other := newSite(t, t.TempDir(), q, machines{"other", []string{"killed"}}, files)
	other.initialize(t)
	if err := other.apply(t, t.Context(), plan.Normal); err == nil || !strings.Contains(err.Error(), "doubt") || q.Count("Apply") > 0 {
		t.Errorf("what is in doubt: %v, %d calls", err, q.Count("Apply"))
	}
	stack, diags := OpenStack(t.Context(), other.Directory)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if _, diags := stack.ForDeployment(t.Context(), "dev", true); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	instance, err := addr.ParseInstance(object)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, diags := (Recover{Dir: stack.Dir, Forget: []addr.Instance{instance}}).Run(t.Context()); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	other = newSite(t, other.Place.Dir, q, machines{"other", []string{"killed"}}, files)
	if err := other.apply(t, t.Context(), plan.Normal); err != nil || q.Count("Apply") != 1 {
		t.Errorf("after that: %v, %d calls", err, q.Count("Apply"))
	}
	close(end)
	<-done
}

// TestReplacedOnce: what is replaced by request in one round isn't in the next one.
func TestReplacedOnce(t *testing.T) {
	p := cloud()
	module := strings.ReplaceAll(stackModule, "sim_object.o.name", "sim_object.o.id")
	s := newSite(t, t.TempDir(), p, machines{}, map[string]string{"d.tfdeploy.hcl": deployments("dev"), "m/m.tf": module, "b.tfcomponent.hcl": `
component "b" {
  source    = "./n"
  inputs    = { name = component.a.id }
  providers = { sim = provider.sim.main }
}
`, "n/n.tf": "variable \"name\" {}\nresource \"sim_object\" \"o\" {\n  for_each = toset([var.name])\n  name     = each.value\n}\n"})
	s.initialize(t)
	if err := s.apply(t, t.Context(), plan.Normal); err != nil {
		t.Fatal(err)
	}
	stack, diags := OpenStack(t.Context(), s.Directory)
	if diags.Append(stack.Prepare(t.Context(), stack.Deployments, true)); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	asked := planoptions.Plan{Replace: []string{object}}
	wanted, diags := asked.Read()
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	before := p.Count("Apply")
	yes := &approver{approved: true}
	if !(StackApply{stack, stack.Deployments[0], Opening{Operation: "apply"}, wanted}).Run(t.Context(), yes) {
		t.Fatal(yes.problems.Err())
	}
	if n := p.Count("Apply") - before; yes.rounds != 1 || n != 4 {
		t.Errorf("%d rounds after the first, %d calls; a and b are each deleted and created once", yes.rounds, n)
	}
}

// TestPrepareLeft: a deployment whose block is gone is reported where all deployments are meant.
func TestPrepareLeft(t *testing.T) {
	dir, p := t.TempDir(), cloud()
	files := map[string]string{"d.tfdeploy.hcl": deployments("dev", "prod")}
	s := newSite(t, dir, p, machines{}, files)
	s.initialize(t)
	if err := s.apply(t, t.Context(), plan.Normal); err != nil {
		t.Fatal(err)
	}
	files["d.tfdeploy.hcl"] = deployments("dev")
	stack, diags := OpenStack(t.Context(), newSite(t, dir, p, machines{}, files).Directory)
	if diags.HasErrors() || len(stack.Left) != 1 {
		t.Fatal(stack, diags)
	}
	if diags := stack.Prepare(t.Context(), stack.Deployments, true); len(diags) != 1 || !strings.Contains(diags[0].Detail, "prod") {
		t.Errorf("all: %v", diags)
	}
	if diags := stack.Prepare(t.Context(), stack.Deployments, false); len(diags) > 0 {
		t.Errorf("one: %v", diags)
	}
}
