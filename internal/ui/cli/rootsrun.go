package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/sys/buildinfo"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/planoptions"
)

// togetherRounds is how often an apply of a root continues with what was deferred.
const togetherRounds = 10

// together is work on several roots in one run.
type together struct {
	env    *env
	estate *roots.Estate
	list   []*roots.Root
	run    *roots.Run
	calls  *ratelimit.Limiter
	sums   []view.Sum
	// atOnce is how many roots are started before others have ended.
	atOnce int
}

// check rejects flags that mean one directory.
func (p *planning) check(e *env) int {
	var wrong []string
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"-target", len(p.Targets)+len(p.TargetFiles) > 0}, {"-exclude", len(p.Excludes)+len(p.ExcludeFiles) > 0}, {"-replace", len(p.Replace) > 0}, {"-invoke", len(p.Invoke) > 0},
		{"-var or -var-file", len(p.vars) > 0}, {"-state", p.state.Path != ""}, {"-state-out", p.state.Out != ""}, {"-backup", p.state.Backup != ""}, {"-generate-config-out", p.generate != ""},
	} {
		if f.given {
			wrong = append(wrong, f.name)
		}
	}
	if wrong == nil {
		return 0
	}
	return e.Fail(diag.Incompatible.As("Options of one root"), "The option %s means a single root, and -all and -root work on several. Use -chdir to work on one root. Values of variables for roots are in %s.", strings.Join(wrong, ", "), roots.SettingsFile)
}

// together finds the roots that the flags choose.
func (p *planning) together(ctx context.Context, e *env) (*together, int) {
	if code := p.check(e); code != 0 {
		return nil, code
	}
	estate, list, code := p.roots.modules(ctx, e)
	if code != 0 {
		return nil, code
	}
	calls, _, _ := e.directory.Place.Limits(p.Parallelism) // loading reports what is wrong with the settings
	return &together{env: e, estate: estate, list: list, run: roots.NewRun(estate, list, p.Destroy), calls: calls, sums: make([]view.Sum, len(list)), atOnce: len(list)}, 0
}

// runAll initializes the roots one after the other: they may share a cache of providers.
func (i *initializing) runAll(ctx context.Context, c *choosing) int {
	if i.FromModule != "" || len(i.Vars) > 0 {
		return i.env.Fail(diag.Incompatible.As("Options of one root"), "The options -from-module, -var and -var-file mean a single root, and -all and -root work on several. Values of variables for roots are in %s.", roots.SettingsFile)
	}
	estate, list, code := c.modules(ctx, i.env)
	if code != 0 {
		return code
	}
	t := &together{env: i.env, estate: estate, list: list, run: roots.NewRun(estate, list, false), sums: make([]view.Sum, len(list)), atOnce: 1}
	return t.each(true, func(one *env, n int) int {
		root := &initializing{env: one, Init: i.Init}
		root.Vars = list[n].Vars
		return root.initialize(ctx)
	})
}

// each works on all roots at the same time, as far as they don't wait for each other, and sums up
// what came of them. The result is the worst exit code.
func (t *together) each(inTurns bool, work func(one *env, i int) int) int {
	defer t.estate.Share()()
	var mu sync.Mutex
	codes := make([]int, len(t.list))
	t.env.Several("root", roots.Names(t.list), t.atOnce, inTurns, func(i int, part *output.Screen) {
		root := t.list[i]
		one := t.env.part(part, "root", root.Name, true, !inTurns, &mu, root.Dir)
		one.program = one.directory.Place.Program
		one.Command = func(c diag.Command) diag.Command {
			if c.Program == "" {
				c.Program = one.program
			}
			return c
		}
		one.Memory = one.directory.Place.Memory()
		one.Erred = new(atomic.Bool)
		defer one.close()
		t.run.Begin()
		t.sums[i].Name = root.Name
		code := one.Start()
		if code == 0 {
			code = work(one, i)
		}
		t.run.End(root, code&^succeeded == 0 || code == exitChanges)
		codes[i], t.sums[i].Code = code, code&^succeeded
	})
	if !t.env.JSON {
		t.env.Say("%s", view.RootSums(t.sums))
	}
	if slices.Contains(codes, 1) {
		return 1
	}
	return slices.Max(append(codes, 0))
}

// counted notes how much a plan changes.
func (t *together) counted(i int, p *plan.Plan) {
	t.sums[i].Planned, t.sums[i].Components = true, map[addr.Module]plan.Counts{addr.Root: p.Counts()}
}

// options are those of a root.
func (t *together) options(p *planning, one *env, i int, command string) (planoptions.Planning, workspace.Opening, diag.List) {
	o, diags := p.Choose()
	o.AllowDeferral, o.Explained = true, one.Brief() || p.out != ""
	diags.Append(one.directory.Check(o, command))
	opening := p.opening(one, command)
	opening.Vars, opening.Ask, opening.Partly, opening.Calls = t.list[i].Vars, nil, false, t.calls
	return o, opening, diags
}

// runAll plans all roots that are chosen.
func (p *planning) runAll(ctx context.Context, e *env) int {
	t, code := p.together(ctx, e)
	if code != 0 {
		return code
	}
	var folder *roots.Saved
	if p.out != "" {
		var err error
		if folder, err = roots.NewSaved(e.directory, p.out); err != nil {
			return e.Fail(diag.Unwritable.As("Failed to write plan file"), "The folder for the plans could not be written: %s.", err)
		}
	}
	code = t.each(true, func(one *env, i int) int { return t.planOne(ctx, p, one, i, folder) })
	if folder != nil && code != 1 {
		if err := folder.Write(t.list, t.run); err != nil {
			return e.Fail(diag.Unwritable.As("Failed to write plan file"), "The list of plans could not be written: %s.", err)
		}
		e.Notice(fmt.Sprintf("\nSaved the plans to %s. To carry them out:\n    %s apply -all %[1]s\n", p.out, e.program))
	}
	return code
}

func (t *together) planOne(ctx context.Context, p *planning, one *env, i int, folder *roots.Saved) int {
	root := t.list[i]
	options, opening, diags := t.options(p, one, i, "plan")
	if diags.HasErrors() {
		return one.Diags(diags)
	}
	w, made, diags := workspace.Plan{Dir: one.directory, Subject: t.run.Subject(root, one.directory), Opening: opening, Options: options, Opened: one.warn}.Run(ctx)
	if w == nil {
		return one.Diags(diags)
	}
	defer w.Unlock()
	if made == nil {
		return one.Diags(diags)
	}
	if !diags.HasErrors() {
		t.run.Planned(root, w, made)
		t.counted(i, made)
	}
	one.showPlan(w, made)
	one.Notice(view.PutOff(made))
	one.Because = nil
	if folder != nil && !diags.HasErrors() {
		if err := w.Save(ctx, folder.Path(root), buildinfo.Current().Version, made); err != nil {
			diags.Add(diag.Unwritable.As("Failed to write plan file").New(diag.Error, "The plan file could not be written: %s.", err))
		}
	}
	if one.Diags(diags) != 0 {
		return 1
	}
	if p.detailed && (made.HasChanges() || len(made.Deferred) > 0) {
		return exitChanges
	}
	return 0
}

// runAll applies all roots that are chosen, or the plans in a folder.
func (a *applying) runAll(ctx context.Context, e *env, args []string) int {
	if e.JSON && !a.approved && len(args) == 0 {
		return e.Fail(diag.BadOption.As("Plan file or auto-approve required"), "weir cannot ask for interactive approval when -json is set. You can either apply a saved plan file, or enable the -auto-approve option.")
	}
	var saved *roots.Saved
	if len(args) > 0 {
		var diags diag.List
		if saved, diags = roots.ReadSaved(e.directory, args[0]); diags.HasErrors() {
			return e.Diags(diags)
		}
		a.Destroy = saved.Destroys()
	}
	t, code := a.together(ctx, e)
	if code != 0 {
		return code
	}
	if saved != nil {
		var diags diag.List
		if t.list, diags = saved.Choose(t.estate); diags.HasErrors() {
			return e.Diags(diags)
		}
		t.run, t.sums = roots.NewRun(t.estate, t.list, a.Destroy), make([]view.Sum, len(t.list))
		t.atOnce = len(t.list)
	}
	ask := &asking{all: t, approved: a.approved || saved != nil, destroys: a.Destroy, keepGoing: a.keepGoing}
	return t.each(false, func(one *env, i int) int { return t.applyOne(ctx, a, one, i, ask, saved) })
}

func (t *together) applyOne(ctx context.Context, a *applying, one *env, i int, ask *asking, saved *roots.Saved) int {
	root := t.list[i]
	options, opening, diags := t.options(&a.planning, one, i, "apply")
	if diags.HasErrors() {
		return one.Diags(diags)
	}
	subject, rounds := t.run.Subject(root, one.directory), togetherRounds
	inner := &approver{env: one, approved: true, allowForget: a.suppressForget, destroying: a.destroying, rounds: true}
	if saved != nil {
		content, diags := one.directory.ReadPlan(saved.Path(root))
		if diags.HasErrors() {
			return one.Diags(diags)
		}
		subject, rounds, options = one.directory.Saved(content), 1, planoptions.Planning{}
		subject.Apply = t.run.Sharing(root)
		inner.saved, opening.Vars = true, nil
	}
	by := &rootApprover{approver: inner, all: t, asking: ask, root: root, i: i}
	return one.apply(ctx, workspace.Plan{Subject: subject, Opening: opening, Options: options}, rounds, by)
}

// asking puts one question for all roots.
type asking struct {
	all                *together
	approved, destroys bool
	keepGoing          bool // although some roots couldn't be planned

	once   sync.Once
	answer bool
	mu     sync.Mutex // of questions
}

// put asks whether to go on with the plans of all roots, once.
func (a *asking) put(ctx context.Context, plans map[string]*plan.Plan) bool {
	a.once.Do(func() {
		changing := 0
		for _, p := range plans {
			if p.HasChanges() {
				changing++
			}
		}
		a.answer = changing == 0 || a.approved || a.yes(ctx, changing)
	})
	return a.answer
}

// yes asks on the screen of all roots.
func (a *asking) yes(ctx context.Context, changing int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	where := "1 root"
	if changing != 1 {
		where = fmt.Sprintf("%d roots", changing)
	}
	what, query := "Apply", "Do you want to perform these actions in "+where+"?"
	description := "weir will perform the actions described above, in upstream roots first.\nOnly 'yes' will be accepted to approve."
	if a.destroys {
		what, query = "Destroy", "Do you really want to destroy all resources in "+where+"?"
		description = "weir will destroy all your managed infrastructure in these roots, as shown above.\nThere is no undo. Only 'yes' will be accepted to confirm."
	}
	answer, err := a.all.env.ask(ctx, question{query: "\n" + query, description: description, always: true})
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil:
		a.all.env.Fail(diag.Unanswered.As("Error asking for approval"), "The answer can't be read: %s. Use -auto-approve to go on without asking.", err)
		return false
	case answer == "yes":
		return true
	}
	a.all.env.Say("\n%s cancelled.\n", what)
	return false
}

// A rootApprover shows the plan of a root in its turn, waits until all roots are planned and
// approved, and then for the roots that come before it.
type rootApprover struct {
	approver *approver
	all      *together
	asking   *asking
	root     *roots.Root
	i        int
	round    int
}

// Opened implements workspace.Approver.
func (a *rootApprover) Opened(found diag.List) { a.approver.Opened(found) }

// Limits implements workspace.Approver.
func (a *rootApprover) Limits() (workspace.Limits, func()) { return a.approver.Limits() }

// Problem implements workspace.Approver.
func (a *rootApprover) Problem(l diag.List) { a.approver.Problem(l) }

// Again implements workspace.Approver.
func (a *rootApprover) Again(round int) { a.approver.Again(round) }

// Planned implements workspace.Approver.
func (a *rootApprover) Planned(ctx context.Context, w *workspace.Work, made *plan.Plan, found diag.List) (diag.List, bool) {
	if a.round++; a.round > 1 {
		left, ok := a.approver.Planned(ctx, w, made, found)
		return left, ok && (!made.HasChanges() || a.asking.approved || a.asking.yes(ctx, 1))
	}
	if made != nil && !found.HasErrors() {
		a.all.run.Planned(a.root, w, made)
		a.all.counted(a.i, made)
	}
	shown := a.all.run.Turn(ctx, a.root)
	left, ok := a.approver.Planned(ctx, w, made, found)
	shown()
	if !ok {
		return left, false
	}
	plans, failed := a.all.run.All(ctx)
	if plans == nil || len(failed) > 0 && !a.asking.keepGoing { // nil: interrupted
		a.all.sums[a.i].Skipped = "not every root could be planned"
		return left, false
	}
	if !a.asking.put(ctx, plans) {
		a.all.sums[a.i].Skipped = "not approved"
		return left, false
	}
	if failed := a.all.run.Await(ctx, a.root); len(failed) > 0 {
		a.all.sums[a.i].Skipped = roots.Skipped(failed)
		left.Append(roots.Upstream.List("The root %s wasn't applied, because it comes after %s, which failed. Apply again when that is resolved.", a.root.Name, strings.Join(failed, ", ")))
		a.approver.Problem(left)
		return nil, false
	}
	return left, true
}

// Applied implements workspace.Approver.
func (a *rootApprover) Applied(p *plan.Plan, o *workspace.Outcome, found diag.List) {
	a.all.sums[a.i].Planned, a.all.sums[a.i].Components = false, map[addr.Module]plan.Counts{addr.Root: a.approver.env.Counter.Counts()}
	if o != nil {
		a.all.run.Applied(a.root)
	}
	a.approver.Applied(p, o, found)
}
