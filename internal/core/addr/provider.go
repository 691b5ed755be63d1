package addr

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
)

// A Provider is the global address of a provider: HOST/NAMESPACE/TYPE.
type Provider struct {
	Host      string
	Namespace string
	Type      string
}

// BuiltinHost is the host of providers that are part of the engine.
const BuiltinHost = "terraform.io"

// A Registry is the host of the registry that addresses without a host mean.
type Registry string

// The public registries.
const (
	OpenTofu  Registry = "registry.opentofu.org"
	Terraform Registry = "registry.terraform.io"
)

// Builtin is the provider with that name that is part of the engine.
func Builtin(name string) Provider { return Provider{BuiltinHost, "builtin", name} }

// IsBuiltin reports whether the provider is part of the engine. Its managed objects exist in the
// state and nowhere else.
func (p Provider) IsBuiltin() bool { return p.Host == BuiltinHost && p.Namespace == "builtin" }

// Other is the other public registry, which has most of the same providers.
func (r Registry) Other() Registry {
	if r == Terraform {
		return OpenTofu
	}
	return Terraform
}

// Provider is what a local name means that nothing declares. As in every address of
// a provider, capitals count as small letters.
func (r Registry) Provider(name string) Provider {
	if name == "terraform" {
		return Builtin(name)
	}
	return Provider{string(r), "hashicorp", strings.ToLower(name)}
}

// Has reports whether the provider's address may be written without a host.
func (r Registry) Has(p Provider) bool { return p.Host == string(r) }

// Display leaves out the host that needn't be written.
func (r Registry) Display(p Provider) string {
	if r.Has(p) {
		return p.Namespace + "/" + p.Type
	}
	return p.String()
}

// String is HOST/NAMESPACE/TYPE.
func (p Provider) String() string { return p.Host + "/" + p.Namespace + "/" + p.Type }

// ForDisplay leaves out the public registries' hosts, for texts in which they
// don't matter.
func (p Provider) ForDisplay() string {
	if OpenTofu.Has(p) || Terraform.Has(p) {
		return p.Namespace + "/" + p.Type
	}
	return p.String()
}

// Compare orders by text.
func (p Provider) Compare(o Provider) int { return cmp.Compare(p.String(), o.String()) }

// ParseProvider reads a provider source: TYPE, NAMESPACE/TYPE or
// HOST/NAMESPACE/TYPE.
func (r Registry) ParseProvider(source string) (Provider, error) {
	parts := strings.Split(source, "/")
	for _, part := range parts {
		if part == "" || strings.ContainsAny(part, " \t\n\\\"'`$%{}[]()*?<>|&;") {
			return Provider{}, fmt.Errorf("%q is not a provider source: use NAMESPACE/TYPE or HOST/NAMESPACE/TYPE", source)
		}
	}
	for i := range parts {
		parts[i] = strings.ToLower(parts[i])
	}
	switch len(parts) {
	case 1:
		return Provider{string(r), "hashicorp", parts[0]}, nil
	case 2:
		return Provider{string(r), parts[0], parts[1]}.named(), nil
	case 3:
		return Provider{parts[0], parts[1], parts[2]}.named(), nil
	}
	return Provider{}, fmt.Errorf("%q has too many parts for a provider source: use NAMESPACE/TYPE or HOST/NAMESPACE/TYPE", source)
}

// named is the provider that "-/NAME" of a public registry stands for: states that
// were older than namespaces got that one.
func (p Provider) named() Provider {
	if r := Registry(p.Host); p.Namespace == "-" && (r == OpenTofu || r == Terraform) {
		return r.Provider(p.Type)
	}
	return p
}

// ParseSource is ParseProvider for a source that somebody writes: what no provider can have is
// rejected, where states and lock files are taken as they are.
func (r Registry) ParseSource(source string) (Provider, error) {
	p, err := r.ParseProvider(source)
	if err != nil {
		return Provider{}, err
	}
	namespace := p.Namespace
	if n := len(namespace); r == Terraform && n > 2 { // it takes underscores, but not at the ends
		namespace = namespace[:1] + strings.ReplaceAll(namespace[1:n-1], "_", "a") + namespace[n-1:]
	}
	for _, part := range []struct{ checked, text string }{{namespace, p.Namespace}, {p.Type, p.Type}} {
		if !validPart(part.checked) {
			return Provider{}, fmt.Errorf("%q in %q may have letters, digits and single dashes between them only", part.text, source)
		}
	}
	if name, ok := strings.CutPrefix(p.Type, redundant); ok && validPart(name) {
		// Repositories and programs are called like that.
		if short, ok := strings.CutPrefix(name, "provider-"); ok && validPart(short) {
			name = short
		}
		return Provider{}, fmt.Errorf("the type in %q begins with %q, which no provider's type does; did you mean %q?", source, redundant, r.Display(Provider{p.Host, p.Namespace, name}))
	}
	return p, nil
}

const redundant = "terraform-"

// validPart reports whether text can be a namespace or a type. The namespace "-"
// is that of addresses from before there were namespaces.
func validPart(text string) bool {
	if text == "-" {
		return true
	}
	if strings.HasPrefix(text, "-") || strings.HasSuffix(text, "-") || strings.Contains(text, "--") {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// A ProviderConfig is the address of a provider configuration in a module
// instance, with the key of one of its instances where it has for_each.
type ProviderConfig struct {
	Module   Module
	Provider Provider
	Alias    string
	Key      Key
}

// String is the form of state files: module.x.provider["a/b/c"].alias["key"].
func (c ProviderConfig) String() string {
	text := c.Module.prefix() + `provider["` + c.Provider.String() + `"]`
	if c.Alias != "" {
		text += "." + c.Alias
	}
	return text + c.Key.String()
}

// Compare orders by text.
func (c ProviderConfig) Compare(o ProviderConfig) int { return cmp.Compare(c.String(), o.String()) }
