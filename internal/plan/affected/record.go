// Package affected says which pieces of a root module an edit may affect, by a record of what
// its pieces came to in an earlier plan.
//
// It owns the record and the decision, both functions of texts, names and hashes. It refuses
// to read files and to plan; doubt means everything.
package affected

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/lang/pieces"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/looks"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
)

// A Record is what the pieces of a root module came to.
type Record struct {
	// Under is from what else they came to it, as a hash.
	Under string
	units []*unit
	bySum map[sum]*unit
	// heads are the sums of first cuts of pieces that have several.
	heads map[sum]int
}

// A unit is what is known of a piece.
type unit struct {
	pieces.Facts
	sum  sum
	head sum // that of the first of several cuts
	cuts int
	// settled: nothing was to be done with what it declares, and nothing was to be said of it.
	settled bool
	// depends are the names that its objects depend on by the state.
	depends []string
	// looked is of when and how its objects were looked at.
	looked sum
}

// sum is of a text, or of several in no order.
type sum [18]byte

func sumOf(text []byte) (s sum) {
	whole := sha256.Sum256(text)
	copy(s[:], whole[:])
	return s
}

// add adds an object as it was looked at.
func (s *sum) add(at addr.Object, what string) {
	s.mix(sumOf([]byte(at.String() + " " + what)))
}

func (s *sum) mix(other sum) {
	for i := range s {
		s[i] ^= other[i]
	}
}

// A File is a file of the root module, cut.
type File struct {
	Name string
	Cuts [][]byte
	sums []sum // of the cuts, each as the first of a piece
}

// NewFile cuts a file.
func NewFile(name string, text []byte) File {
	f := File{Name: name, Cuts: syntax.Cut(text)}
	f.sums = make([]sum, len(f.Cuts))
	for i := range f.Cuts {
		f.sums[i] = f.sum(i, 1)
	}
	return f
}

// sum is of some cuts.
func (f *File) sum(at, n int) sum {
	return sumOf(append([]byte(f.kind()), pieces.Join(f.Cuts[at:at+n])...))
}

// kind tells texts apart that mean something else in files of another kind.
func (f *File) kind() string {
	if strings.HasSuffix(f.Name, ".tofu") {
		return "tofu"
	}
	return "tf"
}

// own is the type of the resources that may be left out, whose provider is the engine's.
const own = "terraform_data"

// unit is that of the piece that begins with a cut; nil where none can be read alone. It isn't
// in the record if it is new.
func (r *Record) unit(f *File, at int) (u *unit, known bool) {
	first, cuts := f.sums[at], f.Cuts[at:]
	if r != nil {
		if u := r.bySum[first]; u != nil {
			return u, true
		}
		if n := r.heads[first]; n > 1 && n <= len(cuts) {
			if u := r.bySum[f.sum(at, n)]; u != nil {
				return u, true
			}
		}
	}
	n, facts := pieces.Next(cuts)
	if n == 0 {
		return nil, false
	}
	u = &unit{Facts: facts, sum: first, cuts: n}
	if n > 1 {
		u.head, u.sum = first, f.sum(at, n)
	}
	return u, false
}

// each gives the units of files with the place of each among the cuts of its file, until no
// unit can be read or use says no. It reports whether it came to the end.
func (r *Record) each(files []File, use func(f, cut int, u *unit, known bool) bool) bool {
	for i := range files {
		for at := 0; at < len(files[i].Cuts); {
			u, known := r.unit(&files[i], at)
			if u == nil || !use(i, at, u, known) {
				return false
			}
			at += u.cuts
		}
	}
	return true
}

// Made is what a plan of everything was, for the record.
type Made struct {
	Plan  *plan.Plan
	State *state.Snapshot // that was planned for
	Diags diag.List       // of loading and planning
	Looks *looks.Looks
}

// New is the record after a plan, nil where nothing can be told from it. What an earlier one
// knows isn't read again; it may be nil.
func New(before *Record, under string, files []File, m Made) *Record {
	if m.Plan.Errored || m.Diags.HasErrors() || len(m.Plan.Invocations)+len(m.Plan.Deferred)+len(m.Plan.DeferredInvocations) > 0 {
		return nil
	}
	told := map[string][]int{} // where something was said, by file
	for _, d := range m.Diags {
		if d.Subject == nil {
			return nil
		}
		told[d.Subject.Filename] = append(told[d.Subject.Filename], d.Subject.Start.Byte)
	}
	busy := busyIn(m.Plan)
	looked, depends, doubtful := objects(m)
	r := &Record{Under: under, bySum: map[sum]*unit{}, heads: map[sum]int{}}
	at, inFile := 0, -1
	whole := before.each(files, func(f, cut int, u *unit, _ bool) bool {
		if f != inFile {
			at, inFile = 0, f
		}
		next := *u
		next.settled, next.depends, next.looked = true, nil, sum{}
		begin := at
		for _, c := range files[f].Cuts[cut : cut+u.cuts] {
			at += len(c)
		}
		if slices.ContainsFunc(told[files[f].Name], func(b int) bool { return begin <= b && b < at }) {
			next.settled = false
		}
		for _, name := range u.Declares {
			if busy[name] || doubtful[name] {
				next.settled = false
			}
			next.depends = append(next.depends, depends[name]...)
			next.looked.mix(looked[name])
		}
		slices.Sort(next.depends)
		next.depends = slices.Compact(next.depends)
		r.add(&next)
		return true
	})
	if !whole {
		return nil
	}
	return r
}

func (r *Record) add(u *unit) {
	if r.bySum[u.sum] != nil {
		return // of a piece that declares nothing, or else there are errors
	}
	r.units = append(r.units, u)
	r.bySum[u.sum] = u
	if u.cuts > 1 {
		r.heads[u.head] = u.cuts
	}
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
		if c.Action != plan.NoOp || c.Moved() || c.Importing != nil || c.Addr.Deposed != "" || !c.Provider.Provider.IsBuiltin() {
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

// objects are those of the state that may be left out, by name: how they were looked at, what
// they depend on, and whether that isn't known.
func objects(m Made) (looked map[string]sum, depends map[string][]string, doubtful map[string]bool) {
	looked, depends, doubtful = map[string]sum{}, map[string][]string{}, map[string]bool{}
	for at, o := range m.State.Objects {
		if !isOwn(at) {
			continue
		}
		called := name(at.Resource)
		_, what, _ := m.Looks.Seen(at, o)
		if what == "" || at.Deposed != "" || o.Tainted {
			doubtful[called] = true
			continue
		}
		all := looked[called]
		all.add(at, what)
		looked[called] = all
		for _, d := range o.Dependencies {
			depends[called] = append(depends[called], name(d))
		}
	}
	return looked, depends, doubtful
}

func isOwn(at addr.Object) bool {
	return at.Module.IsRoot() && at.Name.Mode == addr.Managed && at.Name.Type == own
}

// The form of a record: a line that says from what it is, and one for each unit.
const form = "weir affected 1 "

// Text is what Parse reads.
func (r *Record) Text() []byte {
	var b bytes.Buffer
	b.WriteString(form + r.Under + "\n")
	for _, u := range r.units {
		flags := 0
		for i, on := range []bool{u.settled, u.Open, u.Base, u.Settings} {
			if on {
				flags |= 1 << i
			}
		}
		fields := []string{u.sum.text(), u.head.text(), u.looked.text(), strconv.Itoa(u.cuts), strconv.Itoa(flags),
			strings.Join(u.Declares, " "), strings.Join(u.Refers, " "), strings.Join(u.depends, " ")}
		b.WriteString(strings.Join(fields, "\t") + "\n")
	}
	return b.Bytes()
}

// Parse reads a record, nil where a text isn't one.
func Parse(text []byte) *Record {
	head, rest, ok := strings.Cut(string(text), "\n")
	under, is := strings.CutPrefix(head, form)
	if !ok || !is {
		return nil
	}
	r := &Record{Under: under, bySum: make(map[sum]*unit, strings.Count(rest, "\n")), heads: map[sum]int{}}
	for line := range strings.Lines(rest) {
		u := parse(line)
		if u == nil {
			return nil
		}
		r.add(u)
	}
	return r
}

func parse(line string) *unit {
	line, ok := strings.CutSuffix(line, "\n")
	fields := strings.SplitN(line, "\t", 9)
	if !ok || len(fields) != 8 {
		return nil
	}
	u := &unit{}
	cuts, err := strconv.Atoi(fields[3])
	flags, bad := strconv.Atoi(fields[4])
	if err != nil || bad != nil || cuts < 1 || !u.sum.parse(fields[0]) || !u.head.parse(fields[1]) || !u.looked.parse(fields[2]) {
		return nil
	}
	u.cuts = cuts
	for i, on := range []*bool{&u.settled, &u.Open, &u.Base, &u.Settings} {
		*on = flags&(1<<i) != 0
	}
	for i, names := range []*[]string{&u.Declares, &u.Refers, &u.depends} {
		if fields[5+i] != "" {
			*names = strings.Split(fields[5+i], " ")
		}
	}
	return u
}

func (s sum) text() string {
	if s == (sum{}) {
		return ""
	}
	return base64.RawStdEncoding.EncodeToString(s[:])
}

func (s *sum) parse(text string) bool {
	if text == "" {
		return true
	}
	n, err := base64.RawStdEncoding.Decode(s[:], []byte(text))
	return err == nil && n == len(s) && len(text) == base64.RawStdEncoding.EncodedLen(len(s))
}
