package remoterun

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/remote"
	"weir.dev/weir/internal/state/storage/testservers"
)

// A person notes what a run shows, and answers questions.
type person struct {
	mu     sync.Mutex
	texts  []string
	answer func(ctx context.Context, q Question) (bool, error)
}

func (p *person) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts = append(p.texts, strings.TrimSpace(text))
}

func (p *person) Say(text string)                { p.note(text) }
func (p *person) Line(phase string, line []byte) { p.note(phase + ": " + string(line)) }
func (p *person) Planned(plan []byte) error      { p.note(fmt.Sprintf("plan %s", plan)); return nil }
func (p *person) Ask(ctx context.Context, q Question) (bool, error) {
	p.note(fmt.Sprint("question ", q))
	if p.answer == nil {
		return true, nil
	}
	return p.answer(ctx, q)
}

func (p *person) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.texts, "\n")
}

const host = "app.example.com"

// begin has a workspace "net" at a service, and a directory with a configuration.
func begin(t *testing.T, service *testservers.Remote, o remote.Options) (*Command, *person) {
	t.Helper()
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	workspaces := remote.CloudSchema().Blocks["workspaces"].Block.EmptyValue().AsValueMap()
	workspaces["name"] = cty.StringVal("net")
	config := remote.CloudSchema().EmptyValue().AsValueMap()
	config["hostname"], config["organization"], config["workspaces"] = cty.StringVal(host), cty.StringVal("org"), cty.ObjectVal(workspaces)
	b, diags := remote.NewCloud(cty.ObjectVal(config), storage.Env{Getenv: func(string) string { return "" }, Hosts: func() (storage.Hosts, error) {
		return storage.Hosts{
			Token:    func(context.Context, string) (string, error) { return "me-token", nil },
			Services: map[string]map[string]any{host: {"tfe.v2": server.URL + "/api/v2/"}},
		}, nil
	}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if err := b.CreateWorkspace(t.Context(), "net"); err != nil {
		t.Fatal(err)
	}
	if runs, err := b.Runs(t.Context(), "net"); runs != nil || err != nil {
		t.Fatalf("a workspace of the mode local has runs: %v", err)
	}
	service.Set("net", "remote")
	runs, err := b.Runs(t.Context(), "net")
	if err != nil || runs == nil {
		t.Fatal(runs, err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"main.tf": "", "sub/a.txt": "", "secret.txt": "", ".terraformignore": "secret.txt\n"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	p := &person{}
	return &Command{Runs: runs, By: p, Options: o, Dir: dir}, p
}

const page = "https://app.example.com/app/org/net/runs/run-0003"

func TestPlan(t *testing.T) {
	service := &testservers.Remote{Runs: testservers.Runs{Plan: "first\r\nsecond\nlast", JSON: `{"a":1}`, Chunk: 4, Pending: 2, Cost: "finished"}}
	c, p := begin(t, service, remote.Options{PlanOnly: true, Destroy: true, NoRefresh: true, Targets: []string{"a.b"}, Replace: []string{"a.c"}, Invoke: "action.x.y", Generate: true, Variables: map[string]string{"v": `"x"`}})
	run, err := c.Plan(t.Context())
	if err != nil || !run.Attributes.HasChanges {
		t.Fatal(err)
	}
	want := `To view this run in a browser, visit:
` + page + `
Waiting for the plan to start...
plans: first
plans: second
plans: last
plan {"a":1}
Cost estimation:

  Resources: 1 of 2 estimated
  $25.0/mo -$5.5`
	if got := p.said(); got != want {
		t.Errorf("said\n%s", got)
	}
	given, status, files := service.Started(0)
	if status != "planned_and_finished" || fmt.Sprint(files) != "[.terraformignore main.tf sub/a.txt]" {
		t.Errorf("%s %v", status, files)
	}
	for name, want := range map[string]string{
		"is-destroy": "true", "refresh": "false", "target-addrs": "[a.b]", "replace-addrs": "[a.c]", "invoke-action-addrs": "[action.x.y]", "allow-config-generation": "true",
		"variables": `[map[key:v value:"x"]]`, "auto-apply": "false", "save-plan": "false", "speculative": "true", "provisional": "false", "auto-queue-runs": "false",
	} {
		if got := fmt.Sprint(given[name]); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
}

// TestOutcomes: what runs come to, and what is asked meanwhile.
func TestOutcomes(t *testing.T) {
	no := func(context.Context, Question) (bool, error) { return false, nil }
	for name, test := range map[string]struct {
		runs     testservers.Runs
		o        remote.Options
		only     bool // a plan
		answer   func(context.Context, Question) (bool, error)
		said     string // at the end of what is shown
		err      string
		status   string
		declined bool
	}{
		"approved by a person":       {runs: testservers.Runs{Apply: "done"}, said: "question 0\napplies: done", status: "applied"},
		"approved before":            {runs: testservers.Runs{Apply: "done"}, o: remote.Options{Approved: true}, said: "plan\napplies: done", status: "applied"},
		"declined":                   {answer: no, said: "question 0", status: "discarded", declined: true},
		"no changes":                 {runs: testservers.Runs{NoChanges: true}, said: "plan ", status: "planned_and_finished"},
		"saved":                      {only: true, o: remote.Options{Save: true}, said: "plan ", status: "planned_and_saved"},
		"failed plan":                {runs: testservers.Runs{Plan: "Error: no", FailPlan: true}, said: "plans: Error: no", err: "the run ended with an error: " + page, status: "errored"},
		"failed apply":               {runs: testservers.Runs{Apply: "Error: no", FailApply: true}, said: "applies: Error: no", err: "the run ended with an error", status: "errored"},
		"failed, with configuration": {runs: testservers.Runs{FailPlan: true, Generated: true, JSON: "{}"}, said: "plan {}", err: "the run ended", status: "errored"},
		"not by this token":          {runs: testservers.Runs{Unconfirmable: true}, said: "plan ", err: "it is planned", status: "planned"},
		"policy passed":              {runs: testservers.Runs{Policy: "passed"}, said: "Organization policy check:\n\n\"no-public-buckets: false\"\nquestion 0", status: "applied"},
		"policy failed":              {runs: testservers.Runs{Policy: "hard_failed"}, said: "false\"", err: "the organization policy check hard-failed", status: "errored"},
		"policy overridden":          {runs: testservers.Runs{Policy: "soft_failed"}, said: "question 1\nquestion 0", status: "applied"},
		"policy not overridden":      {runs: testservers.Runs{Policy: "soft_failed"}, answer: no, said: "question 1", err: "policies failed: " + page, status: "discarded"},
		"overridden before":          {runs: testservers.Runs{Policy: "soft_failed"}, o: remote.Options{Approved: true}, said: "false\"", status: "applied"},
		"policy of a plan":           {runs: testservers.Runs{Policy: "soft_failed"}, only: true, o: remote.Options{PlanOnly: true}, said: "false\"", err: "policies failed", status: "planned_and_finished"},
		"failed cost estimation":     {runs: testservers.Runs{Cost: "errored"}, said: "Cost estimation failed: no prices\nquestion 0", status: "applied"},
		"no cost with targets":       {runs: testservers.Runs{Cost: "skipped_due_to_targeting"}, said: "-target.\nquestion 0", status: "applied"},
		"tasks": {runs: testservers.Runs{Stages: map[string]string{"post_plan": "passed"}}, said: `Post-plan tasks:
scan: failed (advisory)
    two findings
    https://scan.example.com/1
OPA policies: failed
buckets:
private: failed (mandatory)
      Buckets are private.
question 0`, status: "applied"},
		"failed tasks":      {runs: testservers.Runs{Stages: map[string]string{"post_plan": "failed"}}, said: "Buckets are private.", err: "the post-plan checks failed", status: "errored"},
		"overridden tasks":  {runs: testservers.Runs{Stages: map[string]string{"post_plan": "awaiting_override"}}, said: "question 1\nquestion 0", status: "applied"},
		"tasks of an apply": {runs: testservers.Runs{Stages: map[string]string{"pre_apply": "passed"}, Apply: "done"}, said: "Buckets are private.\napplies: done", status: "applied"},
		"unreachable tasks": {runs: testservers.Runs{Stages: map[string]string{"pre_plan": "unreachable"}}, said: "question 0", status: "applied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &testservers.Remote{Runs: test.runs}
			c, p := begin(t, service, test.o)
			p.answer = test.answer
			do := c.Apply
			if test.only {
				do = c.Plan
			}
			_, err := do(t.Context())
			_, status, _ := service.Started(0)
			if errors.Is(err, ErrDeclined) != test.declined || !test.declined && (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) || status != test.status {
				t.Errorf("%s: %v", status, err)
			}
			if got := p.said(); !strings.HasSuffix(got, strings.TrimSpace(test.said)) {
				t.Errorf("said\n%s", got)
			}
		})
	}
}

// TestElsewhere: somebody decides at the service while it is asked here.
func TestElsewhere(t *testing.T) {
	for action, want := range map[string]string{"apply": "approved the run", "discard": "discarded the run"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			service := &testservers.Remote{}
			c, p := begin(t, service, remote.Options{})
			p.answer = func(ctx context.Context, _ Question) (bool, error) {
				service.Decide(action)
				<-ctx.Done()
				return false, ctx.Err()
			}
			_, err := c.Apply(t.Context())
			if (err == nil) != (action == "apply") || !strings.Contains(p.said(), want) {
				t.Errorf("%v\n%s", err, p.said())
			}
		})
	}
}

// TestInterrupt: a run is canceled if somebody agrees, or approved it from the start.
func TestInterrupt(t *testing.T) {
	for name, test := range map[string]struct {
		approved, agrees bool
		status, said     string
	}{
		"agreed":     {false, true, "canceled", "The run is canceled."},
		"not agreed": {false, false, "planning", "The run continues at the service: " + page},
		"approved":   {true, false, "canceled", "The run is canceled."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &testservers.Remote{Runs: testservers.Runs{Plan: "begun\n", Endless: true}}
			c, p := begin(t, service, remote.Options{Approved: test.approved})
			p.answer = func(_ context.Context, q Question) (bool, error) { return test.agrees && q == Cancel, nil }
			ctx, interrupt := context.WithCancel(t.Context())
			go func() {
				for !strings.Contains(p.said(), "begun") {
					time.Sleep(time.Millisecond)
				}
				interrupt()
			}()
			_, err := c.Apply(ctx)
			_, status, _ := service.Started(0)
			if !errors.Is(err, context.Canceled) || status != test.status || !strings.HasSuffix(p.said(), test.said) {
				t.Errorf("%s: %v\n%s", status, err, p.said())
			}
		})
	}
}

// TestSaved applies plans that were saved before.
func TestSaved(t *testing.T) {
	service := &testservers.Remote{Runs: testservers.Runs{Apply: "done"}}
	c, p := begin(t, service, remote.Options{Save: true})
	run, err := c.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Options = remote.Options{Approved: true}
	b, ok := ReadBookmark(NewBookmark(run.ID, host).Bytes())
	if !ok || b.Host != host {
		t.Fatal(b)
	}
	if _, err := c.ApplySaved(t.Context(), b.Run); err != nil || !strings.HasSuffix(p.said(), "applies: done") {
		t.Errorf("%v\n%s", err, p.said())
	}
	if _, err := c.ApplySaved(t.Context(), b.Run); err == nil || !strings.Contains(err.Error(), "it was applied already") {
		t.Error(err)
	}
	if _, err := c.ApplySaved(t.Context(), "run-none"); err == nil {
		t.Error("applied a run that isn't there")
	}
	for _, status := range []string{"applying", "canceled", "discarded", "errored", "planned_and_finished", "policy_override", "planning"} {
		if text := unusable(status); text == "" {
			t.Error(status)
		}
	}
	for _, text := range []string{"", "{}", `{"remote_plan_format":2,"run_id":"run-1","hostname":"h"}`, `{"remote_plan_format":1,"run_id":"1","hostname":"h"}`} {
		if _, ok := ReadBookmark([]byte(text)); ok {
			t.Errorf("%q is a saved plan", text)
		}
	}
}

// TestLostAnswers: a run whose answer was lost isn't started twice, and one that is confirmed is
// followed.
func TestLostAnswers(t *testing.T) {
	for _, end := range []string{"/runs", "/actions/apply", "/actions/discard"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			service := &testservers.Remote{Runs: testservers.Runs{Apply: "done"}}
			c, p := begin(t, service, remote.Options{})
			service.Lose(end)
			if _, err := c.Apply(t.Context()); err != nil || !strings.HasSuffix(p.said(), "applies: done") {
				t.Errorf("%v\n%s", err, p.said())
			}
			if again, _, _ := service.Started(1); again != nil {
				t.Error("there is a second run")
			}
		})
	}
}

// TestPending: a run that doesn't start is canceled in the end, and it is said what it waits for.
func TestPending(t *testing.T) {
	service := &testservers.Remote{Runs: testservers.Runs{Pending: 1000, Before: "run-9"}}
	c, p := begin(t, service, remote.Options{})
	c.Pending = 500 * time.Millisecond
	_, err := c.Plan(t.Context())
	if _, status, _ := service.Started(0); status != "canceled" || err == nil || !strings.Contains(err.Error(), "didn't start within 500ms") {
		t.Errorf("%s: %v", status, err)
	}
	if got := p.said(); !strings.Contains(got, "Waiting for the plan to start...\nAnother run of the workspace hasn't ended: https://app.example.com/app/org/net/runs/run-9") {
		t.Error(got)
	}
}

// TestUpload: what is uploaded for a workspace that works in a directory, and without a
// configuration.
func TestUpload(t *testing.T) {
	for name, test := range map[string]struct {
		working string
		none    bool
		want    string
		said    string
	}{
		"the directory above": {"/sub/", false, "[.terraformignore main.tf sub/a.txt]", ""},
		"another one":         {"other", false, "[a.txt]", "works in the directory"},
		"none":                {"sub", true, "[]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			service := &testservers.Remote{Runs: testservers.Runs{Working: test.working}}
			c, p := begin(t, service, remote.Options{PlanOnly: true, Destroy: true})
			c.Dir = filepath.Join(c.Dir, "sub")
			if test.none {
				c.Dir = ""
			}
			if _, err := c.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, _, files := service.Started(0)
			slices.Sort(files)
			if got := fmt.Sprint(files); got != test.want || !strings.Contains(p.said(), test.said) {
				t.Errorf("%s\n%s", got, p.said())
			}
		})
	}
	c, _ := begin(t, &testservers.Remote{}, remote.Options{})
	c.Dir = filepath.Join(c.Dir, "none")
	if _, err := c.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "can't be packed") {
		t.Error(err)
	}
}
