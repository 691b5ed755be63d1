// Package persisted lists the lifecycle arguments that states store beside an object, because they
// matter after the block is removed.
//
// It owns them and what they are called in files, so that everybody else passes them on whole.
// It doesn't know what they do.
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
