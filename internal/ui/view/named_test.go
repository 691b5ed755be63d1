package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/plan"
)

// TestHeading: however a plan is shown, it says before all else what it didn't look at.
func TestHeading(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	left := &plan.LeftOut{Objects: 7, Since: now.Add(-5 * time.Minute)}
	with := mixed(t)
	with.Timestamp, with.LeftOut = now, left
	for name, show := range map[string]func(*bytes.Buffer) error{
		"plan":     func(b *bytes.Buffer) error { return Plan(b, with, Options{}) },
		"overview": func(b *bytes.Buffer) error { return Overview(b, with, Options{}) },
		"nothing":  func(b *bytes.Buffer) error { return Plan(b, &plan.Plan{Timestamp: now, LeftOut: left}, Options{}) },
	} {
		var b bytes.Buffer
		if err := show(&b); err != nil || !strings.HasPrefix(b.String(), "\n7 objects weren't read again: they were within the last 5 minutes,") {
			t.Errorf("%s: %v\n%.300s", name, err, b.String())
		}
	}
}
