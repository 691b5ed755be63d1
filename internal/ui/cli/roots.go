package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/graphview"
)

var rootsCommand = &command{
	Name: "roots", Args: "[DIR]", Max: 1,
	Synopsis: "List root modules, deployments of stacks and the edges between them",
	Long:     "Finds the root modules and the deployments of stacks below a directory, and which of them read the states of others with terraform_remote_state or upstream_input. Upstream roots come first. A file weir.roots.hcl in the directory may name roots, workspaces, values of variables and further edges. It reads neither states nor providers.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var c choosing
		c.register(fs)
		asJSON := fs.Bool("json", false, "Print a JSON object.")
		format := fs.String("graph", "", "Print the graph as `FORMAT`: "+graphview.FormatNames(false)+", "+graphview.FormatNames(true)+".")
		return func(ctx context.Context, args []string) int {
			f, ok := graphview.FormatNamed(*format)
			if !ok {
				return e.Fail(diag.BadOption.As("Unsupported graph format"), "weir doesn't know the graph format %q. Use %s, %s.", *format, graphview.FormatNames(false), graphview.FormatNames(true))
			}
			e.JSON = *asJSON || *format != "" // warnings must not mix with the document
			estate, list, code := c.choose(ctx, e, cmp.Or(append(args, "")[0], "."))
			if code != 0 {
				return code
			}
			if *format != "" {
				return e.Written(graphview.Roots(e.Out, f, roots.Names(list), needs(list)))
			}
			rows := rootRows(estate, list)
			if *asJSON {
				text, err := view.RootsJSON(rows)
				return e.Document(text, err, "the list of roots")
			}
			return e.Written(view.Roots(e.Out, rows, e.Viewing()))
		}
	},
}

// choosing has the flags that choose roots.
type choosing struct {
	all bool
	roots.Choice
}

// registerAll registers the flags of commands that work on one directory otherwise.
func (c *choosing) registerAll(fs *flag.FlagSet) {
	fs.BoolVar(&c.all, "all", false, "Work on all root modules below the directory, in their order.")
	c.register(fs)
}

// chosen reports whether a command works on several roots.
func (c *choosing) chosen() bool {
	return c.all || !c.Everything() || c.WithUpstream || c.WithDownstream
}

func (c *choosing) register(fs *flag.FlagSet) {
	fs.Var((*commands.Texts)(&c.Patterns), "root", "Select the roots that match `PATTERN`, such as 'apps/*'; repeatable.")
	fs.StringVar(&c.Affected, "affected", "", "Select the roots that changes since the Git `REVISION` may affect.")
	fs.BoolVar(&c.WithUpstream, "with-upstream", false, "Also select the roots that the selected ones read.")
	fs.BoolVar(&c.WithDownstream, "with-downstream", false, "Also select the roots that read the selected ones.")
}

// choose finds the roots below a directory and those that the flags choose. Problems are
// reported, and what a root lacks is a warning.
func (c *choosing) choose(ctx context.Context, e *env, dir string) (*roots.Estate, []*roots.Root, int) {
	reports := e.reports()
	told := reports.Settings
	var once sync.Once
	reports.Settings = func(l diag.List) { once.Do(func() { told(l) }) }
	d := e.directory.With(reports)
	if dir != "." {
		d = d.RootIn(dir, "", reports)
	}
	e.Sources = d.Place.Sources
	estate, diags := roots.Find(ctx, d, reports)
	var list []*roots.Root
	if !diags.HasErrors() {
		var more diag.List
		list, more = estate.Choose(ctx, c.Choice)
		diags.Append(more)
	}
	for _, r := range list {
		if r.Problems.HasErrors() {
			first := r.Problems.Only(diag.Error)[0]
			diags.Append(roots.Partly.Warnings("The root %s could be read only in part, so edges may be missing: %s. %s", r.Name, first.Summary, first.Detail))
		}
	}
	return estate, list, e.Diags(diags)
}

// modules is choose for commands that work on root modules. Deployments of stacks are left out, and named.
func (c *choosing) modules(ctx context.Context, e *env) (*roots.Estate, []*roots.Root, int) {
	estate, list, code := c.choose(ctx, e, ".")
	modules, stacks := roots.Modules(list)
	if code != 0 || len(stacks) == 0 {
		return estate, modules, code
	}
	left := fmt.Sprintf("  - %s\nUse the commands of stacks, such as:\n    %s -chdir=%s stacks plan", strings.Join(roots.Names(stacks), "\n  - "), e.program, stacks[0].Path)
	if len(modules) == 0 {
		return estate, nil, e.Diags(roots.StacksApart.As("No root modules").List("This command works on root modules, and these are deployments of stacks:\n%s", left))
	}
	return estate, modules, e.Diags(roots.StacksApart.Warnings("This command works on root modules. It leaves out the deployments of stacks:\n%s", left))
}

// needs are the upstream roots of each, by their places in the list.
func needs(list []*roots.Root) [][]int {
	at := map[*roots.Root]int{}
	for i, r := range list {
		at[r] = i
	}
	all := make([][]int, len(list))
	for i, r := range list {
		for _, up := range r.Upstreams() {
			if n, ok := at[up]; ok {
				all[i] = append(all[i], n)
			}
		}
	}
	return all
}

// rootRows are roots as they are listed.
func rootRows(estate *roots.Estate, list []*roots.Root) []view.Root {
	reference := func(r roots.Read) view.Reference {
		return view.Reference{Address: r.Address, File: r.Range.Filename, Line: r.Range.Start.Line}
	}
	rows := make([]view.Root, len(list))
	for i, r := range list {
		row := view.Root{Name: r.Name, Path: r.Path, Backend: r.Backend, State: r.State.At, Upstream: []view.Near{}, Downstream: []view.Near{}}
		if row.Workspace = r.Workspace; r.Stack {
			row.Workspace, row.Deployment = "", r.Workspace
		}
		if r.AffectedBy != nil {
			row.Affected = &view.Affected{Files: r.AffectedBy.Files, Upstream: r.AffectedBy.Upstream}
		}
		for _, edge := range r.Upstream {
			row.Upstream = append(row.Upstream, view.Near{Root: edge.To.Name, Reference: reference(edge.Read)})
		}
		for _, down := range estate.Downstreams(r) {
			for _, edge := range down.Upstream {
				if edge.To == r {
					row.Downstream = append(row.Downstream, view.Near{Root: down.Name, Reference: reference(edge.Read)})
				}
			}
		}
		for _, read := range r.Unresolved {
			row.Unresolved = append(row.Unresolved, reference(read))
		}
		rows[i] = row
	}
	return rows
}
