package arrange

import (
	"slices"
	"strings"

	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/promise"
)

// enough is how many resources a list of stored dependencies has before those
// that others in the list lead to are left out. With a limit the lists of a
// state grow with its objects; without one, with their square.
//
// A direct dependency is never left out, so whoever follows the lists from
// object to object finds all that is transitive. Who doesn't follow them
// misses an order only between the deletions of two objects with so many
// resources on the paths between them, all of which stay.
const enough = 32

// dependencies computes the lists of resources that are stored with objects:
// what an object depends on directly, by way of data sources included, and
// then what that depends on, nearest first.
type dependencies struct {
	table []addr.Resource // ordered by their texts
	ids   map[addr.Resource]int32
	sets  map[*promise.Node][]int32
	below [][]int32 // by id: what instances of the resource depend on directly

	// seen has the list, by number, that a resource was last put on.
	seen  []int
	lists int
}

// addDependencies fills in the dependencies of all changes.
func (b *builder) addDependencies(p *plan.Plan) {
	d := &dependencies{sets: map[*promise.Node][]int32{}}
	d.number(b.objects)
	p.Resources = d.table
	for _, o := range b.objects {
		if o.Instance != nil && o.Addr.Deposed == "" {
			own := d.ids[o.Addr.Resource.Erase()]
			d.below[own] = append(d.below[own], d.direct(o.Instance.Node())...)
		}
	}
	for own := range d.below {
		d.below[own] = distinct(d.below[own])
	}
	type known struct{ direct, all []int32 }
	last := map[int32]known{} // by resource
	for _, o := range b.objects {
		if o.Instance == nil || o.Change == nil {
			continue
		}
		own, direct := d.ids[o.Addr.Resource.Erase()], d.direct(o.Instance.Node())
		of, ok := last[own]
		if !ok || !slices.Equal(of.direct, direct) {
			of = known{direct, d.nearest(own, direct)}
			last[own] = of
		}
		o.Change.Dependencies = of.all
	}
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

// direct is the resources below a cell, ascending, without those that are
// only reached through a managed resource.
func (d *dependencies) direct(n *promise.Node) []int32 {
	if s, ok := d.sets[n]; ok {
		return s
	}
	d.sets[n] = nil
	var list []int32
	for _, dep := range n.Deps() {
		i, ok := dep.Subject.(*eval.Instance)
		if ok {
			if id, ok := d.ids[i.Addr.Resource.Erase()]; ok {
				list = append(list, id)
			}
		}
		if !ok || i.Addr.Name.Mode != addr.Managed {
			list = append(list, d.direct(dep)...)
		}
	}
	list = distinct(list)
	d.sets[n] = list
	return list
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
