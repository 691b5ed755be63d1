// Package orphans stores the states of tests with real objects until all objects are
// destroyed, so that a later command can destroy the objects of a killed test.
//
// It owns where these states are and which are nobody's any more. It doesn't know how tests
// are run; what is written when is package lockedstate's.
package orphans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/apply"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/local"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
	"weir.dev/weir/internal/workspace/lockedstate"
)

// A Shelf is the directory where states of tests are kept: one directory for
// each, with the state, its journal and a note of whose it is.
type Shelf struct {
	Dir string
	// Guards is how the files begin that the guards of this process's providers hold;
	// empty without guards.
	Guards string
	// Open finds the state in the files that are named.
	Open func(storage.Override) (*lockedstate.Session, diag.List)
	// OnClose adds something to do when the command has ended, on every path.
	OnClose func(func())
}

// GuardDir is where guards have their files, in the directory of all states.
const GuardDir = ".guards"

const (
	noteName  = "test.json"
	answers   = "answers" // of providers, a directory beside the state
	operation = "test"
)

// A State belongs to this process, which has the lock. The label is that of the
// run that changed it last.
type State struct {
	testresult.Label
	guards  string // as the note has it
	dir     string
	session *lockedstate.Claimed
	record  *lockedstate.Recorder // of the apply under way
}

// Begin makes a place for a state.
func (s Shelf) Begin(ctx context.Context, l testresult.Label) (*State, diag.List) {
	for again := true; ; again = false {
		dir, err := s.directory(l)
		if err == nil {
			k, diags := s.take(ctx, dir)
			if k != nil {
				k.guards = s.Guards
				return k, nil
			}
			if _, err = os.Stat(dir); err == nil {
				for i := range diags {
					diags[i].Severity = diag.Error
				}
				return nil, diags
			}
		}
		if !again || !errors.Is(err, os.ErrNotExist) {
			return nil, NotKept.List("Nothing was done, because there is no place for a state that would remember it: %s.", diag.Cause(err))
		}
		// Somebody has just cleaned up.
	}
}

// directory makes a directory for a state.
func (s Shelf) directory(l testresult.Label) (string, error) {
	if err := os.MkdirAll(s.Dir, 0o777); err != nil {
		return "", err
	}
	return os.MkdirTemp(s.Dir, strings.Map(plain, l.File)+"-*")
}

// plain is a letter as names of directories have it.
func plain(r rune) rune {
	if r == '.' || r == '-' || r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
		return r
	}
	return '_'
}

// take locks and reads the state in a directory.
func (s Shelf) take(ctx context.Context, dir string) (*State, diag.List) {
	opened, diags := s.Open(storage.Override{State: filepath.Join(dir, local.StateFile), Backup: "-"})
	if opened == nil {
		return nil, diags
	}
	locked, diags := opened.Lock(ctx, operation, lockedstate.Locking{})
	if diags := diags.Only(diag.Error); diags.HasErrors() {
		return nil, NotKept.As("State of a test in use").Warnings("The state in %s is left alone, because it can't be locked: most likely the test that it belongs to is still under way. %s", dir, diags[0].Detail)
	}
	s.OnClose(locked.Unlock)
	if diags := opened.Read(ctx).Only(diag.Error); diags.HasErrors() {
		locked.Unlock()
		return nil, diags
	}
	return &State{dir: dir, session: locked}, nil
}

// Record begins an apply; the outputs are those of the runs so far. The journal is
// nil where nothing happens to objects.
func (k *State) Record(ctx context.Context, l testresult.Label, outputs map[string]cty.Value, p *plan.Plan, stop <-chan struct{}) (apply.Journal, diag.List) {
	if err := k.forgetAnswers(); err != nil {
		return nil, NotKept.List("Nothing was done, because there is no place for what providers answer in %s: %s.", k.dir, diag.Cause(err))
	}
	begins := *p
	start := state.Empty()
	if p.Refreshed != nil {
		start = p.Refreshed.Clone()
	}
	start.Outputs = outputsOf(outputs)
	begins.Refreshed = start
	err := k.session.Save(ctx, start)
	if err == nil && l != k.Label {
		err = note(k.dir, noted{l, k.guards})
		k.Label = l
	}
	if err != nil {
		return nil, NotKept.List("Nothing was done, because the state in %s, which would remember it, can't be written: %s.", k.dir, diag.Cause(err))
	}
	r, diags := k.session.Record(ctx, &begins, stop)
	k.record = r
	if r == nil {
		return nil, diags
	}
	return objects{r}, diags
}

// objects journals what is done to objects. The outputs of the kept state are
// those of runs, which come from elsewhere.
type objects struct{ apply.Journal }

func (objects) Output(string, *state.Output) error { return nil }

// outputsOf are the outputs of runs as outputs of a state.
func outputsOf(runs map[string]cty.Value) map[string]state.Output {
	all := map[string]state.Output{}
	for name, v := range runs {
		plain, marks := v.UnmarkDeepWithPaths()
		// Anything that was only planned may not be known; there is nothing to remember.
		if !plain.IsWhollyKnown() {
			continue
		}
		all[name] = state.Output{Value: plain, Sensitive: len(marks) > 0}
	}
	return all
}

// Save ends what Record began.
func (k *State) Save(ctx context.Context, after *state.Snapshot, outputs map[string]cty.Value) diag.List {
	if after != nil {
		after = after.Clone()
		after.Outputs = outputsOf(outputs)
	}
	r := k.record
	k.record = nil
	return k.session.Keep(context.WithoutCancel(ctx), r, after)
}

// Drop ends it: there is nothing left.
func (k *State) Drop() error {
	k.Release()
	err := os.RemoveAll(k.dir)
	_ = os.Remove(filepath.Dir(k.dir)) // unless there are others
	return err
}

// Release leaves it for others.
func (k *State) Release() { k.session.Unlock() }

// Place is the file of the state.
func (k *State) Place() string { return filepath.Join(k.dir, local.StateFile) }

// Doubts are objects that were asked for and may exist.
func (k *State) Doubts() []string {
	var list []string
	for _, o := range k.session.Doubts() {
		text := o.Object.String()
		if o.Key != "" {
			text += fmt.Sprintf(" (%s = %q)", o.Key, o.ID)
		}
		list = append(list, text)
	}
	return list
}

// InDoubt are Doubts as they were journalled.
func (k *State) InDoubt() []journal.Operation { return k.session.Doubts() }

// Forget says that none of the objects in doubt exists.
func (k *State) Forget() error { return k.session.Settle(nil) }

// note writes whose state a directory has.
func note(dir string, n noted) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, noteName), text, 0o600)
}

// A noted label comes with the guards of the process that wrote it.
type noted struct {
	testresult.Label
	Guards string `json:"guards,omitempty"`
}

// noteIn reads whose state a directory has. Without a note nothing was done yet.
func noteIn(dir string) (n noted, ok bool, err error) {
	text, err := readlimit.File(filepath.Join(dir, noteName))
	if errors.Is(err, os.ErrNotExist) {
		return n, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	return n, err == nil, err
}

// directories are those that states are kept in, this process's own included.
func (s Shelf) directories() []string {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil // nothing was ever kept
	}
	var list []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != GuardDir {
			list = append(list, filepath.Join(s.Dir, e.Name()))
		}
	}
	return list
}

// Waiting counts the states that wait to be cleaned up, and those that runs
// under way may still have.
func (s Shelf) Waiting() int {
	n := 0
	for _, dir := range s.directories() {
		if _, ok, err := noteIn(dir); ok || err != nil {
			n++
		}
	}
	return n
}

// Left takes the states that ended processes have left. Those of runs under way
// are passed over.
func (s Shelf) Left(ctx context.Context) ([]*State, diag.List) {
	var list []*State
	var diags diag.List
	for _, dir := range s.directories() {
		n, ok, err := noteIn(dir)
		if err != nil {
			diags.Add(NotKept.As("Unreadable state of a test").New(diag.Error, "The note in %s, which says what test made the state there, can't be read: %s.", dir, diag.Cause(err)))
			continue
		}
		k, more := s.take(ctx, dir)
		if k == nil {
			diags.Append(more)
			continue
		}
		if !ok { // it was ended before anything was done
			_ = k.Drop()
			continue
		}
		k.Label, k.guards = n.Label, n.Guards
		list = append(list, k)
	}
	return list, diags
}

// Objects are what the state has.
func (k *State) Objects() *state.Snapshot {
	objects := state.Empty()
	objects.Objects = maps.Clone(k.session.Snapshot().Objects)
	return objects
}

// Outputs are those of the runs up to the last that changed the state.
func (k *State) Outputs() map[string]cty.Value {
	outputs := map[string]cty.Value{}
	for name, o := range k.session.Snapshot().Outputs {
		if outputs[name] = o.Value; o.Sensitive {
			outputs[name] = o.Value.Mark(value.Sensitive)
		}
	}
	return outputs
}
