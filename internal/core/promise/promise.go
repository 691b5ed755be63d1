// Package promise computes values on demand. The first reader of a cell computes it, others
// wait, and a cycle is an error with its chain of reasons instead of a hang.
//
// It owns cells, the tasks that compute them and the bookkeeping of who
// waits for whom. It knows nothing of what is computed.
package promise

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
)

// A Runtime runs tasks. At most Limit of them are active at a time; a task
// that waits for a cell isn't active.
type Runtime struct {
	mu     sync.Mutex
	limit  int
	active int
	queue  []func(*Task)
	panics []Panic
	diags  diag.List // see Diagnostics
	wg     sync.WaitGroup
	away   int    // active tasks that wait for somebody outside
	parked int    // tasks that do so and aren't active
	quiet  func() // see Quiet
	record Recorder
}

// A Recorder receives each read of a cell that computes another one, by their subjects, and
// through which reference, nil where none asked. Several tasks call it at once.
type Recorder func(reader, read fmt.Stringer, via *hcl.Range)

// Record sets the recorder of all reads, before any task runs.
func (rt *Runtime) Record(r Recorder) { rt.record = r }

// NewRuntime makes a runtime for the given number of tasks that may block
// outside at the same time, such as calls of providers.
func NewRuntime(blocking int) *Runtime {
	return &Runtime{limit: blocking + 2*runtime.GOMAXPROCS(0)}
}

// Widen changes how many tasks may block outside at the same time.
func (rt *Runtime) Widen(blocking int) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.limit = blocking + 2*runtime.GOMAXPROCS(0)
	for rt.active < rt.limit && len(rt.queue) > 0 {
		rt.active++
		go rt.run(rt.take())
	}
}

// Go starts a task, now or as soon as the limit allows.
func (rt *Runtime) Go(work func(*Task)) {
	rt.wg.Add(1)
	rt.mu.Lock()
	if rt.active >= rt.limit {
		rt.queue = append(rt.queue, work)
		rt.mu.Unlock()
		return
	}
	rt.active++
	rt.mu.Unlock()
	go rt.run(work)
}

// run does one piece of work after another until none is left.
func (rt *Runtime) run(work func(*Task)) {
	for {
		rt.Do(work)
		rt.wg.Done()
		rt.mu.Lock()
		if len(rt.queue) == 0 || rt.active > rt.limit {
			rt.active--
			rt.unlock()
			return
		}
		work = rt.take()
		rt.mu.Unlock()
	}
}

// take removes the oldest queued work, so that none waits while newer work overtakes it;
// rt.mu is held and the queue isn't empty.
func (rt *Runtime) take() func(*Task) {
	work := rt.queue[0]
	rt.queue[0] = nil // the array outlives the slice: don't hold on to what has run
	rt.queue = rt.queue[1:]
	return work
}

// Quiet notifies somebody whenever no task is at work any more: all wait for cells or for
// somebody outside. By then some may be again, which IsQuiet says.
func (rt *Runtime) Quiet(tell func()) {
	rt.mu.Lock()
	rt.quiet = tell
	rt.unlock()
}

// IsQuiet reports whether no task is at work.
func (rt *Runtime) IsQuiet() bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.active <= rt.away
}

// unlock gives rt.mu back and reports when it is quiet.
func (rt *Runtime) unlock() {
	tell := rt.quiet
	if rt.active > rt.away {
		tell = nil
	}
	rt.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// Leave says that a task waits for somebody outside until Return. It keeps its place among
// those that may.
func (rt *Runtime) Leave() {
	rt.mu.Lock()
	rt.away++
	rt.unlock()
}

// Return says that a task that has left is at work again.
func (rt *Runtime) Return() {
	rt.mu.Lock()
	rt.away--
	rt.mu.Unlock()
}

// mostParked is how many tasks give up their place while they are parked: each that is started
// in such a place takes memory.
const mostParked = 10_000

// Park has the task wait for somebody outside until done is closed. Others have its place
// meanwhile. The goroutine that closes done calls Unpark before, once for all waiters.
func (t *Task) Park(done <-chan struct{}) {
	rt := t.rt
	rt.mu.Lock()
	switch {
	case t.place == calledBack:
		t.place = atWork
		rt.mu.Unlock()
	case rt.parked >= mostParked:
		t.place = inPlace
		rt.away++
		rt.unlock()
	default:
		t.place = aside
		rt.parked++
		rt.yield()
	}
	<-done
}

// A place is where a task is while it is parked.
type place uint8

const (
	atWork     place = iota
	aside            // somebody else has its place
	inPlace          // nobody has
	calledBack       // it was unparked before it could park
)

// Unpark says that tasks of one runtime which are parked, or about to be, are at work again,
// all of them before any is.
func Unpark(tasks []*Task) {
	if len(tasks) == 0 {
		return
	}
	rt := tasks[0].rt
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for _, t := range tasks {
		switch t.place {
		case aside:
			rt.parked--
			rt.active++
			t.place = atWork
		case inPlace:
			rt.away--
			t.place = atWork
		default:
			t.place = calledBack
		}
	}
}

// Wait returns when all tasks have ended, those started meanwhile included.
func (rt *Runtime) Wait() { rt.wg.Wait() }

// Do runs work as a task on the caller's goroutine.
func (rt *Runtime) Do(work func(*Task)) {
	t := &Task{rt: rt}
	work(t)
	if l := t.outside.diags; l != nil {
		rt.mu.Lock()
		rt.diags.Append(*l)
		rt.mu.Unlock()
	}
}

// Diagnostics are the problems that tasks reported outside of cells, in the order in which the
// tasks ended. Call it when no task runs.
func (rt *Runtime) Diagnostics() diag.List { return rt.diags }

// A Task is one line of work. It belongs to one goroutine at a time and is
// passed on as an argument.
type Task struct {
	rt      *Runtime
	stack   []frame
	waiting *Node
	via     *hcl.Range // the reference that asked for waiting
	place   place      // while it is parked
	outside Node       // takes what is reported outside of cells

	watches   int           // that measure
	elsewhere time.Duration // spent with other cells while there were watches
}

// A Watch measures how long a task works. Other cells, which it computes or waits for,
// don't count.
type Watch struct {
	t         *Task
	begun     time.Time
	elsewhere time.Duration // before
}

// Watch begins to measure. A caller that calls it sees to Stop.
func (t *Task) Watch() *Watch {
	t.watches++
	return &Watch{t, time.Now(), t.elsewhere}
}

// Worked is the time until now.
func (w *Watch) Worked() time.Duration {
	return time.Since(w.begun) - (w.t.elsewhere - w.elsewhere)
}

// Stop ends the measuring.
func (w *Watch) Stop() { w.t.watches-- }

// A pause is for what no watch counts.
type pause struct {
	begun     time.Time
	elsewhere time.Duration // before
}

func (t *Task) pause() pause {
	if t.watches == 0 {
		return pause{}
	}
	return pause{time.Now(), t.elsewhere}
}

func (t *Task) resume(p pause) {
	if t.watches > 0 && !p.begun.IsZero() {
		t.elsewhere = p.elsewhere + time.Since(p.begun) // with what was added meanwhile
	}
}

// Elsewhere does what no watch counts.
func (t *Task) Elsewhere(do func()) {
	p := t.pause()
	do()
	t.resume(p)
}

// A frame is a cell that the task is computing, with the reference through
// which its value was asked for.
type frame struct {
	node *Node
	via  *hcl.Range
}

// Try does work whose reads and failures are nobody else's. It returns what the work reported,
// and whether it went well.
func (t *Task) Try(work func(*Task)) (diag.List, bool) {
	var c Cell[struct{}]
	c.state, c.owner = running, t
	if current := t.Current(); current != nil {
		c.Subject = current.Subject
	}
	c.compute(t, nil, func(t *Task) (struct{}, bool) {
		work(t)
		return struct{}{}, true
	})
	return c.Diagnostics(), !c.Failed()
}

// Within does work that is part of what the task computes, and reports whether the work went
// well, whatever happened before it.
func (t *Task) Within(work func(*Task)) (ok bool) {
	before := t.Failures()
	work(t)
	return t.Failures() == before
}

// Collect does work that is part of what the task computes, and returns what it reports instead
// of passing that on. Errors among it fail nothing until they are reported; reading what failed
// does.
func (t *Task) Collect(work func()) (l diag.List) {
	n := t.node()
	before := n.diags
	n.diags = nil
	defer func() { // after a panic too
		if n.diags != nil {
			l = *n.diags
			n.failures -= errors(l)
		}
		n.diags = before
	}()
	work()
	return nil
}

// Amend does work that is part of what the task computes, and reports what edit makes of what
// it reports. It reports whether the work went well then.
func (t *Task) Amend(edit func(diag.List) diag.List, work func()) (ok bool) {
	before := t.Failures()
	if l := t.Collect(work); len(l) > 0 {
		t.Report(edit(l)...)
	}
	return t.Failures() == before
}

// errors counts those of a list.
func errors(l diag.List) (n uint32) {
	for _, d := range l {
		if d.Severity == diag.Error {
			n++
		}
	}
	return n
}

// Current is the cell that the task is computing, or nil.
func (t *Task) Current() *Node {
	if len(t.stack) == 0 {
		return nil
	}
	return t.stack[len(t.stack)-1].node
}

// Depend notes that what the task computes depends on the node although it
// doesn't read its value.
func (t *Task) Depend(n *Node) { t.depend(n, nil) }

func (t *Task) depend(n *Node, via *hcl.Range) {
	if current := t.Current(); current != nil && n != current {
		metrics.Reads.Add(1)
		current.deps = append(current.deps, n)
		if t.rt.record != nil {
			t.rt.record(current.Subject, n.Subject, via)
		}
	}
}

// node is the cell that the task computes, or what takes its place outside of cells.
func (t *Task) node() *Node {
	if len(t.stack) == 0 {
		return &t.outside
	}
	return t.stack[len(t.stack)-1].node
}

// Report adds problems to what the task computes. An error fails it, so that no caller can
// forget that. It reports whether none of them is an error.
func (t *Task) Report(problems ...diag.Diagnostic) (ok bool) {
	if len(problems) == 0 {
		return true
	}
	n := t.node()
	if n.diags == nil {
		n.diags = new(diag.List)
	}
	n.diags.Add(problems...)
	wrong := errors(problems)
	n.failures += wrong
	return wrong == 0
}

// Reported are the problems that were reported for what the task computes, to be edited.
func (t *Task) Reported() diag.List {
	if l := t.node().diags; l != nil {
		return *l
	}
	return nil
}

// Fail marks what the task computes as failed by something that is reported elsewhere.
func (t *Task) Fail() { t.node().failures++ }

// Failures counts what has gone wrong so far with what the task computes. Work between two
// counts that are equal went well.
func (t *Task) Failures() uint32 { return t.node().failures }

type progress uint8

const (
	idle progress = iota
	running
	done
)

// A Node is the part of a cell that doesn't depend on its type.
type Node struct {
	// Subject is what the cell is the value of; it names the cell in
	// messages.
	Subject fmt.Stringer

	state    progress // guarded by Runtime.mu
	failures uint32
	owner    *Task
	wait     chan struct{}
	waits    int // tasks, for wait
	deps     []*Node
	diags    *diag.List // nil for none, which most have
}

// Deps lists the cells that were read to compute this one, in order of
// reading and with repetitions. It may be called when the cell is done.
func (n *Node) Deps() []*Node { return n.deps }

// Failed reports whether the value stands for an error that was reported
// elsewhere. No cell hasn't failed.
func (n *Node) Failed() bool { return n != nil && n.failures > 0 }

// Diagnostics are the problems of the cell itself, none while it isn't done.
func (n *Node) Diagnostics() diag.List {
	if n.state != done || n.diags == nil {
		return nil
	}
	return *n.diags
}

// A Cell is a value that is computed once. The zero value is ready.
type Cell[T any] struct {
	Node
	value T
}

// A Rare is a cell that few ask for: it takes hardly any memory before somebody does. The
// zero value is ready.
type Rare[T any] struct {
	made atomic.Pointer[Cell[T]]
}

// Cell is the cell, which is made by who asks first.
func (r *Rare[T]) Cell() *Cell[T] {
	if c := r.made.Load(); c != nil {
		return c
	}
	r.made.CompareAndSwap(nil, new(Cell[T]))
	return r.made.Load()
}

// Made is the cell if somebody has asked for it, else nil.
func (r *Rare[T]) Made() *Cell[T] { return r.made.Load() }

// A Cycle is a circle of cells that need each other: each link's value was
// asked for at Via by the link before it, the first by the last.
type Cycle []Link

// A Link is one cell of a Cycle.
type Link struct {
	Subject fmt.Stringer
	Via     *hcl.Range // nil where no reference asked
}

// maxInline is how many cells deep one goroutine computes.
const maxInline = 200

// Get returns the cell's value and computes it if nobody has. It isn't ok where computing it
// failed, which fails what the task computes as well. via is the reference that asks, for
// messages. When the value would need itself the result is the zero value and the circle.
func (c *Cell[T]) Get(t *Task, subject fmt.Stringer, via *hcl.Range, compute func(*Task) (T, bool)) (T, bool, Cycle) {
	rt := t.rt
	rt.mu.Lock()
	switch c.state {
	case idle:
		c.state, c.owner, c.Subject = running, t, subject
		rt.mu.Unlock()
		p := t.pause()
		c.compute(t, via, compute)
		t.resume(p)
	case running:
		if cycle := t.cycleThrough(&c.Node, via); cycle != nil {
			rt.mu.Unlock()
			t.Fail()
			var zero T
			return zero, false, cycle
		}
		p := t.pause()
		t.await(&c.Node, via)
		t.resume(p)
	default:
		rt.mu.Unlock()
	}
	t.depend(&c.Node, via)
	if c.Failed() {
		t.Fail()
		return c.value, false, nil
	}
	return c.value, true, nil
}

// Peek returns the value if the cell is done.
func (c *Cell[T]) Peek() (value T, ok bool) {
	if c.state != done {
		return value, false
	}
	return c.value, true
}

func (c *Cell[T]) compute(t *Task, via *hcl.Range, compute func(*Task) (T, bool)) {
	metrics.Cells.Add(1)
	t.stack = append(t.stack, frame{&c.Node, via})
	depth := len(t.stack)
	if depth%maxInline == 0 {
		// A fresh stack for the next cells: the value of a long chain is
		// computed without one goroutine's stack growing with it.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.value = guarded(t, &c.Node, compute)
		}()
		<-ended
	} else {
		c.value = guarded(t, &c.Node, compute)
	}
	t.stack = t.stack[:depth-1]

	t.rt.mu.Lock()
	c.state, c.owner = done, nil
	if c.wait != nil {
		t.rt.active += c.waits // from now on, not only when they have noticed
		close(c.wait)
		c.wait = nil
	}
	t.rt.mu.Unlock()
}

// guarded computes a value. A panic is a bug: it fails this cell alone, so that the caller
// that waits continues and what is known elsewhere isn't lost.
func guarded[T any](t *Task, n *Node, compute func(*Task) (T, bool)) T {
	defer func() {
		if p := recover(); p != nil {
			n.failures++
			t.rt.mu.Lock()
			t.rt.panics = append(t.rt.panics, Panic{n.Subject, p, debug.Stack()})
			t.rt.mu.Unlock()
		}
	}()
	value, ok := compute(t)
	if !ok {
		n.failures++
	}
	return value
}

// A Panic is a bug that showed while a cell was computed.
type Panic struct {
	Subject fmt.Stringer // may be nil
	Value   any
	Stack   []byte
}

// Panics lists the bugs that showed so far. Call it when no task runs.
func (rt *Runtime) Panics() []Panic { return rt.panics }

// await waits until the node is done. rt.mu is held and given back.
func (t *Task) await(n *Node, via *hcl.Range) {
	if n.wait == nil {
		n.wait = make(chan struct{})
	}
	wait := n.wait
	n.waits++
	t.waiting, t.via = n, via
	rt := t.rt
	rt.yield()
	<-wait
	rt.mu.Lock()
	t.waiting = nil
	rt.mu.Unlock()
}

// yield gives the place of a task that waits to somebody else. rt.mu is held and given back.
func (rt *Runtime) yield() {
	if len(rt.queue) > 0 {
		work := rt.take()
		go rt.run(work)
	} else {
		rt.active--
	}
	rt.unlock()
}

// cycleThrough follows who waits for whom from the node's owner. When that
// leads back to t it returns the circle. rt.mu is held.
func (t *Task) cycleThrough(n *Node, via *hcl.Range) Cycle {
	for owner := n.owner; owner != t; owner = owner.waiting.owner {
		// A task that still has to notice that its wait is over waits for a
		// cell without an owner.
		if owner.waiting == nil || owner.waiting.owner == nil {
			return nil
		}
	}
	tasks := []*Task{t}
	nodes := []*Node{n}
	for owner := n.owner; owner != t; owner = owner.waiting.owner {
		tasks = append(tasks, owner)
		nodes = append(nodes, owner.waiting)
	}
	// nodes[i] is owned by tasks[i+1], the last one by t itself. The circle
	// goes through each task from the cell it owns up to the cell it waits
	// for.
	var cycle Cycle
	for i, node := range nodes {
		task := tasks[(i+1)%len(tasks)]
		start := len(task.stack) - 1
		for start > 0 && task.stack[start].node != node {
			start--
		}
		entry := via
		if i > 0 {
			entry = tasks[i].via
		}
		cycle = append(cycle, Link{node.Subject, entry})
		for _, f := range task.stack[start+1:] {
			cycle = append(cycle, Link{f.node.Subject, f.via})
		}
	}
	return cycle
}
