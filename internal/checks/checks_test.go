package checks_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"weir.dev/weir/internal/checks"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/state"
)

func pass() eval.Outcome               { return eval.Outcome{Status: eval.Pass} }
func fail(message string) eval.Outcome { return eval.Outcome{Status: eval.Fail, Message: message} }

func text(results []state.CheckResult) string {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%s %s %s", r.Kind, r.Address, r.Status)
		for _, o := range r.Objects {
			fmt.Fprintf(&b, " (%s %s %q)", o.Address, o.Status, o.Messages)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestSums(t *testing.T) {
	s := checks.New(nil)
	s.Declare("resource", "t.none")
	s.Add("resource", "t.many", "t.many[1]", []eval.Outcome{pass(), fail("b"), {Status: eval.Unknown}, fail("a")})
	s.Add("resource", "t.many", "t.many[0]", []eval.Outcome{pass()})
	s.Add("resource", "t.many", "t.many[0]", []eval.Outcome{{Status: eval.Unknown}})
	s.Add("check", "check.z", "check.z", []eval.Outcome{{Status: eval.Failed}, fail("m")})
	s.Add("check", "check.a", "check.a", nil)
	s.Add("output_value", "module.m.output.o", "module.m[0].output.o", []eval.Outcome{{Status: eval.Unknown}, pass()})
	s.Unevaluated("resource", "t.many", "t.many[0]")
	s.Unevaluated("resource", "t.left", "t.left")
	want := `check check.a pass (check.a pass [])
check check.z error (check.z error ["m"])
output_value module.m.output.o unknown (module.m[0].output.o unknown [])
resource t.left unknown (t.left unknown [])
resource t.many fail (t.many[0] unknown []) (t.many[1] fail ["b" "a"])
resource t.none pass
`
	if got := text(s.Results()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestLater: later outcomes replace those of the same instance only, and
// leave the earlier results as they are.
func TestLater(t *testing.T) {
	first := checks.New(nil)
	first.Add("resource", "t.r", "t.r[0]", []eval.Outcome{fail("old")})
	first.Add("resource", "t.r", "t.r[1]", []eval.Outcome{fail("kept")})
	earlier := first.Results()
	before := fmt.Sprint(earlier)

	s := checks.New(earlier)
	if !reflect.DeepEqual(s.Results(), earlier) {
		t.Errorf("got %v, want %v", s.Results(), earlier)
	}
	s.Reset("resource", "t.r", "t.r[0]")
	s.Add("resource", "t.r", "t.r[0]", []eval.Outcome{pass()})
	s.Add("resource", "t.r", "t.r[1]", []eval.Outcome{fail("more")})
	s.Reset("check", "check.new", "check.new")
	want := `check check.new pass
resource t.r fail (t.r[0] pass []) (t.r[1] fail ["kept" "more"])
`
	if got := text(s.Results()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if fmt.Sprint(earlier) != before {
		t.Errorf("earlier results became %v", earlier)
	}
}

func TestParallel(t *testing.T) {
	s := checks.New(nil)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			s.Declare("resource", "t.r")
			s.Add("resource", "t.r", fmt.Sprintf("t.r[%d]", i%10), []eval.Outcome{pass()})
		})
	}
	wg.Wait()
	if r := s.Results(); len(r) != 1 || len(r[0].Objects) != 10 {
		t.Errorf("%v", r)
	}
}
