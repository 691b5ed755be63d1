// Package value extends cty with the engine's marks on values, paths into values and their
// written forms, linear-time conversion and marking, and the JSON forms of plans and states.
//
// It knows nothing of configuration, providers, plans or state, and it never
// decides what is sensitive: it carries and reads marks others have put.
package value

import (
	"github.com/zclconf/go-cty/cty"
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

// HasMark reports whether v itself carries the mark; parts of v don't count.
func HasMark(v cty.Value, mark any) bool { return v.HasMark(mark) }

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
