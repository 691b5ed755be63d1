// Package snapshot stores the plans of test runs as text beside the test file, and compares
// them.
//
// It owns the form and the place of these files. It doesn't know how runs are carried out, and
// which of them have a snapshot.
package snapshot

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/diff"
)

// Folder has the snapshots of the test files beside it.
const Folder = "__snapshots__"

const extension = ".txt"

// Codes of problems.
var (
	Missing = diag.Code{Name: "snapshot-missing", Summary: "No snapshot"}
	Differs = diag.Code{Name: "snapshot-differs", Summary: "Snapshot differs"}
)

// Snapshots are those of a module.
type Snapshots struct {
	Dir string // of the module
	// Update: what differs is written.
	Update bool
	// Program is the name in messages that say what to run.
	Program string

	mu               sync.Mutex
	written, removed []string
}

// folder is where the snapshots of a test file are, as seen from the module.
func folder(f *testfile.File) string {
	return path.Join(path.Dir(f.Name), Folder, path.Base(f.Name))
}

// Name is the snapshot of a run, as seen from the module.
func Name(f *testfile.File, r *testfile.Run) string { return path.Join(folder(f), r.Name+extension) }

func (s *Snapshots) disk(name string) string {
	return filepath.Join(s.Dir, filepath.FromSlash(name))
}

// text is a plan as it is kept.
func text(f *testfile.File, r *testfile.Run, p *plan.Plan) (string, error) {
	var b bytes.Buffer
	b.WriteString("# What run \"" + r.Name + "\" of " + f.Name + " plans. Written by test -update.\n\n")
	err := view.Changes(&b, p, view.Options{})
	if err == nil && r.SnapshotOrder {
		err = view.Steps(&b, p, view.Options{})
	}
	return b.String(), err
}

// Judge compares what a run has planned with its snapshot.
func (s *Snapshots) Judge(f *testfile.File, r *testfile.Run, p *plan.Plan) diag.List {
	var diags diag.List
	name := Name(f, r)
	got, err := text(f, r, p)
	if err != nil {
		diags.Add(diag.Unwritable.As("Failed to make a snapshot").Error(r.NameRange, "%s.", err))
		return diags
	}
	data, err := os.ReadFile(s.disk(name))
	missing := errors.Is(err, fs.ErrNotExist)
	want := strings.ReplaceAll(string(data), "\r\n", "\n")
	switch {
	case err != nil && !missing:
		diags.Add(diag.Unreadable.As("Failed to read a snapshot").Error(r.NameRange, "%s: %s.", name, diag.Cause(err)))
	case !missing && want == got:
	case s.Update:
		if err := s.write(name, got); err != nil {
			diags.Add(diag.Unwritable.As("Failed to write a snapshot").Error(r.NameRange, "%s: %s.", name, diag.Cause(err)))
		}
	case missing:
		diags.Add(Missing.Error(r.NameRange, "There is nothing yet that the planned changes could be compared with. This records them in %s:\n    %s test -update", name, s.Program))
	default:
		diags.Add(Differs.Error(r.NameRange, "The planned changes aren't those in %s:\n\n%s\nIf they are right, this records them:\n    %s test -update", name, difference(want, got), s.Program))
	}
	return diags
}

func (s *Snapshots) write(name, text string) error {
	at := s.disk(name)
	err := os.MkdirAll(filepath.Dir(at), 0o777)
	if err == nil {
		err = os.WriteFile(at, []byte(text), 0o666)
	}
	if err == nil {
		s.mu.Lock()
		s.written = append(s.written, name)
		s.mu.Unlock()
	}
	return err
}

// Sweep removes the snapshots of a file that belong to no run, where snapshots are
// written.
func (s *Snapshots) Sweep(f *testfile.File) error {
	if !s.Update {
		return nil
	}
	dir := s.disk(folder(f))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // none exist
	}
	left := len(entries)
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		wanted := slices.ContainsFunc(f.Runs, func(r *testfile.Run) bool { return r.Snapshot && r.Name == name })
		if !ok || wanted {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
		left--
		s.removed = append(s.removed, path.Join(folder(f), e.Name()))
	}
	if left == 0 {
		_ = os.Remove(dir)
		_ = os.Remove(filepath.Dir(dir)) // unless other files have some
	}
	return nil
}

// Changed lists the snapshots that were written and removed.
func (s *Snapshots) Changed() (written, removed []string) {
	slices.Sort(s.written)
	return s.written, s.removed
}

const (
	around   = 2  // lines shown before and after what differs
	maxShown = 80 // lines of a difference
)

// difference shows what differs with a few lines around it.
func difference(want, got string) string {
	type line struct {
		sign byte
		text string
	}
	var all []line
	diff.Lines(want, got, func(sign byte, text string) { all = append(all, line{sign, text}) })
	var b strings.Builder
	shown, gap := 0, false
	for i, l := range all {
		near := false
		for _, other := range all[max(0, i-around):min(len(all), i+around+1)] {
			near = near || other.sign != ' '
		}
		if !near || shown == maxShown {
			gap = true
			continue
		}
		if gap && shown > 0 {
			b.WriteString("    ...\n")
		}
		gap = false
		shown++
		b.WriteString(strings.TrimRight("    "+string(l.sign)+" "+l.text, " ") + "\n")
	}
	if gap && shown == maxShown {
		b.WriteString("    ...\n")
	}
	return b.String()
}
