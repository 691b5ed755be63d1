package remote

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
)

// TestRunsOfEngines: weir and OpenTofu, named by PEER, end with the same exit codes for the same
// runs, and apply the plans that the other one saved.
func TestRunsOfEngines(t *testing.T) {
	weir := os.Getenv("IAC_BIN")
	peer := cmp.Or(os.Getenv("PEER"), weir)
	for name, test := range map[string]struct {
		runs                       testservers.Runs
		plan, yes, no, save, apply int // exit codes
	}{
		"changes":      {testservers.Runs{}, 2, 0, 1, 0, 0},
		"no changes":   {testservers.Runs{NoChanges: true}, 0, 0, 0, 0, 1},
		"failed plan":  {testservers.Runs{FailPlan: true}, 1, 1, 1, 1, 1},
		"failed apply": {testservers.Runs{FailApply: true}, 2, 1, 1, 0, 1},
		"hard policy":  {testservers.Runs{Policy: "hard_failed"}, 1, 1, 1, 1, 1},
		"soft policy":  {testservers.Runs{Policy: "soft_failed"}, 1, 1, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			service := &testservers.Remote{Mode: "local"}
			d := begin(t, service)
			d.write("main.tf", "terraform {\n  cloud {\n    workspaces {\n      name = \"net\"\n    }\n  }\n}\n")
			d.run("", "init", "-input=false")
			d.run("", "apply", "-auto-approve")
			service.Set("net", "remote")
			service.Runs = test.runs
			code := func(bin, input string, args ...string) int {
				cmd := exec.Command(bin, append(args, "-no-color")...)
				cmd.Dir, cmd.Env, cmd.Stdin = d.dir, d.env, strings.NewReader(input)
				if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState == nil {
					t.Fatalf("%v: %s", err, out)
				}
				return cmd.ProcessState.ExitCode()
			}
			for _, pair := range [][2]string{{weir, peer}, {peer, weir}} {
				_ = os.Remove(d.dir + "/saved")
				got := fmt.Sprint(code(pair[0], "", "plan", "-detailed-exitcode"), code(pair[0], "yes\n", "apply"), code(pair[0], "no\n", "apply"),
					code(pair[0], "", "plan", "-out=saved"), code(pair[1], "", "apply", "saved"))
				if want := fmt.Sprint(test.plan, test.yes, test.no, test.save, test.apply); got != want {
					t.Errorf("%s: %s, and not %s", pair[0], got, want)
				}
			}
		})
	}
}
