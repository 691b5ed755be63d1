package lockedstate

import (
	"slices"
	"time"
)

// A pace says how often the state is saved during an apply. The journal, which
// is on disk at once, has everything: saving in between is for those who don't
// see it, other programs and other machines, and must not cost much.
type pace struct {
	asked time.Duration // the least time between two saves; 0 for none
	began time.Time

	written int64           // bytes of states
	took    []time.Duration // the last saves
}

const (
	// restTimes is how many times as long as a save took nothing is saved afterwards: saving
	// takes a twentieth of the time at most.
	restTimes = 20
	// shortWait gathers what ends at about the same time.
	shortWait = 20 * time.Millisecond
	// longestRest is how long a state may lack what was done, however slow saving is: as long
	// as with other programs.
	longestRest = 20 * time.Second
	// freeBytes may be written without any return, and bytesPerSecond where
	// objects take so long that it doesn't matter.
	freeBytes      = 1 << 20
	bytesPerSecond = 4 << 20
)

// first is how long to gather before the first save.
func (p *pace) first() time.Duration { return max(shortWait, p.asked) }

// saved notes a save of that many bytes that took so long, and reports how long not to save
// now.
func (p *pace) saved(took time.Duration, size int64) time.Duration {
	p.written += size
	// A single slow one says more about what else this machine does.
	p.took = append(p.took, took)
	p.took = p.took[max(0, len(p.took)-3):]
	rest := max(took, min(restTimes*slices.Min(p.took), longestRest))
	return max(shortWait, rest, p.asked)
}

// affordable reports whether another state of that many bytes may be written.
// An object's share grows neither with the number of objects nor with the time
// that others take: states are written as the journal grows, by a constant for
// each object, and as time goes by.
func (p *pace) affordable(size, journal int64, now time.Time) bool {
	return p.written+size <= freeBytes+journal+int64(now.Sub(p.began).Seconds()*bytesPerSecond)
}
