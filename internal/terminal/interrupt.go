package terminal

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Interrupts turn signals into a polite and an impolite way to stop. While
// something that must not be cut short is under way (Begin), the first
// signal closes stop, and the second cancels the context, after a moment in
// which calls that are about to end can do so; the third doesn't wait for that
// either, nor for saving, which is never cut short before: the journal has
// everything by then. Otherwise the first cancels.
type Interrupts struct {
	mu       sync.Mutex
	graceful int // how many of these are under way
	count    int
	stop     chan struct{}
	saving   context.Context // until the third one
	notice   func(text string)
}

// lastMoment is how long calls of providers may still take after the second
// interrupt.
const lastMoment = time.Second

// NewInterrupts tells people by notice what an interrupt does.
func NewInterrupts(notice func(text string)) *Interrupts {
	return &Interrupts{stop: make(chan struct{}), notice: notice}
}

// Watch follows the signals until the returned function is called.
func (i *Interrupts) Watch(ctx context.Context) (context.Context, func()) {
	var unsaved func()
	i.saving, unsaved = context.WithCancel(ctx)
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 4)
	done := make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// Writing to a terminal or pipe that is gone must not end the process
	// either: it would take unsaved results with it.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	go func() {
		for {
			select {
			case <-signals:
				i.interrupted(cancel, unsaved)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(broken)
		close(done)
		cancel()
		unsaved()
	}
}

func (i *Interrupts) interrupted(cancel, unsaved func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.count++
	switch {
	case i.count == 1 && i.graceful > 0:
		// The apply tells that it stops.
		close(i.stop)
	case i.count == 1:
		i.notice("\nInterrupt received.\nGracefully shutting down...\n")
		close(i.stop)
		cancel()
	case i.count == 2 && i.graceful > 0:
		i.notice("\nTwo interrupts received. Exiting immediately. Note that data loss may have occurred.\n")
		time.AfterFunc(lastMoment, cancel)
	case i.count == 2:
		cancel()
	default:
		cancel()
		unsaved()
	}
}

// Begin starts work that must not be cut short; the returned function ends it.
func (i *Interrupts) Begin() (stop <-chan struct{}, end func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.graceful++
	return i.stop, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.graceful--
	}
}

// Saving is for how long results are saved.
func (i *Interrupts) Saving() context.Context { return i.saving }

// Stop is closed by the first interrupt.
func (i *Interrupts) Stop() <-chan struct{} { return i.stop }
