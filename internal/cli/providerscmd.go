package cli

import (
	"context"
	"flag"
	"slices"
	"strings"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/view/jsonschema"
)

var providersCommands = []*command{
	{
		name:     "providers",
		synopsis: "Show the providers required for this configuration",
		setup: func(e *env, fs *flag.FlagSet) runner {
			var vars varFlags
			vars.register(fs)
			fs.String("test-directory", "tests", "")
			return func(ctx context.Context, _ []string) int { return e.providers(ctx, vars) }
		},
	},
	providersLockCommand, providersMirrorCommand,
	{
		name:     "providers schema",
		synopsis: "Show schemas for the providers used in the configuration",
		setup: func(e *env, fs *flag.FlagSet) runner {
			var vars varFlags
			vars.register(fs)
			asJSON := fs.Bool("json", false, "Print a JSON object. It is required, for now.")
			return func(ctx context.Context, _ []string) int {
				if !*asJSON {
					return e.fail("The `providers schema` command requires the `-json` flag", "There is no other form of the output yet.")
				}
				return e.providerSchemas(ctx, vars)
			}
		},
	},
}

func (e *env) providers(ctx context.Context, vars varFlags) int {
	config, diags := e.directory.Load(ctx, operation.Loading{Vars: vars})
	if e.diags(diags) != 0 {
		return 1
	}
	e.say("\nProviders required by configuration:\n")
	e.providerTree(config.Tree)
	b, diags := e.directory.InitializedBackend(config.Tree.Program, config.Inputs)
	if diags.HasErrors() {
		return e.diags(diags)
	}
	s, diags := e.directory.SelectedState(ctx, b, operation.StateOptions{}, "")
	if e.diags(diags) != 0 {
		return 1
	}
	if s.Prior() != nil && len(s.Prior().Objects) > 0 {
		e.say("Providers required by state:\n\n")
		for _, p := range s.Prior().Providers() {
			e.say("    provider[%s]\n\n", p)
		}
	}
	return 0
}

// A branch is a node of the tree of modules and the providers they require.
type branch struct {
	text     string
	children []branch
}

func (e *env) providerTree(tree *program.Tree) {
	var build func(t *program.Tree, text string) branch
	build = func(t *program.Tree, text string) branch {
		b := branch{text: text}
		constraints := map[addr.Provider]string{}
		for _, r := range t.Program.Requirements {
			constraints[r.Provider] = strings.TrimSpace(r.Constraints)
		}
		var list []addr.Provider
		for p := range constraints {
			list = append(list, p)
		}
		slices.SortFunc(list, addr.Provider.Compare)
		for _, p := range list {
			text := "provider[" + p.String() + "]"
			if constraints[p] != "" {
				text += " " + constraints[p]
			}
			b.children = append(b.children, branch{text: text})
		}
		for _, call := range t.CallNames() {
			for _, child := range t.Of(call) {
				b.children = append(b.children, build(child, call.String()))
			}
		}
		return b
	}
	var print func(b branch, indent string)
	print = func(b branch, indent string) {
		for i, child := range b.children {
			joint, next := "├── ", "│   "
			if i == len(b.children)-1 {
				joint, next = "└── ", "    "
			}
			e.say("%s%s%s\n", indent, joint, child.text)
			print(child, indent+next)
		}
	}
	e.say(".\n")
	print(build(tree, "."), "")
	e.say("\n")
}

func (e *env) providerSchemas(ctx context.Context, vars varFlags) int {
	config, diags := e.directory.Load(ctx, operation.Loading{Vars: vars})
	if e.diags(diags) != 0 {
		return 1
	}
	reqs := operation.Requirements(config.Tree, nil)
	// Providers of objects in the state count too, where there is one.
	if b, more := e.directory.InitializedBackend(config.Tree.Program, config.Inputs); !more.HasErrors() {
		if s, _ := e.directory.SelectedState(ctx, b, operation.StateOptions{}, ""); s != nil {
			reqs = operation.Requirements(config.Tree, s.Prior())
		}
	}
	diags = e.directory.Provide(config, reqs)
	if diags.HasErrors() {
		return e.diags(diags)
	}
	var list []addr.Provider
	for p := range reqs {
		list = append(list, p)
	}
	slices.SortFunc(list, addr.Provider.Compare)
	schemas, more := operation.Schemas(ctx, config.World.Catalog, list)
	diags.Append(more)
	e.json = true // warnings must not mix with the document
	if e.diags(diags) != 0 {
		return 1
	}
	text, err := jsonschema.Marshal(schemas)
	if err != nil {
		return e.fail("Failed to marshal provider schemas to json", "%s.", err)
	}
	e.say("%s\n", text)
	return 0
}
