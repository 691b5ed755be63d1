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

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/stack"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/state/encryption"
)

// A block is an entry of the language reference. Its arguments come from the compiler's own
// schema; the generator fails when one has no text, or a text has no argument.
type block struct {
	name    string // in compiler.Schemas, or of a block without one
	about   string
	example string
	texts   map[string]string
}

// A section is the language of one kind of file.
type section struct {
	prefix string // of its blocks in Schemas
	title  string // behind the name of a block; empty for modules
	blocks []block
}

// Schemas returns the schemas of all sections, by the name of the block behind the section's prefix.
func Schemas() (files map[string]*hcl.BodySchema, all map[string]*hcl.BodySchema) {
	files, all = map[string]*hcl.BodySchema{}, map[string]*hcl.BodySchema{}
	for prefix, schemas := range map[string]func() (*hcl.BodySchema, map[string]*hcl.BodySchema){
		"": compiler.Schemas, "encryption:": encryption.Schemas, "component:": stack.Schemas, "deployment:": deploy.Schemas, "test:": testfile.Schemas,
	} {
		file, inner := schemas()
		files[prefix] = file
		for name, schema := range inner {
			all[prefix+name] = schema
		}
	}
	return files, all
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
			"state_store":        "Store the state by a provider. The label is the type of the store, and a `provider` block configures the provider. Only in Terraform mode.",
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

var encryptionBlocks = []block{
	{"key_provider", "Where keys come from. The labels are a type and a name. The types are `pbkdf2`, `aws_kms`, `gcp_kms`, `azure_vault`, `openbao` and `external`.",
		"key_provider \"pbkdf2\" \"main\" {\n  passphrase = var.passphrase\n}",
		map[string]string{"encrypted_metadata_alias": "The name of the key's metadata in the file. All other arguments are those of the type."}},
	{"method", "A way to encrypt. The labels are a type and a name. The types are `aes_gcm`, `external` and `unencrypted`; their arguments are those of the type.",
		"method \"aes_gcm\" \"main\" {\n  keys = key_provider.pbkdf2.main\n}", nil},
	{"state", "Encryption of states.", "state {\n  method   = method.aes_gcm.main\n  enforced = true\n}",
		map[string]string{"method": "The method that writes.", "enforced": "If true, weir rejects the method `unencrypted`.", "fallback": "A block with a second method that reads older files."}},
	{"plan", "Encryption of saved plans.", "plan {\n  method = method.aes_gcm.main\n}",
		map[string]string{"method": "The method that writes.", "enforced": "If true, weir rejects the method `unencrypted`.", "fallback": "A block with a second method that reads older files."}},
	{"remote_state_data_sources", "Decryption of states that `terraform_remote_state` reads.",
		"remote_state_data_sources {\n  default {\n    method = method.aes_gcm.main\n  }\n}",
		map[string]string{"default": "The method for all of these data sources.", "remote_state_data_source": "The method for one of them. The label is its name."}},
}

const asInModules = "As in a module."

var componentBlocks = []block{
	{"required_providers", "Source and version of each provider, as in the block `terraform` of a module.", "required_providers {\n  random = {\n    source  = \"hashicorp/random\"\n    version = \"~> 3.6\"\n  }\n}", nil},
	{"provider", "Configuration of a provider. The labels are the local name and a name of the configuration.",
		"provider \"aws\" \"main\" {\n  config {\n    region = var.region\n  }\n}",
		map[string]string{"for_each": "A map or a set of strings: one configuration for each element.", "config": "The arguments of the provider."}},
	{"variable", "An input of the stack.", "variable \"region\" {\n  type = string\n}",
		map[string]string{"type": "The exact type, without `any`.", "default": "The value when none is given.", "description": asInModules, "sensitive": asInModules, "ephemeral": asInModules, "nullable": asInModules, "validation": asInModules}},
	{"locals", "Named expressions. Read them as `local.NAME`.", "", nil},
	{"output", "A value that the stack returns.", "output \"address\" {\n  type  = string\n  value = component.host.address\n}",
		map[string]string{"type": "The exact type, without `any`.", "value": "The value.", "description": asInModules, "sensitive": asInModules, "ephemeral": asInModules, "precondition": asInModules}},
	{"component", "A module that the stack deploys.",
		"component \"network\" {\n  source    = \"./network\"\n  inputs    = { region = var.region }\n  providers = { aws = provider.aws.main }\n}",
		map[string]string{
			"source":     "A local folder, or the address of a registry, a repository or an archive.",
			"version":    "A version constraint for modules from a registry.",
			"for_each":   forEach,
			"inputs":     "An object with a value for each input variable of the module.",
			"providers":  "The provider configurations that the module uses, by their names in it.",
			"depends_on": "A list of components that have to be applied first.",
		}},
	{"stack", "A stack inside this one.", "stack \"site\" {\n  source = \"./site\"\n  inputs = { region = var.region }\n}",
		map[string]string{
			"source": "A local folder, or the address of a registry, a repository or an archive.", "version": "A version constraint.", "for_each": forEach,
			"inputs": "An object with a value for each input variable of the stack.", "depends_on": "A list of components and stacks that have to be applied first.",
		}},
	{"removed", "A component or stack that is no longer in the configuration. weir destroys its objects.",
		"removed {\n  from      = component.network\n  source    = \"./network\"\n  providers = { aws = provider.aws.main }\n}",
		map[string]string{
			"from": "The component or stack, with a key for one instance.", "source": "The module, because its providers are needed.", "version": "A version constraint.", "for_each": forEach,
			"inputs": "Values for the variables of an embedded stack.", "providers": "The provider configurations that the module uses.", "lifecycle": "Whether to delete the objects.",
		}},
	{"removed.lifecycle", "Rules of a removed component.", "", map[string]string{"destroy": "If false, weir only removes the objects from the state. Default: true."}},
}

var deploymentBlocks = []block{
	{"deployment", "One copy of the stack, with states of its own.",
		"deployment \"production\" {\n  inputs           = { region = \"eu-north-1\" }\n  deployment_group = deployment_group.careful\n}",
		map[string]string{
			"inputs":           "An object with a value for each input variable of the stack.",
			"variables":        "Deprecated. Use `inputs`.",
			"destroy":          "If true, weir plans to destroy the deployment.",
			"deployment_group": "The group whose rules approve plans.",
			"import":           "If true, a deployment without a state creates nothing.",
		}},
	{"locals", "Named expressions. Read them as `local.NAME`.", "", nil},
	{"deployment_group", "Deployments with the same rules.", "deployment_group \"careful\" {\n  auto_approve_checks = [deployment_auto_approve.grows]\n}",
		map[string]string{"auto_approve_checks": "The rules. A plan needs no question if all of them approve it.", "deployments": "Deprecated. Set `deployment_group` in the deployment."}},
	{"deployment_auto_approve", "A rule that approves plans.",
		"deployment_auto_approve \"grows\" {\n  check {\n    condition = context.plan.changes.remove == 0\n    reason    = \"It destroys objects.\"\n  }\n}",
		map[string]string{"check": "A condition that the plan has to meet."}},
	{"orchestrate", "A rule of an older form: `auto_approve`, or `replan`, which plans again after an apply.",
		"orchestrate \"replan\" \"when_it_fails\" {\n  check {\n    condition = !context.success && context.plan.replans < 3\n    reason    = \"It went well, or failed too often.\"\n  }\n}",
		map[string]string{"check": "A condition."}},
	{"rule.check", "The condition of a rule. `context` has the plan and its result ([stacks](../stacks.md#rules)).", "",
		map[string]string{"condition": "An expression that has to be true.", "reason": "The text when it is false.", "error_message": "Deprecated. Use `reason`."}},
	{"identity_token", "A token for providers. Read it as `identity_token.NAME.jwt`.", "identity_token \"aws\" {\n  audience = [\"aws.workload.identity\"]\n}",
		map[string]string{"audience": "A list of the services that accept the token."}},
	{"store", "Values that are stored outside of the stack. The labels are a type and a name.", "store \"varset\" \"secrets\" {\n  name     = \"production\"\n  category = \"terraform\"\n}",
		map[string]string{"id": "The ID of the variable set.", "name": "The name of the variable set.", "category": "`terraform` or `env`."}},
	{"upstream_input", "Outputs that another stack publishes.", "upstream_input \"network\" {\n  type   = \"stack\"\n  source = \"../network\"\n}",
		map[string]string{"type": "`stack`.", "source": "The folder of the other stack, or its address in the CLI configuration."}},
	{"publish_output", "A value for other stacks.", "publish_output \"subnets\" {\n  value = deployment.production.subnets\n}",
		map[string]string{"value": "The value.", "description": "A text for users of the value."}},
}

const during = "When the values replace those of the provider: `apply` (default) or `plan`."

var testBlocks = []block{
	{"test", "Settings of the file.", "test {\n  parallel = true\n}",
		map[string]string{"parallel": "Run the file's runs in parallel where they don't depend on each other.", "skip_cleanup": "Rejected with an explanation: weir always destroys the objects of a test."}},
	{"run", "One plan or apply of the module, with assertions.",
		"run \"names_the_network\" {\n  command = plan\n\n  variables {\n    name = \"blue\"\n  }\n\n  assert {\n    condition     = output.name == \"blue\"\n    error_message = \"The network has another name.\"\n  }\n}",
		map[string]string{
			"command":           "`apply` (default) or `plan`.",
			"providers":         "The provider configurations that the module uses, by their names in it.",
			"expect_failures":   "References to what must fail, such as `var.name`, a check or a resource with conditions.",
			"state_key":         "Runs with the same key share a state.",
			"parallel":          "Whether the run may run beside others.",
			"skip_cleanup":      "Rejected with an explanation: weir always destroys the objects of a test.",
			"plan_options":      "Options of the plan.",
			"assert":            "A condition with its message.",
			"variables":         "Values for the input variables of the module.",
			"module":            "Another module to run.",
			"backend":           "Rejected with an explanation: tests store their states in memory.",
			"override_resource": "Values for a resource, in this run.",
			"override_data":     "Values for a data source, in this run.",
			"override_module":   "Outputs for a module call, in this run.",
		}},
	{"run.plan_options", "Options of a run's plan.", "plan_options {\n  mode   = refresh-only\n  target = [terraform_data.host]\n}",
		map[string]string{"mode": "`normal` (default) or `refresh-only`.", "refresh": "If false, weir plans without reading the objects.", "replace": "Resources to replace.", "target": "Resources to plan, with everything that they need."}},
	{"run.module", "Another module that the run uses, such as one that prepares the test.", "module {\n  source = \"./setup\"\n}",
		map[string]string{"source": "A local folder or the address of a registry.", "version": "A version constraint for modules from a registry."}},
	{"run.assert", "A condition about the result of the run.", "",
		map[string]string{"condition": "An expression that has to be true.", "error_message": "The message when it is false."}},
	{"variables", "Values for the input variables of the module, in all runs of the file.", "variables {\n  name = \"blue\"\n}", nil},
	{"variable", "A variable of the test file.", "variable \"token\" {\n  type    = string\n  default = \"test\"\n}",
		map[string]string{"type": asInModules, "default": asInModules, "description": asInModules, "sensitive": asInModules, "ephemeral": asInModules, "nullable": asInModules, "deprecated": asInModules, "const": asInModules, "validation": asInModules}},
	{"provider", "Configuration of a provider for the runs. All other arguments are those of the provider.", "",
		map[string]string{"alias": "A name for a further configuration.", "for_each": forEach + " Needs `alias`.", "version": "Deprecated."}},
	{"mock_provider", "Replaces a provider, which weir then never starts.",
		"mock_provider \"aws\" {\n  mock_resource \"aws_vpc\" {\n    defaults = { id = \"vpc-1\" }\n  }\n}",
		map[string]string{
			"alias": "A name for a further configuration.", "for_each": forEach + " Needs `alias`.", "source": "A folder with files of mocks, which end in `.tfmock.hcl`.", "override_during": during,
			"mock_resource": "Values for each resource of a type.", "mock_data": "Values for each data source of a type.",
			"override_resource": "Values for one resource.", "override_data": "Values for one data source.",
		}},
	{"mock_resource", "Values for the resources of a type, or in `mock_data` for the data sources of a type.", "",
		map[string]string{"defaults": "An object with values of computed attributes. weir makes up the others.", "override_during": during}},
	{"override_resource", "Values for one resource, in place of its provider's.", "override_resource {\n  target = aws_vpc.main\n  values = { id = \"vpc-1\" }\n}",
		map[string]string{"target": "The address of the resource.", "values": "An object with values of computed attributes.", "override_during": during}},
	{"override_data", "Values for one data source, in place of its provider's.", "override_data {\n  target = data.aws_ami.base\n  values = { id = \"ami-1\" }\n}",
		map[string]string{"target": "The address of the data source.", "values": "An object with values of computed attributes.", "override_during": during}},
	{"override_module", "Outputs of a module call, which weir then doesn't run.", "override_module {\n  target  = module.network\n  outputs = { id = \"vpc-1\" }\n}",
		map[string]string{"target": "The address of the call.", "outputs": "An object with a value for each output.", "override_during": during}},
}

var sections = []section{
	{"", "", blocks},
	{"encryption:", " in `encryption`", encryptionBlocks},
	{"component:", " in a stack", componentBlocks},
	{"deployment:", " for deployments", deploymentBlocks},
	{"test:", " in a test", testBlocks},
}

const languageHead = `# Language reference

The blocks of the language and their arguments. weir reads the language of OpenTofu and
Terraform; entries marked **Only in weir** work in no other program. **Required** arguments are
marked too. The [functions](functions.md) have a page of their own.

A file that ends in ` + "`.tf`, `.tofu`, `.tf.json` or `.tofu.json`" + ` belongs to the module in its
folder. Files ending in ` + "`.tofu`" + ` are ignored in Terraform mode. The entries have this order:

1. blocks of modules and of queries (` + "`.tfquery.hcl`" + `);
2. blocks of ` + "`encryption`" + `;
3. blocks of [stacks](../stacks.md) in files that end in ` + "`.tfcomponent.hcl`" + `;
4. blocks of deployments in files that end in ` + "`.tfdeploy.hcl`" + `;
5. blocks of [tests](../testing.md) in files that end in ` + "`.tftest.hcl`" + `.

`

// Language returns the page about blocks.
func Language() (string, error) {
	var page strings.Builder
	page.WriteString(head + languageHead)
	files, schemas := Schemas()
	for _, sec := range sections {
		seen := map[string]bool{}
		for _, b := range sec.blocks {
			seen[b.name] = true
			if err := b.write(&page, sec, schemas[sec.prefix+b.name]); err != nil {
				return "", err
			}
			delete(schemas, sec.prefix+b.name)
		}
		for _, inner := range files[sec.prefix].Blocks {
			if !seen[inner.Type] {
				return "", fmt.Errorf("the language reference has no entry for the block %s%s", sec.prefix, inner.Type)
			}
		}
	}
	for name := range schemas {
		return "", fmt.Errorf("the language reference has no entry for %s", name)
	}
	return strings.TrimRight(page.String(), "\n") + "\n", nil
}

// write writes the entry of a block. A block without arguments of its own has no schema.
func (b *block) write(page *strings.Builder, sec section, schema *hcl.BodySchema) error {
	title := "`" + strings.ReplaceAll(b.name, ".", " ") + "`"
	if b.name == "condition" {
		title = "Conditions"
	}
	fmt.Fprintf(page, "## %s%s\n\n%s\n\n", title, sec.title, b.about)
	if b.example != "" {
		fmt.Fprintf(page, "```hcl\n%s\n```\n\n", b.example)
	}
	if schema == nil {
		if b.texts != nil {
			return fmt.Errorf("the language reference has arguments of %s, which has no schema", b.name)
		}
		return nil
	}
	left := maps.Clone(b.texts)
	page.WriteString("| | | |\n|---|---|---|\n")
	row := func(name, kind string) error {
		if reserved[name] || reserved[sec.prefix+b.name+"."+name] {
			return nil
		}
		text, ok := left[name]
		if !ok {
			return fmt.Errorf("the language reference has no text for %s of %s%s", name, sec.prefix, b.name)
		}
		delete(left, name)
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", name, kind, text)
		return nil
	}
	for _, a := range schema.Attributes {
		kind := "argument"
		if a.Required {
			kind = "argument, **required**"
		}
		if err := row(a.Name, kind); err != nil {
			return err
		}
	}
	for _, inner := range schema.Blocks {
		if err := row(inner.Type, "block"); err != nil {
			return err
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("the language reference has texts for arguments that %s%s doesn't have: %v", sec.prefix, b.name, slices.Sorted(maps.Keys(left)))
	}
	page.WriteString("\n")
	return nil
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
