package eval

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
)

// A scope answers the references of expressions in one frame, on behalf of
// one task.
type scope struct {
	frame *Frame
	task  *promise.Task
	each  *Each
	own   *Instance // whose expressions these are; nil for the frame's own
	self  cty.Value
	live  bool // see Facts.Live
	// raw is the variable whose validation is evaluated: it is read as it is.
	raw *program.Variable
	// resolved are the references that were evaluated.
	resolved []*program.Ref
}

// Complete makes the task depend also on references that the context's evaluations didn't reach,
// such as those in the body of a for expression over an unknown list. The apply evaluates them, so
// their objects have to be there by then.
func Complete(t *promise.Task, refs []*program.Ref, ctx *hcl.EvalContext) {
	s, ok := program.ScopeOf(ctx).(*scope)
	if !ok || len(s.resolved) >= len(refs) && len(refs) < 2 {
		return
	}
	resolved := make(map[*program.Ref]bool, len(s.resolved))
	for _, ref := range s.resolved {
		resolved[ref] = true
	}
	for _, ref := range refs {
		if !resolved[ref] && !s.owns(ref) {
			s.frame.touch(t, ref)
		}
	}
}

// owns reports whether a reference is to what the expression belongs to: the object, or the variable
// whose validation it is. These don't wait for themselves.
func (s *scope) owns(ref *program.Ref) bool {
	switch ref.Kind {
	case program.RefResource:
		return s.own != nil && ref.Resource == s.own.Resource
	case program.RefVariable:
		return s.raw != nil && ref.Variable.Index == s.raw.Index
	}
	return false
}

// Modular reports whether an evaluation checks each module by itself, whether or not it has
// instances.
func Modular(ctx *hcl.EvalContext) bool {
	s, ok := program.ScopeOf(ctx).(*scope)
	return ok && s.frame.ev.Modular
}

// Watch implements program.Timed.
func (s *scope) Watch() *program.Watch {
	w := s.task.Watch()
	return &program.Watch{Worked: w.Worked, Interrupted: s.frame.ev.interrupted, Stop: w.Stop}
}

// Resolve implements program.Scope.
func (s *scope) Resolve(ref *program.Ref, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	s.resolved = append(s.resolved, ref)
	v, diags := s.subject(ref, ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	if len(ref.Rest) == 0 {
		return v, diags
	}
	v, more := Follow(ref.Rest, v)
	return v, append(diags, more...)
}

// Follow goes along a path into a value. Where that ends at a name that an object
// doesn't have, the problem proposes one of those that it has.
func Follow(path hcl.Traversal, v cty.Value) (cty.Value, hcl.Diagnostics) {
	end, hd := path.TraverseRel(v)
	if !hd.HasErrors() {
		return end, hd
	}
	for _, step := range path {
		next, problems := step.TraversalStep(v)
		attr, ok := step.(hcl.TraverseAttr)
		if ty := v.Type(); problems.HasErrors() && ok && ty.IsObjectType() && !ty.HasAttribute(attr.Name) {
			hd[0].Detail += Suggestion(attr.Name, slices.Collect(maps.Keys(ty.AttributeTypes())))
		} else if problems.HasErrors() && ok && ty.IsSetType() {
			hd[0].Detail += " Its elements have no keys: [for each in THE_SET : each." + attr.Name + "] has that of all, with an \"if\" of some, and one(...) that of the only one."
		}
		if v = next; problems.HasErrors() {
			break
		}
	}
	return end, hd
}

// subject is the value of what a reference names, before Rest is applied.
func (s *scope) subject(ref *program.Ref, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	f, t := s.frame, s.task
	switch ref.Kind {
	case program.RefVariable:
		if s.owns(ref) {
			v, _ := f.rawVariable(t, ref.Variable, &ref.Range)
			return v, nil
		}
		if f.ev.Modular {
			f.touch(t, ref)
			return AnyValue(ref.Variable), nil
		}
		v, _ := f.Variable(t, ref.Variable, &ref.Range)
		return v, nil
	case program.RefLocal:
		v, _ := f.Local(t, ref.Local, &ref.Range)
		return v, nil
	case program.RefOutput:
		v, _ := f.Output(t, ref.Output, &ref.Range)
		return v, nil
	case program.RefResource:
		return s.resource(ref, ctx)
	case program.RefCall:
		return s.call(ref, ctx)
	case program.RefSelf:
		if s.self != cty.NilVal {
			return s.self, nil
		}
		return refError(ref, diag.BadReference.As(`Invalid "self" reference`), `The "self" object is not available in this context. It means the instance itself, in postconditions, provisioners and connections.`)
	case program.RefEach, program.RefCount:
		return s.repetition(ref)
	case program.RefPath:
		return s.path(ref.Attr), nil
	case program.RefTerraform:
		if ref.Attr == "applying" {
			return f.ev.Facts.Applying.Mark(value.Ephemeral), nil
		}
		if f.ev.Facts.Workspace == "" {
			return refError(ref, diag.BadReference, "There are no workspaces in stacks, so modules of components can't refer to one. Take what sets deployments apart as an input variable.")
		}
		return cty.StringVal(f.ev.Facts.Workspace), nil
	}
	panic("eval: a reference of no kind: " + ref.Text)
}

func (s *scope) path(attr string) cty.Value {
	switch attr {
	case "module":
		return cty.StringVal(s.frame.Program.Dir)
	case "root":
		return cty.StringVal(s.frame.ev.Facts.RootDir)
	}
	return cty.StringVal(s.frame.ev.Facts.WorkDir)
}

func (s *scope) repetition(ref *program.Ref) (cty.Value, hcl.Diagnostics) {
	v := cty.NilVal
	if s.each != nil {
		switch ref.Attr {
		case "index":
			v = s.each.index()
		case "key":
			v = s.each.key()
		case "value":
			if v = s.each.Value; v == cty.NilVal && s.each.source != nil {
				return s.each.source.value(s.task, s.each.Key)
			}
		}
	}
	if v != cty.NilVal {
		return v, nil
	}
	if ref.Kind == program.RefCount {
		return refError(ref, diag.NotRepeated, `The "count" object can only be used in "module", "resource", and "data" blocks, and only when the "count" argument is set.`)
	}
	return refError(ref, diag.NotRepeated.As(`Reference to "each" in context without for_each`), `The "each" object can be used only in "module" or "resource" blocks, or in a "provider" block, and only when the "for_each" argument is set.`)
}

// refError is the failure of a reference.
func refError(ref *program.Ref, c diag.Code, detail string) (cty.Value, hcl.Diagnostics) {
	return cty.DynamicVal, diag.List{c.Error(ref.Range, "%s", detail)}.ToHCL()
}

func (s *scope) resource(ref *program.Ref, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	f, t := s.frame, s.task
	if ref.Key == nil {
		if !ref.Resource.Repeat.IsSingle() {
			return f.whole(t, ref.Resource, &ref.Range), nil
		}
		in := f.instances(t, ref.Resource, &ref.Range)
		v := cty.NullVal(cty.DynamicPseudoType)
		if instance := in.find(addr.NoKey); instance != nil {
			v = s.instance(instance, ref)
		}
		if in.Unknown { // perhaps none exists
			return cty.DynamicVal, nil
		}
		return v, nil
	}
	in := f.instances(t, ref.Resource, &ref.Range)
	return s.pick(ref, ctx, in.Expansion,
		func() cty.Value { return f.whole(t, ref.Resource, &ref.Range) },
		func(k addr.Key) (cty.Value, bool) {
			instance := in.find(k)
			if instance == nil {
				return cty.NilVal, false
			}
			return s.instance(instance, ref), true
		})
}

func (s *scope) instance(i *Instance, ref *program.Ref) cty.Value {
	if i == s.own && s.self != cty.NilVal {
		return s.self
	}
	v, _ := i.Value(s.task, &ref.Range)
	return v
}

func (s *scope) call(ref *program.Ref, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	f, t := s.frame, s.task
	if f.ev.Modular {
		return s.anyOutputs(ref, ctx)
	}
	if ref.Key == nil && (ref.Attr == "" || !ref.Call.Repeat.IsSingle()) {
		return f.wholeCall(t, ref.Call, &ref.Range), nil
	}
	fs := f.frames(t, ref.Call, &ref.Range)
	var diags hcl.Diagnostics
	one := func(k addr.Key) (cty.Value, bool) {
		child := fs.find(k)
		switch {
		case child == nil && fs.Unknown:
			return cty.DynamicVal, true
		case child == nil && len(fs.list) == 0 || child == nil && fs.Kind != Single:
			return cty.NilVal, false
		case child == nil: // its source couldn't be loaded
			return cty.DynamicVal, true
		case ref.Attr == "":
			return child.outputsOf(t, &ref.Range), true
		}
		o := child.Program.OutputByName[ref.Attr]
		if o == nil {
			var v cty.Value
			v, diags = undeclaredOutput(ref, child)
			return v, true
		}
		v, _ := child.Output(t, o, &ref.Range)
		return v, true
	}
	if ref.Key == nil {
		if v, ok := one(addr.NoKey); ok {
			if fs.Unknown { // perhaps none exists
				v = cty.DynamicVal
			}
			return v, diags
		}
		// The call is disabled, so it is null and has no outputs.
		return hcl.GetAttr(cty.NullVal(cty.DynamicPseudoType), ref.Attr, ref.Range.Ptr())
	}
	v, more := s.pick(ref, ctx, fs.Expansion, func() cty.Value {
		whole := f.wholeCall(t, ref.Call, &ref.Range)
		return whole
	}, one)
	return v, append(diags, more...)
}

// anyOutputs is what a reference to a call gets where modules are evaluated by
// themselves: what is true of the call's form and the names of its outputs.
func (s *scope) anyOutputs(ref *program.Ref, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	f, t := s.frame, s.task
	f.touch(t, ref)
	var fs frames
	t.Try(func(t *promise.Task) { fs = f.frames(t, ref.Call, &ref.Range) })
	values := make([]cty.Value, len(fs.list))
	for n, child := range fs.list {
		values[n] = child.anyOutputs()
	}
	v := fs.collect(values)
	if fs.Unknown && len(values) == 1 { // one stands for all
		switch kindOf(ref.Call.Repeat) {
		case Counted:
			v = cty.UnknownVal(cty.List(values[0].Type()))
		case Keyed:
			v = cty.UnknownVal(cty.Map(values[0].Type()))
			if ref.Key == nil && ref.Call.Kind == addr.Component {
				v = cty.DynamicVal // an object of those there are, and of nothing without one
			}
		default:
			v = values[0]
		}
	}
	var diags hcl.Diagnostics
	if ref.Key != nil {
		var key cty.Value
		if key, diags = ref.Key.Value(ctx); diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		var more hcl.Diagnostics
		v, more = hcl.Index(v, key, ref.Key.Range().Ptr())
		diags = append(diags, more...)
	}
	if ref.Attr == "" || diags.HasErrors() {
		return v, diags
	}
	if ty := v.Type(); len(fs.list) > 0 && fs.list[0] != nil && ty.IsObjectType() && !ty.HasAttribute(ref.Attr) {
		child := fs.list[0]
		for _, other := range fs.list { // the one that the key names
			if other != nil && other.Program.OutputByName[ref.Attr] == nil {
				child = other
				break
			}
		}
		return undeclaredOutput(ref, child)
	}
	return cty.DynamicVal.WithMarks(v.Marks()), diags
}

// anyOutputs is an unknown object with the names of the frame's outputs.
func (f *Frame) anyOutputs() cty.Value {
	if f == nil { // its source couldn't be loaded
		return cty.DynamicVal
	}
	outputs := make(map[string]cty.Type, len(f.Program.Outputs))
	for _, o := range f.Program.Outputs {
		outputs[o.Name] = cty.DynamicPseudoType
	}
	return cty.UnknownVal(cty.Object(outputs))
}

// undeclaredOutput is the failure of a reference to an output that doesn't exist.
func undeclaredOutput(ref *program.Ref, child *Frame) (cty.Value, hcl.Diagnostics) {
	return refError(ref, diag.NoAttribute, "This object does not have an attribute named "+addr.Quote(ref.Attr)+": "+child.Addr.String()+" is loaded from "+addr.Quote(child.Program.Dir)+", which declares no such output."+Suggestion(ref.Attr, outputNames(child.Program)))
}

// pick evaluates a reference's key and returns the instance that it means.
// With a key that isn't known yet, or one that carries marks, all instances
// matter.
func (s *scope) pick(ref *program.Ref, ctx *hcl.EvalContext, e Expansion, whole func() cty.Value, one func(addr.Key) (cty.Value, bool)) (cty.Value, hcl.Diagnostics) {
	before := s.task.Failures()
	key, diags := ref.Key.Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	if s.task.Failures() != before && !key.IsKnown() {
		return cty.DynamicVal, diags
	}
	key, marks := key.Unmark()
	if e.Unknown {
		v, _ := one(addr.AnyKey)
		return orUnknown(v).WithMarks(marks), diags
	}
	want := cty.Number
	if e.Kind == Keyed {
		want = cty.String
	}
	if !key.IsKnown() {
		v := whole()
		if v.Type().IsObjectType() || v.Type().IsTupleType() {
			return cty.DynamicVal.WithMarks(marks), diags
		}
		return v.WithMarks(marks), diags
	}
	key, err := convert.Convert(key, want)
	if err == nil && !key.IsNull() {
		k, err := KeyOf(key)
		if err == nil {
			if v, ok := one(k); ok {
				return v.WithMarks(marks), diags
			}
		}
	}
	// The error is the one that indexing gives for a collection with these
	// keys; the values of the instances don't matter for it.
	_, more := hcl.Index(e.shape(), key, ref.Key.Range().Ptr())
	if !more.HasErrors() {
		return cty.DynamicVal, diags
	}
	own := diag.FromHCL(diag.Expression, more)
	for i := range own {
		own[i].Subject, own[i].Context = ref.Key.Range().Ptr(), ref.Range.Ptr()
		own[i].Values = append(expressionValues(ref.Key, ctx, false), diag.Value{Traversal: blockText(ref), Statement: describe(e.shape(), false)})
	}
	return cty.DynamicVal, append(diags, own.ToHCL()...)
}

// blockText is how references name all instances of what a reference names one of.
func blockText(ref *program.Ref) string {
	if ref.Call != nil {
		return ref.Call.String()
	}
	return ref.Resource.Name.String()
}

// shape is a collection with the expansion's keys.
func (e Expansion) shape() cty.Value {
	n := e.Count
	if e.Kind == Keyed {
		n = len(e.Keys)
	}
	values := make([]cty.Value, n)
	for i := range values {
		values[i] = cty.EmptyObjectVal
	}
	return e.collect(values)
}

func outputNames(p *program.Program) []string {
	names := make([]string, len(p.Outputs))
	for i, o := range p.Outputs {
		names[i] = o.Name
	}
	return names
}

// cycles reports circles of references, those that share a member once: with the shortest of
// them.
func cycles(all []promise.Cycle) diag.List {
	all = slices.Clone(all)
	text := func(c promise.Cycle) string { return cycleDiags(c).Detail }
	slices.SortFunc(all, func(a, b promise.Cycle) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(text(a), text(b)))
	})
	var l diag.List
	told := map[string]bool{}
	for _, c := range all {
		if !slices.ContainsFunc(c, func(link promise.Link) bool { return told[link.Subject.String()] }) {
			l.Add(cycleDiags(c))
		}
		for _, link := range c {
			told[link.Subject.String()] = true
		}
	}
	return l
}

// cycleDiags reports a circle of references, starting from its first member in order so that
// the text doesn't depend on who noticed it.
func cycleDiags(c promise.Cycle) diag.Diagnostic {
	first := 0
	for i := range c {
		if c[i].Subject.String() < c[first].Subject.String() {
			first = i
		}
	}
	var chain, lines []string
	d := diag.Diagnostic{Severity: diag.Error, Code: diag.Cycle.Name, Summary: diag.Cycle.Summary}
	for i := range c {
		from, to := c[(first+i)%len(c)], c[(first+i+1)%len(c)]
		name := from.Subject.String()
		if len(chain) == 0 || chain[len(chain)-1] != name {
			chain = append(chain, name)
		}
		if to.Via != nil {
			if d.Subject == nil {
				d.Subject = to.Via
			}
			if from.Subject.String() != to.Subject.String() || len(c) == 1 {
				lines = append(lines, "  "+name+" needs "+to.Subject.String()+" ("+rangeText(*to.Via)+")")
			}
		}
	}
	if _, instance := c[0].Subject.(*Instance); instance && len(chain) == 1 {
		d.Summary = "Self-referential block"
		d.Detail = "Configuration for " + chain[0] + " may not refer to itself."
		return d
	}
	chain = append(chain, chain[0])
	chain, lines = shortened(chain, "..."), shortened(lines, "  ...")
	d.Detail = "Cycle: " + strings.Join(chain, " -> ") + ".\n\n"
	if len(lines) > 0 {
		d.Detail += "Each needs the next one's value:\n" + strings.Join(lines, "\n") + "\n\n"
	}
	d.Detail += "Remove one of these references, or split what both sides need into an object of its own."
	return d
}

// shortened leaves out the middle of a list that nobody reads.
func shortened(list []string, gap string) []string {
	const head, tail = 20, 5
	if len(list) <= head+tail+1 {
		return list
	}
	return slices.Concat(list[:head], []string{gap}, list[len(list)-tail:])
}

// Referents returns the instances that a reference to a resource names, with
// their values computed. It isn't ok where computing one failed.
func (f *Frame) Referents(t *promise.Task, ref *program.Ref, ctx *hcl.EvalContext) ([]*Instance, bool) {
	if ref.Kind != program.RefResource {
		return nil, true
	}
	before := t.Failures()
	in := f.instances(t, ref.Resource, &ref.Range)
	list := in.list
	if ref.Key != nil && !in.Unknown {
		key, hd := ref.Key.Value(ctx)
		if hd.HasErrors() {
			return nil, t.Report(Diagnostics(hd)...)
		}
		k, err := KeyOf(key)
		instance := in.find(k)
		if err != nil || instance == nil {
			_, hd := refError(ref, diag.BadReference.As("Reference to undeclared resource instance"), ref.Text+" does not exist in this configuration.")
			return nil, t.Report(Diagnostics(hd)...)
		}
		list = []*Instance{instance}
	}
	for _, i := range list {
		i.Value(t, &ref.Range)
	}
	return list, t.Failures() == before
}
