// Package testresult defines the results of tests, between package moduletest, which runs them, and
// the views.
package testresult

import (
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
)

// Status is what came of a run, a file or a suite, the worse the greater.
type Status uint8

// The statuses. Error is for what couldn't be carried out, Fail for conditions
// that don't hold.
const (
	Pending Status = iota
	Skip
	Pass
	Fail
	Error
)

var statusNames = [...]string{"pending", "skip", "pass", "fail", "error"}

func (s Status) String() string { return statusNames[s] }

// A Suite has the files that are carried out together.
type Suite struct {
	Status Status
	Files  []*File
}

// A File is a test file with what came of it.
type File struct {
	*testfile.File
	Status Status
	Runs   []*Run
}

// A Run is a run with what came of it.
type Run struct {
	*testfile.Run
	Status Status
	Diags  diag.List

	// Began and Took say when it was carried out; Began is zero if it wasn't.
	Began time.Time
	Took  time.Duration

	// Samples is how often it was carried out with made-up values.
	Samples int

	// Plan, State and what is needed to show them are there where they're asked
	// for; State is nil unless the plan was applied.
	Plan    *plan.Plan
	State   *state.Snapshot
	Tree    *program.Tree
	Schemas map[addr.Provider]*provider.Schemas
}

// Worsen makes the status at least as bad.
func (r *Run) Worsen(s Status) { r.Status = max(r.Status, s) }

// New lists the files and runs that are to be carried out.
func New(files []*testfile.File) *Suite {
	s := &Suite{}
	for _, f := range files {
		file := &File{File: f}
		for _, run := range f.Runs {
			file.Runs = append(file.Runs, &Run{Run: run})
		}
		s.Files = append(s.Files, file)
	}
	return s
}

// Count counts the runs of a status.
func (s *Suite) Count(status Status) int {
	n := 0
	for _, f := range s.Files {
		for _, r := range f.Runs {
			if r.Status == status {
				n++
			}
		}
	}
	return n
}

// A Label says whose a state is that was kept.
type Label struct {
	File string `json:"file"`
	Key  string `json:"state"` // which of the file's states
	Run  string `json:"run"`   // that changed it last
}

// A Report learns what happens, by one goroutine at a time.
type Report interface {
	FileStarts(f *File)
	RunEnds(f *File, r *Run)
	CleanupStarts(f *File)
	// Cleaned reports a state that was destroyed; left has the objects that are still there,
	// nil without.
	Cleaned(f *File, r *Run, diags diag.List, left *state.Snapshot)
	FileEnds(f *File)
}

// Reports tell several at once.
type Reports []Report

// FileStarts implements Report.
func (all Reports) FileStarts(f *File) {
	for _, r := range all {
		r.FileStarts(f)
	}
}

// RunEnds implements Report.
func (all Reports) RunEnds(f *File, run *Run) {
	for _, r := range all {
		r.RunEnds(f, run)
	}
}

// CleanupStarts implements Report.
func (all Reports) CleanupStarts(f *File) {
	for _, r := range all {
		r.CleanupStarts(f)
	}
}

// Cleaned implements Report.
func (all Reports) Cleaned(f *File, run *Run, diags diag.List, left *state.Snapshot) {
	for _, r := range all {
		r.Cleaned(f, run, diags, left)
	}
}

// FileEnds implements Report.
func (all Reports) FileEnds(f *File) {
	for _, r := range all {
		r.FileEnds(f)
	}
}
