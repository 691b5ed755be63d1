package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// LockInfo reports who holds a lock. Its JSON is stored beside the lock by all tools that use
// the same states.
type LockInfo struct {
	ID        string
	Operation string
	Info      string // of NewLockInfo: the process, see ThisProcess
	Who       string // user@host
	Version   string
	Created   time.Time
	Path      string // of the state, set by backends that have one
}

// NewLockInfo starts the information for a lock that is taken now.
func NewLockInfo(operation, who, version string) LockInfo {
	return LockInfo{ID: uuid.NewString(), Operation: operation, Info: ThisProcess(), Who: who, Version: version, Created: time.Now().UTC()}
}

// JSON is the stored form.
func (i LockInfo) JSON() []byte {
	text, err := json.Marshal(i)
	if err != nil {
		panic(err) // only a year beyond 9999 could fail
	}
	return text
}

// ParseLockInfo reads the stored form.
func ParseLockInfo(text []byte) (*LockInfo, error) {
	var i LockInfo
	if err := json.Unmarshal(text, &i); err != nil {
		return nil, fmt.Errorf("the information about the lock can't be read: %w", err)
	}
	return &i, nil
}

// ErrNoLock reports that somebody wants to release a lock of a backend that is configured without
// one.
var ErrNoLock = errors.New("locking is disabled for this backend")

// WithoutLock is the result of Unlock where nothing is locked. Lock gave no ID, so that any ID is
// an error.
func WithoutLock(id string) error {
	if id == "" {
		return nil
	}
	return ErrNoLock
}

// String is a paragraph that users read the ID for force-unlock from.
func (i LockInfo) String() string {
	var b strings.Builder
	b.WriteString("Lock Info:\n")
	for _, line := range [][2]string{
		{"ID:", i.ID}, {"Path:", i.Path}, {"Operation:", i.Operation}, {"Who:", i.Who},
		{"Version:", i.Version}, {"Created:", i.Created.Truncate(time.Second).String()},
	} {
		fmt.Fprintf(&b, "  %-10s %s\n", line[0], line[1])
	}
	return b.String()
}

// Held says who has held the lock for how long, and for what.
func (i LockInfo) Held(now time.Time) string {
	who, what := i.Who, i.Operation
	if who == "" {
		who = "Somebody"
	}
	if what != "" {
		what = " for \"" + what + "\""
	}
	if i.Created.IsZero() {
		return who + " holds the lock" + what
	}
	return who + " has held the lock" + what + " for " + age(now.Sub(i.Created))
}

// age is a duration as people say it.
func age(d time.Duration) string {
	count := func(n int, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return strconv.Itoa(n) + " " + unit + "s"
	}
	switch d = max(d, 0); {
	case d < 2*time.Minute:
		return count(int(d.Seconds()), "second")
	case d < 2*time.Hour:
		return count(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return count(int(d.Hours()), "hour")
	}
	return count(int(d.Hours()/24), "day")
}

// A LockError says that the lock is held by someone else, so that waiting may
// help. Holder is nil when nothing is known about them.
type LockError struct {
	Holder *LockInfo
	Err    error
}

func (e *LockError) Error() string {
	if e.Holder == nil {
		return e.Err.Error()
	}
	return e.Err.Error() + "\n" + e.Holder.String()
}

func (e *LockError) Unwrap() error { return e.Err }
