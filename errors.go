package weir

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace"
)

// Errors that programs react to. They are found with [errors.Is], in an [*Error] too.
var (
	// ErrLocked: somebody else has the lock of the state. [errors.As] with a [*LockedError]
	// reports who.
	ErrLocked = errors.New("the state is locked")
	// ErrStalePlan: the state was changed after the plan was made. Make a new one.
	ErrStalePlan = errors.New("the plan is stale")
	// ErrInDoubt: objects may exist that the state doesn't have, because this run or an
	// earlier one didn't learn whether it created them. Their dependents weren't
	// changed. See [Workspace.Recover].
	ErrInDoubt = errors.New("objects are in doubt")
	// ErrNotApproved: [ApplyOptions.Approve] has rejected the plan.
	ErrNotApproved = errors.New("the plan was not approved")
	// ErrChanged is returned by a [Store] in place of writing over what it wasn't
	// asked to replace.
	ErrChanged = errors.New("the state was changed by somebody else")
	// ErrUnanswered is returned by functions of a [ResourceType] where it isn't known whether
	// something was done. Anything that was to be created is in doubt then.
	ErrUnanswered = errors.New("there was no answer")
)

// A LockedError says that somebody else has the lock of a state. A [Store] returns
// it from Lock.
type LockedError struct{ Holder LockInfo }

func (e *LockedError) Error() string {
	return fmt.Sprintf("the state is locked by %s for %q since %s (lock %s)", e.Holder.Who, e.Holder.Operation, e.Holder.Created.UTC().Format("2006-01-02 15:04:05"), e.Holder.ID)
}

// Is makes it an [ErrLocked].
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// An Error is an operation that failed, with what was found.
type Error struct {
	// Diagnostics has the errors and the warnings.
	Diagnostics Diagnostics
	kinds       []error
}

func (e *Error) Error() string { return e.Diagnostics.errors().Error() }

// Unwrap are the errors of this package that it is.
func (e *Error) Unwrap() []error { return e.kinds }

// Severity says whether a problem stops the operation.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// A Diagnostic is one problem.
type Diagnostic struct {
	Severity Severity
	// Code is its kind for good, as "weir explain" lists them; empty where it has no
	// name yet.
	Code    string
	Summary string
	Detail  string
	// Address is the object that it is about, or empty.
	Address string
	// File, Line and Column are where it is in the configuration; the line is 0 where
	// it isn't there. Lines and columns begin with 1.
	File         string
	Line, Column int
}

// String is the problem on one line, or more where the detail has more.
func (d Diagnostic) String() string {
	var b strings.Builder
	if d.Line > 0 {
		fmt.Fprintf(&b, "%s:%d:%d: ", d.File, d.Line, d.Column)
	}
	fmt.Fprintf(&b, "%s: %s", d.Severity, d.Summary)
	if d.Address != "" {
		fmt.Fprintf(&b, " (%s)", d.Address)
	}
	if d.Detail != "" {
		b.WriteString(": " + d.Detail)
	}
	return b.String()
}

// Diagnostics are problems in the order in which they are reported.
type Diagnostics []Diagnostic

// Error is all of them, one after the other.
func (l Diagnostics) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

func (l Diagnostics) errors() Diagnostics {
	return slices.DeleteFunc(slices.Clone(l), func(d Diagnostic) bool { return d.Severity != SeverityError })
}

// diagnostics are problems without the secrets that the workspace knows.
func (w *Workspace) diagnostics(l diag.List) Diagnostics {
	var out Diagnostics
	for _, d := range w.config.Secrets.Diagnostics(l.Condense()) {
		next := Diagnostic{Severity: Severity(d.Severity.String()), Code: d.Code, Summary: d.Summary, Detail: d.Detail, Address: d.Address}
		if d.Subject != nil {
			next.File, next.Line, next.Column = d.Subject.Filename, d.Subject.Start.Line, d.Subject.Start.Column
		}
		out = append(out, next)
	}
	return out
}

func (w *Workspace) warnings(l diag.List) Diagnostics { return w.diagnostics(l.Only(diag.Warning)) }

// failure is an error with what was found, nil where there is no error in it. It is that of the
// context too where that has ended.
func (w *Workspace) failure(ctx context.Context, l diag.List) error {
	if !l.HasErrors() {
		return nil
	}
	e := &Error{Diagnostics: w.diagnostics(l)}
	if err := ctx.Err(); err != nil {
		e.kinds = append(e.kinds, err)
		if cause := context.Cause(ctx); !errors.Is(cause, err) {
			e.kinds = append(e.kinds, cause)
		}
	}
	for _, d := range l.Only(diag.Error) {
		switch held := (*storage.LockError)(nil); {
		case errors.As(d.Err, &held):
			e.kinds = append(e.kinds, locked(held))
		case workspace.Stale.Is(d):
			e.kinds = append(e.kinds, ErrStalePlan)
		case diag.InDoubt.Is(d):
			e.kinds = append(e.kinds, ErrInDoubt)
		case d.Err != nil:
			e.kinds = append(e.kinds, d.Err)
		}
	}
	return e
}

func locked(e *storage.LockError) error {
	if e.Holder == nil {
		return ErrLocked
	}
	return &LockedError{Holder: lockInfo(*e.Holder)}
}
