package diag

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// A Code is a kind of problem. Name says which for good: programs may rely on it, and
// docs/diagnostics describes it. Summary is the phrase that is printed where the place
// has none of its own; several codes may share one. Codes are variables beside who reports
// the problem, and in this package where several do. Every diagnostic is made from one.
type Code struct{ Name, Summary string }

// As is the kind with another phrase, which fits the place better and that tools match on.
func (c Code) As(summary string) Code { return Code{c.Name, summary} }

// List is one error without a place.
func (c Code) List(format string, args ...any) List { return List{c.New(Error, format, args...)} }

// Warnings is one warning without a place.
func (c Code) Warnings(format string, args ...any) List {
	return List{c.New(Warning, format, args...)}
}

// New is a problem of that kind without a place.
func (c Code) New(s Severity, format string, args ...any) Diagnostic {
	return Diagnostic{Severity: s, Code: c.Name, Summary: c.Summary, Detail: fmt.Sprintf(format, args...), Commands: said(args)}
}

// Error is an error about a range.
func (c Code) Error(r hcl.Range, format string, args ...any) Diagnostic {
	d := c.New(Error, format, args...)
	d.Subject = r.Ptr()
	return d
}

// Warning is a warning about a range.
func (c Code) Warning(r hcl.Range, format string, args ...any) Diagnostic {
	d := c.New(Warning, format, args...)
	d.Subject = r.Ptr()
	return d
}

// Is reports whether a diagnostic is of that kind.
func (c Code) Is(d Diagnostic) bool { return d.Code == c.Name }

// Without leaves out what is of a kind.
func (l List) Without(c Code) List { return slices.DeleteFunc(slices.Clone(l), c.Is) }

// Apart reports what is of a kind from the rest.
func (l List) Apart(c Code) (rest, those List) {
	for _, d := range l {
		if c.Is(d) {
			those.Add(d)
		}
	}
	return l.Without(c), those
}

// Merged is the list with those of another that it doesn't have, as when several
// looks at one thing find the same.
func (l List) Merged(more List) List {
	for _, d := range more {
		if !slices.ContainsFunc(l, d.Same) {
			l.Add(d)
		}
	}
	return l
}

// Alike reports whether two diagnostics say the same of what may be different places.
func (d Diagnostic) Alike(o Diagnostic) bool { return d.Code == o.Code && d.Summary == o.Summary }

// Same reports whether two diagnostics tell one problem.
func (d Diagnostic) Same(o Diagnostic) bool {
	return d.Severity == o.Severity && d.Alike(o) && d.Detail == o.Detail && d.Address == o.Address &&
		(d.Subject == nil) == (o.Subject == nil) && (d.Subject == nil || *d.Subject == *o.Subject)
}

// OneByOne has the problems that others sum up in their place.
func (l List) OneByOne() List {
	var all List
	for _, d := range l {
		if len(d.Each) == 0 {
			all.Add(d)
		} else {
			all.Append(d.Each)
		}
	}
	return all
}
