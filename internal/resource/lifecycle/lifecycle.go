// Package lifecycle calls the provider for one resource instance: upgrade, refresh, plan,
// apply, read, import. It checks every answer against the contract of package contract before
// anybody sees it.
//
// It owns the order of calls for one object and what a broken answer is called. It doesn't
// know where configurations come from, which objects there are and in which order they are
// dealt with.
package lifecycle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/state"
)

// A Subject is a resource instance with the provider that serves it.
type Subject struct {
	Addr     addr.Instance
	Provider provider.Provider
	Source   addr.Provider
	Schema   *schema.Schema
	Meta     cty.Value // provider_meta, NilVal without
}

// An Object is a decoded object of a resource instance. Value has the
// schema's implied type and no marks; it is null when there is no object.
type Object struct {
	Value    cty.Value
	Private  []byte
	Identity cty.Value // NilVal without
	Tainted  bool
	// Unanswered: the provider was asked to change the object and gave no
	// answer. The object's present values aren't known; the rest is as before.
	Unanswered bool
}

// None is the absence of an object.
func (s Subject) None() Object {
	return Object{Value: cty.NullVal(s.Schema.Block.ImpliedType())}
}

// Exists reports whether there is an object.
func (o Object) Exists() bool { return o.Value != cty.NilVal && !o.Value.IsNull() }

// bug reports an answer that breaks the contract.
func (s Subject) bug(kind diag.Code, what string, errs ...error) diag.List {
	var lines []string
	for _, err := range errs {
		lines = append(lines, value.ErrorString("", err))
	}
	detail := fmt.Sprintf("Provider %q %s for %s", s.Source.String(), what, s.Addr)
	if len(lines) == 1 {
		detail += ": " + lines[0] + "."
	} else if len(lines) > 1 {
		detail += ":\n  - " + strings.Join(lines, "\n  - ")
	} else {
		detail += "."
	}
	var diags diag.List
	diags.Add(kind.New(diag.Error, "%s\n\nThis is a bug in the provider, which should be reported in the provider's own issue tracker.", detail))
	return diags
}

// seen is the context of a call with what it is about, for who looks from outside.
func (s Subject) seen(ctx context.Context) context.Context { return trace.About(ctx, s.Addr) }

// Upgrade decodes a stored object, brought to the present schema by the
// provider.
func (s Subject) Upgrade(ctx context.Context, stored *state.Object) (Object, diag.List) {
	metrics.Decoded.Add(1)
	ty := s.Schema.Block.ImpliedType()
	var diags diag.List
	if stored.SchemaVersion > s.Schema.Version {
		diags.Add(NewerProvider.New(diag.Error, "The current state of %s was created by a newer provider version than is currently selected. Upgrade the %s provider to work with this state.", s.Addr, s.Source.Type))
		return s.None(), diags
	}
	raw := stored.JSON
	if stored.SchemaVersion == s.Schema.Version && stored.Flat == nil {
		raw = contract.StripUnknownAttributes(raw, ty)
	}
	v, diags := s.Provider.UpgradeState(s.seen(ctx), provider.UpgradeRequest{
		Type: s.Addr.Name.Type, Version: stored.SchemaVersion, JSON: raw, Flat: stored.Flat,
	})
	if diags.HasErrors() {
		return s.None(), diags
	}
	if errs := contract.Conforms(v, ty); len(errs) > 0 {
		return s.None(), append(diags, s.bug(InvalidUpgrade, "returned an object of another type when upgrading the state", errs...)...)
	}
	if v.IsNull() {
		return s.None(), append(diags, s.bug(InvalidUpgrade, "returned nothing when upgrading the state")...)
	}
	if errs := contract.WriteOnlyNull(s.Schema.Block, v); len(errs) > 0 {
		return s.None(), append(diags, s.bug(InvalidUpgrade, "returned a value for a write-only attribute when upgrading the state", errs...)...)
	}
	o := Object{Value: v, Private: stored.Private, Tainted: stored.Tainted}
	if s.Schema.Identity != nil && len(stored.IdentityJSON) > 0 {
		var more diag.List
		o.Identity, more = s.identity(ctx, stored)
		diags.Append(more)
	}
	return o, diags
}

func (s Subject) identity(ctx context.Context, stored *state.Object) (cty.Value, diag.List) {
	ty := s.Schema.Identity.ElementType()
	if stored.IdentityVersion > s.Schema.IdentityVersion {
		var diags diag.List
		diags.Add(NewerProvider.As("Resource identity managed by newer provider version").New(diag.Error, "The current identity of %s was created by a newer provider version than is currently selected. Upgrade the %s provider to work with this identity.", s.Addr, s.Source.Type))
		return cty.NilVal, diags
	}
	if stored.IdentityVersion == s.Schema.IdentityVersion {
		if v, err := value.FromJSON(stored.IdentityJSON, ty); err == nil {
			return v, nil
		}
	}
	v, diags := s.Provider.UpgradeIdentity(ctx, s.Addr.Name.Type, stored.IdentityVersion, stored.IdentityJSON)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	if errs := contract.Identity(s.Schema.Identity, v, false); len(errs) > 0 {
		return cty.NilVal, append(diags, s.bug(InvalidIdentity, "returned an invalid identity when upgrading it", errs...)...)
	}
	return v, diags
}

// Refresh asks for the object's present form. The result doesn't exist when
// the object is gone.
func (s Subject) Refresh(ctx context.Context, o Object) (Object, provider.DeferredReason, diag.List) {
	resp := s.Provider.Read(s.seen(ctx), provider.ReadRequest{
		Addr: s.Addr, Type: s.Addr.Name.Type, Current: o.Value, Private: o.Private, Identity: o.Identity, Meta: s.Meta,
	})
	diags := resp.Diags
	if diags.HasErrors() || resp.Deferred != "" {
		return o, resp.Deferred, diags
	}
	if resp.New == cty.NilVal {
		return o, "", append(diags, s.bug(InvalidObject, "returned nothing when refreshing")...)
	}
	if errs := contract.Conforms(resp.New, s.Schema.Block.ImpliedType()); len(errs) > 0 {
		return o, "", append(diags, s.bug(InvalidObject, "planned an invalid value during refresh", errs...)...)
	}
	if !value.WhollyKnown(resp.New) {
		return o, "", append(diags, s.bug(InvalidObject, "returned a value with unknown parts during refresh")...)
	}
	if errs := contract.WriteOnlyNull(s.Schema.Block, resp.New); len(errs) > 0 {
		return o, "", append(diags, s.bug(InvalidObject, "returned a value for a write-only attribute during refresh", errs...)...)
	}
	refreshed := Object{Value: contract.NormalizeLegacy(s.Schema.Block, resp.New), Private: resp.Private, Identity: resp.Identity, Tainted: o.Tainted}
	if s.Schema.Identity != nil && resp.Identity != cty.NilVal && !resp.Identity.IsNull() {
		if errs := contract.Identity(s.Schema.Identity, resp.Identity, false); len(errs) > 0 {
			diags.Append(s.bug(InvalidIdentity, "returned an invalid identity during refresh", errs...))
		}
	}
	return refreshed, "", diags
}

// A PlanInput is what a plan of one object is made from. Config has no marks
// and may have unknown parts.
type PlanInput struct {
	Prior     Object
	Config    cty.Value
	Ignore    []cty.Path
	IgnoreAll bool
	// Force asks for a replacement of whatever exists.
	Force bool
	// Earlier is the private data of an earlier plan of the same change, nil for none.
	Earlier []byte
}

// A Planned is the provider's plan for one object. Value is what the object
// will be, with unknown parts.
type Planned struct {
	Change       contract.Change
	Value        cty.Value
	Private      []byte
	Identity     cty.Value
	ReplacePaths []cty.Path
	Deferred     provider.DeferredReason
}

// Plan asks the provider what it would do to get from the prior object to
// the configuration; for a replacement it asks again for the new object.
func (s Subject) Plan(ctx context.Context, in PlanInput) (Planned, diag.List) {
	prior := in.Prior
	if prior.Tainted {
		// A tainted object is as good as none: it can only be replaced.
		prior = s.None()
	}
	config := in.Config
	if prior.Exists() {
		if in.IgnoreAll {
			config = contract.IgnoreAllChanges(s.Schema.Block, prior.Value, config)
		} else if len(in.Ignore) > 0 {
			config = contract.IgnoreChanges(prior.Value, config, in.Ignore)
		}
	}
	config = contract.OpenComputedBlocks(s.Schema.Block, config)
	proposed := contract.ProposedNew(s.Schema.Block, prior.Value, config)
	if in.IgnoreAll && prior.Exists() {
		// Elements of sets can't always be paired with their configuration again.
		proposed = prior.Value
	}
	p, legacy, diags := s.planOnce(ctx, prior, config, proposed, in.Earlier)
	if diags.HasErrors() || p.Deferred != "" {
		return p, diags
	}
	if legacy && prior.Exists() && (in.IgnoreAll || len(in.Ignore) > 0) {
		// Old providers plan changes to what the configuration was said to
		// leave alone.
		if in.IgnoreAll {
			p.Value = prior.Value
		} else {
			p.Value = contract.IgnoreChanges(prior.Value, p.Value, in.Ignore)
		}
	}
	paths, errs := contract.RequiresReplace(s.Schema.Block, prior.Value, p.Value, p.ReplacePaths)
	if len(errs) > 0 {
		return p, append(diags, s.bug(InvalidPlan, "has indicated an attribute that doesn't exist as requiring replacement", errs...)...)
	}
	p.ReplacePaths = paths
	p.Change = contract.Action(prior.Value, p.Value, paths, in.Force && prior.Exists())
	if in.Prior.Tainted && in.Prior.Exists() {
		p.Change = contract.Replace
		return p, diags
	}
	if p.Change == contract.None {
		// Whatever forms the planned value takes, it is the prior one.
		p.Value = prior.Value
	}
	if p.Change != contract.Replace {
		return p, diags
	}
	// The plan of the new object may build on what was noted for the first one.
	none := s.None()
	none.Private = p.Private
	config = contract.OpenComputedBlocks(s.Schema.Block, in.Config)
	fresh, _, more := s.planOnce(ctx, none, config, contract.ProposedNew(s.Schema.Block, none.Value, config), nil)
	for _, d := range more {
		if d.Severity == diag.Error {
			diags.Add(d)
		}
	}
	fresh.Change, fresh.ReplacePaths = contract.Replace, paths
	return fresh, diags
}

// planOnce is one PlanResourceChange with its checks.
func (s Subject) planOnce(ctx context.Context, prior Object, config, proposed cty.Value, earlier []byte) (Planned, bool, diag.List) {
	block := s.Schema.Block
	resp := s.Provider.Plan(s.seen(ctx), provider.PlanRequest{
		Addr: s.Addr, Type: s.Addr.Name.Type, Prior: prior.Value, ProposedNew: proposed, Config: config,
		PriorPrivate: prior.Private, PriorIdentity: prior.Identity, Meta: s.Meta, PlannedPrivate: earlier,
	})
	p := Planned{Value: resp.Planned, Private: resp.Private, Identity: resp.Identity, ReplacePaths: resp.RequiresReplace, Deferred: resp.Deferred}
	diags := resp.Diags
	if diags.HasErrors() {
		return p, resp.Legacy, diags
	}
	if p.Value == cty.NilVal {
		return p, resp.Legacy, append(diags, s.bug(InvalidPlan, "planned nothing")...)
	}
	if errs := contract.Conforms(p.Value, block.ImpliedType()); len(errs) > 0 {
		return p, resp.Legacy, append(diags, s.bug(InvalidPlan, "planned an invalid value", errs...)...)
	}
	if errs := contract.WriteOnlyNull(block, p.Value); len(errs) > 0 {
		return p, resp.Legacy, append(diags, s.bug(InvalidPlan, "planned a value for a write-only attribute", errs...)...)
	}
	if p.Deferred != "" {
		return p, resp.Legacy, diags
	}
	if resp.Legacy {
		return p, true, diags
	}
	if errs := contract.PlanValid(block, prior.Value, config, p.Value); len(errs) > 0 {
		return p, false, append(diags, s.bug(InvalidPlan, "planned an invalid value", errs...)...)
	}
	return p, false, diags
}

// PlanDestroy asks a provider that wants to know about a deletion. The
// result is the private data for the deletion.
func (s Subject) PlanDestroy(ctx context.Context, prior Object) (private []byte, identity cty.Value, diags diag.List) {
	null := s.None().Value
	resp := s.Provider.Plan(s.seen(ctx), provider.PlanRequest{
		Addr: s.Addr, Type: s.Addr.Name.Type, Prior: prior.Value, ProposedNew: null, Config: null,
		PriorPrivate: prior.Private, PriorIdentity: prior.Identity, Meta: s.Meta,
	})
	if !resp.Diags.HasErrors() && resp.Planned != cty.NilVal && !resp.Planned.IsNull() {
		return nil, cty.NilVal, append(resp.Diags, s.bug(InvalidPlan, "planned a non-null destroy value")...)
	}
	return resp.Private, resp.Identity, resp.Diags
}

// Same checks that a plan with final values keeps what an earlier plan of the
// same object showed.
func (s Subject) Same(earlier cty.Value, now Planned) diag.List {
	errs := contract.Compatible(s.Schema.Block, earlier, now.Value)
	if len(errs) == 0 {
		return nil
	}
	return s.bug(InconsistentFinalPlan, "changed its plan when expanding it during apply to include new values learned so far", errs...)
}

// An ApplyInput is a planned change of one object. Planned is null for a
// deletion.
type ApplyInput struct {
	Prior    Object
	Planned  cty.Value
	Config   cty.Value
	Private  []byte
	Identity cty.Value
}

// Apply makes the change. The object returned is the real one afterwards, beside
// errors as well.
func (s Subject) Apply(ctx context.Context, in ApplyInput) (Object, diag.List) {
	resp := s.Provider.Apply(s.seen(ctx), provider.ApplyRequest{
		Addr: s.Addr, Type: s.Addr.Name.Type, Prior: in.Prior.Value, Planned: in.Planned, Config: in.Config,
		PlannedPrivate: in.Private, PlannedIdentity: in.Identity, Meta: s.Meta,
	})
	diags := resp.Diags
	block := s.Schema.Block
	after := Object{Value: resp.New, Private: resp.Private, Identity: resp.Identity}
	destroying := in.Planned.IsNull()
	if resp.New == cty.NilVal {
		if !diags.HasErrors() {
			diags.Append(s.bug(InvalidObject, "returned nothing after apply"))
		}
		before := s.None()
		if destroying || in.Prior.Exists() {
			before = in.Prior
		}
		before.Unanswered = !resp.Unsent
		return before, diags
	}
	if errs := contract.Conforms(resp.New, block.ImpliedType()); len(errs) > 0 {
		diags.Append(s.bug(InvalidObject, "produced an invalid value after apply", errs...))
		before := in.Prior
		before.Unanswered = true
		return before, diags
	}
	if !resp.New.IsKnown() { // nothing is known of it, as without an answer
		if !diags.HasErrors() {
			diags.Append(s.bug(InvalidResult, "returned an unknown object after apply"))
		}
		before := in.Prior
		before.Unanswered = true
		return before, diags
	}
	if !value.WhollyKnown(resp.New) {
		if !diags.HasErrors() {
			diags.Append(s.bug(InvalidResult, "returned unknown values after apply; they were stored as null, so the object may need repair"))
		}
		after.Value = contract.UnknownAsNull(resp.New)
	}
	if errs := contract.WriteOnlyNull(block, after.Value); len(errs) > 0 {
		diags.Append(s.bug(InvalidObject, "returned a value for a write-only attribute after apply", errs...))
		after.Value = contract.StripWriteOnly(block, after.Value)
	}
	switch {
	case diags.HasErrors():
		if after.Value.IsNull() && !destroying && in.Prior.Exists() {
			return in.Prior, diags
		}
	case destroying && !after.Value.IsNull():
		diags.Append(s.bug(InvalidResult, "indicated a value other than null after deletion"))
	case !destroying && after.Value.IsNull():
		diags.Append(s.bug(InconsistentResult, "returned no object after the change"))
		if in.Prior.Exists() {
			return in.Prior, diags
		}
		after.Unanswered = true // something was made, or the answer would be an error
	case !destroying && !resp.Legacy:
		if errs := contract.Compatible(block, in.Planned, after.Value); len(errs) > 0 {
			diags.Append(s.bug(InconsistentResult, "produced an unexpected new value after apply", errs...))
		}
	}
	return after, diags
}

// ReadData reads a data source. Config has to be wholly known.
func (s Subject) ReadData(ctx context.Context, config cty.Value) (cty.Value, provider.DeferredReason, diag.List) {
	resp := s.Provider.ReadData(s.seen(ctx), provider.ReadDataRequest{Addr: s.Addr, Type: s.Addr.Name.Type, Config: config, Meta: s.Meta})
	diags := resp.Diags
	if diags.HasErrors() || resp.Deferred != "" {
		return cty.DynamicVal, resp.Deferred, diags
	}
	ty := s.Schema.Block.ImpliedType()
	switch {
	case resp.New == cty.NilVal || resp.New.IsNull():
		diags.Append(s.bug(NullObject, "produced a null object"))
	case len(contract.Conforms(resp.New, ty)) > 0:
		diags.Append(s.bug(InvalidObject, "produced an invalid value", contract.Conforms(resp.New, ty)...))
	case !value.WhollyKnown(resp.New):
		diags.Append(s.bug(InvalidObject, "produced a value with unknown parts"))
	}
	return resp.New, "", diags
}

// Import finds an existing object and reads it.
func (s Subject) Import(ctx context.Context, id string, identity cty.Value) (Object, provider.DeferredReason, diag.List) {
	resp := s.Provider.Import(s.seen(ctx), provider.ImportRequest{Addr: s.Addr, Type: s.Addr.Name.Type, ID: id, Identity: identity})
	diags := resp.Diags
	if diags.HasErrors() || resp.Deferred != "" {
		return s.None(), resp.Deferred, diags
	}
	var found []provider.ImportedObject
	for _, o := range resp.Objects {
		if o.Type == s.Addr.Name.Type {
			found = append(found, o)
		}
	}
	name := id
	if name == "" {
		name = "the given identity"
	}
	switch {
	case len(resp.Objects) == 0:
		diags.Add(UnexpectedImport.As("Import returned no resources").New(diag.Error, "Provider %s returned nothing for %s with the ID %s.", s.Source, s.Addr, name))
		return s.None(), "", diags
	case len(resp.Objects) > 1:
		diags.Add(UnexpectedImport.As("Multiple import states not supported").New(diag.Error, "Provider %s returned %d objects for %s with the ID %s, and only one can be imported.", s.Source, len(resp.Objects), s.Addr, name))
		return s.None(), "", diags
	case len(found) == 0:
		diags.Add(UnexpectedImport.New(diag.Error, "The provider returned an object of type %q for %s with the ID %s.", resp.Objects[0].Type, s.Addr, name))
		return s.None(), "", diags
	}
	o := found[0]
	if o.State == cty.NilVal || o.State.IsNull() {
		diags.Add(UnexpectedImport.As("Import returned null resource").New(diag.Error, "The provider returned an object without content for %s with the ID %s.", s.Addr, name))
		return s.None(), "", diags
	}
	if errs := contract.Conforms(o.State, s.Schema.Block.ImpliedType()); len(errs) > 0 {
		return s.None(), "", append(diags, s.bug(InvalidObject, "returned an invalid object for an import", errs...)...)
	}
	if errs := contract.WriteOnlyNull(s.Schema.Block, o.State); len(errs) > 0 {
		return s.None(), "", append(diags, s.bug(WriteOnlyReturned, "returned a value for a write-only attribute for an import", errs...)...)
	}
	refreshed, deferred, more := s.Refresh(ctx, Object{Value: o.State, Private: o.Private, Identity: o.Identity})
	diags.Append(more)
	if !more.HasErrors() && deferred == "" && !refreshed.Exists() {
		diags.Add(NothingToImport.New(diag.Error, "While attempting to import an existing object to %q, the provider detected that no object exists with the given id (%s). Only pre-existing objects can be imported; check that the id is correct and that it is associated with the provider's configured region or endpoint. Without the import, apply makes a new object.", s.Addr, name))
	}
	return refreshed, deferred, diags
}

// Store encodes an object for a state. Sensitive are the paths that are
// hidden from people.
func (s Subject) Store(o Object, p addr.ProviderConfig, sensitive []cty.Path) (*state.Object, error) {
	v, ty := s.written(o.Value)
	raw, err := value.JSON(v, ty)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Addr, err)
	}
	stored := &state.Object{
		Provider: p, SchemaVersion: s.Schema.Version, JSON: raw, Sensitive: sensitive,
		Private: o.Private, Tainted: o.Tainted,
	}
	if s.Schema.Identity != nil && o.Identity != cty.NilVal && !o.Identity.IsNull() {
		if stored.IdentityJSON, err = value.JSON(o.Identity, s.Schema.Identity.ElementType()); err != nil {
			return nil, fmt.Errorf("identity of %s: %w", s.Addr, err)
		}
		stored.IdentityVersion = s.Schema.IdentityVersion
	}
	return stored, nil
}

// written is what states have of an object, and its type.
func (s Subject) written(v cty.Value) (cty.Value, cty.Type) {
	ty := s.Schema.Block.ImpliedType()
	for _, name := range s.Schema.Block.Unwritten {
		if !v.IsNull() && v.GetAttr(name).IsNull() {
			m := v.AsValueMap()
			delete(m, name)
			types := maps.Clone(ty.AttributeTypes())
			delete(types, name)
			v, ty = cty.ObjectVal(m), cty.Object(types)
		}
	}
	return v, ty
}

// Keep encodes an object that was stored before: the result is stored itself
// if it says the same.
func (s Subject) Keep(stored *state.Object, o Object, p addr.ProviderConfig, sensitive []cty.Path) (*state.Object, error) {
	fresh, err := s.Store(o, p, sensitive)
	if err != nil {
		return nil, err
	}
	fresh.Dependencies, fresh.Uses, fresh.Settings = stored.Dependencies, stored.Uses, stored.Settings
	if fresh.Provider == stored.Provider && fresh.SchemaVersion == stored.SchemaVersion && stored.Flat == nil &&
		fresh.IdentityVersion == stored.IdentityVersion && fresh.Tainted == stored.Tainted && bytes.Equal(fresh.Private, stored.Private) &&
		sameText(stored.JSON, fresh.JSON) && sameText(stored.IdentityJSON, fresh.IdentityJSON) && samePaths(stored.Sensitive, fresh.Sensitive) {
		return stored, nil
	}
	return fresh, nil
}

// sameText reports whether stored JSON is the given one, which has no spaces.
func sameText(stored, encoded []byte) bool {
	if bytes.Equal(stored, encoded) {
		return true
	}
	var compact bytes.Buffer
	return len(stored) > len(encoded) && json.Compact(&compact, stored) == nil && bytes.Equal(compact.Bytes(), encoded)
}

// samePaths compares sets of paths.
func samePaths(a, b []cty.Path) bool {
	return len(a) == len(b) && (slices.EqualFunc(a, b, cty.Path.Equals) || cty.NewPathSet(a...).Equal(cty.NewPathSet(b...)))
}

// Move takes over a stored object of another type or provider.
func (s Subject) Move(ctx context.Context, from addr.Instance, stored *state.Object) (Object, diag.List) {
	resp := s.Provider.Move(s.seen(ctx), provider.MoveRequest{
		SourceProvider: stored.Provider.Provider, SourceType: from.Name.Type, SourceVersion: stored.SchemaVersion,
		SourceJSON: stored.JSON, SourceFlat: stored.Flat, SourcePrivate: stored.Private,
		SourceIdentityJSON: stored.IdentityJSON, SourceIdentityVersion: stored.IdentityVersion,
		TargetType: s.Addr.Name.Type,
	})
	diags := resp.Diags
	if diags.HasErrors() {
		return s.None(), diags
	}
	if resp.Target == cty.NilVal || resp.Target.IsNull() {
		return s.None(), append(diags, s.bug(InvalidObject, "returned nothing when moving an object")...)
	}
	if errs := contract.Conforms(resp.Target, s.Schema.Block.ImpliedType()); len(errs) > 0 {
		return s.None(), append(diags, s.bug(InvalidObject, "returned an invalid object for a move", errs...)...)
	}
	if errs := contract.WriteOnlyNull(s.Schema.Block, resp.Target); len(errs) > 0 {
		return s.None(), append(diags, s.bug(InvalidObject, "returned a value for a write-only attribute for a move", errs...)...)
	}
	return Object{Value: resp.Target, Private: resp.Private, Identity: resp.Identity, Tainted: stored.Tainted}, diags
}

// Decode reads a stored object as it is, without its provider.
func (s Subject) Decode(stored *state.Object) (cty.Value, error) {
	metrics.Decoded.Add(1)
	return value.FromJSON(contract.StripUnknownAttributes(stored.JSON, s.Schema.Block.ImpliedType()), s.Schema.Block.ImpliedType())
}
