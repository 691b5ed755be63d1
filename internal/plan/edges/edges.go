// Package edges finds why one step of an execution graph waits for another, and which
// value flows between them.
//
// It owns the reasons. It evaluates the configuration again with the values of the
// finished plan and follows what each cell reads, so that reasons name instances, not
// blocks. It runs only when a command prints reasons. It never calls
// providers and never decides about the order.
package edges

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/state"
)

// A Reason is why a step waits for another.
type Reason string

// The reasons.
const (
	Reference  Reason = "reference"             // its expressions refer to the other's object
	DependsOn  Reason = "depends_on"            // a depends_on argument names the other's object
	Triggered  Reason = "replace_triggered_by"  // a replace_triggered_by argument names it
	Provider   Reason = "provider"              // it calls the provider that the other opens
	Replace    Reason = "replace"               // an old object goes first: its own, or one that it depended on
	KeepOld    Reason = "create_before_destroy" // the new object comes first
	UsersFirst Reason = "dependents_first"      // stored dependency: users of an object are destroyed, or let go of it, before it
	Finalize   Reason = "finalize"              // a replacement is planned again before anything is destroyed for it
	SetAside   Reason = "set_aside"             // the old object is set aside before the new one is created
	Provision  Reason = "provision"             // provisioners run while the object exists
	Action     Reason = "action"                // an action is invoked around a change
	Restore    Reason = "restore"               // the old object is taken back if the creation fails
	Close      Reason = "close"                 // something is closed after every step that uses it
	Last       Reason = "last"                  // checks run after everything else
	Order      Reason = "dependency"            // a dependency that isn't among the above
)

// Reasons lists all reasons.
var Reasons = []Reason{Reference, DependsOn, Triggered, Provider, Replace, KeepOld, UsersFirst, Finalize, SetAside, Provision, Action, Restore, Close, Last, Order}

// An Edge says why a step waits for another one.
type Edge struct {
	Reason Reason
	// References lead from the step to the object of the other one, the first one is
	// written in the block of the step's object. The list is empty without a
	// reference in the configuration.
	References []Hop
	// Value is what flows along the edge: an address with the path of an attribute.
	// It is empty where nothing does.
	Value string
}

// A Hop is one reference.
type Hop struct {
	Kind program.RefKind
	// To is the address that the reference means, instance keys included.
	To string
	// Text is the reference as written.
	Text  string
	Range hcl.Range
}

// Text is the edge in one line.
func (e Edge) Text() string {
	var b strings.Builder
	b.WriteString(string(e.Reason))
	if e.Value != "" {
		b.WriteString(": " + e.Value)
	}
	if len(e.References) > 0 {
		r := e.References[0].Range
		fmt.Fprintf(&b, " [%s:%d]", r.Filename, r.Start.Line)
	}
	return b.String()
}

// Of knows why the steps of one plan wait for one another.
type Of struct {
	plan  *plan.Plan
	host  *host // nil without configuration
	root  *eval.Frame
	refs  map[*hcl.Range]written
	acts  map[fmt.Stringer]bool // subjects that have steps of their own
	units map[addr.Instance]fmt.Stringer
	group map[addr.Resource]fmt.Stringer // the cells of all instances of a block

	users, leaves []execgraph.ID // by gate: one step that waits for it, one that it joins

	search *search // of the last step
}

// written is a reference with the argument that it stands in.
type written struct {
	ref      *program.Ref
	argument string
}

// Find prepares the reasons of a plan with the configuration that it was made for.
func Find(p *plan.Plan, tree *program.Tree, base providerclient.Base, facts eval.Facts) *Of {
	o := Without(p)
	if p.Graph != nil && tree.Program != nil {
		o.host, o.root = replay(p, tree, base, facts)
		o.index()
	}
	return o
}

// Without prepares the reasons of a plan whose configuration is missing: they have no
// references.
func Without(p *plan.Plan) *Of {
	o := &Of{
		plan: p, refs: map[*hcl.Range]written{}, acts: map[fmt.Stringer]bool{},
		units: map[addr.Instance]fmt.Stringer{}, group: map[addr.Resource]fmt.Stringer{},
	}
	if p.Graph != nil {
		o.gates()
	}
	return o
}

// gates finds for each gate one step that waits for it and one that it joins.
func (o *Of) gates() {
	steps := o.plan.Graph.Steps
	o.users, o.leaves = make([]execgraph.ID, len(steps)), make([]execgraph.ID, len(steps))
	for id := range steps {
		s := &steps[id]
		o.users[id], o.leaves[id] = execgraph.ID(id), execgraph.ID(id)
		if s.Kind == execgraph.Gate && len(s.After) > 0 {
			o.leaves[id] = o.leaves[s.After[0]]
		}
	}
	for id := range slices.Backward(steps) {
		for _, a := range steps[id].After {
			if steps[a].Kind == execgraph.Gate {
				o.users[a] = o.users[id]
			}
		}
	}
}

// index finds the cells of instances and blocks, and the text of references.
func (o *Of) index() {
	for reader := range o.host.reads {
		o.unit(reader)
		for _, r := range o.host.reads[reader] {
			o.unit(r.of)
		}
	}
	for id := range o.plan.Graph.Steps {
		if s := &o.plan.Graph.Steps[id]; s.Kind != execgraph.Gate {
			for _, at := range o.cells(s) {
				o.acts[at] = true
			}
		}
	}
	seen := map[*program.Program]bool{}
	for _, f := range o.root.Frames() {
		if seen[f.Program] {
			continue
		}
		seen[f.Program] = true
		for _, d := range f.Program.Declarations() {
			d.Parts(func(p program.Part) {
				for _, ref := range p.References() {
					o.refs[&ref.Range] = written{ref, p.Argument}
				}
			})
		}
	}
}

func (o *Of) unit(s fmt.Stringer) {
	switch at := s.(type) {
	case *eval.Instance:
		o.units[at.Addr] = at
	case eval.Block:
		if at.Resource != nil {
			o.group[addr.Resource{Module: at.Frame.Addr, Name: at.Resource.Name}] = at
		}
	}
}

// cells are those that a step is about: what it reads is what these read.
func (o *Of) cells(s *execgraph.Step) []fmt.Stringer {
	switch {
	case o.host == nil:
		return nil
	case s.Kind == execgraph.Invoke:
		if s.Invocation == 0 {
			return nil
		}
		return o.known(o.plan.Invocations[s.Invocation-1].Addr)
	case s.Object != nil:
		return o.known(s.Object.Instance)
	case s.Kind == execgraph.OpenProvider:
		return []fmt.Stringer{configuration{*s.Provider}}
	case s.Kind == execgraph.Output:
		if out := o.root.Program.OutputByName[s.Name]; out != nil {
			if _, node, _ := o.root.OutputValue(out); node.Subject != nil {
				return []fmt.Stringer{node.Subject}
			}
		}
	case s.Kind == execgraph.Condition:
		return o.conditioned(s)
	}
	return nil
}

func (o *Of) known(i addr.Instance) []fmt.Stringer {
	if at := o.units[i]; at != nil {
		return []fmt.Stringer{at}
	}
	return nil
}

// conditioned is the cell of a check block, or of a variable or output with conditions.
func (o *Of) conditioned(s *execgraph.Step) []fmt.Stringer {
	for _, f := range o.root.Frames() {
		if f.Addr != s.Module {
			continue
		}
		for _, observer := range f.Program.Observers {
			if n := f.ObserverNode(observer); observer.Head().Name == s.Name && n.Subject != nil {
				return []fmt.Stringer{n.Subject}
			}
		}
		if v := f.Program.VariableByName[strings.TrimPrefix(s.Name, "var.")]; v != nil && strings.HasPrefix(s.Name, "var.") {
			if n := f.VariableNode(v); n.Subject != nil {
				return []fmt.Stringer{n.Subject}
			}
		}
		if out := f.Program.OutputByName[strings.TrimPrefix(s.Name, "output.")]; out != nil && strings.HasPrefix(s.Name, "output.") {
			if _, n, _ := f.OutputValue(out); n.Subject != nil {
				return []fmt.Stringer{n.Subject}
			}
		}
	}
	return nil
}

// Leaf is a step that a gate joins, and of other steps the step itself.
func (o *Of) Leaf(step execgraph.ID) execgraph.ID { return o.leaves[step] }

// Edge says why a step waits for another one, which is among its After. Of a gate, which
// only joins steps for others, it says so for one of these.
func (o *Of) Edge(step, after execgraph.ID) Edge {
	step, after = o.users[step], o.leaves[after]
	steps := o.plan.Graph.Steps
	own, other := &steps[step], &steps[after]
	reason := o.rule(own, other)
	if reason != "" {
		return Edge{Reason: reason}
	}
	if e := o.awaited(own, other); e.Reason != "" {
		return e
	}
	if o.search == nil || o.search.step != step {
		o.search = newSearch(step, o.cells(own))
	}
	targets := o.cells(other)
	if other.Object != nil { // an object that goes isn't among the instances
		if at := o.group[other.Object.Resource]; at != nil {
			targets = append(slices.Clone(targets), at)
		}
	}
	for _, to := range targets {
		if e, ok := o.along(to, other); ok {
			return e
		}
	}
	if o.last(own) {
		return Edge{Reason: Last}
	}
	return Edge{Reason: Order}
}

// rule is the reason as far as the kinds of steps and the state have it, empty for what
// follows from the configuration.
func (o *Of) rule(own, other *execgraph.Step) Reason {
	ends := func(s *execgraph.Step) bool { return s.Kind == execgraph.Destroy || s.Kind == execgraph.Forget }
	same := own.Object != nil && other.Object != nil && own.Object.Instance == other.Object.Instance
	switch {
	case own.Kind == execgraph.RestoreDeposed:
		return Restore
	case own.Kind.Closes():
		return Close
	case own.Kind == execgraph.OpenProvider:
		return ""
	case other.Kind == execgraph.OpenProvider:
		return Provider
	case o.around(own, other) || o.around(other, own):
		return Action
	case own.Kind == execgraph.Gate || other.Kind == execgraph.Gate:
		return Order
	case same && own.Kind == execgraph.OpenEphemeral, own.Object == nil, other.Object == nil && other.Kind != execgraph.Invoke:
		return ""
	case other.Kind == execgraph.Finalize:
		return Finalize
	case same && (own.Kind == execgraph.Provision || own.Kind == execgraph.ProvisionDestroy || other.Kind == execgraph.ProvisionDestroy):
		return Provision
	case same && other.Kind == execgraph.Depose:
		return SetAside
	case same && ends(own):
		return KeepOld
	case same:
		return Replace
	case other.Kind == execgraph.Invoke:
		return ""
	case ends(own) && !ends(other) && o.keepsOld(own.Object.Instance):
		return KeepOld
	case own.Kind == execgraph.ReadData && ends(other):
		return ""
	case !ends(own) && ends(other) && !o.used(*other.Object, *own.Object):
		return Replace
	case ends(own) || ends(other) || own.Kind == execgraph.ProvisionDestroy:
		return UsersFirst
	}
	return ""
}

// around reports whether a step invokes an action around the change of the other.
func (o *Of) around(invoke, of *execgraph.Step) bool {
	if invoke.Kind != execgraph.Invoke || invoke.Invocation == 0 {
		return false
	}
	i := o.plan.Invocations[invoke.Invocation-1]
	if of.Kind == execgraph.Invoke && of.Invocation > 0 {
		return i.Event != 0 && o.plan.Invocations[of.Invocation-1].Object == i.Object
	}
	return i.Event != 0 && of.Object != nil && of.Object.Instance == i.Object
}

// keepsOld reports whether an object is destroyed after its users have changed.
func (o *Of) keepsOld(i addr.Instance) bool {
	stored := o.plan.Previous.Objects[addr.Object{Instance: i}]
	return stored != nil && stored.CreateBeforeDestroy
}

// used reports whether the stored object of one instance depends on another one.
func (o *Of) used(user, by addr.Object) bool {
	stored := o.plan.Previous.Objects[user]
	if stored == nil || !slices.Contains(stored.Dependencies, by.Resource.Erase()) {
		return false
	}
	n := slices.IndexFunc(stored.Uses, func(u state.Uses) bool { return u.Resource == by.Resource.Erase() })
	if n < 0 {
		return true
	}
	u := stored.Uses[n]
	return u.SameKey && by.Key == user.Key || slices.Contains(u.Instances, by.Instance) || !u.SameKey && len(u.Instances) == 0
}

// awaited is the edge of a read to the change that the plan says it waits for.
func (o *Of) awaited(own, other *execgraph.Step) Edge {
	if own.Kind != execgraph.ReadData || own.Change == 0 || other.Object == nil {
		return Edge{}
	}
	a := o.plan.Changes[own.Change-1].Awaits
	if a == nil || a.Addr != other.Object.Instance {
		return Edge{}
	}
	for at, w := range o.refs {
		if *at == a.Range {
			return Edge{Reason: reasonOf(w.argument), References: []Hop{{w.ref.Kind, a.Addr.String(), w.ref.Text, a.Range}}, Value: valueOf(w, a.Addr.String())}
		}
	}
	return Edge{}
}

// last reports whether a step belongs to a check block, which comes after everything.
func (o *Of) last(s *execgraph.Step) bool {
	if s.Kind == execgraph.Condition {
		return strings.HasPrefix(s.Name, "check.")
	}
	return s.Kind == execgraph.ReadData && s.Change > 0 && o.plan.Changes[s.Change-1].Reason == plan.ReadCheckNested
}

// reasonOf is the reason of a reference that stands in an argument.
func reasonOf(argument string) Reason {
	switch argument {
	case string(DependsOn):
		return DependsOn
	case string(Triggered):
		return Triggered
	}
	return Reference
}

// valueOf is what a reference gets of the address that it means.
func valueOf(w written, to string) string {
	if w.ref == nil || reasonOf(w.argument) != Reference {
		return ""
	}
	return to + pathText(w.ref.Rest)
}

// pathText is a traversal as it is written.
func pathText(rest hcl.Traversal) string {
	var b strings.Builder
	for _, step := range rest {
		switch s := step.(type) {
		case hcl.TraverseAttr:
			b.WriteString("." + s.Name)
		case hcl.TraverseIndex:
			if s.Key.Type() == cty.String {
				b.WriteString("[" + addr.Quote(s.Key.AsString()) + "]")
			} else if s.Key.Type() == cty.Number {
				b.WriteString("[" + s.Key.AsBigFloat().Text('f', -1) + "]")
			}
		case hcl.TraverseSplat:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

// A search goes from the cells of one step through everything that has no step of its
// own, step by step.
type search struct {
	step  execgraph.ID
	own   []fmt.Stringer
	by    map[fmt.Stringer]from
	queue []fmt.Stringer
}

// from has the cell from which the search reached a cell.
type from struct {
	cell fmt.Stringer
	via  *hcl.Range
}

func newSearch(step execgraph.ID, own []fmt.Stringer) *search {
	s := &search{step: step, own: own, by: map[fmt.Stringer]from{}, queue: slices.Clone(own)}
	for _, at := range own {
		s.by[at] = from{}
	}
	return s
}

// reach reports whether the search reaches a cell.
func (o *Of) reach(to fmt.Stringer) bool {
	s := o.search
	for {
		if _, found := s.by[to]; found && !slices.Contains(s.own, to) {
			return true
		}
		if len(s.queue) == 0 {
			return false
		}
		at := s.queue[0]
		s.queue = s.queue[1:]
		if o.acts[at] && !slices.Contains(s.own, at) {
			continue
		}
		for _, r := range o.host.reads[at] {
			if _, seen := s.by[r.of]; !seen && r.of != nil {
				s.by[r.of] = from{at, r.via}
				s.queue = append(s.queue, r.of)
			}
		}
	}
}

// along is the edge that leads to a cell of another step.
func (o *Of) along(to fmt.Stringer, other *execgraph.Step) (Edge, bool) {
	if o.host == nil || !o.reach(to) {
		return Edge{}, false
	}
	e := Edge{Reason: Reference}
	var last written
	for at := to; !slices.Contains(o.search.own, at); {
		step := o.search.by[at]
		if _, whole := step.cell.(eval.Block); !whole && step.via != nil {
			w, known := o.refs[step.via]
			hop := Hop{To: at.String(), Range: *step.via}
			if at == to && other.Object != nil {
				hop.To = other.Object.Instance.String()
			}
			if known {
				hop.Kind, hop.Text = w.ref.Kind, w.ref.Text
				if r := reasonOf(w.argument); r != Reference {
					e.Reason = r
				}
			}
			if len(e.References) == 0 {
				last = w
				if other.Object == nil {
					hop.To = at.String()
				} else {
					hop.To = other.Object.Instance.String()
				}
			}
			e.References = append(e.References, hop)
		}
		at = step.cell
	}
	slices.Reverse(e.References)
	if e.Reason == Reference && other.Object != nil && len(e.References) > 0 {
		e.Value = valueOf(last, other.Object.Instance.String())
	}
	return e, true
}
