package order

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomRun adds to a random graph what has to be opened, what is only evaluated, what
// comes last, and the parts that legs may have.
func randomRun(r *rand.Rand) []Object {
	objects := random(r)
	const unserved = 4 // providers 1 to 3 may be served by an object
	serves := map[int]int{}
	drop := func(i int) {
		for j := range objects {
			o := &objects[j]
			is := func(k int) bool { return k == i }
			o.State = slices.DeleteFunc(o.State, is)
			if objects[i].Evaluates {
				o.Config = slices.DeleteFunc(o.Config, is)
			}
		}
	}
	for i := range objects {
		o := &objects[i]
		switch config := o.Config; {
		case !o.Configured && !o.gate():
		case r.IntN(5) == 0 && len(serves) < 3:
			*o = Object{Create: true, Opens: true, Serves: true, Stored: true, Config: config}
			serves[len(serves)+1] = i
			o.Provider = len(serves)
			drop(i)
		case r.IntN(6) == 0:
			*o = Object{Create: true, Opens: true, Configured: true, Stored: true, Wanted: r.IntN(4) == 0, Config: config}
			drop(i)
		case r.IntN(8) == 0:
			*o = Object{Create: true, Evaluates: true, Last: r.IntN(2) == 0, Config: config}
			drop(i)
		}
	}
	for i := range objects {
		o := &objects[i]
		if o.Serves || o.Evaluates || !o.Create && !o.Delete {
			continue
		}
		p := 1 + r.IntN(unserved)
		if o.Delete && len(serves) > 0 && r.IntN(2) == 0 {
			p = 1 + r.IntN(len(serves))
		}
		at, served := serves[p]
		if served && o.Create && at > i {
			p, served = unserved, false // it would depend on itself
		}
		o.Provider = p
		if served && !slices.Contains(o.Config, at) {
			o.Config = append(o.Config, at)
		}
		some := func() bool { return r.IntN(4) == 0 }
		o.Forgets = (o.Delete && !o.Create || o.Create && !o.Delete && o.Stored && !o.Opens) && some()
		if o.Forgets && o.Delete {
			o.Provider = 0
		}
		o.Provisions = o.Create && !o.Reads && !o.Opens && (o.Delete || !o.Stored || o.Forgets) && some()
		o.Deprovisions = o.Delete && some()
		for _, phase := range []Phase{BeforeCreation, BeforeCreation, AfterCreation, AfterCreation, BeforeDeletion, AfterDeletion} {
			creates := phase < BeforeDeletion
			if !some() || creates && (!o.Create || o.Reads || o.Opens) || !creates && (!o.Delete || o.Forgets) {
				continue
			}
			through := []int{unserved, unserved + 1}
			for p, at := range serves {
				if slices.Contains(o.Config, at) {
					through = append(through, p)
				}
			}
			slices.Sort(through)
			o.Invokes = append(o.Invokes, Invoked{phase, through[r.IntN(len(through))]})
		}
	}
	if r.IntN(2) == 0 { // read last, and nothing depends on it
		objects = append(objects, Object{Create: true, Configured: true, Reads: true, Last: true, Provider: unserved})
	}
	return objects
}

// earlier is which step each comes after.
func earlier(steps []Step) [][]bool {
	all := make([][]bool, len(steps))
	for i, s := range steps {
		all[i] = make([]bool, len(steps))
		for _, before := range s.After {
			all[i][before] = true
			for j, far := range all[before] {
				all[i][j] = all[i][j] || far
			}
		}
	}
	return all
}

// A traced run is a result with what is where.
type traced struct {
	*testing.T
	seed    int
	objects []Object
	result  Result
	after   [][]bool
	at      map[[2]int][]int // steps by object and kind
}

func trace(t *testing.T, seed int, objects []Object) *traced {
	r := &traced{T: t, seed: seed, objects: objects, result: Decide(objects), at: map[[2]int][]int{}}
	r.after = earlier(r.result.Steps)
	for n, s := range r.result.Steps {
		key := [2]int{s.Object, int(s.Kind)}
		r.at[key] = append(r.at[key], n)
	}
	return r
}

func (r *traced) fail(format string, args ...any) {
	r.Helper()
	for i, o := range r.objects {
		r.Logf("%d %+v", i, o)
	}
	for i, s := range r.result.Steps {
		r.Logf("step %d %+v", i, s)
	}
	r.Fatalf("seed %d: "+format, append([]any{r.seed}, args...)...)
}

// leg is the first and the last step of one, and the one that calls a provider; -1 where
// there is no such leg.
func (r *traced) leg(object int, kind Kind) (first, calls, last int) {
	one := func(k Kind, or int) int {
		switch at := r.at[[2]int{object, int(k)}]; len(at) {
		case 0:
			return or
		case 1:
			return at[0]
		default:
			r.fail("%d has %d steps of kind %d", object, len(at), k)
			return 0
		}
	}
	calls = one(kind, -1)
	if calls < 0 {
		return calls, calls, calls
	}
	if kind == Create {
		first, last = one(Aside, calls), one(Provision, calls)
	} else {
		first, last = one(Deprovision, calls), calls
	}
	phase := Phase(0)
	if kind == Delete {
		phase = BeforeDeletion
	}
	if at := r.invoked(object, phase); at != nil && (kind == Create || first == calls) {
		first = at[0]
	}
	if at := r.invoked(object, phase+1); at != nil {
		last = at[len(at)-1]
	}
	return first, calls, last
}

// invoked are the steps of a phase, in the order of what they stand for.
func (r *traced) invoked(object int, phase Phase) []int {
	var list []int
	for n, i := range r.objects[object].Invokes {
		for _, at := range r.at[[2]int{object, int(Invoke)}] {
			if i.Phase == phase && r.result.Steps[at].Nth == n {
				list = append(list, at)
			}
		}
	}
	return list
}

// TestRandomRuns: all that is run, openings and closings included, is in the order of the
// rules, neither too little nor too much, also where rules contradict each other because a
// provider needs what waits for its own deletions.
func TestRandomRuns(t *testing.T) {
	contradictions := 0
	for seed := range *cases {
		r := trace(t, seed, randomRun(rand.New(rand.NewPCG(uint64(seed), 2))))
		if r.result.Cycle != nil {
			r.fail("cycle %v", r.result.Cycle)
		}
		if r.legs() {
			contradictions++
		}
		r.parts()
		r.openings()
		r.closings()
		r.last()
	}
	if contradictions < *cases/200 {
		t.Errorf("only %d contradictions were tried", contradictions)
	}
}

// legs holds the legs to R0 to R8, and where these contradict each other, which it
// reports, to R11.
func (r *traced) legs() (contradiction bool) {
	demanded := direct(r.objects, r.result.CBD)
	opening := func(provider int) int { // what serves the provider
		return slices.IndexFunc(r.objects, func(o Object) bool { return o.Serves && o.Provider == provider })
	}
	for i, o := range r.objects {
		for _, p := range o.endsThrough() {
			if s := opening(p); s >= 0 && p > 0 && o.Delete && !o.Serves {
				demanded[2*i+1][2*s] = true // R8
			}
		}
	}
	all := closure(func(i, j int) bool { return demanded[i][j] }, len(demanded))
	core := func(i int) bool { // on a circle or between some
		from, to := false, false
		for j := range all {
			from = from || all[j][j] && (i == j || all[j][i])
			to = to || all[j][j] && (i == j || all[i][j])
		}
		return from && to
	}
	for i := range all {
		contradiction = contradiction || all[i][i]
	}
	for x := range all {
		firstX, callsX, lastX := r.leg(x/2, Kind(x%2))
		for y := range all {
			_, _, lastY := r.leg(y/2, Kind(y%2))
			if firstX < 0 || lastY < 0 || r.objects[x/2].Last || r.objects[y/2].Last {
				continue
			}
			// Only what calls the provider itself waits for the opening.
			have := r.after[firstX][lastY] || r.objects[y/2].Serves && (r.after[callsX][lastY] || r.after[lastX][lastY])
			if !contradiction {
				if have && !all[x][y] || !have && demanded[x][y] {
					r.fail("%d.%d after %d.%d: %t", x/2, x%2, y/2, y%2, have)
				}
				continue
			}
			if have || !demanded[x][y] {
				continue
			}
			xo, yo := r.objects[x/2], r.objects[y/2]
			updates := x%2 == 0 && xo.Stored && !xo.Delete && !xo.Forgets
			// Anything that is invoked for a deletion may be what the provider is needed for.
			alone := len(xo.endsThrough())+len(yo.endsThrough()) == 2
			same := x%2 == 1 && xo.Provider == yo.Provider && alone || x == y-1
			if !core(x) || !core(y) || y%2 == 0 || yo.Provider == 0 || same && !updates {
				r.fail("%d.%d isn't after %d.%d", x/2, x%2, y/2, y%2)
			}
		}
	}
	return contradiction
}

// parts holds the steps of a leg together.
func (r *traced) parts() {
	for i, o := range r.objects {
		first := o.Create && o.Delete && r.result.CBD[i]
		for kind, want := range map[Kind]bool{
			Aside: first || o.Create && o.Forgets, Restore: first, Provision: o.Provisions,
			Deprovision: o.Delete && o.Deprovisions && !o.Deposed && !o.Forgets && !first, Delete: o.Delete,
		} {
			if got := len(r.at[[2]int{i, int(kind)}]); got > 1 || want != (got == 1) {
				r.fail("%d has %d steps of kind %d", i, got, kind)
			}
		}
	}
	for i, o := range r.objects {
		if len(o.Invokes) != len(r.at[[2]int{i, int(Invoke)}]) {
			r.fail("%d invokes %v", i, r.at[[2]int{i, int(Invoke)}])
		}
		made := append(r.at[[2]int{i, int(Create)}], r.at[[2]int{i, int(Provision)}]...)
		for phase, around := range [][2][]int{{r.at[[2]int{i, int(Prepare)}], r.at[[2]int{i, int(Create)}]}, {made, nil}, {r.at[[2]int{i, int(Deprovision)}], r.at[[2]int{i, int(Delete)}]}, {r.at[[2]int{i, int(Delete)}], nil}} {
			chain := append(slices.Clone(around[0]), r.invoked(i, Phase(phase))...)
			if len(chain) > len(around[0]) {
				chain = append(chain, around[1]...)
			}
			for n := 1; n < len(chain); n++ {
				if !r.after[chain[n]][chain[n-1]] {
					r.fail("step %d isn't after %d", chain[n], chain[n-1])
				}
			}
		}
	}
	for n, s := range r.result.Steps {
		var takes []int
		if s.Kind == Invoke {
			switch r.objects[s.Object].Invokes[s.Nth].Phase {
			case BeforeCreation:
				takes = r.at[[2]int{s.Object, int(Prepare)}]
			case AfterCreation:
				if takes = r.at[[2]int{s.Object, int(Provision)}]; takes == nil {
					takes = r.at[[2]int{s.Object, int(Create)}]
				}
			}
		}
		for _, k := range map[Kind][]Kind{Create: {Prepare}, Restore: {Aside, Create}, Provision: {Create}}[s.Kind] {
			takes = append(takes, r.at[[2]int{s.Object, int(k)}]...)
		}
		if s.Kind == Close && s.Object >= 0 {
			takes = r.at[[2]int{s.Object, int(Create)}]
		}
		if !slices.Equal(s.Takes, takes) {
			r.fail("step %d takes up %v instead of %v", n, s.Takes, takes)
		}
		for _, a := range takes {
			if !r.after[n][a] {
				r.fail("step %d isn't after %d", n, a)
			}
		}
		if (s.Kind == Restore) != (s.When == OnFailure) || s.Kind == Close && s.When != Always {
			r.fail("step %d is run at the wrong outcome", n)
		}
		if first, calls, _ := r.leg(s.Object, Delete); s.Kind == Deprovision && !r.after[calls][first] {
			r.fail("%d is deleted first", s.Object)
		}
	}
}

// openings holds them to R8.
func (r *traced) openings() {
	needs := needs(r.objects)
	opened := map[int]int{}
	for n, s := range r.result.Steps {
		if s.Kind == Open || s.Kind == Create && r.objects[s.Object].Serves {
			if _, twice := opened[s.Provider]; twice {
				r.fail("provider %d is opened twice", s.Provider)
			}
			opened[s.Provider] = n
		}
	}
	for n, s := range r.result.Steps {
		if at, ok := opened[s.Provider]; s.Provider > 0 && (!ok || n != at && !r.after[n][at]) {
			r.fail("step %d isn't after the opening", n)
		}
		opens := s.Kind == Open || s.Kind == Create && r.objects[s.Object].Opens
		awaited := slices.ContainsFunc(r.result.Steps, func(s Step) bool { return s.Kind != Close && s.When != Always && slices.Contains(s.After, n) })
		if opens && !awaited && !(s.Object >= 0 && r.objects[s.Object].Wanted) {
			r.fail("nobody waits for step %d", n)
		}
		if s.Kind != Create && s.Kind != Prepare {
			continue
		}
		for y := range r.objects {
			if _, made, _ := r.leg(y, Create); needs[s.Object][y] && r.objects[y].Create && made < 0 {
				r.fail("%d isn't opened for %d", y, s.Object)
			}
		}
	}
}

// closings holds them to R9.
func (r *traced) closings() {
	needs := needs(r.objects)
	for n, s := range r.result.Steps {
		opens := s.Kind == Open || s.Kind == Create && r.objects[s.Object].Opens
		if !opens {
			continue
		}
		provider := s.Kind == Open || r.objects[s.Object].Serves
		var closing []int
		for c, end := range r.result.Steps {
			if end.Kind == Close && end.Provider == s.Provider && (provider && end.Object < 0 || !provider && end.Object == s.Object) {
				closing = append(closing, c)
			}
		}
		if len(closing) != 1 {
			r.fail("step %d is closed by %v", n, closing)
		}
		for u, user := range r.result.Steps {
			uses := provider && user.Provider == s.Provider ||
				!provider && (user.Kind == Provision || user.Kind == Create && (r.objects[user.Object].Evaluates || needs[user.Object][s.Object]))
			if user.Kind == Close && user.Object >= 0 && !provider {
				uses = needs[user.Object][s.Object]
			}
			if uses && u != closing[0] && !r.after[closing[0]][u] {
				r.fail("step %d is closed before step %d has ended", n, u)
			}
		}
	}
}

// last holds what comes last to R10.
func (r *traced) last() {
	for n, s := range r.result.Steps {
		if s.Kind != Create || !r.objects[s.Object].Last {
			continue
		}
		for m, other := range r.result.Steps {
			of := &Object{}
			if other.Object >= 0 {
				of = &r.objects[other.Object]
			}
			switch {
			case other.Kind == Close || other.Kind == Gate || other.Kind == Restore || m == n:
			case other.Kind == Create && of.Last:
				if r.objects[s.Object].Evaluates && of.Reads && !r.after[n][m] {
					r.fail("step %d is evaluated before step %d is read", n, m)
				}
			case other.Kind == Open || other.Kind == Create && of.Opens: // maybe for what comes last too
			case !r.after[n][m]:
				r.fail("step %d comes before step %d has ended", n, m)
			}
		}
	}
}

// TestRuns has for some objects all that is run: objects by their letters, providers by
// their numbers.
func TestRuns(t *testing.T) {
	const a, b = 0, 1
	serves := func(p int, deps ...int) Object {
		return Object{Create: true, Opens: true, Serves: true, Stored: true, Provider: p, Config: deps}
	}
	opens := func(deps ...int) Object {
		return Object{Create: true, Opens: true, Configured: true, Stored: true, Provider: 1, Config: deps}
	}
	created := func(p int, deps ...int) Object {
		return Object{Create: true, Configured: true, Provider: p, Config: deps}
	}
	for name, test := range map[string]struct {
		objects []Object
		want    string
	}{
		"opened for who calls, closed after": {[]Object{created(1), created(1)}, `
0 open 1
1 create a 1 after 0
2 create b 1 after 0
3 close 1 after 0 1 2 always`},
		"what nobody calls stays closed": {[]Object{serves(2), opens(), {Create: true, Evaluates: true}}, `
0 create c`},
		"wanted for itself": {[]Object{{Create: true, Opens: true, Stored: true, Wanted: true, Provider: 1}}, `
0 open 1
1 create a 1 after 0
2 close a 1 after 0 1 takes 1 always
3 close 1 after 2 always`},
		"closed in reverse": {[]Object{opens(), opens(a), created(2, b)}, `
0 open 1
1 open 2
2 create a 1 after 0
3 create b 1 after 0 2
4 create c 2 after 1 3
5 close 2 after 1 4 always
6 close b 1 after 0 2 3 5 takes 3 always
7 close a 1 after 6 takes 2 always
8 close 1 after 6 7 always`},
		"put aside, provisioned": {[]Object{
			{Create: true, Delete: true, Configured: true, Stored: true, WantsCBD: true, Provider: 1, Provisions: true, Deprovisions: true},
			{Create: true, Configured: true, Stored: true, Config: []int{a}, State: []int{a}, Provider: 1},
		}, `
0 aside a
1 open 1
2 create a 1 after 0 1
3 restore a after 2 takes 0 2 on failure
4 provision a after 2 takes 2
5 create b 1 after 1 4
6 delete a 1 after 1 5
7 close 1 after 1 2 5 6 always`},
		"what comes last": {[]Object{
			created(1), {Create: true, Configured: true, Reads: true, Last: true, Provider: 2}, {Create: true, Evaluates: true, Last: true}, {Create: true, Evaluates: true},
		}, `
0 create d
1 open 1
2 open 2
3 create a 1 after 1
4 gate after 0 2 3 always
5 gate after 3
6 close 1 after 1 3 always
7 create b 2 after 2 4 5
8 create c after 4 5 7
9 close 2 after 2 7 always`},
		"a provider that needs what replaces the object that its own needed": {[]Object{
			{Create: true, Delete: true, Configured: true, Stored: true, Provider: 1}, serves(2, a),
			{Delete: true, Stored: true, State: []int{a}, Provider: 2, Config: []int{b}}, created(1, a),
		}, `
0 open 1
1 prepare a 1 after 0
2 delete a 1 after 0 1
3 create a 1 after 0 2 takes 1
4 create b 2 after 3
5 delete c 2 after 1 4
6 create d 1 after 0 3 5
7 close 2 after 4 5 always
8 close 1 after 0 1 2 3 6 always`},
		"a provider that needs what is updated when its own is gone": {[]Object{
			{Create: true, Configured: true, Stored: true, Provider: 1}, serves(2, a),
			{Delete: true, Stored: true, State: []int{a}, Provider: 2, Config: []int{b}}, created(1, a),
		}, `
0 open 1
1 create a 1 after 0
2 create b 2 after 1
3 create d 1 after 0 1
4 delete c 2 after 2
5 close 1 after 0 1 3 always
6 close 2 after 2 4 always`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := "\n" + printed(Decide(test.objects).Steps); got != test.want+"\n" {
				t.Errorf("got%s\nwant%s", got, test.want)
			}
		})
	}
}

var kindNames = [...]string{"create", "delete", "prepare", "gate", "open", "aside", "restore", "provision", "deprovision", "invoke", "close"}

func printed(steps []Step) string {
	var out strings.Builder
	for n, s := range steps {
		fmt.Fprint(&out, n, " ", kindNames[s.Kind])
		if s.Object >= 0 {
			fmt.Fprint(&out, " ", "abcdef"[s.Object:s.Object+1])
		}
		if s.Provider > 0 {
			fmt.Fprint(&out, " ", s.Provider)
		}
		for i, list := range [][]int{s.After, s.Takes} {
			if len(list) > 0 {
				fmt.Fprint(&out, [...]string{" after ", " takes "}[i], strings.Trim(fmt.Sprint(list), "[]"))
			}
		}
		out.WriteString([...]string{"", " always", " on failure"}[s.When] + "\n")
	}
	return out.String()
}
