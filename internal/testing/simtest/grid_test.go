package simtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/state"
)

var grids = flag.Int("grids", 200, "how many random histories with references between instances are tried")

// at finds the stored object of an address, nil for none.
func (w *World) at(address string) *state.Object {
	i, err := addr.ParseInstance(address)
	if err != nil {
		panic(err)
	}
	return w.State.Objects[addr.Object{Instance: i}]
}

// wanted is what a plan has to do with each instance, by the model alone: nothing unless its
// own arguments change, or an instance that it refers to does.
func (g *Grid) wanted(w *World) map[string]string {
	want := map[string]string{}
	made := map[Spot]bool{} // the id isn't known yet
	ids := map[Spot]string{}
	for _, s := range g.Spots() {
		b := g.block(s.Label)
		at := b.at(s.Key)
		stored := w.at(at)
		if stored == nil || w.Cloud.Object(idOf(stored)) == cty.NilVal {
			want[at], made[s] = "create", true
			continue
		}
		ids[s] = idOf(stored)
		real := w.Cloud.Object(ids[s])
		update := text(real, "value") != fmt.Sprintf("v%d", g.Value[s])
		replace := stored.Tainted || text(real, "key") != fmt.Sprintf("k%d", g.Key[s])
		unknown := false
		var refers []string
		for _, to := range g.ordered(s) {
			unknown = unknown || made[to]
			refers = append(refers, ids[to])
		}
		switch {
		case b.Parent:
			replace = replace || unknown || text(real, "parent") != strings.Join(refers, "")
		case g.refers(s.Label):
			list := real.GetAttr("refs")
			update = update || unknown || list.IsNull() || !slices.Equal(refs(real), refers)
		default:
			update = update || !real.GetAttr("refs").IsNull()
		}
		switch {
		case replace:
			want[at], made[s] = "replace", true
		case update:
			want[at] = "update"
		default:
			want[at] = "no-op"
		}
	}
	return want
}

// refers reports whether anything in a block has a reference.
func (g *Grid) refers(label string) bool {
	for s, list := range g.Uses {
		if s.Label == label && len(list) > 0 {
			return true
		}
	}
	return false
}

// ordered are the instances that an instance refers to, in the order of its argument.
func (g *Grid) ordered(s Spot) []Spot {
	list := g.used(s)
	slices.SortStableFunc(list, func(a, b Spot) int { return strings.Compare(a.Label, b.Label) })
	return list
}

// holds compares a plan with the model.
func (g *Grid) holds(r *runner, p *plan.Plan) *Failure {
	want := g.wanted(r.world)
	reads, cleared := map[string]bool{}, map[string]bool{}
	for _, c := range p.Changes {
		at := c.Addr.String()
		got := c.Action.String()
		switch {
		case c.Addr.Name.Mode == addr.Data:
			reads[at] = c.Action == plan.Read
			continue
		case c.Addr.Deposed != "":
			cleared[c.Addr.Instance.String()] = true
			continue
		case c.Action.IsReplace():
			got = "replace"
		}
		wanted, there := want[at]
		if !there {
			wanted = "delete"
		}
		if got != wanted {
			return r.fail("not by the model", "%s: %s, want %s\n%s", at, got, wanted, printed(p))
		}
		delete(want, at)
	}
	for at, wanted := range want {
		if wanted != "no-op" {
			return r.fail("not by the model", "%s isn't in the plan, want %s", at, wanted)
		}
	}
	want = g.wanted(r.world)
	for _, b := range g.Blocks {
		for n, k := range b.Keys {
			late := want[b.at(k)] != "no-op"
			at := "data.sim_lookup." + b.Label
			switch {
			case b.Reads == "reference" && b.Count:
				at += "[" + k + "]"
			case b.Reads == "reference":
				at += fmt.Sprintf("[%q]", k)
			case b.Reads == "depends_on" && !b.Module && n == 0:
				at = "data.sim_find." + b.Label
			default:
				continue
			}
			if b.Module { // what an output gives is known unless the id changes
				late = want[b.at(k)] == "create" || want[b.at(k)] == "replace"
			}
			if reads[at] && !late && cleared[b.at(k)] {
				continue // a former object of the instance is deleted, which is a change of it
			}
			if reads[at] != late {
				return r.fail("read late", "%s is read during apply: %t, want %t (%s is %s)\n%s", at, reads[at], late, b.at(k), want[b.at(k)], printed(p))
			}
		}
	}
	return nil
}

// runGrid plays the history of a seed.
func runGrid(seed uint64, stats *Stats) (failure *Failure) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	r := &runner{world: NewWorld(), rand: rnd, stats: stats}
	defer func() {
		if p := recover(); p != nil {
			failure = r.fail("panic", "%v\n%s", p, debug.Stack())
		}
		if failure != nil {
			failure.Played = r.played
		}
	}()
	g := NewGrid(rnd)
	last := 1 + rnd.IntN(3)
	for r.step = range last + 1 {
		if r.step > 0 {
			g = g.Edit(rnd)
		}
		spots := g.Spots()
		step := Step{Text: g.Files()}
		if len(spots) > 0 && rnd.IntN(3) == 0 {
			kind := []string{"create", "update", "delete", "taint"}[rnd.IntN(4)]
			step.Fail = []string{kind + " " + spots[rnd.IntN(len(spots))].name()}
		}
		if len(spots) > 0 && rnd.IntN(6) == 0 {
			step.Drift = []string{[]string{"drop ", "taint "}[rnd.IntN(2)] + spots[rnd.IntN(len(spots))].name()}
		}
		for {
			again, f := g.play(r, step)
			if f != nil {
				return f
			}
			if !again || r.step < last && rnd.IntN(2) == 0 { // the next step may begin with the rest
				break
			}
			step.Fail, step.Drift = nil, nil
		}
	}
	if rnd.IntN(4) == 0 {
		r.world.forgetUses()
	}
	r.step++
	r.record(Step{Destroy: true}, false)
	p, diags := r.world.Plan(r.config, engine.PlanOptions{Mode: plan.Destroy})
	if diags.HasErrors() {
		return r.fail("plan to destroy: "+firstError(diags), "%s", problems(diags))
	}
	if diags = r.world.Apply(r.config, p, order(rnd)); diags.HasErrors() {
		return r.fail("destroy: "+firstError(diags), "%s%s%s", problems(diags), printed(p), narrowed(r.world.State))
	}
	if left := r.world.Cloud.Owned(); len(left) > 0 {
		return r.fail("destroy leaves something", "%s", r.world)
	}
	return nil
}

// narrowed lists what the state says that objects depend on.
func narrowed(s *state.Snapshot) string {
	var b strings.Builder
	for a, o := range s.Objects {
		fmt.Fprintf(&b, "%s depends on %v, uses %v\n", a, o.Dependencies, o.Uses)
	}
	return b.String()
}

// order is a way to apply: at once, or one step at a time in some order.
func order(r *rand.Rand) How {
	switch r.IntN(3) {
	case 0:
		return How{Parallelism: 10}
	case 1:
		return How{Parallelism: 1, Choose: func(ready []execgraph.ID) int { return len(ready) - 1 }}
	}
	return How{Parallelism: 1, Choose: func(ready []execgraph.ID) int { return r.IntN(len(ready)) }}
}

// play plans and applies one configuration once. again asks for another try, after a
// failure that was asked for.
func (g *Grid) play(r *runner, step Step) (again bool, _ *Failure) {
	r.stats.Steps++
	if f := r.load(step); f != nil {
		return false, f
	}
	r.drift(step)
	p, diags := r.world.Plan(r.config, engine.PlanOptions{})
	r.record(step, len(step.Fail) > 0)
	if diags.HasErrors() {
		return false, r.fail("plan: "+firstError(diags), "%s", problems(diags))
	}
	if f := g.holds(r, p); f != nil {
		return false, f
	}
	r.see(p)
	for _, f := range step.Fail {
		r.world.Cloud.Fail(f)
	}
	diags = r.world.Apply(r.config, p, order(r.rand))
	r.stats.Ops += len(r.world.Cloud.Log())
	r.world.Cloud.Heal()
	if f := r.whole(r.world, p); f != nil {
		return false, f
	}
	if diags.HasErrors() {
		if len(step.Fail) == 0 {
			return false, r.fail("apply: "+firstError(diags), "%s%s", problems(diags), printed(p))
		}
		r.stats.Failed++
		return true, nil
	}
	if p, diags = r.world.Plan(r.config, engine.PlanOptions{}); diags.HasErrors() {
		return false, r.fail("second plan: "+firstError(diags), "%s", problems(diags))
	}
	r.world.readAgain(p)
	return false, r.isSettled(p)
}

// readAgain takes the data that the next plan has read. A data source with known arguments is
// read before the changes of a plan, so an update in place may have changed its result.
func (w *World) readAgain(p *plan.Plan) {
	after := w.State.Clone()
	for a, o := range p.Refreshed.Objects {
		if a.Instance.Resource.Name.Mode == addr.Data {
			after.Objects[a] = o
		}
	}
	w.State = after
}

// forgetUses leaves the state as a program writes it that stores no dependencies by instance.
func (w *World) forgetUses() {
	w.State = w.State.Clone()
	for a, o := range w.State.Objects {
		fresh := *o
		fresh.Uses = nil
		w.State.Objects[a] = &fresh
	}
}

// TestGrids plays random histories whose instances refer to single instances of other
// blocks, in both directions. The cloud fails to delete an object that is in use. No run fails
// because of the order, and plans do what the model says: nothing is replaced or read late
// unless something that it uses changes.
func TestGrids(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	var mu sync.Mutex
	var total Stats
	next, failures := *first, 0
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			var stats Stats
			for {
				mu.Lock()
				seed, more := next, next < *first+uint64(*grids) && failures < *stop
				next++
				mu.Unlock()
				if !more {
					break
				}
				if f := runGrid(seed, &stats); f != nil {
					mu.Lock()
					failures++
					t.Errorf("seed %d: %s\n%s", seed, f, f.Played.Text(f.Kind))
					mu.Unlock()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total.Add(stats)
		})
	}
	workers.Wait()
	t.Logf("%d histories: %+v", *grids, total)
}
