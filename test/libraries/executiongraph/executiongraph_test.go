// Package executiongraph_test compares the execution graphs of plans with their schema,
// docs/execution-graph.schema.json.
package executiongraph_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/testing/simtest"
	"weir.dev/weir/internal/ui/view/jsonplan"
)

const page = "../../../docs/execution-graph.schema.json"

// A graph has the members whose meaning a schema can't say.
type graph struct {
	Steps []struct {
		ID        int
		Kind      string
		FailureOf *int `json:"failure_of"`
	}
	Edges []struct {
		Step, After int
		Reason      string
	}
}

// TestSchema plans random histories with modules, providers, conditions, provisioners and
// replacements. Their graphs fit the schema, lead only to earlier steps, and between them have
// all kinds of steps and reasons that such histories can have.
func TestSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(page)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for seed := range uint64(150) {
		w := simtest.NewWorld()
		for _, step := range simtest.Random(seed + 1) {
			config, diags := simtest.Load(step.Files())
			if diags.HasErrors() {
				break
			}
			options := engine.PlanOptions{SkipRefresh: step.SkipRefresh, AllowDeferral: step.Defer}
			if step.Destroy {
				options.Mode = plan.Destroy
			}
			p, diags := w.Plan(config, options)
			if diags.HasErrors() {
				break
			}
			text, err := jsonplan.Marshal(p, config.Tree, engine.Edges(config, p), dialect.OpenTofu)
			if err != nil {
				t.Fatal(err)
			}
			var show struct {
				Graph json.RawMessage `json:"execution_graph"`
			}
			if err := json.Unmarshal(text, &show); err != nil {
				t.Fatal(err)
			}
			document, err := jsonschema.UnmarshalJSON(bytes.NewReader(show.Graph))
			if err != nil {
				t.Fatalf("seed %d: %s: %s", seed+1, err, show.Graph)
			}
			if err := schema.Validate(document); err != nil {
				t.Fatalf("seed %d: %s\n%#v", seed+1, show.Graph, err)
			}
			check(t, show.Graph, seen)
			w.Apply(config, p, simtest.How{Parallelism: 10}) // what fails is part of the next step
		}
	}
	for _, what := range []string{
		"gate", "open-provider", "close-provider", "open-ephemeral", "close-ephemeral", "read-data", "finalize", "depose",
		"apply", "restore-deposed", "destroy", "forget", "provision", "condition", "output",
		"reference", "depends_on", "replace_triggered_by", "provider", "replace", "create_before_destroy", "dependents_first",
		"set_aside", "restore", "close", "last",
	} {
		if !seen[what] {
			t.Errorf("no plan has %q", what)
		}
	}
}

// check holds a graph to what docs/execution-graph.md says beside the schema.
func check(t *testing.T, text []byte, seen map[string]bool) {
	t.Helper()
	var g graph
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	for n, s := range g.Steps {
		if s.ID != n || s.FailureOf != nil && *s.FailureOf >= n {
			t.Fatalf("step %d has the id %d, failure_of %v", n, s.ID, s.FailureOf)
		}
		seen[s.Kind] = true
	}
	last := 0
	for _, e := range g.Edges {
		if e.After >= e.Step || e.Step >= len(g.Steps) || e.Step < last {
			t.Fatalf("step %d waits for %d of %d, after edges of %d", e.Step, e.After, len(g.Steps), last)
		}
		last = e.Step
		seen[e.Reason] = true
	}
}
