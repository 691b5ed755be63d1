package storage

import "context"

// An UnusableError says why there can't be states in the place that is configured. Neither waiting
// nor the end of another run helps. The text names the way out.
type UnusableError struct {
	Text string
	Err  error // the cause, nil where Text is all
}

func (e *UnusableError) Error() string { return e.Text }

func (e *UnusableError) Unwrap() error { return e.Err }

// A Checked is a Backend that reports an UnusableError before anything is read or written.
type Checked interface {
	Check(ctx context.Context) error
}
