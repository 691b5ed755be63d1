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
// which calls that are about to end can do so, and what saves results after
// another one: the journal has everything by then. The third ends the process,
// after a moment for who listens. Otherwise the first cancels.
type Interrupts struct {
	// Exit ends the process; nil doesn't.
	Exit func(code int)
	// Signals are what interrupts; nil for those of the process.
	Signals <-chan os.Signal

	mu       sync.Mutex
	graceful int // how many of these are under way
	count    int
	stop     chan struct{}
	saving   context.Context // until some time after the second one
	notice   func(text string)
	pressed  chan struct{}
}

// How long calls of providers may still take after the second interrupt, how long
// saving may, and how long all the rest may after the third.
const (
	lastMoment = time.Second
	lastSave   = 5 * time.Second
	lastWords  = 2 * time.Second
)

// exitInterrupted is the exit code after the third interrupt.
const exitInterrupted = 1

// NewInterrupts informs people by notice what an interrupt does.
func NewInterrupts(notice func(text string)) *Interrupts {
	return &Interrupts{stop: make(chan struct{}), notice: notice, pressed: make(chan struct{}, 1)}
}

// Watch follows the signals until the returned function is called.
func (i *Interrupts) Watch(ctx context.Context) (context.Context, func()) {
	var unsaved func()
	i.saving, unsaved = context.WithCancel(context.WithoutCancel(ctx)) // results are saved although ctx ends
	ctx, cancel := context.WithCancel(ctx)
	signals, unnotify := i.Signals, func() {}
	if signals == nil {
		signals, unnotify = Signals()
	}
	done := make(chan struct{})
	// Writing to a terminal or pipe that is gone must not end the process
	// either: it would take unsaved results with it.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	go func() {
		for {
			select {
			case <-signals:
				i.interrupted(cancel, unsaved)
			case <-i.pressed:
				i.interrupted(cancel, unsaved)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		unnotify()
		signal.Stop(broken)
		close(done)
		cancel()
		unsaved()
	}
}

// Signals are the interrupts of this process until the returned function is called.
func Signals() (<-chan os.Signal, func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

func (i *Interrupts) interrupted(cancel, unsaved func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.count++
	if i.count == 2 {
		time.AfterFunc(lastSave, unsaved)
	}
	switch {
	case i.count == 1 && i.graceful > 0:
		// The apply reports that it stops.
		close(i.stop)
	case i.count == 1:
		i.tell("\nInterrupt received.\nGracefully shutting down...\n")
		close(i.stop)
		cancel()
	case i.count == 2 && i.graceful > 0:
		i.tell("\nTwo interrupts received. Provider calls have one more second, then weir saves the state and exits.\nNothing that was done is lost: the journal has it until it is saved.\n")
		time.AfterFunc(lastMoment, cancel)
	case i.count == 2:
		cancel()
	case i.count == 3:
		cancel()
		unsaved()
		time.AfterFunc(lastWords, i.exit)
	default:
		i.exit()
	}
}

// exit ends the process. All that the journal was reported is with the kernel, and what it was
// notified of what is about to be done is on the disk.
func (i *Interrupts) exit() {
	if i.Exit == nil {
		return
	}
	i.tell("\nThree interrupts received. This run ends without waiting any longer. Its journal has all results, and the next run continues from there.\n")
	i.Exit(exitInterrupted)
}

// tell prints something for people, but doesn't wait for long for a terminal or pipe that
// takes nothing.
func (i *Interrupts) tell(text string) {
	done := make(chan struct{})
	go func() {
		i.notice(text)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(lastMoment):
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

// Press is an interrupt that doesn't come by a signal.
func (i *Interrupts) Press() {
	select {
	case i.pressed <- struct{}{}:
	default: // one is under way
	}
}

// Forget begins again after work that was stopped by one interrupt.
func (i *Interrupts) Forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.count == 1 && i.graceful == 0 {
		i.count, i.stop = 0, make(chan struct{})
	}
}

// Saving is for how long results are saved.
func (i *Interrupts) Saving() context.Context {
	if i.saving == nil { // nobody watches
		return context.Background()
	}
	return i.saving
}

// Stop is closed by the first interrupt.
func (i *Interrupts) Stop() <-chan struct{} { return i.stop }
