package diag

// A Checkable is an object that has conditions: its kind, a Name of CheckableKinds, and
// its address without and with instance keys.
type Checkable struct{ Kind, Address, Instance string }

// A CheckableKind is a kind of objects with conditions.
type CheckableKind struct {
	// Name is what plans call it, Stored what states do.
	Name, Stored string
	// Root begins the addresses of its objects; empty for resources.
	Root string
	// Observes: the conditions are about what others have come to, so that what
	// doesn't hold is a warning.
	Observes bool
}

// CheckableKinds are all of them.
var CheckableKinds = []CheckableKind{
	{Name: "resource", Stored: "resource"},
	{Name: "output_value", Stored: "output", Root: "output"},
	{Name: "input_variable", Stored: "var", Root: "var"},
	{Name: "check", Stored: "check", Root: "check", Observes: true},
}

// KindOf finds the kind for which one of the words is the given one; nil without.
func KindOf(word func(CheckableKind) string, given string) *CheckableKind {
	for i, k := range CheckableKinds {
		if word(k) == given {
			return &CheckableKinds[i]
		}
	}
	return nil
}

// Observed reports whether what doesn't hold is only a warning where it is evaluated.
func (c *Checkable) Observed() bool {
	k := KindOf(func(k CheckableKind) string { return k.Name }, c.Kind)
	return k != nil && k.Observes
}
