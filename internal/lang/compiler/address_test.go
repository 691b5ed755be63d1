package compiler

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/addr"
)

// TestParseAddress reads addresses, and says of each what is wrong with it.
func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"sim_object.a":                       "sim_object.a",
		"resource.sim_object.a":              "sim_object.a",
		"data.sim_lookup.d":                  "data.sim_lookup.d",
		"ephemeral.sim_token.t":              "ephemeral.sim_token.t",
		"module.m":                           "module.m",
		"module.m[0].module.n[\"k\"]":        "module.m[0].module.n[\"k\"]",
		"module.m[each.key].sim_object.a":    "module.m[?].sim_object.a",
		"sim_object.a[1]":                    "sim_object.a[1]",
		"sim_object.a[1.5]":                  "sim_object.a[?]",
		"sim_object.a[-1]":                   "sim_object.a[?]",
		"sim_object.a[null]":                 "sim_object.a[?]",
		"sim_object.a[true]":                 "sim_object.a[?]",
		"sim_object.a[var.key].name":         "sim_object.a[?] and 1 more",
		"sim_object.a.name":                  "sim_object.a and 1 more",
		"sim_object":                         "Resource specification must include a resource type and name.",
		"data.sim_lookup":                    "Resource specification must include a resource type and name.",
		"sim_object[0].a":                    "Resource specification must include a resource type and name.",
		"module":                             `Prefix "module." must be followed by a module name.`,
		"module[0]":                          `Prefix "module." must be followed by a module name.`,
		"sim_object.a[*]":                    "no address",
		"f(1)":                               "no address",
		"f(1).a":                             "no address",
		"(sim_object.a)[0]":                  "no address",
		"module.m[var.x].sim_object.a[\"\"]": `module.m[?].sim_object.a[""]`,
	} {
		e, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(text, diags)
		}
		if got := read(e); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// read sets an address again; keys that aren't constant are question marks.
func read(e hcl.Expression) string {
	steps, ok := addressSteps(e)
	if !ok {
		return "no address"
	}
	a, problem := parseAddress(steps)
	if problem != "" {
		return problem
	}
	key := func(e hcl.Expression) string {
		switch k, bad := constantKey(e); {
		case bad:
			return "[?]"
		default:
			return k.String()
		}
	}
	text := ""
	for i, m := range a.Modules {
		if i > 0 {
			text += "."
		}
		text += "module." + m + key(a.ModuleKeys[i])
	}
	if a.Name != (addr.Name{}) {
		if text != "" {
			text += "."
		}
		text += a.Name.String() + key(a.Key)
	}
	if a.Rest > 0 {
		text += " and 1 more"
	}
	return text
}

// TestTraversal reads the address that a traversal is.
func TestTraversal(t *testing.T) {
	for text, want := range map[string]string{
		"module.m[0].sim_object.a[\"k\"]": "5 steps to sim_object.a",
		"sim_object.a":                    "2 steps to sim_object.a",
	} {
		e, diags := hclsyntax.ParseTraversalAbs([]byte(text), "", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		steps := traversalSteps(e)
		a, problem := parseAddress(steps)
		if problem != "" || a.Name.String() != "sim_object.a" || len(steps) < 2 {
			t.Errorf("%s: %v %q, want %s", text, a, problem, want)
		}
	}
	if steps := traversalSteps(hcl.Traversal{hcl.TraverseSplat{}}); len(steps) != 1 || steps[0].Name != "" || steps[0].Key != nil {
		t.Errorf("a step that addresses don't have: %v", steps)
	}
}
