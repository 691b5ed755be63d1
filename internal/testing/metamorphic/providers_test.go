package metamorphic

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/incremental/parsecache"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/testing/testkit"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/planoptions"
)

// A shop has a provider of its own, and a clock, for the operations in a directory.
type shop struct {
	*fake.Provider
	catalog provider.Catalog
	memo    *parsecache.Memo
	clock   time.Time
}

func newShop() *shop {
	s := &shop{Provider: fake.New(), clock: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	s.Config = fake.NewType("region string")
	s.Resources["sim_data"] = fake.NewType("input any", "triggers_replace any replace", "output string computed", "id string computed")
	s.catalog = plugin.NewCatalog(plugin.Sources{Builtins: map[addr.Provider]plugin.Builtin{
		testkit.Sim: func() (provider.Provider, *provider.Schemas) { return s.Start(), s.Schemas() },
		builtin.Address: func() (provider.Provider, *provider.Schemas) {
			return builtin.New(builtin.Options{}), builtin.Schemas(builtin.Options{})
		},
	}}, plugin.Command{})
	s.DataSources["sim_lookup"] = fake.NewType("key any", "found string computed")
	return s
}

// operate does a command by the operations that the command line calls.
func (s *shop) operate(f *folder, args ...string) (said string, unplanned int64) {
	f.t.Helper()
	var mu sync.Mutex
	var lines []string
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, fmt.Sprintf(format, args...))
	}
	d := workspace.New(environment.Options{
		Dir: ".", OriginalDir: "/", Environ: map[string]string{"TF_CLI_CONFIG_FILE": "budget.tfrc"}, Home: f.t.TempDir(), Dialect: dialect.OpenTofu, Program: "weir",
		Now: func() time.Time { return s.clock }, Catalog: s.catalog, Memo: s.memo,
	})
	defer d.Close()
	o := workspace.Opening{Operation: args[0], Partly: args[0] == "plan", Loading: workspace.Loading{Sink: func(e event.Event) {
		if e.Kind == event.RefreshStart {
			say("reads %s", e.Addr)
		}
	}}}
	for _, arg := range args {
		if v, ok := strings.CutPrefix(arg, "-var="); ok {
			o.Vars = append(o.Vars, environment.Var{Value: v})
		}
	}
	code := 1
	counts := metrics.Count(func() {
		w, p, problems := workspace.Plan{Dir: d, Opening: o, Options: planoptions.Planning{AutoRefresh: true}}.Run(f.t.Context())
		for _, p := range problems {
			say("%s %s %s", p.Severity, p.Summary, p.Detail)
		}
		if w == nil {
			return
		}
		defer w.Unlock()
		if p != nil {
			s.tell(p, say)
		}
		if problems.HasErrors() {
			return
		}
		code = 0
		if p.HasChanges() {
			code = 2
		}
		if args[0] == "apply" {
			code = 0
			if _, problems = w.Apply(f.t.Context(), p, nil, workspace.Limits{}); problems.HasErrors() {
				code = 1
			}
		}
	})
	slices.Sort(lines)
	return fmt.Sprintf("%s\nexit code %d\n", strings.Join(lines, "\n"), code), counts["unplanned"]
}

// tell reports what a plan does.
func (s *shop) tell(p *plan.Plan, say func(string, ...any)) {
	for what, list := range map[string][]*plan.Change{"": p.Changes, "outside: ": p.Drift} {
		for _, c := range list {
			if c.Action != plan.NoOp || c.Moved() {
				say("%s%s %s %s %v %#v -> %#v", what, c.Action, c.Addr, c.Reason, c.ReplacePaths, c.Before, c.After)
			}
		}
	}
	for _, o := range p.Outputs {
		if o.Action != plan.NoOp {
			say("%s %s %#v", o.Name, o.Action, o.After)
		}
	}
	if p.LeftOut != nil {
		say("%s", p.LeftOut.Say(s.clock, 0))
	}
}

// simulated is the type of the n-th resource: a few are built-in ones.
func simulated(n int) string {
	if n%5 == 2 {
		return "terraform_data"
	}
	return "sim_data"
}

// TestEditsOfProviders: TestEdits for objects of providers, with configurations of one that
// follow from objects, data sources, and time that goes by.
func TestEditsOfProviders(t *testing.T) {
	histories(t, 12, 3, func(seed uint64, f *folder) {
		s := newShop()
		f.write("budget.tfrc", "")
		if seed%2 == 1 {
			s.memo = new(parsecache.Memo)
		}
		f.run, f.typ, f.now = s.operate, simulated, func() time.Time { return s.clock }
		if seed%3 == 0 {
			f.blocks["p1"] = "provider \"sim\" {\n  region = var.v == 1 ? \"north\" : \"south\"\n}\nprovider \"sim\" {\n  alias  = \"far\"\n  region = try(jsonencode(sim_data.r03.input), \"x\")\n}\n"
		}
		f.more = func(f *folder, n int) {
			name := fmt.Sprintf("r%02d", n)
			switch {
			case f.blocks["p1"] != "" && f.r.IntN(2) == 0:
				f.blocks["r03"] = fmt.Sprintf("resource \"sim_data\" \"r03\" {\n  input = %d\n}\n", n)
			case f.r.IntN(3) == 0:
				s.clock = s.clock.Add(time.Duration(f.r.IntN(12)) * time.Minute)
			case f.typ(n) == "terraform_data":
				f.blocks["d2"] = fmt.Sprintf("data \"sim_lookup\" \"d\" {\n  key = %s\n}\n", f.value(n))
			case f.r.IntN(2) == 0 && f.blocks["d2"] != "":
				f.blocks[name] = fmt.Sprintf("resource \"sim_data\" %q {\n  input = data.sim_lookup.d.found\n}\n", name)
			case f.blocks["p1"] != "":
				f.blocks[name] = fmt.Sprintf("resource \"sim_data\" %q {\n  provider = sim.far\n  input = %s\n}\n", name, f.value(n))
			}
		}
	})
}

// TestAges: what wasn't edited is planned again when it was read, or planned, too long ago, and
// what is wrong by then is planned each time.
func TestAges(t *testing.T) {
	t.Chdir(t.TempDir())
	s := newShop()
	f := &folder{t: t, run: s.operate, blocks: map[string]string{}, typ: simulated}
	expires := s.clock.Add(40 * time.Minute)
	s.Resources["sim_certificate"] = fake.NewType("serial string computed", "id string computed")
	certificate := s.Resources["sim_certificate"]
	certificate.Plan = func(r provider.PlanRequest) provider.PlanResponse {
		out := certificate.DefaultPlan(r)
		if !r.Prior.IsNull() && !s.clock.Before(expires) {
			values := out.Planned.AsValueMap()
			values["serial"] = cty.UnknownVal(cty.String)
			out.Planned = cty.ObjectVal(values)
		}
		return out
	}
	text := ""
	for i := range 10 {
		text += fmt.Sprintf("resource \"sim_data\" \"r%d\" {\n  input = 1\n}\n", i)
	}
	for i := range 5 {
		text += fmt.Sprintf("resource \"terraform_data\" \"t%d\" {\n}\n", i)
	}
	f.write("main.tf", text+"resource \"sim_certificate\" \"c\" {\n}\n")
	f.write("budget.tfrc", "provider_budget \"hashicorp/sim\" {\n  refresh_after = \"1h\"\n  type \"sim_certificate\" {\n    refresh_after = \"15m\"\n  }\n}\n")
	step := func(minutes int, command string, reads, plans int, unplanned int64, code string) {
		t.Helper()
		s.clock = s.clock.Add(time.Duration(minutes) * time.Minute)
		s.Reset()
		said, left := f.run(f, command)
		if s.Count("Read") != reads || s.Count("Plan") != plans || left != unplanned || !strings.HasSuffix(said, "exit code "+code+"\n") {
			t.Errorf("%s: %s, %d unplanned\n%s", s.clock, s.Counts(), left, said)
		}
	}
	step(0, "apply", 0, 22, 0, "0")
	step(1, "plan", 11, 11, 0, "0") // refreshes every object
	step(1, "plan", 0, 11, 0, "0")  // is remembered
	step(1, "plan", 0, 0, 16, "0")
	step(13, "plan", 1, 1, 10, "0") // the certificate and the built-in ones were read 15 minutes ago
	step(1, "plan", 0, 1, 15, "0")  // the certificate was planned 15 minutes ago by the record
	step(24, "plan", 1, 1, 10, "2") // it has expired
	step(1, "plan", 1, 2, 15, "2")  // and so it has the next time
	step(19, "plan", 11, 11, 0, "2")
}
