package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/program"
)

var getCommand = &command{
	name:     "get",
	synopsis: "Install or upgrade remote modules",
	long:     "The part of init that is about modules.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var vars varFlags
		vars.register(fs)
		update := fs.Bool("update", false, "Fetch modules again that are there already.")
		fs.BoolVar(&e.json, "json", false, "Print one JSON object a line, for programs.")
		e.registerTests(fs)
		return func(ctx context.Context, _ []string) int {
			if code := e.startStream(); code != 0 {
				return code
			}
			inputs, diags := e.directory.Inputs(vars)
			if diags.HasErrors() {
				return e.diags(diags)
			}
			_, more := e.directory.LoadModules(ctx, inputs, e.tests, true, *update, func(line string) {
				if e.json {
					e.stream.Log(line)
					return
				}
				e.say("%s\n", line)
			})
			diags.Append(more)
			return e.diags(diags)
		}
	},
}

var modulesCommand = &command{
	name:     "modules",
	synopsis: "Show all declared modules in a working directory",
	setup: func(e *env, fs *flag.FlagSet) runner {
		asJSON := fs.Bool("json", false, "Print a JSON object.")
		return func(ctx context.Context, _ []string) int { return e.modules(ctx, *asJSON) }
	},
}

func (e *env) modules(ctx context.Context, asJSON bool) int {
	config, diags := e.directory.Load(ctx, operation.Loading{})
	if e.diags(diags) != 0 {
		return 1
	}
	type entry struct {
		Key     string `json:"key"`
		Source  string `json:"source"`
		Version string `json:"version"`
	}
	list := []entry{}
	var walk func(t *program.Tree, at addr.Module)
	walk = func(t *program.Tree, at addr.Module) {
		for _, call := range t.CallNames() {
			for _, child := range t.Of(call) {
				below := at.Child(call, addr.NoKey)
				list = append(list, entry{below.CallPath(), child.Source, child.Version})
				walk(child, below)
			}
		}
	}
	walk(config.Tree, addr.Root)
	if asJSON {
		return e.printJSON(struct {
			FormatVersion string  `json:"format_version"`
			Modules       []entry `json:"modules"`
		}{"1.0", list})
	}
	if len(list) == 0 {
		e.say("No modules found in configuration.\n")
		return 0
	}
	e.say("Modules declared by configuration:\n\n")
	for _, m := range list {
		e.say(".\n└── %q[%s] %s\n", m.Key, m.Source, m.Version)
	}
	return 0
}
