package cli

import (
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
)

// plain is text without frames and line breaks.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", "", "╷", "", "╵", "").Replace(text)), " ")
}

// TestLines: what commands print and how they exit, one command after the other in one directory.
func TestLines(t *testing.T) {
	files := map[string]string{
		"main.tf":                       "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {\n  lifecycle {\n    destroy = false\n  }\n}\n",
		".terraformrc":                  "provider_installation {\n  dev_overrides {\n    \"weir/other\" = \"over\"\n  }\n  direct {}\n}\nhost \"login.example.com\" {\n  services = {\n    \"login.v1\" = { client = \"weir\", authz = \"https://login.example.com/a\", token = \"https://login.example.com/t\" }\n  }\n}\n",
		"over/terraform-provider-other": "",
		"stack/s.tfcomponent.hcl":       "required_providers {}\n",
		"net/main.tf":                   "terraform {\n  backend \"local\" {}\n}\n",
	}
	run := runIn(t, files)
	for _, c := range []struct {
		line  string
		code  int
		want  string // an expression of what is printed, once
		never string // words that aren't
	}{
		{"init", 0, "successfully initialized", ""},
		{"roots", 0, `net \(local\)`, ""},
		{"import terraform_data.a some-id", 0, "Provider development overrides .* Importing from ID", ""},
		{"plan -ignore-remote-version", 0, "1 to add", ""},
		{"apply -auto-approve -ignore-remote-version", 0, "1 added", ""},
		{"providers", 0, `Providers required by state: provider\[terraform.io/builtin/terraform\]`, ""},
		{"force-unlock some-id", 1, "Error asking for confirmation", "cancelled"},
		{"login login.example.com", 1, "keep the token in plain text in the following file: .* Login cancelled", "helper"},
		{"destroy -auto-approve", 1, "Destroy was successful but left behind forgotten instances", ""},
		{"-chdir=stack stacks show -deployment=nobody", 1, "Unknown deployment", ""},
	} {
		code, text := run(c.line)
		said := plain(text)
		if code != c.code || len(regexp.MustCompile(c.want).FindAllString(said, -1)) != 1 || c.never != "" && strings.Contains(said, c.never) {
			t.Errorf("%s: exit %d\n%s", c.line, code, text)
		}
	}
}

// TestPortTaken: a page whose port isn't free is an error, and nothing is planned.
func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	run := runIn(t, map[string]string{"main.tf": ""})
	if code, text := run("ui -port=" + port); code != 1 || !strings.Contains(plain(text), "address can't be served") {
		t.Errorf("exit %d\n%s", code, text)
	}
}

// TestSavedPlanOfNoDeployment: where the files name a deployment no more, its saved plan is an error, and the
// summary says so.
func TestSavedPlanOfNoDeployment(t *testing.T) {
	run := runIn(t, map[string]string{
		"s.tfcomponent.hcl": "required_providers {}\ncomponent \"one\" {\n  source = \"./m\"\n}\n",
		"s.tfdeploy.hcl":    "deployment \"dev\" {}\ndeployment \"prod\" {}\n",
		"m/main.tf":         "resource \"terraform_data\" \"a\" {}\n",
	})
	for _, line := range []string{"stacks init", "stacks plan -out=plans"} {
		if code, text := run(line); code != 0 {
			t.Fatalf("%s: exit %d\n%s", line, code, text)
		}
	}
	if err := os.WriteFile("s.tfdeploy.hcl", []byte("deployment \"prod\" {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, text := run("stacks apply plans")
	if said := plain(text); code != 1 || !strings.Contains(said, "dev not done: see above") || !strings.Contains(said, "prod done") {
		t.Errorf("exit %d\n%s", code, text)
	}
}

// TestUndoCommand: the command line that takes moves back can be pasted into a shell.
func TestUndoCommand(t *testing.T) {
	for _, c := range []struct {
		m    *moving
		args []string
		want string
	}{
		{&moving{from: "a", to: "b"}, []string{"sim.a", `sim.b["x"]=sim.c`, "sim.c[0]", "sim.*", "sim.$"}, `weir move -undo -from=a -to=b sim.a 'sim.b["x"]=sim.c' 'sim.c[0]' 'sim.*' 'sim.$'`},
		{&moving{file: "f.hcl", undo: true}, nil, "weir move -file=f.hcl"},
	} {
		c.m.env = &env{program: "weir"}
		if got := c.m.command(c.args); got != c.want {
			t.Errorf("got %s, not %s", got, c.want)
		}
	}
}

// TestColours: which variables of the environment forbid colours.
func TestColours(t *testing.T) {
	for environ, want := range map[string]bool{
		"": false, "TERM=xterm": false, "TERM=dumb": true, "TERM=dumb FORCE_COLOR=1": false, "TERM=dumb FORCE_COLOR=0": true, "TERM=xterm NO_COLOR=1": true,
	} {
		e, err := newEnv(Process{Args: []string{"weir"}, Environ: strings.Fields(environ), Getwd: os.Getwd})
		if err != nil {
			t.Fatal(err)
		}
		if e.Plain != want {
			t.Errorf("%s: plain is %t", environ, e.Plain)
		}
		e.close()
	}
}
