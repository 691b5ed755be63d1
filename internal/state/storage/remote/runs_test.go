package remote

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"weir.dev/weir/internal/state/storage/storagetest"
	"weir.dev/weir/internal/state/storage/testservers"
)

// running is a workspace whose runs are at a service.
func running(t *testing.T, service *testservers.Remote) *Runs {
	t.Helper()
	b := opened(t, true, with(nil, "name", "net"), environment(serve(t, service), nil))
	storagetest.Do(t, b.CreateWorkspace(t.Context(), "net"))
	if runs, err := b.Runs(t.Context(), "net"); runs != nil || err != nil {
		t.Fatalf("runs of a workspace of the mode local: %v", err)
	}
	service.Set("net", "remote")
	runs, err := b.Runs(t.Context(), "net")
	storagetest.Do(t, err)
	return runs
}

// TestRuns makes a run and reads all that belongs to it.
func TestRuns(t *testing.T) {
	ctx := t.Context()
	service := &testservers.Remote{Runs: testservers.Runs{Plan: strings.Repeat("x", most) + "end", JSON: `{"a":1}`, Cost: "finished", Policy: "soft_failed", Stages: map[string]string{"pre_plan": "passed", "post_plan": "awaiting_override", "pre_apply": "pending"}, Working: "sub", Before: "run-9"}}
	r := running(t, service)
	if got := fmt.Sprint(r.Host(), r.Name(), r.Workspace(), r.Subdirectory(), r.URL("run-1")); got != "app.example.comorg/netnetsubhttps://app.example.com/app/org/net/runs/run-1" {
		t.Error(got)
	}
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	storagetest.Do(t, w.WriteHeader(&tar.Header{Name: "main.tf", Typeflag: tar.TypeReg}))
	storagetest.Do(t, w.Close())
	storagetest.Do(t, z.Close())
	o := Options{Save: true, RefreshOnly: true}
	configuration, err := r.Upload(ctx, o, archive.Bytes())
	storagetest.Do(t, err)
	if there, err := r.Uploaded(ctx, configuration); !there || err != nil {
		t.Error(there, err)
	}
	run, err := r.Create(ctx, configuration, o)
	storagetest.Do(t, err)
	if again, err := r.of(ctx, configuration); err != nil || again.ID != run.ID {
		t.Errorf("%v %v", again, err)
	}
	if none, err := r.of(ctx, "cv-none"); none != nil || err != nil {
		t.Errorf("%v %v", none, err)
	}
	if why, err := r.Blocked(ctx, run.ID); err != nil || !strings.Contains(why, "run-9") {
		t.Error(why, err)
	}
	if run, err = r.Run(ctx, run.ID); err != nil || !r.Ours(run) || run.Attributes.Status != "planning" || !run.Attributes.RefreshOnly {
		t.Errorf("%+v %v", run, err)
	}
	phase, err := r.Phase(ctx, Planning, run.Relationships.Plan.ID())
	storagetest.Do(t, err)
	first, next, whole, err := r.Log(ctx, phase, 0)
	if err != nil || whole || len(first) != most-1 || !phase.Begun() || phase.Ended() {
		t.Error(len(first), whole, err)
	}
	rest, _, whole, err := r.Log(ctx, phase, next)
	if err != nil || !whole || string(rest) != "xend" {
		t.Error(string(rest), whole, err)
	}
	for _, redacted := range []bool{true, false} {
		if plan, err := r.PlanJSON(ctx, run.Relationships.Plan.ID(), redacted); err != nil || strings.TrimSpace(string(plan)) != `{"a":1}` {
			t.Errorf("%s %v", plan, err)
		}
	}
	stages, err := r.Stages(ctx, run.ID)
	if err != nil || len(stages) != 3 {
		t.Fatal(stages, err)
	}
	stage, err := r.Stage(ctx, stages[1].ID)
	if err != nil || stage.Attributes.Status != "awaiting_override" || !stage.Attributes.Actions.Overridable || !stage.Attributes.Permissions.Override {
		t.Errorf("%+v %v", stage, err)
	}
	if task, err := r.TaskResult(ctx, stage.Relationships.Results.Data[0].ID); err != nil || task.Attributes.Name != "scan" || task.Attributes.Level != "advisory" {
		t.Errorf("%+v %v", task, err)
	}
	evaluations, err := r.Evaluations(ctx, stage.ID)
	storagetest.Do(t, err)
	if outcomes, err := r.Outcomes(ctx, evaluations[0].ID); err != nil || outcomes[0].Attributes.Set != "buckets" || outcomes[0].Attributes.Outcomes[0].Name != "private" {
		t.Errorf("%+v %v", outcomes, err)
	}
	if cost, err := r.Cost(ctx, run.Relationships.CostEstimate.ID()); err != nil || cost.Attributes.Proposed != "25.0" || cost.Attributes.All != 2 {
		t.Errorf("%+v %v", cost, err)
	}
	policy := run.Relationships.PolicyChecks.Data[0].ID
	if p, err := r.PolicyCheck(ctx, policy); err != nil || p.Attributes.Status != "soft_failed" || !p.Attributes.Permissions.Override {
		t.Errorf("%+v %v", p, err)
	}
	if text, err := r.PolicyOutput(ctx, policy); err != nil || !strings.Contains(string(text), "no-public-buckets") {
		t.Errorf("%s %v", text, err)
	}
	storagetest.Do(t, r.OverridePolicy(ctx, policy))
	storagetest.Do(t, r.OverrideStage(ctx, stage.ID))
	storagetest.Do(t, r.Act(ctx, run.ID, "apply"))
	if err := r.Act(ctx, run.ID, "apply"); err == nil {
		t.Error("confirmed twice")
	}

	service.Runs.JSON = ""
	if plan, err := r.PlanJSON(ctx, run.Relationships.Plan.ID(), true); plan != nil || err != nil {
		t.Errorf("%s %v", plan, err)
	}
	if configuration, err = r.Upload(ctx, o, []byte("no archive")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Uploaded(ctx, configuration); err == nil || !strings.Contains(err.Error(), "it is broken") {
		t.Error(err)
	}
	if _, err := r.Create(ctx, "cv-none", o); err == nil {
		t.Error("a run without a configuration")
	}
	if id := (Link{}).ID(); id != "" {
		t.Error(id)
	}
}

// TestCreateOnce: a run whose answer was lost isn't started again.
func TestCreateOnce(t *testing.T) {
	service := &testservers.Remote{}
	r := running(t, service)
	configuration, err := r.Upload(t.Context(), Options{}, nil)
	storagetest.Do(t, err)
	service.Lose("/runs")
	run, err := r.Create(t.Context(), configuration, Options{Destroy: true, Targets: []string{"a.b"}, Replace: []string{"a.b"}, Invoke: "action.a.b", Generate: true, NoRefresh: true, Variables: map[string]string{"v": "1"}})
	if err != nil || run.ID == "" || !run.Attributes.Destroy {
		t.Errorf("%+v %v", run, err)
	}
	if again, _, _ := service.Started(1); again != nil {
		t.Error("there are two runs")
	}
}

func TestAllowed(t *testing.T) {
	for _, test := range []struct {
		runs        testservers.Runs
		plan, apply string
	}{
		{testservers.Runs{}, "", ""},
		{testservers.Runs{Forbidden: true}, "no permission to plan", "no permission to apply"},
		{testservers.Runs{Repository: map[string]any{"identifier": "a/b"}}, "", "commit the change there"},
	} {
		r := running(t, &testservers.Remote{Runs: test.runs})
		for apply, want := range map[bool]string{false: test.plan, true: test.apply} {
			if err := r.Allowed(apply); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("apply %t: %v", apply, err)
			}
		}
	}
}

// TestBlocked: what a lock says of a run that waits.
func TestBlocked(t *testing.T) {
	for terse, want := range map[bool]string{false: "the workspace is locked: maintenance", true: "the workspace is locked"} {
		r := running(t, &testservers.Remote{Terse: terse})
		if why, err := r.Blocked(t.Context(), "run-1"); why != "" || err != nil {
			t.Error(why, err)
		}
		if got, err := r.s.lock(t.Context(), r.w.ID, "maintenance"); !got || err != nil {
			t.Fatal(err)
		}
		if why, err := r.Blocked(t.Context(), "run-1"); why != want || err != nil {
			t.Error(why, err)
		}
	}
}
