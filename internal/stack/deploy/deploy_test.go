package deploy

import (
	"errors"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/module"
)

// elsewhere is an outside with one thing of each kind.
type elsewhere struct{ asked []string }

func (o *elsewhere) Token(t *Token) (token, file string, err error) {
	o.asked = append(o.asked, "token "+t.Name+" for "+strings.Join(t.Audience, ","))
	if t.Name == "none" {
		return "", "", errors.New("the setting identity_token is missing")
	}
	return "jwt-" + t.Name, "/run/" + t.Name, nil
}

func (o *elsewhere) Store(s *Store) (map[string]cty.Value, error) {
	o.asked = append(o.asked, "store "+s.Name)
	return map[string]cty.Value{"KEY": cty.StringVal("secret"), "my-key": cty.StringVal("dash")}, nil
}

func (o *elsewhere) Upstream(u *Upstream) (map[string]cty.Value, error) {
	o.asked = append(o.asked, "upstream "+u.Source)
	return map[string]cty.Value{"net": cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("net-1")})}, nil
}

func load(t *testing.T, files map[string]string) (*Stack, diag.List) {
	t.Helper()
	all := module.Memory{}
	for name, text := range files {
		all[name] = []byte(text)
	}
	return Load(all, ".")
}

// Older texts have a group list its deployments.
func TestGroupOfDeployments(t *testing.T) {
	s, diags := load(t, map[string]string{"a.tfdeploy.hcl": `deployment "a" {}
deployment "b" {}
deployment_group "g" { deployments = [deployment.a] }
`})
	if diags.HasErrors() || len(diags) != 1 || !strings.Contains(diags[0].Detail, "deployment_group = deployment_group.g") {
		t.Fatalf("got %v", diags)
	}
	if g := s.Deployments[0].Group; g == nil || g.Name != "g" || s.Deployments[1].Group != nil {
		t.Errorf("the group of a is %+v, and that of b %+v", g, s.Deployments[1].Group)
	}
}

func TestLoad(t *testing.T) {
	s, diags := load(t, map[string]string{"a.tfdeploy.hcl": `locals {
  regions = ["eu", "us"]
  all     = { n = length(local.regions), regions = local.regions }
}
deployment "two" {
  inputs = {
    regions = local.regions
    n       = length(local.regions)
  }
}
deployment "one" {
  inputs  = { regions = slice(local.regions, 0, 1) }
  destroy = true
}
deployment "three" {
  inputs = merge(local.all, { n = 3 })
}
deployment "bare" {}
`})
	diags.Append(s.Evaluate(s.Deployments, &elsewhere{}))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	list := s.Deployments
	if len(list) != 4 || list[0].Name != "bare" || list[1].Name != "one" || !list[1].Destroy || list[3].Destroy {
		t.Fatalf("got %+v", list)
	}
	if v := list[3].Inputs["n"].Value.AsBigFloat().String(); v != "2" {
		t.Errorf("n is %s", v)
	}
	if n := list[1].Inputs["regions"].Value.LengthInt(); n != 1 {
		t.Errorf("one region is wanted, not %d", n)
	}
	if v := list[2].Inputs["n"].Value.AsBigFloat().String(); v != "3" {
		t.Errorf("n of the object is %s", v)
	}
}

func TestWithoutFiles(t *testing.T) {
	s, diags := load(t, map[string]string{"main.tf": ""})
	if len(diags) > 0 || len(s.Deployments) != 1 || s.Deployments[0].Name != Default {
		t.Errorf("got %v, %v", s.Deployments, diags)
	}
}

const outsideText = `identity_token "aws" {
  audience = ["aws.workload.identity"]
}
store "varset" "creds" {
  id       = "varset-1"
  category = "env"
}
upstream_input "core" {
  type   = "stack"
  source = "../core"
}
deployment "dev" {
  inputs = {
    token  = identity_token.aws.jwt
    file   = identity_token.aws.jwt_filename
    secret = store.varset.creds.KEY
    stable = store.varset.creds.stable.my-key
    net    = upstream_input.core.net.id
  }
}
`

func TestOutside(t *testing.T) {
	s, diags := load(t, map[string]string{"a.tfdeploy.hcl": outsideText})
	o := &elsewhere{}
	diags.Append(s.Evaluate(s.Deployments, o))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	in := s.Deployments[0].Inputs
	for name, want := range map[string]string{"token": "jwt-aws", "file": "/run/aws", "secret": "secret", "stable": "dash", "net": "net-1"} {
		bare, _ := in[name].Value.Unmark()
		if bare.AsString() != want {
			t.Errorf("%s is %s, want %s", name, bare.AsString(), want)
		}
	}
	for name, want := range map[string]bool{"token": true, "file": false, "secret": true, "stable": false, "net": false} {
		if got := value.IsEphemeral(in[name].Value); got != want {
			t.Errorf("%s is ephemeral: %t, want %t", name, got, want)
		}
	}
	if got := strings.Join(o.asked, "; "); got != "token aws for aws.workload.identity; store creds; upstream ../core" {
		t.Errorf("asked for %s", got)
	}
	if diags := s.Evaluate(s.Deployments, nil); diags.HasErrors() || in["net"].Value.IsNull() {
		t.Errorf("without an outside: %v", diags)
	}
}

// Files in JSON say the same.
func TestJSON(t *testing.T) {
	s, diags := load(t, map[string]string{"a.tfdeploy.json": `{
  "locals": {"region": "eu"},
  "identity_token": {"aws": {"audience": ["a"]}},
  "deployment_auto_approve": {"small": {"check": {"condition": "${context.plan.changes.total < 3}", "reason": "too much"}}},
  "deployment_group": {"g": {"auto_approve_checks": ["deployment_auto_approve.small"]}},
  "deployment": {"dev": {"inputs": {"region": "${local.region}-1", "token": "${identity_token.aws.jwt}"}, "deployment_group": "deployment_group.g"}}
}`})
	diags.Append(s.Evaluate(s.Deployments, &elsewhere{}))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	d := s.Deployments[0]
	if v := d.Inputs["region"].Value.AsString(); v != "eu-1" || d.Group == nil || len(d.Group.Checks) != 1 {
		t.Errorf("got %q, %+v", v, d.Group)
	}
}

func TestRules(t *testing.T) {
	s, diags := load(t, map[string]string{"a.tfdeploy.hcl": `deployment "dev" {}
deployment "prod" {}
deployment_auto_approve "careful" {
  check {
    condition = context.plan.changes.remove == 0
    reason    = "Removes ${context.plan.changes.remove}."
  }
  check {
    condition = context.plan.deployment == deployment.dev
    reason    = "Not dev."
  }
}
`})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, test := range []struct {
		name   string
		remove int64
		want   string
	}{{"dev", 0, ""}, {"prod", 0, "Not dev."}, {"prod", 2, "Removes 2. Not dev."}} {
		context := cty.ObjectVal(map[string]cty.Value{"plan": cty.ObjectVal(map[string]cty.Value{
			"deployment": Identity(test.name), "changes": cty.ObjectVal(map[string]cty.Value{"remove": cty.NumberIntVal(test.remove)}),
		})})
		v, diags := s.Judge(s.Rules["careful"], context)
		if got := strings.Join(v.Reasons, " "); diags.HasErrors() || got != test.want {
			t.Errorf("%+v: got %q, %v", test, got, diags)
		}
	}
}

func TestPublish(t *testing.T) {
	s, diags := load(t, map[string]string{"a.tfdeploy.hcl": `deployment "dev" {}
deployment "prod" {}
publish_output "id" {
  value = upper(deployment.dev.id)
}
publish_output "later" {
  value = deployment.prod.id
}
`})
	values, more := s.Publish(map[string]map[string]cty.Value{"dev": {"id": cty.StringVal("x")}}, nil)
	if diags.Append(more); diags.HasErrors() || len(values) != 1 || values["id"].AsString() != "X" {
		t.Errorf("got %v, %v", values, diags)
	}
}

// Every mistake has a place in the file.
func TestBadFiles(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`deployment "a" {`, ""},
		{`deployment "" { inputs = {} }`, "Invalid deployment name"},
		{`deployment "a" { inputs = [] }`, "Invalid inputs"},
		{`deployment "a" { inputs = { x = local.nope } }`, "Reference to undeclared local value"},
		{`deployment "a" { inputs = { x = timestamp() } }`, "Invalid input"},
		{`deployment "a" { input = {} }`, "Unsupported argument"},
		{`deployment "a" { inputs = { x = var.y } }`, "Reference to unknown symbol"},
		{"deployment \"a\" {}\ndeployment \"b\" { inputs = { x = deployment.a.y } }", "Invalid reference"},
		{"deployment \"a\" {}\ndeployment \"a\" {}", "Duplicate deployment"},
		{"deployment \"a\" {\n  inputs  = {}\n  destroy = 5\n}", "Invalid destroy argument"},
		{`deployment "a" { import = "x" }`, "Invalid import argument"},
		{`deployment "a" { deployment_group = deployment_group.nope }`, "Reference to undeclared deployment group"},
		{`deployment_group "g" { auto_approve_checks = [deployment_auto_approve.nope] }`, "Reference to undeclared deployment auto approve"},
		{`deployment_group "g" { auto_approve_checks = 5 }`, "Invalid auto_approve_checks argument"},
		{`deployment_group "g" { deployments = [deployment.nope] }`, "Reference to undeclared deployment"},
		{"deployment \"d\" {}\ndeployment_group \"g\" { deployments = [deployment.d] }\ndeployment_group \"h\" { deployments = [deployment.d] }", "Several groups"},
		{`deployment_auto_approve "r" {}`, "Missing check"},
		{"deployment_auto_approve \"r\" {\n  check {\n    condition = true\n  }\n}", "Missing required argument"},
		{"deployment_auto_approve \"r\" {\n  check {\n    condition = contxt.plan\n    reason = \"\"\n  }\n}", "Reference to unknown symbol"},
		{`orchestrate "other" "r" {}`, "Invalid orchestrate type"},
		{`identity_token "t" {}`, "Missing required argument"},
		{`identity_token "t" { audience = "x" }`, "Invalid audience argument"},
		{`store "varset" "x" {}`, "Missing required argument"},
		{"store \"varset\" \"x\" {\n  id = \"a\"\n  category = \"b\"\n}", "Invalid category argument"},
		{`upstream_input "u" { type = "stack" }`, "Missing required argument"},
		{"upstream_input \"u\" {\n  type = \"other\"\n  source = \"../x\"\n}", "Invalid type argument"},
		{`publish_output "p" { value = deployment.nope.x }`, "Reference to undeclared deployment"},
		{"deployment \"a\" { inputs = { x = local.l } }\nlocals { l = local.l }", "Cycle"},
		{"deployment \"a\" { inputs = { x = identity_token.none.jwt } }\nidentity_token \"none\" { audience = [] }", "Missing value from outside"},
		{"deployment \"a\" { inputs = { x = identity_token.t.jwl } }\nidentity_token \"t\" { audience = [] }", "Unsupported attribute"},
		{"deployment \"a\" { inputs = { x = store.varset.s.NOPE } }\nstore \"varset\" \"s\" { id = \"i\" }", "Missing value from outside"},
		{"deployment \"a\" { inputs = { x = upstream_input.u.nope } }\nupstream_input \"u\" {\n  type = \"stack\"\n  source = \"../x\"\n}", "Missing value from outside"},
	} {
		s, diags := load(t, map[string]string{"a.tfdeploy.hcl": test.text})
		if !diags.HasErrors() {
			diags.Append(s.Evaluate(s.Deployments, &elsewhere{}))
		}
		var got []string
		for _, d := range diags {
			got = append(got, d.Summary)
			if d.Subject == nil {
				t.Errorf("%s: %s has no place", test.text, d.Summary)
			}
		}
		if !diags.HasErrors() || !strings.Contains(strings.Join(got, "; "), test.want) {
			t.Errorf("%s: got %q, want %q", test.text, got, test.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("deployment \"a\" {\n  inputs = { x = local.y }\n}\nlocals { y = 1 }\n")
	f.Add(outsideText)
	f.Fuzz(func(_ *testing.T, text string) {
		s, diags := Load(module.Memory{"a.tfdeploy.hcl": []byte(text)}, ".")
		if !diags.HasErrors() {
			s.Evaluate(s.Deployments, &elsewhere{})
			_, _ = s.Publish(map[string]map[string]cty.Value{"a": {"x": cty.True}}, nil)
		}
	})
}
