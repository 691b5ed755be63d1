package eval

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
)

type providerCells struct {
	expansion promise.Cell[providers]
}

// providers are the instances of one provider configuration in one frame.
type providers struct {
	Expansion
	byKey map[addr.Key]*ProviderInstance
}

// A ProviderInstance is a provider configuration in a frame, with the key of
// one of its instances where it has for_each. Decl is nil for the empty
// configuration of a provider that nothing configures.
type ProviderInstance struct {
	Addr  addr.ProviderConfig
	Frame *Frame
	Decl  *program.Provider
	Each  *Each
}

func (p *ProviderInstance) String() string { return p.Addr.String() }

// Context is the context of the configuration's expressions.
func (p *ProviderInstance) Context(t *promise.Task) *hcl.EvalContext {
	return p.Frame.newContext(&scope{frame: p.Frame, task: t, each: p.Each, self: cty.NilVal, live: true})
}

// ProviderInstances returns the instances of a provider configuration.
func (f *Frame) ProviderInstances(t *promise.Task, p *program.Provider, via *hcl.Range) []*ProviderInstance {
	ps, _ := f.providerInstances(t, p, via)
	var list []*ProviderInstance
	for _, each := range ps.Each() {
		list = append(list, ps.byKey[each.Key])
	}
	return list
}

func (f *Frame) providerInstances(t *promise.Task, p *program.Provider, via *hcl.Range) (providers, bool) {
	return get(f, &f.providers[p.Index].expansion, t, named{f, "provider." + p.LocalName}, via, func(t *promise.Task) (providers, bool) {
		e, ok := f.expand(t, Block{Frame: f, Provider: p})
		ps := providers{Expansion: e, byKey: map[addr.Key]*ProviderInstance{}}
		for _, each := range e.Each() {
			ps.byKey[each.Key] = &ProviderInstance{
				Addr:  addr.ProviderConfig{Module: f.Addr, Provider: p.Provider, Alias: p.Alias, Key: each.Key},
				Frame: f, Decl: p, Each: each,
			}
		}
		return ps, ok
	})
}

// Provider finds the configuration that an instance of a resource uses: the
// one its module has or was passed, or the nearest default one of the modules
// around it, or an empty one in the root.
func (i *Instance) Provider(t *promise.Task) (*ProviderInstance, bool) {
	return i.Frame.ProviderOf(t, i.Resource.Provider, i.Each)
}

// ProviderOf finds the configuration that a use in the frame means. each is
// what the key's expression may refer to.
func (f *Frame) ProviderOf(t *promise.Task, use program.ProviderUse, each *Each) (*ProviderInstance, bool) {
	at, diags := f.configuration(use, each)
	switch {
	case !t.Report(diags...):
		return nil, false
	case at.decl == nil:
		return &ProviderInstance{Addr: addr.ProviderConfig{Module: at.frame.Addr, Provider: at.use.Provider}, Frame: at.frame}, true
	}
	return at.frame.pickProvider(t, at.decl, at.use, at.key, at.keyFrame, at.keyEach)
}

// CheckProvider reports a use in the frame that means no configuration.
func (f *Frame) CheckProvider(use program.ProviderUse) diag.List {
	_, diags := f.configuration(use, nil)
	return diags
}

// A configuration is where a use of a provider leads to, before its key is
// evaluated. Without a declaration it is the empty one of the root.
type configuration struct {
	frame    *Frame
	decl     *program.Provider
	use      program.ProviderUse // as it is called there
	key      *program.Expr
	keyFrame *Frame
	keyEach  *Each
}

func (f *Frame) configuration(use program.ProviderUse, each *Each) (configuration, diag.List) {
	c := configuration{frame: f, use: use, key: use.Key, keyFrame: f, keyEach: each}
	inherited := false
	for {
		// Only default configurations are inherited.
		if c.decl = findProvider(c.frame, c.use); c.decl != nil && (!inherited || c.use.Alias == "") {
			return c, nil
		}
		if c.frame.Parent == nil || inherited && c.use.Alias != "" {
			if c.use.Alias == "" {
				return c, nil
			}
			only := ""
			const shown = 5
			var others []string
			for _, p := range c.frame.Program.Providers {
				if p.Provider == c.use.Provider && p.Alias != "" {
					others = append(others, p.LocalName+"."+p.Alias)
				}
			}
			if n := len(others); n > 0 && n <= shown {
				only = ", only " + strings.Join(others, ", ")
			}
			var diags diag.List
			diags.Add(diag.UndeclaredProvider.As("Provider configuration not present").Error(c.use.Range, "There is no configuration %s.%s%s. Add a provider %q block with alias = %q to the root module, or pass a configuration through the providers argument of the module call.", c.use.LocalName, c.use.Alias, only, c.use.LocalName, c.use.Alias))
			return c, diags
		}
		if passed := c.frame.Call.Passed(c.use.LocalName, c.use.Alias); passed != nil {
			c.use, inherited = passed.Outer, false
			if c.key == nil {
				c.key, c.keyFrame, c.keyEach = c.use.Key, c.frame.Parent, c.frame.Each
			}
		} else {
			c.use.LocalName, inherited = c.frame.Parent.Program.LocalName(c.use), true
		}
		c.frame = c.frame.Parent
	}
}

// findProvider is the frame's own block for the use, or nil.
func findProvider(f *Frame, use program.ProviderUse) *program.Provider {
	for _, p := range f.Program.Providers {
		if p.Provider == use.Provider && p.Alias == use.Alias && !f.IsProxy(p) {
			return p
		}
	}
	return nil
}

// IsProxy reports whether a provider block only names a configuration that the
// frame's call passes.
func (f *Frame) IsProxy(p *program.Provider) bool {
	return f.Parent != nil && f.Call.Passed(p.LocalName, p.Alias) != nil
}

func (f *Frame) pickProvider(t *promise.Task, decl *program.Provider, use program.ProviderUse, key *program.Expr, keyFrame *Frame, each *Each) (*ProviderInstance, bool) {
	ps, ok := f.providerInstances(t, decl, &use.Range)
	if !ok {
		return nil, false
	}
	k := addr.NoKey
	if key != nil {
		v, ok := Evaluate(t, key, keyFrame.Context(t, each, cty.NilVal))
		if !ok {
			return nil, false
		}
		// Keys are texts. Numbers and booleans become texts, as indexes of maps do.
		if text, err := convert.Convert(v, cty.String); err == nil {
			v = text
		}
		var err error
		if k, err = KeyOf(v); err != nil {
			return nil, t.Report(diag.BadProviderKey.Error(key.Range(), "The key of a provider instance must be known when planning: %s.", err))
		}
	}
	if ps.Unknown {
		return ps.byKey[addr.AnyKey], true
	}
	p := ps.byKey[k]
	switch {
	case p != nil:
		return p, true
	case key == nil:
		return nil, t.Report(diag.BadProviderKey.As("Missing provider instance key").Error(use.Range, "The provider configuration %s.%s has for_each, so a key has to be given in brackets, such as %s.%s[each.key].", use.LocalName, decl.Alias, use.LocalName, decl.Alias))
	}
	return nil, t.Report(diag.BadProviderKey.As("Provider instance not present").Error(use.Range, "The provider configuration %s.%s has no instance %s. Add the key to its for_each, or keep it there until no object needs it any more.", use.LocalName, decl.Alias, k))
}

// KeyOf turns a value into the instance key that it names.
func KeyOf(v cty.Value) (addr.Key, error) {
	v, marks := v.Unmark()
	switch {
	case value.HiddenMarks(marks):
		return addr.NoKey, fmt.Errorf("a sensitive or ephemeral value can't be an instance key")
	case !v.IsKnown():
		return addr.NoKey, fmt.Errorf("the value is known only after apply")
	case v.IsNull():
		return addr.NoKey, fmt.Errorf("the value is null")
	case v.Type() == cty.String:
		return addr.StringKey(v.AsString()), nil
	case v.Type() == cty.Number && v.AsBigFloat().IsInt():
		n, _ := v.AsBigFloat().Int64()
		return addr.IntKey(int(n)), nil
	}
	return addr.NoKey, fmt.Errorf("a string or a whole number is needed, not %s", v.Type().FriendlyName())
}
