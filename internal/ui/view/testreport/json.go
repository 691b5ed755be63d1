package testreport

import (
	"encoding/json"
	"fmt"
	"maps"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/ui/view/stream"
)

// A JSON informs programs, in messages of a stream.
type JSON struct {
	stream  *stream.JSON
	sources map[string][]byte
	dialect dialect.Dialect
	verbose bool
}

// NewJSON makes a report that goes to a stream.
func NewJSON(s *stream.JSON, sources map[string][]byte, d dialect.Dialect, verbose bool) *JSON {
	return &JSON{s, sources, d, verbose}
}

// Abstract says what is going to be carried out.
func (j *JSON) Abstract(s *testresult.Suite) {
	files := map[string][]string{}
	n := 0
	for _, f := range s.Files {
		for _, r := range f.Runs {
			files[f.Name] = append(files[f.Name], r.Name)
			n++
		}
		if f.Runs == nil {
			files[f.Name] = nil
		}
	}
	j.stream.Info(fmt.Sprintf("Found %s and %s", Count(len(files), "file"), Count(n, "run block")), "test_abstract", map[string]any{"test_abstract": files})
}

// Count is a number of things in words.
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func (j *JSON) live() bool { return j.dialect == dialect.Terraform }

func owner(f *testresult.File, r *testresult.Run) map[string]any {
	of := map[string]any{"@testfile": f.Name}
	if r != nil {
		of["@testrun"] = r.Name
	}
	return of
}

func (j *JSON) tell(f *testresult.File, r *testresult.Run, text, typ string, payload any) {
	message := map[string]any{typ: payload}
	maps.Copy(message, owner(f, r))
	j.stream.Info(text, typ, message)
}

type fileMessage struct {
	Path     string `json:"path"`
	Progress string `json:"progress,omitempty"`
	Status   string `json:"status,omitempty"`
}

type runMessage struct {
	Path     string `json:"path"`
	Run      string `json:"run"`
	Progress string `json:"progress,omitempty"`
	Status   string `json:"status,omitempty"`
}

// FileStarts implements testresult.Report.
func (j *JSON) FileStarts(f *testresult.File) {
	if j.live() {
		j.tell(f, nil, f.Name+"... in progress", "test_file", fileMessage{Path: f.Name, Progress: "starting"})
	}
}

// RunEnds implements testresult.Report.
func (j *JSON) RunEnds(f *testresult.File, r *testresult.Run) {
	if j.live() {
		j.run(f, r, "complete")
	}
}

func (j *JSON) run(f *testresult.File, r *testresult.Run, progress string) {
	j.tell(f, r, fmt.Sprintf("  %q... %s", r.Name, word(r.Status)), "test_run", runMessage{f.Name, r.Name, progress, r.Status.String()})
	if j.verbose {
		j.content(f, r)
	}
	j.stream.DiagnosticsOf(owner(f, r), r.Diags, j.sources)
}

func (j *JSON) content(f *testresult.File, r *testresult.Run) {
	var text json.RawMessage
	var err error
	what := "plan"
	switch {
	case r.State != nil:
		what = "state"
		text, err = jsonstate.Marshal(r.State, r.Schemas)
	case r.Plan != nil && r.PlanOnly:
		text, err = jsonplan.Marshal(r.Plan, r.Tree, nil, j.dialect)
	default:
		return
	}
	if err != nil {
		r.Diags.Add(diag.Diagnostic{Severity: diag.Warning, Code: diag.Unwritable.Name, Summary: "Failed to render test " + what, Detail: err.Error() + "."})
		return
	}
	j.tell(f, r, "-verbose flag enabled, printing "+what, "test_"+what, text)
}

// CleanupStarts implements testresult.Report.
func (j *JSON) CleanupStarts(f *testresult.File) {
	if j.live() {
		j.tell(f, nil, f.Name+"... tearing down", "test_file", fileMessage{Path: f.Name, Progress: "teardown"})
		return
	}
	j.tell(f, nil, f.Name+"... "+word(f.Status), "test_file", fileMessage{Path: f.Name, Status: f.Status.String()})
	for _, r := range f.Runs {
		j.run(f, r, "")
	}
}

type leftObject struct {
	Instance string `json:"instance"`
	Deposed  string `json:"deposed_key,omitempty"`
}

// Cleaned implements testresult.Report.
func (j *JSON) Cleaned(f *testresult.File, r *testresult.Run, diags diag.List, left *state.Snapshot) {
	if left != nil {
		var list []leftObject
		for _, a := range left.Addresses() {
			list = append(list, leftObject{a.Instance.String(), a.Deposed})
		}
		message := map[string]any{"test_cleanup": map[string]any{"failed_resources": list}}
		maps.Copy(message, owner(f, r))
		j.stream.Error(fmt.Sprintf("%s left some resources in state after executing %s/%s, and they need to be cleaned up manually:", view.Engine, f.Name, r.Name), "test_cleanup", message)
	}
	j.stream.DiagnosticsOf(owner(f, r), diags, j.sources)
}

// FileEnds implements testresult.Report.
func (j *JSON) FileEnds(f *testresult.File) {
	if j.live() {
		j.tell(f, nil, f.Name+"... "+word(f.Status), "test_file", fileMessage{f.Name, "complete", f.Status.String()})
	}
}

// Conclusion reports the whole.
func (j *JSON) Conclusion(s *testresult.Suite) {
	j.stream.Info(conclusion(s, j.dialect), "test_summary", map[string]any{"test_summary": struct {
		Status  string `json:"status"`
		Passed  int    `json:"passed"`
		Failed  int    `json:"failed"`
		Errored int    `json:"errored"`
		Skipped int    `json:"skipped"`
	}{s.Status.String(), s.Count(testresult.Pass), s.Count(testresult.Fail), s.Count(testresult.Error), s.Count(testresult.Skip)}})
}
