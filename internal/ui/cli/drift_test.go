package cli

import (
	"testing"
	"time"
)

// TestMoment: -since takes times, ages and the last refresh.
func TestMoment(t *testing.T) {
	now := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "refresh": now, "24h": now.Add(-24 * time.Hour), "0s": now,
		"2030-01-30": time.Date(2030, 1, 30, 0, 0, 0, 0, time.UTC), "2030-01-31T10:00:00+01:00": now.Add(-3 * time.Hour),
	} {
		if at, ok := moment(text, now); !ok || !at.Equal(want) {
			t.Errorf("%q: %s, %t", text, at, ok)
		}
	}
	for _, text := range []string{"-1h", "soon", "30", "2030-13-01"} {
		if _, ok := moment(text, now); ok {
			t.Errorf("%q is a time", text)
		}
	}
}
