package workspace

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan/planfile"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/stack/remoteoutputs"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/workspace/backendinit"
	"weir.dev/weir/internal/workspace/externalinputs"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/statemgr"
)

// EnterDeployment is OpenStack and ForDeployment.
func EnterDeployment(ctx context.Context, d *Directory, name string, inputs bool) (string, diag.List) {
	s, diags := OpenStack(ctx, d)
	if diags.HasErrors() {
		return name, diags
	}
	name, more := s.ForDeployment(ctx, name, inputs)
	return name, append(diags, more...)
}

// ForDeployment makes the directory one of a deployment: commands on one state mean
// that of the deployment, and its configuration is the stack with its inputs. Without
// a name it is the only one there is. The name is returned.
func (s *Stack) ForDeployment(ctx context.Context, name string, inputs bool) (string, diag.List) {
	list, diags := s.Choose(slices.DeleteFunc([]string{name}, func(n string) bool { return n == "" }))
	switch {
	case diags.HasErrors():
		return "", diags
	case len(list) == 0:
		return "", s.WantDeployments()
	case len(list) > 1 && inputs:
		return "", diag.UnknownDeployment.As("Which deployment?").List("The stack has several deployments, and this command works on one. Name it with -deployment; there are: %s.", strings.Join(deploy.Names(list), ", "))
	}
	if inputs {
		diags.Append(s.Evaluate(ctx, list[:1]))
	} else {
		diags.Append(s.Stack.Evaluate(list[:1], nil))
	}
	subject := s.Subject(list[0])
	if !inputs { // nor those that it lacks
		subject.Load = func(ctx context.Context, l Loading) (*engine.Config, diag.List) { return s.load(ctx, list[0], l, nil) }
	}
	s.Dir.About = &subject
	// A saved plan has no ephemeral ones, such as tokens.
	s.Dir.Place.Values = map[string]module.VariableInput{}
	for name, in := range list[0].Inputs {
		s.Dir.Place.Values[name] = module.VariableInput{Value: in.Value, From: "deployment", Range: in.Range}
	}
	b, more := s.StackBackend(nil)
	s.Dir.Place.Backend, s.Dir.Place.Options.Workspace = b, list[0].Name
	return list[0].Name, append(diags, more...)
}

// States reads the states of deployments, without their locks.
func (s *Stack) States(ctx context.Context, list []*deploy.Deployment) (all []*state.Snapshot, diags diag.List) {
	for _, d := range list {
		one, more := s.State(ctx, d)
		if diags.Append(more); one == nil {
			break
		}
		all = append(all, one)
	}
	return all, diags
}

// PlanPath is the file for the plan of a deployment in a folder, which is made where
// it can be; what fails then shows when the plan is saved.
func (s *Stack) PlanPath(dir string, d *deploy.Deployment) string {
	_ = s.Dir.Place.StateDisk.MakeFolders(s.Dir.Place.Path(dir), 0o755)
	return filepath.Join(dir, d.Name+planfile.Suffix)
}

// Behind says that a stack reads what has changed and wasn't applied since.
var Behind = diag.Code{Name: "downstream-not-applied", Summary: "Not applied downstream"}

// Share publishes what deployments publish. Where that has changed, follow applies each
// stack that reads it, which shares its own in turn, and reports whether all of it was
// done. None follows itself.
func (s *Stack) Share(ctx context.Context, follow func(context.Context, *Directory) bool) diag.List {
	readers, diags := s.Publish(ctx)
	here, err := filepath.Abs(s.Dir.Place.Path("."))
	if err != nil {
		return append(diags, diag.Unreadable.As("Failed to find the stacks that follow").List("%s.", err)...)
	}
	for _, dir := range readers {
		next := directory(backendinit.New(s.Dir.Place.In(dir)))
		next.before = append(slices.Clone(s.Dir.before), here)
		shown := s.Dir.Place.Seen(next.Place.Dir)
		if slices.Contains(next.before, filepath.Join(here, dir)) {
			diags.Append(diag.Cycle.As("Stacks that follow each other").List("The stack in %s was applied already because of this change. Nothing is applied twice: look which outputs go in a circle.", shown))
			continue
		}
		if follow != nil && !follow(ctx, next) {
			diags.Append(Behind.Warnings("The stack in %s reads outputs that have changed, and wasn't applied as a whole. To see what is left, run:\n    %s stacks apply", shown, next.Place.Program))
		}
		next.Close()
	}
	return diags
}

// Publish writes down what the deployments publish, as their states are now. It
// returns the directories of the stacks that read what has changed.
func (s *Stack) Publish(ctx context.Context) (readers []string, diags diag.List) {
	if len(s.Published) == 0 {
		return nil, nil
	}
	outputs := map[string]map[string]cty.Value{}
	for _, d := range s.Deployments {
		now, more := s.State(ctx, d)
		if diags.Append(more); now == nil || now.IsEmpty() {
			continue
		}
		outputs[d.Name] = statemgr.Outputs(now)
	}
	o, more := externalinputs.New(ctx, s.Dir.Place)
	diags.Append(more)
	values, more := s.Stack.Publish(outputs, o)
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	changed, more := s.Dir.States.Publish(ctx, s.shared.states, values)
	if diags.Append(more); diags.HasErrors() || !changed {
		return nil, diags
	}
	readers, err := remoteoutputs.Readers(s.Dir.Place.Path("."))
	if err != nil {
		diags.Add(diag.Unreadable.As("Failed to find the stacks that follow").New(diag.Error, "%s.", err))
	}
	return readers, diags
}

// UpstreamDir is the directory of a stack whose published outputs this one reads. It isn't ok where nothing
// says which one that is.
func (s *Stack) UpstreamDir(ctx context.Context, u *deploy.Upstream) (dir string, ok bool) {
	o, diags := externalinputs.New(ctx, s.Dir.Place)
	if diags.HasErrors() {
		return "", false
	}
	if dir, ok = o.Directory(u); ok {
		dir = s.Dir.Place.Path(dir)
	}
	return dir, ok
}

// Declared says by the settings of a stack where the states of its deployments are, whether it was
// initialized or not.
type Declared struct {
	*statebackend.Backend
	// Parts: the state of a deployment is a folder of ordinary states.
	Parts bool
}

// At is where the state of a deployment is, and for parts their folder.
func (d *Declared) At(deployment string) statebackend.Place {
	at := d.Backend.At(deployment)
	if d.Parts {
		at.At = filepath.Dir(at.At)
	}
	return at
}

// Published is where the published outputs are, if they are in a state of their own.
func (d *Declared) Published() statebackend.Place { return d.Backend.At(statemgr.PublishedName) }

// Declared finds where the states of the deployments are. It reads none.
func (s *Stack) Declared() (*Declared, diag.List) {
	inputs, diags := s.Dir.Place.Inputs(s.Dir.Place.SettingsVars)
	prog, more := s.Dir.Settings.RootSettings()
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	if prog.Backend == nil {
		return &Declared{s.Dir.States.Unconfigured(nil), true}, diags
	}
	b, more := s.Dir.Settings.DeclaredBackend(prog, inputs)
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	b, more = statemgr.ForDeployments(b, deploy.Names(s.Deployments))
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	return &Declared{Backend: b}, diags
}
