package testreport_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/ui/view/testreport"
)

func results() *testresult.Suite {
	s := testresult.New([]*testfile.File{{Name: "a.tftest.hcl", Runs: []*testfile.Run{
		{Name: "good", Asserts: make([]*testfile.Assert, 1)}, {Name: "bad", Asserts: make([]*testfile.Assert, 2)}, {Name: "broken"}, {Name: "after"},
	}}})
	f := s.Files[0]
	s.Status, f.Status = testresult.Error, testresult.Error
	for i, status := range []testresult.Status{testresult.Pass, testresult.Fail, testresult.Error, testresult.Skip} {
		f.Runs[i].Status = status
		if status != testresult.Skip {
			f.Runs[i].Began, f.Runs[i].Took = time.Unix(0, 0), 1500*time.Millisecond
		}
	}
	f.Runs[1].Diags.Add(diag.Bug.As("Test assertion failed").New(diag.Error, "a < b"))
	f.Runs[2].Diags.Add(diag.Bug.As("Broken").New(diag.Error, "It is."))
	return s
}

func TestHuman(t *testing.T) {
	for d, want := range map[dialect.Dialect]string{
		dialect.OpenTofu:  "a... fail; run good... pass; run bad... fail; [1] run broken... fail; [1] run after... skip; ; Failure! 1 passed, 2 failed, 1 skipped.; ",
		dialect.Terraform: "a... in progress; run good... pass; run bad... fail; [1] run broken... fail; [1] run after... skip; a... tearing down; a... fail; ; Failure! 1 passed, 2 failed, 1 skipped.; ",
	} {
		var out bytes.Buffer
		h := testreport.NewHuman(&out, &out, testreport.Options{Dialect: d, Diagnostics: func(l diag.List) {
			if len(l) > 0 {
				out.WriteString("[1]")
			}
		}})
		s := results()
		f := s.Files[0]
		h.FileStarts(f)
		for _, r := range f.Runs {
			h.RunEnds(f, r)
		}
		h.CleanupStarts(f)
		h.FileEnds(f)
		h.Conclusion(s)
		got := strings.NewReplacer("\n", "; ", "  run", "run", "[1]run", "[1] run", "[1]  run", "[1] run", `"`, "", ".tftest.hcl", "").Replace(out.String())
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", d, got, want)
		}
	}
}

func TestConclusionOfNothing(t *testing.T) {
	for d, want := range map[dialect.Dialect]string{dialect.OpenTofu: "\nExecuted 0 tests.\n", dialect.Terraform: "\nSuccess! 0 passed, 0 failed.\n"} {
		var out bytes.Buffer
		testreport.NewHuman(&out, &out, testreport.Options{Dialect: d}).Conclusion(&testresult.Suite{Status: testresult.Pass})
		if out.String() != want {
			t.Errorf("%s: %q", d, &out)
		}
	}
}

func TestJUnit(t *testing.T) {
	got, err := testreport.JUnit(results(), false, func(l diag.List) string { return l[0].Summary + " ]]> <&" })
	if err != nil {
		t.Fatal(err)
	}
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="a.tftest.hcl" tests="4" skipped="1" failures="1" errors="1">
    <testcase name="good" classname="a.tftest.hcl" time="1.5" timestamp="1970-01-01T00:00:00Z"></testcase>
    <testcase name="bad" classname="a.tftest.hcl" time="1.5" timestamp="1970-01-01T00:00:00Z">
      <failure message="1 of 2 assertions failed: a &lt; b"><![CDATA[Test assertion failed ]]]]><![CDATA[> <&]]></failure>
    </testcase>
    <testcase name="broken" classname="a.tftest.hcl" time="1.5" timestamp="1970-01-01T00:00:00Z">
      <error message="Encountered an error"><![CDATA[Broken ]]]]><![CDATA[> <&]]></error>
    </testcase>
    <testcase name="after" classname="a.tftest.hcl">
      <skipped message="Testcase skipped due to file level errors"></skipped>
    </testcase>
  </testsuite>
</testsuites>
`
	if string(got) != want {
		t.Errorf("%s", got)
	}
}
