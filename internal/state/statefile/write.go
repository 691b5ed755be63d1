package statefile

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/state"
)

// Bytes is the file of a state, always the same bytes for the same state. Objects
// of ephemeral resources are left out. An error is about a value that can't be saved.
func Bytes(s *state.Snapshot) ([]byte, error) {
	p := &printer{}
	if err := p.snapshot(s); err != nil {
		return nil, err
	}
	p.out.WriteByte('\n')
	metrics.StateBytes.Add(p.out.Len())
	return p.out.Bytes(), nil
}

// Line is what Bytes gives, on one line and without its end.
func Line(s *state.Snapshot) ([]byte, error) {
	p := &printer{compact: true}
	if err := p.snapshot(s); err != nil {
		return nil, err
	}
	metrics.StateBytes.Add(p.out.Len())
	return p.out.Bytes(), nil
}

func (p *printer) snapshot(s *state.Snapshot) error {
	p.open('{')
	p.number("version", formatVersion)
	p.text("terraform_version", s.Version)
	p.number("serial", s.Serial)
	p.text("lineage", s.Lineage)
	if err := p.outputs(s.Outputs); err != nil {
		return err
	}
	p.member("resources")
	p.open('[')
	all := sorted(s)
	p.makeRoom(all, s)
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Resource == all[0].Resource {
			n++
		}
		p.element()
		if err := p.resource(all[:n], s); err != nil {
			return err
		}
		all = all[n:]
	}
	p.close(']')
	p.checks(s.Checks)
	if len(s.Memory) > 0 {
		if err := p.json("stack", s.Memory); err != nil {
			return err
		}
	}
	if s.Transfer != nil {
		text, err := transferJSON(s.Transfer)
		if err == nil {
			err = p.json("transfer", text)
		}
		if err != nil {
			return err
		}
	}
	p.close('}')
	return nil
}

// sorted lists the objects in the order of the format, which compares modules and
// modes as texts.
func sorted(s *state.Snapshot) []addr.Object {
	all := make([]addr.Object, 0, len(s.Objects))
	for at := range s.Objects {
		if at.Name.Mode != addr.Ephemeral {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, byText)
	return all
}

// So many objects in a row are printed at so many places to know how much room all take.
// Anything that is repeated, as in the instances of a module, is in each row several times.
const places, inRow = 16, 24

// makeRoom makes room for all objects: a buffer that doubles whenever it is full takes
// three times what is in it while it grows.
func (p *printer) makeRoom(all []addr.Object, s *state.Snapshot) {
	stride := len(all) / places
	if stride < 2*inRow {
		return
	}
	start, depth, some := p.out.Len(), p.depth, p.some
	for i := range places * inRow {
		place := i / inRow
		n := place*stride + place*place%inRow + i%inRow // the rows don't all begin alike
		p.depth = depth
		if n == 0 || all[n-1].Resource != all[n].Resource {
			_ = p.resource(all[n:n+1], s) // it is reported when it is printed for good
		} else {
			p.depth += 2
			_ = p.instance(all[n], s.Objects[all[n]], "")
		}
	}
	each := (p.out.Len() - start) / (places * inRow)
	p.out.Truncate(start)
	p.depth, p.some = depth, some
	p.out.Grow(each*len(all) + each*len(all)/16)
}

// byText is the order of the format.
func byText(a, b addr.Object) int {
	if a.Resource != b.Resource {
		if c := cmp.Compare(a.Module, b.Module); c != 0 {
			return c
		}
		if c := cmp.Compare(a.Name.Mode.String(), b.Name.Mode.String()); c != 0 {
			return c
		}
		if c := cmp.Compare(a.Name.Type, b.Name.Type); c != 0 {
			return c
		}
		return cmp.Compare(a.Name.Name, b.Name.Name)
	}
	if c := a.Key.Compare(b.Key); c != 0 {
		return c
	}
	return cmp.Compare(a.Deposed, b.Deposed)
}

// resource prints a resource with its instances. The provider stands on the
// resource unless it has instance keys. An instance that still belongs to
// another provider configuration than the first has its own beside that.
func (p *printer) resource(group []addr.Object, s *state.Snapshot) error {
	first := group[0]
	common := s.Objects[first].Provider
	keyed := false
	for _, at := range group {
		keyed = keyed || s.Objects[at].Provider.Key != addr.NoKey
	}
	p.open('{')
	if first.Module != addr.Root {
		p.text("module", first.Module.String())
	}
	p.text("mode", first.Name.Mode.String())
	p.text("type", first.Name.Type)
	p.text("name", first.Name.Name)
	if !keyed {
		p.text("provider", common.String())
	}
	p.member("instances")
	p.open('[')
	for _, at := range group {
		p.element()
		o := s.Objects[at]
		own := ""
		if keyed || o.Provider != common {
			own = o.Provider.String()
		}
		if err := p.instance(at, o, own); err != nil {
			return fmt.Errorf("%s can't be saved: %w", at, err)
		}
	}
	p.close(']')
	p.close('}')
	return nil
}

func (p *printer) instance(at addr.Object, o *state.Object, provider string) error {
	p.open('{')
	if n, ok := at.Key.Int(); ok {
		p.number("index_key", uint64(n)) // #nosec G115 -- keys aren't negative
	} else if text, ok := at.Key.Str(); ok {
		p.text("index_key", text)
	} else if at.Key.IsAny() {
		return fmt.Errorf("its instance key isn't known")
	}
	if o.Tainted {
		p.text("status", "tainted")
	}
	if at.Deposed != "" {
		p.text("deposed", at.Deposed)
	}
	if provider != "" {
		p.text("provider", provider)
	}
	p.number("schema_version", uint64(o.SchemaVersion)) // #nosec G115 -- versions aren't negative
	if len(o.JSON) > 0 {
		if err := p.json("attributes", o.JSON); err != nil {
			return err
		}
	}
	if len(o.Flat) > 0 {
		p.member("attributes_flat")
		p.open('{')
		for _, name := range slices.Sorted(maps.Keys(o.Flat)) {
			p.text(name, o.Flat[name])
		}
		p.close('}')
	}
	paths, err := value.PathsToJSON(o.Sensitive)
	if err != nil {
		return err
	}
	if err := p.json("sensitive_attributes", paths); err != nil {
		return err
	}
	if len(o.Private) > 0 {
		p.text("private", base64.StdEncoding.EncodeToString(o.Private))
	}
	var deps []string
	if len(o.Dependencies) > 0 {
		deps = make([]string, len(o.Dependencies))
		for i, d := range o.Dependencies {
			deps[i] = d.String()
		}
		slices.Sort(deps)
		p.texts("dependencies", deps)
	}
	if keys := dependencyKeys(o, deps); keys != nil {
		p.member(dependencyKeysMember)
		p.raw(string(keys))
	}
	for _, f := range o.Flags() {
		if *f.Set {
			p.member(f.Name)
			p.raw("true")
		}
	}
	if len(o.IdentityJSON) > 0 {
		if err := p.json("identity", o.IdentityJSON); err != nil {
			return err
		}
		p.number("identity_schema_version", uint64(o.IdentityVersion)) // #nosec G115 -- versions aren't negative
	}
	p.close('}')
	return nil
}

func (p *printer) outputs(outputs map[string]state.Output) error {
	p.member("outputs")
	p.open('{')
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[name]
		content, err := value.JSON(o.Value, o.Value.Type())
		if err != nil {
			return fmt.Errorf("output %q can't be saved: %w", name, err)
		}
		typ, err := ctyjson.MarshalType(o.Value.Type())
		if err != nil {
			return fmt.Errorf("the type of output %q can't be saved: %w", name, err)
		}
		p.member(name)
		p.open('{')
		if err := cmp.Or(p.json("value", content), p.json("type", typ)); err != nil {
			return fmt.Errorf("output %q can't be saved: %w", name, err)
		}
		if o.Sensitive {
			p.member("sensitive")
			p.raw("true")
		}
		if o.Deprecated != "" {
			p.text("deprecated", o.Deprecated)
		}
		p.close('}')
	}
	p.close('}')
	return nil
}

// A printer writes indented JSON in the style of the incumbents: two spaces,
// empty brackets closed at once, and <, > and & escaped.
type printer struct {
	out   bytes.Buffer
	depth int
	some  bool // the innermost bracket has something in it
	// compact leaves out all space.
	compact bool
}

const spaces = "                                "

func (p *printer) line() {
	if p.compact {
		return
	}
	p.out.WriteByte('\n')
	p.out.WriteString(spaces[:2*p.depth])
}

func (p *printer) open(c byte) {
	p.out.WriteByte(c)
	p.depth++
	p.some = false
}

func (p *printer) close(c byte) {
	p.depth--
	if p.some {
		p.line()
	}
	p.out.WriteByte(c)
	p.some = true
}

// element starts an element of an array.
func (p *printer) element() {
	if p.some {
		p.out.WriteByte(',')
	}
	p.line()
	p.some = true
}

func (p *printer) member(name string) {
	p.element()
	p.quote(name)
	p.out.WriteByte(':')
	if !p.compact {
		p.out.WriteByte(' ')
	}
}

func (p *printer) raw(text string) { p.out.WriteString(text) }

func (p *printer) text(name, value string) {
	p.member(name)
	p.quote(value)
}

func (p *printer) texts(name string, values []string) {
	p.member(name)
	p.open('[')
	for _, v := range values {
		p.element()
		p.quote(v)
	}
	p.close(']')
}

func (p *printer) number(name string, n uint64) {
	p.member(name)
	p.out.Write(strconv.AppendUint(p.out.AvailableBuffer(), n, 10))
}

// json prints a member whose value is JSON already.
func (p *printer) json(name string, text []byte) error {
	p.member(name)
	start := p.out.Len()
	var err error
	if p.compact {
		err = json.Compact(&p.out, text)
	} else {
		err = json.Indent(&p.out, text, spaces[:2*p.depth], "  ")
	}
	if err != nil {
		return fmt.Errorf("%q isn't valid JSON: %w", name, err)
	}
	written := p.out.Bytes()[start:]
	if needsEscape(written) {
		written = bytes.Clone(written)
		p.out.Truncate(start)
		json.HTMLEscape(&p.out, written)
	}
	return nil
}

// needsEscape finds characters that the incumbents escape in strings.
func needsEscape(text []byte) bool {
	return bytes.IndexByte(text, '<') >= 0 || bytes.IndexByte(text, '>') >= 0 ||
		bytes.IndexByte(text, '&') >= 0 || bytes.Contains(text, []byte("\u2028")) || bytes.Contains(text, []byte("\u2029"))
}

func (p *printer) quote(text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // texts can't fail
			p.out.Write(quoted)
			return
		}
	}
	p.out.WriteByte('"')
	p.out.WriteString(text)
	p.out.WriteByte('"')
}
