package main

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"time"
)

// limits make the cloud as slow and as strict as the environment says: SIM_LATENCY is how long
// an operation takes, SIM_AT_ONCE how many are worked on at once while others wait, and
// SIM_PER_SECOND how many a second there may be; what is more is rejected.
type limits struct {
	latency   time.Duration
	atOnce    chan struct{} // nil for any number
	perSecond float64       // 0 for any number

	mu    sync.Mutex
	spare float64 // operations that may begin now
	at    time.Time
}

var errTooOften = errors.New("ThrottlingException: Rate exceeded")

var theLimits = sync.OnceValue(func() *limits {
	l := &limits{at: time.Now()}
	l.latency, _ = time.ParseDuration(os.Getenv("SIM_LATENCY"))
	l.perSecond, _ = strconv.ParseFloat(os.Getenv("SIM_PER_SECOND"), 64)
	if n, _ := strconv.Atoi(os.Getenv("SIM_AT_ONCE")); n > 0 {
		l.atOnce = make(chan struct{}, n)
	}
	return l
})

// keep does an operation within the limits.
func (l *limits) keep(do func() error) error {
	if !l.take(time.Now()) {
		return errTooOften
	}
	if l.atOnce != nil {
		l.atOnce <- struct{}{}
		defer func() { <-l.atOnce }()
	}
	time.Sleep(l.latency)
	return do()
}

// take counts an operation, unless there were too many. Anything that isn't used is lost after
// a tenth of a second.
func (l *limits) take(now time.Time) bool {
	if l.perSecond <= 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = min(l.spare+now.Sub(l.at).Seconds()*l.perSecond, max(l.perSecond/10, 1))
	l.at = now
	if l.spare < 1 {
		return false
	}
	l.spare--
	return true
}
