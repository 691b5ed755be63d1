// Package edit edits a state without calling a provider: move, remove, taint and replace.
//
// It owns what such a change results in, and which ones are rejected. It doesn't read, lock or
// write states: each change is a function of snapshots.
package edit

import (
	"encoding/json"
	"fmt"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/suggest"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
)

// Targets reads addresses of what a state has.
func Targets(texts []string) ([]addr.Target, diag.List) {
	var targets []addr.Target
	var diags diag.List
	for _, text := range texts {
		t, err := addr.ParsePattern(text)
		if err != nil {
			diags.Add(diag.BadAddress.As("Error parsing instance address: "+text).New(diag.Error, "%s. To view the available instances, use \"state list\".", err))
			continue
		}
		targets = append(targets, t)
	}
	return targets, diags
}

// Unmatched is about a pattern that names nothing in a state.
func Unmatched(s *state.Snapshot, t addr.Target) diag.Diagnostic {
	var all []addr.Resource
	for at := range s.Objects {
		all = append(all, at.Resource)
	}
	return diag.NoInstance.As("Nothing matches "+t.String()).New(diag.Error, "The state has no %s that the pattern names. %s", t.Kind(), t.Choices(all))
}

// Named are the current objects that an address of an instance or a pattern names; there is
// at least one.
func Named(s *state.Snapshot, text string) ([]addr.Object, diag.List) {
	t, err := addr.ParsePattern(text)
	if err == nil && t.IsPattern() {
		found := Select(s, []addr.Target{t}, "")
		if len(found) == 0 {
			return nil, diag.List{Unmatched(s, t)}
		}
		return found, nil
	}
	at, diags := one(s, text)
	return []addr.Object{at}, diags
}

// one is the current object of an instance.
func one(s *state.Snapshot, text string) (addr.Object, diag.List) {
	const list = "To view the available instances, use \"state list\"."
	i, err := addr.ParseInstance(text)
	if err != nil {
		return addr.Object{}, diag.BadAddress.As("Error parsing instance address: "+text).List("%s. This command requires that the address references one specific instance. %s", err, list)
	}
	at := addr.Object{Instance: i}
	if s.Objects[at] == nil {
		return at, diag.NoInstance.As("No instance found for the given address").List("This command requires that the address references one specific instance. %s Please modify the address to reference a specific instance.%s", list, nearest(s, i))
	}
	return at, nil
}

// nearest proposes the address that was probably meant, among instances and resources.
func nearest(s *state.Snapshot, i addr.Instance) string {
	var names []string
	for at := range s.Objects {
		if names = append(names, at.Instance.String()); i.Key == addr.NoKey && at.Key != addr.NoKey {
			names = append(names, at.Resource.String())
		}
	}
	return suggest.Ask(i.String(), names)
}

// Has reports whether a state has anything that the target names.
func Has(s *state.Snapshot, t addr.Target) bool {
	for at := range s.Objects {
		if t.Matches(at.Instance) {
			return true
		}
	}
	return false
}

// Select lists the current objects that targets name, all without any. With an
// id only those that have it.
func Select(s *state.Snapshot, targets []addr.Target, id string) []addr.Object {
	return slices.DeleteFunc(s.Addresses(), func(at addr.Object) bool {
		named := len(targets) == 0 || slices.ContainsFunc(targets, func(t addr.Target) bool { return t.Matches(at.Instance) })
		return at.Deposed != "" || !named || id != "" && attributeText(s.Objects[at], "id") != id
	})
}

// attributeText is an attribute of a stored object if it is a string.
func attributeText(o *state.Object, name string) string {
	if o.Flat != nil {
		return o.Flat[name]
	}
	var attributes map[string]any
	if json.Unmarshal(o.JSON, &attributes) != nil {
		return ""
	}
	text, _ := attributes[name].(string)
	return text
}

// Remove forgets what targets name. It fails at the first that names nothing,
// and lists the instances that were found before that.
func Remove(s *state.Snapshot, targets []addr.Target) (next *state.Snapshot, removed []addr.Instance, diags diag.List) {
	next = s.Clone()
	seen := map[addr.Instance]bool{}
	for _, t := range targets {
		found := false
		for _, at := range s.Addresses() {
			if !t.Matches(at.Instance) {
				continue
			}
			found = true
			delete(next.Objects, at)
			if !seen[at.Instance] {
				seen[at.Instance] = true
				removed = append(removed, at.Instance)
			}
		}
		if !found && t.IsPattern() {
			return nil, removed, append(diags, Unmatched(s, t))
		}
		if !found {
			diags.Add(diag.BadAddress.As("Invalid target address").New(diag.Error, "No matching objects found for %s. To view the available instances, use \"state list\". Please modify the address to reference a specific instance.%s", t, nearest(s, t.Instance())))
			return nil, removed, diags
		}
	}
	return next, removed, nil
}

// Markable reads the address of an instance that can be tainted, or a pattern for some.
func Markable(text string) (addr.Target, diag.List) {
	invalid := diag.BadAddress.As("Invalid resource instance address")
	t, err := addr.ParsePattern(text)
	if err == nil && !t.IsPattern() {
		_, err = addr.ParseInstance(text)
	}
	switch {
	case err != nil:
		return t, invalid.List("%s.", err)
	case t.IsModule():
		return t, invalid.List("%s names modules, and only resource instances can be tainted. For all that is in them write %s.*.*", t, t)
	case t.Name.Mode != addr.Managed:
		return t, invalid.List("Resource instance %s cannot be tainted: only managed resources can.", t)
	}
	return t, nil
}

// Mark says of an instance, or of all that a pattern names, that they are tainted, or that
// they aren't. Where there is no such object, absent says why. The state may be nil.
func Mark(s *state.Snapshot, t addr.Target, tainted bool) (next *state.Snapshot, marked []addr.Instance, absent string, diags diag.List) {
	if s == nil {
		return nil, nil, fmt.Sprintf("The state currently contains no resource instances whatsoever, so %s cannot be changed. Perhaps nothing was applied yet, or the state is in another workspace.", t), nil
	}
	if t.IsPattern() {
		next, marked, diags = markMatches(s, t, tainted)
		if next == nil && diags == nil {
			absent = Unmatched(s, t).Detail
		}
		return next, marked, absent, diags
	}
	i := t.Instance()
	o := s.Objects[addr.Object{Instance: i}]
	switch {
	case o == nil && hasDeposed(s, i):
		return nil, nil, fmt.Sprintf("Resource instance %s is currently part-way through a create_before_destroy replacement action: it has no current object. Run apply to complete it.", i), nil
	case o == nil:
		return nil, nil, fmt.Sprintf("Resource instance %s was not found in the state.%s", i, nearest(s, i)), nil
	case !o.Tainted && !tainted:
		return nil, nil, "", NotTainted.List("Resource instance %s is not currently tainted, and so it cannot be untainted.", i)
	}
	next = s.Clone()
	mark(next, i, tainted)
	return next, []addr.Instance{i}, "", nil
}

func mark(s *state.Snapshot, i addr.Instance, tainted bool) {
	at := addr.Object{Instance: i}
	changed := *s.Objects[at]
	changed.Tainted = tainted
	s.Objects[at] = &changed
}

// markMatches marks those of what a pattern names that aren't so yet. Without a result and
// a problem there is nothing that it names.
func markMatches(s *state.Snapshot, t addr.Target, tainted bool) (next *state.Snapshot, marked []addr.Instance, diags diag.List) {
	found := managed(s, t)
	if len(found) == 0 {
		return nil, nil, nil
	}
	next = s.Clone()
	for _, i := range found {
		if s.Objects[addr.Object{Instance: i}].Tainted != tainted {
			mark(next, i, tainted)
			marked = append(marked, i)
		}
	}
	if len(marked) == 0 && !tainted {
		return nil, nil, NotTainted.List("None of the %d resource instances that %s names is currently tainted, and so none can be untainted.", len(found), t)
	}
	return next, marked, nil
}

// In has the instances of managed resources that patterns name in a state, which may be nil.
// That none exists is a problem.
func In(s *state.Snapshot) func(addr.Target) ([]addr.Instance, diag.List) {
	if s == nil {
		s = state.Empty()
	}
	return func(t addr.Target) ([]addr.Instance, diag.List) {
		found := managed(s, t)
		if len(found) == 0 {
			return nil, diag.List{Unmatched(s, t)}
		}
		return found, nil
	}
}

// managed lists the instances of managed resources that a target names.
func managed(s *state.Snapshot, t addr.Target) []addr.Instance {
	var list []addr.Instance
	for _, at := range Select(s, []addr.Target{t}, "") {
		if at.Name.Mode == addr.Managed {
			list = append(list, at.Instance)
		}
	}
	return list
}

func hasDeposed(s *state.Snapshot, i addr.Instance) bool {
	for at := range s.Objects {
		if at.Instance == i && at.Deposed != "" {
			return true
		}
	}
	return false
}

// ReplaceProvider gives the objects of one provider to another, and lists their
// resources.
func ReplaceProvider(s *state.Snapshot, from, to addr.Provider) (next *state.Snapshot, changed []addr.Resource) {
	next = s.Clone()
	for _, at := range s.Addresses() {
		o := *s.Objects[at]
		if o.Provider.Provider != from {
			continue
		}
		o.Provider.Provider = to
		next.Objects[at] = &o
		if len(changed) == 0 || changed[len(changed)-1] != at.Resource {
			changed = append(changed, at.Resource)
		}
	}
	return next, changed
}

// Push is a state as it takes the place of the present one, which may be nil. One of another
// lineage, or an older one, is rejected unless forced.
func Push(present, pushed *state.Snapshot, force bool) (*state.Snapshot, diag.List) {
	if present == nil {
		return pushed, nil
	}
	same := statefile.Equal(pushed, present)
	if force {
		next := *pushed
		if pushed.Lineage == present.Lineage && !same {
			next.Serial = max(pushed.Serial, present.Serial+1)
		}
		return &next, nil
	}
	switch {
	case pushed.Lineage != present.Lineage && present.Lineage != "":
		return nil, diag.Unwritable.As("Failed to write state").List("cannot import state with lineage %q over unrelated state with lineage %q. Use -force to do it nevertheless: the present state is lost then.", pushed.Lineage, present.Lineage)
	case pushed.Serial < present.Serial:
		return nil, diag.Unwritable.As("Failed to write state").List("cannot import state with serial %d over newer state with serial %d. Use -force to do it nevertheless: the newer state is lost then.", pushed.Serial, present.Serial)
	case pushed.Serial == present.Serial && !same:
		return nil, diag.Unwritable.As("Failed to write state").List("cannot overwrite existing state with serial %d with a different state that has the same serial. Use -force to do it nevertheless.", pushed.Serial)
	}
	return pushed, nil
}

// A Difference is what becomes of one object on the way from one state to
// another: it goes (-), comes (+) or changes (~).
type Difference struct {
	Sign   byte
	Object addr.Object
}

// Differences are those of the objects: first what goes, then what comes and
// changes.
func Differences(now, next *state.Snapshot) []Difference {
	var list []Difference
	for _, at := range now.Addresses() {
		if next.Objects[at] == nil {
			list = append(list, Difference{'-', at})
		}
	}
	for _, at := range next.Addresses() {
		switch o := now.Objects[at]; {
		case o == nil:
			list = append(list, Difference{'+', at})
		case !statefile.SameObject(o, next.Objects[at]):
			list = append(list, Difference{'~', at})
		}
	}
	return list
}
