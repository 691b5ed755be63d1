package addr

import (
	"cmp"
	"fmt"
	"strings"
)

// A Provider is the global address of a provider: HOST/NAMESPACE/TYPE.
type Provider struct {
	Host      string
	Namespace string
	Type      string
}

// BuiltinHost is the host of providers that are part of the engine.
const BuiltinHost = "terraform.io"

// DefaultHost is the registry that short provider addresses mean.
const DefaultHost = "registry.opentofu.org"

// Builtin is the provider with that name that is part of the engine.
func Builtin(name string) Provider { return Provider{BuiltinHost, "builtin", name} }

// IsBuiltin reports whether the provider is part of the engine.
func (p Provider) IsBuiltin() bool { return p.Host == BuiltinHost && p.Namespace == "builtin" }

// DefaultProvider is what a local name means that nothing declares.
func DefaultProvider(name string) Provider {
	if name == "terraform" {
		return Builtin(name)
	}
	return Provider{DefaultHost, "hashicorp", name}
}

// String is HOST/NAMESPACE/TYPE.
func (p Provider) String() string { return p.Host + "/" + p.Namespace + "/" + p.Type }

// ForDisplay leaves out the default host.
func (p Provider) ForDisplay() string {
	if p.Host == DefaultHost {
		return p.Namespace + "/" + p.Type
	}
	return p.String()
}

// Compare orders by text.
func (p Provider) Compare(o Provider) int { return cmp.Compare(p.String(), o.String()) }

// ParseProvider reads a provider source: TYPE, NAMESPACE/TYPE or
// HOST/NAMESPACE/TYPE.
func ParseProvider(source string) (Provider, error) {
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
		return Provider{DefaultHost, "hashicorp", parts[0]}, nil
	case 2:
		return Provider{DefaultHost, parts[0], parts[1]}, nil
	case 3:
		return Provider{parts[0], parts[1], parts[2]}, nil
	}
	return Provider{}, fmt.Errorf("%q has too many parts for a provider source: use NAMESPACE/TYPE or HOST/NAMESPACE/TYPE", source)
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
