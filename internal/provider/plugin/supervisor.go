package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"weir.dev/weir/internal/provider/providerproxy"
)

// maxCrashes is how many processes of a plugin may end one after the other
// without an answer of any of them but the first.
const maxCrashes = 5

// A supervisor runs the processes of one plugin, one after the other: a process that
// ended by itself takes the calls under way with it and no others. The next
// call starts a new one.
//
// It is a connection, so that the caller that calls needn't know. A call that fails because of
// an end has a *crash as its error when it may have reached the plugin, and is made again when
// it can't have, or when it changes nothing. Once no process is to be started any more the
// error is a *refusal.
type supervisor struct {
	// launch starts a process, ready brings it to where its predecessor was.
	launch func(context.Context) (*incarnation, error)
	ready  func(context.Context, *incarnation) error

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	turn   chan struct{} // held by the one who starts a process
	alone  chan struct{} // held by the one whose call is made once more
	ends   sync.WaitGroup

	mu      sync.Mutex
	now     *incarnation
	row     int // ends since the last answer
	gaveUp  *refusal
	stopped bool // nothing new is wanted
}

var _ grpc.ClientConnInterface = (*supervisor)(nil)

// An incarnation is one process and the connection to it.
type incarnation struct {
	conn     grpc.ClientConnInterface
	process  *process
	end      func() error
	answered atomic.Bool // after it was made ready
	counted  bool
}

// A crash is the end of a process, and the error of the calls under way then.
type crash struct {
	err error  // of the connection
	how string // it ended, such as "exit status 2"
	// trace is the stack trace that the plugin wrote, tail the last lines of
	// its standard error; each may be empty.
	trace, tail string
}

func (d *crash) Error() string { return "it ended by itself: " + d.short() }
func (d *crash) Unwrap() error { return d.err }

// short says in a few words how the process ended.
func (d *crash) short() string {
	word, _, _ := strings.Cut(d.trace, "\n")
	if word == "" {
		word = d.tail[strings.LastIndexByte(d.tail, '\n')+1:]
	}
	if word == "" {
		return d.how
	}
	return fmt.Sprintf("%s (%s)", d.how, word)
}

// A refusal is the error of a call that wasn't made because there is no
// process to ask. Final is set when there won't be one any more.
type refusal struct {
	why   string
	final bool
}

func (r *refusal) Error() string { return r.why }

// begin starts the first process, without making it ready.
func (l *supervisor) begin(ctx context.Context) error {
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.turn, l.alone = make(chan struct{}, 1), make(chan struct{}, 1)
	first, err := l.launch(ctx)
	if err != nil {
		l.cancel()
		return err
	}
	l.now = first
	return nil
}

func (l *supervisor) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	err := l.call(ctx, method, args, reply, opts...)
	var ended *crash
	if !repeatable(method) || !errors.As(err, &ended) {
		return err
	}
	select {
	case l.alone <- struct{}{}:
	case <-ctx.Done():
		return err
	}
	defer func() { <-l.alone }()
	second := l.call(ctx, method, args, reply, opts...)
	if refused := (*refusal)(nil); errors.As(second, &refused) {
		return err
	}
	return second
}

// call makes a call of the process that lives, and of the next one as long as
// the last ended before it got the call.
func (l *supervisor) call(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	for {
		now, err := l.running(ctx)
		if err != nil {
			return err
		}
		again, err := now.invoke(ctx, method, args, reply, opts...)
		if !again {
			return err
		}
	}
}

// invoke makes a call of this process. again: it has ended without the call.
func (n *incarnation) invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) (again bool, err error) {
	var p progress
	err = n.conn.Invoke(context.WithValue(ctx, progressKey{}, &p), method, args, reply, opts...)
	if err == nil || p.answered.Load() {
		n.answered.Store(true)
		return false, err
	}
	if headers, _ := metadata.FromOutgoingContext(ctx); ctx.Err() != nil && len(headers.Get(providerproxy.Header)) > 0 {
		n.process.unheard.Store(true)
	}
	if ctx.Err() != nil || !lost(err) || !n.process.endsNow(ctx) {
		return false, err
	}
	if !p.sent.Load() {
		return true, err
	}
	d := n.process.end()
	d.err = err
	return false, d
}

// lost reports whether a call may have failed because its process ended. Closing
// the connection to it, which another call may have done by then, cancels calls.
func lost(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.Canceled
}

// call makes a call that must not be repeated elsewhere.
func (n *incarnation) call(ctx context.Context, method string, args, reply any) error {
	_, err := n.invoke(ctx, method, args, reply)
	return err
}

func (l *supervisor) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	now, err := l.running(ctx)
	if err != nil {
		return nil, err
	}
	return now.conn.NewStream(ctx, desc, method, opts...)
}

// running gives the process to call, a new one when the last has ended.
func (l *supervisor) running(ctx context.Context) (*incarnation, error) {
	if now := l.current(); now != nil {
		return now, nil
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	defer func() { <-l.turn }()
	if now := l.current(); now != nil {
		return now, nil
	}
	if err := l.countEnd(); err != nil {
		return nil, err
	}
	return l.restart(ctx)
}

// current is the process, if it hasn't ended.
func (l *supervisor) current() *incarnation {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.process.ended() {
		return nil
	}
	return l.now
}

// countEnd counts the end of the last process and says whether there may be
// another one.
func (l *supervisor) countEnd() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return &refusal{why: "Its process has ended, and none is started while the operation is being stopped."}
	}
	if dead := l.now; !dead.counted {
		dead.counted = true
		l.ends.Go(func() { _ = dead.end() }) // what is left of it: sockets, pipes
		l.row++
		if dead.answered.Load() {
			l.row = 1
		}
	}
	if l.row >= maxCrashes && l.gaveUp == nil {
		l.gaveUp = &refusal{final: true, why: fmt.Sprintf("Its process ended %d times in a row without an answer, the last time with %s, so it isn't started again.",
			l.row, l.now.process.end().short())}
	}
	if l.gaveUp != nil {
		return l.gaveUp
	}
	return nil
}

// restart starts the next process.
func (l *supervisor) restart(ctx context.Context) (*incarnation, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	next, err := l.launch(ctx)
	if err == nil {
		if err = l.ready(ctx, next); err != nil {
			_ = next.end() // it is of no use
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case err != nil:
		l.gaveUp = &refusal{final: true, why: fmt.Sprintf("Its process ended with %s, and it can't be started again: %s.",
			l.now.process.end().short(), strings.TrimRight(err.Error(), ".\n"))}
		return nil, l.gaveUp
	case l.stopped:
		l.ends.Go(func() { _ = next.end() }) // nobody has called it
		return nil, &refusal{why: "It was started again, but the operation is being stopped."}
	}
	next.answered.Store(false)
	l.now = next
	return next, nil
}

// stop says that no further process is wanted.
func (l *supervisor) stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
}

// close ends the process, and whatever is left of earlier ones.
func (l *supervisor) close() error {
	l.stop()
	l.cancel()
	l.turn <- struct{}{} // nothing starts from here on
	<-l.turn
	l.mu.Lock()
	now := l.now
	l.mu.Unlock()
	err := now.end()
	l.ends.Wait()
	return err
}

// progress is how far a call came.
type progress struct{ sent, answered atomic.Bool }

type progressKey struct{}

// watcher is reported by gRPC what becomes of each call.
type watcher struct{}

func (watcher) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (watcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (watcher) HandleConn(context.Context, stats.ConnStats)                       {}

func (watcher) HandleRPC(ctx context.Context, s stats.RPCStats) {
	p, ok := ctx.Value(progressKey{}).(*progress)
	if !ok {
		return
	}
	switch s.(type) {
	case *stats.OutPayload:
		p.sent.Store(true)
	case *stats.InTrailer: // the plugin's own word on the call
		p.answered.Store(true)
	}
}
