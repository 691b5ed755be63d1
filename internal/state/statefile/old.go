package statefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/state"
)

// Versions 1 to 3 of the format are those of Terraform 0.6 to 0.11: a list of modules with an
// entry for each instance, whose attributes are flat. All three have the same outline; what
// differs is said where it is read. Dependencies of resources are left out: those were addresses
// in a language of their own, and the next apply stores them again.

type oldFile struct {
	Writer  string      `json:"terraform_version"`
	Serial  int64       `json:"serial"`
	Lineage string      `json:"lineage"`
	Modules []oldModule `json:"modules"`
}

type oldModule struct {
	Path      []string                   `json:"path"`
	Outputs   map[string]json.RawMessage `json:"outputs"`
	Resources map[string]oldResource     `json:"resources"`
}

type oldResource struct {
	Provider string         `json:"provider"`
	Primary  *oldInstance   `json:"primary"`
	Deposed  []*oldInstance `json:"deposed"`
	Tainted  []*oldInstance `json:"tainted"` // version 1
}

type oldInstance struct {
	ID         string                     `json:"id"`
	Attributes map[string]string          `json:"attributes"`
	Meta       map[string]json.RawMessage `json:"meta"`
	Tainted    bool                       `json:"tainted"` // from version 2 on
}

type oldOutput struct {
	Sensitive bool            `json:"sensitive"`
	Value     json.RawMessage `json:"value"`
}

// An oldReader brings one state of format version 1, 2 or 3 to the present form.
type oldReader struct {
	*reader
	version int
}

// file reads all of it. The text is known to be JSON.
func (r oldReader) file() {
	// A new snapshot: the other reader may have got some way.
	r.out, r.diags = state.Empty(), nil
	var f oldFile
	if err := json.Unmarshal(r.src, &f); err != nil {
		what := err.Error()
		var shape *json.UnmarshalTypeError
		if errors.As(err, &shape) {
			what = fmt.Sprintf("%q can't be a JSON %s", shape.Field, shape.Value)
		}
		r.diags.Add(Invalid.As(invalidFormat).New(diag.Error, "%s is not a valid state of format version %d: %s. Put an intact copy in its place, such as the backup beside it.", r.name, r.version, what))
		return
	}
	if f.Serial < 0 {
		r.problem("the serial %d is less than zero", f.Serial)
		return
	}
	if f.Modules == nil {
		r.problem("\"modules\" is missing, which every version writes, so the file was damaged or edited")
		return
	}
	r.out.Serial = uint64(f.Serial)
	r.out.Version = "0.0.0"
	if r.version > 1 {
		r.out.Lineage = f.Lineage
		if f.Writer != "" {
			r.out.Version = f.Writer
		}
	}
	for _, m := range f.Modules {
		r.module(m)
	}
}

// problem reports what can't be brought to the present form.
func (r oldReader) problem(format string, args ...any) {
	r.diags.Add(Invalid.As(upgradeFailed).New(diag.Error, "%s has format version %d and can't be brought to version %d: %s. Correct it with the version that wrote it, or in a copy of the file.", r.name, r.version, formatVersion, fmt.Sprintf(format, args...)))
}

func (r oldReader) module(m oldModule) {
	if len(m.Path) == 0 && r.version == 1 {
		m.Path = []string{"root"}
	}
	if len(m.Path) == 0 || m.Path[0] != "root" {
		r.problem("a module has the path %q, which doesn't begin with \"root\"", m.Path)
		return
	}
	if m.Resources == nil {
		r.problem("\"resources\" is missing in the module %q, which every version writes, so the file was damaged or edited", m.Path)
		return
	}
	at := addr.Root
	for _, call := range m.Path[1:] {
		if !validName(call) {
			r.problem("%q in the path %q of a module is not an identifier", call, m.Path)
			return
		}
		at = at.Child(addr.Call{Name: call}, addr.NoKey)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Resources)) {
		r.resource(at, name, m.Resources[name])
	}
	if !at.IsRoot() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.Outputs)) {
		if err := r.output(name, m.Outputs[name]); err != nil {
			r.problem("the value of output %q is not readable: %s", name, err)
		}
	}
}

// output reads an output: in version 1 its text, later an object with a value and
// the kind of it, which says less than the value does.
func (r oldReader) output(name string, src json.RawMessage) error {
	old := oldOutput{Value: src}
	if r.version > 1 {
		old.Value = nil
		if err := json.Unmarshal(src, &old); err != nil {
			return errors.New("an object with a value is expected")
		}
	} else {
		var text string
		if err := json.Unmarshal(src, &text); err != nil {
			return errors.New("a text is expected")
		}
		old.Value, _ = json.Marshal(text) // null was an empty text
	}
	if old.Value == nil {
		old.Value = json.RawMessage("null")
	}
	typ, err := ctyjson.ImpliedType(old.Value)
	if err != nil {
		return err
	}
	v, err := value.FromJSON(old.Value, collection(typ))
	if err != nil {
		return err
	}
	r.out.Outputs[name] = state.Output{Value: v, Sensitive: old.Sensitive}
	return nil
}

// collection makes a list or a map of a tuple or an object whose elements have
// one type: in those days there was nothing else.
func collection(typ cty.Type) cty.Type {
	var elements []cty.Type
	switch {
	case typ.IsTupleType():
		elements = typ.TupleElementTypes()
	case typ.IsObjectType():
		elements = slices.Collect(maps.Values(typ.AttributeTypes()))
	}
	if len(elements) == 0 {
		return typ
	}
	for _, other := range elements[1:] {
		if !other.Equals(elements[0]) {
			return typ
		}
	}
	if typ.IsTupleType() {
		return cty.List(collection(elements[0]))
	}
	return cty.Map(collection(elements[0]))
}

func (r oldReader) resource(m addr.Module, text string, old oldResource) {
	at, err := oldInstanceAddress(m, text)
	if err != nil {
		r.problem("%q is not the address of an instance: %s", text, err)
		return
	}
	config, err := r.provider(at, old.Provider)
	if err != nil {
		hint := ""
		if strings.Contains(old.Provider, "${") {
			hint = " (a template was never possible there: give the alias a plain name)"
		}
		r.problem("%s has the provider %q, which can't be understood%s: %s", at, old.Provider, hint, err)
		return
	}
	if old.Primary != nil {
		r.object(addr.Object{Instance: at}, config, old.Primary)
	}
	for i, o := range old.Deposed {
		if o != nil {
			r.object(addr.Object{Instance: at, Deposed: fmt.Sprintf("%08x", i+1)}, config, o)
		}
	}
	if r.version > 1 {
		return
	}
	for _, o := range old.Tainted {
		if o != nil {
			r.diags.Add(Invalid.As(lostTainted).New(diag.Warning, "%s has a tainted object of %s with the id %q in a list that only format version 1 had. It is left out: if it still exists, destroy it by other means.", r.name, at, o.ID))
		}
	}
}

// oldInstanceAddress reads TYPE.NAME, TYPE.NAME.INDEX, and both after "data.".
func oldInstanceAddress(m addr.Module, text string) (addr.Instance, error) {
	r := addr.Resource{Module: m, Name: addr.Name{Mode: addr.Managed}}
	parts := strings.Split(text, ".")
	if len(parts) > 2 && parts[0] == "data" {
		r.Name.Mode, parts = addr.Data, parts[1:]
	}
	if len(parts) < 2 || len(parts) > 3 {
		return addr.Instance{}, errors.New("a type, a name and at most an index are expected")
	}
	r.Name.Type, r.Name.Name = parts[0], parts[1]
	if !validName(r.Name.Type) || !validName(r.Name.Name) {
		return addr.Instance{}, errors.New("the type and the name have to be identifiers")
	}
	if len(parts) == 2 {
		return r.Instance(addr.NoKey), nil
	}
	n, err := strconv.ParseInt(parts[2], 0, 64)
	if err != nil || n < 0 || n > 1<<53 {
		return addr.Instance{}, fmt.Errorf("%q is not an index", parts[2])
	}
	return r.Instance(addr.IntKey(int(n))), nil
}

// provider reads the reference to a provider configuration: an absolute one, one
// within the module, or nothing for what the type begins with.
func (r oldReader) provider(at addr.Instance, text string) (addr.ProviderConfig, error) {
	if !strings.Contains(text, "provider.") {
		if text == "" {
			text = addr.ImpliedProvider(at.Name.Type)
		}
		text = "provider." + text
		if !at.Module.IsRoot() {
			text = at.Module.String() + "." + text
		}
	}
	c, err := r.parseProvider(text)
	if err == nil && c.Key != addr.NoKey {
		err = errors.New("an index has no place in it")
	}
	return c, err
}

func (r oldReader) object(at addr.Object, config addr.ProviderConfig, old *oldInstance) {
	if r.out.Objects[at] != nil {
		r.diags.Add(Invalid.As(duplicateInstance).New(diag.Error, "%s has %s more than once. Remove all but one of the copies.", r.name, at))
		return
	}
	o := &state.Object{Provider: config, Tainted: old.Tainted && r.version > 1}
	r.out.Objects[at] = o
	o.Flat = maps.Clone(old.Attributes)
	if old.ID != "" && o.Flat["id"] == "" {
		if o.Flat == nil {
			o.Flat = map[string]string{}
		}
		o.Flat["id"] = old.ID
	}
	if r.version < 3 {
		nameCounts(o.Flat)
	}
	if len(o.Flat) == 0 {
		o.JSON, o.Flat = []byte("{}"), nil
	}
	private := maps.Clone(old.Meta)
	if n, ok := oldSchemaVersion(private["schema_version"]); ok {
		o.SchemaVersion = n
		delete(private, "schema_version")
	}
	if len(private) > 0 {
		o.Private, _ = json.Marshal(private) // it was JSON before
	}
}

// oldSchemaVersion reads what the SDK of providers kept among the meta data, as a text or a
// number. Anything that isn't a version is the provider's own.
func oldSchemaVersion(src json.RawMessage) (int64, bool) {
	var text string
	if json.Unmarshal(src, &text) != nil {
		text = string(src)
	}
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err == nil // #nosec G115 -- 63 bits
}

// nameCounts brings flat attributes of versions 1 and 2 to version 3. The number of elements
// of every collection stood under PATH.#; since version 3 that of a map stands under PATH.%. A
// map shows by a key that isn't a number. The count of an empty collection goes, as nothing
// reports what it is.
func nameCounts(attributes map[string]string) {
	var prefixes []string
	for name := range attributes {
		if prefix, ok := strings.CutSuffix(name, "#"); ok && strings.HasSuffix(prefix, ".") {
			prefixes = append(prefixes, prefix)
		}
	}
	slices.Sort(prefixes) // what holds others goes first
	for _, prefix := range prefixes {
		count := prefix + "#"
		elements, isMap := false, false
		for name := range attributes {
			rest, ok := strings.CutPrefix(name, prefix)
			if !ok || rest == "#" {
				continue
			}
			key, _, _ := strings.Cut(rest, ".")
			_, err := strconv.Atoi(key)
			elements, isMap = true, isMap || err != nil
		}
		if isMap {
			attributes[prefix+"%"] = attributes[count]
		}
		if isMap || !elements {
			delete(attributes, count)
		}
	}
}
