package terminal

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestInterrupts follows the signals during work that must not be cut short.
func TestInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said, exited atomic.Int64
		i := NewInterrupts(func(string) { said.Add(1) })
		i.Exit = func(code int) { exited.Store(int64(code)) }
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var unsaved context.CancelFunc
		i.saving, unsaved = context.WithCancel(t.Context())
		defer unsaved()
		_, end := i.Begin()
		defer end()
		at := func(d time.Duration, working, saving bool, code int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if (ctx.Err() == nil) != working || (i.Saving().Err() == nil) != saving || exited.Load() != int64(code) {
				t.Errorf("work: %v, saving: %v, exit code %d", ctx.Err(), i.Saving().Err(), exited.Load())
			}
		}
		i.interrupted(cancel, unsaved)
		at(time.Hour, true, true, 0)
		select {
		case <-i.Stop():
		default:
			t.Error("the first one doesn't stop anything")
		}
		i.interrupted(cancel, unsaved)
		at(0, true, true, 0)
		at(lastMoment, false, true, 0)
		at(lastSave-lastMoment, false, false, 0)
		i.interrupted(cancel, unsaved)
		at(0, false, false, 0)
		at(lastWords, false, false, exitInterrupted)
		if n := said.Load(); n != 2 {
			t.Errorf("%d notices", n)
		}
	})
}

// TestThree: three at once don't wait for what the second one leaves time for.
func TestThree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exited := make(chan int, 1)
		i := NewInterrupts(func(string) {})
		i.Exit = func(code int) { exited <- code }
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var unsaved context.CancelFunc
		i.saving, unsaved = context.WithCancel(t.Context())
		defer unsaved()
		_, end := i.Begin()
		defer end()
		for range 3 {
			i.interrupted(cancel, unsaved)
		}
		if ctx.Err() == nil || i.Saving().Err() == nil {
			t.Error("it goes on")
		}
		begun := time.Now()
		if code := <-exited; code != exitInterrupted || time.Since(begun) != lastWords {
			t.Errorf("%d after %s", code, time.Since(begun))
		}
	})
}

// TestPress: a page stops work as a signal does, and what comes after it isn't stopped.
func TestPress(t *testing.T) {
	i := NewInterrupts(func(string) {})
	ctx, over := i.Watch(t.Context())
	defer over()
	stop, end := i.Begin()
	i.Press()
	<-stop
	end()
	i.Forget()
	again, end := i.Begin()
	defer end()
	select {
	case <-again:
		t.Error("the next work is stopped")
	default:
	}
	i.Press()
	<-again
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
}

// TestSecondInterrupt: the text says what happens then, and nothing that doesn't.
func TestSecondInterrupt(t *testing.T) {
	var told strings.Builder
	i := NewInterrupts(func(text string) { told.WriteString(text) })
	_, end := i.Begin()
	defer end()
	i.interrupted(func() {}, func() {})
	i.interrupted(func() {}, func() {})
	if got := told.String(); !strings.Contains(got, "one more second, then weir saves the state") || strings.Contains(got, "data loss") || strings.Contains(got, "immediately") {
		t.Error(got)
	}
}
