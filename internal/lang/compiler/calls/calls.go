// Package calls checks calls of modules against the called programs: inputs, read outputs, and
// provider configurations.
//
// It owns what both have to agree about. It doesn't load or compile anything.
package calls

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// Check compares a call with a program that it calls: provider
// configurations, and what has no effect there.
func Check(call *program.Call, child *program.Program) diag.List {
	k := &callChecker{call: call, child: child}
	k.providers()
	if b := child.Backend; b != nil {
		k.diags.Add(BackendIgnored.Warning(b.Range, "Only the root module can say where states are. This block belongs to a module that is called, and has no effect: remove it."))
	}
	return k.diags
}

// CheckRoot checks what only modules that are called may have: the outputs of a
// root module are kept in the state, where ephemeral values can't be.
func CheckRoot(p *program.Program) diag.List {
	var diags diag.List
	for _, o := range p.Outputs {
		if o.Ephemeral {
			diags.Add(diag.Diagnostic{Severity: diag.Error, Code: diag.Ephemeral.Name, Summary: "Invalid output configuration", Subject: o.Range.Ptr(), Use: true,
				Detail: "Root modules are not allowed to have outputs defined as ephemeral: their values are kept in the state. Remove the argument, and use ephemeralasnull for the parts of the value that are ephemeral."})
		}
	}
	return diags
}

type callChecker struct {
	call  *program.Call
	child *program.Program
	diags diag.List
}

// A Variant is a program that instances of a call load. Instance is the address
// of one of them, empty where all load the same.
type Variant struct {
	Program  *program.Program
	Instance string
}

// where names the variant in messages.
func (v Variant) where(call *program.Call) string {
	what := "The module in "
	if call.Kind == addr.Stack {
		what = "The stack in "
	}
	return what + v.Program.Dir
}

// CheckInputs compares the inputs of a call with the variables of the programs
// that its instances load. An input is given to the instances that have a
// variable of that name; one of them has to.
func CheckInputs(call *program.Call, variants []Variant) diag.List {
	var diags diag.List
	if call.Object != nil || slices.ContainsFunc(variants, func(v Variant) bool { return v.Program.Partial }) {
		return nil
	}
	given := make(map[string]bool, len(call.Inputs))
	for _, in := range call.Inputs {
		given[in.Name] = true
		var names, dirs []string
		found := false
		for _, variant := range variants {
			found = found || variant.Program.VariableByName[in.Name] != nil
			dirs = append(dirs, variant.Program.Dir)
			for _, v := range variant.Program.Variables {
				names = append(names, v.Name)
			}
		}
		if found {
			continue
		}
		where := variants[0].where(call) + " has"
		if len(variants) > 1 {
			where = "The modules in " + strings.Join(dirs, ", ") + " have"
		}
		if call.Kind != addr.ModuleCall {
			diags.Add(UnusedInput.Warning(in.Range, "%s no variable of that name, so the input %q has no effect.%s", where, in.Name, syntax.Suggest(in.Name, names)))
			continue
		}
		diags.Add(diag.Unsupported.Error(in.Range, "An argument named %q is not expected here.%s %s no variable of that name.", in.Name, syntax.Suggest(in.Name, names), where))
	}
	for _, variant := range variants {
		for _, v := range variant.Program.Variables {
			switch {
			case !v.Required() || given[v.Name]:
			case len(variants) > 1:
				diags.Add(diag.Missing.Error(call.Range, "The argument %q is required by %s, which is loaded from %s, but no definition was found.", v.Name, variant.Instance, variant.Program.Dir))
			default:
				diags.Add(diag.Missing.Error(call.Range, "The argument %q is required, but no definition was found.", v.Name))
			}
		}
	}
	for i := range diags {
		diags[i].Use = call.Kind != addr.Stack
	}
	return diags
}

// CheckReads checks the names of the outputs that the caller reads. Where
// instances of the call load different programs, one of them has to have the
// output here; whether it is the right one is found where the reference is
// evaluated.
func CheckReads(call *program.Call, children []*program.Program) diag.List {
	var diags diag.List
	for _, ref := range call.Reads {
		var names, dirs []string
		found := false
		for _, child := range children {
			dirs = append(dirs, child.Dir)
			found = found || child.OutputByName[ref.Attr] != nil || child.Partial
			for _, o := range child.Outputs {
				names = append(names, o.Name)
			}
		}
		if found {
			continue
		}
		where := "the module in " + strings.Join(dirs, "") + " has"
		if len(dirs) > 1 {
			where = "the modules in " + strings.Join(dirs, ", ") + " have"
		}
		diags.Add(diag.NoAttribute.Error(ref.Range, "This object does not have an attribute named %q: %s no output of that name.%s", ref.Attr, where, syntax.Suggest(ref.Attr, names)))
	}
	for i := range diags {
		diags[i].Use = true
	}
	return diags
}

func (k *callChecker) providers() {
	own := map[program.ProviderName]*program.Provider{}
	for _, p := range k.child.Providers {
		own[program.ProviderName{Local: p.LocalName, Alias: p.Alias}] = p
	}
	k.ownProviders()
	k.proxies()
	passed := map[program.ProviderName]bool{}
	for _, p := range k.call.Providers {
		name := program.ProviderName{Local: p.LocalName, Alias: p.Alias}
		passed[name] = true
		if config := own[name]; config != nil && !isEmpty(config) {
			k.diags.Add(Mismatch.As("Cannot override provider configuration").Error(p.Range, "The module in %s has its own local configuration for %s, and so it cannot accept one from its caller. Remove the provider block there, or don't pass %s.", k.child.Dir, name, name))
			continue
		}
		k.passed(p, own[name] != nil)
	}
	for _, local := range sortedNames(k.child.Requirements) {
		r := k.child.Requirements[local]
		for _, alias := range r.Aliases {
			name := program.ProviderName{Local: local, Alias: alias}
			if passed[name] || own[name] != nil {
				continue
			}
			k.diags.Add(MissingProvider.Error(k.call.Range, "The child module requires an additional configuration for provider %s, with the local name %q. Add an entry for %s to the \"providers\" argument of the module block, to choose the configuration that it uses.", k.child.Registry.Display(r.Provider), name, name))
		}
	}
}

// proxies warns of provider blocks that only name a configuration that is
// passed, once for each provider.
func (k *callChecker) proxies() {
	told := map[string]bool{}
	for _, p := range k.child.Providers {
		if told[p.LocalName] || !isEmpty(p) {
			continue
		}
		told[p.LocalName] = true
		k.diags.Add(diag.Outdated.As("Redundant empty provider block").Warning(p.Range, "The module in %s has empty provider blocks to say that it is passed configurations of %q. Remove them, and add an entry to its required_providers:\n%s", k.child.Dir, p.LocalName, k.entry(p.LocalName)))
	}
}

// entry is what a module writes in required_providers of a provider in place of its empty blocks.
func (k *callChecker) entry(local string) string {
	text := "    " + local + " = {\n"
	if r := k.child.Requirements[local]; r != nil {
		text += fmt.Sprintf("      source = %q\n", k.child.Registry.Display(r.Provider))
	}
	var aliases []string
	for _, p := range k.child.Providers {
		if p.LocalName == local && p.Alias != "" && isEmpty(p) {
			aliases = append(aliases, local+"."+p.Alias)
		}
	}
	if len(aliases) > 0 {
		text += "      configuration_aliases = [" + strings.Join(aliases, ", ") + "]\n"
	}
	return text + "    }"
}

// isEmpty reports whether a provider block is only a name for a configuration
// that is passed, as early versions of the language asked for.
func isEmpty(p *program.Provider) bool {
	if p.ForEach != nil || p.Config == nil {
		return p.ForEach == nil
	}
	attrs, diags := p.Config.JustAttributes()
	return len(attrs) == 0 && !diags.HasErrors()
}

// ownProviders rejects to repeat or postpone a module with configurations, which have to exist
// once and for as long as objects do.
func (k *callChecker) ownProviders() {
	if !slices.ContainsFunc(k.child.Providers, func(p *program.Provider) bool { return !isEmpty(p) }) {
		return
	}
	var at hcl.Range
	switch e := k.call.Repeat.Expr(); {
	case e != nil:
		at = e.Range()
	case len(k.call.DependsOn) > 0:
		at = hcl.RangeBetween(k.call.DependsOn[0].Range, k.call.DependsOn[len(k.call.DependsOn)-1].Range)
	default:
		return
	}
	k.diags.Add(OwnProviders.Error(at, "The module in %s contains its own local provider configurations, and so calls to it may not use the count, for_each, enabled or depends_on arguments. Let it expect provider configurations from its caller instead.", k.child.Dir))
}

// passed checks that the child knows the configuration it is given, and that
// both mean the same provider. An undeclared provider is accepted where the
// name implies a provider, as modules rely on that.
func (k *callChecker) passed(p *program.PassedProvider, proxied bool) {
	name := program.ProviderName{Local: p.LocalName, Alias: p.Alias}
	r := k.child.Requirements[p.LocalName]
	inner := k.child.Registry.Provider(p.LocalName)
	if r != nil {
		inner = r.Provider
	}
	undeclared := r == nil || r.Implied
	if p.Alias != "" {
		undeclared = !r.HasAlias(p.Alias) && !proxied
	}
	if undeclared {
		if inner != k.child.Registry.Provider(inner.Type) {
			k.diags.Add(UndefinedProvider.Error(p.Range, "The child module does not declare any provider requirement with the local name %q. To accept this configuration, it needs configuration_aliases = [%s] in its required_providers entry for %q.", name, name, p.LocalName))
			return
		}
		if k.call.Kind != addr.Component { // which is given all providers, also those that its module only implies
			k.diags.Add(UndefinedProvider.Warning(p.Range, "There is no explicit declaration for local provider name %q in the module in %s, so a configuration of %q is assumed. Add it to required_providers there.", name, k.child.Dir, k.child.Registry.Display(inner)))
		}
	}
	if inner != p.Outer.Provider {
		k.diags.Add(Mismatch.Error(p.Range, "The configuration is one of provider %q, but %q in the module in %s is %q.", k.child.Registry.Display(p.Outer.Provider), p.LocalName, k.child.Dir, k.child.Registry.Display(inner)))
	}
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
