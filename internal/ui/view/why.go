package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/why"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/diff"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// mostWaits is how many steps that an object waits for are listed.
const mostWaits = 20

// Why writes explanations, one after the other.
func Why(w io.Writer, list []why.Explanation, o Options) error {
	p := &whyPrinter{printer{o: o}}
	for n, x := range list {
		if n > 0 {
			p.WriteByte('\n')
		}
		p.explanation(x)
	}
	_, err := io.WriteString(w, o.lines(p.String()))
	return err
}

// lines breaks lines that are wider than a terminal at spaces, and continues them further in.
func (o Options) lines(text string) string {
	if o.Width < 1 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " ")
		in := line[:len(line)-len(body)]
		if len(in) > o.Width/2 || ansi.Width(strings.TrimSuffix(line, "\n")) <= o.Width {
			b.WriteString(line)
			continue
		}
		for part := range strings.Lines(ansi.Hang(body, o.Width-len(in), "    ")) {
			b.WriteString(in + strings.TrimRight(part, " \n") + "\n")
		}
	}
	return b.String()
}

type whyPrinter struct{ printer }

func (p *whyPrinter) explanation(x why.Explanation) {
	p.WriteString(p.o.Pen.Paint(sanitize.Line(x.Object.String()), ansi.Bold) + " " + verdict(x) + "\n")
	for _, chain := range x.Chains {
		p.WriteByte('\n')
		p.chain(chain)
	}
	if len(x.Chains) == 0 && x.Action == plan.NoOp && x.Deferred == "" {
		p.prose("\nReal objects match the configuration.")
	}
	p.waits(x.Waits)
}

// verdict is what happens to the object.
func verdict(x why.Explanation) string {
	if x.Deferred != "" {
		return "is deferred to a later round"
	}
	switch x.Action {
	case plan.NoOp:
		if x.Previous != x.Object.Instance {
			return "has moved"
		}
		for _, c := range x.Chains {
			if c[0].Kind == why.Imported {
				return "is imported"
			}
		}
		return "doesn't change"
	case plan.Read:
		return "is read during apply"
	}
	return happens(x.Action)
}

func happens(a plan.Action) string {
	switch a {
	case plan.Create:
		return "is created"
	case plan.Update:
		return "is updated in-place"
	case plan.DeleteThenCreate:
		return "is replaced: destroyed and then created"
	case plan.CreateThenDelete:
		return "is replaced: created before the old one is destroyed"
	case plan.ForgetThenCreate:
		return "is replaced: created again, while the old one is forgotten"
	case plan.Delete:
		return "is destroyed"
	case plan.Forget:
		return "is forgotten and stays as it is"
	case plan.Read:
		return "is read during apply"
	}
	return "stays"
}

func (p *whyPrinter) chain(chain why.Chain) {
	for n, l := range chain {
		lead := "  "
		if n > 0 {
			lead = "    because "
		}
		if l.Maybe {
			lead = "    perhaps because "
		}
		text := linkText(l)
		if l.Again {
			text += ", see above"
		}
		p.WriteString(lead + text + p.o.Pen.Paint(place(l.Range), ansi.Gray) + "\n")
	}
}

func place(r *hcl.Range) string {
	if r == nil || r.Filename == "" {
		return ""
	}
	text := fmt.Sprintf("%s:%d,%d", r.Filename, r.Start.Line, r.Start.Column)
	switch {
	case r.End.Line > r.Start.Line:
		text += fmt.Sprintf("-%d,%d", r.End.Line, r.End.Column)
	case r.End.Column > r.Start.Column:
		text += fmt.Sprintf("-%d", r.End.Column)
	}
	return "  [" + sanitize.Line(text) + "]"
}

// linkText is a link in words.
func linkText(l why.Link) string {
	subject, path := sanitize.Line(l.Subject), strings.TrimPrefix(value.PathString(l.Path), ".")
	change := ""
	if l.Before != cty.NilVal && l.After != cty.NilVal && len(l.Path) > 0 {
		from, before, after, more := parting(path, l.Before, l.After)
		path, change = from, ": "+sides(before, after)
		if more {
			change += ", and more of it"
		}
	}
	switch l.Kind {
	case why.Attribute, why.Computed, why.Unknown:
		text := path + change
		if l.Kind == why.Computed {
			text += " (decided by the provider)"
		}
		if l.Kind == why.Unknown {
			text = path + " isn't known before apply"
		}
		if l.Forces {
			text += " (forces replacement)"
		}
		return text
	case why.Change:
		if path == "" {
			return subject + " " + happens(l.Action)
		}
		return subject + " " + happens(l.Action) + ", which changes " + path + change
	case why.Local, why.Variable, why.Output:
		return subject + " changes"
	case why.Repetition:
		return subject + " has instances by its " + l.Name
	case why.Trigger:
		return "replace_triggered_by has " + sanitize.Line(l.Name)
	case why.DependsOn:
		return subject + " depends on " + sanitize.Line(l.Name)
	case why.KeyGone:
		return subject + " isn't among the instances of its block any more"
	case why.DeferredFor:
		return subject + " is deferred"
	case why.Spread:
		return "created first, because " + subject + " depends on it and has create_before_destroy"
	}
	return endText(l, subject, path, change)
}

// endText is the end of a chain in words.
func endText(l why.Link, subject, path, change string) string {
	switch l.Kind {
	case why.New:
		return "the configuration has " + subject + " and the state hasn't"
	case why.Written:
		return "that is what is written there"
	case why.Absent:
		return path + " isn't set any more"
	case why.Given, why.Default:
		text := subject + " is " + short(l.After)
		if l.After == cty.NilVal {
			text = subject
		}
		return text + source(l)
	case why.Drift:
		return path + " of " + subject + " was changed outside" + change
	case why.DeletedAway:
		return subject + " was deleted outside"
	case why.Tainted:
		return "the state says that " + subject + " is tainted"
	case why.Requested:
		return "the option " + l.Name + " asks for it"
	case why.Unconfigured:
		return "the configuration doesn't have " + subject + " any more"
	case why.Removed:
		return "a removed block names it"
	case why.Moved:
		return "moved here from " + sanitize.Line(l.Name)
	case why.Imported:
		return strings.TrimSpace("imported " + sanitize.Line(l.Name))
	case why.Leftover:
		return "it is left over from a replacement that failed half-way"
	case why.NewData:
		return subject + " reads something else than last time"
	case why.Impure:
		return "the function " + l.Name + " gives another result in every run"
	case why.Workspace:
		return "terraform.workspace depends on the workspace"
	case why.Provider:
		if l.Name != "" {
			return "the provider " + sanitize.Line(subject) + " says: " + l.Name
		}
		return "the provider " + sanitize.Line(subject) + " plans it so"
	case why.Sensitivity:
		return "nothing changes but which parts are sensitive"
	case why.Setting:
		return "it is set so: " + sanitize.Line(l.Name)
	case why.Pending:
		return subject + " changes in this apply"
	}
	return "the plan doesn't tell more"
}

func source(l why.Link) string {
	switch l.Name {
	case "argument":
		return ", given with -var"
	case "environment":
		return ", given by the environment variable TF_VAR_" + strings.TrimPrefix(l.Subject, "var.")
	case "file":
		return ", given by a file"
	case "deployment":
		return ", given by the deployment"
	case "input":
		return ", as it was entered"
	case "plan":
		return ", as the plan has it"
	}
	return ", by default"
}

// parting is the path below one at which two values differ, with what is there: the first
// such place, where there is more than one. Texts that hold JSON or YAML are taken for what
// they hold.
func parting(path string, before, after cty.Value) (at string, from, to cty.Value, more bool) {
	for range deepest {
		if b, a, ok := documents(before, after); ok {
			before, after = b, a
		}
		names, old := elements(before)
		others, now := elements(after)
		if old == nil || now == nil || !keyed(before, after) && len(names) != len(others) {
			break
		}
		var differ []string
		for _, name := range append(names, others...) {
			v, had := old[name]
			other, has := now[name]
			if had && has && v.RawEquals(other) || len(differ) == 1 && differ[0] == name {
				continue
			}
			if differ = append(differ, name); len(differ) == 2 {
				break
			}
		}
		if len(differ) == 0 {
			break
		}
		more = more || len(differ) > 1
		path, before, after = path+differ[0], old[differ[0]], now[differ[0]]
	}
	return path, before, after, more
}

// deepest is how far down a difference is looked for.
const deepest = 12

// documents are the values in two texts that may be shown.
func documents(before, after cty.Value) (from, to cty.Value, ok bool) {
	for _, v := range []*cty.Value{&before, &after} {
		if *v == cty.NilVal || value.Hidden(*v) {
			return cty.NilVal, cty.NilVal, false
		}
		if *v, _ = v.Unmark(); !v.IsKnown() || v.IsNull() {
			return cty.NilVal, cty.NilVal, false
		}
	}
	return diff.Documents(before, after)
}

// keyed reports whether the parts of two values are found by their names.
func keyed(before, after cty.Value) bool {
	named := func(v cty.Value) bool { return v.Type().IsObjectType() || v.Type().IsMapType() }
	return named(before) && named(after)
}

// elements are the parts of a value that may be shown, by how they are written behind its
// path, and these names in order; none of a value that has none, or of a set.
func elements(v cty.Value) (names []string, all map[string]cty.Value) {
	if v == cty.NilVal || value.Hidden(v) {
		return nil, nil
	}
	v, _ = v.Unmark()
	if !v.IsKnown() || v.IsNull() || !v.CanIterateElements() || v.Type().IsSetType() {
		return nil, nil
	}
	all = map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		k, part := it.Element()
		step := cty.IndexPath(k)
		if v.Type().IsObjectType() {
			step = cty.GetAttrPath(k.AsString())
		}
		name := value.PathString(step)
		names = append(names, name)
		all[name] = part
	}
	return names, all
}

// beside is how much of two long texts is shown before the place where they part.
const beside = 20

// sides are two values on a line. Of long texts that begin alike they are what is around
// the place where they part.
func sides(before, after cty.Value) string {
	if from, to := longText(before), longText(after); from != nil && to != nil {
		same := 0
		for same < min(len(from), len(to)) && from[same] == to[same] {
			same++
		}
		if cut := same - beside; cut > 0 && (len(from) > longest || len(to) > longest) {
			part := func(text []rune) string { return short(cty.StringVal("..." + string(text[cut:]))) }
			return part(from) + " -> " + part(to)
		}
	}
	return short(before) + " -> " + short(after)
}

// longText is a text that may be shown; nil for all else.
func longText(v cty.Value) []rune {
	if v == cty.NilVal || value.Hidden(v) {
		return nil
	}
	if v, _ = v.Unmark(); !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
		return nil
	}
	return []rune(v.AsString())
}

// longest is how many characters of a text are shown.
const longest = 60

// short is a value on a line.
func short(v cty.Value) string {
	if v == cty.NilVal {
		return "nothing"
	}
	if value.Hidden(v) {
		return "(sensitive value)"
	}
	v, _ = v.UnmarkDeep()
	ty := v.Type()
	switch {
	case !v.IsKnown():
		return "(known after apply)"
	case v.IsNull():
		return "null"
	case ty == cty.String:
		text := []rune(v.AsString())
		if len(text) > longest {
			text = append(text[:longest-3], []rune("...")...)
		}
		return strconv.Quote(sanitize.Line(string(text)))
	case ty.IsPrimitiveType():
		return Value(v, 0)
	case v.CanIterateElements():
		return fmt.Sprintf("(%s of %d)", collection(ty), v.LengthInt())
	}
	return "(" + ty.FriendlyName() + ")"
}

func collection(ty cty.Type) string {
	switch {
	case ty.IsObjectType():
		return "object"
	case ty.IsMapType():
		return "map"
	case ty.IsSetType():
		return "set"
	}
	return "list"
}

func ruleTexts() map[string]string {
	return map[string]string{
		"reference":             "because of a reference",
		"provider":              "because its provider is configured with the result",
		"replace":               "because the old object goes first",
		"create_before_destroy": "because what is new comes first (create_before_destroy)",
		"dependents_first":      "because what depends on an object goes before it",
		"finalize":              "because a replacement is planned for good before anything is deleted for it",
		"provision":             "because provisioners run while the object is there",
		"dependency":            "because it is a dependency",
		"depends_on":            "because of depends_on",
		"replace_triggered_by":  "because of replace_triggered_by",
		"set_aside":             "because the old object is set aside first",
		"action":                "because an action is invoked around the change",
		"restore":               "because it takes the old object back if the creation fails",
		"close":                 "because it is closed after every step that uses it",
		"last":                  "because checks come after everything else",
	}
}

func (p *whyPrinter) waits(list []why.Wait) {
	if len(list) == 0 {
		return
	}
	p.WriteString("\n  In apply it waits:\n")
	for n, w := range list {
		if n == mostWaits {
			p.printf("    and %d more\n", len(list)-n)
			break
		}
		p.printf("    %s waits for %s, %s", sanitize.Line(w.Own), sanitize.Line(w.For), ruleTexts()[w.Rule])
		for i, l := range w.Chain {
			if i < len(w.Chain)-1 {
				p.WriteString(" through " + sanitize.Line(l.Subject))
			} else {
				p.WriteString(p.o.Pen.Paint(place(l.Range), ansi.Gray))
			}
		}
		if w.Value != "" && !strings.HasSuffix(w.For, w.Value) {
			p.WriteString(", which gives " + sanitize.Line(w.Value))
		}
		p.WriteByte('\n')
	}
}
