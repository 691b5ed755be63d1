package order

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var cases = flag.Int("cases", 20_000, "random graphs to try")

// leg reports whether a step has an effect.
func leg(s Step) bool { return s.Kind == Create || s.Kind == Delete }

// reach is which leg comes after which.
func reach(n int, steps []Step) [][]bool {
	all := make([][]bool, len(steps))
	out := make([][]bool, 2*n)
	for i := range out {
		out[i] = make([]bool, 2*n)
	}
	for i, s := range steps {
		all[i] = make([]bool, len(steps))
		for _, before := range s.After {
			all[i][before] = true
			for j, far := range all[before] {
				all[i][j] = all[i][j] || far
			}
		}
		for j, after := range all[i] {
			if after && leg(s) && leg(steps[j]) {
				out[2*s.Object+int(s.Kind)][2*steps[j].Object+int(steps[j].Kind)] = true
			}
		}
	}
	return out
}

func TestExamples(t *testing.T) {
	const a, b, c = 0, 1, 2
	replaced := func(deps ...int) Object {
		return Object{Create: true, Delete: true, Configured: true, Stored: true, Config: deps, State: deps}
	}
	updated := func(deps ...int) Object {
		return Object{Create: true, Configured: true, Stored: true, Config: deps, State: deps}
	}
	removed := func(deps ...int) Object { return Object{Delete: true, Stored: true, State: deps} }
	created := func(deps ...int) Object { return Object{Create: true, Configured: true, Config: deps} }
	unchanged := func(deps ...int) Object { return Object{Configured: true, Stored: true, Config: deps, State: deps} }
	cbd := func(o Object) Object { o.WantsCBD = true; return o }
	dropped := func(o Object) Object { o.Config = nil; return o }
	deposed := func(o Object) Object { o.Deposed = true; return o }
	tests := []struct {
		name    string
		objects []Object
		chain   string // in this order
		free    string // pairs without an order
		cbd     string // flags of the objects
	}{
		{"E1: b(CBD) needs a, both replaced", []Object{replaced(), cbd(replaced(a))}, "a.C b.C b.D a.D", "", "ab"},
		{"E2: a(CBD) replaced, b updated", []Object{cbd(replaced()), updated(a)}, "a.C b.C a.D", "", "a"},
		{"E2b: a(CBD) replaced, b replaced", []Object{cbd(replaced()), replaced(a)}, "b.D a.C b.C a.D", "", "a"},
		{"E3: b left with CBD, a replaced", []Object{replaced(), cbd(removed(a))}, "b.D a.D a.C", "", ""},
		{"E4: a left with CBD, b updated", []Object{cbd(removed()), dropped(updated(a))}, "b.C a.D", "", "a"},
		{"C1: b removed, a updated", []Object{updated(), removed(a)}, "b.D a.C", "", ""},
		{"C2: a removed, b lets go of it", []Object{removed(), dropped(updated(a))}, "b.C a.D", "", "a"},
		{"C3: a removed, b replaced", []Object{removed(), dropped(replaced(a))}, "b.D a.D b.C", "", ""},
		{"E6: all removed", []Object{removed(), removed(a), removed(b)}, "c.D b.D a.D", "", ""},
		{"delete, then create", []Object{replaced()}, "a.D a.C", "", ""},
		{"create, then delete", []Object{cbd(replaced())}, "a.C a.D", "", "a"},
		{"creations", []Object{created(), created(a), created(b)}, "a.C b.C c.C", "", ""},
		{"no deletion waits for what only evaluates", []Object{cbd(replaced()), {Create: true, Evaluates: true, Config: []int{a}}}, "a.C b.C", "b.C a.D", "a"},
		{"nothing in common", []Object{replaced(), cbd(replaced()), removed(), created()}, "", "a.D b.C b.D c.D c.D d.C a.C d.C", "b"},
		{"through what doesn't change", []Object{created(), {Configured: true, Stored: true, Config: []int{a}}, created(b)}, "a.C c.C", "", ""},
		{"through what opens nothing", []Object{created(), {Create: true, Opens: true, Wanted: true, Stored: true, Config: []int{a}}, unchanged(b), created(c)}, "a.C b.C", "a.C d.C b.C d.C", ""},
		{"CBD spreads through openings", []Object{unchanged(), {Create: true, Opens: true, Stored: true, Config: []int{a}}, cbd(unchanged(b))}, "", "", "abc"},
		{"CBD spreads to what doesn't change", []Object{unchanged(), unchanged(a), cbd(unchanged(b))}, "", "", "abc"},
		{"the user of a CBD isn't one", []Object{cbd(unchanged()), unchanged(a)}, "", "", "a"},
		{"a deposed object waits for its user", []Object{deposed(removed()), updated(a)}, "b.C a.D", "", "a"},
		{"a new user holds on to what it replaced", []Object{cbd(replaced()), created(a)}, "a.C b.C a.D", "", "a"},
		{"a new user through a gate", []Object{cbd(replaced()), {Config: []int{a}}, created(b)}, "a.C c.C a.D", "", "a"},
		{"in use through a leftover", []Object{removed(), removed(a), dropped(updated(b))}, "c.C b.D a.D", "", "ab"},
		{"in use, but something else must go first", []Object{replaced(), removed(a), dropped(updated(b))}, "c.C b.D a.D a.C", "", ""},
		{"read when it is gone", []Object{removed(), {Create: true, Configured: true, Reads: true, State: []int{a}}, {Create: true, Configured: true, Stored: true, Config: []int{b}, State: []int{a}}}, "a.D b.C c.C", "", ""},
		{"read while it is in use", []Object{removed(), {Create: true, Configured: true, Reads: true, State: []int{a}}, {Create: true, Configured: true, Stored: true, Config: []int{b}, State: []int{a}, Holds: []int{a}}}, "b.C c.C a.D", "", "a"},
		{"a circle through a gate", []Object{{Delete: true, Stored: true, State: []int{b}}, {Config: []int{c}, State: []int{c}}, {Create: true, Configured: true, Stored: true, State: []int{a}}}, "c.C a.D", "", "a"},
		{"read while it is kept", []Object{cbd(removed()), {Create: true, Configured: true, Reads: true, State: []int{a}}}, "b.C a.D", "", "a"},
		{"read below what lets go", []Object{removed(), dropped(updated(a)), {Create: true, Configured: true, Reads: true, Config: []int{b}, State: []int{a}}}, "b.C a.D c.C", "", ""},
		{"let go of what is replaced", []Object{replaced(), dropped(updated(a))}, "b.C a.D a.C", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := Decide(test.objects)
			names := "abcdef"[:len(test.objects)]
			after := reach(len(names), r.Steps)
			number := func(text string) int {
				return 2*strings.IndexByte(names, text[0]) + strings.IndexByte("CD", text[2])
			}
			chain := strings.Fields(test.chain)
			for i := 1; i < len(chain); i++ {
				if !after[number(chain[i])][number(chain[i-1])] {
					t.Errorf("%s doesn't wait for %s", chain[i], chain[i-1])
				}
			}
			free := strings.Fields(test.free)
			for i := 0; i+1 < len(free); i += 2 {
				x, y := number(free[i]), number(free[i+1])
				if after[x][y] || after[y][x] {
					t.Errorf("%s and %s are ordered", free[i], free[i+1])
				}
			}
			flags := ""
			for i, is := range r.CBD {
				if is {
					flags += names[i : i+1]
				}
			}
			if flags != test.cbd {
				t.Errorf("CBD: %q instead of %q", flags, test.cbd)
			}
			legs := 0
			for _, s := range r.Steps {
				if leg(s) {
					legs++
				}
			}
			if test.chain != "" && test.free == "" && legs != len(chain) {
				t.Errorf("%d steps", legs)
			}
		})
	}
}

// random makes a graph whose dependencies lead to lower numbers in one order
// for the configuration and in another one for what is stored.
func random(r *rand.Rand) []Object {
	n := 2 + r.IntN(7)
	objects := make([]Object, n)
	stored := r.Perm(n) // what an object was stored after
	for i := range objects {
		o := &objects[i]
		o.WantsCBD = r.IntN(4) == 0
		switch r.IntN(7) {
		case 0:
			o.Create, o.Configured, o.Reads = true, true, r.IntN(2) == 0
		case 1:
			o.Create, o.Configured, o.Stored = true, true, true
		case 2, 3:
			o.Create, o.Delete, o.Configured, o.Stored = true, true, true, true
		case 4:
			o.Delete, o.Stored, o.Deposed = true, true, r.IntN(3) == 0
		case 5:
			o.Configured, o.Stored = true, true
		case 6:
			o.WantsCBD = false // a gate
		}
	}
	configured := func(o *Object) bool { return o.Configured || o.gate() }
	for i := range objects {
		for j := range objects {
			if j < i && configured(&objects[i]) && configured(&objects[j]) && r.IntN(3) == 0 {
				objects[i].Config = append(objects[i].Config, j)
			}
			mayHave := objects[i].Stored || objects[i].gate() || objects[i].Reads
			if stored[j] < stored[i] && mayHave && !objects[j].gate() && r.IntN(3) == 0 {
				objects[i].State = append(objects[i].State, j)
			}
		}
		if o := &objects[i]; o.gate() && r.IntN(2) == 0 {
			o.State = nil
		}
		for _, j := range objects[i].State {
			if objects[i].Stored && objects[j].Delete && !objects[j].Configured && r.IntN(2) == 0 {
				objects[i].Holds = append(objects[i].Holds, j)
			}
		}
	}
	// Gates among the stored dependencies: those that have State only lead on
	// to objects stored earlier than their users.
	for i := range objects {
		for j := range objects {
			if (objects[i].Stored || objects[i].Reads) && objects[j].gate() && objects[j].State != nil && stored[j] < stored[i] && r.IntN(2) == 0 {
				objects[i].State = append(objects[i].State, j)
			}
		}
	}
	return objects
}

func closure(edges func(i, j int) bool, n int) [][]bool {
	c := make([][]bool, n)
	for i := range c {
		c[i] = make([]bool, n)
		for j := range c[i] {
			c[i][j] = edges(i, j)
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				c[i][j] = c[i][j] || c[i][k] && c[k][j]
			}
		}
	}
	return c
}

// rules is the order of the legs straight from R0 to R7 in the package comment, given
// the flags.
func rules(objects []Object, cbd []bool) [][]bool {
	legs := direct(objects, cbd)
	return closure(func(i, j int) bool { return legs[i][j] }, len(legs))
}

// direct is the order that the rules demand, without what follows from several.
func direct(objects []Object, cbd []bool) [][]bool {
	n := len(objects)
	config := closure(func(i, j int) bool { return slices.Contains(objects[i].Config, j) }, n)
	needs := needs(objects)
	was := closure(func(i, j int) bool { return slices.Contains(former(objects, i), j) }, n)
	legs := make([][]bool, 2*n)
	for i := range legs {
		legs[i] = make([]bool, 2*n)
	}
	free := freedom(objects, cbd, config, was)
	creates := func(i int) bool { return objects[i].Create }
	deletes := func(i int) bool { return objects[i].Delete }
	// c orders the creation of x after the deletion of y, or inverts it.
	c := func(x, y int) {
		if creates(x) && deletes(y) {
			if cbd[y] {
				legs[2*y+1][2*x] = true
			} else {
				legs[2*x][2*y+1] = true
			}
		}
	}
	for x := range n {
		c(x, x) // R1
		for y := range n {
			if needs[x][y] && creates(x) && creates(y) {
				legs[2*x][2*y] = true // R0
			}
			if was[x][y] {
				switch {
				case cbd[y] && objects[x].Evaluates && !objects[x].Configured:
					// It may fail, and y goes all the same.
				case !free[x] || cbd[y]:
					c(x, y) // R2
				case objects[x].Stored && creates(x) && deletes(y):
					legs[2*y+1][2*x] = true // R6
				}
				c(y, x) // R4
				if deletes(x) && deletes(y) {
					legs[2*y+1][2*x+1] = true // R3
				}
			}
			// R7: x is prepared after the creation of y; it and its former users
			// are deleted after that.
			for user := range n {
				if prepares(objects, cbd, free, config, x) && needs[x][y] && creates(y) &&
					(user == x || was[user][x]) && deletes(user) && !cbd[user] {
					legs[2*user+1][2*y] = true
				}
			}
		}
	}
	return legs
}

// needs is what creations depend on by configuration. Anything that has no legs needs nothing
// opened.
func needs(objects []Object) [][]bool {
	return closure(func(i, j int) bool {
		o := &objects[i]
		return slices.Contains(o.Config, j) && (o.Create || o.Delete || o.gate() || !objects[j].Opens)
	}, len(objects))
}

// prepares is R7's condition.
func prepares(objects []Object, cbd, free []bool, config [][]bool, x int) bool {
	if !objects[x].Create || !objects[x].Delete || cbd[x] {
		return false
	}
	for y := range objects {
		if config[x][y] && !free[y] {
			return false
		}
	}
	return true
}

// freedom finds what is free, the slow way.
func freedom(objects []Object, cbd []bool, config, was [][]bool) []bool {
	n := len(objects)
	alone := func(i int) bool {
		for j := range n {
			gone := objects[j].Delete && !cbd[j]
			if objects[i].Create && was[j][i] && gone || objects[i].Reads && waits(objects, i)[j] && gone {
				return false
			}
		}
		return !objects[i].Delete
	}
	free := make([]bool, n)
	for i := range n {
		free[i] = alone(i)
		for j := range n {
			free[i] = free[i] && (!config[i][j] || alone(j))
		}
	}
	return free
}

func former(objects []Object, i int) []int {
	o := &objects[i]
	if o.Last {
		return nil
	}
	if !o.Stored && !o.Reads && (!o.gate() || o.State == nil) {
		return o.Config
	}
	var out []int
	if o.Reads {
		out = slices.Clone(o.Config)
	}
	for _, j := range o.State {
		if objects[j].Stored || objects[j].gate() {
			out = append(out, j)
		}
	}
	return out
}

// waits is what a read waits for to go.
func waits(objects []Object, i int) []bool {
	set := make([]bool, len(objects))
	todo := slices.Clone(objects[i].State)
	for len(todo) > 0 {
		j := todo[0]
		todo = todo[1:]
		set[j] = true
		if objects[j].gate() {
			todo = append(todo, objects[j].State...)
		}
	}
	return set
}

// decided computes CBD the slow way.
func decided(objects []Object) []bool {
	n := len(objects)
	config := closure(func(i, j int) bool { return slices.Contains(objects[i].Config, j) }, n)
	was := closure(func(i, j int) bool { return slices.Contains(former(objects, i), j) }, n)
	awaited := make([]bool, n)
	for i := range n {
		if objects[i].Reads {
			for j, waits := range waits(objects, i) {
				awaited[j] = awaited[j] || waits
			}
		}
	}
	for pass := 0; ; pass++ {
		cbd := flagsOf(objects, awaited)
		free := freedom(objects, cbd, config, was)
		reads := func(u int) bool {
			for d := range n {
				if config[u][d] && objects[d].Reads && !free[d] {
					return true
				}
			}
			return false
		}
		relaxed := false
		for i := range n {
			for u := range n {
				o := &objects[u]
				if was[u][i] && o.Create && !o.Delete && o.Stored && !free[u] && (!reads(u) || slices.ContainsFunc(o.Holds, func(j int) bool { return j == i || was[j][i] })) &&
					awaited[i] && objects[i].Delete && !objects[i].Configured && !cbd[i] {
					awaited[i], relaxed = false, true
				}
			}
		}
		if !relaxed {
			return cbd
		}
		if pass == 1 {
			awaited = make([]bool, n)
		}
	}
}

// flagsOf is CBD given what is deleted for reads.
func flagsOf(objects []Object, waited []bool) []bool {
	n := len(objects)
	cbd := make([]bool, n)
	needs := closure(func(i, j int) bool {
		return slices.Contains(objects[i].Config, j) || slices.Contains(former(objects, i), j)
	}, n)
	was := closure(func(i, j int) bool { return slices.Contains(former(objects, i), j) }, n)
	for i := range n {
		for j := range n {
			if objects[i].Configured && objects[i].WantsCBD && (i == j || needs[i][j]) && !objects[j].gate() {
				cbd[j] = true
			}
		}
	}
	for range n { // until nothing changes, dependencies first
		for i := range n {
			o := &objects[i]
			if !o.Delete || o.Configured || cbd[i] {
				continue
			}
			wants, allowed := o.WantsCBD || o.Deposed, true
			inUse := false
			for j := range n {
				user := &objects[j]
				inUse = inUse || was[j][i] && user.Stored && user.Create && !user.Delete
				allowed = allowed && (!was[i][j] || !objects[j].Delete || cbd[j])
			}
			cbd[i] = (wants || inUse && !waited[i]) && allowed
		}
	}
	return cbd
}

func TestRandomGraphs(t *testing.T) {
	for seed := range *cases {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		objects := random(r)
		got := Decide(objects)
		fail := func(format string, args ...any) {
			t.Helper()
			for i, o := range objects {
				t.Logf("%d %+v", i, o)
			}
			for i, s := range got.Steps {
				t.Logf("step %d %+v", i, s)
			}
			t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
		}
		if got.Cycle != nil || got.Dropped != nil {
			fail("cycle %v, dropped %v", got.Cycle, got.Dropped)
		}
		if want := decided(objects); !slices.Equal(want, got.CBD) {
			fail("flags %v instead of %v", got.CBD, want)
		}
		seen := make(map[[2]int]bool)
		for i, s := range got.Steps {
			for _, before := range s.After {
				if before >= i {
					fail("step %d comes before %d", i, before)
				}
			}
			if leg(s) {
				seen[[2]int{s.Object, int(s.Kind)}] = true
			}
		}
		for i, o := range objects {
			if seen[[2]int{i, 0}] != o.Create || seen[[2]int{i, 1}] != o.Delete {
				fail("the legs of %d are wrong", i)
			}
		}
		// Neither too little nor too much is ordered.
		have, want := reach(len(objects), got.Steps), rules(objects, got.CBD)
		for i := range want {
			for j := range want {
				if have[i][j] != want[i][j] {
					fail("%d.%d after %d.%d: %t instead of %t", i/2, i%2, j/2, j%2, have[i][j], want[i][j])
				}
			}
		}
	}
}

// Stored data may be wrong in any way: it is never a reason to fail.
func TestStoredCircles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	dropped := 0
	for range 2_000 {
		objects := random(r)
		for range 4 {
			i, j := r.IntN(len(objects)), r.IntN(len(objects))
			if objects[i].Stored && (!objects[j].gate() || objects[j].State != nil) {
				objects[i].State = append(objects[i].State, j)
			}
		}
		got := Decide(objects)
		dropped += len(got.Dropped)
		if got.Cycle != nil {
			t.Fatal(got.Cycle)
		}
		// The rest follows the rules.
		clean := slices.Clone(objects)
		for i := range clean {
			clean[i].State = slices.DeleteFunc(slices.Clone(clean[i].State), func(j int) bool {
				return slices.Contains(got.Dropped, [2]int{i, j})
			})
		}
		have, want := reach(len(objects), got.Steps), rules(clean, got.CBD)
		for i := range want {
			if !slices.Equal(have[i], want[i]) {
				t.Fatalf("%+v", objects)
			}
		}
	}
	if dropped == 0 {
		t.Error("no circle was tried")
	}
}

func TestConfigCycle(t *testing.T) {
	o := func(deps ...int) Object { return Object{Create: true, Configured: true, Config: deps} }
	r := Decide([]Object{o(1), o(2), o(3), o(1, 4), o(0), o(0)})
	if !slices.Equal(r.Cycle, []int{1, 2, 3}) || r.Steps != nil {
		t.Errorf("%+v", r)
	}
	if r := Decide([]Object{o(), o(1)}); !slices.Equal(r.Cycle, []int{1}) {
		t.Errorf("self: %+v", r)
	}
}

// A gate between many and many, and long chains: edges stay linear, and so does time, or this
// wouldn't end before the test is given up.
func TestLinear(t *testing.T) {
	const n = 50_000
	var objects []Object
	add := func(o Object) int {
		objects = append(objects, o)
		return len(objects) - 1
	}
	layer := func(below int) int {
		var state, config Object
		for range n {
			i := add(Object{
				Create: true, Delete: true, Configured: true, Stored: true, WantsCBD: below%2 == 1,
				Config: []int{below}, State: []int{below + 1},
			})
			state.State, config.Config = append(state.State, i), append(config.Config, i)
		}
		at := add(config)
		add(state)
		return at
	}
	bottom := add(Object{})
	add(Object{State: []int{}})
	layer(layer(bottom))
	for i := range 2 * n { // a chain
		o := Object{Delete: true, Stored: true, State: []int{len(objects) - 1}}
		if i == 0 {
			o.State = nil
		}
		add(o)
	}
	edges := 0
	r := Decide(objects)
	for _, s := range r.Steps {
		edges += len(s.After)
	}
	if limit := 6 * len(objects); edges > limit {
		t.Errorf("%d edges for %d objects", edges, len(objects))
	}
	if r.Cycle != nil || r.Dropped != nil {
		t.Errorf("cycle %v, dropped %d", r.Cycle, len(r.Dropped))
	}
}

func TestStepsAreTheSameEachTime(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		objects := random(r)
		if a, b := fmt.Sprint(Decide(objects)), fmt.Sprint(Decide(objects)); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
	}
}

// A replacement is prepared when what it needs is done and before anything is
// deleted for it; where that can't be, it isn't prepared apart.
func TestPrepared(t *testing.T) {
	const a, b = 0, 1
	created := Object{Create: true, Configured: true}
	updated := Object{Create: true, Configured: true, Stored: true}
	replaced := Object{Create: true, Delete: true, Configured: true, Stored: true}
	for _, test := range []struct {
		name   string
		a      Object
		stored []int // what b depended on
		want   string
	}{
		{"needs something new", created, nil, "aC bP cD bD bC"},
		{"needs an update that has to wait for the deletion", updated, []int{a}, "cD bD aC bC"},
		{"needs another replacement", replaced, []int{a}, "aP cD bD aD aC bC"},
	} {
		r := Decide([]Object{
			test.a,
			{Create: true, Delete: true, Configured: true, Stored: true, Config: []int{a}, State: test.stored},
			{Delete: true, Stored: true, State: []int{b}},
		})
		var got []string
		for _, s := range r.Steps {
			if s.Kind != Gate {
				got = append(got, "abc"[s.Object:s.Object+1]+"CDP"[s.Kind:s.Kind+1])
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v instead of %s", test.name, got, test.want)
		}
	}
}
