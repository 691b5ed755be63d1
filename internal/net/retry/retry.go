// Package retry repeats what may succeed later: requests to servers that are busy, or that
// didn't answer.
//
// The wait doubles after each attempt and has jitter, so that many clients don't come back
// at the same moment. A server that says how long to wait (Retry-After) is obeyed.
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// A Policy says how often something is attempted and how long the waits are. The zero value
// makes five attempts within about three seconds.
type Policy struct {
	Attempts int           // all of them, the first included; 0 is 5
	First    time.Duration // the wait after the first attempt; 0 is 200 ms
	Longest  time.Duration // of a single wait, also where a server asks for more; 0 is 30 s
	// Delay replaces the waits by those of a library, nil for none. Its error ends the
	// attempts.
	Delay func(attempt int, err error) (time.Duration, error)
}

// again marks an error after which another attempt may succeed.
type again struct {
	error
	after time.Duration // what the server asked for; negative if it asked for nothing
}

func (a *again) Unwrap() error { return a.error }

// Again marks an error after which another attempt may succeed.
func Again(err error) error { return &again{err, -1} }

// After marks an error after which the server asks to wait for that long; a negative
// duration says that it asks for nothing, as After in the header of an answer reports it.
func After(err error, wait time.Duration) error { return &again{err, wait} }

// Mark marks the error of an answer by its status, 0 if no answer came: those of Passing may
// be another one later. Wait is what the answer asked for, as by Asked.
func Mark(err error, status int, wait time.Duration) error {
	if err == nil || status != 0 && !Passing(status) {
		return err
	}
	return After(err, wait)
}

// Do calls attempt until it succeeds, returns an error without a mark of Again or After, or
// has been called as often as the policy allows. It returns the last error without its
// mark. When ctx ends, Do returns the error of the last attempt at once.
func (p Policy) Do(ctx context.Context, attempt func() error) error {
	if p.Attempts == 0 {
		p.Attempts = 5
	}
	for n := 1; ; n++ {
		err := attempt()
		var mark *again
		if !errors.As(err, &mark) {
			return err
		}
		if n >= p.Attempts || ctx.Err() != nil {
			return mark.error
		}
		delay := p.wait(n, mark.after)
		if p.Delay != nil {
			var ended error
			if delay, ended = p.Delay(n, mark.error); ended != nil {
				return mark.error
			}
		}
		wait := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			wait.Stop()
			return mark.error
		case <-wait.C:
		}
	}
}

// wait is the wait after attempt n. Half of it is random, unless the server asked for one.
func (p Policy) wait(n int, asked time.Duration) time.Duration {
	first, longest := p.First, p.Longest
	if first == 0 {
		first = 200 * time.Millisecond
	}
	if longest == 0 {
		longest = 30 * time.Second
	}
	if asked >= 0 {
		return min(asked, longest)
	}
	wait := min(first<<min(n-1, 20), longest)
	if wait <= 1 {
		return wait
	}
	return wait/2 + rand.N(wait/2+1) // #nosec G404 -- spreads clients, protects nothing
}

// Passing reports whether a status means that the same request may succeed later.
func Passing(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}

// Asked reads Retry-After: a number of seconds, or a date. It is negative without one.
func Asked(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second // #nosec G115 -- 31 bits
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return -1
}
