package addr

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A glob is an address that names any number of things. In names "*" stands for any text, also
// for none; so it does in a key without quotes, as in [eu-*] and [*], the latter being all
// instances, also the one of a block that isn't repeated. Anything that is quoted means
// itself: a key may well have a star. "**." stands for any modules, also for none.
type glob struct {
	steps []globStep
	name  Name // of patterns; zero for a module with everything in it
	key   globKey
}

type globStep struct {
	deep bool // "**": nothing else is set
	call Call
	key  globKey
}

// A globKey is a key, a pattern for its text, or all of them: then it stands for
// every key, as it does where no key is written, which is the zero globKey.
type globKey struct {
	key     Key
	pattern string
	all     bool
}

func (k globKey) String() string {
	switch {
	case k.all:
		return "[*]"
	case k.pattern != "":
		return "[" + k.pattern + "]"
	}
	return k.key.String()
}

// fits reports whether a key is meant, and what stands for the stars.
func (k globKey) fits(key Key) ([]star, bool) {
	switch {
	case k.all:
		return []star{{key: key, text: key.bare()}}, true
	case k.pattern == "" && k.key == NoKey || key.IsAny():
		return nil, true
	case k.pattern == "":
		return nil, k.key == key
	case key == NoKey:
		return nil, false
	}
	texts, ok := wild(k.pattern, key.bare())
	return stars(texts, key), ok
}

// bare is the text of a key without brackets and quotes.
func (k Key) bare() string {
	if k.kind == intKey {
		return strconv.Itoa(k.n)
	}
	return k.s
}

// A star is what a star stands for in an address: a text, the key that it is or is a
// part of, or modules.
type star struct {
	text  string
	key   Key
	steps []Step
	deep  bool
}

func stars(texts []string, key Key) []star {
	list := make([]star, len(texts))
	for i, text := range texts {
		list[i] = star{text: text, key: key}
	}
	return list
}

// wild reports whether a text fits a pattern, and what stands for each star: the
// shortest text that fits, from the left.
func wild(pattern, text string) ([]string, bool) {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok || len(parts) == 1 {
		return nil, ok && rest == ""
	}
	var found []string
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return nil, false
		}
		found, rest = append(found, rest[:i]), rest[i+len(part):]
	}
	rest, ok = strings.CutSuffix(rest, parts[last])
	return append(found, rest), ok
}

// ParsePattern reads an address as ParseTarget does, or a pattern: see Target.IsPattern.
func ParsePattern(text string) (Target, error) {
	g, err := parseGlob(text)
	if err != nil || g == nil {
		t, strict := ParseTarget(text)
		if strict != nil && err != nil && strings.Contains(text, "*") {
			return t, err
		}
		return t, strict
	}
	return Target{Name: g.name, Key: g.key.key, HasKey: g.key.pattern != "" || g.key.key != NoKey, text: g.String(), glob: g}, nil
}

// IsPattern reports whether stars in the address stand for other texts, so that it
// names any number of things. Then Module isn't meaningful, and Name has the stars.
func (t Target) IsPattern() bool { return t.glob != nil }

// Picks reports whether a pattern chooses instances by their keys.
func (t Target) Picks() bool {
	return t.HasKey || slices.ContainsFunc(t.glob.steps, func(s globStep) bool { return !s.key.all && s.key != globKey{} })
}

// parseGlob reads a pattern; nil without an error for what isn't one.
func parseGlob(text string) (*glob, error) {
	p := &parser{text: text, wild: true}
	g, some := &glob{}, false
	for !p.done() {
		if p.accept("**.") {
			if n := len(g.steps); n > 0 && g.steps[n-1].deep {
				return nil, p.errorf(`"**" stands for any number of modules already`)
			}
			g.steps, some = append(g.steps, globStep{deep: true}), true
			continue
		}
		call, ok := p.kind()
		if !ok {
			break
		}
		var err error
		step := globStep{call: call}
		if step.call.Name, err = p.name(); err != nil {
			return nil, err
		}
		if step.key, err = p.globKey(); err != nil {
			return nil, err
		}
		some = some || strings.Contains(step.call.Name, "*") || step.key.all || step.key.pattern != ""
		g.steps = append(g.steps, step)
		if p.done() {
			return g.orNil(some), nil
		}
		if !p.accept(".") {
			return nil, p.errorf("a dot is expected at position %d", p.pos+1)
		}
	}
	switch {
	case p.accept("data."):
		g.name.Mode = Data
	case p.accept("ephemeral."):
		g.name.Mode = Ephemeral
	default:
		p.accept("resource.")
	}
	var err error
	if g.name.Type, err = p.name(); err != nil {
		return nil, err
	}
	if !p.accept(".") {
		return nil, p.errorf("a resource address is TYPE.NAME, with a dot between the two")
	}
	if g.name.Name, err = p.name(); err != nil {
		return nil, err
	}
	if g.key, err = p.globKey(); err != nil {
		return nil, err
	}
	if !p.done() {
		return nil, p.errorf("unexpected text %q after the resource", p.text[p.pos:])
	}
	return g.orNil(some || strings.Contains(g.name.Type+g.name.Name, "*") || g.key.all || g.key.pattern != ""), nil
}

func (g *glob) orNil(some bool) *glob {
	if !some {
		return nil
	}
	return g
}

// globKey reads an optional key of a pattern.
func (p *parser) globKey() (globKey, error) {
	if p.accept("[*]") {
		return globKey{all: true}, nil
	}
	rest := p.text[p.pos:]
	if end := strings.IndexByte(rest, ']'); end > 0 && rest[0] == '[' && rest[1] != '"' && strings.Contains(rest[:end], "*") {
		p.pos += end + 1
		return globKey{pattern: rest[1:end]}, nil
	}
	key, err := p.key()
	return globKey{key: key}, err
}

func (g *glob) String() string {
	var b strings.Builder
	for _, s := range g.steps {
		if s.deep {
			b.WriteString("**.")
		} else {
			b.WriteString(s.call.String() + s.key.String() + ".")
		}
	}
	if g.name == (Name{}) {
		return strings.TrimSuffix(b.String(), ".")
	}
	return b.String() + g.name.String() + g.key.String()
}

// A fit is how strictly an address is compared with a pattern.
type fit struct {
	anyKey bool // keys don't matter
	exact  bool // a module without a key is that instance alone
}

// match reports whether an instance is named, what the stars stand for, and for a
// module what follows its address.
func (g *glob) match(i Instance, how fit) (found []star, below []Step, ok bool) {
	if g.name != (Name{}) && g.name.Mode != i.Name.Mode {
		return nil, nil, false
	}
	found, below, ok = matchSteps(g.steps, i.Module.Steps(), g.name == Name{}, how)
	if !ok || g.name == (Name{}) {
		return found, below, ok
	}
	types, ok1 := wild(g.name.Type, i.Name.Type)
	names, ok2 := wild(g.name.Name, i.Name.Name)
	keys, ok3 := g.key.fits(i.Key)
	return slices.Concat(found, stars(types, NoKey), stars(names, NoKey), keys), nil, ok1 && ok2 && (ok3 || how.anyKey)
}

func matchSteps(pattern []globStep, steps []Step, below bool, how fit) (found []star, rest []Step, ok bool) {
	if len(pattern) == 0 {
		return nil, steps, below || len(steps) == 0
	}
	if pattern[0].deep {
		for n := range len(steps) + 1 {
			if found, rest, ok = matchSteps(pattern[1:], steps[n:], below, how); ok {
				return append([]star{{steps: steps[:n], deep: true}}, found...), rest, true
			}
		}
		return nil, nil, false
	}
	if len(steps) == 0 {
		return nil, nil, false
	}
	first, ok := pattern[0].fits(steps[0], how)
	if !ok {
		return nil, nil, false
	}
	found, rest, ok = matchSteps(pattern[1:], steps[1:], below, how)
	return append(first, found...), rest, ok
}

func (p globStep) fits(s Step, how fit) ([]star, bool) {
	if p.call.Kind != s.Kind {
		return nil, false
	}
	names, ok := wild(p.call.Name, s.Name)
	keys, right := p.key.fits(s.Key)
	if how.exact && p.key == (globKey{}) {
		right = s.Key == NoKey
	}
	return append(stars(names, NoKey), keys...), ok && (right || how.anyKey)
}

// reaches reports whether something at or below a module may be named.
func (g *glob) reaches(steps []Step) bool {
	for n, s := range steps {
		if n == len(g.steps) {
			return g.name == Name{}
		}
		if g.steps[n].deep {
			return true
		}
		if _, ok := g.steps[n].fits(s, fit{}); !ok {
			return false
		}
	}
	return true
}

// Names reports whether the target is or names a resource or some of its instances,
// whatever the keys.
func (t Target) Names(r Resource) bool {
	if t.glob != nil {
		_, _, ok := t.glob.match(r.Instance(NoKey), fit{anyKey: true})
		return ok
	}
	t.Module, t.HasKey = t.Module.Erase(), false
	return t.Matches(r.Erase().Instance(NoKey))
}

// Reaches reports whether the target may name something in an instance of a call.
func (t Target) Reaches(m Module) bool {
	steps := m.Steps()
	if t.glob != nil {
		return t.glob.reaches(steps)
	}
	own := t.Module.Steps()
	for n := range min(len(own), len(steps)) {
		a, b := own[n], steps[n]
		if a.Call != b.Call || a.Key != b.Key && a.Key != NoKey && !b.Key.IsAny() {
			return false
		}
	}
	return t.IsModule() || len(own) >= len(steps)
}

// Choices lists existing names where a target matches nothing, what is most like it
// first: the resources given, or where the target is a module, theirs.
func (t Target) Choices(of []Resource) string {
	var all []Resource
	for _, r := range of {
		r = r.Erase()
		if t.IsModule() {
			r.Name = Name{}
		}
		if !t.IsModule() || !r.Module.IsRoot() {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b Resource) int { return cmp.Or(t.likeness(b)-t.likeness(a), a.Compare(b)) })
	var list []string
	for _, r := range slices.Compact(all) {
		if t.IsModule() {
			list = append(list, r.Module.String())
		} else {
			list = append(list, r.String())
		}
	}
	const most = 10
	switch n := len(list); {
	case n == 0 && t.IsModule():
		return "There are no modules."
	case n == 0:
		return "There are no resources."
	case n > most:
		return fmt.Sprintf("There are %s and %d more.", strings.Join(list[:most], ", "), n-most)
	}
	return "There are " + strings.Join(list, ", ") + "."
}

// likeness counts the parts of an address that a resource has as they are named.
func (t Target) likeness(r Resource) int {
	n := 0
	for pattern, text := range map[string]string{t.Name.Type: r.Name.Type, t.Name.Name: r.Name.Name} {
		if _, ok := wild(pattern, text); ok && pattern != "*" {
			n++
		}
	}
	if t.Name.Mode == r.Name.Mode && n > 0 {
		n++
	}
	return n
}

// A Renaming gives what a pattern names other addresses: those that another pattern
// makes of what its stars stand for, in their order, or the same names in a module.
type Renaming struct {
	from, to *glob
	into     Module
	isInto   bool
}

// NewRenaming is the renaming from a pattern to a pattern with as many stars, or
// of resources to a module.
func NewRenaming(from, to Target) (Renaming, error) {
	r := Renaming{from: from.glob, to: to.glob}
	switch {
	case from.glob == nil:
		return r, fmt.Errorf("only a pattern can become a pattern, and there is no star in %s", from)
	case to.glob == nil && to.IsModule() && !from.IsModule():
		r.into, r.isInto = to.Module, true
		return r, nil
	case to.glob == nil:
		return r, fmt.Errorf("%s names any number of things, and %s is one: write a star where each of the source's stands, or for resources the module that they move to", from, to)
	case from.IsModule() != to.IsModule():
		return r, errors.New("both have to be modules, or both resources")
	}
	if a, b := from.glob.stars(), to.glob.stars(); a != b {
		return r, fmt.Errorf("the stars of %s replace those of %s, so both need the same number of each kind", from, to)
	}
	return r, nil
}

// stars has a letter for each star: what is put in place of one follows from that.
func (g *glob) stars() string {
	var b strings.Builder
	count := func(text string, k globKey) {
		b.WriteString(strings.Repeat("*", strings.Count(text, "*")+strings.Count(k.pattern, "*")))
		if k.all {
			b.WriteByte('*')
		}
	}
	for _, s := range g.steps {
		if s.deep {
			b.WriteByte('m')
		}
		count(s.call.Name, s.key)
	}
	count(g.name.Type+g.name.Name, g.key)
	return b.String()
}

// Of is the new address of an instance; ok is false for one that the renaming isn't
// about. The error is about names that can't be.
func (r Renaming) Of(i Instance) (to Instance, ok bool, err error) {
	found, below, ok := r.from.match(i, fit{exact: true})
	if !ok {
		return i, false, nil
	}
	if r.isInto {
		i.Module = r.into
		return i, true, nil
	}
	f := filler{found}
	var steps []Step
	for _, s := range r.to.steps {
		if s.deep {
			steps = append(steps, f.next().steps...)
			continue
		}
		name := f.text(s.call.Name)
		steps = append(steps, Step{Call{s.call.Kind, name}, f.key(s.key, NoKey)})
	}
	if r.to.name == (Name{}) {
		i.Module = FromSteps(append(steps, below...))
	} else {
		name := Name{Mode: r.to.name.Mode, Type: f.text(r.to.name.Type), Name: f.text(r.to.name.Name)}
		key := i.Key
		if r.from.key != (globKey{}) {
			key = NoKey
		}
		i = Resource{FromSteps(steps), name}.Instance(f.key(r.to.key, key))
	}
	t, err := ParseTarget(i.String())
	if err == nil && t.Instance() != i {
		err = fmt.Errorf("%s isn't an address", i)
	}
	return i, true, err
}

// A filler puts what stars stand for where other stars are.
type filler struct{ left []star }

func (f *filler) next() star {
	if len(f.left) == 0 { // of keys that aren't known, of which states have none
		return star{}
	}
	s := f.left[0]
	f.left = f.left[1:]
	return s
}

func (f *filler) text(pattern string) string {
	parts := strings.Split(pattern, "*")
	for n := range parts[1:] {
		parts[n] += f.next().text
	}
	return strings.Join(parts, "")
}

// key is the key that a pattern makes; without one it is the given.
func (f *filler) key(k globKey, without Key) Key {
	switch {
	case k.all:
		s := f.next()
		if s.key == NoKey && s.text != "" {
			return keyOf(s.text)
		}
		if s.key.bare() != s.text { // a part of it
			return StringKey(s.text)
		}
		return s.key
	case k.pattern != "":
		number := !slices.ContainsFunc(f.left[:min(len(f.left), strings.Count(k.pattern, "*"))], func(s star) bool { return s.key.kind == stringKey })
		text := f.text(k.pattern)
		if number {
			return keyOf(text)
		}
		return StringKey(text)
	case k.key != NoKey:
		return k.key
	}
	return without
}

// keyOf is the key that a text is: a number's or a text's.
func keyOf(text string) Key {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && strconv.Itoa(n) == text {
		return IntKey(n)
	}
	return StringKey(text)
}
