package moves

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
)

var cases = flag.Int("cases", 20_000, "random states to try")

func instance(text string) addr.Instance {
	i, err := addr.ParseInstance(text)
	if err != nil {
		panic(err)
	}
	return i
}

func endpoint(text string) program.Endpoint {
	t, err := addr.ParseTarget(text)
	if err != nil {
		panic(err)
	}
	return program.Endpoint{Module: t.Module, Name: t.Name, Key: t.Key}
}

// statements reads lines of the form "FROM -> TO" or "MODULE: FROM -> TO".
func statements(lines ...string) []Statement {
	var out []Statement
	for i, line := range lines {
		s := Statement{Range: hcl.Range{Filename: "main.tf", Start: hcl.Pos{Line: i + 1, Column: 1, Byte: i}}}
		if module, rest, ok := strings.Cut(line, ": "); ok {
			s.Module, line = addr.Module(module), rest
		}
		from, to, _ := strings.Cut(line, " -> ")
		s.From, s.To = endpoint(from), endpoint(to)
		out = append(out, s)
	}
	return out
}

func table(t *testing.T, lines ...string) *Table {
	t.Helper()
	table, diags := Compile(statements(lines...))
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return table
}

func texts(is []addr.Instance) string {
	var out []string
	for _, i := range is {
		out = append(out, i.String())
	}
	return strings.Join(out, " ")
}

// Each of several objects would come to the address only.
func TestMoves(t *testing.T) {
	tests := map[string]struct {
		statements []string
		to, from   string
	}{
		"resource":                     {[]string{"t.a -> t.b"}, "t.b", "t.a"},
		"resource keeps keys":          {[]string{"t.a -> t.b"}, `t.b["x"]`, `t.a["x"]`},
		"instance":                     {[]string{"t.a -> t.a[0]"}, "t.a[0]", "t.a"},
		"another type":                 {[]string{"t.a -> u.a"}, "u.a[2]", "t.a[2]"},
		"chain":                        {[]string{"t.b -> t.c", "t.a -> t.b"}, "t.c", "t.b t.a"},
		"chain of both kinds":          {[]string{"t.a -> t.b", "t.b -> t.b[0]"}, "t.b[0]", "t.a[0] t.b t.a"},
		"call":                         {[]string{"module.a -> module.b"}, `module.b["k"].t.x[1]`, `module.a["k"].t.x[1]`},
		"deep in a call":               {[]string{"module.a -> module.b"}, `module.b.module.c[3].t.x`, `module.a.module.c[3].t.x`},
		"module instance":              {[]string{"module.a -> module.a[0]"}, "module.a[0].t.x", "module.a.t.x"},
		"into a module":                {[]string{"t.x -> module.a.t.x"}, "module.a.t.x", "t.x"},
		"in every instance":            {[]string{"module.a: t.x -> t.y"}, `module.a["k"].t.y`, `module.a["k"].t.x`},
		"in a module that moved":       {[]string{"module.a -> module.b", "module.b: t.x -> t.y"}, "module.b.t.y", "module.b.t.x module.a.t.x module.a.t.y"},
		"in a module that got a key":   {[]string{"module.a -> module.a[0]", "module.a: t.x -> t.y"}, "module.a[0].t.y", "module.a.t.y module.a.t.x module.a[0].t.x"},
		"nested modules":               {[]string{"module.a -> module.b", "module.b: module.x -> module.y"}, "module.b.module.y.t.z", "module.b.module.x.t.z module.a.module.x.t.z module.a.module.y.t.z"},
		"handed on":                    {[]string{"t.a -> t.b", "t.b -> t.c", "t.c -> t.d"}, "t.d", "t.c t.b t.a"},
		"a resource out of the module": {[]string{"module.a.t.x -> t.x", "module.a -> module.b"}, "t.x", "module.a.t.x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, from := range strings.Fields(test.from) {
				moved, blocked, _ := table(t, test.statements...).Apply([]addr.Instance{instance(from)})
				if got := moved[instance(from)]; got != instance(test.to) || blocked != nil {
					t.Errorf("%s moves to %q instead of %q", from, got, test.to)
				}
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		statements []string
		want       string
	}{
		"redundant":           {[]string{"t.a -> t.a"}, "Redundant move statement"},
		"two destinations":    {[]string{"t.a -> t.b", "t.a -> t.c"}, "Ambiguous move statements"},
		"two sources":         {[]string{"t.a -> t.c", "t.b -> t.c"}, ""},
		"twice the same":      {[]string{"t.a -> t.c", "t.a -> t.c"}, ""},
		"circle":              {[]string{"t.a -> t.b", "t.b -> t.a"}, "Cyclic dependency in move statements"},
		"circle of modules":   {[]string{"module.a -> module.b", "module.b -> module.a"}, "Cyclic dependency in move statements"},
		"inside and outside":  {[]string{"module.a.t.x -> t.x", "t.x -> module.a.t.x"}, "Cyclic dependency in move statements"},
		"key added to a call": {[]string{"module.a -> module.a[0]", "module.a: t.x -> t.y"}, ""},
		"other instances":     {[]string{"t.a[0] -> t.a[1]", "t.a[2] -> t.a[3]"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			table, diags := Compile(statements(test.statements...))
			var got []string
			for _, d := range diags {
				got = append(got, d.Summary)
				if d.Subject == nil {
					t.Errorf("no place: %s", d)
				}
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("%v", diags)
			}
			if table.Empty() != (test.want != "") {
				t.Errorf("empty: %t", table.Empty())
			}
		})
	}
}

// Statements with one destination are ambiguous only where more than one of
// their sources has objects.
func TestSharedDestinations(t *testing.T) {
	for name, test := range map[string]struct {
		statements []string
		prior      string
		want       string // where the objects are then, or the addresses of an error
	}{
		"one of two resources":        {[]string{"t.a -> t.c", "t.b -> t.c"}, "t.b", "t.b > t.c"},
		"none":                        {[]string{"t.a -> t.c", "t.b -> t.c"}, "t.c", ""},
		"both":                        {[]string{"t.a -> t.c", "t.b -> t.c"}, "t.a t.b", "t.a t.c t.b"},
		"both, and the place taken":   {[]string{"t.a -> t.c", "t.b -> t.c"}, "t.a t.b t.c", "t.a t.c t.b"},
		"three":                       {[]string{"t.a -> t.c", "t.b -> t.c", "t.d -> t.c"}, "t.a t.b t.d", "t.a t.c t.b"},
		"one, and the place taken":    {[]string{"t.a -> t.c", "t.b -> t.c"}, "t.a t.c", "t.a blocked"},
		"instances":                   {[]string{"t.a[0] -> t.c", "t.b[0] -> t.c"}, "t.b[0] t.x", "t.b[0] > t.c"},
		"both instances":              {[]string{"t.a[0] -> t.c", "t.b[0] -> t.c"}, "t.a[0] t.b[0]", "t.a[0] t.c t.b[0]"},
		"keys of one resource":        {[]string{"t.a[0] -> t.c", "t.a[1] -> t.c"}, "t.a[1]", "t.a[1] > t.c"},
		"a chain":                     {[]string{"t.a -> t.b", "t.b -> t.c", "t.x -> t.c"}, "t.a", "t.a > t.c"},
		"a chain and another":         {[]string{"t.a -> t.b", "t.b -> t.c", "t.x -> t.c"}, "t.a t.x", "t.b t.c t.x"},
		"two into a chain":            {[]string{"t.a -> t.b", "t.x -> t.b", "t.b -> t.c"}, "t.x", "t.x > t.c"},
		"modules":                     {[]string{"module.a -> module.c", "module.b -> module.c"}, "module.b.t.x", "module.b.t.x > module.c.t.x"},
		"both modules":                {[]string{"module.a -> module.c", "module.b -> module.c"}, "module.a.t.x module.b.t.y", "module.a module.c module.b"},
		"module instances":            {[]string{"module.a[0] -> module.c", "module.a[1] -> module.c"}, "module.a[1].t.x", "module.a[1].t.x > module.c.t.x"},
		"into a module with a move":   {[]string{"t.a -> module.m.t.x", "module.m: t.old -> t.x"}, "t.a", "t.a > module.m.t.x"},
		"inside of a module":          {[]string{"t.a -> module.m.t.x", "module.m: t.old -> t.x"}, "module.m.t.old", "module.m.t.old > module.m.t.x"},
		"into and inside of a module": {[]string{"t.a -> module.m.t.x", "module.m: t.old -> t.x"}, "t.a module.m.t.old", "t.a module.m.t.x module.m.t.old"},
		"in different instances":      {[]string{"module.m: t.a -> t.c", "module.m: t.b -> t.c"}, "module.m[0].t.a module.m[1].t.b", "module.m[0].t.a > module.m[0].t.c, module.m[1].t.b > module.m[1].t.c"},
		"in one instance":             {[]string{"module.m: t.a -> t.c", "module.m: t.b -> t.c"}, "module.m[0].t.a module.m[0].t.b", "module.m[0].t.a module.m[0].t.c module.m[0].t.b"},
	} {
		t.Run(name, func(t *testing.T) {
			var prior []addr.Instance
			for _, text := range strings.Fields(test.prior) {
				prior = append(prior, instance(text))
			}
			moved, blocked, diags := table(t, test.statements...).Apply(prior)
			var got []string
			for from, to := range moved {
				got = append(got, from.String()+" > "+to.String())
			}
			slices.Sort(got)
			text := strings.Join(got, ", ")
			if len(blocked) > 0 {
				text = blocked[0].From.String() + " blocked"
			}
			if diags.HasErrors() {
				addresses := regexp.MustCompile(`(?:module\.\w+(?:\[\d\])?\.?)*(?:\bt\.\w+(?:\[\d\])?)?`)
				text = ""
				for _, a := range addresses.FindAllString(diags[0].Detail, -1) {
					if a != "" {
						text = strings.TrimSpace(text + " " + a)
					}
				}
			}
			if text != test.want || len(diags) > 1 {
				t.Errorf("got %q, want %q: %v", text, test.want, diags)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	m := table(t, "t.a -> t.b", "module.m: t.x -> t.y", "module.m[0].t.x -> t.z", "module.old -> module.new")
	declared := map[string]bool{"t.a": true, "module.m[1].t.x": true}
	diags := m.Validate(
		func(path addr.Module) []addr.Module {
			if path.IsRoot() {
				return []addr.Module{addr.Root}
			}
			return []addr.Module{addr.Root.Child(addr.Mod("m"), addr.IntKey(0)), addr.Root.Child(addr.Mod("m"), addr.IntKey(1))}
		},
		func(o Object) (hcl.Range, bool) {
			return hcl.Range{Filename: "x.tf", Start: hcl.Pos{Line: 7, Column: 3}}, declared[o.String()]
		},
	)
	var got []string
	for _, d := range diags {
		first, _, _ := strings.Cut(d.Detail, "\n")
		got = append(got, d.Summary+": "+first)
	}
	want := []string{
		"Moved object still exists: By this statement t.a has moved, but the resource is still declared at x.tf:7,3.",
		"Moved object still exists: By this statement module.m[1].t.x has moved, but the resource is still declared at x.tf:7,3.",
		"Ambiguous move statements: By the statement at main.tf:2,1 module.m[0].t.x moved to module.m[0].t.y, by this one it moved to t.z.",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

type declarations map[string]Repetition

func (d declarations) Resource(r addr.Resource) (Repetition, hcl.Range) {
	return d[r.Erase().String()], hcl.Range{}
}

func (d declarations) Call(caller addr.Module, c addr.Call) (Repetition, hcl.Range) {
	return d[caller.Child(c, addr.NoKey).Erase().String()], hcl.Range{}
}

func TestImplied(t *testing.T) {
	config := declarations{
		"t.counted": Counted, "t.single": Single, "t.each": Other,
		"module.c": Counted, "module.s": Single, "module.c.t.single": Single, "module.c.module.in": Counted,
	}
	for name, test := range map[string]struct {
		explicit []string
		prior    string
		want     string
	}{
		"count added":             {nil, "t.counted t.counted[1]", "t.counted -> t.counted[0]"},
		"count taken away":        {nil, "t.single[0] t.single[1]", "t.single[0] -> t.single"},
		"nothing to do":           {nil, "t.counted[0] t.single t.each t.each[0] t.gone[0]", ""},
		"a call counted":          {nil, "module.c.t.single module.c.t.other", "module.c -> module.c[0]"},
		"a call no longer so":     {nil, "module.s[0].t.x module.s[1].t.x", "module.s[0] -> module.s"},
		"around and inside":       {nil, "module.c.module.in.t.x module.c.t.single[0]", "module.c -> module.c[0]; module.c.module.in -> module.c.module.in[0]; module.c.t.single[0] -> module.c.t.single"},
		"somebody cares":          {[]string{"t.counted -> t.counted[2]", "t.single[1] -> t.single"}, "t.counted t.single[0]", ""},
		"somebody cares inside":   {[]string{"module.c.t.x -> module.c.t.y"}, "module.c.t.single", ""},
		"of another module":       {[]string{"module.s: t.counted -> t.x"}, "t.counted", "t.counted -> t.counted[0]"},
		"somebody moves the call": {[]string{"module.c -> module.c[1]"}, "module.c.t.single", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var prior []addr.Instance
			for _, text := range strings.Fields(test.prior) {
				prior = append(prior, instance(text))
			}
			explicit := statements(test.explicit...)
			var got []string
			implied := Implied(explicit, prior, config)
			for _, s := range implied {
				c := compile(s)
				got = append(got, c.from.String()+" -> "+c.to.String())
			}
			slices.Sort(got)
			if text := strings.Join(got, "; "); text != test.want {
				t.Errorf("%s", text)
			}
			if _, diags := Compile(append(explicit, implied...)); diags.HasErrors() {
				t.Error(diags.Err())
			}
		})
	}
}

// Both kinds of implied moves meet in one object.
func TestImpliedTogether(t *testing.T) {
	prior := []addr.Instance{instance("module.c.t.x")}
	m, diags := Compile(Implied(nil, prior, declarations{"module.c": Counted, "module.c.t.x": Counted}))
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	moved, blocked, _ := m.Apply(prior)
	if moved[prior[0]] != instance("module.c[0].t.x[0]") || blocked != nil {
		t.Errorf("%v %v", moved, blocked)
	}
}

func TestBlocked(t *testing.T) {
	m := table(t, "t.a -> t.b", "t.b -> t.c", "module.m -> module.n")
	prior := []addr.Instance{instance("t.a"), instance("t.b"), instance("t.c"), instance("module.m.t.x"), instance("module.n.t.y")}
	moved, blocked, _ := m.Apply(prior)
	if len(moved) != 0 || fmt.Sprint(blocked) != "[{t.a t.b} {t.b t.c} {module.m.t.x module.n.t.x}]" {
		t.Errorf("%v %v", moved, blocked)
	}
}

// randomStatements makes statements over few names, so that they chain, nest
// and contradict each other.
func randomStatements(r *rand.Rand) []Statement {
	key := func() string { return []string{"", "", "[0]", "[1]"}[r.IntN(4)] }
	name := func() string { return string(rune('a' + r.IntN(3))) }
	var lines []string
	for range 1 + r.IntN(4) {
		end := func(module bool) string {
			text := ""
			for range r.IntN(2) {
				text += "module." + name() + key() + "."
			}
			if module {
				return text + "module." + name() + key()
			}
			return text + "t." + name() + key()
		}
		module := r.IntN(2) == 0
		line := end(module) + " -> " + end(module)
		if r.IntN(3) == 0 {
			line = "module." + name() + ": " + line
		}
		lines = append(lines, line)
	}
	return statements(lines...)
}

func randomState(r *rand.Rand) []addr.Instance {
	var out []addr.Instance
	for range 1 + r.IntN(5) {
		text := ""
		for range r.IntN(3) {
			text += "module." + string(rune('a'+r.IntN(3))) + []string{"", "[0]", "[1]"}[r.IntN(3)] + "."
		}
		i := instance(text + "t." + string(rune('a'+r.IntN(3))) + []string{"", "[0]"}[r.IntN(2)])
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}

// slowly does what Apply does, one object and statement after the other and
// without any index.
func slowly(table *Table, prior []addr.Instance) (map[addr.Instance]addr.Instance, int) {
	now := make(map[addr.Instance]addr.Instance) // by origin
	for _, o := range prior {
		now[o] = o
	}
	matches := func(s *statement, i addr.Instance) bool {
		steps := i.Module.Steps()
		if len(steps) < len(s.from.steps) || !s.from.isModule() && len(steps) > len(s.from.steps) {
			return false
		}
		for n, step := range s.from.steps {
			if step.Name != steps[n].Name || !step.Key.IsAny() && step.Key != steps[n].Key {
				return false
			}
		}
		return s.from.isModule() || s.from.name == i.Name && (s.whole || s.from.key == i.Key)
	}
	blocked := 0
	for _, s := range table.statements {
		var movers []addr.Instance
		taken := make(map[addr.Instance]bool)
		for _, at := range now {
			taken[at] = true
		}
		for origin, at := range now {
			if !matches(s, at) {
				continue
			}
			to := s.rewrite(at, s.from, s.to)
			free := true
			for other := range taken {
				switch {
				case s.from.isModule():
					free = free && other.Module != to.Module
				case s.whole:
					free = free && other.Resource != to.Resource
				default:
					free = free && other != to
				}
			}
			if free {
				movers = append(movers, origin)
			} else {
				blocked++
			}
		}
		for _, origin := range movers {
			now[origin] = s.rewrite(now[origin], s.from, s.to)
		}
	}
	for origin, at := range now {
		if origin == at {
			delete(now, origin)
		}
	}
	return now, blocked
}

// Moving all at once gives the same result as moving one by one.
func TestRandomMoves(t *testing.T) {
	found, stopped := 0, 0
	for seed := range *cases {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		all := randomStatements(r)
		table, diags := Compile(all)
		if diags.HasErrors() {
			continue
		}
		prior := randomState(r)
		moved, blocked, _ := table.Apply(prior)
		want, wantBlocked := slowly(table, prior)
		fail := func(format string, args ...any) {
			t.Helper()
			for _, s := range table.statements {
				t.Logf("%s -> %s", s.from, s.to)
			}
			t.Fatalf("seed %d, prior %s: "+format, append([]any{seed, texts(prior)}, args...)...)
		}
		if fmt.Sprint(moved) != fmt.Sprint(want) || len(blocked) != wantBlocked {
			fail("moved %v instead of %v, blocked %v, not %d", moved, want, blocked, wantBlocked)
		}
		stopped += len(blocked)
		found += len(moved)
	}
	if found < 1000 || stopped < 100 {
		t.Errorf("only %d moves, %d blocked", found, stopped)
	}
}

// Statements for each of many instances cost what they are, not their square.
func TestManyStatements(t *testing.T) {
	const n = 20_000
	var all []Statement
	for i := range n {
		from, to := endpoint("t.a"), endpoint("t.b")
		from.Key, to.Key = addr.IntKey(i), addr.StringKey(fmt.Sprint(i))
		all = append(all, Statement{Module: "module.m", From: from, To: to})
	}
	all = append(all, statements("module.m: t.b -> t.c", "module.l -> module.m")...)
	began := time.Now()
	m, diags := Compile(all)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	var prior []addr.Instance
	for i := range n {
		prior = append(prior, addr.Resource{Module: "module.l", Name: addr.Name{Type: "t", Name: "a"}}.Instance(addr.IntKey(i)))
	}
	moved, _, _ := m.Apply(prior)
	if got := moved[prior[7]]; got != instance(`module.m.t.c["7"]`) || len(moved) != n {
		t.Errorf("%d moved, one to %s", len(moved), got)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}
