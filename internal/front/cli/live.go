package cli

import (
	"context"
	"crypto/rand"
	"flag"
	"time"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/front/flags"
	"weir.dev/weir/internal/front/follow"
	"weir.dev/weir/internal/front/live"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/operation/past"
	"weir.dev/weir/internal/operation/supply"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/word/diag"
)

var uiCommand = &command{
	Name:     "ui",
	Synopsis: "Plan and apply with a page in the browser",
	Long:     "Serves a page on this machine alone, at an address that is printed and that nobody can guess. The page shows the plan, takes the approval, and follows the apply. Files of the configuration that change are planned again until then. Closing the page stops nothing; an interrupt stops as it does apply.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var a applying
		a.register(e, fs)
		flags.Hide(fs, "json", "json-into", "generate-config-out")
		port := fs.Int("port", 0, "Serve the page at port `N`. By default it is one that is free.")
		return func(ctx context.Context, _ []string) int { return a.live(ctx, e, *port) }
	},
}

// live is run with a page.
func (a *applying) live(ctx context.Context, e *env, port int) int {
	if code := e.Start(); code != 0 {
		return code
	}
	options, diags := a.options(e, "apply")
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	server := live.New(rand.Text(), time.Now)
	address, err := server.Listen(ctx, port)
	if err != nil {
		return e.Fail(live.Unserved, "The address can't be served: %s. Without -port a port is used that is free.", diag.Cause(err))
	}
	defer server.Close()
	e.Notice("The page of this run, for this machine alone:\n  " + address + "\n\n")
	whole := e.directory
	whole.Programs, whole.Kept = new(engine.Programs), new(supply.Kept)
	defer whole.Kept.Close()
	defer func() { e.directory = whole }()
	inner := &approver{env: e, approved: a.approved, allowForget: a.suppressForget}
	r := &follow.Run[*operation.Work, *operation.Outcome, operation.Limits]{Screen: e.Screen, Server: server, Program: e.program, Approver: inner, Approved: a.approved, Files: a.vars.Files()}
	inner.rule = r.Decide
	r.Tree = func(w *operation.Work) *program.Tree { return w.Config.Tree }
	r.Note = func(w *operation.Work, p *plan.Plan) { w.Reasons.Note(p) }
	r.Past = func(w *operation.Work) follow.Past { return past.Of{Session: w.Session} }
	r.GoBack = func(ctx context.Context, serial uint64) diag.List {
		return past.GoBack(ctx, e.directory.Keeper, a.state.Options(), serial, e.program)
	}
	r.Came = func(o *operation.Outcome) (done, doubted bool, left diag.List) {
		if done = o != nil; done {
			doubted, left = o.Doubted, o.Left
		}
		return done, doubted, left
	}
	r.Apply = func(ctx context.Context, sink event.Sink, by follow.Approver[*operation.Work, *operation.Outcome, operation.Limits]) bool {
		e.directory = whole.With(whole.Reports)
		defer e.directory.Close()
		opening := a.opening(e, "apply")
		opening.Sink = sink
		return e.directory.Apply(ctx, e.loading(r.Loaded), opening, options, 1, by)
	}
	return r.Run(ctx)
}

// loading is the configuration of the directory; told is called when it was loaded.
func (e *env) loading(told func(*program.Tree)) operation.Subject {
	s := e.directory.Configuration()
	load := s.Load
	s.Load = func(ctx context.Context, l operation.Loading) (*engine.Config, diag.List) {
		c, diags := load(ctx, l)
		if c != nil {
			told(c.Tree)
		}
		return c, diags
	}
	return s
}
