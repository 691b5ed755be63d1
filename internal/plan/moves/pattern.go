package moves

import (
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
)

// A pattern is what one end of a statement matches: an absolute address with
// AnyKey where the key doesn't matter. Without a name it is a module.
type pattern struct {
	steps []addr.Step
	name  addr.Name
	key   addr.Key
}

func newPattern(declaring []addr.Step, e program.Endpoint, whole bool) pattern {
	p := pattern{steps: slices.Concat(declaring, e.Module.Steps()), name: e.Name, key: e.Key}
	if whole {
		if p.isModule() {
			p.steps[len(p.steps)-1].Key = addr.AnyKey
		} else {
			p.key = addr.AnyKey
		}
	}
	return p
}

func (p pattern) isModule() bool { return p.name == addr.Name{} }

// isCall reports whether p is a module call with all its instances.
func (p pattern) isCall() bool {
	return p.isModule() && p.steps[len(p.steps)-1].Key.IsAny()
}

// String is the pattern as an address, with [*] for any key.
func (p pattern) String() string {
	m := addr.FromSteps(p.steps)
	if p.isModule() {
		return m.String()
	}
	return addr.Resource{Module: m, Name: p.name}.Instance(p.key).String()
}

func (p pattern) equal(o pattern) bool {
	return p.name == o.name && p.key == o.key && slices.Equal(p.steps, o.steps)
}

// erased is the pattern without keys: what it has in common with all that it
// can match.
func (p pattern) erased() string {
	var b strings.Builder
	for _, s := range p.steps {
		b.WriteString(s.Call.String())
		b.WriteByte('.')
	}
	if !p.isModule() {
		b.WriteString(p.name.String())
	}
	return b.String()
}

// mask reports the places of any keys.
func (p pattern) mask() string {
	var b strings.Builder
	for _, k := range p.keys() {
		if k.IsAny() {
			b.WriteByte('*')
		} else {
			b.WriteByte('.')
		}
	}
	return b.String()
}

func (p pattern) keys() []addr.Key {
	keys := make([]addr.Key, 0, len(p.steps)+1)
	for _, s := range p.steps {
		keys = append(keys, s.Key)
	}
	if !p.isModule() {
		keys = append(keys, p.key)
	}
	return keys
}

// keyText writes the keys outside of the mask.
func (p pattern) keyText(mask string) string {
	var b strings.Builder
	for i, k := range p.keys() {
		if mask[i] != '*' {
			b.WriteString(k.String())
		}
		b.WriteByte('/')
	}
	return b.String()
}

// union is a mask of the places that either mask has.
func union(a, b string) string {
	out := []byte(a)
	for i := range b {
		if b[i] == '*' {
			out[i] = '*'
		}
	}
	return string(out)
}

// module is the pattern of the module with the first n steps.
func (p pattern) module(n int) pattern { return pattern{steps: p.steps[:n]} }

// exactly is the pattern that matches one instance.
func exactly(i addr.Instance) pattern {
	return pattern{steps: i.Module.Steps(), name: i.Name, key: i.Key}
}

// rewrite replaces in an address what one end of the statement matches with
// what the other end names. The address must match.
func (s *statement) rewrite(at addr.Instance, match, with pattern) addr.Instance {
	steps := at.Module.Steps()
	out := slices.Concat(steps[:s.depth], with.steps[s.depth:])
	if with.isModule() {
		if s.whole {
			out[len(out)-1].Key = steps[len(match.steps)-1].Key
		}
		out = append(out, steps[len(match.steps):]...)
		return addr.Resource{Module: addr.FromSteps(out), Name: at.Name}.Instance(at.Key)
	}
	key := with.key
	if s.whole {
		key = at.Key
	}
	return addr.Resource{Module: addr.FromSteps(out), Name: with.name}.Instance(key)
}

// An index finds statements by the pattern at one of their ends, without
// looking at others: first by names, then by keys for each set of places
// whose keys count.
type index struct {
	buckets map[string]*bucket
}

type bucket struct {
	masks []string
	byKey map[string][]entry // by mask
	// views has the entries of a mask by the text of their keys outside of a
	// wider mask.
	views map[[2]string]map[string][]int
}

type entry struct {
	pattern
	id int
}

func newIndex() *index { return &index{buckets: make(map[string]*bucket)} }

func (x *index) add(p pattern, id int) {
	name := p.erased()
	b := x.buckets[name]
	if b == nil {
		b = &bucket{byKey: make(map[string][]entry), views: make(map[[2]string]map[string][]int)}
		x.buckets[name] = b
	}
	mask := p.mask()
	if b.byKey[mask] == nil {
		b.masks = append(b.masks, mask)
	}
	b.byKey[mask] = append(b.byKey[mask], entry{p, id})
}

// overlapping lists the statements whose pattern can match what p matches, at
// the same level: modules with modules, resources with resources.
func (x *index) overlapping(p pattern) []int {
	b := x.buckets[p.erased()]
	if b == nil {
		return nil
	}
	var found []int
	own := p.mask()
	for _, mask := range b.masks {
		wide := union(mask, own)
		view := b.views[[2]string{mask, wide}]
		if view == nil {
			view = make(map[string][]int)
			for _, e := range b.byKey[mask] {
				text := e.keyText(wide)
				view[text] = append(view[text], e.id)
			}
			b.views[[2]string{mask, wide}] = view
		}
		found = append(found, view[p.keyText(wide)]...)
	}
	return found
}

// way names what a pattern with that mask matches.
func (p pattern) way(mask string) string {
	return p.erased() + " " + mask + " " + p.keyText(mask)
}

// ways names the patterns by which the index may find the instance.
func (x *index) ways(i addr.Instance) []string {
	var all []string
	p := exactly(i)
	add := func(p pattern) {
		if b := x.buckets[p.erased()]; b != nil {
			for _, mask := range b.masks {
				all = append(all, p.way(mask))
			}
		}
	}
	add(p)
	for n := 1; n <= len(p.steps); n++ {
		add(p.module(n))
	}
	return all
}
