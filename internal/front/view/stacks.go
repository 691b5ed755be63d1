package view

import (
	"fmt"
	"io"
	"strings"

	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/word/diag"
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

// Deployments sums up what became of deployments: a line for each by its exit code.
func Deployments(names []string, codes []int) string {
	var b strings.Builder
	b.WriteString("\nDeployments:\n")
	width := 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for i, name := range names {
		what := "done"
		switch codes[i] {
		case 1:
			what = "not done: see above"
		case 2:
			what = "has changes"
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", width, name, what)
	}
	return b.String()
}

// Ruled tells what rules say of a plan, empty where none are asked.
func Ruled(deployment string, approved bool, by string, against []string) string {
	switch {
	case approved:
		return fmt.Sprintf("\nApproved for deployment %s by rule: %s\n", deployment, by)
	case len(against) == 0:
		return ""
	}
	return fmt.Sprintf("\nNot approved for deployment %s by rule:\n  - %s\n", deployment, strings.Join(against, "\n  - "))
}
