// Package jsonstate writes states as JSON, the form of `show -json`. Plans use its parts too:
// resources grouped by module, outputs, and results of checks.
//
// It owns that format. It rejects the format of state files (package statefile) and never
// upgrades an object: one that doesn't fit the schema at hand is shown as it was stored.
package jsonstate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
)

// FormatVersion is the version of the format.
const FormatVersion = "1.0"

// Values are the outputs and objects of a plan.
type Values struct {
	Outputs map[string]Output `json:"outputs,omitempty"`
	Root    Module[*Resource] `json:"root_module"`
}

// An Output is the value of a root output. Value and Type are absent when the
// value isn't known.
type Output struct {
	Sensitive  bool            `json:"sensitive"`
	Deprecated string          `json:"deprecated,omitempty"`
	Type       json.RawMessage `json:"type,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"`
}

// A Module has the objects of a module instance.
type Module[R any] struct {
	Resources []R          `json:"resources,omitempty"`
	Address   string       `json:"address,omitempty"`
	Children  []*Module[R] `json:"child_modules,omitempty"`
}

// A Resource is one object of a resource instance.
type Resource struct {
	Address         string          `json:"address"`
	Mode            string          `json:"mode"`
	Type            string          `json:"type"`
	Name            string          `json:"name"`
	Index           json.RawMessage `json:"index,omitempty"`
	Provider        string          `json:"provider_name"`
	SchemaVersion   int64           `json:"schema_version"`
	Values          json.RawMessage `json:"values,omitempty"`
	Sensitive       json.RawMessage `json:"sensitive_values,omitempty"`
	DependsOn       []string        `json:"depends_on,omitempty"`
	Tainted         bool            `json:"tainted,omitempty"`
	Deposed         string          `json:"deposed_key,omitempty"`
	Identity        json.RawMessage `json:"identity,omitempty"`
	IdentityVersion *int64          `json:"identity_schema_version,omitempty"`
}

// Schema finds the schema of a resource type, or nil.
func Schema(schemas map[addr.Provider]*provider.Schemas, p addr.Provider, n addr.Name) *schema.Schema {
	if all := schemas[p]; all != nil {
		return all.Resource(n.Mode, n.Type)
	}
	return nil
}

// Cover marks texts of the provider that repeat a sensitive value of the same object, and
// returns where they are: views hide them as well.
func Cover(v cty.Value, s *schema.Schema) (cty.Value, []cty.Path) {
	hide := &secret.Known{}
	hide.AddMarked(v)
	return hide.MarkRepeated(v, s.Decides)
}

// Outputs converts root outputs.
func Outputs(all map[string]state.Output) (map[string]Output, error) {
	out := make(map[string]Output, len(all))
	for name, o := range all {
		converted, err := OutputOf(o.Value, o.Sensitive)
		if err != nil {
			return nil, err
		}
		converted.Deprecated = o.Deprecated
		out[name] = converted
	}
	return out, nil
}

// OutputOf converts the value of an output, which may be marked or unknown.
func OutputOf(v cty.Value, sensitive bool) (Output, error) {
	out := Output{Sensitive: sensitive}
	v, _ = v.UnmarkDeep()
	if v == cty.NilVal || !v.IsWhollyKnown() {
		return out, nil
	}
	var err error
	if out.Type, err = ctyjson.MarshalType(v.Type()); err != nil {
		return out, err
	}
	out.Value, err = value.JSON(v, v.Type())
	return out, err
}

// Describe fills in what an address says of an object.
func Describe(a addr.Object, p addr.Provider) *Resource {
	return &Resource{
		Address: a.Instance.String(), Mode: a.Name.Mode.String(), Type: a.Name.Type, Name: a.Name.Name,
		Index: Index(a.Key), Provider: p.String(), Deposed: a.Deposed,
	}
}

// Index is an instance key as JSON, nil for none and for unknown keys.
func Index(k addr.Key) json.RawMessage {
	var raw []byte
	if n, ok := k.Int(); ok {
		raw, _ = json.Marshal(n)
	} else if s, ok := k.Str(); ok {
		raw, _ = json.Marshal(s)
	}
	return raw
}

func object(a addr.Object, o *state.Object, s *schema.Schema) (*Resource, error) {
	r := Describe(a, o.Provider.Provider)
	r.SchemaVersion, r.Tainted = o.SchemaVersion, o.Tainted
	for _, d := range o.Dependencies {
		r.DependsOn = append(r.DependsOn, d.String())
	}
	slices.Sort(r.DependsOn) // as text, like OpenTofu and Terraform
	if len(o.IdentityJSON) > 0 && string(o.IdentityJSON) != "null" {
		version := o.IdentityVersion
		r.Identity, r.IdentityVersion = o.IdentityJSON, &version
	}
	v, err := Decode(o, s)
	if err != nil {
		return nil, err
	}
	v, _ = Cover(v, s)
	return r, r.Fill(v)
}

// Fill sets the values from an object with marks at its sensitive parts.
func (r *Resource) Fill(v cty.Value) error {
	values, err := value.After(v)
	if err != nil {
		return err
	}
	r.Sensitive = value.SensitiveMask(v, nil)
	if bare, _ := v.Unmark(); !bare.IsNull() && string(values) != "{}" {
		r.Values = values
	}
	return nil
}

// Decode reads a stored object and marks what is sensitive by the state or the
// schema. An object that doesn't fit the schema, or has none, gets the type
// that its JSON suggests.
func Decode(o *state.Object, s *schema.Schema) (cty.Value, error) {
	v, err := decode(o, s)
	if err != nil {
		return cty.NilVal, err
	}
	return Mark(v, s, o.Sensitive), nil
}

// Mark marks what is sensitive in a value by the schema, which may be nil, or
// by the given paths.
func Mark(v cty.Value, s *schema.Schema, paths []cty.Path) cty.Value {
	if s != nil && s.Block != nil {
		paths = append(slices.Clip(paths), s.Block.SensitivePaths(v)...)
	}
	if len(paths) == 0 {
		return v
	}
	marks := make([]cty.PathValueMarks, len(paths))
	for i, path := range paths {
		marks[i] = cty.PathValueMarks{Path: path, Marks: cty.NewValueMarks(value.Sensitive)}
	}
	return value.MarkPaths(v, marks)
}

func decode(o *state.Object, s *schema.Schema) (cty.Value, error) {
	if len(o.JSON) == 0 {
		if s != nil && s.Block != nil {
			if v, err := fromFlat(o.Flat, s.Block.ImpliedType()); err == nil {
				return v, nil
			}
		}
		attributes := make(map[string]cty.Value, len(o.Flat))
		for name, text := range o.Flat {
			attributes[name] = cty.StringVal(text)
		}
		return cty.ObjectVal(attributes), nil
	}
	if s != nil && s.Block != nil {
		if v, err := value.FromJSON(o.JSON, s.Block.ImpliedType()); err == nil {
			return v, nil
		}
	}
	ty, err := ctyjson.ImpliedType(o.JSON)
	if err != nil {
		return cty.NilVal, err
	}
	return value.FromJSON(o.JSON, ty)
}

// A Tree groups resources by module.
type Tree[R any] struct {
	modules map[addr.Module]*Module[R]
}

// NewTree makes a tree with an empty root.
func NewTree[R any]() *Tree[R] { return &Tree[R]{map[addr.Module]*Module[R]{addr.Root: {}}} }

// Add puts a resource in its module. Resources keep the order they come in.
func (t *Tree[R]) Add(m addr.Module, r R) {
	module := t.module(m)
	module.Resources = append(module.Resources, r)
}

func (t *Tree[R]) module(m addr.Module) *Module[R] {
	if found := t.modules[m]; found != nil {
		return found
	}
	module := &Module[R]{Address: m.String()}
	t.modules[m] = module
	parent, _, _ := m.Parent()
	above := t.module(parent)
	above.Children = append(above.Children, module)
	return module
}

// Root returns the root module, with all children in order of address.
func (t *Tree[R]) Root() *Module[R] {
	for _, m := range t.modules {
		slices.SortFunc(m.Children, func(a, b *Module[R]) int { return strings.Compare(a.Address, b.Address) })
	}
	return t.modules[addr.Root]
}

// Sort puts the resources of each module in order of their addresses as text.
func Sort(t *Tree[*Resource]) {
	for _, m := range t.modules {
		slices.SortStableFunc(m.Resources, func(a, b *Resource) int { return strings.Compare(a.Address, b.Address) })
	}
}
