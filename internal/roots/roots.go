// Package roots works on many root modules in one run: it finds those below a directory, the
// edges between them, and plans and applies them in their order.
//
// It owns which directories are roots, which root a state belongs to, and who waits for whom.
// Everything about one root is done by package workspace, as if it were alone. It doesn't know
// flags and terminals.
package roots

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/statebackend"
)

// An Estate is all roots below a directory, in the order of their names.
type Estate struct {
	Dir   *workspace.Directory
	Roots []*Root // with the deployments of stacks

	states   map[Place]*Root
	stacks   []*stackDir
	shared   []addr.Provider // by the settings
	programs engine.Programs // of all roots
}

// A Root is a root module in a workspace, or a deployment of a stack.
type Root struct {
	// Name is the path, and for workspaces of the settings file and deployments also their name, such
	// as apps/web@prod.
	Name string
	Path string // from the directory of the estate, with slashes
	// Workspace is the one that the settings file names, empty for the selected one.
	Workspace string
	Dir       *workspace.Directory
	// Stack: the directory has a stack, of which this is the deployment that Workspace names.
	Stack bool
	Vars  []environment.Var
	// Backend is the type of the backend, empty where it can't be known yet, and State the
	// place of the state.
	Backend string
	State   Place
	// Upstream are the roots whose states this one reads, or that it has to come after.
	Upstream []Edge
	// Unresolved are reads of states whose settings aren't known before a plan.
	Unresolved []Read
	// outside: it reads a state that no root of the estate is known to have.
	outside bool
	// AffectedBy is why the root may have another plan than at a revision; nil where nobody asked.
	AffectedBy *Affected
	// Problems are why the root could be read only in part.
	Problems diag.List

	after  []after
	config *engine.Config
	// savedReads are the outputs that each data source reads of an upstream root, by its address. Only saved
	// plans have them before a plan.
	savedReads map[string][]string
	// of and deployment are those of a deployment that was found with its stack.
	of         *stackDir
	deployment *deploy.Deployment
}

// An Edge leads to an upstream root, with why it is one.
type Edge struct {
	To *Root
	Read
}

// A Read is what refers to the state of another root: a data source, an upstream_input of a stack, or the
// settings file.
type Read struct {
	Address string    // of the data source or the input; "after" in the settings file
	Range   hcl.Range // its file as seen from the directory of the estate
}

func (r Read) String() string {
	return fmt.Sprintf("%s at %s:%d", r.Address, r.Range.Filename, r.Range.Start.Line)
}

// A Place identifies the state of a workspace.
type Place = statebackend.Place

// Of returns the root whose state is at a place, nil for none.
func (e *Estate) Of(p Place) *Root { return e.states[p] }

// load reads the configuration of a root with all that it calls, as far as that is installed.
func (r *Root) load(ctx context.Context) *engine.Config {
	if r.config == nil {
		var diags diag.List
		if r.of != nil {
			r.config, diags = r.of.stack.Load(ctx, r.deployment, workspace.Loading{})
		} else {
			r.config, diags = r.Dir.Load(ctx, workspace.Loading{Vars: r.Vars, InPlace: true})
		}
		r.Problems.Append(diags.Only(diag.Error))
	}
	return r.config
}

// locate finds where the state of a root is. A stack does so for its deployments.
func (r *Root) locate(ctx context.Context) {
	c := r.load(ctx)
	if r.of != nil || c == nil || c.Tree == nil || c.Tree.Program == nil {
		return
	}
	name, diags := r.Dir.Place.Workspace()
	if r.Problems.Append(diags); diags.HasErrors() {
		return
	}
	b, diags := r.Dir.Settings.DeclaredBackend(c.Tree.Program, c.Inputs)
	if b == nil || diags.HasErrors() {
		r.Problems.Append(diags.Only(diag.Error))
		return
	}
	r.Backend, r.State = b.Kind, b.At(name)
}

// upstream adds an edge, once for each read.
func (r *Root) upstream(to *Root, why Read) {
	if to != r && !slices.ContainsFunc(r.Upstream, func(e Edge) bool { return e.To == to && e.Address == why.Address }) {
		r.Upstream = append(r.Upstream, Edge{to, why})
		slices.SortFunc(r.Upstream, func(a, b Edge) int {
			return cmp.Or(strings.Compare(a.To.Name, b.To.Name), strings.Compare(a.Address, b.Address))
		})
	}
}

// seen is a place in a file of a root as seen from the directory of the estate.
func (r *Root) seen(at hcl.Range) hcl.Range {
	if !filepath.IsAbs(at.Filename) {
		at.Filename = filepath.ToSlash(filepath.Join(r.Path, at.Filename))
	}
	return at
}

// Upstreams are the roots directly upstream, each once.
func (r *Root) Upstreams() []*Root {
	var list []*Root
	for _, e := range r.Upstream {
		if !slices.Contains(list, e.To) {
			list = append(list, e.To)
		}
	}
	return list
}

// Order puts roots in an order in which upstream roots come first. Circles are problems.
func Order(list []*Root) ([]*Root, diag.List) {
	const inProgress, done = 1, 2
	state := map[*Root]int{}
	var sorted []*Root
	var diags diag.List
	var way []Edge
	var visit func(r *Root)
	visit = func(r *Root) {
		switch state[r] {
		case done:
			return
		case inProgress:
			from := 0
			for i, e := range way[:len(way)-1] {
				if e.To == r {
					from = i + 1
				}
			}
			diags.Add(circle(r, way[from:]))
			return
		}
		state[r] = inProgress
		for _, e := range r.Upstream {
			if slices.Contains(list, e.To) {
				way = append(way, e)
				visit(e.To)
				way = way[:len(way)-1]
			}
		}
		state[r] = done
		sorted = append(sorted, r)
	}
	for _, r := range list {
		visit(r)
	}
	return sorted, diags
}

// circle is the problem of edges that lead from a root back to it.
func circle(first *Root, edges []Edge) diag.Diagnostic {
	var lines []string
	from := first
	for _, e := range edges {
		lines = append(lines, fmt.Sprintf("  - %s needs %s (%s)", from.Name, e.To.Name, e.Read))
		from = e.To
	}
	return Circle.New(diag.Error, "These roots need each other, so none of them can come first:\n%s\nRemove one of these references, or leave one of the roots out with -root. Each root can still be planned by itself.", strings.Join(lines, "\n"))
}

// Names are those of roots.
func Names(list []*Root) []string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.Name
	}
	return names
}
