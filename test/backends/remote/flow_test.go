package remote

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
)

// A directory in which weir is run.
type directory struct {
	t   *testing.T
	dir string
	env []string
}

func begin(t *testing.T, service *testservers.Remote) *directory {
	t.Helper()
	if os.Getenv("IAC_BIN") == "" {
		t.Skip("no program to test: IAC_BIN is not set")
	}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	d := &directory{t: t, dir: t.TempDir()}
	d.write("settings", fmt.Sprintf("host \"app.example.com\" {\n  services = { \"tfe.v2\" = \"%s/api/v2/\" }\n}\n", server.URL))
	d.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(d.dir, "settings"), "TF_TOKEN_app_example_com=someone-token",
		"TF_CLOUD_HOSTNAME=app.example.com", "TF_CLOUD_ORGANIZATION=org")
	return d
}

func (d *directory) write(name, content string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o666); err != nil {
		d.t.Fatal(err)
	}
}

// run runs weir, which has to say something: the wanted text, after "!" if it has to fail.
func (d *directory) run(want string, args ...string) {
	d.t.Helper()
	cmd := exec.Command(os.Getenv("IAC_BIN"), args...)
	cmd.Dir, cmd.Env = d.dir, d.env
	for len(args) > 0 && strings.Contains(cmd.Args[1], "=") { // variables before the command
		cmd.Env, cmd.Args = append(cmd.Env, cmd.Args[1]), append(cmd.Args[:1], cmd.Args[2:]...)
	}
	out, err := cmd.CombinedOutput()
	text, fails := strings.CutPrefix(want, "!")
	if said := strings.Join(strings.Fields(string(out)), " "); (err != nil) != fails || !strings.Contains(said, text) {
		d.t.Fatalf("%v: %v, and not %q:\n%s", args, err, want, out)
	}
}

// TestTags has workspaces that are found by their tags.
func TestTags(t *testing.T) {
	service := &testservers.Remote{}
	d := begin(t, service)
	d.write("main.tf", "terraform {\n  cloud {\n    workspaces {\n      tags = [\"net\"]\n    }\n  }\n}\noutput \"w\" { value = terraform.workspace }\n")
	d.run(`Make one with "`, "init", "-input=false")
	d.run("!there is no default workspace", "plan", "-input=false")
	d.run(`Created and switched to workspace "prod"`, "workspace", "new", "prod")
	d.run(`w = "prod"`, "apply", "-auto-approve")
	d.run("dev", "workspace", "new", "dev")
	d.run("dev * prod", "TF_WORKSPACE=prod", "workspace", "list")
	d.run(`w = "dev"`, "apply", "-auto-approve")
	d.run("!no default", "workspace", "new", "default")
	d.run("", "workspace", "select", "prod")
	d.run("Deleted", "workspace", "delete", "-force", "dev")
	if got := strings.Join(service.Names(), ";"); got != "prod local net" {
		t.Errorf("%s", got)
	}
	// Another directory takes the only one there is.
	if err := os.RemoveAll(filepath.Join(d.dir, ".terraform")); err != nil {
		t.Fatal(err)
	}
	d.run("prod", "init", "-input=false")
	d.run("prod", "output", "-raw", "w")
}

// TestDefaultGoesThere: what the default workspace becomes has to be said.
func TestDefaultGoesThere(t *testing.T) {
	service := &testservers.Remote{}
	d := begin(t, service)
	d.write("main.tf", "resource \"terraform_data\" \"a\" {}\n")
	d.run("", "apply", "-auto-approve")
	d.write("cloud.tf", "terraform {\n  cloud {\n    workspaces {\n      tags = [\"net\"]\n    }\n  }\n}\n")
	d.run("!TF_WORKSPACE", "init", "-input=false", "-migrate-state", "-force-copy")
	d.run("", "TF_WORKSPACE=main", "init", "-input=false", "-migrate-state", "-force-copy")
	d.run("main", "init", "-input=false")
	d.run("terraform_data.a", "state", "list")
	d.run("No changes", "plan")
	d.write("cloud.tf", "")
	d.run("", "init", "-input=false", "-migrate-state", "-force-copy")
	d.run("No changes", "plan")
}

// TestElsewhere: a workspace whose service plans and applies.
func TestElsewhere(t *testing.T) {
	service := &testservers.Remote{Mode: "remote"}
	d := begin(t, service)
	d.write("main.tf", "terraform {\n  cloud {\n    workspaces {\n      name = \"net\"\n    }\n  }\n}\nvariable \"v\" {}\nvariable \"l\" {\n  type = list(number)\n}\noutput \"v\" { value = \"${var.v}-${var.l[1]}\" }\n")
	d.run("", "init", "-input=false")
	d.run("", "TF_VAR_v=1", "TF_VAR_l=[1,2]", "apply", "-auto-approve") // it was made for runs here
	service.Set("net", "remote", map[string]any{"key": "v", "value": "from there", "category": "terraform"}, map[string]any{"key": "l", "value": "[3, 4]", "hcl": true, "category": "terraform"},
		map[string]any{"key": "undeclared", "sensitive": true, "category": "terraform"})
	service.Runs = testservers.Runs{Plan: "planned there", Apply: "applied there"}
	d.run("planned there", "plan", "-input=false")
	for _, command := range []string{"apply", "destroy"} {
		d.run("applied there", command, "-input=false", "-auto-approve", "-var=v=given")
	}
	d.run("applied there", "refresh", "-input=false")
	d.run(`!has the execution mode "remote"`, "plan", "-input=false", "-all")
	if given, status, files := service.Started(1); status != "applied" || fmt.Sprint(given["variables"]) != `[map[key:v value:"given"]]` || !slices.Contains(files, "main.tf") {
		t.Errorf("%v %s %v", given, status, files)
	}
	d.run(`v = "from there-4"`, "TF_FORCE_LOCAL_BACKEND=1", "apply", "-auto-approve", "-input=false")
	d.run(`v = "given-4"`, "TF_FORCE_LOCAL_BACKEND=1", "apply", "-auto-approve", "-input=false", "-var=v=given")
	d.run("given-4", "output", "-raw", "v")
	d.run("", "state", "pull")
	service.Set("net", "remote", map[string]any{"key": "v", "sensitive": true, "category": "terraform"})
	d.run("!Value for var.v unavailable", "TF_FORCE_LOCAL_BACKEND=1", "plan", "-input=false", "-var=l=[1,2]")
	d.run("Changes", "TF_FORCE_LOCAL_BACKEND=1", "TF_VAR_v=x", "plan", "-input=false", "-var=l=[1,2]")
}
