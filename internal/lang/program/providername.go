package program

// A ProviderName is a provider configuration within a module.
type ProviderName struct{ Local, Alias string }

func (n ProviderName) String() string {
	if n.Alias == "" {
		return n.Local
	}
	return n.Local + "." + n.Alias
}
