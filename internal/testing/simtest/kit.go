package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Kit draws the case of a seed for the provider of the conformance kit, so that
// any engine can play it. Beside what Random draws it has arguments of every
// shape, sensitive and ephemeral values, deprecations, validations and commands
// that change the state.
func Kit(seed uint64) Case {
	s := &source{Rand: rand.New(rand.NewPCG(seed, 3)), kit: true}
	m := s.model()
	c := Case{{Model: m}}
	if s.chance(3) {
		c[0].Commands = []string{"validate"}
	}
	for range 1 + s.IntN(2) {
		var before []string
		old := m
		m, before = s.edit(m)
		c = append(c, s.kitSteps(old, m, before)...)
	}
	if s.chance(3) {
		last := Step{Model: m, Destroy: true, SkipRefresh: s.chance(4)}
		if s.chance(4) {
			last.Targets = s.targets(m)
		}
		c = append(c, last)
	}
	return c
}

// kitSteps draws how a changed configuration comes about, without what only a
// scripted provider can do.
func (s *source) kitSteps(old, m *Model, before []string) []Step {
	list := s.steps(old, m, before)
	for i := range list {
		step := &list[i]
		step.Defer = false
		step.Fail = slices.DeleteFunc(step.Fail, func(f string) bool {
			return strings.HasPrefix(f, "taint") || strings.HasPrefix(f, "stop")
		})
		step.Drift = slices.DeleteFunc(step.Drift, func(d string) bool { return strings.HasPrefix(d, "taint") })
	}
	if s.chance(4) {
		list[0].Commands = s.commands(old, m)
	}
	return list
}

// commands draws some that change the state.
func (s *source) commands(old, m *Model) []string {
	o, i := s.instance(old)
	if i.Addr == "" {
		return []string{"validate"}
	}
	switch s.IntN(8) {
	case 0:
		return []string{"state rm " + i.Addr}
	case 1:
		return []string{"state rm " + i.Addr, "import " + i.Addr + " object-" + i.Name + "-1"}
	case 2:
		return []string{"taint " + i.Addr, "untaint " + i.Addr}
	case 3:
		to, now := s.instance(m)
		if now.Addr != "" && old.kitType(o) == m.kitType(to) {
			return []string{"state mv " + i.Addr + " " + now.Addr}
		}
		return []string{"validate"}
	case 4:
		return []string{"state mv " + i.Addr + " " + old.kitType(o) + "." + s.fresh("moved")}
	case 5:
		return []string{"validate"}
	}
	return []string{"taint " + i.Addr}
}

const kitRequirement = `terraform {
  required_providers {
    sim = {
      source = "weir/sim"
    }
  }
}
`

// kitOnly is a text where it is for the kit, and nothing elsewhere.
func (r *renderer) kitOnly(text string) string { return r.word("", text) }

// word is one of two, as there are scripted providers and the kit's.
func (r *renderer) word(scripted, kit string) string {
	if r.m.Kit {
		return kit
	}
	return scripted
}

// kitType is the type of an object as it stands in addresses.
func (m *Model) kitType(o *Object) string {
	switch {
	case o.Data == "token":
		return "ephemeral.sim_token"
	case o.Data == "lookup":
		return "data.sim_object"
	case o.Data == "find":
		return "data.sim_objects"
	case o.Data == "echo":
		return "data.sim_echo"
	case o.Store:
		return "terraform_data"
	case o.Thing:
		return "sim_legacy"
	}
	return "sim_object"
}

// valueName is the argument that values are written to.
func (o *Object) valueName() string {
	if o.Store {
		return "input"
	}
	return "value"
}

// kitAttr is an expression for what an instance reports a word: id, name, value, echo, which
// is known when the value is, or late, which isn't known before it is applied.
func (o *Object) kitAttr(instance, word string) string {
	late := word == "late"
	switch {
	case o.Data == "token":
		return instance + ".token"
	case o.Data == "find":
		return "join(\",\", " + instance + ".ids)"
	case o.Data == "echo":
		return instance + ".output"
	case o.Data == "lookup" && late:
		return instance + ".region"
	case o.Data == "lookup" && word == "echo", o.Thing && word == "echo":
		return instance + ".value"
	case o.Store && (word == "echo" || word == "value"):
		return instance + ".output"
	case o.Store, o.Thing && late:
		return instance + ".id"
	case late:
		return instance + ".computed_later"
	}
	return instance + "." + word
}

// kitList is an expression for what all instances tell.
func kitList(address string, o *Object, word string) string {
	each := o.kitAttr("x", word)
	attr, plain := strings.CutPrefix(each, "x.")
	switch o.Repeat.form() {
	case "":
		return "[" + o.kitAttr(address, word) + "]"
	case "each":
		return "[for x in " + address + " : " + each + "]"
	}
	if plain {
		return address + "[*]." + attr
	}
	return "[for x in " + address + "[*] : " + each + "]"
}

// kitArguments writes the arguments of a managed object but its name.
func (r *renderer) kitArguments(b *strings.Builder, o *Object, at int, value string) {
	var ids []string
	for _, ref := range o.Refs {
		if to, _ := r.m.object(ref.To); to == nil || to.Store && !o.Store {
			continue // the cloud has no such objects to refer to
		}
		if expr := r.refer(o, at, ref, "id"); expr != "" && !slices.Contains(ids, expr) {
			ids = append(ids, expr)
		}
	}
	key := ""
	if o.Key > 0 {
		key = fmt.Sprintf("\"k%d\"", o.Key)
	}
	fmt.Fprintf(b, "  %s = %s\n", o.valueName(), value)
	switch {
	case o.Store:
		if key != "" {
			ids = append(ids, "["+key+"]")
		}
		if ids != nil {
			fmt.Fprintf(b, "  triggers_replace = concat(%s)\n", strings.Join(ids, ", "))
		}
		return
	case key != "":
		fmt.Fprintf(b, "  replace_key = %s\n", key)
	}
	if o.Thing {
		return
	}
	if o.Parent != nil {
		if expr := r.refer(o, at, *o.Parent, "id"); expr != "" {
			fmt.Fprintf(b, "  assigned = try((%s)[0], null)\n", expr)
		}
	}
	if ids != nil {
		fmt.Fprintf(b, "  refs = concat(%s)\n", strings.Join(ids, ", "))
	}
	if o.Secret != nil {
		if expr := r.refer(o, at, *o.Secret, "secret"); expr != "" {
			fmt.Fprintf(b, "  secret_wo = try((%s)[0], null)\n  secret_wo_version = %d\n", expr, o.Value)
		}
	}
	for _, name := range o.More {
		features[name](r, b, o, at)
	}
}

// some is a list of strings: what the first reference reports, or constants.
func (r *renderer) some(o *Object, at int) string {
	if len(o.Refs) > 0 {
		if expr := r.refer(o, at, o.Refs[0], r.told(o.Refs[0])); expr != "" {
			return expr
		}
	}
	return fmt.Sprintf("[\"x\", \"y%d\"]", o.Value)
}

// features are arguments that a sim_object may have in addition.
var features = map[string]func(r *renderer, b *strings.Builder, o *Object, at int){
	"rule": func(_ *renderer, b *strings.Builder, o *Object, _ int) {
		fmt.Fprintf(b, "  rule {\n    port = %d\n  }\n  rule {\n    port = 2\n    proto = \"udp\"\n    note {\n      text = \"t\"\n    }\n  }\n", o.Value)
	},
	"dynamic": func(r *renderer, b *strings.Builder, o *Object, at int) {
		fmt.Fprintf(b, "  dynamic \"rule\" {\n    for_each = %s\n    content {\n      port = 80 + rule.key\n      note {\n        text = rule.value\n      }\n    }\n  }\n", r.some(o, at))
	},
	"tag": func(_ *renderer, b *strings.Builder, o *Object, _ int) {
		fmt.Fprintf(b, "  dynamic \"tag\" {\n    for_each = toset([\"x\", \"y%d\"])\n    iterator = t\n    content {\n      key = t.key\n      value = upper(t.value)\n    }\n  }\n", o.Value)
	},
	"any": func(r *renderer, b *strings.Builder, o *Object, at int) {
		fmt.Fprintf(b, "  any = { a = %s, n = %d, l = [1, \"x\", true, null] }\n", r.some(o, at), o.Value)
	},
	"map": func(r *renderer, b *strings.Builder, o *Object, at int) {
		fmt.Fprintf(b, "  map = { for i, x in %s : \"k${i}\" => x }\n", r.some(o, at))
	},
	"settings": func(r *renderer, b *strings.Builder, o *Object, _ int) {
		fmt.Fprintf(b, "  settings = { level = %d, note = \"n\", pin = %s }\n", o.Value, r.secret(o.Module, true))
	},
	"members": func(r *renderer, b *strings.Builder, o *Object, at int) {
		fmt.Fprintf(b, "  members = [for x in %s : { name = x, weight = x == \"x\" ? 5 : null }]\n", r.some(o, at))
	},
	"routes": func(_ *renderer, b *strings.Builder, o *Object, _ int) {
		fmt.Fprintf(b, "  routes = { a = { target = \"t%d\" }, b = { target = \"u\", cost = \"3\" } }\n", o.Value)
	},
	"labels": func(r *renderer, b *strings.Builder, o *Object, at int) {
		fmt.Fprintf(b, "  labels = [for x in %s : { key = x, value = null }]\n", r.some(o, at))
	},
	"limits": func(_ *renderer, b *strings.Builder, o *Object, _ int) {
		fmt.Fprintf(b, "  limits {\n    cpu = %d\n  }\n", o.Value)
	},
	"label": func(_ *renderer, b *strings.Builder, o *Object, _ int) {
		fmt.Fprintf(b, "  label = %q\n", []string{"abc", "ABC", "abcd"}[o.Value%3])
	},
	"size": func(_ *renderer, b *strings.Builder, o *Object, _ int) {
		fmt.Fprintf(b, "  size = %d\n", 10-o.Value)
	},
	"mode": func(_ *renderer, b *strings.Builder, o *Object, _ int) {
		fmt.Fprintf(b, "  mode = \"m%d\"\n", o.Value)
	},
	"secret": func(r *renderer, b *strings.Builder, o *Object, _ int) {
		fmt.Fprintf(b, "  secret = %s\n  label = \"l%d\"\n", r.secret(o.Module, true), o.Value)
	},
	"hidden": func(r *renderer, b *strings.Builder, o *Object, at int) {
		fmt.Fprintf(b, "  list = [%s, \"plain\"]\n  set = %s\n", r.secret(o.Module, true), r.some(o, at))
	},
	"old": func(_ *renderer, b *strings.Builder, o *Object, _ int) {
		fmt.Fprintf(b, "  old_value = \"o%d\"\n", o.Value)
	},
	"words": func(_ *renderer, b *strings.Builder, o *Object, _ int) {
		fmt.Fprintf(b, "  flag = \"true\"\n  number = \"%d.5\"\n  list = [1, true, \"s\"]\n", o.Value)
	},
	"written": func(r *renderer, b *strings.Builder, o *Object, _ int) {
		if o.Secret == nil {
			fmt.Fprintf(b, "  secret_wo = \"w%d\"\n  secret_wo_version = %d\n", o.Value, o.Value)
		}
	},
	"partial": func(_ *renderer, b *strings.Builder, _ *Object, _ int) { b.WriteString("  create_partial = true\n") },
}

// together are features that write the same argument.
var together = [][]string{{"rule", "dynamic"}, {"label", "secret"}, {"hidden", "words"}}

// feature gives an object another one, or takes one away.
func (s *source) feature(o *Object) {
	names := make([]string, 0, len(features))
	for name := range features {
		names = append(names, name)
	}
	slices.Sort(names)
	name := pick(s, names)
	if name == "partial" && !s.chance(3) {
		return
	}
	for _, list := range together {
		if slices.Contains(list, name) {
			o.More = slices.DeleteFunc(o.More, func(had string) bool { return had != name && slices.Contains(list, had) })
		}
	}
	if i := slices.Index(o.More, name); i >= 0 {
		o.More = slices.Delete(o.More, i, i+1)
		return
	}
	o.More = append(o.More, name)
}

// more draws what a managed object of the kit is.
func (s *source) more(o *Object) {
	o.Store = s.chance(6)
	o.Thing = o.Thing && !o.Store
	for range s.IntN(4) {
		s.feature(o)
	}
	if s.chance(12) {
		o.Repeat = Repeat{Kind: "secret", N: 2}
	}
}

var moduleFeatures = []string{"validated", "typed", "deprecated", "sensitive"}

func (s *source) moduleMore(mod *Module) {
	for _, name := range moduleFeatures {
		if s.chance(4) {
			mod.More = append(mod.More, name)
		}
	}
	mod.Size = s.IntN(4)
}

// kitEdits are those that the kit has in addition.
var kitEdits = []change{
	{8, func(s *source, _ *Model, o *Object) {
		if o.Data == "" {
			s.feature(o)
		}
	}},
	{2, func(s *source, m *Model, _ *Object) { m.Secret++ }},
	{2, func(s *source, m *Model, _ *Object) { m.Modules[s.IntN(len(m.Modules))].Size++ }},
	{2, func(s *source, m *Model, _ *Object) {
		mod := &m.Modules[s.IntN(len(m.Modules))]
		mod.More = nil
		s.moduleMore(mod)
	}},
}

// secret is the sensitive variable of a module, which is declared there and
// handed down to it where it is needed.
func (r *renderer) secret(module string, needed bool) string {
	if s := r.of(module); needed && !s.done["variable secret"] {
		s.done["variable secret"] = true
		if module == r.m.root() {
			fmt.Fprintf(&s.text, "\nvariable \"secret\" {\n  sensitive = true\n  default = \"s%d\"\n}\n", r.m.Secret)
		} else {
			s.text.WriteString("\nvariable \"secret\" {\n  sensitive = true\n}\n")
			s.args = append(s.args, "  secret = "+r.secret(r.m.module(module).Parent, true)+"\n")
		}
	}
	return "var.secret"
}

// moduleMore writes what else a module declares, and the arguments for it to
// its call.
func (r *renderer) moduleMore(call *strings.Builder, mod *Module) {
	text, parent := &r.of(mod.Label).text, r.of(mod.Parent)
	tell := func(output, more string) {
		value := "module." + mod.Name + "." + output
		switch mod.Repeat.form() {
		case "each":
			value = "[for x in module." + mod.Name + " : x." + output + "]"
		case "count", "enabled":
			value = "module." + mod.Name + "[*]." + output
		}
		parent.add("output %s", "\noutput %q {\n  value = %s\n%s}\n", output+"_"+mod.Label, value, more)
	}
	for _, name := range mod.More {
		switch name {
		case "validated":
			text.WriteString("\nvariable \"size\" {\n  type = number\n  validation {\n    condition = var.size <= 4\n    error_message = \"A size of ${var.size} is too much.\"\n  }\n}\n")
			fmt.Fprintf(call, "  size = \"%d\"\n", mod.Size)
		case "typed":
			text.WriteString("\nvariable \"conf\" {\n  type = object({\n    a = string\n    b = optional(number, 3)\n    c = optional(list(string))\n  })\n  nullable = false\n  default = { a = \"d\" }\n}\n" +
				"\noutput \"conf\" {\n  value = var.conf\n}\n")
			fmt.Fprintf(call, "  conf = %s\n", []string{"null", "{ a = 1, more = true }", "{ a = \"x\", b = null, c = [\"q\", 1] }"}[mod.Size%3])
			tell("conf", "")
		case "deprecated":
			text.WriteString("\nvariable \"old\" {\n  type = number\n  default = null\n  deprecated = \"Leave it.\"\n}\n\noutput \"former\" {\n  value = var.old\n  deprecated = \"Don't.\"\n}\n")
			fmt.Fprintf(call, "  old = %d\n", mod.Size)
			if mod.Size%2 > 0 {
				tell("former", "")
			}
		case "sensitive":
			text.WriteString("\noutput \"hidden\" {\n  value = { p = var.prefix, n = 1 }\n  sensitive = true\n}\n")
			tell("hidden", "  sensitive = true\n")
		}
	}
}
