// Package impact decides which blocks of a root module an edit may affect, by a record of an
// earlier plan.
//
// It owns the record and the decision, both functions of texts, names and hashes. It doesn't
// read files or plan; doubt means everything.
package impact

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/incremental/freshness"
	"weir.dev/weir/internal/incremental/sourceblocks"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

// A Record is what the pieces of a root module came to. It isn't changed, but for what it keeps of
// its last use.
type Record struct {
	// Under is from what else they came to it, as a hash.
	Under string
	// at is when they were planned.
	at    time.Time
	files []filed
	bySum map[sum]*unit
	// heads are the sums of first cuts of pieces that have several.
	heads map[sum]int
	index func() *index

	mu     sync.Mutex
	ledger *ledger // the last one; nil before
}

// A filed is a file as it was, with its pieces in order.
type filed struct {
	name  string
	sum   sum
	units []*unit
}

// A unit is what is known of a piece.
type unit struct {
	sourceblocks.Facts
	sum  sum
	head sum // that of the first of several cuts
	cuts int
	// settled: nothing was to be done with what it declares, and nothing was to be said of it.
	settled bool
	// depends are the names that its objects depend on by the state.
	depends []string
	// looked is of when and how its objects were inspected.
	looked sum
	// inside is of what is behind the call that it has; zero where the result of that doesn't
	// follow from the call and only that.
	inside sum
}

// call is the module call that a unit has, empty for none and for several.
func (u *unit) call() (name string, has bool) {
	for _, declared := range u.Declares {
		if called, ok := strings.CutPrefix(declared, "module."); ok {
			if has {
				return "", true
			}
			name, has = called, true
		}
	}
	return name, has
}

// isOpen reports whether a unit has to be planned whatever else is as it was.
func (u *unit) isOpen() bool {
	_, calls := u.call()
	return u.Open || !u.settled || calls && u.inside == sum{}
}

// An index finds the units of a record.
type index struct {
	units    int // in all files
	declared map[string]*unit
	in       map[*unit]string // the file that has it last
	readers  map[string][]*unit
	open     []*unit
	base     []*unit
	calls    []*unit
}

func (r *Record) makeIndex() *index {
	x := &index{declared: make(map[string]*unit, len(r.bySum)), in: make(map[*unit]string, len(r.bySum)), readers: make(map[string][]*unit, len(r.bySum))}
	for i := range r.files {
		x.units += len(r.files[i].units)
		for _, u := range r.files[i].units {
			if _, twice := x.in[u]; !twice {
				x.add(u)
			}
			x.in[u] = r.files[i].name
		}
	}
	return x
}

func (x *index) add(u *unit) {
	for _, name := range u.Declares {
		x.declared[name] = u
	}
	for _, names := range [][]string{u.Refers, u.depends} {
		for _, name := range names {
			x.readers[name] = append(x.readers[name], u)
		}
	}
	if u.isOpen() {
		x.open = append(x.open, u)
	}
	if u.Base {
		x.base = append(x.base, u)
	}
	if _, calls := u.call(); calls {
		x.calls = append(x.calls, u)
	}
}

// unit is that of the piece that begins with a cut; nil where none can be read alone. It isn't
// in the record if it is new.
func (r *Record) unit(f *File, at int) (u *unit, known bool) {
	first, cuts := f.sums[at], f.cuts[at:]
	if r != nil {
		if u := r.bySum[first]; u != nil {
			return u, true
		}
		if n := r.heads[first]; n > 1 && n <= len(cuts) {
			if u := r.bySum[f.sumOf(at, n)]; u != nil {
				return u, true
			}
		}
	}
	n, facts := sourceblocks.Next(cuts)
	if n == 0 {
		return nil, false
	}
	u = &unit{Facts: facts, sum: first, cuts: n}
	if n > 1 {
		u.head, u.sum = first, f.sumOf(at, n)
	}
	return u, false
}

// each gives the units of a file with the place of each among its cuts, until no unit can be
// read or use says no. It reports whether it came to the end.
func (r *Record) each(f *File, use func(cut int, u *unit, known bool) bool) bool {
	f.cut()
	for at := 0; at < len(f.cuts); {
		u, known := r.unit(f, at)
		if u == nil || !use(at, u, known) {
			return false
		}
		at += u.cuts
	}
	return true
}

// Made is what a plan of everything was, for the record.
type Made struct {
	Plan    *plan.Plan
	State   *state.Snapshot // that was planned for
	Diags   diag.List       // of loading and planning
	Looks   *freshness.Looks
	Sources map[string]*Source // by the call
	At      time.Time
}

// New is the record after a plan, nil where nothing can be known from it. Data of an earlier record isn't read again; it may be nil.
func New(before *Record, under string, files []*File, m Made) *Record {
	told, ok := toldIn(m.Diags)
	if !ok || m.Plan.Errored || m.Diags.HasErrors() || len(m.Plan.Invocations)+len(m.Plan.Deferred)+len(m.Plan.DeferredInvocations) > 0 {
		return nil
	}
	busy := busyIn(m.Plan)
	looked, depends, doubtful := objects(m)
	r := newRecord(under, m.At, 0)
	for _, f := range files {
		w := pieced{file: f}
		if !before.each(f, func(cut int, u *unit, _ bool) bool {
			w.parts = append(w.parts, part{u, cut})
			return true
		}) {
			return nil
		}
		into := filed{name: f.Name, sum: f.sum}
		w.each(func(u *unit, begin, end int) {
			next := *u
			next.settled, next.depends, next.looked, next.inside = !told.within(f.Name, begin, end), nil, sum{}, sum{}
			for _, name := range u.Declares {
				if busy[name] || doubtful[name] {
					next.settled = false
				}
				next.depends = append(next.depends, depends[name]...)
				next.looked.mix(looked[name])
			}
			slices.Sort(next.depends)
			next.depends = slices.Compact(next.depends)
			if call, calls := u.call(); calls {
				if source := m.Sources[call]; source != nil && (u.inside == source.sum || source.isClosed()) {
					next.inside = source.sum
				}
			}
			into.units = append(into.units, r.add(&next))
		})
		r.files = append(r.files, into)
	}
	return r
}

func newRecord(under string, at time.Time, units int) *Record {
	r := &Record{Under: under, at: at.UTC().Truncate(time.Second), bySum: make(map[sum]*unit, units), heads: map[sum]int{}}
	r.index = sync.OnceValue(r.makeIndex)
	return r
}

// add gives the unit of that text: another, where a piece that declares nothing is there twice.
func (r *Record) add(u *unit) *unit {
	if other := r.bySum[u.sum]; other != nil {
		return other
	}
	r.bySum[u.sum] = u
	if u.cuts > 1 {
		r.heads[u.head] = u.cuts
	}
	return u
}

// lines are the lines of files that something was said of.
type lines map[string][]int

// toldIn are those of some problems, unless one isn't about any.
func toldIn(diags diag.List) (lines, bool) {
	told := lines{}
	for _, d := range diags {
		if d.Subject == nil {
			return nil, false
		}
		told[d.Subject.Filename] = append(told[d.Subject.Filename], d.Subject.Start.Line)
	}
	return told, true
}

// within reports whether something was said of what begins on one line and ends before another.
func (l lines) within(file string, begin, end int) bool {
	return slices.ContainsFunc(l[file], func(line int) bool { return begin <= line && line < end })
}

// name is what a resource is called in the root module: the call, where it is in another.
func name(r addr.Resource) string {
	if r.Module.IsRoot() {
		return r.Name.String()
	}
	return "module." + r.Module.Steps()[0].Call.Name
}

// busyIn are the names that something is to be done with.
func busyIn(p *plan.Plan) map[string]bool {
	busy := map[string]bool{}
	for _, c := range p.Changes {
		if c.Action != plan.NoOp || c.Moved() || c.Importing != nil || c.Addr.Deposed != "" {
			busy[name(c.Addr.Resource)] = true
		}
	}
	for _, c := range p.Drift {
		busy[name(c.Addr.Resource)] = true
	}
	for _, o := range p.Outputs {
		if o.Action != plan.NoOp {
			busy["output."+o.Name] = true
		}
	}
	return busy
}

// objects are those of the state by name: how they were inspected, what they depend on, and
// whether that isn't known.
func objects(m Made) (looked map[string]sum, depends map[string][]string, doubtful map[string]bool) {
	looked, depends, doubtful = map[string]sum{}, map[string][]string{}, map[string]bool{}
	for at, o := range m.State.Objects {
		called := name(at.Resource)
		_, what, _ := m.Looks.Seen(at, o)
		if what == "" || at.Deposed != "" || at.Name.Mode != addr.Managed || o.Tainted {
			doubtful[called] = true
			continue
		}
		all := looked[called]
		all.add(at, what)
		looked[called] = all
		for _, d := range o.Dependencies {
			if on := name(d); on != called {
				depends[called] = append(depends[called], on)
			}
		}
	}
	return looked, depends, doubtful
}

// add adds an object as it was inspected.
func (s *sum) add(at addr.Object, what string) {
	s.mix(sumOf([]byte(at.String() + " " + what)))
}

// The form of a record: a line that says from what it is and when that was, and for each file a
// line with its sum and name and one for each unit.
const form = "weir affected 2 "

// Text is what Parse reads.
func (r *Record) Text() []byte {
	var b bytes.Buffer
	b.WriteString(form + r.Under + " " + r.at.Format(time.RFC3339) + "\n")
	for _, f := range r.files {
		b.WriteString(f.sum.text() + "\t" + strconv.Quote(f.name) + "\n")
		for _, u := range f.units {
			flags := 0
			for i, on := range []bool{u.settled, u.Open, u.Base, u.Settings} {
				if on {
					flags |= 1 << i
				}
			}
			fields := []string{u.sum.text(), u.head.text(), u.looked.text(), u.inside.text(), strconv.Itoa(u.cuts), strconv.Itoa(flags),
				strings.Join(u.Declares, " "), strings.Join(u.Refers, " "), strings.Join(u.depends, " ")}
			b.WriteString(strings.Join(fields, "\t") + "\n")
		}
	}
	return b.Bytes()
}

// Parse reads a record, nil where a text isn't one.
func Parse(text []byte) *Record {
	head, rest, ok := strings.Cut(string(text), "\n")
	from, is := strings.CutPrefix(head, form)
	under, when, has := strings.Cut(from, " ")
	at, err := time.Parse(time.RFC3339, when)
	if !ok || !is || !has || err != nil {
		return nil
	}
	r := newRecord(under, at, strings.Count(rest, "\n"))
	for line := range strings.Lines(rest) {
		line, whole := strings.CutSuffix(line, "\n")
		fields := strings.SplitN(line, "\t", 10)
		switch {
		case whole && len(fields) == 2:
			var f filed
			if f.name, err = strconv.Unquote(fields[1]); err != nil || !f.sum.parse(fields[0]) {
				return nil
			}
			r.files = append(r.files, f)
		case whole && len(fields) == 9 && len(r.files) > 0:
			u := parse(fields)
			if u == nil {
				return nil
			}
			f := &r.files[len(r.files)-1]
			f.units = append(f.units, r.add(u))
		default:
			return nil
		}
	}
	return r
}

func parse(fields []string) *unit {
	u := &unit{}
	cuts, err := strconv.Atoi(fields[4])
	flags, bad := strconv.Atoi(fields[5])
	if err != nil || bad != nil || cuts < 1 || !u.sum.parse(fields[0]) || !u.head.parse(fields[1]) || !u.looked.parse(fields[2]) || !u.inside.parse(fields[3]) {
		return nil
	}
	u.cuts = cuts
	for i, on := range []*bool{&u.settled, &u.Open, &u.Base, &u.Settings} {
		*on = flags&(1<<i) != 0
	}
	for i, names := range []*[]string{&u.Declares, &u.Refers, &u.depends} {
		if fields[6+i] != "" {
			*names = strings.Split(fields[6+i], " ")
		}
	}
	return u
}
