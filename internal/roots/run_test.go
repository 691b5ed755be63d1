package roots

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state"
)

// TestAway: a root with two reads has one place. The read that can't give it back continues as
// soon as its own wait is over, and the place is taken again once.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRun(nil, nil, false)
		r.Begin()
		first, second := make(chan struct{}), make(chan struct{})
		var over [2]bool
		for i, done := range []chan struct{}{first, second} {
			go func() { over[i] = r.away(context.Background(), done) }()
			synctest.Wait()
		}
		close(second)
		if synctest.Wait(); over != [2]bool{false, true} {
			t.Errorf("after the second wait ended: %v", over)
		}
		close(first)
		if synctest.Wait(); over != [2]bool{true, true} || len(r.places) != 1 {
			t.Errorf("at the end: %v, %d places taken", over, len(r.places))
		}
	})
}

// TestAwait: a root waits for the outputs that it reads of an upstream root, and for all that this does where
// it has an edge for another reason. A failure counts only if an output is missing.
func TestAwait(t *testing.T) {
	const read, after = "data.terraform_remote_state.up", "after"
	for _, c := range []struct {
		name    string
		edges   []string
		outputs []string
		ends    bool // the upstream root ends well
		before  bool // it didn't wait for that
		ok      bool
	}{
		{"an output", []string{read}, []string{"a"}, false, true, true},
		{"another output", []string{read}, []string{"b"}, false, false, false},
		{"no output in the end", []string{read}, nil, true, false, true},
		{"an explicit edge too", []string{read, after}, []string{"a"}, true, false, true},
		{"only an explicit edge", []string{after}, []string{"a"}, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up, down := &Root{Name: "up"}, &Root{Name: "down"}
				for _, address := range c.edges {
					down.upstream(up, Read{Address: address})
				}
				r := NewRun(nil, []*Root{up, down}, false)
				r.tasks[down].reads = map[string][]string{read: {"a"}}
				r.tasks[up].started = true
				r.Begin()
				r.Begin()
				over, failed := false, []string(nil)
				go func() {
					failed = r.Await(context.Background(), down)
					over = true
				}()
				for _, name := range c.outputs {
					synctest.Wait()
					r.output(up, name, &state.Output{Value: cty.True})
				}
				synctest.Wait()
				if over != c.before {
					t.Errorf("over before the upstream root is: %v", over)
				}
				r.End(up, c.ends)
				synctest.Wait()
				if !over || (len(failed) == 0) != c.ok {
					t.Errorf("at the end: %v, failed are %v", over, failed)
				}
			})
		})
	}
}

func TestOutputIn(t *testing.T) {
	for text, want := range map[string]string{
		"x.outputs.a": "a", `x.outputs["a"].b`: "a", "x.backend": "", "x.outputs": "any", "x": "any", "x.outputs[0]": "any", `x["outputs"].a`: "any",
	} {
		traversal, problems := hclsyntax.ParseTraversalAbs([]byte(text), "", hcl.InitialPos)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		name, ok := outputIn(traversal[1:])
		if !ok {
			name = "any"
		}
		if name != want {
			t.Errorf("%s refers to %q, want %q", text, name, want)
		}
	}
}
