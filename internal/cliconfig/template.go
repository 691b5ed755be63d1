package cliconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/net/ociregistry"
)

// The names that a template can use, with their parts of the pattern.
var templateNames = []struct {
	name, what string
	part       func(Pattern) string
}{
	{"hostname", "registry hostname", func(p Pattern) string { return p.Host }},
	{"namespace", "provider namespace", func(p Pattern) string { return p.Namespace }},
	{"type", "provider type", func(p Pattern) string { return p.Type }},
}

// Repository is where an oci_mirror has a provider.
func (m *Method) Repository(p addr.Provider) (ociregistry.Repository, error) {
	template, problems := hclsyntax.ParseTemplate([]byte(m.Location), "repository_template", hcl.InitialPos)
	if problems.HasErrors() {
		return ociregistry.Repository{}, fmt.Errorf("%q isn't a template: %w", m.Location, problems)
	}
	return repository(template, p)
}

func repository(template hclsyntax.Expression, p addr.Provider) (from ociregistry.Repository, err error) {
	v, problems := template.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
		"hostname": cty.StringVal(p.Host), "namespace": cty.StringVal(p.Namespace), "type": cty.StringVal(p.Type),
	}})
	if problems.HasErrors() {
		return from, problems
	}
	if v, err = convert.Convert(v, cty.String); err != nil || v.IsNull() || !v.IsKnown() {
		return from, fmt.Errorf("it gives no text for %s", p)
	}
	var found bool
	if from.Registry, from.Name, found = strings.Cut(v.AsString(), "/"); !found {
		return from, fmt.Errorf("%q has no name of a repository after the host of the registry", v.AsString())
	}
	return from, from.Check()
}

// CheckTemplate finds what is wrong with the template of an oci_mirror: that it names no
// repository, or the same one for several providers.
func (m *Method) CheckTemplate() (wrong []string) {
	template, problems := hclsyntax.ParseTemplate([]byte(m.Location), "repository_template", hcl.InitialPos)
	if problems.HasErrors() {
		return []string{fmt.Sprintf("%q isn't a template: %s.", m.Location, problems[0].Detail)}
	}
	used := map[string]bool{}
	for _, reference := range template.Variables() {
		used[reference.RootName()] = true
	}
	for _, n := range templateNames {
		one := map[string]bool{}
		for _, p := range m.Include {
			one[n.part(p)] = true
		}
		if !used[n.name] && (len(one) != 1 || one["*"]) {
			wrong = append(wrong, fmt.Sprintf("The template has to refer to ${%s}, because \"include\" doesn't say one %s: several providers would be in the same repository.", n.name, n.what))
		}
		delete(used, n.name)
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		wrong = append(wrong, fmt.Sprintf("There is no %q in a repository template: it can refer to hostname, namespace and type.", name))
	}
	if wrong != nil {
		return wrong
	}
	if _, err := repository(template, addr.Provider{Host: "example.com", Namespace: "namespace", Type: "type"}); err != nil {
		wrong = append(wrong, fmt.Sprintf("The template can't be used, such as for example.com/namespace/type: %s.", err))
	}
	return wrong
}
