package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/module"
)

// A block is an entry of the language reference. Its arguments come from the compiler's own
// schema; the generator fails when one has no text, or a text has no argument.
type block struct {
	name    string // in compiler.Schemas, or of a block without one
	about   string
	example string
	texts   map[string]string
}

// reserved are names that schemas have only to reject them, or to escape.
var reserved = map[string]bool{"_": true, "provider.lifecycle": true, "provider.locals": true, "resource.locals": true,
	"data.locals": true, "module.locals": true, "module.provider": true, "resource.provisioner.lifecycle": true, "resource.provisioner.locals": true,
	"ephemeral.locals": true, "provider.count": true, "provider.depends_on": true, "provider.source": true, "language.compatible_with": true}

const (
	count     = "The number of instances. Each has `count.index`. Not together with `for_each`."
	forEach   = "A map or a set of strings: one instance for each element. Each has `each.key` and `each.value`."
	dependsOn = "A list of references that have to be applied first, beyond the references in expressions."
	provider  = "The provider configuration to use, such as `aws.west`. Default: the one without an alias."
)

var blocks = []block{
	{"terraform", "Settings of the module: versions, providers, and where the state is stored.",
		"terraform {\n  required_version = \">= 1.9\"\n\n  required_providers {\n    random = {\n      source  = \"hashicorp/random\"\n      version = \"~> 3.6\"\n    }\n  }\n\n  backend \"s3\" {\n    bucket = \"states\"\n    key    = \"network\"\n    region = \"eu-central-1\"\n  }\n}",
		map[string]string{
			"required_version":   "The versions of OpenTofu or Terraform that the module needs, as a constraint.",
			"experiments":        "A list of experimental features.",
			"language":           "Reserved for editions of the language.",
			"backend":            "Where the state is stored. The label is the type of the backend.",
			"cloud":              "Use HCP Terraform to store the state.",
			"required_providers": "Source and version of each provider, by its local name.",
			"provider_meta":      "Values that the module passes to a provider.",
			"encryption":         "Encryption of states and saved plans.",
		}},
	{"language", "The edition of the language, in OpenTofu's form.", "language {\n  edition = tofu2024\n}",
		map[string]string{"edition": "The edition, as a keyword: `tofu2024`.", "experiments": "A list of experimental features."}},
	{"required_providers", "Source and version of each provider. In a module it is a block in `terraform`; in a stack it is a block of its own.", "", nil},
	{"provider", "Configuration of a provider. All other arguments are those of the provider.",
		"provider \"aws\" {\n  alias  = \"west\"\n  region = \"us-west-2\"\n}",
		map[string]string{
			"alias":    "A name for a further configuration of the same provider.",
			"for_each": forEach + " Needs `alias`. OpenTofu and weir only.",
			"version":  "Deprecated. Use `required_providers`.",
		}},
	{"variable", "An input of the module.",
		"variable \"size\" {\n  type        = number\n  default     = 1\n  description = \"Number of hosts.\"\n\n  validation {\n    condition     = var.size > 0\n    error_message = \"At least one host is needed.\"\n  }\n}",
		map[string]string{
			"description": "A text for users of the module.",
			"default":     "The value when none is given. Without it a value is required.",
			"type":        "The type: `string`, `number`, `bool`, `list(…)`, `set(…)`, `map(…)`, `object({…})`, `tuple([…])` or `any`.",
			"sensitive":   "Hide the value in output.",
			"ephemeral":   "Never store the value in states or plans.",
			"nullable":    "Whether the value may be null. Default: true.",
			"deprecated":  "A text that is printed as a warning when a caller sets the variable.",
			"const":       "The value must be known before planning, so that module sources can use it.",
			"validation":  "A condition that the value has to meet.",
		}},
	{"locals", "Named expressions. Read them as `local.NAME`.", "locals {\n  prefix = \"${var.team}-${var.stage}\"\n}", nil},
	{"output", "A value that the module returns. weir prints the outputs of the root module after an apply.",
		"output \"address\" {\n  value = terraform_data.host.output\n}",
		map[string]string{
			"description":   "A text for users of the module.",
			"value":         "The value.",
			"depends_on":    dependsOn,
			"sensitive":     "Hide the value in output.",
			"ephemeral":     "Never store the value in states or plans.",
			"deprecated":    "A text that is printed as a warning when a caller reads the output.",
			"type":          "The type that the value is converted to. Terraform and weir only.",
			"precondition":  "A condition that is checked before the value is used.",
			"postcondition": "Rejected with an explanation: outputs have only preconditions.",
		}},
	{"module", "A call of another module. All other arguments are its input variables.",
		"module \"site\" {\n  source   = \"./site-${each.value}\"\n  for_each = { us = \"first\", eu = \"second\" }\n}",
		map[string]string{
			"source":     "A local folder, or the address of a registry, a repository or an archive. **Only in weir:** it may use `each.key`, `each.value` and `count.index`, so that instances load different modules.",
			"version":    "A version constraint for modules from a registry. **Only in weir:** it may differ by instance.",
			"count":      count,
			"for_each":   forEach,
			"depends_on": dependsOn,
			"providers":  "The provider configurations that the module uses, by their names in it.",
			"lifecycle":  "Rules of the call.",
		}},
	{"module.lifecycle", "Rules of a module call.", "", map[string]string{
		"enabled": "Whether the call has its one instance. OpenTofu and weir only."}},
	{"resource", "Objects that weir creates, updates and deletes. All other arguments are those of the resource type.",
		"resource \"terraform_data\" \"host\" {\n  for_each = toset([\"a\", \"b\"])\n  input    = each.key\n\n  lifecycle {\n    create_before_destroy = true\n  }\n}",
		map[string]string{
			"count":       count,
			"for_each":    forEach,
			"provider":    provider,
			"depends_on":  dependsOn,
			"lifecycle":   "Rules for creating, replacing and deleting.",
			"connection":  "How provisioners reach the machine: SSH host, user and key.",
			"provisioner": "A command that runs after creation, or before deletion.",
		}},
	{"resource.lifecycle", "Rules of a resource. In `data` and `ephemeral` blocks only `enabled`, `precondition` and `postcondition` are allowed.", "",
		map[string]string{
			"create_before_destroy": "When an object is replaced, create the new one first.",
			"prevent_destroy":       "Fail when a plan would destroy the object.",
			"destroy":               "If false, weir removes the object from the state and doesn't delete it.",
			"ignore_changes":        "Attributes whose changes in the configuration are ignored, or `all`.",
			"replace_triggered_by":  "References: when one of them changes, the object is replaced.",
			"enabled":               "Whether the resource has its one instance. OpenTofu and weir only.",
			"precondition":          "A condition that is checked before the object is planned.",
			"postcondition":         "A condition that is checked with the result; `self` is the object.",
			"action_trigger":        "Actions that run around changes of the object.",
		}},
	{"resource.action_trigger", "Actions that run around changes of a resource.", "",
		map[string]string{
			"events":     "When they run: `before_create`, `after_create`, `before_update`, `after_update`, `before_destroy` or `after_destroy`.",
			"condition":  "Run them only if this is true.",
			"actions":    "References to actions, such as `action.TYPE.NAME`.",
			"on_failure": "Effect of a failed action.",
		}},
	{"resource.provisioner", "A command for one object. The types are `local-exec`, `remote-exec` and `file`; the other arguments are those of the type.",
		"provisioner \"local-exec\" {\n  command = \"echo ${self.output}\"\n}",
		map[string]string{
			"when":       "`create` (default) or `destroy`.",
			"on_failure": "`fail` (default) or `continue`.",
			"connection": "How to reach the machine, for this provisioner.",
		}},
	{"data", "Reads an object that another tool manages. All other arguments are those of the data source.",
		"data \"terraform_remote_state\" \"network\" {\n  backend = \"local\"\n  config  = { path = \"../network/terraform.tfstate\" }\n}",
		map[string]string{"count": count, "for_each": forEach, "provider": provider, "depends_on": dependsOn, "lifecycle": "Conditions of the data source."}},
	{"ephemeral", "A value that exists only during the run, such as a token. weir never stores it.",
		"ephemeral \"random_password\" \"token\" {\n  length = 24\n}",
		map[string]string{"count": count, "for_each": forEach, "provider": provider, "depends_on": dependsOn, "lifecycle": "Conditions of the ephemeral resource."}},
	{"condition", "The blocks `validation`, `precondition`, `postcondition` and `assert` have these arguments.", "",
		map[string]string{"condition": "An expression that has to be true.", "error_message": "The message when it is false."}},
	{"check", "Assertions about the whole module. A failed assertion is a warning and stops nothing.",
		"check \"rooms\" {\n  assert {\n    condition     = length(terraform_data.room) > 1\n    error_message = \"Too few rooms.\"\n  }\n}",
		map[string]string{"data": "A data source that only this check reads.", "assert": "A condition with its message."}},
	{"moved", "A new address for existing objects, so that a rename doesn't replace them.",
		"moved {\n  from = terraform_data.old\n  to   = terraform_data.new\n}",
		map[string]string{"from": "The old address.", "to": "The new address.", "for_each": forEach}},
	{"import", "Existing objects that weir takes into the state when the plan is applied.",
		"import {\n  to = aws_s3_bucket.logs\n  id = \"my-logs\"\n}",
		map[string]string{
			"to":       "The address of the resource.",
			"id":       "The id of the object at the provider.",
			"identity": "The identity of the object, in place of `id`.",
			"for_each": forEach,
			"provider": provider,
		}},
	{"removed", "A resource or module that is no longer in the configuration.",
		"removed {\n  from = terraform_data.old\n\n  lifecycle {\n    destroy = false\n  }\n}",
		map[string]string{
			"from":        "The address.",
			"lifecycle":   "Whether to delete the objects.",
			"provisioner": "A command that runs before deletion.",
			"connection":  "How that command reaches the machine.",
		}},
	{"removed.lifecycle", "Rules of a removed resource.", "", map[string]string{"destroy": "If false, weir only removes the objects from the state. Default: true."}},
	{"action", "An operation of a provider that isn't a resource, such as a restart.",
		"action \"aws_lambda_invoke\" \"warm\" {\n  config {\n    function_name = \"warm\"\n    payload       = \"{}\"\n  }\n}",
		map[string]string{"count": count, "for_each": forEach, "provider": provider, "config": "The arguments of the action."}},
	{"list", "A search for existing objects, in a file that ends in `.tfquery.hcl`.",
		"list \"aws_instance\" \"all\" {\n  provider = aws\n  limit    = 50\n}",
		map[string]string{
			"count": count, "for_each": forEach, "provider": "The provider configuration to use.",
			"limit":            "The largest number of results.",
			"include_resource": "Whether results have all attributes.",
			"config":           "The arguments of the search.",
		}},
}

const languageHead = `# Language reference

The blocks of the language and their arguments. weir reads the language of OpenTofu and
Terraform; entries marked **Only in weir** work in no other program. **Required** arguments are
marked too. The [functions](functions.md) have a page of their own.

A file that ends in ` + "`.tf`, `.tofu`, `.tf.json` or `.tofu.json`" + ` belongs to the module in its
folder. Files ending in ` + "`.tofu`" + ` are ignored in Terraform mode.

`

// Language returns the page about blocks.
func Language() (string, error) {
	schemas := compiler.Schemas()
	var page strings.Builder
	page.WriteString(head + languageHead)
	seen := map[string]bool{}
	for _, b := range blocks {
		seen[b.name] = true
		title := b.name
		if b.name == "condition" {
			title = "Conditions"
		} else {
			title = "`" + strings.ReplaceAll(title, ".", " ") + "`"
		}
		fmt.Fprintf(&page, "## %s\n\n%s\n\n", title, b.about)
		if b.example != "" {
			fmt.Fprintf(&page, "```hcl\n%s\n```\n\n", b.example)
		}
		schema, ok := schemas[b.name]
		if !ok {
			if b.texts != nil {
				return "", fmt.Errorf("the language reference has arguments of %s, which has no schema", b.name)
			}
			continue
		}
		left := maps.Clone(b.texts)
		page.WriteString("| | | |\n|---|---|---|\n")
		row := func(name, kind string) error {
			if reserved[name] || reserved[b.name+"."+name] {
				return nil
			}
			text, ok := left[name]
			if !ok {
				return fmt.Errorf("the language reference has no text for %s of %s", name, b.name)
			}
			delete(left, name)
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", name, kind, text)
			return nil
		}
		for _, a := range schema.Attributes {
			kind := "argument"
			if a.Required {
				kind = "argument, **required**"
			}
			if err := row(a.Name, kind); err != nil {
				return "", err
			}
		}
		for _, inner := range schema.Blocks {
			if err := row(inner.Type, "block"); err != nil {
				return "", err
			}
		}
		if len(left) > 0 {
			return "", fmt.Errorf("the language reference has texts for arguments that %s doesn't have: %v", b.name, slices.Sorted(maps.Keys(left)))
		}
		page.WriteString("\n")
	}
	for name := range schemas {
		if !seen[name] {
			return "", fmt.Errorf("the language reference has no entry for %s", name)
		}
	}
	for _, inner := range append(slices.Clone(module.FileSchema.Blocks), module.QuerySchema.Blocks...) {
		if !seen[inner.Type] {
			return "", fmt.Errorf("the language reference has no entry for the block %s", inner.Type)
		}
	}
	return strings.TrimRight(page.String(), "\n") + "\n", nil
}

// Functions returns the page about functions. Examples are cases of the function's own
// test, in internal/lang/function/cases_test.go.
func Functions() (string, error) {
	examples, err := functionCases()
	if err != nil {
		return "", err
	}
	var page strings.Builder
	page.WriteString(head + "# Functions\n\nAll built-in functions, with a call and its result. A test runs each call. The name with\n`core::` in front works too. Functions of providers are `provider::NAME::FUNCTION`.\n\n")
	all := function.Signatures()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(name, "::") {
			continue
		}
		s := all[name]
		var parameters []string
		for _, p := range s.Parameters {
			parameters = append(parameters, p.Name+" "+typeText(p.Type))
		}
		if s.Variadic != nil {
			parameters = append(parameters, s.Variadic.Name+" "+typeText(s.Variadic.Type)+"...")
		}
		fmt.Fprintf(&page, "## `%s`\n\n%s\n\n", name, s.Description)
		if where := function.Programs[name]; where != "" {
			fmt.Fprintf(&page, "**Only in %s.**\n\n", where)
		}
		fmt.Fprintf(&page, "```hcl\n%s(%s) -> %s\n", name, strings.Join(parameters, ", "), typeText(s.ReturnType))
		e := examples[name]
		if e == [2]string{} {
			return "", fmt.Errorf("no case of %s in internal/lang/function/cases_test.go can be shown as an example: write one with constant arguments and a certain result", name)
		}
		fmt.Fprintf(&page, "\n> %s\n%s\n```\n\n", e[0], e[1])
	}
	return strings.TrimRight(page.String(), "\n") + "\n", nil
}

// typeText writes a type in its JSON form as the language does.
func typeText(j []byte) string {
	text := string(j)
	if word, err := strconv.Unquote(text); err == nil {
		if word == "dynamic" {
			return "any"
		}
		return word
	}
	kind, inner, ok := strings.Cut(strings.Trim(text, "[]"), ",")
	if !ok {
		return text
	}
	if strings.HasPrefix(inner, "[") || strings.Contains(inner, ",") {
		inner = strings.TrimPrefix(inner, "[")
		return strings.Trim(kind, `"`) + "(" + typeText([]byte("["+inner+"]")) + ")"
	}
	return strings.Trim(kind, `"`) + "(" + typeText([]byte(inner)) + ")"
}

// fixture matches what only the test of functions defines.
var fixture = regexp.MustCompile(`\b[use]_\w+|\bnolist\b|\bnothing\b|\$\{dir\}`)

// functionCases returns the first call of each function that stands for itself, with its
// result.
func functionCases() (map[string][2]string, error) {
	name := filepath.Join("internal", "lang", "function", "cases_test.go")
	for _, err := os.Stat(name); err != nil && len(name) < 100; _, err = os.Stat(name) {
		name = filepath.Join("..", name)
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := map[string][2]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		key, _ := pair.Key.(*ast.BasicLit)
		list, _ := pair.Value.(*ast.CompositeLit)
		if key == nil || list == nil {
			return true
		}
		function, _ := strconv.Unquote(key.Value)
		for _, element := range list.Elts {
			c, ok := element.(*ast.CompositeLit)
			if !ok || len(c.Elts) != 2 {
				continue
			}
			call, result := unquoted(c.Elts[0]), unquoted(c.Elts[1])
			result, certain := strings.CutPrefix(result, "= ")
			if strings.HasPrefix(result, "S= ") {
				result, certain = "(sensitive value)", true
			}
			if certain && found[function] == ([2]string{}) && strings.Contains(call, function+"(") && !fixture.MatchString(call+result) && len(call+result) < 160 {
				found[function] = [2]string{call, result}
			}
		}
		return true
	})
	return found, nil
}

func unquoted(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok {
		text, _ := strconv.Unquote(lit.Value)
		return text
	}
	return ""
}
