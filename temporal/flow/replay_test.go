package flow

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"weir.dev/weir/temporal/access"
)

const histories = "testdata/histories"

var record = flag.String("record", "", "`ADDRESS` of a Temporal server whose histories are added to testdata/histories; WEIR_STORE_TOKEN has its token")
var named = flag.String("named", "", "`PREFIX` of the files that -record writes")

// TestReplay plays the histories of older builds to the present workflows. Deployments live
// longer than builds: a workflow that did something else now than it did then would stop for
// good. So a change that this test rejects needs a version of its own; see rounds.Version.
func TestReplay(t *testing.T) {
	if *record != "" {
		write(t, *record)
	}
	files, err := filepath.Glob(filepath.Join(histories, "*.json"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			if err := replay(file); err != nil {
				t.Error(err)
			}
		})
	}
	// A history that can't be replayed is noticed.
	data, err := os.ReadFile(filepath.Join(histories, "first-approved-dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte(strings.Replace(string(data), `"name": "Plan"`, `"name": "Publish"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replay(other); err == nil {
		t.Error("a history with another step is replayed")
	}
}

func replay(file string) error {
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(Deployment, workflow.RegisterOptions{Name: "Deployment"})
	r.RegisterWorkflowWithOptions(Stack, workflow.RegisterOptions{Name: "Stack"})
	return r.ReplayWorkflowHistoryFromJSONFile(nil, file)
}

// write writes the histories of all workflows of a server.
func write(t *testing.T, address string) {
	c, err := client.Dial(client.Options{HostPort: address, HeadersProvider: access.Headers{Token: os.Getenv("WEIR_STORE_TOKEN")}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{PageSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range answer.Executions {
		name, ours := strings.CutPrefix(e.Execution.WorkflowId, "weir/")
		if !ours {
			continue
		}
		all := &history.History{}
		for i := c.GetWorkflowHistory(t.Context(), e.Execution.WorkflowId, e.Execution.RunId, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); i.HasNext(); {
			event, err := i.Next()
			if err != nil {
				t.Fatal(err)
			}
			all.Events = append(all.Events, event)
		}
		data, err := protojson.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer // protojson's own spaces vary from build to build
		if err := json.Indent(&text, data, "", " "); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(histories, *named+strings.ReplaceAll(name, "/", "-")+".json"), append(text.Bytes(), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
