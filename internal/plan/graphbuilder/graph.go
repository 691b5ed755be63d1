// Package graphbuilder builds the execution graph from a recorded plan: the order of steps,
// replacements that create first, stored dependencies of objects, and users that block a
// deletion.
//
// It is a function of the recorded objects and of what their cells have read. It doesn't know
// how changes came about.
package graphbuilder

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/core/actiontrigger"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/order"
	"weir.dev/weir/internal/state"
)

// An Object is what a plan has recorded of one object of a resource instance.
type Object struct {
	Addr     *addr.Object
	Previous *addr.Instance // where it was before a move
	Instance *eval.Instance // nil without configuration
	Stored   *state.Object  // nil without a prior object
	Provider *addr.ProviderConfig
	Change   *plan.Change // nil where nothing is done
	// Conditions: the instance has conditions to evaluate in apply.
	Conditions bool
	// Deprovisions: provisioners are run before its end.
	Deprovisions bool
	// CreatesFirst: it is created before the one that it replaces is destroyed, as the
	// configuration has it.
	CreatesFirst bool
	// Invocations are what is invoked around the change.
	Invocations []*plan.Invocation
}

// Input is what a graph is a function of.
type Input struct {
	Mode    plan.Mode
	Objects []*Object // by address
	// Asked are the invocations that no change is for, with the cells that their
	// configuration was computed in.
	Asked []Asked
	Root  *eval.Frame
	// Provider is the cell of a provider configuration, nil for one that wasn't opened.
	Provider func(addr.ProviderConfig) *promise.Node
	// Batch reports how many objects of a type a provider instance changes in one call; nil
	// for one at a time.
	Batch func(at addr.ProviderConfig, typ string) int
	// Deferred reports whether a cell depends on something that waits for another round.
	Deferred func(*promise.Node) bool
	// Whole: nothing is left out with targets or exclusions.
	Whole bool
	// UnreadOutputs: outputs of called modules are held to their conditions also where
	// nothing reads them.
	UnreadOutputs bool
	// NewKey makes the key of a deposed object.
	NewKey func() string
	// Written are the resources that the block of an instance names: what an object
	// that was imported and not applied since depends on. The state has no
	// dependencies of it.
	Written func(addr.Instance) []addr.Resource
	// Meant are the instances that the block of an instance names, by resource. A resource
	// without a list is named as a whole.
	Meant func(*eval.Instance) map[addr.Resource][]addr.Instance
}

// An Asked is an invocation that the option -invoke requests.
type Asked struct {
	*plan.Invocation
	Node *promise.Node
}

// Graph gives a plan, which has the changes of the objects in their order, its graph,
// its changes what depends on the order, and what is stored with the objects.
func Graph(in Input, p *plan.Plan) diag.List { return newBuilder(in).build(p) }

// Outline decides which replacements create first as far as that is known in a
// plan with errors, which has no graph.
func Outline(in Input) { newBuilder(in).outline() }

// A builder turns recorded objects and the reads of their cells into the
// execution graph.
type builder struct {
	in      Input
	objects []*Object

	// vertices are what package order arranges: the objects, then what others stand
	// for, such as gates for cells that join them.
	vertices  []order.Object
	others    []vertex // by their place behind the objects
	byNode    map[*promise.Node]int
	groups    map[string]int        // gates of stored dependencies
	providers []addr.ProviderConfig // those that steps call, by their number

	stored  map[addr.Instance][]int // by where they were, once that is needed
	leaving map[Block][]int         // the objects that go, by where they were
	left    map[*promise.Node]int   // gates of those that reads wait for

	invocations map[*plan.Invocation]int // their numbers in the plan, from 1
}

// A vertex reports what an order.Object stands for.
type vertex struct {
	object   *Object                // a resource instance object
	provider *eval.ProviderInstance // a provider instance
	output   *program.Output        // a root output
	// condition is what has conditions in the frame: check.NAME, pluginlog.NAME or
	// var.NAME.
	condition string
	frame     *eval.Frame
	name      string           // of a gate
	asked     *plan.Invocation // what nothing is changed for
}

func newBuilder(in Input) *builder {
	room := len(in.Objects) + len(in.Objects)/8 // for gates and outputs, too
	return &builder{
		in: in, objects: in.Objects, vertices: make([]order.Object, 0, room),
		byNode: make(map[*promise.Node]int, len(in.Objects)), groups: map[string]int{},
		leaving: map[Block][]int{}, left: map[*promise.Node]int{}, invocations: map[*plan.Invocation]int{},
	}
}

// build fills in the graph and what depends on the order: which replacements
// create first, and the dependencies to be stored.
func (b *builder) build(p *plan.Plan) diag.List {
	b.addObjects()
	b.addConfigEdges()
	b.addAsked()
	b.addOutputs()
	b.addChecks()
	b.addDependencies(p)
	b.addStateEdges(p)
	b.addReads()
	b.numberProviders()
	result := order.Decide(b.vertices)
	var diags diag.List
	if result.Cycle != nil {
		var names []string
		for _, v := range result.Cycle {
			names = append(names, b.label(v))
		}
		diags.Add(diag.Cycle.New(diag.Error, "Cycle: %s.", strings.Join(append(names, names[0]), " -> ")))
		return diags
	}
	b.decided(result)
	diags.Append(b.warnInUse(result))
	p.Graph = b.graph(result.Steps, p)
	if err := p.Graph.Verify(len(p.Changes)); err != nil {
		panic("arrange: " + err.Error())
	}
	return diags
}

func (b *builder) outline() {
	b.addObjects()
	b.addConfigEdges()
	b.addStateEdges(nil)
	if result := order.Decide(b.vertices); result.Cycle == nil {
		b.decided(result)
	}
}

// decided puts in the changes what the order is.
func (b *builder) decided(result order.Result) {
	for i, o := range b.objects {
		c := o.Change
		if c == nil || o.Instance == nil {
			continue
		}
		c.Settings = o.Instance.Resource.Settings
		c.CreateBeforeDestroy = result.Keep[i]
		if c.Action == plan.DeleteThenCreate && result.CBD[i] {
			c.Action, c.DeposedKey = plan.CreateThenDelete, b.in.NewKey()
		}
	}
}

func (b *builder) label(v int) string {
	switch of := b.vertex(v); {
	case of.object != nil:
		return of.object.Addr.String()
	case of.provider != nil:
		return of.provider.String()
	case of.output != nil:
		return "output." + of.output.Name
	case of.asked != nil:
		return of.asked.Label()
	case of.condition != "":
		return of.frame.Label(of.condition)
	default:
		return of.name
	}
}

func (b *builder) add(o order.Object, v vertex) int {
	b.vertices = append(b.vertices, o)
	b.others = append(b.others, v)
	return len(b.vertices) - 1
}

func (b *builder) vertex(v int) vertex {
	if v < len(b.objects) {
		return vertex{object: b.objects[v]}
	}
	return b.others[v-len(b.objects)]
}

// addObjects makes a vertex for each recorded object, in their order.
func (b *builder) addObjects() {
	for n, o := range b.objects {
		b.vertices = append(b.vertices, legsOf(o))
		// A data source within a check is read after everything else, deletions
		// included, so that nothing may be arranged around it.
		if o.Instance != nil && o.Addr.Deposed == "" && o.Instance.Resource.Check == nil {
			b.byNode[o.Instance.Node()] = n
		}
	}
}

// legsOf is the vertex of an object, without what it depends on.
func legsOf(o *Object) order.Object {
	v := order.Object{Configured: o.Instance != nil, Stored: o.Stored != nil, Deposed: o.Addr.Deposed != "", Deprovisions: o.Deprovisions}
	action := plan.NoOp
	if o.Change != nil {
		action = o.Change.Action
	}
	switch action {
	case plan.Create, plan.Update, plan.Read, plan.ForgetThenCreate:
		v.Create = true
	case plan.Delete, plan.Forget:
		v.Delete = true
	case plan.DeleteThenCreate:
		v.Create, v.Delete = true, true
	}
	v.Forgets = action == plan.Forget || action == plan.ForgetThenCreate
	switch action {
	case plan.Create, plan.DeleteThenCreate, plan.ForgetThenCreate:
		v.Provisions = o.Instance.Resource.Provisions()
	case plan.NoOp:
		v.Create, v.Evaluates = o.Conditions, o.Conditions
	}
	for _, invocation := range o.Invocations {
		v.Invokes = append(v.Invokes, order.Invoked{Phase: phaseOf(invocation.Event)})
	}
	if o.Instance != nil {
		v.WantsCBD = o.CreatesFirst
	} else if o.Stored != nil {
		v.WantsCBD = o.Stored.CreateBeforeDestroy
	}
	switch o.Addr.Name.Mode {
	case addr.Data:
		v.Stored, v.Reads = false, v.Create
		v.Last = action == plan.Read && o.Instance.Resource.Check != nil
	case addr.Ephemeral:
		// Like the opening of a provider it mustn't wait for the deletion
		// of what it reads.
		v.Create, v.Opens, v.Evaluates, v.Stored, v.Wanted = true, true, false, true, o.Conditions
	}
	return v
}

// phaseOf is when in the change of an object an event is.
func phaseOf(e actiontrigger.Event) order.Phase {
	switch {
	case e == actiontrigger.BeforeDestroy:
		return order.BeforeDeletion
	case e == actiontrigger.AfterDestroy:
		return order.AfterDeletion
	case e.Before():
		return order.BeforeCreation
	}
	return order.AfterCreation
}

// addConfigEdges follows what the instances' cells have read.
func (b *builder) addConfigEdges() {
	for i, o := range b.objects {
		if o.Instance != nil && o.Instance.Resource.Check == nil {
			b.vertices[i].Config = b.edges(o.Instance.Node())
		}
		b.need(i, *o.Provider)
		for _, invocation := range o.Invocations {
			b.need(i, invocation.Provider)
		}
	}
}

// addAsked makes a vertex for each invocation that nothing is changed for.
func (b *builder) addAsked() {
	for _, a := range b.in.Asked {
		v := b.add(order.Object{Create: true, Configured: true, Config: b.edges(a.Node)}, vertex{asked: a.Invocation})
		b.need(v, a.Provider)
	}
}

// need makes a vertex depend on a provider that it calls, where reading its cell
// hasn't.
func (b *builder) need(i int, p addr.ProviderConfig) {
	node := b.in.Provider(p)
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
		b.byNode[n] = b.add(order.Object{Create: true, Opens: true, Serves: true, Stored: true, Config: edges}, vertex{provider: pi})
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
	if b.in.Mode == plan.Destroy {
		return
	}
	for _, o := range b.in.Root.Program.Outputs {
		if o.Ephemeral {
			continue
		}
		if _, node, ok := b.in.Root.OutputValue(o); ok && !b.in.Deferred(node) {
			b.add(order.Object{Create: true, Evaluates: true, Config: b.edges(node)}, vertex{output: o})
		}
	}
}

// addChecks makes a vertex for each observer, and for variables and, if asked
// for, outputs of called modules whose conditions planning couldn't decide.
func (b *builder) addChecks() {
	if b.in.Mode == plan.Destroy {
		return
	}
	undecided := func(outcomes []eval.Outcome) bool {
		return slices.ContainsFunc(outcomes, func(o eval.Outcome) bool { return o.Status == eval.Unknown })
	}
	for _, f := range b.in.Root.Frames() {
		// last: it has a data source of its own, which is read when everything else is done.
		add := func(condition string, last bool, n *promise.Node) {
			b.add(order.Object{Create: true, Evaluates: true, Last: last, Config: b.edges(n)}, vertex{condition: condition, frame: f})
		}
		for _, o := range f.Program.Observers {
			if b.in.Whole {
				add(o.Head().Name, o.Own() != nil, f.ObserverNode(o))
			}
		}
		for _, v := range f.Program.Variables {
			if undecided(f.VariableOutcomes(v)) {
				add("var."+v.Name, false, f.VariableNode(v))
			}
		}
		for _, o := range f.Program.Outputs {
			// Those of the root have vertices of their own.
			if _, node, ok := f.OutputValue(o); ok && b.in.UnreadOutputs && f.Parent != nil && undecided(f.OutputOutcomes(o)) {
				add("output."+o.Name, false, node)
			}
		}
	}
}

// numberProviders gives the providers that are called their numbers, in the order of
// their addresses.
func (b *builder) numberProviders() {
	numbers := map[addr.ProviderConfig]int{}
	of := func(v int) (p addr.ProviderConfig, calls bool) {
		o, is := &b.vertices[v], b.vertex(v)
		switch {
		case is.provider != nil:
			return is.provider.Addr, true
		case is.object != nil:
			return *is.object.Provider, o.Delete && !o.Forgets || o.Create && !o.Evaluates
		case is.asked != nil:
			return is.asked.Provider, true
		}
		return p, false
	}
	for v := range b.vertices {
		if p, calls := of(v); calls {
			numbers[p] = 0
		}
		for i := range b.vertices[v].Invokes {
			numbers[b.objects[v].Invocations[i].Provider] = 0
		}
	}
	b.providers = slices.SortedFunc(maps.Keys(numbers), addr.ProviderConfig.Compare)
	for n, p := range b.providers {
		numbers[p] = n + 1
	}
	for v := range b.vertices {
		if p, calls := of(v); calls {
			b.vertices[v].Provider = numbers[p]
		}
		for i := range b.vertices[v].Invokes {
			b.vertices[v].Invokes[i].Provider = numbers[b.objects[v].Invocations[i].Provider]
		}
	}
}

// addReads makes reads wait for what goes of all that they depend on.
func (b *builder) addReads() {
	if b.in.Mode != plan.Normal {
		return
	}
	for i, o := range b.objects {
		if o.Instance == nil && b.vertices[i].Delete {
			for _, at := range BlocksOf(o.Addr.Instance) {
				b.leaving[at] = append(b.leaving[at], i)
			}
		}
	}
	if len(b.leaving) == 0 {
		return
	}
	any := false
	for i, o := range b.objects {
		if b.vertices[i].Reads && o.Instance.Resource.Check == nil {
			if v := b.leftOf(o.Instance.Node()); v >= 0 {
				b.vertices[i].State, any = []int{v}, true
			}
		}
	}
	if any {
		b.addHolds()
	}
}

// addHolds finds the updates that let go of what leaves: the old form of the object mentions it.
func (b *builder) addHolds() {
	leaving := map[string]int{}
	for i, o := range b.objects {
		if o.Instance == nil && b.vertices[i].Delete {
			if id := identity(o); id != "" {
				leaving[id] = i
			}
		}
	}
	for i, o := range b.objects {
		if o.Change == nil || o.Change.Action != plan.Update {
			continue
		}
		texts(o.Change.Before, func(text string) {
			if of, found := leaving[text]; found && of != i {
				b.vertices[i].Holds = append(b.vertices[i].Holds, of)
			}
		})
	}
}

// leftOf is the vertex of the objects that go from the blocks below a cell, -1
// where none do.
func (b *builder) leftOf(n *promise.Node) int {
	if v, ok := b.left[n]; ok {
		return v
	}
	b.left[n] = -1
	var list []int
	if at, ok := n.Subject.(eval.Block); ok {
		list = slices.Collect(Leaving(b.leaving, at))
	}
	for _, dep := range n.Deps() {
		if v := b.leftOf(dep); v >= 0 {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	switch list = slices.Compact(list); len(list) {
	case 0:
	case 1:
		b.left[n] = list[0]
	default:
		b.left[n] = b.add(order.Object{State: list}, vertex{name: n.Subject.String()})
	}
	return b.left[n]
}

// addStateEdges adds what is stored with the objects. The state may narrow no dependency of a
// circle of blocks, because another program has written it. Then the configuration narrows
// them, as long as it leads to the same resources; p is nil where that isn't known.
//
// Elsewhere a dependency that isn't narrowed means all instances: an update that releases one
// of them comes before its deletion.
func (b *builder) addStateEdges(p *plan.Plan) {
	members := sync.OnceValue(b.members)
	circular := sync.OnceValue(b.inCircles)
	for i, o := range b.objects {
		if o.Stored == nil {
			continue
		}
		deps := b.dependenciesOf(o)
		uses := o.Stored.Uses
		switch c := o.Change; {
		case uses != nil || p == nil || c == nil || c.Moved() || len(deps) == 0:
		case b.in.Mode == plan.Destroy && o.Instance != nil && circular()[o.Previous.Resource.Erase()]:
			uses = narrowed(deps, b.in.Meant(o.Instance))
		case len(c.Uses) > 0 && slices.Equal(deps, p.DependenciesOf(c)) && circular()[o.Previous.Resource.Erase()]:
			uses = p.UsesOf(c)
		}
		one := func(at addr.Instance) {
			b.vertices[i].State = append(b.vertices[i].State, b.storedAt(at)...)
		}
		all := func(dep addr.Resource) {
			if v, ok := b.group(GroupFor(*o.Previous, dep), dep, members()); ok && v != i {
				b.vertices[i].State = append(b.vertices[i].State, v)
			}
		}
		there := func(at addr.Instance) bool { return len(b.storedAt(at)) > 0 }
		some := func(dep addr.Resource) bool {
			_, ok := b.group(GroupFor(*o.Previous, dep), dep, members())
			return ok
		}
		Needed(*o.Previous, deps, uses, there, some, one, all)
	}
}

// dependenciesOf are the stored dependencies of an object; in a plan to destroy those of its
// block where none are stored.
func (b *builder) dependenciesOf(o *Object) []addr.Resource {
	deps := o.Stored.Dependencies
	if len(deps) == 0 && o.Stored.Uses == nil && b.in.Mode == plan.Destroy && o.Addr.Name.Mode == addr.Managed {
		deps = b.in.Written(o.Addr.Instance)
	}
	return deps
}

// narrowed narrows stored dependencies to the instances that a block names, nil where it names
// other resources too: then it isn't what the object was made of.
func narrowed(deps []addr.Resource, meant map[addr.Resource][]addr.Instance) []state.Uses {
	for of := range meant {
		if !slices.Contains(deps, of) {
			return nil
		}
	}
	uses := []state.Uses{}
	for _, dep := range deps {
		if list, ok := meant[dep]; !ok || list != nil {
			uses = append(uses, state.Uses{Resource: dep, Instances: list})
		}
	}
	return uses
}

// inCircles are the resources whose stored dependencies lead back to them, where the state
// narrows none of the circle. In a circle that weir stored, it narrows at least one: there is
// no circle of instances.
func (b *builder) inCircles() map[addr.Resource]bool {
	number := map[addr.Resource]int{}
	var all []addr.Resource
	var leads, last [][]int
	of := func(r addr.Resource) int {
		n, known := number[r]
		if !known {
			n = len(all)
			number[r] = n
			all, leads, last = append(all, r), append(leads, nil), append(last, nil)
		}
		return n
	}
	narrowed := map[int]bool{}
	for _, o := range b.objects {
		if o.Stored == nil {
			continue
		}
		deps := b.dependenciesOf(o)
		if len(deps) == 0 {
			continue
		}
		from := of(o.Previous.Resource.Erase())
		narrowed[from] = narrowed[from] || o.Stored.Uses != nil
		var list []int
		for _, dep := range deps {
			list = append(list, of(dep))
		}
		if !slices.Equal(list, last[from]) { // instances of a block mostly have the same
			last[from] = list
			leads[from] = append(leads[from], list...)
		}
	}
	in := map[addr.Resource]bool{}
	for _, circle := range order.Circles(leads) {
		if slices.ContainsFunc(circle, func(n int) bool { return narrowed[n] }) {
			continue
		}
		for _, n := range circle {
			in[all[n]] = true
		}
	}
	return in
}

// Needed goes over what an object of the user depends on, as the state has it:
// dependencies that are narrowed are passed to one, by instances, and others to all.
// Indirect dependencies follow from the direct ones, unless one
// of these isn't there any more: no instance that is named, or none of a resource.
func Needed(user addr.Instance, deps []addr.Resource, uses []state.Uses, there func(addr.Instance) bool, some func(addr.Resource) bool, one func(addr.Instance), all func(addr.Resource)) {
	broken := len(uses) > 0 && slices.ContainsFunc(deps, func(dep addr.Resource) bool {
		n := slices.IndexFunc(uses, func(u state.Uses) bool { return u.Resource == dep })
		if n < 0 {
			return !some(dep)
		}
		return slices.ContainsFunc(used(user, uses[n]), func(at addr.Instance) bool { return !there(at) })
	})
	for _, dep := range deps {
		n := slices.IndexFunc(uses, func(u state.Uses) bool { return u.Resource == dep })
		if n < 0 {
			all(dep)
			continue
		}
		named := used(user, uses[n])
		for _, at := range named {
			one(at)
		}
		if len(named) == 0 && broken {
			all(dep)
		}
	}
}

// used are the instances that a stored dependency of an instance is narrowed to.
func used(user addr.Instance, u state.Uses) []addr.Instance {
	if u.SameKey {
		return []addr.Instance{addr.Resource{Module: user.Module, Name: u.Resource.Name}.Instance(user.Key)}
	}
	return u.Instances
}

// storedAt are the stored objects of an instance, deposed ones included.
func (b *builder) storedAt(i addr.Instance) []int {
	if b.stored == nil {
		b.stored = make(map[addr.Instance][]int, len(b.objects))
		for n, o := range b.objects {
			if o.Stored != nil {
				b.stored[*o.Previous] = append(b.stored[*o.Previous], n)
			}
		}
	}
	return b.stored[i]
}

// members are the objects of each group that stored dependencies may mean.
func (b *builder) members() map[string][]int {
	members := map[string][]int{}
	for i, o := range b.objects {
		if o.Stored == nil || o.Addr.Name.Mode == addr.Ephemeral {
			continue
		}
		for _, group := range GroupsOf(*o.Previous) {
			members[group] = append(members[group], i)
		}
	}
	return members
}

// A stored dependency names a resource without keys: it means its instances,
// as far as they are in the same instance of the modules that both sides
// share. Such a group is named by these module instances and the resource.

// GroupsOf are the groups that an instance is in, from widest to narrowest.
func GroupsOf(i addr.Instance) []string {
	steps := i.Module.Steps()
	groups := make([]string, len(steps)+1)
	for k := range groups {
		groups[k] = groupKey(steps, k, i.Resource)
	}
	return groups
}

// GroupFor is the group that a stored dependency of an instance means.
func GroupFor(user addr.Instance, dep addr.Resource) string {
	us, ds := user.Module.Steps(), dep.Module.Steps()
	k := 0
	for k < len(us) && k < len(ds) && us[k].Name == ds[k].Name {
		k++
	}
	return groupKey(us, k, dep)
}

// groupKey names the instances of a resource that share the first k module
// steps, keys included.
func groupKey(steps []addr.Step, k int, r addr.Resource) string {
	return addr.FromSteps(steps[:k]).String() + "|" + r.Erase().String()
}

// group is the vertex of a group, if it has members.
func (b *builder) group(key string, dep addr.Resource, members map[string][]int) (int, bool) {
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
