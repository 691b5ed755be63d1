// Package persisted names what states keep of a block beside an object, because it matters
// when the block is gone: lifecycle arguments that are true or false.
//
// It owns them and what they are called in files, so that everybody else passes them on
// whole. It refuses to know what they do.
package persisted

// Settings are those of one object. The tags are their names in saved plans.
type Settings struct {
	CreateBeforeDestroy bool `msgpack:"cbd,omitempty"`
	SkipDestroy         bool `msgpack:"skip,omitempty"` // lifecycle { destroy = false }
}

// A Flag is one of the settings, which may be set through it.
type Flag struct {
	// Name is what states call it.
	Name string
	Set  *bool
}

// Flags are all settings, in the order in which states have them.
func (s *Settings) Flags() []Flag {
	return []Flag{
		{"create_before_destroy", &s.CreateBeforeDestroy},
		{"skip_destroy", &s.SkipDestroy},
	}
}
