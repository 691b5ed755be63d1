// Package plan defines the result of planning: the changes to objects and outputs, messages,
// and the execution graph that apply follows.
//
// It is a noun: package planner makes it, apply follows it, view shows it and
// planfile saves it. It does no work.
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/actiontrigger"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/persisted"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
)

// Action is what is done to an object.
type Action uint8

const (
	NoOp Action = iota
	Create
	Read // a data source is read during apply
	Update
	DeleteThenCreate
	CreateThenDelete
	Delete
	Forget // the object leaves the state and stays as it is
	ForgetThenCreate
)

var actionNames = [...]string{"no-op", "create", "read", "update", "delete-then-create", "create-then-delete", "delete", "forget", "forget-then-create"}

func (a Action) String() string { return actionNames[a] }

// IsReplace reports whether the old object ends and a new one is made.
func (a Action) IsReplace() bool {
	return a == DeleteThenCreate || a == CreateThenDelete || a == ForgetThenCreate
}

// Reason says why an action was chosen where the difference of values
// doesn't say it; the texts are those of the JSON format.
type Reason string

const (
	NoReason                Reason = ""
	ReplaceTainted          Reason = "replace_because_tainted"
	ReplaceRequested        Reason = "replace_by_request"
	ReplaceTriggered        Reason = "replace_by_triggers"
	ReplaceCannotUpdate     Reason = "replace_because_cannot_update"
	DeleteNoResourceConfig  Reason = "delete_because_no_resource_config"
	DeleteWrongRepetition   Reason = "delete_because_wrong_repetition"
	DeleteCountIndex        Reason = "delete_because_count_index"
	DeleteEachKey           Reason = "delete_because_each_key"
	DeleteNoModule          Reason = "delete_because_no_module"
	DeleteNoMoveTarget      Reason = "delete_because_no_move_target"
	DeleteEnabledFalse      Reason = "delete_because_enabled_false"
	ReadConfigUnknown       Reason = "read_because_config_unknown"
	ReadDependencyPending   Reason = "read_because_dependency_pending"
	ReadCheckNested         Reason = "read_because_check_nested"
	ForgotDestroyFalseState Reason = "forgot_because_lifecycle_destroy_in_state"
	ForgotDestroyFalse      Reason = "forgot_because_lifecycle_destroy_in_config"
)

// A Change is what is done to one object of a resource instance. Before and
// After have the schema's implied type and carry marks for sensitive parts;
// they are null where there is no object.
type Change struct {
	Addr     addr.Object
	From     *addr.Instance // where it was before a move; nil for where it is
	Provider *addr.ProviderConfig
	Action   Action
	Reason   Reason

	Before, After                 cty.Value
	BeforeIdentity, AfterIdentity cty.Value // NilVal without
	// Private is the provider's planned private data.
	Private []byte
	// ReplacePaths are the attributes that force a replacement.
	ReplacePaths []cty.Path
	// DeposedKey is where a create-then-delete replacement keeps the old
	// object.
	DeposedKey string

	// Dependencies are the resources that have to outlive the new object, as
	// indices of Plan.Resources, ascending. All direct ones are there; of
	// those that they lead to perhaps only the nearest.
	Dependencies []int32
	// Uses narrows them to instances.
	Uses []Uses
	// Settings are kept with the new object.
	persisted.Settings

	// Awaits is what a data source that is read during apply waits for, nil where
	// the reason isn't ReadDependencyPending.
	Awaits *Awaited

	Importing *Importing // nil unless the object is imported
	// GeneratedConfig is configuration made for an import without one.
	GeneratedConfig string

	// Causes are what the change comes from, as far as that says more than the change:
	// addresses and functions. Nil is where nobody asked, and empty where there is nothing
	// to tell; saved plans have them of some changes of each block.
	Causes []string
}

// Share takes from another change what is the same, so that both have one copy.
func (c *Change) Share(other *Change) {
	if *c.Provider == *other.Provider {
		c.Provider = other.Provider
	}
	if slices.Equal(c.Dependencies, other.Dependencies) {
		c.Dependencies = other.Dependencies
	}
	if SameUses(c.Uses, other.Uses) {
		c.Uses = other.Uses
	}
	if c.Addr.Name == other.Addr.Name {
		c.Addr.Name = other.Addr.Name
	}
}

// Previous is where the object was before.
func (c *Change) Previous() addr.Instance {
	if c.From != nil {
		return *c.From
	}
	return c.Addr.Instance
}

// Moved reports whether the object had another address before.
func (c *Change) Moved() bool { return c.From != nil && *c.From != c.Addr.Instance }

// Awaited is a change that a read waits for: of the instance Addr, which the block
// leads to by the reference at Range.
type Awaited struct {
	Addr  addr.Instance
	Range hcl.Range
}

func (a *Awaited) String() string {
	return fmt.Sprintf("%s changes [%s:%d]", a.Addr, a.Range.Filename, a.Range.Start.Line)
}

// Importing names an existing object; exactly one field is set.
type Importing struct {
	ID       string
	Identity cty.Value
	Unknown  bool
}

// Label returns the name and the value by which progress shows the object: its ID, or the
// attributes of its identity.
func (i *Importing) Label() (name, value string) {
	if i.Identity == cty.NilVal || i.Identity.IsNull() {
		return "id", i.ID
	}
	var list []string // in the order of the names, as cty keeps objects
	for key, v := range i.Identity.Elements() {
		text := "(sensitive value)"
		if !v.IsMarked() {
			text = labelText(v)
		}
		list = append(list, key.AsString()+"="+text)
	}
	return "identity", strings.Join(list, ",")
}

func labelText(v cty.Value) string {
	switch {
	case v.IsNull():
		return "null"
	case !v.IsWhollyKnown():
		return "(known after apply)"
	}
	if v, err := convert.Convert(v, cty.String); err == nil {
		return v.AsString()
	}
	var list []string
	for _, element := range v.Elements() {
		list = append(list, labelText(element))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// An OutputChange is what happens to a root output. Values are null where
// the output doesn't exist and carry marks.
type OutputChange struct {
	Name            string
	Action          Action // NoOp, Create, Update or Delete
	Before, After   cty.Value
	Sensitive       bool // in the new configuration
	BeforeSensitive bool
}

// An Invocation is an action that is invoked: around a change, or because somebody
// has asked for it.
type Invocation struct {
	// Addr is the action's.
	Addr     addr.Instance
	Provider addr.ProviderConfig
	// Config is what the action is configured with as far as that is known, with marks for
	// sensitive parts. Anything that is ephemeral is null.
	Config cty.Value
	// Object is the instance around whose change it is invoked. Where somebody has asked
	// for it, Event is 0, and Object is the caller, zero without.
	Object addr.Instance
	Event  actiontrigger.Event
	// Block and Index are the place in the triggers of the instance.
	Block, Index int
	Failure      actiontrigger.Failure
}

// Label distinguishes an invocation from all others of the plan.
func (i *Invocation) Label() string {
	switch {
	case i.Event != 0:
		return fmt.Sprintf("%s %s %s (%d.%d)", i.Addr, i.Event, i.Object, i.Block, i.Index)
	case i.Object != addr.Instance{}:
		return fmt.Sprintf("%s for %s", i.Addr, i.Object)
	}
	return i.Addr.String()
}

// Compare orders those that somebody has asked for first, then by what they are invoked for
// and their place there.
func (i *Invocation) Compare(o *Invocation) int {
	asked := func(i *Invocation) int { return int(min(i.Event, 1)) }
	return cmp.Or(cmp.Compare(asked(i), asked(o)), i.Object.Compare(o.Object), cmp.Compare(i.Block, o.Block),
		cmp.Compare(i.Event, o.Event), cmp.Compare(i.Index, o.Index), i.Addr.Compare(o.Addr))
}

// A DeferredInvocation waits for a later round, with the change that it is for.
type DeferredInvocation struct {
	Invocation *Invocation
	Reason     string // the texts of the JSON format
}

// A Deferred is a change that waits for a later round.
type Deferred struct {
	Change *Change
	Reason string // the texts of the JSON format
}

// Mode is what the plan is for.
type Mode uint8

const (
	Normal Mode = iota
	Destroy
	RefreshOnly
)

// A Variable is the value of a root variable that the plan was made with.
type Variable struct {
	Value cty.Value // without marks
	// Ephemeral: the value isn't kept and has to be given again.
	Ephemeral bool
	// Given: it was set from outside rather than by its default.
	Given bool
}

// A Plan is one decision about a configuration and a state.
type Plan struct {
	Mode Mode
	// Changes has every object that planning looked at, NoOp included,
	// ordered by address.
	Changes []*Change
	// Drift are the differences that refreshing found.
	Drift    []*Change
	Outputs  []*OutputChange // ordered by name
	Deferred []*Deferred
	// Invocations are the actions to be invoked, in the order of their Compare.
	Invocations         []*Invocation
	DeferredInvocations []*DeferredInvocation
	Checks              []state.CheckResult
	// Resources are those that changes depend on, in order.
	Resources []addr.Resource
	// Modules are the module instances that the configuration has, the root
	// included. Those with the key Any stand for instances that aren't known.
	Modules []addr.Module
	// Gone are the module instances that removed blocks name.
	Gone []addr.Module

	// Previous is the state as it was read, Refreshed as the providers see
	// it now, with moves done.
	Previous, Refreshed *state.Snapshot

	Graph *execgraph.Graph

	Variables map[string]*Variable
	// Relevant are the attributes of other objects that changes depend on.
	Relevant []Attribute
	Targets  []addr.Target
	Excludes []addr.Target
	// Named is what those of them that are patterns name.
	Named []Named
	// Scope are the instances that a plan with Targets or Excludes has read in the state, in
	// order, whether it had them or not. Other plans read all, and have nil here.
	Scope     []addr.Instance
	Timestamp time.Time
	// LeftOut are the objects that weren't looked at because they were not long ago; nil
	// without one.
	LeftOut *LeftOut
	// Unplanned counts the objects among them that have no change here, because nothing that
	// they come from is otherwise than in an earlier plan.
	Unplanned int
	// Errored: planning failed and the plan can't be applied.
	Errored bool

	// Schemas of the providers in use, for code that shows or applies it.
	Schemas map[addr.Provider]*provider.Schemas
}

// LeftOut counts objects that were taken for what they were when they were last looked at,
// none longer ago than since then.
type LeftOut struct {
	Objects int
	Since   time.Time
}

// With counts some more; nil is none.
func (l *LeftOut) With(objects int, since time.Time) *LeftOut {
	switch {
	case objects == 0:
		return l
	case l == nil:
		return &LeftOut{objects, since}
	}
	l.Objects += objects
	if since.Before(l.Since) {
		l.Since = since
	}
	return l
}

// Say says that for people, of a plan of that time which has so many of them in no change.
func (l *LeftOut) Say(planned time.Time, unplanned int) string {
	age, unit := planned.Sub(l.Since), "minute"
	n := int((age + time.Minute - 1) / time.Minute)
	if n > 120 {
		n, unit = (n+59)/60, "hour"
	}
	within := "the last " + unit
	if n > 1 {
		within = fmt.Sprintf("the last %d %ss", n, unit)
	}
	text := fmt.Sprintf("%d objects weren't read again: they were within %s, and nothing is to be done with them (-refresh=auto).", l.Objects, within)
	if l.Objects == 1 {
		text = "1 object wasn't read again: it was within " + within + ", and nothing is to be done with it (-refresh=auto)."
	}
	switch {
	case unplanned == 0:
		return text
	case l.Objects == 1:
		return text + " Nor was it planned again, as nothing that it comes from was edited."
	case unplanned == l.Objects:
		return text + " Nor were they planned again, as nothing that they come from was edited."
	}
	return text + fmt.Sprintf(" %d of them weren't planned again either, as nothing that they come from was edited.", unplanned)
}

// A Named has the resources that a pattern names, in order.
type Named struct {
	Pattern   addr.Target
	Resources []addr.Resource
}

// An Attribute is a part of a resource instance.
type Attribute struct {
	Resource addr.Instance
	Path     cty.Path
}

// DependenciesOf lists the dependencies of a change by their addresses.
func (p *Plan) DependenciesOf(c *Change) []addr.Resource {
	if len(c.Dependencies) == 0 {
		return nil
	}
	list := make([]addr.Resource, len(c.Dependencies))
	for i, n := range c.Dependencies {
		list[i] = p.Resources[n]
	}
	return list
}

// Uses is a state.Uses with the resource as an index of Plan.Resources.
type Uses struct {
	Resource  int32
	SameKey   bool
	Instances []addr.Instance
}

func (u Uses) equal(o Uses) bool {
	return u.Resource == o.Resource && u.SameKey == o.SameKey && slices.Equal(u.Instances, o.Instances)
}

// SameUses reports whether two lists say the same, as state.SameUses does.
func SameUses(a, b []Uses) bool {
	return (a == nil) == (b == nil) && slices.EqualFunc(a, b, Uses.equal)
}

// UsesOf is what narrows the dependencies of a change, by addresses.
func (p *Plan) UsesOf(c *Change) []state.Uses {
	if c.Uses == nil {
		return nil
	}
	list := make([]state.Uses, len(c.Uses))
	for i, u := range c.Uses {
		list[i] = state.Uses{Resource: p.Resources[u.Resource], SameKey: u.SameKey, Instances: u.Instances}
	}
	return list
}

// Counts are the totals of the summary line.
type Counts struct {
	Import, Add, Change, Destroy, Forget int
	// Invoke and Fail are actions: those invoked, and of an apply those that failed.
	Invoke, Fail int
}

// Counts counts the actions of managed resources.
func (p *Plan) Counts() Counts {
	n := Counts{Invoke: len(p.Invocations)}
	for _, c := range p.Changes {
		n.planned(c)
	}
	return n
}

// ByComponent counts them for each component instance of a stack that has any.
func (p *Plan) ByComponent() map[addr.Module]Counts {
	all := map[addr.Module]Counts{}
	for _, c := range p.Changes {
		if _, component, ok := c.Addr.Module.Component(); ok {
			n := all[component]
			n.planned(c)
			all[component] = n
		}
	}
	return all
}

func (n *Counts) planned(c *Change) {
	if c.Addr.Name.Mode != addr.Managed {
		return
	}
	if c.Importing != nil {
		n.Import++
	}
	n.Count(c.Action)
}

// Count adds what becomes of one object.
func (n *Counts) Count(a Action) {
	switch a {
	case Create:
		n.Add++
	case Update:
		n.Change++
	case DeleteThenCreate, CreateThenDelete:
		n.Add++
		n.Destroy++
	case Delete:
		n.Destroy++
	case Forget:
		n.Forget++
	case ForgetThenCreate:
		n.Add++
		n.Forget++
	}
}

// ChangesAt are the changes of the objects that a target names.
func (p *Plan) ChangesAt(target addr.Target) []*Change {
	var named []*Change
	for _, c := range p.Changes {
		if target.Matches(c.Addr.Instance) {
			named = append(named, c)
		}
	}
	return named
}

// Untouched are those of some instances that the plan doesn't change.
func (p *Plan) Untouched(list []addr.Instance) []addr.Instance {
	return slices.DeleteFunc(slices.Clone(list), func(i addr.Instance) bool {
		return slices.ContainsFunc(p.Changes, func(c *Change) bool { return c.Addr.Instance == i && c.Action != NoOp })
	})
}

// Reaches says of component instances whether the plan reports what becomes of them: one that
// is limited does so of those where something is destroyed or forgotten.
func (p *Plan) Reaches() func(addr.Module) bool {
	if len(p.Targets)+len(p.Excludes) == 0 {
		return func(addr.Module) bool { return true }
	}
	dropped := map[addr.Module]bool{}
	for _, c := range p.Changes {
		if _, instance, ok := c.Addr.Module.Component(); ok && (c.Action == Delete || c.Action == Forget) {
			dropped[instance] = true
		}
	}
	return func(m addr.Module) bool { return dropped[m] }
}

// HasChanges reports whether applying the plan would change anything: an object, an output, an
// address, or the state alone. Anything that isn't known when only refreshing won't be known
// in apply either, which then keeps the output as it is.
func (p *Plan) HasChanges() bool {
	for _, c := range p.Changes {
		if c.Action != NoOp && c.Action != Read || c.Moved() || c.Importing != nil {
			return true
		}
	}
	for _, o := range p.Outputs {
		if o.Action != NoOp && (p.Mode != RefreshOnly || o.After.IsWhollyKnown()) {
			return true
		}
	}
	return p.Mode == RefreshOnly && len(p.Drift) > 0 || len(p.Invocations) > 0
}
