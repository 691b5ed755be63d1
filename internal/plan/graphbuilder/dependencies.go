package graphbuilder

import (
	"cmp"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/refgraph"
)

// enough is how many resources a list of stored dependencies has before those
// that others in the list lead to are left out. With a limit the lists of a
// state grow with its objects; without one, with their square.
//
// A direct dependency is never left out, so the caller that follows the lists from object to
// object finds all that is transitive. Anyone who doesn't follow them misses an order only
// between the deletions of two objects with so many resources on the paths between them, all
// of which stay.
const enough = 32

// dependencies computes the lists of resources that are stored with objects:
// what an object depends on directly, by way of data sources included, and
// then what that depends on, nearest first.
type dependencies struct {
	table []addr.Resource // ordered by their texts
	ids   map[addr.Resource]int32
	sets  map[*promise.Node][]need
	below [][]int32 // by id: what instances of the resource depend on directly

	objects []*Object
	members map[string]int // how many are in each group, once that is needed

	// seen has the list, by number, that a resource was last put on.
	seen  []int
	lists int
}

// addDependencies fills in the dependencies of all changes.
func (b *builder) addDependencies(p *plan.Plan) {
	d := &dependencies{sets: map[*promise.Node][]need{}}
	d.objects = b.objects
	d.number(b.objects)
	p.Resources = d.table
	for _, o := range b.objects {
		if o.Instance != nil && o.Addr.Deposed == "" {
			own := d.ids[o.Addr.Resource.Erase()]
			d.below[own] = append(d.below[own], resourcesOf(d.direct(o.Instance.Node()))...)
		}
	}
	for own := range d.below {
		d.below[own] = distinct(d.below[own])
	}
	type known struct {
		direct, all []int32
		uses        []plan.Uses
	}
	last := map[int32]known{} // by resource
	written, narrowed := map[int32]bool{}, map[int32]bool{}
	for _, o := range b.objects {
		if o.Instance == nil || o.Change == nil {
			continue
		}
		needs := d.direct(o.Instance.Node())
		own, direct := d.ids[o.Addr.Resource.Erase()], resourcesOf(needs)
		of, ok := last[own]
		if !ok || !slices.Equal(of.direct, direct) {
			of = known{direct: direct, all: d.nearest(own, direct)}
		}
		if o.Addr.Name.Mode != addr.Managed { // nothing waits for the end of a read
			last[own] = of
			o.Change.Dependencies = of.all
			continue
		}
		uses := d.uses(o.Instance, of.all, needs)
		if repeated := o.Addr.Instance != o.Addr.Resource.Erase().Instance(addr.NoKey); repeated && len(of.all) == 0 {
			if _, ok := written[own]; !ok {
				written[own] = refers(o.Instance.Resource) && len(b.in.Written(o.Addr.Instance)) > 0
			}
			if written[own] { // other instances may depend on what the block refers to; this one doesn't
				uses = []plan.Uses{}
			}
		}
		if !ok || !plan.SameUses(uses, of.uses) {
			of.uses = uses
		}
		last[own] = of
		o.Change.Dependencies, o.Change.Uses = of.all, of.uses
		if len(of.uses) > 0 {
			narrowed[own] = true
		}
	}
	d.narrowIndirect(narrowed)
}

// narrowIndirect leaves what is needed through narrowed resources to these: an object
// that waited for whole blocks further on would undo what they narrow.
func (d *dependencies) narrowIndirect(narrowed map[int32]bool) {
	if len(narrowed) == 0 {
		return
	}
	known := map[int32]bool{}
	var leads func(id int32) bool
	leads = func(id int32) bool {
		if found, ok := known[id]; ok {
			return found
		}
		known[id] = narrowed[id] // a circle of blocks ends here
		known[id] = narrowed[id] || slices.ContainsFunc(d.below[id], leads)
		return known[id]
	}
	uses := map[*int32][]plan.Uses{} // by the list of all dependencies
	for _, o := range d.objects {
		if o.Instance == nil || o.Addr.Name.Mode != addr.Managed || o.Change == nil || o.Change.Uses != nil || len(o.Change.Dependencies) == 0 {
			continue
		}
		direct := resourcesOf(d.direct(o.Instance.Node()))
		if len(direct) == len(o.Change.Dependencies) || !slices.ContainsFunc(direct, leads) {
			continue
		}
		at := &o.Change.Dependencies[0]
		if uses[at] == nil {
			for _, id := range o.Change.Dependencies {
				if _, found := slices.BinarySearch(direct, id); !found {
					uses[at] = append(uses[at], plan.Uses{Resource: id})
				}
			}
		}
		o.Change.Uses = uses[at]
	}
}

// refers reports whether a block refers to something that may lead to a resource.
func refers(res *program.Resource) bool {
	return slices.ContainsFunc(refgraph.Block(res), func(ref *program.Ref) bool {
		switch ref.Kind {
		case program.RefResource, program.RefLocal, program.RefCall, program.RefVariable:
			return true
		}
		return false
	})
}

// number gives each resource that has objects its place in the table.
func (d *dependencies) number(objects []*Object) {
	d.ids = map[addr.Resource]int32{}
	type named struct {
		text string
		at   addr.Resource
	}
	var list []named
	for _, o := range objects {
		if o.Instance == nil || o.Addr.Deposed != "" {
			continue
		}
		r := o.Addr.Resource.Erase()
		if _, ok := d.ids[r]; !ok {
			d.ids[r] = 0
			list = append(list, named{r.String(), r})
		}
	}
	slices.SortFunc(list, func(a, b named) int { return strings.Compare(a.text, b.text) })
	d.table = make([]addr.Resource, len(list))
	for i, r := range list {
		d.table[i] = r.at
		d.ids[r.at] = int32(i)
	}
	d.below = make([][]int32, len(d.table))
	d.seen = make([]int, len(d.table))
}

// A need is a resource that a cell depends on, by its number, and the instance; nil
// is all instances.
type need struct {
	id int32
	at *eval.Instance
}

// direct is the resources below a cell, ascending, without those that are
// only reached through a managed resource.
func (d *dependencies) direct(n *promise.Node) []need {
	if s, ok := d.sets[n]; ok {
		return s
	}
	d.sets[n] = nil
	var list []need
	whole, _ := n.Subject.(eval.Block) // the value of all instances of a resource
	if whole.Resource != nil {
		if id, ok := d.ids[addr.Resource{Module: whole.Frame.Addr, Name: whole.Resource.Name}.Erase()]; ok {
			list = append(list, need{id: id})
		}
	}
	for _, dep := range n.Deps() {
		i, ok := dep.Subject.(*eval.Instance)
		if ok && i.Resource != whole.Resource {
			if id, ok := d.ids[i.Addr.Resource.Erase()]; ok {
				list = append(list, need{id, i})
			}
		}
		if !ok || i.Addr.Name.Mode != addr.Managed {
			list = append(list, d.direct(dep)...)
		}
	}
	list = compact(list)
	d.sets[n] = list
	return list
}

// compact sorts needs and leaves out what others say as well. A list of many
// instances becomes one of resources, so that lists of lists stay short.
func compact(list []need) []need {
	if len(list) < 2 {
		return list
	}
	slices.SortFunc(list, func(a, b need) int {
		switch {
		case a.id != b.id:
			return cmp.Compare(a.id, b.id)
		case a.at == nil || b.at == nil:
			return cmp.Compare(boolToInt(a.at != nil), boolToInt(b.at != nil))
		}
		return a.at.Addr.Compare(b.at.Addr)
	})
	kept := list[:0]
	for _, n := range list {
		if len(kept) == 0 || kept[len(kept)-1].id != n.id || kept[len(kept)-1].at != nil && kept[len(kept)-1] != n {
			kept = append(kept, n)
		}
	}
	if len(kept) <= enough {
		return kept
	}
	short := kept[:0]
	for _, n := range kept {
		if len(short) == 0 || short[len(short)-1].id != n.id {
			short = append(short, need{id: n.id})
		}
	}
	return short
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func resourcesOf(needs []need) []int32 {
	var list []int32
	for _, n := range needs {
		if len(list) == 0 || list[len(list)-1] != n.id {
			list = append(list, n.id)
		}
	}
	return list
}

// uses narrows the dependencies of an instance to what it needs directly, nil where
// that says no more than the resources do.
func (d *dependencies) uses(i *eval.Instance, all []int32, needs []need) []plan.Uses {
	var uses []plan.Uses
	narrowed := false
	for _, id := range all {
		first := slices.IndexFunc(needs, func(n need) bool { return n.id == id })
		if first < 0 {
			uses = append(uses, plan.Uses{Resource: id}) // only through others
			continue
		}
		var named []addr.Instance
		for _, n := range needs[first:] {
			if n.id == id && n.at != nil {
				named = append(named, n.at.Addr)
			}
		}
		if len(named) == 0 || d.everything(i, needs[first].at, len(named)) {
			continue
		}
		narrowed = true
		u := plan.Uses{Resource: id}
		if only := named[0]; len(named) == 1 && only.Module == i.Addr.Module && only.Key == i.Addr.Key {
			u.SameKey = true
		} else {
			u.Instances = named
		}
		uses = append(uses, u)
	}
	if !narrowed {
		return nil
	}
	return uses
}

// everything reports whether n instances of a resource are all that a stored
// dependency of the user on that resource means.
func (d *dependencies) everything(user, one *eval.Instance, n int) bool {
	if one.Frame == user.Frame {
		return len(one.Frame.Expanded(one.Resource)) == n
	}
	if d.members == nil {
		d.members = map[string]int{}
		for _, o := range d.objects {
			if o.Instance == nil || o.Addr.Deposed != "" {
				continue
			}
			for _, group := range GroupsOf(o.Addr.Instance) {
				d.members[group]++
			}
		}
	}
	return d.members[GroupFor(user.Addr, one.Addr.Resource.Erase())] == n
}

func distinct(list []int32) []int32 {
	slices.Sort(list)
	return slices.Compact(list)
}

// nearest is a resource's direct dependencies and what they lead to, as long
// as the list is short; ascending.
func (d *dependencies) nearest(own int32, direct []int32) []int32 {
	d.lists++
	d.seen[own] = d.lists
	list := []int32{}
	put := func(id int32) {
		if d.seen[id] != d.lists {
			d.seen[id] = d.lists
			list = append(list, id)
		}
	}
	for _, id := range direct {
		put(id)
	}
	for at := 0; at < len(list) && len(list) < enough; at++ {
		for _, id := range d.below[list[at]] {
			if len(list) < enough {
				put(id)
			}
		}
	}
	slices.Sort(list)
	return list
}
