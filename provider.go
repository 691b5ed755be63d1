package weir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin"
)

// A Provider is a provider whose resource types are functions of this program. It
// may be used by several workspaces at once, and isn't changed after it was given to
// [InProcess].
type Provider struct {
	// Config is the provider's own configuration, given to Configure before anything
	// else is called; both may be nil.
	Config    map[string]Attribute
	Configure func(ctx context.Context, config Object) error
	Resources map[string]ResourceType
	Data      map[string]DataType
}

// An Object is the attributes of an object by name, as [encoding/json] has them:
// string, float64, bool, []any, map[string]any, and nil for what isn't set.
type Object = map[string]any

// An Attribute is an argument or a result. Without Required, Optional and Computed it
// is optional.
type Attribute struct {
	// Type is written as in a variable block: string, number, bool, list(string),
	// object({ a = string }) and so on, but not any.
	Type     string
	Required bool
	Optional bool
	// Computed: the provider decides where the configuration doesn't. Volatile: it decides
	// again with each update.
	Computed, Volatile bool
	Sensitive          bool
	// Replace: a change needs a new object.
	Replace     bool
	Description string
}

// A ResourceType is what can be done with objects of a type. Results may leave out
// attributes that are as desired. An error beside an object says that the object
// exists nevertheless; [ErrUnanswered] that this isn't known.
type ResourceType struct {
	Attributes map[string]Attribute
	Create     func(ctx context.Context, desired Object) (Object, error)
	// Read returns the object as it is now, nil where it is gone. Without it objects
	// are taken to be as they were left.
	Read func(ctx context.Context, current Object) (Object, error)
	// Update changes an object. Without it every change replaces.
	Update func(ctx context.Context, current, desired Object) (Object, error)
	Delete func(ctx context.Context, current Object) error
	// Import finds an object by an id, nil without one.
	Import func(ctx context.Context, id string) (Object, error)
}

// A DataType is a type of data source.
type DataType struct {
	Attributes map[string]Attribute
	Read       func(ctx context.Context, config Object) (Object, error)
}

// start makes what the engine starts instances of the provider with.
func (p *Provider) start() (plugin.Builtin, error) {
	s := &provider.Schemas{Resources: provider.Types{}, DataSources: provider.Types{}}
	var err error
	if s.Provider, err = shape(p.Config); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	for name, t := range p.Resources {
		sch, err := shape(t.Attributes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.Resources[name] = provider.Known(sch)
		if t.Create == nil {
			return nil, fmt.Errorf("%s: Create is missing", name)
		}
	}
	for name, t := range p.Data {
		sch, err := shape(t.Attributes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.DataSources[name] = provider.Known(sch)
		if t.Read == nil {
			return nil, fmt.Errorf("%s: Read is missing", name)
		}
	}
	return func() (provider.Provider, *provider.Schemas) { return &running{Provider: p, schemas: s}, s }, nil
}

// shape is attributes as a schema.
func shape(attributes map[string]Attribute) (*schema.Schema, error) {
	block := &schema.Block{Attributes: map[string]*schema.Attribute{}, Blocks: map[string]*schema.NestedBlock{}}
	for name, a := range attributes {
		expr, diags := hclsyntax.ParseExpression([]byte(a.Type), "", hcl.InitialPos)
		t := cty.NilType
		if !diags.HasErrors() {
			t, diags = typeexpr.TypeConstraint(expr)
		}
		if diags.HasErrors() || t.HasDynamicTypes() {
			return nil, fmt.Errorf("attribute %q: %q isn't the type of an attribute", name, a.Type)
		}
		block.Attributes[name] = &schema.Attribute{
			Type: t, Required: a.Required, Optional: a.Optional || !a.Required && !a.Computed,
			Computed: a.Computed, Sensitive: a.Sensitive, Description: a.Description,
		}
	}
	return &schema.Schema{Block: block}, nil
}

// running is a started provider.
type running struct {
	provider.Partial
	*Provider
	schemas *provider.Schemas
}

// object is a value for the functions of a provider. Anything that isn't known yet is left
// out.
func object(v cty.Value) (Object, error) {
	if v == cty.NilVal || v.IsNull() {
		return nil, nil
	}
	known, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.IsKnown() {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		return nil, err
	}
	text, err := ctyjson.Marshal(known, known.Type())
	if err != nil {
		return nil, err
	}
	var o Object
	return o, json.Unmarshal(text, &o)
}

// value is what a function has returned. Missing attributes have their desired values.
func value(o Object, desired cty.Value, s *schema.Schema) (cty.Value, error) {
	all, err := object(desired)
	if err != nil {
		return cty.NilVal, err
	}
	if all == nil {
		all = Object{}
	}
	for name, v := range o {
		all[name] = v
	}
	text, err := json.Marshal(all)
	if err != nil {
		return cty.NilVal, err
	}
	v, err := ctyjson.Unmarshal(text, s.Block.ImpliedType())
	if err != nil {
		return cty.NilVal, fmt.Errorf("the provider's answer doesn't have the type's attributes: %w", err)
	}
	return v, nil
}

// problem is an error of a provider's function.
func problem(err error) diag.List {
	if err == nil {
		return nil
	}
	return diag.List{{Severity: diag.Error, Code: provider.Reported.Name, Summary: provider.Reported.Summary, Detail: err.Error() + ".", Err: err}}
}

func (r *running) Configure(ctx context.Context, config cty.Value) diag.List {
	if r.Provider.Configure == nil {
		return nil
	}
	o, err := object(config)
	if err == nil {
		err = r.Provider.Configure(ctx, o)
	}
	return problem(err)
}

// UpgradeState takes what the type still has of a stored object.
func (r *running) UpgradeState(_ context.Context, q provider.UpgradeRequest) (cty.Value, diag.List) {
	s := r.schemas.Resources.Schema(q.Type)
	if s == nil {
		return cty.NilVal, problem(fmt.Errorf("there is no resource type %q", q.Type))
	}
	var all map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(q.JSON)).Decode(&all); err != nil {
		return cty.NilVal, problem(err)
	}
	for name := range all {
		if s.Block.Attributes[name] == nil {
			delete(all, name)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return cty.NilVal, problem(err)
	}
	v, err := ctyjson.Unmarshal(text, s.Block.ImpliedType())
	return v, problem(err)
}

func (r *running) Read(ctx context.Context, q provider.ReadRequest) provider.ReadResponse {
	t, s := r.Resources[q.Type], r.schemas.Resources.Schema(q.Type)
	out := provider.ReadResponse{New: q.Current, Private: q.Private}
	if t.Read == nil {
		return out
	}
	current, err := object(q.Current)
	if err == nil {
		current, err = t.Read(ctx, current)
	}
	switch {
	case err != nil:
		out.Diags = problem(err)
	case current == nil:
		out.New = cty.NullVal(s.Block.ImpliedType())
	default:
		out.New, err = value(current, q.Current, s)
		out.Diags = problem(err)
	}
	return out
}

// Plan leaves to Apply what is computed, for new objects and what is volatile.
func (r *running) Plan(_ context.Context, q provider.PlanRequest) provider.PlanResponse {
	t := r.Resources[q.Type]
	out := provider.PlanResponse{Planned: q.ProposedNew, Private: q.PriorPrivate}
	if q.ProposedNew.IsNull() {
		return out
	}
	planned, changed := q.ProposedNew.AsValueMap(), false
	if !q.Prior.IsNull() {
		for name, a := range t.Attributes {
			if q.Prior.GetAttr(name).RawEquals(planned[name]) {
				continue
			}
			changed = true
			if a.Replace || t.Update == nil {
				out.RequiresReplace = append(out.RequiresReplace, cty.GetAttrPath(name))
			}
		}
	}
	for name, a := range t.Attributes {
		if a.Computed && q.Config.GetAttr(name).IsNull() && (q.Prior.IsNull() || a.Volatile && changed) {
			planned[name] = cty.UnknownVal(planned[name].Type())
		}
	}
	out.Planned = cty.ObjectVal(planned)
	return out
}

func (r *running) Apply(ctx context.Context, q provider.ApplyRequest) provider.ApplyResponse {
	t, s := r.Resources[q.Type], r.schemas.Resources.Schema(q.Type)
	before, err := object(q.Prior)
	desired, more := object(q.Planned)
	if err = errors.Join(err, more); err != nil {
		return provider.ApplyResponse{New: q.Prior, Diags: problem(err)}
	}
	var result Object
	switch {
	case desired == nil:
		if t.Delete != nil {
			err = t.Delete(ctx, before)
		}
		if err == nil {
			return provider.ApplyResponse{New: q.Planned}
		}
		result = before
	case before == nil:
		result, err = t.Create(ctx, desired)
		if result == nil && err == nil {
			result = Object{}
		}
	default:
		if result, err = t.Update(ctx, before, desired); result == nil {
			result = before
			if err == nil {
				result = Object{}
			}
		}
	}
	out := provider.ApplyResponse{Diags: problem(err)}
	switch {
	case errors.Is(err, ErrUnanswered):
		return out // nobody knows
	case result == nil:
		out.New = cty.NullVal(s.Block.ImpliedType())
		return out
	case desired == nil || err != nil && before != nil:
		out.New = q.Prior
		return out
	}
	if out.New, err = value(result, q.Planned, s); err != nil {
		out.Diags.Append(problem(err))
	}
	return out
}

func (r *running) Import(ctx context.Context, q provider.ImportRequest) provider.ImportResponse {
	t, s := r.Resources[q.Type], r.schemas.Resources.Schema(q.Type)
	if t.Import == nil {
		return provider.ImportResponse{Diags: problem(fmt.Errorf("objects of type %s can't be imported", q.Type))}
	}
	found, err := t.Import(ctx, q.ID)
	if err != nil || found == nil {
		return provider.ImportResponse{Diags: problem(err)}
	}
	v, err := value(found, cty.NilVal, s)
	if err != nil {
		return provider.ImportResponse{Diags: problem(err)}
	}
	return provider.ImportResponse{Objects: []provider.ImportedObject{{Type: q.Type, State: v}}}
}

func (r *running) ReadData(ctx context.Context, q provider.ReadDataRequest) provider.ReadDataResponse {
	config, err := object(q.Config)
	if err == nil {
		config, err = r.Data[q.Type].Read(ctx, config)
	}
	if err != nil {
		return provider.ReadDataResponse{Diags: problem(err)}
	}
	v, err := value(config, q.Config, r.schemas.DataSources.Schema(q.Type))
	return provider.ReadDataResponse{New: v, Diags: problem(err)}
}
