package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

// SavedPlan says how to go on with a plan that was saved.
func SavedPlan(command, path string) string {
	return fmt.Sprintf("\nSaved the plan to %s. To carry it out:\n    %s apply %s\n", path, command, path)
}

// DeploymentOutputs shows the outputs of deployments, or one of that name.
func DeploymentOutputs(w io.Writer, deployments []string, all map[string]map[string]state.Output, name string, o Options) error {
	for _, d := range deployments {
		if len(deployments) > 1 {
			if _, err := fmt.Fprintf(w, "Deployment %s:\n", d); err != nil {
				return err
			}
		}
		var err error
		if name != "" {
			_, err = fmt.Fprintf(w, "%s\n", Value(all[d][name].Value, 0))
		} else {
			err = Outputs(w, all[d], o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// OutputsOf are the outputs in the states of deployments, which have to have the one that
// is named; without a name it's all of them.
func OutputsOf(names []string, states []*state.Snapshot, name string) (map[string]map[string]state.Output, diag.List) {
	all := map[string]map[string]state.Output{}
	for i, one := range states {
		if _, ok := one.Outputs[name]; name != "" && !ok {
			return nil, NoOutputs.As("Output \""+name+"\" not found").List("The state of deployment %q has no output of that name. Outputs are there once the deployment was applied.", names[i])
		}
		all[names[i]] = one.Outputs
	}
	return all, nil
}

// A Sum is what became of a deployment, or would by its plan.
type Sum struct {
	Name       string
	Code       int // the exit code
	Planned    bool
	Components map[addr.Module]plan.Counts
	Skipped    string // why nothing was done
	// Drift: it was only compared with real objects, of which Drifted were changed outside.
	Drift   bool
	Drifted int
}

// Deployments sums up what became of several: a line for each, and for each component
// with changes. Of one deployment there are only those, where they are several.
func Deployments(all []Sum) string {
	var b strings.Builder
	if len(all) > 1 {
		b.WriteString("\nDeployments:\n")
	}
	width := 0
	for _, s := range all {
		width = max(width, len(s.Name))
	}
	for _, s := range all {
		what := "done"
		switch s.Code {
		case 1:
			what = "not done: see above"
		case 2:
			what = "has changes"
		}
		parts := s.components()
		if len(all) > 1 {
			fmt.Fprintf(&b, "  %-*s  %s\n", width, s.Name, what)
		} else if len(parts) > 1 {
			b.WriteString("\nComponents:\n")
		} else {
			continue
		}
		for _, line := range parts {
			b.WriteString("    " + line + "\n")
		}
	}
	return b.String()
}

// components says of each component with changes how many.
func (s Sum) components() (lines []string) {
	for _, at := range slices.SortedFunc(maps.Keys(s.Components), addr.Module.Compare) {
		if words := s.counted(s.Components[at]); words != "" {
			lines = append(lines, at.String()+": "+words)
		}
	}
	return lines
}

// changes says how many changes there are in all components.
func (s Sum) changes() string {
	var all plan.Counts
	for _, n := range s.Components {
		all.Import, all.Add, all.Change, all.Destroy = all.Import+n.Import, all.Add+n.Add, all.Change+n.Change, all.Destroy+n.Destroy
		all.Forget, all.Invoke, all.Fail = all.Forget+n.Forget, all.Invoke+n.Invoke, all.Fail+n.Fail
	}
	return s.counted(all)
}

// counted says how many changes there are.
func (s Sum) counted(n plan.Counts) string {
	var words []string
	for _, one := range []struct {
		n            int
		done, toCome string
	}{
		{n.Import, "imported", "to import"}, {n.Add, "added", "to add"}, {n.Change, "changed", "to change"},
		{n.Destroy, "destroyed", "to destroy"}, {n.Forget, "forgotten", "to forget"}, {n.Invoke, "actions invoked", "actions to invoke"}, {n.Fail, "actions failed", ""},
	} {
		word := one.done
		if s.Planned {
			word = one.toCome
		}
		if one.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", one.n, word))
		}
	}
	return strings.Join(words, ", ")
}

// Ruled reports what rules say of a plan, empty where none are asked.
func Ruled(deployment string, approved bool, by string, against []string) string {
	switch {
	case approved:
		return fmt.Sprintf("\nApproved for deployment %s by rule: %s\n", deployment, by)
	case len(against) == 0:
		return ""
	}
	return fmt.Sprintf("\nNot approved for deployment %s by rule:\n  - %s\n", deployment, strings.Join(against, "\n  - "))
}
