package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/planoptions"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/statemgr"
)

// An outcome is what a command came to.
type outcome struct {
	ok   bool
	said said
	left []string // addresses in doubt, of recover
	// changes are what a plan has.
	changes int
}

func (o outcome) String() string {
	text := map[bool]string{true: "ok", false: "failed"}[o.ok]
	for _, d := range o.said {
		text += "; " + d.Summary
	}
	return text
}

type said diag.List

func (s said) text() string {
	var b strings.Builder
	for _, d := range s {
		fmt.Fprintf(&b, "%s\n%s\n", d.Summary, d.Detail)
	}
	return b.String()
}

func (s said) has(c diag.Code) bool {
	return slices.ContainsFunc(s, c.Is)
}

// command is what a process does.
func (l *life) command(ctx context.Context, r *run) {
	h := l.h
	seed := hash(h.script.store, l.number)
	say := func(list diag.List) {
		h.mu.Lock()
		defer h.mu.Unlock()
		r.said = append(r.said, list...)
	}
	d := workspace.New(environment.Options{
		Dir: l.machine.dir, OriginalDir: l.machine.dir, Environ: map[string]string{}, Home: filepath.Join(l.machine.dir, "home"),
		Dialect: dialect.OpenTofu, Program: "weir", Now: l.machine.now, Random: rand.NewChaCha8(seed),
		Who: func() string { return "somebody@" + l.machine.name },
		FS:  fstest.MapFS{"main.tf": {Data: []byte(source(h.config))}},

		StateDisk: l.disk(), Processes: l, Catalog: l.catalog(),
		Backend: &statebackend.Backend{Backend: h.place.open(l), Kind: h.script.store, Config: cty.EmptyObjectVal},
		Reports: environment.Reports{Problem: say},
	})
	defer d.Close()
	o := workspace.Opening{Operation: r.do}
	switch r.do {
	case "apply", "destroy", "refresh":
		a := &approver{say: say}
		mode := map[string]plan.Mode{"apply": plan.Normal, "destroy": plan.Destroy, "refresh": plan.RefreshOnly}[r.do]
		ok := workspace.Apply{Plan: workspace.Plan{Dir: d, Opening: o, Options: planoptions.Planning{Mode: mode}}}.Run(ctx, a)
		r.left, r.ok = a.left, ok && a.applied
	case "plan":
		w, made, diags := workspace.Plan{Dir: d, Opening: o}.Run(ctx)
		say(diags)
		if w == nil {
			return
		}
		if made != nil {
			r.changes = made.Counts().Add + made.Counts().Change + made.Counts().Destroy
		}
		r.ok = made != nil && !diags.HasErrors()
		w.Unlock()
	case "recover":
		for _, f := range r.imports {
			target, err := addr.ParseTarget(instance(f.name))
			if err != nil {
				panic(err)
			}
			if diags := importOne(ctx, d, o, target, f.id); diags.HasErrors() {
				say(diags)
				return
			}
		}
		var forget []addr.Instance
		for _, name := range r.forget {
			i, err := addr.ParseInstance(instance(name))
			if err != nil {
				panic(err)
			}
			forget = append(forget, i)
		}
		_, left, diags := workspace.Recover{Dir: d, Forget: forget}.Run(ctx)
		say(diags)
		r.left, r.ok = addresses(left), !diags.HasErrors()
	case "import":
		target, err := addr.ParseTarget(instance(r.about))
		if err != nil {
			panic(err)
		}
		diags := importOne(ctx, d, o, target, r.id)
		say(diags)
		r.ok = !diags.HasErrors()
	case "push":
		l.push(ctx, d, r, say)
	case "force-unlock":
		b, diags := d.Settings.CurrentBackend()
		s, more := d.States.OpenSelected(b, statemgr.Options{})
		say(append(diags, more...))
		if err := s.ForceUnlock(ctx, r.id); err != nil {
			say(diag.Unanswered.As("Failed to unlock state").List("%s.", err))
			return
		}
		r.ok = true
	}
}

func importOne(ctx context.Context, d *workspace.Directory, o workspace.Opening, target addr.Target, id string) diag.List {
	return workspace.Import{Dir: d, Opening: o, Objects: []planoptions.Import{{Target: target, ID: id}}}.Run(ctx)
}

// push is what is reported where a state couldn't be saved.
func (l *life) push(ctx context.Context, d *workspace.Directory, r *run, say func(diag.List)) {
	text, err := os.ReadFile(filepath.Join(l.machine.dir, "errored.tfstate"))
	if err != nil {
		return
	}
	pushed, diags := statefile.Read(text, "errored.tfstate")
	say(diags)
	s, diags := d.States.State(ctx, statemgr.Options{}, "state-push")
	say(diags)
	if s == nil {
		return
	}
	defer s.Unlock()
	if diags.HasErrors() {
		return
	}
	next, diags := edit.Push(s.Base(), pushed, false)
	say(diags)
	if diags.HasErrors() {
		return
	}
	if err := s.Put(ctx, next); err != nil {
		say(diag.List{diag.Unwritable.New(diag.Error, "%s.", err)})
		return
	}
	r.ok = true
}

func addresses(list []journal.Operation) (names []string) {
	for _, o := range list {
		names = append(names, o.Object.Instance.String())
	}
	return names
}

// An approver says yes, and keeps what is said.
type approver struct {
	say     func(diag.List)
	left    []string
	applied bool
}

func (a *approver) Opened(l diag.List) { a.say(l) }

func (a *approver) Planned(_ context.Context, w *workspace.Work, p *plan.Plan, found diag.List) (diag.List, bool) {
	a.say(found)
	return nil, p != nil && !found.HasErrors()
}

func (a *approver) Limits() (workspace.Limits, func()) { return workspace.Limits{}, func() {} }

func (a *approver) Applied(_ *plan.Plan, o *workspace.Outcome, found diag.List) {
	a.say(found)
	if o == nil {
		return
	}
	a.applied = true
	a.say(o.Left)
	if o.Doubted && !o.Left.HasErrors() {
		a.left = []string{"something"}
	}
}

func (a *approver) Problem(l diag.List) { a.say(l) }
func (a *approver) Again(int)           {}
