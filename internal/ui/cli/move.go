package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/planoptions"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/statemgr"
	"weir.dev/weir/internal/workspace/transfer"
)

var moveCommand = &command{
	Name: "move", Args: "ADDRESS[=ADDRESS]...", Max: -1,
	Synopsis: "Move objects between the states of two roots",
	Long:     "Moves resources, instances and modules from the state of one root module to that of another. It locks both states, plans both roots as they would be afterwards, and asks for approval. The plans should have no changes to what moves: edit both configurations first. If the run is killed, the next run of either root finishes the move.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var m moving
		fs.StringVar(&m.from, "from", "", "Move objects of the root `ROOT`, such as network or apps/web@prod.")
		fs.StringVar(&m.to, "to", "", "Move the objects to the root `ROOT`.")
		fs.StringVar(&m.file, "file", "", "Read moves from `FILE`, which has a move block for each pair of roots.")
		fs.BoolVar(&m.undo, "undo", false, "Take the moves back: move the objects in the opposite direction.")
		fs.BoolVar(&m.approved, "auto-approve", false, "Don't ask for approval; fail if what moves would change.")
		fs.BoolVar(&m.refresh, "refresh", true, "Refresh objects for the plans.")
		fs.DurationVar(&m.timeout, "lock-timeout", 0, "Wait up to `DURATION` for each lock.")
		flags.Stream(fs, e.Screen)
		flags.Input(fs, &e.input)
		flags.Parallelism(fs, &m.parallelism)
		return func(ctx context.Context, args []string) int {
			m.env, m.again = e, m.command
			list, code := m.wanted(args)
			if code != 0 {
				return code
			}
			return m.run(ctx, list, args)
		}
	},
}

// moving is a run of the command.
type moving struct {
	env            *env
	from, to, file string
	undo, approved bool
	refresh        bool
	timeout        time.Duration
	parallelism    int
	// adopts: a stack takes over all that roots have. These keep their files, so only what receives
	// objects is planned.
	adopts bool
	again  func(args []string) string // the command that takes the moves back

	estate *roots.Estate
	runOf  *roots.Run
	list   []*movingRoot
	mu     sync.Mutex // of output
}

// A movingRoot is a root that objects leave or reach.
type movingRoot struct {
	env   *env
	root  *roots.Root
	place statebackend.Place
	work  *workspace.Work
	now   *state.Snapshot // as it would be after the moves so far
	moved map[addr.Object]bool
	made  *plan.Plan
	found diag.List
}

// A step moves objects from one root to another.
type step struct {
	from, to *movingRoot
	moves    []state.Move
}

func (m *moving) run(ctx context.Context, list []roots.Moves, args []string) int {
	if m.env.JSON && !m.approved {
		return m.env.Fail(diag.BadOption.As("Auto-approve required"), "weir cannot ask for interactive approval when -json is set. Use the -auto-approve option.")
	}
	defer m.close()
	if code := m.find(ctx, list); code != 0 {
		return code
	}
	if code := m.open(ctx); code != 0 {
		return code
	}
	steps, code := m.steps(list)
	if code != 0 || len(steps) == 0 {
		return code
	}
	m.plan(ctx)
	for _, r := range m.list {
		if r.work.Suppose(nil); !m.plans(r) {
			continue
		}
		if code = max(code, r.show()); r.made == nil {
			code = 1
		}
	}
	if code != 0 {
		return m.env.Fail(roots.Unplannable, "Nothing was moved, because a root can't be planned as it would be afterwards.")
	}
	for _, s := range steps {
		if code := s.check(); code != 0 {
			return code
		}
	}
	if ok, code := m.approve(ctx); !ok {
		return code
	}
	for _, s := range steps {
		if code := s.from.env.Diags(s.from.work.Send(ctx, s.to.work, s.moves, s.to.made)); code != 0 {
			return code
		}
		s.from.note("Moved %s to %s.\n", view.Count(len(s.moves), "object"), s.to.root.Name)
	}
	m.env.Notice(fmt.Sprintf("\nTo take this back, run the same command with -undo:\n    %s\n", m.again(args)))
	return 0
}

// states says how states are locked.
func (m *moving) states() statemgr.Options {
	return statemgr.Options{Locking: lockedstate.Locking{Timeout: m.timeout}}
}

// note prints something for people, or a line of the stream.
func (r *movingRoot) note(format string, args ...any) { r.env.Notice(fmt.Sprintf(format, args...)) }

// command is the command line that takes the moves back.
func (m *moving) command(args []string) string {
	words := []string{m.env.program, "move"}
	if !m.undo {
		words = append(words, "-undo")
	}
	if m.file != "" {
		words = append(words, "-file="+m.file)
	} else {
		words = append(words, "-from="+m.from, "-to="+m.to)
	}
	for _, a := range args {
		if strings.ContainsAny(a, " \"[*$") {
			a = "'" + a + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// wanted are the moves that the command line or the file asks for.
func (m *moving) wanted(args []string) ([]roots.Moves, int) {
	var list []roots.Moves
	switch {
	case m.file != "" && (len(args) > 0 || m.from+m.to != ""):
		return nil, m.env.Fail(diag.Incompatible.As("Moves from two places"), "The option -file names all moves. Leave out -from, -to and the addresses.")
	case m.file != "":
		var diags diag.List
		if list, diags = roots.ReadMoves(m.env.directory, m.file); m.env.Diags(diags) != 0 {
			return nil, 1
		}
	case m.from == "" || m.to == "" || len(args) == 0:
		return nil, m.env.Fail(diag.BadOption.As("Required argument missing"), "The move command expects -from=ROOT, -to=ROOT and addresses of what moves, or -file=FILE.")
	default:
		list = []roots.Moves{{From: m.from, To: m.to, Pairs: roots.Pairs(args)}}
	}
	if m.undo {
		list = roots.Undone(list)
	}
	return list, 0
}

// find finds the roots, and finishes moves of killed runs.
func (m *moving) find(ctx context.Context, list []roots.Moves) int {
	reports := m.env.reports()
	estate, diags := roots.Find(ctx, m.env.directory.With(reports), reports)
	if diags = diags.Without(roots.NoRoots); m.env.Diags(diags) != 0 {
		return 1
	}
	m.estate = estate
	for _, one := range list {
		for _, name := range []string{one.From, one.To} {
			if code := m.add(ctx, name); code != 0 {
				return code
			}
		}
	}
	// All runs lock states in the same order, so no two wait for each other.
	slices.SortFunc(m.list, func(a, b *movingRoot) int { return a.place.Compare(b.place) })
	return 0
}

// add adds a root, once.
func (m *moving) add(ctx context.Context, name string) int {
	root, diags := m.estate.Named(name, m.env.reports())
	if root == nil {
		return m.env.Diags(diags)
	}
	if m.named(root) != nil {
		return 0
	}
	one := m.env.part(m.env.Screen.Part(), "root", root.Name, true, true, &m.mu, root.Dir)
	one.program = one.directory.Place.Program
	one.Command = func(c diag.Command) diag.Command {
		c.Program = cmp.Or(c.Program, one.program)
		return c
	}
	one.Memory, one.Erred = one.directory.Place.Memory(), new(atomic.Bool)
	if root.Stack && enter(ctx, one, root.Workspace, true) != 0 {
		return 1
	}
	r := &movingRoot{env: one, root: root, moved: map[addr.Object]bool{}}
	m.list = append(m.list, r)
	if code := one.Start(); code != 0 {
		return code
	}
	b, workspace, diags := one.directory.StatePlace()
	if one.Diags(diags) != 0 {
		return 1
	}
	r.place = b.At(workspace)
	if m.env.Diags(m.estate.At(root, r.place)) != 0 {
		return 1
	}
	return one.Diags(one.directory.FinishMove(ctx, m.states()))
}

func (m *moving) named(root *roots.Root) *movingRoot {
	for _, r := range m.list {
		if r.root == root {
			return r
		}
	}
	return nil
}

// of is the root of a name.
func (m *moving) of(name string) *movingRoot {
	root, _ := m.estate.Named(name, m.env.reports())
	return m.named(root)
}

// close closes the directories, which releases the locks.
func (m *moving) close() {
	for _, r := range slices.Backward(m.list) {
		r.env.close()
	}
}

// open locks and reads all states.
func (m *moving) open(ctx context.Context) int {
	calls, _, _ := m.env.directory.Place.Limits(m.parallelism)
	list := make([]*roots.Root, len(m.list))
	for i, r := range m.list {
		list[i] = r.root
	}
	list, diags := roots.Order(list)
	if m.env.Diags(diags) != 0 {
		return 1
	}
	m.runOf = roots.NewRun(m.estate, list, false)
	for _, r := range m.list {
		if code := r.open(ctx, m, calls); code != 0 {
			return code
		}
	}
	return 0
}

func (r *movingRoot) open(ctx context.Context, m *moving, calls *ratelimit.Limiter) int {
	var diags diag.List
	r.work, diags = r.env.directory.Open(ctx, m.runOf.Subject(r.root, r.env.directory), workspace.Opening{
		Loading:   workspace.Loading{Vars: r.root.Vars, Parallelism: m.parallelism, Sink: r.env.Sink(), Calls: calls},
		State:     m.states(),
		Operation: storage.Moves,
	})
	if r.env.Diags(diags) != 0 || r.work == nil {
		return 1
	}
	r.now = r.work.Snapshot()
	return 0
}

// steps finds what moves where.
func (m *moving) steps(list []roots.Moves) ([]step, int) {
	var steps []step
	code := 0
	for _, one := range list {
		s := step{from: m.of(one.From), to: m.of(one.To)}
		if s.from == s.to {
			return nil, m.env.Fail(edit.BadMove.As("One root"), "Both -from and -to name the root %s. To give objects another address in one state, use \"state mv\" or a moved block.", s.from.root.Name)
		}
		if s.from.env.Diags(transfer.Check(s.from.work.State, s.to.work.State)) != 0 {
			return nil, 1
		}
		moves, done, diags := edit.Transfers(s.from.now, s.to.now, one.Pairs)
		if code = max(code, s.from.env.Diags(diags)); code != 0 {
			continue
		}
		for _, address := range done {
			s.from.note("%s is in the state of %s already.\n", address, s.to.root.Name)
		}
		if len(moves) == 0 {
			continue
		}
		s.moves = moves
		if s.tell(); !m.adopts {
			s.warn()
		}
		s.from.now, s.to.now = edit.Sent(s.from.now, moves), edit.Received(s.from.now, s.to.now, moves)
		for _, move := range moves {
			s.from.moved[move.From], s.to.moved[move.To] = true, true
		}
		steps = append(steps, s)
	}
	return steps, code
}

// tell prints the moves.
func (s step) tell() {
	for _, move := range s.moves {
		if move.From == move.To {
			s.from.note("Move %s to %s\n", move.From, s.to.root.Name)
		} else {
			s.from.note("Move %s to %s as %s\n", move.From, s.to.root.Name, move.To)
		}
	}
}

// warn lists the dependencies that will lead from one state to the other.
func (s step) warn() {
	needs, needed := edit.Crossings(s.from.now, s.moves)
	if len(needs)+len(needed) == 0 {
		return
	}
	var b strings.Builder
	for _, c := range needs {
		fmt.Fprintf(&b, "\n  - %s, which moves, depends on %s", c.Object, c.On)
	}
	for _, c := range needed {
		fmt.Fprintf(&b, "\n  - %s, which stays, depends on %s", c.Object, c.On)
	}
	circle := ""
	if len(needs) > 0 && len(needed) > 0 {
		circle = " As these lead in both directions, each root would need the other one. Move more objects, or fewer."
	}
	s.from.env.Diags(edit.Split.Warnings("These dependencies lead from one root to the other afterwards, and no state can have them. One root has to read the other's outputs, and comes after it in \"apply -all\".%s%s", circle, b.String()))
}

func (m *moving) plans(r *movingRoot) bool { return !m.adopts || r.root.Stack != m.undo }

// plan plans roots as they would be. Reads of each other's states give planned outputs.
func (m *moving) plan(ctx context.Context) {
	var wait sync.WaitGroup
	for _, r := range m.list {
		r.work.Suppose(r.now)
		if !m.plans(r) {
			continue
		}
		wait.Go(func() {
			m.runOf.Begin()
			r.made, r.found = r.work.Plan(ctx, planoptions.Planning{SkipRefresh: !m.refresh, AllowDeferral: true})
			if r.made != nil && !r.found.HasErrors() {
				m.runOf.Planned(r.root, r.work, r.made)
			}
			m.runOf.End(r.root, r.made != nil && !r.found.HasErrors())
		})
	}
	wait.Wait()
}

// show shows the plan of a root.
func (r *movingRoot) show() int {
	if r.made != nil {
		r.env.showPlan(r.work, r.made)
	}
	return r.env.Diags(r.found)
}

// check rejects objects that another provider would manage afterwards.
func (s step) check() int {
	for _, move := range s.moves {
		now, then := s.from.work.Snapshot().Objects[move.From], s.to.made.Refreshed.Objects[move.To]
		if now != nil && then != nil && now.Provider.Provider != then.Provider.Provider {
			return s.from.env.Diags(edit.BadMove.As("Another provider").List("Cannot move %s to %s: its provider is %s, and %s there. Name the same provider in required_providers of both roots, or run \"state replace-provider\" first.", move.From, s.to.root.Name, now.Provider.Provider, then.Provider.Provider))
		}
	}
	return 0
}

// changed lists what the plans would do to what moves, or to what it leaves behind. A stack that adopts
// roots takes over all of them, so anything else is missing in its list of moves.
func (m *moving) changed() (list []string) {
	for _, r := range m.list {
		if r.made == nil {
			continue
		}
		for _, c := range r.made.Changes {
			if (r.moved[c.Addr] || m.adopts && !m.undo && c.Addr.Name.Mode == addr.Managed) && c.Action != plan.NoOp {
				list = append(list, fmt.Sprintf("%s in %s: %s", c.Addr, r.root.Name, c.Action))
			}
		}
	}
	return list
}

// approve asks whether to go on.
func (m *moving) approve(ctx context.Context) (ok bool, code int) {
	changed := m.changed()
	if m.approved {
		if len(changed) > 0 {
			return false, m.env.Fail(roots.Changed, "Nothing was moved, because the plans afterwards would change what moves:\n  - %s\nEdit the configurations of both roots first, or run the command without -auto-approve.", strings.Join(changed, "\n  - "))
		}
		return true, 0
	}
	q := question{query: "\nDo you want to move these objects?", description: "weir will write both states, the destination first.\nOnly 'yes' will be accepted to approve.", always: true}
	if len(changed) > 0 {
		q.description = "The next apply would change what moves:\n  - " + strings.Join(changed, "\n  - ") + "\n" + q.description
	}
	yes, code := m.env.confirm(ctx, q, "Approval required", "-auto-approve")
	if !yes && code == 0 {
		m.env.Say("\nMove cancelled.\n")
		code = 1
	}
	return yes, code
}
