package jsonplan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/jsonschema"
	"weir.dev/weir/internal/ui/view/jsonstate"
)

// Read reads the changes of a plan in JSON, for code that shows them. Services such as HCP Terraform
// add the schemas of providers. Without them, values have the types that their texts imply. The
// rest of a plan, such as its states and steps, isn't read.
func Read(data []byte) (*plan.Plan, error) {
	var doc struct {
		Drift           []*ResourceChange  `json:"resource_drift"`
		ResourceChanges []*ResourceChange  `json:"resource_changes"`
		OutputChanges   map[string]*Change `json:"output_changes"`
		Relevant        []attribute        `json:"relevant_attributes"`
		Errored         bool               `json:"errored"`
		Schemas         json.RawMessage    `json:"provider_schemas"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	p := &plan.Plan{Errored: doc.Errored}
	var err error
	if p.Changes, err = readChanges(doc.ResourceChanges); err != nil {
		return nil, err
	}
	if p.Drift, err = readChanges(doc.Drift); err != nil {
		return nil, err
	}
	if p.Schemas, err = jsonschema.Read(doc.Schemas); err != nil {
		return nil, err
	}
	typed(p)
	for _, name := range slices.Sorted(maps.Keys(doc.OutputChanges)) {
		from := doc.OutputChanges[name]
		o := &plan.OutputChange{Name: name}
		if o.Action, err = readAction(from.Actions); err == nil {
			o.Before, o.After, err = from.read()
		}
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		o.BeforeSensitive, o.Sensitive = value.IsSensitive(o.Before), value.IsSensitive(o.After)
		p.Outputs = append(p.Outputs, o)
	}
	for _, r := range doc.Relevant {
		at, err := addr.ParseInstance(r.Resource)
		if err != nil {
			return nil, err
		}
		path, err := readPath(r.Attribute)
		if err != nil {
			return nil, err
		}
		p.Relevant = append(p.Relevant, plan.Attribute{Resource: at, Path: path})
	}
	return p, nil
}

// typed converts the values to the types of their schemas. A schema that doesn't fit all objects of
// its type is removed.
func typed(p *plan.Plan) {
	all := append(slices.Clone(p.Changes), p.Drift...)
	schemaOf := func(c *plan.Change) *schema.Schema {
		return jsonstate.Schema(p.Schemas, c.Provider.Provider, c.Addr.Name)
	}
	type sides struct{ before, after cty.Value }
	converted := map[*plan.Change]sides{}
	for _, c := range all {
		s := schemaOf(c)
		if s == nil {
			continue
		}
		before, err := value.Convert(c.Before, s.Block.ImpliedType())
		var after cty.Value
		if err == nil {
			after, err = value.Convert(c.After, s.Block.ImpliedType())
		}
		if err != nil {
			types := p.Schemas[c.Provider.Provider]
			delete(types.Resources, c.Addr.Name.Type)
			delete(types.DataSources, c.Addr.Name.Type)
		}
		converted[c] = sides{before, after}
	}
	for _, c := range all {
		s := schemaOf(c)
		if s == nil {
			continue
		}
		c.Before, c.After = converted[c].before, converted[c].after
		for i, path := range c.ReplacePaths {
			c.ReplacePaths[i] = typedPath(path, s.Block.ImpliedType())
		}
	}
}

// typedPath has the keys of maps as such.
func typedPath(path cty.Path, ty cty.Type) cty.Path {
	var out cty.Path
	for _, step := range path {
		name, named := step.(cty.GetAttrStep)
		switch {
		case named && ty.IsObjectType() && ty.HasAttribute(name.Name):
			ty = ty.AttributeType(name.Name)
		case ty.IsCollectionType():
			if ty = ty.ElementType(); named {
				step = cty.IndexStep{Key: cty.StringVal(name.Name)}
			}
		default:
			ty = cty.DynamicPseudoType
		}
		out = append(out, step)
	}
	return out
}

func readChanges(list []*ResourceChange) ([]*plan.Change, error) {
	var out []*plan.Change
	for _, from := range list {
		c, err := from.read()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from.Address, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func (r *ResourceChange) read() (*plan.Change, error) {
	if r.Change == nil {
		return nil, fmt.Errorf("it has no change")
	}
	at, err := addr.ParseInstance(r.Address)
	if err != nil {
		return nil, err
	}
	c := &plan.Change{Addr: addr.Object{Instance: at, Deposed: r.Deposed}, Reason: r.Reason, GeneratedConfig: r.Change.GeneratedConfig}
	if r.Previous != "" {
		from, err := addr.ParseInstance(r.Previous)
		if err != nil {
			return nil, err
		}
		c.From = &from
	}
	source, err := addr.Registry("").ParseProvider(r.Provider)
	if err != nil {
		return nil, err
	}
	c.Provider = &addr.ProviderConfig{Provider: source}
	if c.Action, err = readAction(r.Change.Actions); err != nil {
		return nil, err
	}
	if c.Before, c.After, err = r.Change.read(); err != nil {
		return nil, err
	}
	if i := r.Change.Importing; i != nil {
		c.Importing = &plan.Importing{ID: i.ID, Unknown: i.Unknown}
		if len(i.Identity) > 0 {
			if c.Importing.Identity, err = readValue(i.Identity, nil, nil); err != nil {
				return nil, err
			}
		}
	}
	var paths []json.RawMessage
	if len(r.Change.ReplacePaths) > 0 {
		if err := json.Unmarshal(r.Change.ReplacePaths, &paths); err != nil {
			return nil, err
		}
	}
	for _, raw := range paths {
		path, err := readPath(raw)
		if err != nil {
			return nil, err
		}
		c.ReplacePaths = append(c.ReplacePaths, path)
	}
	return c, nil
}

func readAction(list []string) (plan.Action, error) {
	for a := plan.NoOp; a <= plan.ForgetThenCreate; a++ {
		if slices.Equal(actions(a), list) {
			return a, nil
		}
	}
	if slices.Equal(list, []string{"create", "forget"}) {
		return plan.ForgetThenCreate, nil
	}
	return 0, fmt.Errorf("the actions %q are unknown", list)
}

func (c *Change) read() (before, after cty.Value, err error) {
	if before, err = readValue(c.Before, nil, c.BeforeSensitive); err != nil {
		return before, after, err
	}
	if after, err = readValue(c.After, c.AfterUnknown, c.AfterSensitive); err != nil {
		return before, after, err
	}
	// A missing side has the type of the other one.
	switch {
	case before.IsNull() && !before.IsMarked():
		before = cty.NullVal(after.Type())
	case after.IsNull() && !after.IsMarked():
		after = cty.NullVal(before.Type())
	}
	return before, after, nil
}

// readPath reads the steps of a path. Values that were read have only objects and tuples.
func readPath(raw json.RawMessage) (cty.Path, error) {
	var steps []any
	if err := decode(raw, &steps); err != nil {
		return nil, err
	}
	var path cty.Path
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			path = path.GetAttr(step)
		case json.Number:
			n, err := cty.ParseNumberVal(step.String())
			if err != nil {
				return nil, err
			}
			path = path.Index(n)
		default:
			return nil, fmt.Errorf("a path has the step %v", step)
		}
	}
	return path, nil
}

// readValue reads a value with its masks, which may be missing.
func readValue(raw, unknown, sensitive json.RawMessage) (cty.Value, error) {
	var parts [3]any
	for i, raw := range []json.RawMessage{raw, unknown, sensitive} {
		if len(raw) == 0 {
			continue
		}
		if err := decode(raw, &parts[i]); err != nil {
			return cty.NilVal, err
		}
	}
	return build(parts[0], parts[1], parts[2])
}

func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

func build(of, unknown, sensitive any) (v cty.Value, err error) {
	hidden := sensitive == true
	if hidden {
		sensitive = nil
	}
	switch of := of.(type) {
	case map[string]any:
		v, err = buildObject(of, unknown, sensitive)
	case []any:
		v, err = buildTuple(of, unknown, sensitive)
	case string:
		v = cty.StringVal(of)
	case bool:
		v = cty.BoolVal(of)
	case json.Number:
		v, err = cty.ParseNumberVal(of.String())
	default:
		v = cty.NullVal(cty.DynamicPseudoType)
		switch unknown := unknown.(type) {
		case map[string]any:
			if len(unknown) > 0 {
				v, err = buildObject(nil, unknown, sensitive)
			}
		case []any:
			if len(unknown) > 0 {
				v, err = buildTuple(nil, unknown, sensitive)
			}
		}
	}
	if err != nil {
		return cty.NilVal, err
	}
	if unknown == true {
		v = cty.DynamicVal
	}
	if hidden {
		v = v.Mark(value.Sensitive)
	}
	return v, nil
}

// buildObject makes an object: what isn't known is missing among its members.
func buildObject(of map[string]any, unknown, sensitive any) (cty.Value, error) {
	unknowns, _ := unknown.(map[string]any)
	hidden, _ := sensitive.(map[string]any)
	all := map[string]cty.Value{}
	for _, names := range []map[string]any{of, unknowns} {
		for name := range names {
			v, err := build(of[name], unknowns[name], hidden[name])
			if err != nil {
				return v, err
			}
			all[name] = v
		}
	}
	return cty.ObjectVal(all), nil
}

func buildTuple(of []any, unknown, sensitive any) (cty.Value, error) {
	unknowns, _ := unknown.([]any)
	hidden, _ := sensitive.([]any)
	at := func(list []any, i int) any {
		if i < len(list) {
			return list[i]
		}
		return nil
	}
	all := make([]cty.Value, max(len(of), len(unknowns)))
	for i := range all {
		v, err := build(at(of, i), at(unknowns, i), at(hidden, i))
		if err != nil {
			return v, err
		}
		all[i] = v
	}
	return cty.TupleVal(all), nil
}
