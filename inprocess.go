package weir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/contract"
)

// running is a started provider.
type running struct {
	provider.Partial
	*Provider
	schemas *provider.Schemas
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
	return problem(r.Provider.Configure(ctx, object(config, nil)))
}

func (r *running) ValidateResource(ctx context.Context, mode addr.Mode, typ string, config cty.Value) diag.List {
	var validate func(context.Context, Object) error
	switch mode {
	case addr.Managed:
		validate = r.Resources[typ].Validate
	case addr.Data:
		validate = r.Data[typ].Validate
	case addr.Ephemeral:
		validate = r.Ephemerals[typ].Validate
	case addr.Action:
		validate = r.Actions[typ].Validate
	case addr.List:
		validate = r.Lists[typ].Validate
	}
	if validate == nil {
		return nil
	}
	return problem(validate(ctx, object(config, Unknown)))
}

// UpgradeState takes what the type still has of a stored object, after Upgrade has changed it.
func (r *running) UpgradeState(ctx context.Context, q provider.UpgradeRequest) (cty.Value, diag.List) {
	s := r.schemas.Resources.Schema(q.Type)
	if s == nil {
		return cty.NilVal, problem(fmt.Errorf("there is no resource type %q", q.Type))
	}
	var all Object
	err := json.NewDecoder(bytes.NewReader(q.JSON)).Decode(&all)
	if upgrade := r.Resources[q.Type].Upgrade; err == nil && upgrade != nil && q.Version < s.Version {
		all, err = upgrade(ctx, int(q.Version), all)
	}
	if err != nil {
		return cty.NilVal, problem(err)
	}
	maps.DeleteFunc(all, func(name string, _ any) bool { return s.Block.Attributes[name] == nil && s.Block.Blocks[name] == nil })
	v, err := result(all, cty.NilVal, s.Block)
	return v, problem(err)
}

// UpgradeIdentity takes the attributes that identities of the type have.
func (r *running) UpgradeIdentity(_ context.Context, typ string, _ int64, text []byte) (cty.Value, diag.List) {
	s := r.schemas.Resources.Schema(typ)
	if s == nil || s.Identity == nil {
		return cty.NilVal, problem(fmt.Errorf("resource type %q has no identity", typ))
	}
	var all Object
	if err := json.Unmarshal(text, &all); err != nil {
		return cty.NilVal, problem(err)
	}
	maps.DeleteFunc(all, func(name string, _ any) bool { return s.Identity.Attributes[name] == nil })
	v, err := typed(all, s.Identity.ElementType())
	return v, problem(err)
}

// identify is the identity of an object, NilVal where its type has none.
func identify(s *schema.Schema, v cty.Value) cty.Value {
	if s.Identity == nil || v == cty.NilVal || v.IsNull() {
		return cty.NilVal
	}
	all := map[string]cty.Value{}
	for name := range s.Identity.Attributes {
		all[name] = v.GetAttr(name)
	}
	return cty.ObjectVal(all)
}

func (r *running) Read(ctx context.Context, q provider.ReadRequest) provider.ReadResponse {
	t, s := r.Resources[q.Type], r.schemas.Resources.Schema(q.Type)
	out := provider.ReadResponse{New: q.Current, Private: q.Private, Identity: q.Identity}
	if t.Read != nil {
		current, err := t.Read(ctx, object(q.Current, nil))
		switch {
		case err != nil:
			out.Diags = problem(err)
			return out
		case current == nil:
			out.New = cty.NullVal(s.Block.ImpliedType())
			return out
		}
		if out.New, err = r.stored(current, q.Current, s); err != nil {
			out.Diags = problem(err)
			return out
		}
	}
	out.Identity = identify(s, out.New)
	return out
}

// stored is a resource that a function has returned, without what is only written.
func (r *running) stored(o Object, desired cty.Value, s *schema.Schema) (cty.Value, error) {
	v, err := result(o, desired, s.Block)
	if err != nil {
		return v, err
	}
	return contract.StripWriteOnly(s.Block, v), nil
}

// Plan leaves to Apply what is computed, for new objects and what is volatile. Then the type's own
// Plan has its turn.
func (r *running) Plan(ctx context.Context, q provider.PlanRequest) provider.PlanResponse {
	t, s := r.Resources[q.Type], r.schemas.Resources.Schema(q.Type)
	out := provider.PlanResponse{Planned: q.ProposedNew, Private: q.PriorPrivate, Identity: q.PriorIdentity}
	if q.ProposedNew.IsNull() {
		return out
	}
	p := planning{exists: !q.Prior.IsNull(), replaceAll: t.Update == nil}
	p.changed = p.exists && !q.Prior.RawEquals(contract.StripWriteOnly(s.Block, q.ProposedNew))
	out.Planned = contract.StripWriteOnly(s.Block, p.object(t.Attributes, t.Blocks, q.ProposedNew, q.Config, q.Prior, nil))
	if t.Plan != nil {
		own := &Planning{Prior: object(q.Prior, nil), Config: object(q.Config, Unknown), Planned: object(out.Planned, Unknown)}
		if err := t.Plan(ctx, own); err != nil {
			out.Diags = problem(err)
			return out
		}
		planned, err := r.stored(own.Planned, out.Planned, s)
		if err != nil {
			out.Diags = problem(err)
			return out
		}
		out.Planned = planned
		for _, name := range own.Replace {
			if s.Block.Attributes[name] == nil && s.Block.Blocks[name] == nil {
				out.Diags = problem(fmt.Errorf("the plan replaces for %q, which the type doesn't have", name))
				return out
			}
			p.replace = append(p.replace, cty.GetAttrPath(name))
		}
	}
	if p.exists {
		out.RequiresReplace = p.replace
	}
	if s.Identity != nil && !p.exists {
		out.Identity = identify(s, out.Planned)
	}
	return out
}

func (r *running) Apply(ctx context.Context, q provider.ApplyRequest) provider.ApplyResponse {
	t, s := r.Resources[q.Type], r.schemas.Resources.Schema(q.Type)
	before, desired := object(q.Prior, nil), object(q.Planned, nil)
	written(desired, object(q.Config, nil), t.Attributes, t.Blocks)
	out := provider.ApplyResponse{Identity: q.PlannedIdentity, Private: q.PlannedPrivate}
	var made Object
	var err error
	switch {
	case desired == nil:
		if t.Delete != nil {
			err = t.Delete(ctx, before)
		}
		if err == nil {
			return provider.ApplyResponse{New: q.Planned}
		}
		made = before
	case before == nil:
		made, err = t.Create(ctx, desired)
		if made == nil && err == nil {
			made = Object{}
		}
	default:
		if made, err = t.Update(ctx, before, desired); made == nil {
			made = before
			if err == nil {
				made = Object{}
			}
		}
	}
	out.Diags = problem(err)
	switch {
	case errors.Is(err, ErrUnanswered):
		return out // nobody knows
	case made == nil:
		out.New = cty.NullVal(s.Block.ImpliedType())
		return out
	case desired == nil || err != nil && before != nil:
		out.New = q.Prior
		return out
	}
	if out.New, err = r.stored(made, q.Planned, s); err != nil {
		out.Diags.Append(problem(err))
		return out
	}
	out.Identity = identify(s, out.New)
	return out
}

// written adds the values that are only written, which a plan doesn't have, to a desired object.
func written(desired, config Object, attributes map[string]Attribute, blocks map[string]Block) {
	if desired == nil || config == nil {
		return
	}
	for name, a := range attributes {
		switch {
		case a.WriteOnly:
			desired[name] = config[name]
		case len(a.Attributes) > 0:
			writtenIn(desired[name], config[name], a.Attributes, nil)
		}
	}
	for name, b := range blocks {
		writtenIn(desired[name], config[name], b.Attributes, b.Blocks)
	}
}

// writtenIn does what written does for objects that are nested, however they are grouped.
func writtenIn(desired, config any, attributes map[string]Attribute, blocks map[string]Block) {
	switch d := desired.(type) {
	case Object:
		c, _ := config.(Object)
		written(d, c, attributes, blocks)
		for key, inner := range d {
			writtenIn(inner, c[key], attributes, blocks)
		}
	case []any:
		c, _ := config.([]any)
		for i := range min(len(d), len(c)) {
			writtenIn(d[i], c[i], attributes, blocks)
		}
	}
}

func (r *running) Import(ctx context.Context, q provider.ImportRequest) provider.ImportResponse {
	t, s := r.Resources[q.Type], r.schemas.Resources.Schema(q.Type)
	var found Object
	var err error
	switch byIdentity := q.Identity != cty.NilVal && !q.Identity.IsNull(); {
	case byIdentity && t.ImportIdentity != nil:
		found, err = t.ImportIdentity(ctx, object(q.Identity, nil))
	case !byIdentity && t.Import != nil:
		found, err = t.Import(ctx, q.ID)
	case t.Import == nil && t.ImportIdentity == nil:
		err = fmt.Errorf("objects of type %s can't be imported", q.Type)
	case byIdentity:
		err = fmt.Errorf("objects of type %s can't be imported by an identity, only by an id", q.Type)
	default:
		err = fmt.Errorf("objects of type %s can't be imported by an id, only by an identity", q.Type)
	}
	if err != nil || found == nil {
		return provider.ImportResponse{Diags: problem(err)}
	}
	v, err := r.stored(found, cty.NilVal, s)
	if err != nil {
		return provider.ImportResponse{Diags: problem(err)}
	}
	return provider.ImportResponse{Objects: []provider.ImportedObject{{Type: q.Type, State: v, Identity: identify(s, v)}}}
}

func (r *running) ReadData(ctx context.Context, q provider.ReadDataRequest) provider.ReadDataResponse {
	o, err := r.Data[q.Type].Read(ctx, object(q.Config, nil))
	if err != nil {
		return provider.ReadDataResponse{Diags: problem(err)}
	}
	v, err := result(o, q.Config, r.schemas.DataSources.Schema(q.Type).Block)
	return provider.ReadDataResponse{New: v, Diags: problem(err)}
}

func (r *running) OpenEphemeral(ctx context.Context, typ string, config cty.Value) provider.OpenResponse {
	o, err := r.Ephemerals[typ].Open(ctx, object(config, nil))
	if err != nil {
		return provider.OpenResponse{Diags: problem(err)}
	}
	v, err := result(o.Result, config, r.schemas.Ephemerals.Schema(typ).Block)
	return provider.OpenResponse{Result: v, Private: o.Private, RenewAt: o.RenewAt, Diags: problem(err)}
}

func (r *running) RenewEphemeral(ctx context.Context, typ string, private []byte) provider.OpenResponse {
	renew := r.Ephemerals[typ].Renew
	if renew == nil {
		return provider.OpenResponse{Private: private}
	}
	o, err := renew(ctx, private)
	return provider.OpenResponse{Private: o.Private, RenewAt: o.RenewAt, Diags: problem(err)}
}

func (r *running) CloseEphemeral(ctx context.Context, typ string, private []byte) diag.List {
	if closing := r.Ephemerals[typ].Close; closing != nil {
		return problem(closing(ctx, private))
	}
	return nil
}

func (r *running) PlanAction(ctx context.Context, typ string, config cty.Value) provider.PlanActionResponse {
	if plan := r.Actions[typ].Plan; plan != nil {
		return provider.PlanActionResponse{Diags: problem(plan(ctx, object(config, Unknown)))}
	}
	return provider.PlanActionResponse{}
}

func (r *running) InvokeAction(ctx context.Context, typ string, config cty.Value, progress func(string)) diag.List {
	return problem(r.Actions[typ].Invoke(ctx, object(config, nil), progress))
}

func (r *running) List(ctx context.Context, q provider.ListRequest, found func(provider.ListResult) bool) diag.List {
	s := r.schemas.Resources.Schema(q.Type)
	n := int64(0)
	err := r.Lists[q.Type].List(ctx, object(q.Config, nil), func(f Found) bool {
		v, err := r.stored(f.Object, cty.NilVal, s)
		one := provider.ListResult{Name: f.Name, Diags: problem(err)}
		if err == nil {
			one.Identity = identify(s, v)
			if q.Objects {
				one.Object = v
			}
		}
		n++
		return found(one) && (q.Limit == 0 || n < q.Limit)
	})
	return problem(err)
}

func (r *running) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, int, error) {
	f, ok := r.Functions[name]
	if !ok {
		return r.Partial.CallFunction(ctx, name, args)
	}
	given := make([]any, len(args))
	for i, a := range args {
		given[i] = plain(a, nil)
	}
	x, err := f.Call(ctx, given)
	if err != nil {
		argument := -1
		if at := (*ArgumentError)(nil); errors.As(err, &at) {
			argument = at.Argument
		}
		return cty.DynamicVal, argument, err
	}
	v, err := typed(x, r.schemas.Functions[name].Return)
	return v, -1, err
}

// planning is the default plan of one object.
type planning struct {
	exists, changed, replaceAll bool
	replace                     []cty.Path
}

// object is a planned object or block. prior is NilVal for what is new.
func (p *planning) object(attributes map[string]Attribute, blocks map[string]Block, proposed, config, prior cty.Value, at cty.Path) cty.Value {
	if proposed.IsNull() || !proposed.IsKnown() {
		return proposed
	}
	isNew := prior == cty.NilVal || prior.IsNull() || !prior.IsKnown()
	out := proposed.AsValueMap()
	for name := range out {
		here := append(slices.Clone(at), cty.GetAttrStep{Name: name})
		was, written := attribute(prior, name), attribute(config, name)
		a, isAttribute := attributes[name]
		if !isNew && len(at) == 0 && p.replaceAll && !was.RawEquals(out[name]) && !a.WriteOnly {
			p.replace = append(p.replace, here)
		}
		switch {
		case !isAttribute:
			b := blocks[name]
			out[name] = p.nested(b.Nesting, NestList, b.Attributes, b.Blocks, out[name], written, was, here)
			continue
		case a.Computed && written.IsNull():
			if isNew || a.Volatile && p.changed {
				out[name] = cty.UnknownVal(out[name].Type())
				continue
			}
		}
		if !isNew && a.Replace && !was.RawEquals(out[name]) {
			p.replace = append(p.replace, here)
		}
		if len(a.Attributes) > 0 {
			out[name] = p.nested(a.Nesting, NestSingle, a.Attributes, nil, out[name], written, was, here)
		}
	}
	return cty.ObjectVal(out)
}

// nested is what object does for nested objects, however they are grouped.
func (p *planning) nested(n, otherwise Nesting, attributes map[string]Attribute, blocks map[string]Block, proposed, config, prior cty.Value, at cty.Path) cty.Value {
	if n == "" {
		n = otherwise
	}
	if n == NestSingle {
		return p.object(attributes, blocks, proposed, config, prior, at)
	}
	if proposed.IsNull() || !proposed.IsKnown() || proposed.LengthInt() == 0 {
		return proposed
	}
	elements := map[string]cty.Value{}
	var list []cty.Value
	for it := proposed.ElementIterator(); it.Next(); {
		key, element := it.Element()
		var was, written cty.Value
		if n == NestSet {
			was, written = member(prior, element), configured(config, element)
		} else {
			was, written = member(prior, key), member(config, key)
		}
		planned := p.object(attributes, blocks, element, written, was, append(slices.Clone(at), cty.IndexStep{Key: key}))
		if n == NestMap {
			elements[key.AsString()] = planned
		}
		list = append(list, planned)
	}
	switch n {
	case NestMap:
		return cty.MapVal(elements)
	case NestSet:
		return cty.SetVal(list)
	}
	return cty.ListVal(list)
}

// attribute is an attribute of an object, null where there is no such object.
func attribute(v cty.Value, name string) cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return v.GetAttr(name)
}

// member is an element by its key, in a set the element itself; NilVal without it.
func member(v, key cty.Value) cty.Value {
	switch {
	case v == cty.NilVal || v.IsNull() || !v.IsKnown():
	case v.Type().IsSetType():
		if has := v.HasElement(key); has.IsKnown() && has.True() {
			return key
		}
	case v.HasIndex(key).True():
		return v.Index(key)
	}
	return cty.NilVal
}

// configured is the element of a set in the configuration that a proposed element comes from: the
// first that agrees with it in all that it sets.
func configured(config, element cty.Value) cty.Value {
	if config == cty.NilVal || config.IsNull() || !config.IsKnown() {
		return cty.NilVal
	}
	for it := config.ElementIterator(); it.Next(); {
		_, c := it.Element()
		if c.IsNull() || !c.IsKnown() {
			continue
		}
		agrees := true
		for name, v := range c.AsValueMap() {
			agrees = agrees && (v.IsNull() || v.RawEquals(element.GetAttr(name)))
		}
		if agrees {
			return c
		}
	}
	return cty.NilVal
}
