package planner

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/execgraph"
	"weir.dev/weir/internal/order"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/promise"
	"weir.dev/weir/internal/value"
)

type traversal = hcl.Traversal

const sensitiveMark = value.Sensitive

func comparePaths(a, b cty.Path) int { return value.ComparePaths(a, b) }
func pathText(p cty.Path) string     { return value.PathString(p) }

// constantKey is the instance key of a reference where it is written out.
func constantKey(ref *program.Ref) addr.Key {
	if ref.Key == nil {
		return addr.NoKey
	}
	if len(program.References(ref.Key)) > 0 {
		return addr.NoKey
	}
	v, hd := ref.Key.Value(nil)
	if hd.HasErrors() {
		return addr.NoKey
	}
	k, err := eval.KeyOf(v)
	if err != nil {
		return addr.NoKey
	}
	return k
}

// A builder turns recorded objects and the reads of their cells into the
// execution graph.
type builder struct {
	r       *run
	objects []*object

	// vertices are what package order arranges: the objects, then gates for
	// cells that join them.
	vertices []order.Object
	of       []vertex
	byNode   map[*promise.Node]int
	byAddr   map[addr.Object]int
	groups   map[string]int // gates of stored dependencies
	removed  removals       // made when first needed
}

// A vertex tells what an order.Object stands for.
type vertex struct {
	object   *object                // a resource instance object
	provider *eval.ProviderInstance // a provider instance
	output   *program.Output        // a root output
	name     string                 // of a gate
}

func newBuilder(r *run, objects []*object) *builder {
	return &builder{
		r: r, objects: objects,
		byNode: map[*promise.Node]int{}, byAddr: map[addr.Object]int{}, groups: map[string]int{},
	}
}

// build fills in the graph and what depends on the order: which replacements
// create first, and the dependencies to be stored.
func (b *builder) build(p *plan.Plan) diag.List {
	b.addObjects()
	b.addConfigEdges()
	b.addOutputs()
	b.addStateEdges()
	b.addDependencies(p)
	result := order.Decide(b.vertices)
	var diags diag.List
	if result.Cycle != nil {
		var names []string
		for _, v := range result.Cycle {
			names = append(names, b.name(v))
		}
		diags.Errorf("Cycle", "Cycle: %s.", strings.Join(append(names, names[0]), " -> "))
		return diags
	}
	for i, o := range b.objects {
		c := o.change
		if c == nil || o.instance == nil {
			continue
		}
		c.CreateBeforeDestroy = result.Keep[i]
		c.SkipDestroy = o.instance.Resource.SkipDestroy
		if c.Action == plan.DeleteThenCreate && result.CBD[i] {
			c.Action, c.DeposedKey = plan.CreateThenDelete, b.r.NewKey()
		}
	}
	diags.Append(b.warnInUse(result))
	var more diag.List
	p.Graph, more = b.steps(result)
	diags.Append(more)
	if p.Graph != nil {
		if err := p.Graph.Verify(); err != nil {
			panic("planner: " + err.Error())
		}
	}
	return diags
}

func (b *builder) name(v int) string {
	switch of := b.of[v]; {
	case of.object != nil:
		return of.object.addr.String()
	case of.provider != nil:
		return of.provider.String()
	case of.output != nil:
		return "output." + of.output.Name
	default:
		return of.name
	}
}

func (b *builder) add(o order.Object, v vertex) int {
	b.vertices = append(b.vertices, o)
	b.of = append(b.of, v)
	return len(b.vertices) - 1
}

// addObjects makes a vertex for each recorded object, in their order.
func (b *builder) addObjects() {
	for _, o := range b.objects {
		v := order.Object{Configured: o.instance != nil, Stored: o.stored != nil, Deposed: o.addr.Deposed != ""}
		if o.change != nil {
			switch o.change.Action {
			case plan.Create, plan.Update, plan.Read:
				v.Create = true
			case plan.Delete, plan.Forget:
				v.Delete = true
			case plan.DeleteThenCreate, plan.ForgetThenCreate:
				v.Create, v.Delete = true, true
			}
		}
		if o.conditions || o.addr.Name.Mode == addr.Ephemeral {
			v.Create = true
		}
		if o.instance != nil {
			v.WantsCBD = o.instance.Resource.CreateBeforeDestroy
		} else if o.stored != nil {
			v.WantsCBD = o.stored.CreateBeforeDestroy
		}
		if o.addr.Name.Mode != addr.Managed {
			v.Stored = false
		}
		n := b.add(v, vertex{object: o})
		b.byAddr[o.addr] = n
		if o.instance != nil && o.addr.Deposed == "" {
			b.byNode[o.instance.Node()] = n
		}
	}
}

// addConfigEdges follows what the instances' cells have read.
func (b *builder) addConfigEdges() {
	for i, o := range b.objects {
		if o.instance != nil {
			b.vertices[i].Config = b.edges(o.instance.Node())
		}
		b.need(i, o)
	}
}

// need makes the object depend on the provider that serves it, where reading
// its cell hasn't.
func (b *builder) need(i int, o *object) {
	node := b.r.pool.Node(o.conn.Addr)
	if node == nil {
		return
	}
	if v, ok := b.vertexOf(node); ok && !slices.Contains(b.vertices[i].Config, v) {
		b.vertices[i].Config = append(b.vertices[i].Config, v)
	}
}

// edges are the vertices of what a cell has read, each once.
func (b *builder) edges(n *promise.Node) []int {
	var list []int
	for _, dep := range n.Deps() {
		if v, ok := b.vertexOf(dep); ok {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// vertexOf is the vertex that stands for a cell; none when nothing below the
// cell has a vertex. A cell that leads to a single vertex is that vertex.
func (b *builder) vertexOf(n *promise.Node) (int, bool) {
	if v, ok := b.byNode[n]; ok {
		return v, v >= 0
	}
	if _, ok := n.Subject.(*eval.Instance); ok {
		// An instance that wasn't recorded has nothing to do.
		b.byNode[n] = -1
		return -1, false
	}
	edges := b.edges(n)
	pi, isProvider := n.Subject.(*eval.ProviderInstance)
	switch {
	case isProvider:
		b.byNode[n] = b.add(order.Object{Create: true, Stored: true, Config: edges}, vertex{provider: pi})
	case len(edges) == 0:
		b.byNode[n] = -1
	case len(edges) == 1:
		b.byNode[n] = edges[0]
	default:
		b.byNode[n] = b.add(order.Object{Config: edges, State: edges}, vertex{name: n.Subject.String()})
	}
	v := b.byNode[n]
	return v, v >= 0
}

// addOutputs makes a vertex for each root output that changes.
func (b *builder) addOutputs() {
	if b.r.Mode == plan.Destroy {
		return
	}
	for _, o := range b.r.Tree.Program.Outputs {
		if _, node, ok := b.r.root.OutputValue(o); ok && !b.r.deferredOutput(node) && !b.r.excludedOutput(node) {
			b.add(order.Object{Create: true, Config: b.edges(node)}, vertex{output: o})
		}
	}
}

// addStateEdges adds what is stored with the objects. A stored dependency
// names a resource without keys: it means its instances, as far as they are
// in the same instance of the modules that both sides share.
func (b *builder) addStateEdges() {
	members := map[string][]int{}
	for i, o := range b.objects {
		if o.stored == nil || o.addr.Name.Mode == addr.Ephemeral {
			continue
		}
		steps := o.previous.Module.Steps()
		for k := range len(steps) + 1 {
			key := groupKey(steps, k, o.previous.Resource)
			members[key] = append(members[key], i)
			if k == len(steps) {
				break
			}
		}
	}
	for i, o := range b.objects {
		if o.stored == nil {
			continue
		}
		for _, dep := range o.stored.Dependencies {
			if v, ok := b.group(o.previous, dep, members); ok && v != i {
				b.vertices[i].State = append(b.vertices[i].State, v)
			}
		}
	}
}

// groupKey names the instances of a resource that share the first k module
// steps, keys included.
func groupKey(steps []addr.Step, k int, r addr.Resource) string {
	return addr.FromSteps(steps[:k]).String() + "|" + r.Erase().String()
}

func (b *builder) group(user addr.Instance, dep addr.Resource, members map[string][]int) (int, bool) {
	us, ds := user.Module.Steps(), dep.Module.Steps()
	k := 0
	for k < len(us) && k < len(ds) && us[k].Name == ds[k].Name {
		k++
	}
	key := groupKey(us, k, dep)
	if v, ok := b.groups[key]; ok {
		return v, v >= 0
	}
	list := members[key]
	switch len(list) {
	case 0:
		b.groups[key] = -1
	case 1:
		b.groups[key] = list[0]
	default:
		b.groups[key] = b.add(order.Object{State: list, Config: list}, vertex{name: dep.String()})
	}
	return b.groups[key], b.groups[key] >= 0
}

// steps turns the ordered legs into the steps of the execution graph.
func (b *builder) steps(result order.Result) (*execgraph.Graph, diag.List) {
	room := len(result.Steps) + len(result.Steps)/8
	d := &draft{b: b, opened: map[addr.ProviderConfig]int{}, failure: map[int]int{}, steps: make([]execgraph.Step, 0, room), after: make([][]int, 0, room)}
	last := make([]int, len(result.Steps)) // the draft's step that ends an ordered one
	for n, s := range result.Steps {
		var after []int
		for _, a := range s.After {
			after = append(after, last[a])
		}
		last[n] = d.emit(s, after)
	}
	d.connect()
	d.prune()
	d.checks()
	d.close()
	d.untie()
	return d.sorted()
}

// A draft is a graph whose steps aren't sorted yet.
type draft struct {
	b      *builder
	steps  []execgraph.Step
	after  [][]int
	opened map[addr.ProviderConfig]int
	// failure names the step whose failure a step is for.
	failure map[int]int
}

func (d *draft) add(s execgraph.Step, after []int) int {
	d.steps = append(d.steps, s)
	d.after = append(d.after, after)
	return len(d.steps) - 1
}

// emit adds what one ordered step comes to and returns the last step of it.
func (d *draft) emit(s order.Step, after []int) int {
	if s.Kind == order.Gate {
		return d.add(execgraph.Step{Kind: execgraph.Gate}, after)
	}
	switch v := d.b.of[s.Object]; {
	case v.provider != nil:
		id := d.add(execgraph.Step{Kind: execgraph.OpenProvider, Provider: v.provider.Addr}, after)
		d.opened[v.provider.Addr] = id
		return id
	case v.output != nil:
		return d.add(execgraph.Step{Kind: execgraph.Output, Name: v.output.Name}, after)
	case s.Kind == order.Prepare:
		return d.add(execgraph.Step{Kind: execgraph.Finalize, Object: v.object.addr, Provider: v.object.conn.Addr}, after)
	case s.Kind == order.Delete:
		return d.emitDeletion(v.object, after)
	default:
		return d.emitCreation(v.object, after)
	}
}

// emitDeletion adds the end of an object, after its provisioners.
func (d *draft) emitDeletion(o *object, after []int) int {
	step := execgraph.Step{Kind: execgraph.Destroy, Object: o.addr, Provider: o.conn.Addr}
	switch o.change.Action {
	case plan.Forget, plan.ForgetThenCreate:
		step.Kind = execgraph.Forget
		return d.add(step, after)
	case plan.CreateThenDelete:
		step.Object.Deposed = o.change.DeposedKey
	}
	if d.b.deprovisions(o) {
		before := step
		before.Kind, before.Provider = execgraph.ProvisionDestroy, addr.ProviderConfig{}
		after = []int{d.add(before, after)}
	}
	return d.add(step, after)
}

// emitCreation adds what brings an object into its new form, with what comes
// of a failure.
func (d *draft) emitCreation(o *object, after []int) int {
	step := execgraph.Step{Kind: execgraph.Apply, Object: o.addr, Provider: o.conn.Addr}
	switch {
	case o.addr.Name.Mode == addr.Ephemeral:
		step.Kind = execgraph.OpenEphemeral
		return d.add(step, after)
	case o.change.Action == plan.Read:
		step.Kind = execgraph.ReadData
		return d.add(step, after)
	case o.change.Action == plan.NoOp:
		step.Kind = execgraph.Condition
		return d.add(step, after)
	}
	aside := o.change.Action == plan.CreateThenDelete
	if aside {
		after = []int{d.add(execgraph.Step{Kind: execgraph.Depose, Object: o.addr}, after)}
	}
	last := d.add(step, after)
	if aside {
		back := d.add(execgraph.Step{Kind: execgraph.RestoreDeposed, Object: o.addr, When: execgraph.OnFailure}, []int{last})
		d.failure[back] = last
	}
	if o.change.Action != plan.Update && o.instance.Resource.Provisions() {
		last = d.add(execgraph.Step{Kind: execgraph.Provision, Object: o.addr}, []int{last})
	}
	return last
}

// deprovisions reports whether provisioners run before the object is deleted:
// those of its resource, or else of the removed block that ends it. Tainted
// objects go without.
func (b *builder) deprovisions(o *object) bool {
	if o.stored == nil || o.stored.Tainted {
		return false
	}
	if tree := b.r.Tree.At(o.addr.Module); tree != nil {
		if res := tree.Program.ResourceByName[o.addr.Name]; res != nil {
			return res.Deprovisions()
		}
	}
	if b.removed == nil {
		b.removed = b.r.removedBlocks()
	}
	block := b.removed.find(o.addr.Instance)
	return block != nil && len(block.Provisioners) > 0
}

// checks adds the steps of check blocks. They come last, whatever becomes of
// the rest: what they look at is done by then, and nothing depends on them. A
// data source within a check is read once everything else is done.
func (d *draft) checks() {
	if d.b.r.Mode == plan.Destroy {
		return
	}
	var blocks []execgraph.Step
	for _, f := range d.b.r.root.Frames() {
		for _, c := range f.Program.Checks {
			blocks = append(blocks, execgraph.Step{Kind: execgraph.Condition, Name: c.Name, Module: f.Addr, When: execgraph.Always})
		}
	}
	if len(blocks) == 0 {
		return
	}
	// What others wait for is done when they are.
	covered := make([]bool, len(d.steps))
	var within, others []int
	for n, s := range d.steps {
		switch {
		case s.Kind == execgraph.ReadData && d.b.r.find(s.Object).instance.Resource.Check != nil:
			within = append(within, n)
			covered[n] = true
		case s.Kind == execgraph.RestoreDeposed:
			covered[n] = true
		default:
			for _, a := range d.after[n] {
				covered[a] = true
			}
		}
	}
	for n := range d.steps {
		if !covered[n] {
			others = append(others, n)
		}
	}
	if len(others) > 0 {
		all := d.add(execgraph.Step{Kind: execgraph.Gate, When: execgraph.Always}, others)
		for _, n := range within {
			d.after[n] = append(d.after[n], all)
		}
		within = append(within, all)
	}
	for _, block := range blocks {
		d.add(block, within)
	}
}

// connect makes every step that calls a provider wait for its opening.
func (d *draft) connect() {
	for n := range d.steps {
		s := &d.steps[n]
		if s.Kind.Calls() {
			open, ok := d.opened[s.Provider]
			if !ok {
				open = d.add(execgraph.Step{Kind: execgraph.OpenProvider, Provider: s.Provider}, nil)
				d.opened[s.Provider] = open
			}
			d.after[n] = append(d.after[n], open)
		}
	}
}

// prune turns openings that nobody waits for into gates.
func (d *draft) prune() {
	for changed := true; changed; {
		changed = false
		used := make([]bool, len(d.steps))
		for n := range d.steps {
			if d.steps[n].Kind == execgraph.Gate && d.steps[n].Name == "unused" {
				continue
			}
			for _, a := range d.after[n] {
				used[a] = true
			}
		}
		for n := range d.steps {
			k := d.steps[n].Kind
			if (k == execgraph.OpenProvider || k == execgraph.OpenEphemeral) && !used[n] {
				d.steps[n], changed = execgraph.Step{Kind: execgraph.Gate, Name: "unused"}, true
			}
		}
	}
}

// close adds the steps that close what was opened: a provider after its last
// user, ephemeral resources when everything else is done.
func (d *draft) close() {
	users := map[addr.ProviderConfig][]int{}
	var ephemerals []int
	var ends []int
	for n, s := range d.steps {
		if s.Kind == execgraph.OpenEphemeral {
			ephemerals = append(ephemerals, n)
		}
		if s.Kind.Calls() || s.Kind == execgraph.OpenProvider {
			users[s.Provider] = append(users[s.Provider], n)
		}
	}
	held := map[addr.ProviderConfig]bool{}
	for _, n := range ephemerals {
		held[d.steps[n].Provider] = true
	}
	providers := slices.SortedFunc(maps.Keys(users), addr.ProviderConfig.Compare)
	for _, p := range providers {
		if !held[p] {
			ends = append(ends, d.add(execgraph.Step{Kind: execgraph.CloseProvider, Provider: p, When: execgraph.Always}, users[p]))
		}
	}
	if len(ephemerals) > 0 {
		for n, s := range d.steps {
			switch {
			case s.Kind == execgraph.Condition, s.Kind == execgraph.Output, s.Kind == execgraph.Provision, held[s.Provider] && s.Kind != execgraph.Gate:
				ends = append(ends, n)
			}
		}
	}
	closing := map[addr.ProviderConfig][]int{}
	for i := len(ephemerals) - 1; i >= 0; i-- {
		s := d.steps[ephemerals[i]]
		n := d.add(execgraph.Step{Kind: execgraph.CloseEphemeral, Object: s.Object, Provider: s.Provider, When: execgraph.Always}, ends)
		closing[s.Provider] = append(closing[s.Provider], n)
	}
	for _, p := range providers {
		if held[p] {
			d.add(execgraph.Step{Kind: execgraph.CloseProvider, Provider: p, When: execgraph.Always}, closing[p])
		}
	}
}

// next lists the steps that wait for each.
func (d *draft) next() [][]int {
	counts, edges := make([]int, len(d.steps)), 0
	for _, after := range d.after {
		edges += len(after)
		for _, a := range after {
			counts[a]++
		}
	}
	room := make([]int, edges)
	next := make([][]int, len(d.steps))
	for n, count := range counts {
		next[n], room = room[:0:count], room[count:]
	}
	for n, after := range d.after {
		for _, a := range after {
			next[a] = append(next[a], n)
		}
	}
	return next
}

// sorted numbers the steps so that each waits for earlier ones only.
func (d *draft) sorted() (*execgraph.Graph, diag.List) {
	waiting := make([]int, len(d.steps))
	ready := make([]int, 0, len(d.steps))
	for n := range d.steps {
		slices.Sort(d.after[n])
		d.after[n] = slices.Compact(d.after[n])
		if waiting[n] = len(d.after[n]); waiting[n] == 0 {
			ready = append(ready, n)
		}
	}
	next := d.next()
	g := &execgraph.Graph{Steps: make([]execgraph.Step, 0, len(d.steps))}
	number := make([]execgraph.ID, len(d.steps))
	for at := 0; at < len(ready); at++ {
		n := ready[at]
		s := d.steps[n]
		s.After = slices.Grow(s.After, len(d.after[n]))
		for _, a := range d.after[n] {
			s.After = append(s.After, number[a])
		}
		slices.Sort(s.After)
		if s.When == execgraph.OnFailure {
			s.Of = number[d.failure[n]]
		}
		number[n] = execgraph.ID(len(g.Steps))
		g.Steps = append(g.Steps, s)
		for _, m := range next[n] {
			if waiting[m]--; waiting[m] == 0 {
				ready = append(ready, m)
			}
		}
	}
	var diags diag.List
	if len(ready) != len(d.steps) {
		var names []string
		for n := range d.steps {
			if waiting[n] > 0 && d.steps[n].Kind != execgraph.Gate {
				names = append(names, d.steps[n].Label())
			}
		}
		slices.Sort(names)
		diags.Errorf("Cycle", "These steps would wait for each other:\n  %s\n\nA provider is configured with values of an object that has to be destroyed before the provider's own objects are. Apply the two changes one after the other, with -target.", strings.Join(names, "\n  "))
		return nil, diags
	}
	return g, diags
}
