package cli

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
)

// remotePlan is a plan as services return it.
const remotePlan = `{"plan_format_version": "1.2", "resource_changes": [{
  "address": "a_thing.b", "mode": "managed", "type": "a_thing", "name": "b", "provider_name": "registry.example.com/x/a",
  "change": {"actions": ["delete", "create"], "before": {"size": 1, "key": "", "id": "i"}, "after": {"size": 2, "key": ""}, "after_unknown": {"id": true},
    "before_sensitive": {"key": true}, "after_sensitive": {"key": true}, "replace_paths": [["size"]], "importing": {"id": "i"}, "generated_config": "resource \"a_thing\" \"b\" {}"}}],
  "output_changes": {"o": {"actions": ["create"], "before": null, "after": "x", "after_unknown": false}}}`

const remoteLog = `{"@level":"info","@message":"Terraform 1.9.0","type":"version"}
{"@level":"info","@message":"a_thing.b: Refreshing state...","type":"refresh_start"}
{"@level":"warn","@message":"Warning: Old","type":"diagnostic","diagnostic":{"severity":"warning","summary":"Old","detail":"It is old.","range":{"filename":"main.tf","start":{"line":1,"column":1,"byte":0},"end":{"line":1,"column":10,"byte":9}}}}
{"@level":"info","@message":"a_thing.b: Plan to replace","type":"planned_change"}
{"@level":"info","@message":"Plan: 1 to add, 0 to change, 1 to destroy.","type":"change_summary"}
`

// TestRemoteRun plans and applies at a service.
func TestRemoteRun(t *testing.T) {
	service := &testservers.Remote{Mode: "local", Runs: testservers.Runs{Plan: remoteLog, JSON: remotePlan, Apply: `{"@message":"Terraform 1.9.0","type":"version"}
{"@message":"a_thing.b: Creating...","type":"apply_start"}
{"@message":"Apply complete!","type":"change_summary"}
{"@message":"Outputs: 2","type":"outputs","outputs":{"o":{"sensitive":false,"type":"string","value":"x"},"s":{"sensitive":true,"type":"string"}}}
`}}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	run := runIn(t, map[string]string{
		".terraformrc":     fmt.Sprintf("host \"app.example.com\" {\n  services = { \"tfe.v2\" = \"%s/api/v2/\" }\n}\ncredentials \"app.example.com\" {\n  token = \"me-token\"\n}\n", server.URL),
		"main.tf":          "terraform {\n  cloud {\n    hostname = \"app.example.com\"\n    organization = \"org\"\n    workspaces {\n      name = \"net\"\n    }\n  }\n}\nvariable \"v\" {}\nvariable \"l\" {\n  type = list(number)\n}\n",
		"more.tfvars":      "v = \"from a file\"\n",
		"auto.auto.tfvars": "l = [1]\n",
	})
	check := func(line string, code int, want ...string) string {
		t.Helper()
		got, text := run(line)
		if got != code {
			t.Fatalf("%s: exit %d\n%s", line, got, text)
		}
		for _, w := range want {
			if said := strings.Join(strings.Fields(text), " "); !strings.Contains(said, w) {
				t.Errorf("%s says nothing of %q:\n%s", line, w, text)
			}
		}
		return text
	}
	given := func() map[string]any {
		for n := 0; ; n++ {
			if next, _, _ := service.Started(n + 1); next == nil {
				all, _, _ := service.Started(n)
				return all
			}
		}
	}
	check("init", 0)
	check("apply -auto-approve -var=v=1", 0) // it makes the workspace
	check("plan -var=v=2 -out=here", 0)
	service.Set("net", "remote")
	check("apply here", 1, "Saved plan of this machine")

	text := check("plan -var=l=[1,2] -var-file=more.tfvars", 0, "https://app.example.com/app/org/net/runs/run-", "Terraform 1.9.0 a_thing.b: Refreshing state...", "Warning: Old", "on main.tf line 1",
		`-/+ resource "a_thing" "b" {`, `~ id = "i" -> (known after apply)`, "~ size = 1 -> 2 # forces replacement", "+ o = \"x\"", "You didn't use the -out option")
	if strings.Contains(text, "Plan to replace") {
		t.Errorf("the plan is shown twice:\n%s", text)
	}
	if got := fmt.Sprint(given()["variables"]); !strings.Contains(got, "map[key:l value:[1, 2]]") || !strings.Contains(got, `map[key:v value:"from a file"]`) {
		t.Error(got)
	}
	check("plan -detailed-exitcode -destroy -target=a_thing.b -replace=a_thing.b -refresh=false", 2)
	if all := given(); fmt.Sprint(all["is-destroy"], all["target-addrs"], all["replace-addrs"], all["refresh"], all["speculative"]) != "true [a_thing.b] [a_thing.b] false true" {
		t.Error(all)
	}
	text = check("plan -json", 0, `"type":"planned_change"`, `"type":"diagnostic"`)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("no message: %s", line)
		}
	}
	check("plan -generate-config-out=made.tf", 0)
	if data, err := os.ReadFile("made.tf"); err != nil || !strings.Contains(string(data), `resource "a_thing" "b" {}`) {
		t.Errorf("%v %s", err, data)
	}
	if err := os.Remove("made.tf"); err != nil {
		t.Fatal(err)
	}
	check("plan -exclude=a.b -parallelism=3 -refresh=auto", 1, "has no such option: -exclude, -parallelism, -refresh=auto")
	check("plan -target=a.* -replace=a.*", 1, "-replace with a pattern, -target with a pattern")
	check("plan -var=none=1", 1, "Value for undeclared variable")

	// Saved plans are those of the other programs.
	check("plan -out=saved", 0, "Saved the plan to: saved")
	if data, err := os.ReadFile("saved"); err != nil || !strings.HasPrefix(string(data), `{"remote_plan_format":1,"run_id":"run-`) || !strings.HasSuffix(string(data), `","hostname":"app.example.com"}`) {
		t.Errorf("%v %s", err, data)
	}
	check("show saved", 0, `-/+ resource "a_thing" "b" {`, "The run is planned and saved.")
	if text := check("show -json saved", 0); !strings.HasPrefix(text, `{"plan_format_version":"1.2","resource_changes":[{"address":"a_thing.b"`) || strings.Count(text, "\n") != 1 {
		t.Error(text)
	}
	check("show -steps saved", 1, "kept by app.example.com")
	check("apply -destroy saved", 1, "Can't change a saved plan")
	check("apply saved", 0, "a_thing.b: Creating...", "Apply complete!", `o = "x" s = <sensitive>`)
	check("apply saved", 1, "it was applied already")

	check("apply -auto-approve", 0, `-/+ resource "a_thing" "b" {`, "Apply complete!")
	check("apply -auto-approve -json", 0, `"type":"outputs"`)
	check("apply", 1, `in workspace "net"?`, "app.example.com will do what is described above.", "Nobody can be asked for approval")
	check("destroy -auto-approve", 0)
	if given()["is-destroy"] != true {
		t.Error("destroy plans no destruction")
	}
	check("refresh", 0)
	if all := given(); all["refresh-only"] != true || all["auto-apply"] != true {
		t.Error(all)
	}

	service.Runs.JSON = ""
	check("plan", 0, "a_thing.b: Plan to replace Plan: 1 to add")
	check("show saved", 1, "has no JSON of the plan")
	service.Runs.Plan, service.Runs.NoChanges = "\x1b[1mNo changes.\x1b[0m \x1b]0;title\x07", true
	if text := check("plan -detailed-exitcode", 0, "No changes."); strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
	service.Runs.Plan, service.Runs.FailPlan = `{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Broken","detail":"It is."}}`, true
	check("plan", 1, "Error: Broken", "ended with an error")
	check("plan -json", 1, `"summary":"Broken"`)
	service.Runs = testservers.Runs{Forbidden: true}
	check("plan", 1, "has no permission to plan")
	check("apply", 1, "has no permission to apply")
	service.Runs = testservers.Runs{Repository: map[string]any{"identifier": "a/b"}}
	check("apply", 1, "commit the change there")
	service.Set("net", "local")
	check("apply saved", 1, "Saved plan of another service")
	check("show saved", 1, "Saved plan of another service")
	check("plan -var=v=1", 0, "No changes.")
}
