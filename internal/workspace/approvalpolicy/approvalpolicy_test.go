package approvalpolicy

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/stack/deploy"
)

const rules = `deployment_auto_approve "kept" {
  check {
    condition = context.plan.changes.remove == 0
    reason    = "Removes ${context.plan.changes.remove}."
  }
}
deployment_auto_approve "net" {
  check {
    condition = context.plan.component_changes["component.net"].total == 0 && context.success
    reason    = "Changes the net."
  }
}
deployment_group "g" {
  auto_approve_checks = [deployment_auto_approve.kept, deployment_auto_approve.net]
}
deployment "dev" {
  deployment_group = deployment_group.g
}
deployment "prod" {}
`

func TestDecide(t *testing.T) {
	change := func(component string, action plan.Action) *plan.Change {
		i, err := addr.ParseInstance(component + ".sim_object.o")
		if err != nil {
			t.Fatal(err)
		}
		return &plan.Change{Addr: addr.Object{Instance: i}, Provider: &addr.ProviderConfig{}, Action: action}
	}
	for _, test := range []struct {
		name, text, deployment string
		changes                []*plan.Change
		want                   string
	}{
		{"nothing", rules, "dev", nil, "by kept, net"},
		{"one app", rules, "dev", []*plan.Change{change("component.app", plan.Create)}, "by kept, net"},
		{"the net", rules, "dev", []*plan.Change{change(`component.net["a"]`, plan.Update)}, "net: Changes the net."},
		{"a removal", rules, "dev", []*plan.Change{change("component.app", plan.Delete)}, "kept: Removes 1."},
		{"a replacement", rules, "dev", []*plan.Change{change("component.app", plan.DeleteThenCreate)}, "kept: Removes 1."},
		{"no rules", rules, "prod", nil, "none"},
		{"legacy", `deployment "dev" {}
orchestrate "auto_approve" "prod" {
  check {
    condition = context.plan.deployment.deployment_name == "prod"
    reason    = "Not prod."
  }
}
orchestrate "auto_approve" "small" {
  check {
    condition = context.plan.changes.total < 2
    reason    = "Too much."
  }
}
`, "dev", []*plan.Change{change("component.app", plan.Create)}, "by small"},
	} {
		s, diags := deploy.Load(module.Memory{"a.tfdeploy.hcl": []byte(test.text)}, ".")
		for _, d := range s.Deployments {
			if d.Name != test.deployment {
				continue
			}
			out, more := Decide(s, d, &plan.Plan{Changes: test.changes}, nil)
			diags.Append(more)
			got := strings.Join(out.Against, "; ")
			switch {
			case !out.Ruled:
				got = "none"
			case out.Approved:
				got = "by " + out.By
			}
			if diags.HasErrors() || got != test.want {
				t.Errorf("%s: got %q, want %q, %v", test.name, got, test.want, diags)
			}
		}
	}
}
