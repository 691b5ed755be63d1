// Package diag defines diagnostics: a severity, the problem, its solution, and the place.
//
// It owns the type and its collection; it knows nothing of stages, terminals
// or JSON. A problem has one owner that reports it once; everyone downstream
// gets a placeholder value and stays silent.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Severity says whether a problem stops the operation.
type Severity uint8

const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// A Diagnostic is one problem. Code is the name of its kind. Summary is a short constant
// phrase that tools match on; Detail says what was found and what to do. Subject is the
// tight source range, Context a wider one that contains it; both may be nil.
type Diagnostic struct {
	Severity Severity
	Code     string
	Summary  string
	Detail   string
	Subject  *hcl.Range
	Context  *hcl.Range
	// Commands are those that the texts tell to run.
	Commands []Command

	// Follows: it only comes from the problem before it, so people needn't read it.
	Follows bool

	// Address is the object that the problem is about, or empty.
	Address string
	// Values are the values of the references in the failing expression.
	Values []Value
	// Function is the function whose call failed, or empty. Signature is what
	// it takes and returns, nil where that isn't known.
	Function  string
	Signature *function.Function
	// Compared are the two sides of an expression that is a comparison for
	// equality, nil for others and where one of them isn't to be shown.
	Compared *Comparison
	// Path is the attribute path that a provider reported, for code that knows the
	// configuration to turn it into a range; nil without.
	Path cty.Path
	// Private: what is written there may be a secret, so it isn't quoted.
	Private bool
	// Once: it is one problem however many objects meet it, and not about any
	// of them.
	Once bool
	// Use: it is a mistake in how something declared is used, which the caller that only
	// installs what is declared leaves to others.
	Use bool
	// Deprecation is set for warnings of uses of what is deprecated.
	Deprecation *Deprecation
	// Err is the error behind it, for programs; nil for most.
	Err error
	// Each are the problems that it sums up, one by one; nil for most.
	Each List
	// Unmet is the object whose condition doesn't hold, nil for other problems.
	Unmet *Checkable
}

// A Comparison has the two sides of ==, without marks.
type Comparison struct{ Left, Right cty.Value }

// A Deprecation is what a warning is about, and whether that belongs to a
// module from elsewhere.
type Deprecation struct {
	Source string
	Remote bool
}

// A Value reports what one reference in a failing expression was: Traversal is its source
// form, Statement a phrase such as `is "x"` or `is list of string with 2 elements`.
type Value struct {
	Traversal string
	Statement string
}

// A List is a sequence of diagnostics. The zero value is empty and ready.
type List []Diagnostic

// Add appends diagnostics.
func (l *List) Add(ds ...Diagnostic) { *l = append(*l, ds...) }

// Append appends another list.
func (l *List) Append(other List) { *l = append(*l, other...) }

// Reason is the first error in one text, its summary and detail; empty without one.
func (l List) Reason() string {
	for _, d := range l {
		switch {
		case d.Severity != Error:
		case d.Detail == "":
			return d.Summary
		default:
			return d.Summary + ": " + d.Detail
		}
	}
	return ""
}

// HasErrors reports whether any diagnostic is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Only are the diagnostics of one severity.
func (l List) Only(s Severity) List {
	var out List
	for _, d := range l {
		if d.Severity == s {
			out = append(out, d)
		}
	}
	return out
}

// WithoutUses leaves out what is wrong with uses of declarations: whatever it is,
// all that is declared can be installed and read.
func (l List) WithoutUses() List {
	var out List
	for _, d := range l {
		if !d.Use {
			out = append(out, d)
		}
	}
	return out
}

// Beside are the diagnostics that another list doesn't tell as well.
func (l List) Beside(other List) List {
	type key struct{ summary, detail, address, place string }
	of := func(d Diagnostic) key {
		k := key{summary: d.Summary, detail: d.Detail, address: d.Address}
		if d.Subject != nil {
			k.place = d.Subject.String()
		}
		return k
	}
	told := map[key]bool{}
	for _, d := range other {
		told[of(d)] = true
	}
	return slices.DeleteFunc(slices.Clone(l), func(d Diagnostic) bool { return told[of(d)] })
}

// Cause is an error without the path that *fs.PathError repeats.
func Cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// Sort orders by severity, warnings first, then those without a place, then
// by file (of the fewest directories first) and offset. Others keep their
// order.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		if c := cmp.Compare(b.Severity, a.Severity); c != 0 {
			return c
		}
		switch {
		case a.Subject == nil && b.Subject == nil:
			return 0
		case a.Subject == nil:
			return -1
		case b.Subject == nil:
			return 1
		}
		return cmp.Or(
			cmp.Compare(strings.Count(a.Subject.Filename, "/"), strings.Count(b.Subject.Filename, "/")),
			cmp.Compare(a.Subject.Filename, b.Subject.Filename),
			cmp.Compare(a.Subject.Start.Byte, b.Subject.Start.Byte),
			cmp.Compare(a.Subject.End.Byte, b.Subject.End.Byte),
		)
	})
}

// InAddress gives every diagnostic without an address the given one.
func (l List) InAddress(address string) List {
	for i := range l {
		if l[i].Address == "" {
			l[i].Address = address
		}
	}
	return l
}

// Condense makes each problem that many objects met one that names none.
func (l List) Condense() List {
	type text struct {
		severity        Severity
		summary, detail string
	}
	shown := map[text]bool{}
	var out List
	for _, d := range l {
		if d.Once {
			t := text{d.Severity, d.Summary, d.Detail}
			if shown[t] {
				continue
			}
			shown[t] = true
			d.Address, d.Subject, d.Context = "", nil, nil
		}
		out = append(out, d)
	}
	return out
}

// Err returns the errors of the list as one Go error, or nil.
func (l List) Err() error {
	var parts []string
	for _, d := range l {
		if d.Severity == Error {
			parts = append(parts, d.String())
		}
	}
	if parts == nil {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(parts, "\n"))
}

// String is the diagnostic on one line, for tests and logs.
func (d Diagnostic) String() string {
	text := d.Severity.String() + ": " + d.Summary
	if d.Subject != nil {
		text = d.Subject.String() + ": " + text
	}
	if d.Detail != "" {
		text += "; " + d.Detail
	}
	return text
}

// borrowed is the kind of what the hcl library finds, which has phrases and no codes.
func borrowed(summary string) (kind Code, ok bool) {
	switch summary {
	case "Unsupported argument", "Unsupported block type":
		return Unsupported, true
	case "Missing required argument":
		return Missing, true
	case "Unsupported attribute":
		return NoAttribute, true
	case "Incorrect attribute value type":
		return Unsuitable, true
	}
	return Code{}, false
}

// FromHCL converts diagnostics of the hcl library. The code is the kind of those that
// have none of their own.
func FromHCL(c Code, diags hcl.Diagnostics) List {
	var l List
	for _, d := range diags {
		severity := Error
		if d.Severity == hcl.DiagWarning {
			severity = Warning
		}
		if own, ok := d.Extra.(Diagnostic); ok {
			l.Add(own)
			continue
		}
		kind, ok := borrowed(d.Summary)
		if !ok {
			kind = c
		}
		l.Add(Diagnostic{Severity: severity, Code: kind.Name, Summary: d.Summary, Detail: d.Detail, Subject: d.Subject, Context: d.Context})
	}
	return l
}

// ToHCL converts to diagnostics of the hcl library, for code that is called
// by it. FromHCL gets the originals back.
func (l List) ToHCL() hcl.Diagnostics {
	var out hcl.Diagnostics
	for _, d := range l {
		severity := hcl.DiagError
		if d.Severity == Warning {
			severity = hcl.DiagWarning
		}
		out = append(out, &hcl.Diagnostic{Severity: severity, Summary: d.Summary, Detail: d.Detail, Subject: d.Subject, Context: d.Context, Extra: d})
	}
	return out
}

// ByPlace orders problems that several tasks found: by place, then address.
func ByPlace(a, b Diagnostic) int {
	place := func(d Diagnostic) (string, int) {
		if d.Subject == nil {
			return "", 0
		}
		return d.Subject.Filename, d.Subject.Start.Byte
	}
	fileA, byteA := place(a)
	fileB, byteB := place(b)
	return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(byteA, byteB), cmp.Compare(a.Address, b.Address),
		cmp.Compare(a.Summary, b.Summary), cmp.Compare(a.Detail, b.Detail))
}
