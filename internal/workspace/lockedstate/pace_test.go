package lockedstate

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		p    pace
		took []time.Duration
		want []time.Duration // how long not to save after each
	}{
		"fast":      {pace{}, []time.Duration{ms / 2, 5 * ms, 5 * ms, 5 * ms}, []time.Duration{20 * ms, 20 * ms, 20 * ms, 100 * ms}},
		"slow":      {pace{}, []time.Duration{300 * ms}, []time.Duration{6 * time.Second}},
		"slow once": {pace{}, []time.Duration{2 * ms, 90 * ms, 2 * ms}, []time.Duration{40 * ms, 90 * ms, 40 * ms}},
		"slowest":   {pace{}, []time.Duration{3 * time.Second, 30 * time.Second}, []time.Duration{20 * time.Second, 30 * time.Second}},
		"asked":     {pace{asked: time.Minute}, []time.Duration{ms}, []time.Duration{time.Minute}},
	} {
		for n, took := range c.took {
			if got := c.p.saved(took, 10); got != c.want[n] {
				t.Errorf("%s: %v after save %d, want %v", name, got, n, c.want[n])
			}
		}
	}
}

func TestAffordable(t *testing.T) {
	began := time.Now()
	for name, c := range map[string]struct {
		written, size, journal int64
		after                  time.Duration
		want                   bool
	}{
		"the first":                 {0, 1 << 20, 0, 0, true},
		"too big":                   {0, freeBytes + 1, 0, 0, false},
		"too big, but much is done": {0, freeBytes + 1, 1, 0, true},
		"enough":                    {freeBytes, 1, 0, 0, false},
		"enough for now":            {freeBytes, bytesPerSecond, 0, time.Second / 2, false},
		"enough, but long ago":      {freeBytes, bytesPerSecond, 0, time.Second, true},
	} {
		p := pace{began: began, written: c.written}
		if got := p.affordable(c.size, c.journal, began.Add(c.after)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
