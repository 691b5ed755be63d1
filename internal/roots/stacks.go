package roots

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
)

// A stackDir is a directory with a stack, whose deployments are in the estate.
type stackDir struct {
	stack       *workspace.Stack
	deployments []*Root
	// published is the state with the published outputs, and parts says that the state of a deployment is a
	// folder of states.
	published Place
	parts     bool
}

// addStack adds the deployments of a stack. Of the settings only edges count: a stack has its values in its
// own files.
func (e *Estate) addStack(c *candidate, s *settings, reports environment.Reports) diag.List {
	d := e.Dir.RootIn(c.dir.Place.Dir, "", reports)
	found, problems := workspace.LoadStack(d)
	problems.Append(found.Stack.Evaluate(found.Deployments, nil))
	of := &stackDir{stack: found}
	e.stacks = append(e.stacks, of)
	blocks := s.of(c.path)
	var diags diag.List
	for _, b := range blocks {
		if c.prog == nil && (len(b.workspaces) > 0 || b.values.given()) && literal(b.pattern) {
			diags.Add(BadSettings.Error(b.at, "The directory %s has a stack. Its deployment files have the deployments and their values, so only \"after\" can be set here.", c.path))
		}
	}
	for _, one := range found.Deployments {
		r := &Root{Name: c.path + "@" + one.Name, Path: c.path, Workspace: one.Name, Stack: true, Dir: e.Dir.RootIn(c.dir.Place.Dir, one.Name, reports), of: of, deployment: one}
		r.Problems.Append(problems.Only(diag.Error))
		for _, b := range blocks {
			r.addAfter(b)
		}
		of.deployments = append(of.deployments, r)
		e.Roots = append(e.Roots, r)
	}
	return diags
}

// locate finds where the states of the deployments are.
func (s *stackDir) locate() {
	at, diags := s.stack.Declared()
	for _, r := range s.deployments {
		if r.Problems.Append(diags.Only(diag.Error)); at == nil {
			continue
		}
		r.Backend, r.State = at.Kind, at.At(r.deployment.Name)
		if s.parts = at.Parts; s.parts {
			r.Backend = "local"
		}
	}
	if at != nil {
		s.published = at.Published()
	}
}

// publishers are the deployments that a published output is made of, or without a name any of them.
func (s *stackDir) publishers(output string) []*Root {
	list := s.stack.Publishers(output)
	return slices.DeleteFunc(slices.Clone(s.deployments), func(r *Root) bool { return !slices.Contains(list, r.deployment) })
}

// writers are the roots whose run writes the state at a place: one, or the deployments whose outputs a stack
// publishes there.
func (e *Estate) writers(p Place) []*Root {
	if r := e.states[p]; r != nil {
		return []*Root{r}
	}
	for _, s := range e.stacks {
		if p == s.published && p != (Place{}) {
			return s.publishers("")
		}
		for _, r := range s.deployments {
			if s.parts && p.Kind == r.State.Kind && strings.HasPrefix(p.At, r.State.At+string(filepath.Separator)) {
				return []*Root{r}
			}
		}
	}
	return nil
}

// link adds the edges between deployments of stacks: from an upstream_input to those that publish the
// output.
func (e *Estate) link(ctx context.Context) {
	for _, s := range e.stacks {
		for _, r := range s.deployments {
			for _, read := range s.stack.Reads(r.deployment) {
				r.follow(ctx, e, read)
			}
		}
	}
}

// follow adds the edges of an upstream_input.
func (r *Root) follow(ctx context.Context, e *Estate, read deploy.UpstreamOutput) {
	why := Read{"upstream_input." + read.Name, r.seen(read.Range)}
	dir, ok := r.of.stack.UpstreamDir(ctx, read.Upstream)
	if !ok {
		if !slices.Contains(r.Unresolved, why) {
			r.Unresolved = append(r.Unresolved, why)
		}
		return
	}
	for _, s := range e.stacks {
		if samePath(s.stack.Dir.Place.Dir, dir) {
			for _, to := range s.publishers(read.Output) {
				r.upstream(to, why)
			}
			return
		}
	}
	r.outside = true
}

func samePath(a, b string) bool {
	x, err := resolved(a)
	y, more := resolved(b)
	return err == nil && more == nil && x == y
}

// paths are the texts with slashes in the inputs of a deployment, which a component may take for
// paths.
func paths(d *deploy.Deployment) (list []string) {
	for _, in := range d.Inputs {
		bare, _ := in.Value.UnmarkDeep()
		_ = cty.Walk(bare, func(_ cty.Path, v cty.Value) (bool, error) {
			if v.Type() == cty.String && v.IsKnown() && !v.IsNull() && strings.Contains(v.AsString(), "/") {
				list = append(list, v.AsString())
			}
			return true, nil
		})
	}
	return list
}

// Modules are the root modules of a list, and stacks the deployments of stacks.
func Modules(list []*Root) (modules, stacks []*Root) {
	for _, r := range list {
		if r.Stack {
			stacks = append(stacks, r)
		} else {
			modules = append(modules, r)
		}
	}
	return modules, stacks
}
