package retry

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

var errBusy = errors.New("busy")

// TestDo counts attempts and measures waits, on a clock that doesn't take real time.
func TestDo(t *testing.T) {
	for _, test := range []struct {
		name     string
		policy   Policy
		errors   []error // of the attempts, the last one for all further
		attempts int
		err      error
		min, max time.Duration
	}{
		{"succeeds at once", Policy{}, []error{nil}, 1, nil, 0, 0},
		{"fails for good", Policy{}, []error{errBusy}, 1, errBusy, 0, 0},
		{"succeeds later", Policy{}, []error{Again(errBusy), Again(errBusy), nil}, 3, nil, 300 * time.Millisecond, 600 * time.Millisecond},
		{"fails as often as allowed", Policy{}, []error{Again(errBusy)}, 5, errBusy, 1500 * time.Millisecond, 3 * time.Second},
		{"one attempt", Policy{Attempts: 1}, []error{Again(errBusy)}, 1, errBusy, 0, 0},
		{"waits as long as the server asks", Policy{}, []error{After(errBusy, 7*time.Second), nil}, 2, nil, 7 * time.Second, 7 * time.Second},
		{"doesn't wait if the server says so", Policy{}, []error{After(errBusy, 0), nil}, 2, nil, 0, 0},
		{"has a longest wait", Policy{Longest: 2 * time.Second}, []error{After(errBusy, time.Hour), nil}, 2, nil, 2 * time.Second, 2 * time.Second},
		{"grows to the longest wait only", Policy{Attempts: 60, First: time.Second, Longest: 4 * time.Second}, []error{Again(errBusy)}, 60, errBusy, 115 * time.Second, 231 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, attempts := time.Now(), 0
				err := test.policy.Do(t.Context(), func() error {
					attempts++
					return test.errors[min(attempts, len(test.errors))-1]
				})
				if attempts != test.attempts || err != test.err {
					t.Errorf("%d attempts, error %v; want %d, %v", attempts, err, test.attempts, test.err)
				}
				if took := time.Since(start); took < test.min || took > test.max {
					t.Errorf("waited %s; want %s to %s", took, test.min, test.max)
				}
			})
		})
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := Policy{Attempts: 1000}.Do(ctx, func() error { return After(errBusy, 20*time.Second) })
		if err != errBusy || time.Since(start) != time.Second {
			t.Errorf("error %v after %s; want the last one at the end of the context", err, time.Since(start))
		}
	})
}

func TestAsked(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": -1, "soon": -1, "-3": -1, "0": 0, "17": 17 * time.Second, "99999999999": -1,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := Asked(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestPassing(t *testing.T) {
	for status, want := range map[int]bool{200: false, 404: false, 408: true, 409: false, 429: true, 500: true, 501: false, 503: true} {
		if Passing(status) != want {
			t.Errorf("%d: %t", status, !want)
		}
	}
}
