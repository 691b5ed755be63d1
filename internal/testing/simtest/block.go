package simtest

import (
	"fmt"
	"slices"
	"strings"
)

// object writes the block of an object and what reports it.
func (r *renderer) object(o *Object, at int) {
	if o.Data != "" {
		r.data(o, at)
		return
	}
	var b strings.Builder
	kind, _, _ := strings.Cut(r.m.address(o), ".")
	fmt.Fprintf(&b, "\nresource %q %q {\n", kind, o.Name)
	r.secret(o.Module, o.Repeat.Kind == "secret")
	repeat(&b, o.Repeat, r.refer(o, at, Ref{To: o.Repeat.To}, "id"))
	if p := r.provider(o.Other, o.Repeat, o.Module, at); p != "" && !o.Store {
		b.WriteString("  provider = " + p + "\n")
	}
	if !o.Store {
		fmt.Fprintf(&b, "  name = \"%s%s%s\"\n", r.prefix(o.Module), o.Label, suffix(o.Repeat))
	}
	value := fmt.Sprintf("\"v%d\"", o.Value)
	if o.ValueFrom != nil {
		if expr := r.refer(o, at, *o.ValueFrom, r.told(*o.ValueFrom)); expr != "" {
			value = fmt.Sprintf("join(\",\", concat([\"v%d\"], [for x in %s : x == null ? \"-\" : x]))", o.Value, expr)
		}
	}
	if o.Sensitive {
		value = "sensitive(" + value + ")"
	}
	if r.m.Kit {
		r.kitArguments(&b, o, at, value)
	} else {
		b.WriteString("  value = " + value + "\n")
		if o.Key > 0 {
			fmt.Fprintf(&b, "  key = \"k%d\"\n", o.Key)
		}
		r.references(&b, o, at)
	}
	r.depends(&b, o, at)
	r.lifecycle(&b, o, at)
	b.WriteString(provisioner(o.Provision) + "}\n")
	r.of(o.Module).text.WriteString(b.String())
	r.output(o)
	r.check(o)
}

// told is the attribute that reports an object or data source.
func (r *renderer) told(ref Ref) string {
	if to, _ := r.m.object(ref.To); to != nil && to.Data != "" {
		return "value"
	}
	return "echo"
}

func (r *renderer) references(b *strings.Builder, o *Object, at int) {
	if o.Parent != nil {
		if expr := r.refer(o, at, *o.Parent, "id"); expr != "" {
			fmt.Fprintf(b, "  parent = try((%s)[0], null)\n", expr)
		}
	}
	var lists []string
	for _, ref := range o.Refs {
		if expr := r.refer(o, at, ref, "id"); expr != "" && !slices.Contains(lists, expr) {
			lists = append(lists, expr)
		}
	}
	if len(lists) > 0 {
		fmt.Fprintf(b, "  refs = concat(%s)\n", strings.Join(lists, ", "))
	}
	if o.Secret != nil {
		if expr := r.refer(o, at, *o.Secret, "secret"); expr != "" {
			fmt.Fprintf(b, "  secret = try((%s)[0], null)\n", expr)
		}
	}
}

func (r *renderer) lifecycle(b *strings.Builder, o *Object, at int) {
	text := enabled(o.Repeat)
	for _, flag := range []struct {
		on   bool
		text string
	}{
		{o.CBD, "create_before_destroy = true"}, {o.Prevent, "prevent_destroy = true"}, {o.Keep, "destroy = false"},
		{o.Ignore == "value", "ignore_changes = [" + o.valueName() + "]"}, {o.Ignore == "all", "ignore_changes = all"},
	} {
		if flag.on {
			text += "    " + flag.text + "\n"
		}
	}
	var triggers []string
	for _, label := range o.TriggeredBy {
		if to, p := r.m.object(label); to != nil && p < at && to.Module == o.Module && to.Data == "" {
			trigger := r.m.address(to)
			if o.ByValue && to.Repeat.Kind == "" {
				trigger += "." + to.valueName()
			}
			triggers = append(triggers, trigger)
		}
	}
	if triggers != nil {
		text += fmt.Sprintf("    replace_triggered_by = [%s]\n", strings.Join(triggers, ", "))
	}
	if o.Condition.Kind != "" {
		text += fmt.Sprintf("    %scondition {\n      condition = %s\n      error_message = \"not met\"\n    }\n", o.Condition.Kind, r.condition(o, at))
	}
	if text != "" {
		b.WriteString("  lifecycle {\n" + text + "  }\n")
	}
}

// condition is an expression that is true, unless the condition is bad.
func (r *renderer) condition(o *Object, at int) string {
	subject := "path.module"
	switch {
	case o.Data != "" && o.Condition.Kind == "post":
		subject = "self.value"
		if r.m.Kit {
			subject = o.kitAttr("self", "value")
		}
	case o.Condition.Kind == "post" && r.m.Kit:
		subject = o.kitAttr("self", map[bool]string{false: "name", true: "echo"}[o.Condition.Late])
	case !o.Condition.Late && o.Condition.Kind == "post":
		subject = "self.name"
	case o.Condition.Late && o.Condition.Kind == "post":
		subject = "self.echo"
	case o.Condition.Late && len(o.Refs) > 0:
		if expr := r.refer(o, at, o.Refs[0], r.told(o.Refs[0])); expr != "" {
			subject = "join(\"\", concat([\"x\"], [for x in " + expr + " : x == null ? \"-\" : x]))"
		}
	}
	if o.Condition.Bad {
		return subject + " == \"\""
	}
	return subject + " != \"\""
}

func provisioner(kind string) string {
	when, fails, _ := strings.Cut(kind, " ")
	command := ": ${self.id}"
	if fails != "" {
		command = "exit 3 # ${self.id}"
	}
	switch when {
	case "create":
		return "  provisioner \"local-exec\" {\n    command = \"" + command + "\"\n  }\n"
	case "destroy":
		return "  provisioner \"local-exec\" {\n    when = destroy\n    command = \"" + command + "\"\n  }\n"
	}
	return ""
}

// output writes a root output about an object.
func (r *renderer) output(o *Object) {
	if o.Output.Kind == "" {
		return
	}
	expr, more := r.list(r.m.root(), o, "echo"), ""
	switch o.Output.Kind {
	case "sensitive":
		more = "  sensitive = true\n"
	case "pre":
		subject, operator := "path.module", "!="
		if o.Output.Late {
			subject = "join(\"\", concat([\"x\"], " + expr + "))"
		}
		if o.Output.Bad {
			operator = "=="
		}
		more = fmt.Sprintf("  precondition {\n    condition = %s %s \"\"\n    error_message = \"not met\"\n  }\n", subject, operator)
	}
	r.of(r.m.root()).add("output %s", "\noutput %[1]q {\n  value = %s\n%s}\n", "echo_"+o.Label, expr, more)
}

// check writes a check block about an object.
func (r *renderer) check(o *Object) {
	if o.Watching.Kind == "" {
		return
	}
	operator, nested := "!=", ""
	if o.Watching.Bad {
		operator = "=="
	}
	list := r.list(o.Module, o, "echo")
	if o.Watching.Kind == "data" && r.m.Kit {
		nested = fmt.Sprintf("  data \"sim_objects\" \"k_%s\" {\n    filter {\n      name_prefix = join(\",\", %s)\n    }\n  }\n", o.Label, r.list(o.Module, o, "name"))
		list = "data.sim_objects.k_" + o.Label + ".ids"
	} else if o.Watching.Kind == "data" {
		nested = fmt.Sprintf("  data \"sim_find\" \"k_%s\" {\n    name = join(\",\", %s)\n  }\n", o.Label, r.list(o.Module, o, "name"))
		list = "[data.sim_find.k_" + o.Label + ".name]"
	}
	r.of(o.Module).add("check %s", "\ncheck \"c_%s\" {\n%s  assert {\n    condition = alltrue([for x in %s : x %s \"\"])\n    error_message = \"not met\"\n  }\n}\n", o.Label, nested, list, operator)
}

// depends writes depends_on: of objects of the module, and of the calls that
// have others in them.
func (r *renderer) depends(b *strings.Builder, o *Object, at int) {
	var list []string
	for _, label := range o.DependsOn {
		to, p := r.m.object(label)
		if to == nil || p >= at || !r.m.attached(to.Module) {
			continue
		}
		if to.Module == o.Module {
			list = append(list, r.m.address(to))
			continue
		}
		for i, child := range r.m.Modules {
			if i == 0 || child.Parent != o.Module || !r.m.within(to.Module, child.Label) {
				continue
			}
			if _, last := r.m.span(child.Label); last >= 0 && last < at {
				list = append(list, "module."+child.Name)
			}
		}
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) > 0 {
		fmt.Fprintf(b, "  depends_on = [%s]\n", strings.Join(list, ", "))
	}
}

// data writes a data source or ephemeral resource about one object of the same
// module.
func (r *renderer) data(o *Object, at int) {
	var b strings.Builder
	mode := "data"
	if o.Data == "token" {
		mode = "ephemeral"
	}
	typ := strings.TrimPrefix(strings.TrimSuffix(r.m.address(o), "."+o.Name), mode+".")
	fmt.Fprintf(&b, "\n%s %q %q {\n", mode, typ, o.Name)
	repeat(&b, o.Repeat, "")
	if p := r.provider(o.Other, o.Repeat, o.Module, at); p != "" {
		b.WriteString("  provider = " + p + "\n")
	}
	if len(o.Refs) == 0 && o.Data == "token" && r.m.Kit {
		fmt.Fprintf(&b, "  name = %q\n", o.Label)
	}
	if len(o.Refs) > 0 {
		to, _ := r.m.object(o.Refs[0].To)
		key := map[string]string{"count": "[count.index]", "each": "[each.key]"}[to.Repeat.Kind]
		switch o.Data {
		case "echo":
			fmt.Fprintf(&b, "  input = %s\n", to.kitAttr(r.m.address(to)+key, map[bool]string{false: "echo", true: "late"}[o.Key%2 > 0]))
		case "find":
			which := suffix(to.Repeat)
			if o.second(to) {
				which = "-1"
			}
			name := fmt.Sprintf("\"%s%s%s\"", r.prefix(to.Module), to.Label, which)
			if r.m.Kit {
				fmt.Fprintf(&b, "  filter {\n    name_prefix = %s\n  }\n", name)
			} else {
				b.WriteString("  name = " + name + "\n")
			}
			fmt.Fprintf(&b, "  depends_on = [%s]\n", r.m.address(to))
		case "lookup":
			fmt.Fprintf(&b, "  id = %s%s.id\n", r.m.address(to), key)
		case "token":
			fmt.Fprintf(&b, "  %s = %s%s.id\n", r.word("of", "name"), r.m.address(to), key)
		}
	}
	r.lifecycle(&b, o, at)
	b.WriteString("}\n")
	r.of(o.Module).text.WriteString(b.String())
}
