package graphbuilder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/order"
)

// warnInUse warns of objects that are deleted before their users are updated. Many providers fail
// to delete an object in use, and the apply would stop there. If a replacement causes it, the warning
// proposes create_before_destroy.
func (b *builder) warnInUse(result order.Result) diag.List {
	w := &usage{b: b, result: result, at: places(result.Steps, len(b.vertices)), memo: map[[2]int][]int{}}
	blamed := map[int][]int{} // objects to create first, with those in their way
	for i, o := range b.objects {
		if o.Change == nil || o.Change.Action != plan.Update {
			continue
		}
		for _, deleted := range w.before(i) {
			if z := w.blame(deleted); z >= 0 && !slices.Contains(blamed[z], i) {
				blamed[z] = append(blamed[z], i)
			}
		}
	}
	var diags diag.List
	for z, o := range b.objects {
		if users := blamed[z]; len(users) > 0 {
			diags.Add(w.warning(o, users))
		}
	}
	return diags
}

// usage finds out who uses what.
type usage struct {
	b      *builder
	result order.Result
	at     [][2]int // where the legs of each vertex are among the steps, -1 for none
	memo   map[[2]int][]int
}

// places are where the legs of each vertex are among the steps.
func places(steps []order.Step, n int) [][2]int {
	at := make([][2]int, n)
	for i := range at {
		at[i] = [2]int{-1, -1}
	}
	for n, s := range steps {
		if s.Kind == order.Create || s.Kind == order.Delete {
			at[s.Object][s.Kind] = n
		}
	}
	return at
}

// before lists what an updated object uses and what is deleted before it: what
// it refers to and did so before, and what else its old form mentions.
func (w *usage) before(user int) []int {
	var refers, depended, list []int
	v := w.b.vertices[user]
	for _, to := range v.Config {
		refers = append(refers, w.gone(to, 0)...)
	}
	for _, to := range v.State {
		depended = append(depended, w.gone(to, 1)...)
	}
	old := w.b.objects[user].Change.Before
	for _, d := range append(refers, depended...) {
		if w.at[user][order.Create] < w.at[d][order.Delete] || slices.Contains(list, d) {
			continue
		}
		if slices.Contains(refers, d) && slices.Contains(depended, d) || mentions(old, identity(w.b.objects[d])) {
			list = append(list, d)
		}
	}
	return list
}

// several is how many deleted objects of a group are inspected: a warning doesn't need all of
// them.
const several = 16

// gone lists the objects that a vertex stands for and that are deleted
// without being created first. kind is 0 for dependencies of configuration, 1
// for stored ones.
func (w *usage) gone(v, kind int) []int {
	if v < len(w.b.objects) {
		o := w.b.objects[v]
		if o.Change != nil && w.at[v][order.Delete] >= 0 && !w.result.CBD[v] && deletes(o.Change.Action) && !o.Provider.Provider.IsBuiltin() {
			return []int{v}
		}
		return nil
	}
	if w.b.vertex(v).provider != nil || w.b.vertex(v).output != nil {
		return nil
	}
	key := [2]int{v, kind}
	if list, ok := w.memo[key]; ok {
		return list
	}
	edges := w.b.vertices[v].Config
	if kind == 1 {
		edges = w.b.vertices[v].State
	}
	var list []int
	for _, to := range edges {
		if len(list) < several {
			list = append(list, w.gone(to, kind)...)
		}
	}
	w.memo[key] = list
	return list
}

func deletes(a plan.Action) bool { return a == plan.Delete || a == plan.DeleteThenCreate }

// blame finds the replacement that makes a deletion come early: the object's
// own, or one of something that it depended on. -1 is nobody.
func (w *usage) blame(deleted int) int {
	seen := map[int]bool{}
	todo := []int{deleted}
	for len(todo) > 0 {
		v := todo[0]
		todo = todo[1:]
		if seen[v] {
			continue
		}
		seen[v] = true
		if v < len(w.b.objects) && w.b.objects[v].Change != nil && w.b.objects[v].Change.Action == plan.DeleteThenCreate {
			return v
		}
		todo = append(todo, w.b.vertices[v].State...)
	}
	return -1
}

// identity is the id of an object that is deleted as text, empty without.
func identity(o *Object) string {
	v, _ := o.Change.Before.UnmarkDeep()
	if v.IsNull() || !v.Type().HasAttribute("id") {
		return ""
	}
	if id := v.GetAttr("id"); id.Type() == cty.String && id.IsKnown() && !id.IsNull() {
		return id.AsString()
	}
	return ""
}

// mentions reports whether some text in a value is the given one.
func mentions(v cty.Value, text string) bool {
	found := false
	texts(v, func(one string) { found = found || one == text })
	return found && text != ""
}

// texts goes over the strings in a value.
func texts(v cty.Value, each func(text string)) {
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			each(v.AsString())
		}
		return true, nil
	})
}

func (w *usage) warning(o *Object, users []int) diag.Diagnostic {
	const shown = 3
	names := make([]string, 0, shown)
	for _, u := range users {
		if len(names) < shown {
			names = append(names, w.b.objects[u].Addr.String())
		}
	}
	who := strings.Join(names, ", ")
	if len(users) > shown {
		who += fmt.Sprintf(" and %d more", len(users)-shown)
	}
	d := diag.Diagnostic{
		Severity: diag.Warning, Code: InUse.Name, Summary: InUse.Summary, Address: o.Addr.String(),
		Detail: fmt.Sprintf("The plan deletes %s before it creates the replacement, and what refers to it is updated only afterwards: %s. Many providers can't delete objects in use; then apply fails there. To have the replacement created first and the old object deleted when nobody uses it any more, add this to the resource block of %s:\n\n  lifecycle {\n    create_before_destroy = true\n  }", o.Addr, who, o.Addr.Resource.Erase()),
	}
	if o.Instance != nil {
		d.Subject = o.Instance.Resource.Range.Ptr()
	}
	return d
}
