package addr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A parser reads addresses from left to right.
type parser struct {
	text string
	pos  int
	wild bool // names may have stars
}

func (p *parser) done() bool { return p.pos >= len(p.text) }

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("invalid address %q: %s", p.text, fmt.Sprintf(format, args...))
}

// name reads an identifier.
func (p *parser) name() (string, error) {
	start := p.pos
	for i, r := range p.text[start:] {
		if unicode.IsLetter(r) || r == '_' || i > 0 && (unicode.IsDigit(r) || r == '-') || p.wild && r == '*' {
			p.pos = start + i + len(string(r))
			continue
		}
		break
	}
	if p.pos == start {
		return "", p.errorf("a name is expected at position %d", start+1)
	}
	return p.text[start:p.pos], nil
}

func (p *parser) accept(s string) bool {
	if strings.HasPrefix(p.text[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

// key reads an optional instance key.
func (p *parser) key() (Key, error) {
	if !p.accept("[") {
		return NoKey, nil
	}
	if p.accept("*]") {
		return AnyKey, nil
	}
	if p.pos < len(p.text) && p.text[p.pos] == '"' {
		s, err := p.quoted()
		if err != nil {
			return NoKey, err
		}
		if !p.accept("]") {
			return NoKey, p.errorf("a closing bracket is missing")
		}
		return StringKey(s), nil
	}
	end := strings.IndexByte(p.text[p.pos:], ']')
	if end < 0 {
		return NoKey, p.errorf("a closing bracket is missing")
	}
	n, err := strconv.Atoi(p.text[p.pos : p.pos+end])
	if err != nil || n < 0 {
		return NoKey, p.errorf("an instance key must be a quoted string or a whole number")
	}
	p.pos += end + 1
	return IntKey(n), nil
}

// quoted reads a quoted string as Quote writes it.
func (p *parser) quoted() (string, error) {
	plain := p.text[p.pos+1:]
	if end := strings.IndexAny(plain, "\"\\$%"); end >= 0 && plain[end] == '"' {
		p.pos += end + 2
		return plain[:end], nil
	}
	var b strings.Builder
	for i := p.pos + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			return b.String(), nil
		case (c == '$' || c == '%') && i+2 < len(p.text) && p.text[i+1] == c && p.text[i+2] == '{':
			b.WriteByte(c)
			i++
		case c == '\\' && i+1 < len(p.text):
			i++
			switch p.text[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case 'u':
				if i+4 >= len(p.text) {
					return "", p.errorf("an escape sequence is cut off")
				}
				n, err := strconv.ParseUint(p.text[i+1:i+5], 16, 32)
				if err != nil {
					return "", p.errorf("a bad escape sequence")
				}
				b.WriteRune(rune(n)) // #nosec G115 -- 16 bits
				i += 4
			default:
				b.WriteByte(p.text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", p.errorf("a closing quote is missing")
}

// parseSteps reads leading module calls and returns what follows them. whole
// says that nothing may follow: what could be a component or a resource is then
// a component.
func parseSteps(text string, whole bool) ([]Step, string, error) {
	p := &parser{text: text}
	var steps []Step
	for {
		step, ok, err := p.step(whole)
		if err != nil {
			return nil, "", err
		}
		if !ok {
			return steps, p.text[p.pos:], nil
		}
		steps = append(steps, step)
	}
}

// step reads a module step and the dot behind it; ok is false when none
// follows.
func (p *parser) step(whole bool) (_ Step, ok bool, err error) {
	start := p.pos
	call, ok := p.kind()
	if !ok {
		return Step{}, false, nil
	}
	if call.Name, err = p.name(); err != nil {
		return Step{}, false, err
	}
	key, err := p.key()
	if err != nil {
		return Step{}, false, err
	}
	if call.Kind != ModuleCall && p.done() && !whole {
		p.pos = start
		return Step{}, false, nil
	}
	if !p.done() && !p.accept(".") {
		return Step{}, false, p.errorf("a dot is expected at position %d", p.pos+1)
	}
	return Step{call, key}, true, nil
}

// kind reads the kind of a call and the dot behind it.
func (p *parser) kind() (Call, bool) {
	for k, text := range kindTexts {
		if rest, ok := strings.CutPrefix(p.text[p.pos:], text); ok && strings.HasPrefix(rest, ".") {
			p.pos += len(text) + 1
			return Call{Kind: Kind(k)}, true
		}
	}
	return Call{}, false
}

// ParseModule reads the address of a module instance.
func ParseModule(text string) (Module, error) {
	steps, rest, err := parseSteps(text, true)
	if err != nil {
		return Root, err
	}
	if rest != "" {
		return Root, fmt.Errorf("%q is not the address of a module", text)
	}
	return FromSteps(steps), nil
}

// A Target is the address that -target and state commands take: a module
// instance with everything in it, a resource with all its instances, or one
// instance.
type Target struct {
	Module Module
	// Name is the zero Name for a whole module.
	Name Name
	// Key is meaningful when HasKey: then only that instance is meant.
	Key    Key
	HasKey bool
	text   string
	glob   *glob
}

// Target is what names the instance, and nothing else.
func (i Instance) Target() Target {
	return Target{Module: i.Module, Name: i.Name, Key: i.Key, HasKey: true, text: i.String()}
}

// String is the address as it was written, in canonical form.
func (t Target) String() string { return t.text }

// IsModule reports whether the target is a whole module.
func (t Target) IsModule() bool { return t.Name == Name{} }

// Instance is the instance that the target names, where it names one; a
// resource without a key is its only instance.
func (t Target) Instance() Instance { return Resource{t.Module, t.Name}.Instance(t.Key) }

// Kind is the word for what the target names.
func (t Target) Kind() string {
	switch {
	case t.IsModule():
		return "module"
	case t.HasKey && t.glob == nil:
		return "resource instance"
	}
	return "resource"
}

// Matches reports whether the target selects the instance. A step without a
// key selects all instances of its module call.
func (t Target) Matches(i Instance) bool {
	if t.glob != nil {
		_, _, ok := t.glob.match(i, fit{})
		return ok
	}
	if !moduleMatches(t.Module, i.Module, t.IsModule()) {
		return false
	}
	if t.IsModule() {
		return true
	}
	return t.Name == i.Name && (!t.HasKey || t.Key == i.Key || i.Key.IsAny())
}

// Wanted reports whether targets and exclusions, by themselves, let an instance
// be dealt with.
func Wanted(targets, excludes []Target, i Instance) bool {
	matches := func(t Target) bool { return t.Matches(i) }
	return !slices.ContainsFunc(excludes, matches) && (len(targets) == 0 || slices.ContainsFunc(targets, matches))
}

// moduleMatches reports whether module instance m is selected by pattern p,
// or lies below it when below is set.
func moduleMatches(p, m Module, below bool) bool {
	if p == Root {
		return below || m == Root
	}
	if p == m {
		return true
	}
	ps, ms := p.Steps(), m.Steps()
	if len(ps) > len(ms) || !below && len(ps) != len(ms) {
		return false
	}
	for i, s := range ps {
		if s.Call != ms[i].Call || s.Key != NoKey && s.Key != ms[i].Key && !ms[i].Key.IsAny() {
			return false
		}
	}
	return true
}

// ParseTarget reads the address of a module, component, stack, resource or resource
// instance. An address that could be a component or a resource is the component; the resource is
// then written with "resource." before its type.
func ParseTarget(text string) (Target, error) { return parseTarget(text, true) }

func parseTarget(text string, whole bool) (Target, error) {
	steps, rest, err := parseSteps(text, whole)
	if err != nil {
		return Target{}, err
	}
	t := Target{Module: FromSteps(steps), text: text}
	if rest == "" {
		if len(steps) == 0 {
			return Target{}, fmt.Errorf("an address is missing")
		}
		t.text = t.Module.String()
		return t, nil
	}
	p := &parser{text: rest}
	switch {
	case p.accept("data."):
		t.Name.Mode = Data
	case p.accept("ephemeral."):
		t.Name.Mode = Ephemeral
	case isLong(rest) && p.accept("action."):
		t.Name.Mode = Action
	case isLong(rest) && p.accept("list."):
		t.Name.Mode = List
	default:
		p.accept("resource.")
	}
	if t.Name.Type, err = p.name(); err != nil {
		return Target{}, err
	}
	if !p.accept(".") {
		return Target{}, p.errorf("a resource address is TYPE.NAME, with a dot between the two")
	}
	if t.Name.Name, err = p.name(); err != nil {
		return Target{}, err
	}
	hasKey := !p.done()
	if t.Key, err = p.key(); err != nil {
		return Target{}, err
	}
	if !p.done() {
		return Target{}, p.errorf("unexpected text %q after the resource", p.text[p.pos:])
	}
	t.HasKey = hasKey && !t.Key.IsAny()
	name := t.Name.String()
	if kind, call := ParseKind(t.Name.Type); call && kind != ModuleCall && t.Name.Mode == Managed {
		name = "resource." + name
	}
	t.text = t.Module.prefix() + name + t.Key.String()
	return t, nil
}

// isLong reports whether there are two names behind the first: no resource has
// such an address, so that one whose type is called action or list isn't meant.
func isLong(text string) bool {
	if i := strings.IndexByte(text, '['); i >= 0 {
		text = text[:i]
	}
	return strings.Count(text, ".") == 2
}

// ParseInstance reads the address of one resource instance.
func ParseInstance(text string) (Instance, error) {
	t, err := parseTarget(text, false)
	if err != nil {
		return Instance{}, err
	}
	if t.IsModule() {
		return Instance{}, fmt.Errorf("%q is a module; the address of a resource instance is needed", text)
	}
	return t.Instance(), nil
}

// ParseMember reads the address of something that a module has beside resources, such
// as module.a.output.b: the module, what it is, and its name.
func ParseMember(text string) (m Module, kind, name string, err error) {
	steps, rest, err := parseSteps(text, false)
	if err != nil {
		return Root, "", "", err
	}
	p := &parser{text: rest}
	if kind, err = p.name(); err != nil {
		return Root, "", "", err
	}
	if !p.accept(".") {
		return Root, "", "", p.errorf("a dot is expected at position %d", p.pos+1)
	}
	if name, err = p.name(); err == nil && !p.done() {
		err = p.errorf("unexpected text %q after the name", p.text[p.pos:])
	}
	return FromSteps(steps), kind, name, err
}

// WithoutKey is a path as InstancePath writes it without its last key: the call that
// has the instance.
func WithoutKey(path string) string {
	p := &parser{text: path}
	for {
		if _, err := p.name(); err != nil {
			return path
		}
		end := p.pos
		if _, err := p.key(); err != nil {
			return path
		}
		if p.done() {
			return path[:end]
		}
		if !p.accept(".") {
			return path
		}
	}
}

// ParseProviderConfig reads the form of state files, see ProviderConfig.
func ParseProviderConfig(text string) (ProviderConfig, error) {
	steps, rest, err := parseSteps(text, false)
	if err != nil {
		return ProviderConfig{}, err
	}
	c := ProviderConfig{Module: FromSteps(steps)}
	p := &parser{text: rest}
	if !p.accept("provider[") || p.done() || p.text[p.pos] != '"' {
		// The form of states before version 0.13: provider.name.
		if p.accept("provider.") {
			name, err := p.name()
			if err != nil {
				return c, err
			}
			c.Provider = OpenTofu.Provider(name)
			return c.parseAlias(p)
		}
		return c, p.errorf(`provider["HOST/NAMESPACE/TYPE"] is expected`)
	}
	source, err := p.quoted()
	if err != nil {
		return c, err
	}
	if !p.accept("]") {
		return c, p.errorf("a closing bracket is missing")
	}
	if c.Provider, err = OpenTofu.ParseProvider(source); err != nil {
		return c, err
	}
	return c.parseAlias(p)
}

func (c ProviderConfig) parseAlias(p *parser) (ProviderConfig, error) {
	var err error
	if p.accept(".") {
		if c.Alias, err = p.name(); err != nil {
			return c, err
		}
	}
	if c.Key, err = p.key(); err != nil {
		return c, err
	}
	if !p.done() {
		return c, p.errorf("unexpected text %q", p.text[p.pos:])
	}
	return c, nil
}
