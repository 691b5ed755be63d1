package why

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
)

const sensitive = value.Sensitive

// An explainer has the plan's records at hand.
type explainer struct {
	in        Input
	frames    map[addr.Module]*eval.Frame
	resources map[addr.Resource][]*plan.Change // of current objects
	deferred  map[addr.Resource][]*plan.Deferred
	drift     map[addr.Object]*plan.Change
	known     map[string][]Chain // of changes, by object and path
	removals  *program.Removals
}

func newExplainer(in Input) *explainer {
	e := &explainer{
		in: in, frames: map[addr.Module]*eval.Frame{}, resources: map[addr.Resource][]*plan.Change{},
		deferred: map[addr.Resource][]*plan.Deferred{}, drift: map[addr.Object]*plan.Change{}, known: map[string][]Chain{},
		removals: in.Tree.Removals(),
	}
	for _, f := range in.Root.Frames() {
		e.frames[f.Addr] = f
	}
	for _, c := range in.Plan.Changes {
		if c.Addr.Deposed == "" {
			e.resources[c.Addr.Resource] = append(e.resources[c.Addr.Resource], c)
		}
	}
	for _, d := range in.Plan.Deferred {
		e.deferred[d.Change.Addr.Resource] = append(e.deferred[d.Change.Addr.Resource], d)
	}
	for _, c := range in.Plan.Drift {
		e.drift[c.Addr] = c
	}
	return e
}

// claims implements program.Claims.
func (e *explainer) claims(in addr.Module, block *program.Removed, m addr.Module) bool {
	f := e.frames[in]
	return f != nil && eval.Claims(f, block.Call, m)
}

// key distinguishes links.
func (l Link) key() string {
	text := string(l.Kind) + " " + l.Subject + " " + l.Name + " " + value.PathString(l.Path)
	if l.Range != nil && l.Kind != Change && l.Kind != DeferredFor {
		text += " " + l.Range.String()
	}
	return text
}

// instance is the instance with its configuration, or nil.
func (e *explainer) instance(a addr.Instance) *eval.Instance {
	f := e.frames[a.Module]
	if f == nil {
		return nil
	}
	res := f.Program.ResourceByName[a.Name]
	if res == nil {
		return nil
	}
	for _, i := range f.Expanded(res) {
		if i.Addr.Key == a.Key {
			return i
		}
	}
	return nil
}

// join puts links before each of the chains, or before an end without one.
func join(head Chain, tails []Chain, end Link) []Chain {
	if len(tails) == 0 {
		tails = []Chain{{end}}
	}
	list := make([]Chain, len(tails))
	for i, t := range tails {
		list[i] = slices.Concat(head, t)
	}
	return list
}

// causes are the chains for what the plan does with an object.
func (e *explainer) causes(c *plan.Change) []Chain {
	subject := c.Addr.String()
	if c.Addr.Deposed != "" {
		return []Chain{{{Kind: Leftover, Subject: subject}}}
	}
	switch c.Action {
	case plan.Create:
		return e.created(c)
	case plan.Update:
		return e.updated(c)
	case plan.DeleteThenCreate, plan.CreateThenDelete, plan.ForgetThenCreate:
		return e.replaced(c)
	case plan.Delete, plan.Forget:
		return e.ended(c)
	case plan.Read:
		return e.read(c)
	}
	return nil
}

// created explains why there is an object that wasn't there before.
func (e *explainer) created(c *plan.Change) []Chain {
	subject := c.Addr.String()
	if d := e.drift[c.Addr]; d != nil && d.Action == plan.Delete {
		return []Chain{{{Kind: DeletedAway, Subject: subject}}}
	}
	i := e.instance(c.Addr.Instance)
	if i == nil {
		return []Chain{{{Kind: Undetermined, Subject: subject}}}
	}
	for f := i.Frame; f.Parent != nil; f = f.Parent {
		if f.Each != nil && f.Each.Key != addr.NoKey && !e.hadModule(f.Addr) {
			return e.repetition(e.callPlace(f), f.Each.Key)
		}
	}
	if i.Each != nil && i.Resource.Repeat.Expr() != nil {
		return e.repetition(e.instancePlace(i), i.Addr.Key)
	}
	return []Chain{{{Kind: New, Subject: subject, Range: i.Resource.Range.Ptr()}}}
}

// hadModule reports whether the state had something in a module instance.
func (e *explainer) hadModule(m addr.Module) bool {
	for a := range e.in.Plan.Previous.Objects {
		if a.Module == m || m.Contains(a.Module) {
			return true
		}
	}
	return false
}

// repetition explains why a block has the instances that it has. The key is
// that of an instance that is there, or NoKey where all of it matters.
func (e *explainer) repetition(at place, key addr.Key) []Chain {
	name, expr := "count", at.repeat.Expr()
	switch {
	case at.repeat.ForEach != nil:
		name = "for_each"
	case at.repeat.Enabled != nil:
		name = "enabled"
	}
	if expr == nil {
		return []Chain{{{Kind: Undetermined, Subject: at.block}}}
	}
	var path cty.Path
	if text, ok := key.Str(); ok {
		path = cty.IndexStringPath(text)
	}
	x := part(place{frame: at.frame}, expr, path)
	head := Chain{{Kind: Repetition, Subject: at.block, Name: name, Range: x.expr.Range().Ptr()}}
	return join(head, e.follow(x, e.changed), Link{Kind: Written, Range: x.expr.Range().Ptr()})
}

// updated explains an object's differing attributes: those that are
// configured, or else those that the provider decides.
func (e *explainer) updated(c *plan.Change) []Chain {
	paths := differences(c.Before, c.After)
	if len(paths) == 0 {
		return []Chain{{{Kind: Sensitivity, Subject: c.Addr.String()}}}
	}
	return e.attributes(c, paths)
}

func (e *explainer) attributes(c *plan.Change, paths []cty.Path) []Chain {
	i := e.instance(c.Addr.Instance)
	if i == nil {
		return []Chain{{{Kind: Undetermined, Subject: c.Addr.String()}}}
	}
	var configured, computed []Chain
	for _, p := range paths {
		switch {
		case schema.Configured(i.Resource.Config.Body, attribute(p)):
			configured = append(configured, e.attribute(c, i, p)...)
		case present(at(plain(c.Before), p)) && at(plain(c.After), p).IsNull():
			link := e.link(Attribute, c, p)
			link.Range = nil
			configured = append(configured, Chain{link, {Kind: Absent, Subject: link.Subject, Path: p, Range: i.Resource.Range.Ptr()}})
		default:
			computed = append(computed, Chain{e.link(Computed, c, p), {Kind: Provider, Subject: c.Provider.Provider.ForDisplay()}})
		}
	}
	switch {
	case len(configured) > 0:
		return configured
	case len(computed) > 0:
		return computed
	}
	return []Chain{{{Kind: Provider, Subject: c.Provider.Provider.ForDisplay()}}}
}

// link is about a part of the change's object.
func (e *explainer) link(k Kind, c *plan.Change, p cty.Path) Link {
	l := Link{Kind: k, Subject: c.Addr.String(), Path: p, Before: at(c.Before, p), After: at(c.After, p)}
	if c.Action.IsReplace() {
		l.Forces = slices.ContainsFunc(c.ReplacePaths, func(r cty.Path) bool { return r.HasPrefix(p) || p.HasPrefix(r) })
	}
	return l
}

// attribute explains one configured attribute.
func (e *explainer) attribute(c *plan.Change, i *eval.Instance, p cty.Path) []Chain {
	body := i.Resource.Config
	head := e.link(Attribute, c, p)
	expr := schema.FindExpr(body.Body, p)
	where := schema.FindRange(body.Body, p)
	head.Range = where.Ptr()
	if d := e.drift[c.Addr]; d != nil {
		was, is := at(plain(d.Before), p), at(plain(d.After), p)
		if !same(was, is) {
			end := Link{Kind: Drift, Subject: c.Addr.String(), Path: p, Before: at(d.Before, p), After: at(d.After, p)}
			return []Chain{{head, end}}
		}
	}
	x := expression{place: e.instancePlace(i), expr: expr, refs: inside(body.Refs, where), before: head.Before, after: head.After}
	tails := e.follow(x, e.changed)
	if len(tails) == 0 {
		for _, r := range schema.DynamicRanges(body.Body, attribute(p)) {
			x.expr, x.refs = nil, inside(body.Refs, r)
			if tails = e.follow(x, e.changed); len(tails) > 0 {
				head.Range = r.Ptr()
				break
			}
		}
	}
	return join(Chain{head}, tails, Link{Kind: Written, Range: head.Range})
}

// changed is the judge of what changes: resources whose instances have
// another value than before at the place that is referred to.
func (e *explainer) changed(at place, ref *program.Ref) []Chain {
	return e.changing(at, ref, pathOf(ref.Rest), false)
}

// changing are the chains for instances that a reference names and that
// change, at the path or, for whole ones, anyhow.
func (e *explainer) changing(where place, ref *program.Ref, path cty.Path, whole bool) []Chain {
	resource := addr.Resource{Module: where.frame.Addr, Name: ref.Resource.Name}
	key, exact := keyOf(where, ref.Key)
	if ref.Key == nil && where.element != nil {
		key = *where.element
		exact = slices.ContainsFunc(e.resources[resource], func(c *plan.Change) bool { return c.Addr.Key == key })
	}
	var best []Chain
	for _, c := range e.resources[resource] {
		if exact && c.Addr.Key != key {
			continue
		}
		p := path
		if ref.Key == nil && c.Addr.Key != addr.NoKey {
			p = nil // a whole collection: the path continues from an instance
		}
		if tails := e.reached(c, p, ref, whole); len(tails) > 0 && (best == nil || len(tails[0]) < len(best[0])) {
			best = tails
		}
	}
	if best == nil && ref.Resource.Name.Mode == addr.Data {
		best = e.newData(resource, key, exact, ref)
	}
	return best
}

// reached continues from a reference to a change.
func (e *explainer) reached(c *plan.Change, path cty.Path, ref *program.Ref, whole bool) []Chain {
	l := e.link(Change, c, path)
	l.Action, l.Reason, l.Range, l.Forces = c.Action, c.Reason, ref.Range.Ptr(), false
	if c.Action == plan.NoOp {
		d := e.drift[c.Addr]
		if d == nil || same(at(plain(d.Before), path), at(plain(d.After), path)) {
			return nil
		}
		return []Chain{{{Kind: Drift, Subject: l.Subject, Path: path, Before: at(d.Before, path), After: at(d.After, path), Range: l.Range}}}
	}
	if c.Action == plan.Forget || !whole && same(plain(l.Before), plain(l.After)) {
		return nil
	}
	name := l.Subject + value.PathString(path)
	tails, done := e.known[name]
	if !done {
		e.known[name] = nil // should it come back here, there is nothing new
		tails = e.behind(c, path)
		e.known[name] = tails
	}
	return join(Chain{l}, tails, Link{Kind: Undetermined, Subject: l.Subject})
}

// behind explains why a change has its effect at a path, by the shortest
// chain.
func (e *explainer) behind(c *plan.Change, path cty.Path) []Chain {
	chains := e.causes(c)
	if i := e.instance(c.Addr.Instance); i != nil && c.Action == plan.Update && len(path) > 0 && schema.Configured(i.Resource.Config.Body, attribute(path)) {
		var below []cty.Path
		for _, p := range differences(c.Before, c.After) {
			if p.HasPrefix(path) || path.HasPrefix(p) {
				below = append(below, p)
			}
		}
		chains = e.attributes(c, below)
	}
	return shortest(chains)
}

// shortest is the shortest chain without doubt, or all those that are
// alternatives of the shortest.
func shortest(chains []Chain) []Chain {
	if len(chains) == 0 {
		return nil
	}
	sure := slices.DeleteFunc(slices.Clone(chains), func(c Chain) bool { return c[len(c)-1].Maybe })
	if len(sure) > 0 {
		slices.SortStableFunc(sure, func(a, b Chain) int { return cmp.Compare(len(a), len(b)) })
		return sure[:1]
	}
	return chains[:min(len(chains), most)]
}

// newData finds data sources that were read during planning and gave another
// result than before.
func (e *explainer) newData(r addr.Resource, key addr.Key, exact bool, ref *program.Ref) []Chain {
	f := e.frames[r.Module]
	for _, i := range f.Expanded(ref.Resource) {
		if exact && i.Addr.Key != key {
			continue
		}
		o := addr.Object{Instance: i.Addr}
		was, is := e.in.Plan.Previous.Objects[o], e.in.Plan.Refreshed.Objects[o]
		if was == nil || is == nil || bytes.Equal(was.JSON, is.JSON) {
			continue
		}
		x := expression{place: e.instancePlace(i), refs: i.Resource.Config.Refs}
		head := Chain{{Kind: NewData, Subject: o.String(), Range: ref.Range.Ptr()}}
		if tails := e.follow(x, e.changed); len(tails) > 0 && !tails[0][len(tails[0])-1].Maybe {
			return join(head, tails, Link{})
		}
		return []Chain{head}
	}
	return nil
}

// replaced explains a replacement.
func (e *explainer) replaced(c *plan.Change) []Chain {
	subject := c.Addr.String()
	switch c.Reason {
	case plan.ReplaceTainted:
		return []Chain{{{Kind: Tainted, Subject: subject}}}
	case plan.ReplaceRequested:
		return []Chain{{{Kind: Requested, Subject: subject, Name: "-replace"}}}
	case plan.ReplaceTriggered:
		return e.triggered(c)
	}
	if len(c.ReplacePaths) > 0 {
		return e.attributes(c, c.ReplacePaths)
	}
	return e.updated(c)
}

func (e *explainer) triggered(c *plan.Change) []Chain {
	i := e.instance(c.Addr.Instance)
	if i == nil {
		return nil
	}
	var list []Chain
	for _, ref := range i.Resource.ReplaceTriggeredBy {
		if ref.Kind != program.RefResource {
			continue
		}
		path := pathOf(ref.Rest)
		if tails := e.changing(e.instancePlace(i), ref, path, len(path) == 0); len(tails) > 0 {
			list = append(list, join(Chain{{Kind: Trigger, Subject: c.Addr.String(), Name: ref.Text, Range: ref.Range.Ptr()}}, tails, Link{})...)
		}
	}
	return list
}

// ended explains why an object goes.
func (e *explainer) ended(c *plan.Change) []Chain {
	subject := c.Addr.String()
	i := e.instance(c.Addr.Instance)
	setting := Link{Kind: Setting, Subject: subject, Name: "lifecycle.destroy"}
	switch c.Reason {
	case plan.ForgotDestroyFalse:
		if i != nil {
			setting.Range = i.Resource.Range.Ptr()
		}
		return []Chain{{setting}}
	case plan.ForgotDestroyFalseState:
		return []Chain{{setting}}
	}
	if e.in.Plan.Mode == plan.Destroy {
		return []Chain{{{Kind: Requested, Subject: subject, Name: "-destroy"}}}
	}
	if r, _ := e.removals.Find(c.Addr.Instance, e.claims); r != nil {
		return []Chain{{{Kind: Removed, Subject: subject, Range: r.Range.Ptr()}}}
	}
	f := e.in.Root
	for _, s := range c.Addr.Module.Steps() {
		call := f.Program.CallByName[s.Call]
		module := f.Addr.Child(s.Call, s.Key)
		if call == nil {
			return []Chain{{{Kind: Unconfigured, Subject: f.Addr.Child(s.Call, addr.NoKey).String()}}}
		}
		child := e.frames[module]
		if child == nil {
			at := place{frame: f, repeat: call.Repeat, block: f.Addr.Child(s.Call, addr.NoKey).String()}
			return e.keyGone(module.String(), at, call.Range)
		}
		f = child
	}
	res := f.Program.ResourceByName[c.Addr.Name]
	if res == nil {
		return []Chain{{{Kind: Unconfigured, Subject: c.Addr.Resource.String()}}}
	}
	return e.keyGone(subject, place{frame: f, repeat: res.Repeat, block: c.Addr.Resource.String()}, res.Range)
}

// keyGone explains that a block hasn't an instance any more.
func (e *explainer) keyGone(subject string, at place, header hcl.Range) []Chain {
	head := Link{Kind: KeyGone, Subject: subject, Range: header.Ptr()}
	if at.repeat.Expr() == nil {
		return []Chain{{head, {Kind: Written, Range: header.Ptr()}}}
	}
	return join(Chain{head}, e.repetition(at, addr.NoKey), Link{})
}

// read explains why a data source is read during apply.
func (e *explainer) read(c *plan.Change) []Chain {
	i := e.instance(c.Addr.Instance)
	if i == nil {
		return nil
	}
	if c.Reason == plan.ReadCheckNested {
		return []Chain{{{Kind: Setting, Subject: c.Addr.String(), Name: i.Resource.Check.Head().Name, Range: i.Resource.Check.Head().Range.Ptr()}}}
	}
	at := e.instancePlace(i)
	var list []Chain
	if c.Reason == plan.ReadConfigUnknown {
		for _, p := range unknowns(c.After) {
			if schema.Configured(i.Resource.Config.Body, attribute(p)) {
				for _, chain := range e.attribute(c, i, p) {
					chain[0].Kind = Unknown
					list = append(list, chain)
				}
			}
		}
		return list
	}
	for _, ref := range i.Resource.DependsOn {
		list = append(list, join(Chain{{Kind: DependsOn, Subject: c.Addr.String(), Name: ref.Text, Range: ref.Range.Ptr()}}, e.pending(at, ref), Link{Kind: Pending, Subject: ref.Text})...)
	}
	for _, ref := range i.Resource.Config.Refs {
		if ref.Kind == program.RefResource {
			list = append(list, e.changing(at, ref, nil, true)...)
		}
	}
	for f := i.Frame; f.Parent != nil; f = f.Parent {
		for _, ref := range f.Call.DependsOn {
			list = append(list, join(Chain{{Kind: DependsOn, Subject: f.Addr.String(), Name: ref.Text, Range: ref.Range.Ptr()}}, e.pending(e.callPlace(f), ref), Link{Kind: Pending, Subject: ref.Text})...)
		}
	}
	return shortest(list)
}

// pending is the change that an entry of depends_on leads to.
func (e *explainer) pending(at place, ref *program.Ref) []Chain {
	switch ref.Kind {
	case program.RefResource:
		return e.changing(at, ref, nil, true)
	case program.RefCall:
		for _, f := range e.children(at, ref) {
			for _, c := range e.in.Plan.Changes {
				if (c.Addr.Module == f.Addr || f.Addr.Contains(c.Addr.Module)) && c.Action != plan.NoOp {
					return e.reached(c, nil, ref, true)
				}
			}
		}
		return nil
	}
	return e.follow(expression{place: at, refs: []*program.Ref{ref}}, e.changed)
}

// unknowns are the innermost parts of a value that aren't known.
func unknowns(v cty.Value) []cty.Path {
	var list []cty.Path
	_ = cty.Walk(plain(v), func(p cty.Path, v cty.Value) (bool, error) {
		if !v.IsKnown() {
			list = append(list, p.Copy())
			return false, nil
		}
		return true, nil
	})
	slices.SortFunc(list, value.ComparePaths)
	return list
}

// deferral explains why a change waits for a later round.
func (e *explainer) deferral(c *plan.Change, reason string) []Chain {
	i := e.instance(c.Addr.Instance)
	switch {
	case i == nil:
	case reason == "instance_count_unknown":
		for f := i.Frame; f.Parent != nil; f = f.Parent {
			if f.Each != nil && f.Each.Key.IsAny() {
				return e.repetition(e.callPlace(f), addr.NoKey)
			}
		}
		return e.repetition(e.instancePlace(i), addr.NoKey)
	case reason == "deferred_prereq":
		x := expression{place: e.instancePlace(i), refs: slices.Concat(i.Resource.Config.Refs, i.Resource.DependsOn)}
		if e := i.Resource.Repeat.Expr(); e != nil {
			x.refs = append(x.refs, e.Refs...)
		}
		if chains := e.follow(x, e.waiting); len(chains) > 0 {
			return chains
		}
	}
	return []Chain{{{Kind: Provider, Subject: c.Provider.Provider.ForDisplay(), Name: strings.ReplaceAll(reason, "_", " ")}}}
}

// waiting is the judge of what is deferred.
func (e *explainer) waiting(at place, ref *program.Ref) []Chain {
	if list := e.deferred[addr.Resource{Module: at.frame.Addr, Name: ref.Resource.Name}]; len(list) > 0 {
		d := list[0]
		l := Link{Kind: DeferredFor, Subject: d.Change.Addr.String(), Name: d.Reason, Range: ref.Range.Ptr()}
		name := "deferred " + l.Subject
		tails, done := e.known[name]
		if !done {
			e.known[name] = nil
			tails = e.deferral(d.Change, d.Reason)
			e.known[name] = tails
		}
		return join(Chain{l}, tails, Link{Kind: Undetermined, Subject: l.Subject})
	}
	return nil
}

// notes are what else holds for a change: where it was before, that it is
// imported, and why it is created before the old object is destroyed.
func (e *explainer) notes(c *plan.Change) []Chain {
	var list []Chain
	if c.Moved() && c.Addr.Deposed == "" {
		l := Link{Kind: Moved, Subject: c.Addr.String(), Name: c.Previous().String()}
		for _, f := range e.in.Root.Frames() {
			for _, m := range f.Program.Moved {
				if l.Range == nil && m.From.Names(f.Addr, c.Previous()) && m.To.Names(f.Addr, c.Addr.Instance) {
					l.Range = m.Range.Ptr()
				}
			}
		}
		list = append(list, Chain{l})
	}
	if c.Importing != nil {
		l := Link{Kind: Imported, Subject: c.Addr.String(), Name: c.Importing.ID}
		for _, f := range e.in.Root.Frames() {
			for _, im := range f.Program.Imports {
				if im.To.Name == c.Addr.Name && l.Range == nil {
					l.Range = im.Range.Ptr()
				}
			}
		}
		list = append(list, Chain{l})
	}
	if c.Action == plan.CreateThenDelete {
		list = append(list, e.createsFirst(c)...)
	}
	return list
}

// createsFirst says who wants a replacement created before the old object is
// destroyed.
func (e *explainer) createsFirst(c *plan.Change) []Chain {
	i := e.instance(c.Addr.Instance)
	if i == nil {
		return nil
	}
	if i.Resource.CreateBeforeDestroy {
		return []Chain{{{Kind: Setting, Subject: c.Addr.String(), Name: "lifecycle.create_before_destroy", Range: i.Resource.Range.Ptr()}}}
	}
	own := c.Addr.Resource.Erase()
	for _, other := range e.in.Plan.Changes {
		user := e.instance(other.Addr.Instance)
		if user == nil || !user.Resource.CreateBeforeDestroy {
			continue
		}
		if slices.Contains(e.in.Plan.DependenciesOf(other), own) {
			return []Chain{{{Kind: Spread, Subject: other.Addr.String(), Range: user.Resource.Range.Ptr()}}}
		}
	}
	return nil
}
