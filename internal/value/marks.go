// Package value holds what the engine adds to cty: the marks it puts on
// values, paths into values and their written forms, linear-time conversion
// and marking, and the JSON renderings that plans and states need.
//
// It knows nothing of configuration, providers, plans or state, and it never
// decides what is sensitive: it carries and reads marks others have put.
package value

import (
	"sort"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/ctymarks"
)

// Mark is a characteristic of a value that spreads to everything derived from
// it.
type Mark string

const (
	// Sensitive values are hidden from people: in rendered plans, messages and
	// the console.
	Sensitive Mark = "sensitive"
	// Ephemeral values exist during one phase and are never stored.
	Ephemeral Mark = "ephemeral"
)

// GoString names the mark in failing tests.
func (m Mark) GoString() string { return "value.Mark(" + string(m) + ")" }

// Deprecation is the mark on a value that was read from a deprecated variable,
// output or attribute. Two reads of the same source make equal marks, so one
// value carries a source once.
type Deprecation struct {
	Message string // what the author advises; may be empty
	Module  string // module instance that declares the source; empty for the root
	Subject string // the source within the module
}

// HasMark reports whether v itself carries the mark; parts of v don't count.
func HasMark(v cty.Value, mark any) bool { return v.HasMark(mark) }

// HasMarkDeep reports whether v or any part of it carries the mark.
func HasMarkDeep(v cty.Value, mark any) bool { return v.HasMarkDeep(mark) }

// IsSensitive reports whether v or any part of it is sensitive.
func IsSensitive(v cty.Value) bool { return v.HasMarkDeep(Sensitive) }

// IsEphemeral reports whether v or any part of it is ephemeral.
func IsEphemeral(v cty.Value) bool { return v.HasMarkDeep(Ephemeral) }

// Hidden reports whether v or any part of it must not be shown in a message.
func Hidden(v cty.Value) bool {
	for _, part := range cty.DeepValues(v) {
		if part.HasMark(Sensitive) || part.HasMark(Ephemeral) {
			return true
		}
	}
	return false
}

// HiddenMarks is Hidden for marks that were already taken off.
func HiddenMarks(marks cty.ValueMarks) bool {
	return marks.Has(Sensitive) || marks.Has(Ephemeral)
}

// Without returns v with one mark taken off everywhere, the others kept.
func Without(v cty.Value, mark any) cty.Value {
	ret, _ := v.WrangleMarksDeep(func(m any, _ cty.Path) (ctymarks.WrangleAction, error) {
		if m == mark {
			return ctymarks.WrangleDrop, nil
		}
		return nil, nil
	})
	return ret
}

// Deprecations takes all deprecation marks off v and returns them, each once,
// sorted by module, subject and message.
func Deprecations(v cty.Value) (cty.Value, []Deprecation) {
	var found []Deprecation
	seen := map[Deprecation]bool{}
	ret, _ := v.WrangleMarksDeep(func(m any, _ cty.Path) (ctymarks.WrangleAction, error) {
		dep, ok := m.(Deprecation)
		if !ok {
			return nil, nil
		}
		if !seen[dep] {
			seen[dep] = true
			found = append(found, dep)
		}
		return ctymarks.WrangleDrop, nil
	})
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.Module != b.Module {
			return a.Module < b.Module
		}
		if a.Subject != b.Subject {
			return a.Subject < b.Subject
		}
		return a.Message < b.Message
	})
	return ret, found
}
