package deploy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/syntax"
)

// An Outside has what deployments take from elsewhere. A missing value is a problem that names the setting; the range is added here. Each is
// asked once for each evaluation, and only for what is used.
type Outside interface {
	// Token is a token, and where a file has it.
	Token(t *Token) (token, file string, err error)
	// Store has the values of a store by name.
	Store(s *Store) (map[string]cty.Value, error)
	// Upstream has the outputs that a stack has published.
	Upstream(u *Upstream) (map[string]cty.Value, error)
}

// places are what expressions of a kind may refer to beside what all may.
type places struct{ deployments, context bool }

// check looks for references to what isn't there.
func (r *reader) check(e hcl.Expression, in places) {
	if e == nil {
		return
	}
	for _, t := range e.Variables() {
		if d, ok := r.known(t, in); !ok {
			r.diags.Add(d)
		}
	}
}

// known reports whether a reference leads to something.
func (s *Stack) known(t hcl.Traversal, in places) (diag.Diagnostic, bool) {
	at := t.SourceRange()
	problem := func(summary, format string, args ...any) (diag.Diagnostic, bool) {
		return diag.Diagnostic{Severity: diag.Error, Code: diag.BadReference.Name, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: &at}, false
	}
	name := func(i int) string { return word(t, i) }
	declared := func(root string, names []string, i int) (diag.Diagnostic, bool) {
		n := name(i)
		switch {
		case n == "":
			return problem("Invalid reference", "The name of a block has to follow, as in %s.NAME.", root)
		case !slices.Contains(names, n):
			return problem("Reference to undeclared "+words(root), "There is no block %s %q in the deployment files.%s", root, n, among(n, names))
		}
		return diag.Diagnostic{}, true
	}
	switch root := t.RootName(); root {
	case "local":
		n := name(1)
		if n == "" {
			return problem("Invalid reference", "The \"local\" object cannot be accessed directly. Instead, access one of its attributes.")
		}
		if s.locals[n] == nil {
			return problem("Reference to undeclared local value", "A local value with the name %q has not been declared.%s", n, among(n, sortedKeys(s.locals)))
		}
	case "identity_token":
		if d, ok := declared(root, sortedKeys(s.Tokens), 1); !ok {
			return d, false
		}
		if n := name(2); n != "jwt" && n != "jwt_filename" {
			return problem("Unsupported attribute", "An identity token has the attributes jwt and jwt_filename.%s", syntax.Suggest(n, []string{"jwt", "jwt_filename"}))
		}
	case "store":
		if s.Stores[name(1)+"."+name(2)] == nil {
			return problem("Reference to undeclared store", "There is no block store %q %q in the deployment files. Stores are named by type and name, as in store.varset.NAME.KEY.", name(1), name(2))
		}
	case "upstream_input":
		return declared(root, sortedKeys(s.Upstreams), 1)
	case "deployment":
		if !in.deployments {
			return problem("Invalid reference", "Inputs can't refer to deployments. Outputs of another stack are read with upstream_input, and what deployments have in common stands in locals.")
		}
		var names []string
		for _, d := range s.Deployments {
			names = append(names, d.Name)
		}
		return declared(root, names, 1)
	case "context":
		if !in.context {
			return problem("Invalid reference", "Only checks of deployment_auto_approve blocks can refer to the plan that they are about.")
		}
	default:
		return problem("Reference to unknown symbol", "There is no symbol %q here. Expressions in deployment files can refer to local, identity_token, store and upstream_input; publish_output to deployment, and checks to context and deployment.", root)
	}
	return diag.Diagnostic{}, true
}

// among is a name that was probably meant, or else all there are.
func among(name string, names []string) string {
	if near := syntax.Suggest(name, names); near != "" || len(names) > 20 {
		return near
	}
	if len(names) == 0 {
		return " None is declared: declare it."
	}
	return " There are: " + strings.Join(names, ", ") + "."
}

// audiences evaluates those of tokens, which are constant.
func (r *reader) audiences() {
	if r.diags.HasErrors() {
		return
	}
	ev := r.evaluation(nil)
	for _, name := range sortedKeys(r.Tokens) {
		t := r.Tokens[name]
		if t.audience == nil {
			continue
		}
		v, diags := ev.value(t.audience)
		r.diags.Append(diags)
		list, err := convert.Convert(v, cty.List(cty.String))
		if diags.HasErrors() {
			continue
		}
		if err != nil || list.IsNull() || !list.IsWhollyKnown() || slices.ContainsFunc(list.AsValueSlice(), cty.Value.IsNull) {
			r.diags.Add(BadDeployment.As("Invalid audience argument").Error(t.audience.Range(), "A list of strings is expected here, such as [\"aws.workload.identity\"]."))
			continue
		}
		for _, a := range list.AsValueSlice() {
			t.Audience = append(t.Audience, a.AsString())
		}
	}
}

// An evaluation computes values once.
type evaluation struct {
	*Stack
	outside   Outside
	functions *hcl.EvalContext
	done      map[string]cty.Value
	failed    map[string]bool
	under     []string // locals that wait for another
	// further are values by root name, beside what the files declare.
	further map[string]cty.Value
}

func (s *Stack) evaluation(o Outside) *evaluation {
	return &evaluation{Stack: s, outside: o, functions: function.Context(function.Env{Pure: true}), done: map[string]cty.Value{}, failed: map[string]bool{}}
}

// Evaluate computes the inputs of deployments. Without an outside what comes from
// there is unknown.
func (s *Stack) Evaluate(list []*Deployment, o Outside) diag.List {
	var diags diag.List
	ev := s.evaluation(o)
	for _, d := range list {
		diags.Append(ev.inputs(d))
	}
	return diags
}

func (ev *evaluation) inputs(d *Deployment) diag.List {
	if d.inputs == nil {
		return nil
	}
	d.Inputs = map[string]Input{}
	var diags diag.List
	pairs, problems := hcl.ExprMap(d.inputs)
	if problems.HasErrors() || slices.ContainsFunc(pairs, func(p hcl.KeyValuePair) bool { return len(p.Key.Variables()) > 0 }) {
		return ev.object(d)
	}
	for _, pair := range pairs {
		key, problems := pair.Key.Value(nil)
		if problems.HasErrors() || key.IsNull() || !key.IsKnown() || key.Type() != cty.String {
			diags.Add(BadDeployment.As("Invalid inputs").Error(pair.Key.Range(), "The name of an input has to be a string."))
			continue
		}
		name := key.AsString()
		if first, twice := d.Inputs[name]; twice {
			diags.Add(diag.Duplicate.As("Duplicate input").Error(pair.Key.Range(), "The input %q was already given at %s.", name, first.Range))
			continue
		}
		v, more := ev.value(pair.Value)
		diags.Append(more)
		if ev.outside != nil && !more.HasErrors() && !v.IsWhollyKnown() {
			diags.Add(BadDeployment.As("Invalid input").Error(pair.Value.Range(), "The value of the input %q isn't known before everything else is planned, as it has to be. Functions such as timestamp and uuid can't be used here.", name))
		}
		d.Inputs[name] = Input{Value: v, Range: pair.Key.Range()}
	}
	return diags
}

// object is inputs for an expression that results in an object.
func (ev *evaluation) object(d *Deployment) diag.List {
	at := d.inputs.Range()
	v, diags := ev.value(d.inputs)
	if diags.HasErrors() {
		return diags
	}
	v, marks := v.Unmark()
	if v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		diags.Add(BadDeployment.As("Invalid inputs").Error(at, "The inputs have to be an object, as in inputs = { NAME = VALUE }, whose names are known."))
		return diags
	}
	for name, part := range v.AsValueMap() {
		d.Inputs[name] = Input{Value: part.WithMarks(marks), Range: at}
	}
	return diags
}

func (ev *evaluation) value(e hcl.Expression) (cty.Value, diag.List) {
	var diags diag.List
	ctx := ev.functions.NewChild()
	ctx.Variables = map[string]cty.Value{}
	objects := map[string]map[string]cty.Value{}
	failed := false
	for _, t := range e.Variables() {
		root := t.RootName()
		if v, ok := ev.further[root]; ok {
			ctx.Variables[root] = v
			continue
		}
		key, v, more, ok := ev.named(t)
		diags.Append(more)
		failed = failed || !ok
		if objects[root] == nil {
			objects[root] = map[string]cty.Value{}
		}
		if have, twice := objects[root][key]; twice && root == "store" && have.Type().IsObjectType() && v.Type().IsObjectType() {
			both := have.AsValueMap()
			maps.Copy(both, v.AsValueMap())
			v = cty.ObjectVal(both)
		}
		objects[root][key] = v
	}
	if failed || diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	for root, names := range objects {
		ctx.Variables[root] = cty.ObjectVal(names)
	}
	v, problems := e.Value(ctx)
	if len(problems) > 0 {
		diags.Append(diag.FromHCL(diag.Expression, problems))
	}
	return v, diags
}

// named is the value of the block or local that a reference names, under the name that it has
// in the object of its kind. Failed is what was reported before.
func (ev *evaluation) named(t hcl.Traversal) (key string, v cty.Value, diags diag.List, ok bool) {
	if d, ok := ev.known(t, places{}); !ok {
		return "", cty.DynamicVal, diag.List{d}, false
	}
	name := func(i int) string { return word(t, i) }
	root := t.RootName()
	key = name(1)
	id := root + "." + key
	if root == "store" {
		id += "." + name(2)
	}
	if ev.failed[id] {
		return key, cty.DynamicVal, nil, false
	}
	if v, done := ev.done[id]; done {
		return key, v, ev.missing(t, v), true
	}
	var err error
	switch root {
	case "local":
		if slices.Contains(ev.under, key) {
			diags.Add(diag.Cycle.Error(ev.locals[key].at, "The local value %q refers to itself: %s. Remove one of these references.", key, strings.Join(append(ev.under[slices.Index(ev.under, key):], key), " -> ")))
		} else {
			ev.under = append(ev.under, key)
			v, diags = ev.value(ev.locals[key].expr)
			ev.under = ev.under[:len(ev.under)-1]
		}
	case "identity_token":
		v, err = ev.token(ev.Tokens[key])
	case "store":
		v, err = ev.store(ev.Stores[key+"."+name(2)])
		v = cty.ObjectVal(map[string]cty.Value{name(2): v})
	case "upstream_input":
		v, err = ev.upstream(ev.Upstreams[key])
	}
	if err != nil {
		diags.Add(Lacking.Error(t.SourceRange(), "%s", sentence(err)))
	}
	if diags.HasErrors() {
		ev.failed[id] = true
		return key, cty.DynamicVal, diags, false
	}
	ev.done[id] = v
	return key, v, ev.missing(t, v), true
}

func sentence(err error) string {
	text := err.Error()
	if n := len(text); n > 0 && text[n-1] != '.' && text[n-1] != '}' {
		text += "."
	}
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

func (ev *evaluation) token(t *Token) (cty.Value, error) {
	if ev.outside == nil {
		return cty.ObjectVal(map[string]cty.Value{
			"jwt":          cty.UnknownVal(cty.String).Mark(value.Ephemeral),
			"jwt_filename": cty.UnknownVal(cty.String),
		}), nil
	}
	token, file, err := ev.outside.Token(t)
	if err != nil {
		return cty.DynamicVal, err
	}
	return cty.ObjectVal(map[string]cty.Value{
		"jwt":          cty.StringVal(token).Mark(value.Sensitive).Mark(value.Ephemeral),
		"jwt_filename": cty.StringVal(file),
	}), nil
}

// store is an object whose values are ephemeral, and those below "stable" not.
func (ev *evaluation) store(s *Store) (cty.Value, error) {
	if ev.outside == nil {
		return cty.DynamicVal, nil
	}
	values, err := ev.outside.Store(s)
	if err != nil {
		return cty.DynamicVal, err
	}
	all := map[string]cty.Value{"stable": cty.ObjectVal(values)}
	for name, v := range values {
		all[name] = v.Mark(value.Sensitive).Mark(value.Ephemeral)
	}
	return cty.ObjectVal(all), nil
}

func (ev *evaluation) upstream(u *Upstream) (cty.Value, error) {
	if ev.outside == nil {
		return cty.DynamicVal, nil
	}
	values, err := ev.outside.Upstream(u)
	if err != nil {
		return cty.DynamicVal, err
	}
	return cty.ObjectVal(values), nil
}

// missing reports a value that a store or another stack hasn't.
func (ev *evaluation) missing(t hcl.Traversal, v cty.Value) diag.List {
	from, what := 2, "The stack behind upstream_input %q has published no output named %q.%s"
	switch t.RootName() {
	case "store":
		from, what = 3, "The store %q has no value named %q.%s"
		if !v.Type().IsObjectType() {
			return nil
		}
		for _, inner := range v.AsValueMap() {
			v = inner
		}
		if attr, ok := at(t, 3); ok && attr.Name == "stable" && v.Type().IsObjectType() {
			v, from = v.GetAttr("stable"), 4
		}
	case "upstream_input":
	default:
		return nil
	}
	attr, ok := at(t, from)
	if !ok || !v.Type().IsObjectType() || v.Type().HasAttribute(attr.Name) {
		return nil
	}
	block := t[1].(hcl.TraverseAttr).Name
	if t.RootName() == "store" {
		if second, ok := at(t, 2); ok {
			block = second.Name
		}
	}
	var names []string
	for name := range v.Type().AttributeTypes() {
		names = append(names, name)
	}
	slices.Sort(names)
	var diags diag.List
	diags.Add(Lacking.Error(t.SourceRange(), what, block, attr.Name, having(attr.Name, names)))
	return diags
}

// having is a name that was probably meant, or else those that there are.
func having(name string, names []string) string {
	names = slices.DeleteFunc(names, func(n string) bool { return n == "stable" })
	if len(names) == 0 {
		return " It has none."
	}
	return strings.Replace(among(name, names), " There are:", " It has:", 1)
}

func at(t hcl.Traversal, i int) (hcl.TraverseAttr, bool) {
	if i >= len(t) {
		return hcl.TraverseAttr{}, false
	}
	attr, ok := t[i].(hcl.TraverseAttr)
	return attr, ok
}

// Publish computes what is published of the outputs of deployments. An output of a
// deployment that was never applied isn't there yet; what reads one is left out.
func (s *Stack) Publish(outputs map[string]map[string]cty.Value, o Outside) (map[string]cty.Value, diag.List) {
	published := map[string]cty.Value{}
	var diags diag.List
	ev := s.evaluation(o)
	all := map[string]cty.Value{}
	for name, values := range outputs {
		all[name] = cty.ObjectVal(values)
	}
	ev.further = map[string]cty.Value{"deployment": cty.ObjectVal(all)}
	for _, p := range s.Published {
		if !applied(p.Value, outputs) {
			continue
		}
		v, more := ev.value(p.Value)
		diags.Append(more)
		switch {
		case more.HasErrors():
		case value.IsEphemeral(v):
			diags.Add(diag.Ephemeral.As("Ephemeral value published").Error(p.Value.Range(), "Published outputs are stored in a file, which can't have ephemeral values."))
		default:
			published[p.Name] = v
		}
	}
	return published, diags
}

// applied reports whether all outputs are there that an expression reads.
func applied(e hcl.Expression, outputs map[string]map[string]cty.Value) bool {
	for _, t := range e.Variables() {
		if t.RootName() != "deployment" {
			continue
		}
		d, ok := at(t, 1)
		if !ok {
			continue
		}
		values, there := outputs[d.Name]
		if !there {
			return false
		}
		if o, ok := at(t, 2); ok {
			if _, there := values[o.Name]; !there {
				return false
			}
		}
	}
	return true
}

// Identity is a deployment as rules see it.
func Identity(name string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"deployment_name": cty.StringVal(name)})
}

// A Verdict is what a rule says of a plan.
type Verdict struct {
	Rule *Rule
	// Reasons are why it doesn't hold, empty if it does.
	Reasons []string
}

// judging evaluates rules, with the context of a plan.
func (s *Stack) judging(context cty.Value) *evaluation {
	ev := s.evaluation(nil)
	all := map[string]cty.Value{}
	for _, d := range s.Deployments {
		all[d.Name] = Identity(d.Name)
	}
	ev.further = map[string]cty.Value{"context": context, "deployment": cty.ObjectVal(all)}
	return ev
}

// CheckRules looks for rules that can't be evaluated with any plan. The context has
// unknown values.
func (s *Stack) CheckRules(context cty.Value) diag.List {
	var diags diag.List
	ev := s.judging(context)
	check := func(e hcl.Expression, ty cty.Type, summary, detail string) {
		v, more := ev.value(e)
		if diags.Append(more); more.HasErrors() {
			return
		}
		if v, err := convert.Convert(v, ty); err != nil || v.IsNull() {
			diags.Add(diag.BadCondition.As(summary).Error(e.Range(), "%s", detail))
		}
	}
	all := slices.Clone(s.Legacy)
	for _, name := range sortedKeys(s.Rules) {
		all = append(all, s.Rules[name])
	}
	for _, rule := range all {
		for _, c := range rule.Checks {
			check(c.Condition, cty.Bool, "Invalid condition", notBool)
			check(c.Reason, cty.String, "Invalid reason", "It has to be a text: it says why the rule doesn't hold.")
		}
	}
	return diags
}

const notBool = "The condition of a check has to be true or false."

// Judge evaluates a rule, with the context of a plan.
func (s *Stack) Judge(rule *Rule, context cty.Value) (Verdict, diag.List) {
	v := Verdict{Rule: rule}
	var diags diag.List
	ev := s.judging(context)
	for _, c := range rule.Checks {
		holds, more := ev.value(c.Condition)
		diags.Append(more)
		if more.HasErrors() {
			continue
		}
		holds, err := convert.Convert(holds, cty.Bool)
		if err != nil || holds.IsNull() || !holds.IsKnown() {
			diags.Add(diag.BadCondition.As("Invalid condition").Error(c.Condition.Range(), "%s", notBool))
			continue
		}
		if holds.True() {
			continue
		}
		reason, more := ev.value(c.Reason)
		diags.Append(more)
		text := "A check at " + c.Range.String() + " doesn't hold."
		if t, err := convert.Convert(reason, cty.String); err == nil && !more.HasErrors() && t.IsKnown() && !t.IsNull() {
			text = t.AsString()
		}
		v.Reasons = append(v.Reasons, text)
	}
	return v, diags
}

// NamedInRules lists the string keys by which checks look into an attribute, such as
// component_changes["component.x"].
func (s *Stack) NamedInRules(attribute string) []string {
	var names []string
	add := func(rule *Rule) {
		for _, c := range rule.Checks {
			for _, t := range append(c.Condition.Variables(), c.Reason.Variables()...) {
				for i := range t[:len(t)-1] {
					if attr, ok := at(t, i); !ok || attr.Name != attribute {
						continue
					}
					if key, ok := t[i+1].(hcl.TraverseIndex); ok && key.Key.Type() == cty.String {
						names = append(names, key.Key.AsString())
					}
				}
			}
		}
	}
	for _, name := range sortedKeys(s.Rules) {
		add(s.Rules[name])
	}
	for _, rule := range s.Legacy {
		add(rule)
	}
	return names
}
