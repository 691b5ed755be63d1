package checkresults_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/resource/checkresults"
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

func of(kind, address, instance string) checkresults.Subject {
	return checkresults.Subject{Kind: kind, Address: address, Instance: instance}
}

func TestSums(t *testing.T) {
	s := checkresults.New()
	s.Declare("resource", "t.none")
	s.Unexpanded("resource", "t.unknown")
	s.Add(of("resource", "t.many", "t.many[1]"), 4, []eval.Outcome{pass(), fail("b"), {Status: eval.Unknown}, fail("a")})
	s.Add(of("resource", "t.many", "t.many[0]"), 2, []eval.Outcome{pass()})
	s.Add(of("resource", "t.many", "t.many[0]"), 2, []eval.Outcome{{Status: eval.Unknown}})
	s.Add(of("resource", "t.half", "t.half"), 2, []eval.Outcome{pass()})
	s.Add(of("check", "check.z", "check.z"), 2, []eval.Outcome{{Status: eval.Failed}, fail("m")})
	s.Add(of("check", "check.a", "check.a"), 0, nil)
	s.Add(of("output_value", "module.m.output.o", "module.m[0].output.o"), 2, []eval.Outcome{{Status: eval.Unknown}, pass()})
	s.Unevaluated(of("resource", "t.many", "t.many[0]"))
	s.Unevaluated(of("resource", "t.left", "t.left"))
	want := `check check.a pass (check.a pass [])
check check.z error (check.z error ["m"])
output_value module.m.output.o unknown (module.m[0].output.o unknown [])
resource t.half unknown (t.half unknown [])
resource t.left unknown (t.left unknown [])
resource t.many fail (t.many[0] unknown []) (t.many[1] fail ["b" "a"])
resource t.none pass
resource t.unknown unknown
`
	if got := text(s.Results()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestAgain: of what is known from before only the instances are left, and the
// outcomes for variables until there are others.
func TestAgain(t *testing.T) {
	first := checkresults.New()
	first.Add(of("resource", "t.r", "t.r[0]"), 1, []eval.Outcome{fail("old")})
	first.Add(of("resource", "t.r", "t.r[1]"), 1, []eval.Outcome{fail("old")})
	first.Add(of("input_variable", "var.a", "var.a"), 1, []eval.Outcome{fail("kept")})
	first.Add(of("input_variable", "var.b", "var.b"), 1, []eval.Outcome{fail("old")})
	first.Unexpanded("resource", "t.unknown")
	first.Declare("resource", "t.none")
	earlier := first.Results()
	before := fmt.Sprint(earlier)

	s := checkresults.Again(earlier)
	s.Add(of("resource", "t.r", "t.r[0]"), 2, []eval.Outcome{pass()})
	s.Add(of("resource", "t.r", "t.r[0]"), 2, []eval.Outcome{pass()})
	s.Add(of("input_variable", "var.b", "var.b"), 1, []eval.Outcome{pass()})
	want := `input_variable var.a fail (var.a fail ["kept"])
input_variable var.b pass (var.b pass [])
resource t.none pass
resource t.r unknown (t.r[0] pass []) (t.r[1] unknown [])
resource t.unknown unknown
`
	if got := text(s.Results()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if fmt.Sprint(earlier) != before {
		t.Errorf("earlier results became %v", earlier)
	}
}

func TestParallel(t *testing.T) {
	s := checkresults.New()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			s.Declare("resource", "t.r")
			s.Add(of("resource", "t.r", fmt.Sprintf("t.r[%d]", i%10)), 10, []eval.Outcome{pass()})
		})
	}
	wg.Wait()
	if r := s.Results(); len(r) != 1 || len(r[0].Objects) != 10 {
		t.Errorf("%v", r)
	}
}
