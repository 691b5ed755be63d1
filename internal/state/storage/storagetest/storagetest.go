// Package storagetest tests the contract of every backend.
package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir.dev/weir/internal/state/storage"
)

// A Subject is the backend that is tested.
type Subject struct {
	// New opens the backend as another process would: what was written
	// through one is seen by all of the same test, and locks exclude.
	New func(t *testing.T) storage.Backend
	// OneWorkspace is set for backends without workspaces.
	OneWorkspace bool
	// NoDefault is set for backends without a default workspace.
	NoDefault bool
	// NoLock is set for backends that are configured without a lock.
	NoLock bool
	// AnyID is set for backends that release a lock whatever its id.
	AnyID bool
	// ServerID is set for backends whose server gives locks their ids.
	ServerID bool
	// NoHolder is set for backends whose locks don't say who holds them.
	NoHolder bool
	// Proof is set for backends whose lock is held for certain while it is held:
	// it ends with its holder.
	Proof bool
}

// Run runs the suite; each test gets a fresh place from open.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s Subject)
	}{
		{"read and write", readWrite},
		{"sizes", sizes},
		{"lock", lock},
		{"wrong id", wrongID},
		{"write while locked", writeWhileLocked},
		{"one of many gets the lock", race},
		{"left behind", leftBehind},
		{"many find a lock that was left behind", manyTakeOver},
		{"changed by others", changedByOthers},
		{"readers see whole states", wholeStates},
		{"workspaces", workspaces},
		{"notes", notes},
		{"bad workspaces", badWorkspaces},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func state(t *testing.T, b storage.Backend, workspace string) storage.Store {
	t.Helper()
	s, err := b.State(workspace)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// main is the workspace of most tests.
func (s Subject) main() string {
	if s.NoDefault {
		return "a-main" // the first by order
	}
	return storage.DefaultWorkspace
}

func (s Subject) open(t *testing.T) storage.Store {
	t.Helper()
	return state(t, s.New(t), s.main())
}

func wantRead(t *testing.T, s storage.Store, want string) {
	t.Helper()
	got, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Fatalf("read %d bytes %.60q, want %d bytes %.60q", len(got), got, len(want), want)
	}
	if want == "" && got != nil {
		t.Fatal("no state must be nil")
	}
}

func mustWrite(t *testing.T, s storage.Store, content string) {
	t.Helper()
	if err := s.Write(t.Context(), []byte(content)); err != nil {
		t.Fatal(err)
	}
}

func mustLock(t *testing.T, s storage.Store, info storage.LockInfo) string {
	t.Helper()
	id, err := s.Lock(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func info(operation string) storage.LockInfo {
	return storage.NewLockInfo(operation, "someone@somewhere", "1.12.6")
}

func readWrite(t *testing.T, s Subject) {
	a, b := s.open(t), s.open(t)
	wantRead(t, a, "")
	mustWrite(t, a, `{"n":1}`)
	wantRead(t, a, `{"n":1}`)
	wantRead(t, b, `{"n":1}`)
	mustWrite(t, b, `{"n":2}`)
	wantRead(t, a, `{"n":2}`)
	mustWrite(t, a, `{"n":2}`)
	wantRead(t, s.open(t), `{"n":2}`)
}

func sizes(t *testing.T, s Subject) {
	a := s.open(t)
	for _, n := range []int{1, 1 << 20, 100, 3 << 20, 7} {
		content := string(bytes.Repeat([]byte("x"), n))
		mustWrite(t, a, content)
		wantRead(t, s.open(t), content)
	}
}

func lock(t *testing.T, s Subject) {
	a, b := s.open(t), s.open(t)
	first := info("first")
	id := mustLock(t, a, first)
	if s.NoLock {
		if id != "" {
			t.Errorf("a lock was made up: %q", id)
		}
		if err := a.Unlock(t.Context(), id); err != nil {
			t.Error(err)
		}
		if err := b.Unlock(t.Context(), first.ID); !errors.Is(err, storage.ErrNoLock) {
			t.Errorf("a lock that can't be there is released: %v", err)
		}
		return
	}
	if (id == first.ID) == s.ServerID {
		t.Errorf("id %q of a lock that names itself %q", id, first.ID)
	}
	for range 2 {
		_, err := b.Lock(t.Context(), info("second"))
		var held *storage.LockError
		if errors.As(err, &held) && s.NoHolder {
			continue
		}
		if !errors.As(err, &held) || held.Holder == nil {
			t.Fatalf("error %v, want one that names the holder", err)
		}
		if h := held.Holder; h.ID != id || h.Operation != "first" || h.Who != first.Who || h.Version != first.Version {
			t.Errorf("holder %v", h)
		}
	}
	if teller, ok := s.open(t).(storage.Held); ok {
		if h, err := teller.Holder(t.Context()); err != nil || h == nil || h.ID != id || h.Operation != "first" {
			t.Errorf("the holder is %v, %v", h, err)
		}
		defer func() {
			if h, err := teller.Holder(t.Context()); err != nil || h != nil {
				t.Errorf("when nobody holds the lock: %v, %v", h, err)
			}
		}()
	}
	if _, err := a.Lock(t.Context(), info("again")); !errors.As(err, new(*storage.LockError)) {
		t.Errorf("locked twice by the same: %v", err)
	}
	if err := a.Unlock(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	id = mustLock(t, b, info("third"))
	if err := b.Unlock(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	wantRead(t, s.open(t), "")
	id = mustLock(t, a, info("fourth"))
	mustWrite(t, a, "{}")
	if err := a.Unlock(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	wantRead(t, s.open(t), "{}")
}

func wrongID(t *testing.T, s Subject) {
	if s.NoLock || s.AnyID {
		t.Skip("no lock, or any id")
	}
	a, b := s.open(t), s.open(t)
	id := mustLock(t, a, info("first"))
	if err := b.Unlock(t.Context(), "00000000-0000-0000-0000-000000000000"); err == nil {
		t.Error("unlocked with a wrong id")
	}
	if err := a.Unlock(t.Context(), "00000000-0000-0000-0000-000000000000"); err == nil {
		t.Error("unlocked with a wrong id by the holder")
	}
	if _, err := b.Lock(t.Context(), info("second")); !errors.As(err, new(*storage.LockError)) {
		t.Errorf("the lock was lost: %v", err)
	}
	if err := a.Unlock(t.Context(), id); err != nil {
		t.Error(err)
	}
}

func writeWhileLocked(t *testing.T, s Subject) {
	if s.NoLock {
		t.Skip("no lock")
	}
	a, b := s.open(t), s.open(t)
	id := mustLock(t, a, info("apply"))
	for n := range 3 {
		content := fmt.Sprintf(`{"n":%d}`, n)
		mustWrite(t, a, content)
		wantRead(t, a, content)
		wantRead(t, b, content)
		// A run that comes after a write must find the lock, too.
		if _, err := s.open(t).Lock(t.Context(), info("late")); !errors.As(err, new(*storage.LockError)) {
			t.Fatalf("not locked after write %d: %v", n, err)
		}
	}
	if err := a.Unlock(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	id = mustLock(t, b, info("next"))
	wantRead(t, b, `{"n":2}`)
	if err := b.Unlock(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// race has runs that each add one to a number under the lock.
func race(t *testing.T, s Subject) {
	if s.NoLock {
		t.Skip("no lock")
	}
	const runs, times = 4, 5
	var wg sync.WaitGroup
	for range runs {
		a := s.open(t)
		wg.Go(func() {
			for range times {
				if err := addOne(t.Context(), a); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	wantRead(t, s.open(t), fmt.Sprint(runs*times))
}

func addOne(ctx context.Context, a storage.Store) error {
	var id string
	for {
		var err error
		if id, err = a.Lock(ctx, info("add")); err == nil {
			break
		}
		if !errors.As(err, new(*storage.LockError)) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	content, err := a.Read(ctx)
	if err != nil {
		return err
	}
	n := 0
	if content != nil {
		if _, err := fmt.Sscan(string(content), &n); err != nil {
			return fmt.Errorf("%q: %w", content, err)
		}
	}
	return errors.Join(a.Write(ctx, fmt.Append(nil, n+1)), a.Unlock(ctx, id))
}

// gone is the information about a lock whose holder has ended.
func gone(t *testing.T) storage.LockInfo {
	t.Helper()
	left := info("killed")
	if left.Info == "" {
		t.Skip("this system doesn't show whether processes have ended")
	}
	left.Info = anyProcess.ReplaceAllString(left.Info, "process 1073741823,")
	if !left.Gone() {
		t.Fatalf("%q isn't gone", left.Info)
	}
	return left
}

var anyProcess = regexp.MustCompile(`^process [0-9]+,`)

func leftBehind(t *testing.T, s Subject) {
	if s.NoLock || s.NoHolder {
		t.Skip("no lock, or nobody knows whose it is")
	}
	a, b := s.open(t), s.open(t)
	defer runtime.KeepAlive(a) // the connection is closed with it
	dead := gone(t)
	was := mustLock(t, a, dead)
	id, from, err := storage.Acquire(t.Context(), b, info("next"), storage.Taking{})
	if s.Proof {
		if !errors.As(err, new(*storage.LockError)) {
			t.Errorf("a lock that is held was taken over: %v", err)
		}
		return
	}
	if err != nil || from == nil || from.ID != was {
		t.Fatalf("%v %v", from, err)
	}
	// A holder that is there keeps its lock.
	if _, _, err := storage.Acquire(t.Context(), s.open(t), info("third"), storage.Taking{}); !errors.As(err, new(*storage.LockError)) {
		t.Errorf("the lock of a running run was taken over: %v", err)
	}
	if err := b.Unlock(t.Context(), id); err != nil {
		t.Error(err)
	}
}

func manyTakeOver(t *testing.T, s Subject) {
	if s.NoLock || s.NoHolder || s.Proof {
		t.Skip("no lock, or none that is left behind")
	}
	a := s.open(t)
	defer runtime.KeepAlive(a)
	mustLock(t, a, gone(t))
	var wg sync.WaitGroup
	var got atomic.Int32
	stores := make([]storage.Store, 6)
	defer runtime.KeepAlive(stores) // who has the lock loses it with the connection
	for i := range stores {
		stores[i] = s.open(t)
		wg.Go(func() {
			_, _, err := storage.Acquire(t.Context(), stores[i], info("next"), storage.Taking{})
			if err == nil {
				got.Add(1)
			} else if !errors.As(err, new(*storage.LockError)) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got.Load() != 1 {
		t.Errorf("%d runs hold the lock", got.Load())
	}
}

// changedByOthers has writes of somebody who didn't care about a lock.
func changedByOthers(t *testing.T, s Subject) {
	refused := func(a storage.Store, what string) {
		t.Helper()
		if err := a.Write(t.Context(), []byte("mine")); !errors.Is(err, storage.ErrChanged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	a, b := s.open(t), s.open(t)
	wantRead(t, a, "")
	mustWrite(t, b, "1")
	refused(a, "a state where there was none")
	wantRead(t, a, "1")
	mustWrite(t, a, "2")
	wantRead(t, b, "2")
	mustWrite(t, b, "3")
	wantRead(t, a, "3")
	fresh := s.open(t)
	wantRead(t, fresh, "3")
	mustWrite(t, a, "4")
	refused(fresh, "another state")
	refused(fresh, "another state, again")
	wantRead(t, fresh, "4")
	mustWrite(t, fresh, "5")
	mustWrite(t, fresh, "6")
	wantRead(t, s.open(t), "6")
	mustWrite(t, s.open(t), "7") // without a condition
}

func wholeStates(t *testing.T, s Subject) {
	a, b := s.open(t), s.open(t)
	var want [][]byte
	for n := range 4 {
		want = append(want, bytes.Repeat([]byte{byte('a' + n)}, 50_000*(n+1)))
	}
	mustWrite(t, a, string(want[0]))
	done := make(chan error)
	go func() {
		var err error
		for n := range 12 {
			err = errors.Join(err, a.Write(t.Context(), want[n%len(want)]))
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			got, err := b.Read(t.Context())
			if err != nil {
				t.Error(err)
			}
			if !slices.ContainsFunc(want, func(w []byte) bool { return bytes.Equal(w, got) }) {
				t.Errorf("a mixture of %d bytes was read", len(got))
			}
		}
	}
}

func workspaces(t *testing.T, s Subject) {
	b := s.New(t)
	if s.OneWorkspace {
		_, err := b.Workspaces(t.Context())
		_, errState := b.State("dev")
		for _, err := range []error{err, errState, b.CreateWorkspace(t.Context(), "dev"), b.DeleteWorkspace(t.Context(), "dev")} {
			if !errors.Is(err, storage.ErrWorkspacesNotSupported) {
				t.Errorf("got %v", err)
			}
		}
		return
	}
	want := func(names ...string) {
		t.Helper()
		got, err := s.New(t).Workspaces(t.Context())
		if err != nil || !slices.Equal(got, names) {
			t.Fatalf("got %v %v, want %v", got, err, names)
		}
	}
	if s.NoDefault {
		want()
		_, err := b.State(storage.DefaultWorkspace)
		for _, err := range []error{err, b.CreateWorkspace(t.Context(), storage.DefaultWorkspace)} {
			if !errors.Is(err, storage.ErrNoDefaultWorkspace) {
				t.Errorf("the default workspace: %v", err)
			}
		}
	} else {
		want("default")
	}
	main := s.main()
	for _, name := range []string{"prod", "dev", "dev", main} {
		if err := b.CreateWorkspace(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	want(main, "dev", "prod")
	mustWrite(t, state(t, b, "dev"), "dev")
	mustWrite(t, state(t, b, "zone"), "zone") // never created
	mustWrite(t, state(t, b, s.main()), "default")
	want(main, "dev", "prod", "zone")
	early := state(t, s.New(t), "early")
	wantRead(t, early, "")
	if err := b.CreateWorkspace(t.Context(), "early"); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, early, "early")
	wantRead(t, state(t, b, "early"), "early")
	if err := b.DeleteWorkspace(t.Context(), "early"); err != nil {
		t.Fatal(err)
	}
	wantRead(t, state(t, s.New(t), "dev"), "dev")
	wantRead(t, state(t, b, "prod"), "")
	if !s.NoLock {
		id := mustLock(t, state(t, b, "prod"), info("x"))
		dev := state(t, b, "dev")
		other := mustLock(t, dev, info("y"))
		if err := dev.Unlock(t.Context(), other); err != nil {
			t.Error(err)
		}
		_ = id // a lock on one that is deleted is nobody's any more
	}
	if err := b.DeleteWorkspace(t.Context(), "dev"); err != nil {
		t.Fatal(err)
	}
	want(main, "prod", "zone")
	wantRead(t, state(t, b, "dev"), "")
	wantRead(t, state(t, b, s.main()), "default")
}

func badWorkspaces(t *testing.T, s Subject) {
	if s.OneWorkspace {
		t.Skip("no workspaces")
	}
	b := s.New(t)
	mustWrite(t, state(t, b, s.main()), "default")
	for _, name := range []string{storage.DefaultWorkspace, ""} {
		if err := b.DeleteWorkspace(t.Context(), name); err == nil {
			t.Errorf("workspace %q was deleted", name)
		}
	}
	if err := b.CreateWorkspace(t.Context(), ""); err == nil {
		t.Error("a workspace without a name was made")
	}
	wantRead(t, state(t, b, s.main()), "default")
}

// notes holds a Noted to what it promises: a note of its own beside each state,
// which is no state, seen by all, gone with the workspace.
func notes(t *testing.T, s Subject) {
	b := s.New(t)
	store := func(b storage.Backend, workspace string) storage.Noted {
		t.Helper()
		opened, err := b.State(workspace)
		if err != nil {
			t.Fatal(err)
		}
		noted, ok := opened.(storage.Noted)
		if !ok {
			t.Skip("it has no room for notes")
		}
		return noted
	}
	mine := store(b, s.main())
	want := func(n storage.Noted, want string) {
		t.Helper()
		got, err := n.Note(t.Context())
		if err != nil || string(got) != want || (want == "") != (got == nil) {
			t.Errorf("the note is %q, %v; want %q", got, err, want)
		}
	}
	set := func(n storage.Noted, note []byte) {
		t.Helper()
		if err := n.SetNote(t.Context(), note); err != nil {
			t.Fatal(err)
		}
	}
	want(mine, "")
	set(mine, nil)
	for _, text := range []string{"first\n", "second, \x00 and longer\n", "third"} {
		set(mine, []byte(text))
		want(mine, text)
		want(store(s.New(t), s.main()), text)
	}
	wantRead(t, s.open(t), "")
	if !s.OneWorkspace {
		if err := b.CreateWorkspace(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		other := store(b, "other")
		want(other, "")
		set(other, []byte("of the other"))
		want(mine, "third")
		if names, err := b.Workspaces(t.Context()); err != nil || !slices.Equal(names, []string{s.main(), "other"}) {
			t.Errorf("with notes the workspaces are %q, %v", names, err)
		}
		if err := b.DeleteWorkspace(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		if err := b.CreateWorkspace(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		want(store(b, "other"), "")
	}
	set(mine, nil)
	want(mine, "")
}
