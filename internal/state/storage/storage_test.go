package storage

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"
)

func TestRegistryWithoutType(t *testing.T) {
	for name, want := range map[string]string{
		"artifactory": `The "artifactory" backend is not supported in OpenTofu v1.3 or later.`,
		"azure":       `please use "azurerm"`,
		"etcd":        "v1.3",
		"etcdv3":      "v1.3",
		"manta":       "v1.3",
		"swift":       "v1.3",
		"nonsense":    `There is no backend type named "nonsense".`,
	} {
		b, diags := Registry{}.New(name, cty.EmptyObjectVal, Env{})
		if b != nil || len(diags) != 1 || diags[0].Summary != "Unsupported backend type" || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s: %v", name, diags)
		}
	}
}

// TestHeld: people learn who holds a lock, and since when.
func TestHeld(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, i := range map[string]LockInfo{
		`me@here has held the lock for "apply" for 30 seconds`: {Who: "me@here", Operation: "apply", Created: now.Add(-30 * time.Second)},
		`me@here has held the lock for "plan" for 5 minutes`:   {Who: "me@here", Operation: "plan", Created: now.Add(-5 * time.Minute)},
		`me@here has held the lock for 3 hours`:                {Who: "me@here", Created: now.Add(-3 * time.Hour)},
		`me@here has held the lock for 4 days`:                 {Who: "me@here", Created: now.Add(-100 * time.Hour)},
		`me@here has held the lock for 0 seconds`:              {Who: "me@here", Created: now.Add(time.Hour)},
		`Somebody holds the lock`:                              {},
	} {
		if got := i.Held(now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A sealedPlace has what Seal has made of a state, and what its lock holds on to.
type sealedPlace struct {
	Store
	stored, placeholder []byte
	problem             error
}

func (s *sealedPlace) Read(context.Context) ([]byte, error) { return s.stored, nil }

func (s *sealedPlace) Placeholder(content []byte) error {
	s.placeholder = content
	return s.problem
}

// resealed seals a state in another form than it was read in.
type resealed struct{}

func (resealed) Encrypts() bool { return true }

func (resealed) Seal(state []byte) ([]byte, error) {
	return append([]byte("resealed: "), state...), nil
}

func (resealed) Open(stored []byte) (state []byte, migrating bool, err error) {
	_, state, _ = bytes.Cut(stored, []byte(": "))
	return state, false, nil
}

// TestSealedPlaceholder: the state that was read means nothing in the form that it was read in,
// and any other sealed. A store that can't take it says so.
func TestSealedPlaceholder(t *testing.T) {
	inner := &sealedPlace{stored: []byte("before: read")}
	s := Seal(inner, resealed{})
	if state, err := s.Read(t.Context()); err != nil || string(state) != "read" {
		t.Fatalf("read %q, %v", state, err)
	}
	for state, want := range map[string]string{"read": "before: read", "other": "resealed: other"} {
		for _, problem := range []error{nil, errors.New("no room")} {
			inner.problem = problem
			if err := s.Placeholder([]byte(state)); err != problem || string(inner.placeholder) != want {
				t.Errorf("%s: %q, %v instead of %v", state, inner.placeholder, err, problem)
			}
		}
	}
}

func TestLockInfo(t *testing.T) {
	i := NewLockInfo("apply", "me@here", "1.0")
	if len(i.ID) != 36 || i.ID == NewLockInfo("apply", "me@here", "1.0").ID {
		t.Errorf("id %q", i.ID)
	}
	i.ID, i.Info, i.Path, i.Created = "the-id", "", "x.tfstate", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const want = `{"ID":"the-id","Operation":"apply","Info":"","Who":"me@here","Version":"1.0","Created":"2026-01-02T03:04:05Z","Path":"x.tfstate"}`
	if got := string(i.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	back, err := ParseLockInfo([]byte(want))
	if err != nil || *back != i {
		t.Errorf("%v %v", back, err)
	}
	if _, err := ParseLockInfo([]byte("{")); err == nil {
		t.Error("half a lock was accepted")
	}
	const text = `held
Lock Info:
  ID:        the-id
  Path:      x.tfstate
  Operation: apply
  Who:       me@here
  Version:   1.0
  Created:   2026-01-02 03:04:05 +0000 UTC
`
	if got := (&LockError{&i, errors.New("held")}).Error(); got != text {
		t.Errorf("got %q", got)
	}
	if got := (&LockError{nil, errors.New("held")}).Error(); got != "held" {
		t.Errorf("got %q", got)
	}
}

// slow is held by someone else until a moment.
type slow struct {
	Store
	until time.Time
	tries int
	err   error
}

func (s *slow) Lock(context.Context, LockInfo) (string, error) {
	s.tries++
	if time.Now().Before(s.until) {
		return "", s.err
	}
	return "id", nil
}

// A silent store never answers.
type silent struct{ Store }

func (silent) Lock(ctx context.Context, _ LockInfo) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// TestAcquireInterrupted: an interrupt ends waiting for a server that doesn't
// answer, and the lock that it may have taken is named.
func TestAcquireInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		_, _, err := Acquire(ctx, silent{}, LockInfo{ID: "mine"}, Taking{})
		if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "its ID is mine") || took != time.Hour+lastMoment {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestAcquire(t *testing.T) {
	held := &LockError{Err: errors.New("held")}
	for _, tt := range []struct {
		name          string
		held, timeout time.Duration
		err           error
		ok            bool
		after         time.Duration
	}{
		{"free", 0, 0, held, true, 0},
		{"no patience", time.Minute, 0, held, false, 0},
		{"released in time", time.Minute, time.Hour, held, true, time.Minute + lastRetry},
		{"not released", time.Hour, time.Minute, held, false, time.Minute},
		{"not a lock", time.Hour, time.Minute, errors.New("forbidden"), false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := &slow{until: start.Add(tt.held), err: tt.err}
				_, _, err := Acquire(t.Context(), s, LockInfo{}, Taking{Timeout: tt.timeout})
				if (err == nil) != tt.ok || err != nil && err != tt.err {
					t.Errorf("error %v", err)
				}
				if took := time.Since(start); took > tt.after {
					t.Errorf("took %v", took)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, _, err := Acquire(ctx, &slow{until: start.Add(time.Hour), err: held}, LockInfo{}, Taking{Timeout: time.Hour})
		if err != held || time.Since(start) > time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// left is held by a process that has ended.
type left struct {
	Store
	holder *LockInfo
}

func (s *left) Lock(_ context.Context, info LockInfo) (string, error) {
	if s.holder != nil {
		return "", &LockError{s.holder, errors.New("held")}
	}
	s.holder = &info
	return info.ID, nil
}

func (s *left) Unlock(context.Context, string) error {
	s.holder = nil
	return nil
}

// allGone are processes that are all gone, but for this one.
type allGone struct{}

func (allGone) This() string     { return "this" }
func (allGone) Gone(string) bool { return true }
func (allGone) Exclude(context.Context, string) (func(), error) {
	return func() {}, nil
}

// TestTakeOver: a lock that is taken over says the most that may have been done under it, by
// the run that left it or the one that continues.
func TestTakeOver(t *testing.T) {
	for _, tt := range []struct{ before, now, want string }{
		{Plans, "apply", "apply"},
		{"apply", Plans, "apply"},
		{"apply", "recover", "apply"},
		{Plans, Plans, Plans},
		{Moves, "apply", "apply"},
		{"apply", Moves, "apply"},
	} {
		s := &left{holder: &LockInfo{ID: "theirs", Operation: tt.before, Info: "they"}}
		id, found, err := Acquire(t.Context(), s, LockInfo{ID: "mine", Operation: tt.now}, Taking{Processes: allGone{}})
		if err != nil || id != "mine" || found == nil || found.ID != "theirs" || s.holder.Operation != tt.want {
			t.Errorf("%s after %s: %s, %v, %+v", tt.now, tt.before, id, err, s.holder)
		}
	}
}
