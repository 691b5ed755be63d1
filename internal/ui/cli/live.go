package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/webrun"
	"weir.dev/weir/internal/ui/webui"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/providersource"
	"weir.dev/weir/internal/workspace/statehistory"
)

var uiCommand = &command{
	Name:     "ui",
	Synopsis: "Plan and apply with a page in the browser",
	Long:     "Serves a page on this machine at a secret address, which it prints. The page shows the plan, takes the approval, and follows the apply. Until approval, changed files are planned again. Closing the page stops nothing; an interrupt works as for apply.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var a applying
		a.register(e, fs)
		flags.Hide(fs, "json", "json-into", "generate-config-out")
		port := fs.Int("port", 0, "Serve the page at port `N` (default: a free one).")
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
	server := e.serve(ctx, port)
	if server == nil {
		return 1
	}
	defer server.Close()
	whole := e.directory
	whole.Programs, whole.Providers.Kept = new(engine.Programs), new(providersource.Kept)
	defer whole.Providers.Kept.Close()
	defer func() { e.directory = whole }()
	inner := &approver{env: e, approved: a.approved, allowForget: a.suppressForget, destroying: a.destroying}
	r := e.followed(server, inner)
	r.Files = a.vars.Files()
	inner.rule = r.Decide
	r.Stop, r.Restart = e.interrupts.Press, e.interrupts.Forget
	r.Past = func(w *workspace.Work) webrun.Past { return statehistory.Of{Session: w.State.Session} }
	r.GoBack = func(ctx context.Context, serial uint64) diag.List {
		return statehistory.GoBack(ctx, e.directory.States, a.state.Options(), serial, e.program)
	}
	r.Apply = func(ctx context.Context, sink event.Sink, by webrun.Approver[*workspace.Work, *workspace.Outcome, workspace.Limits]) bool {
		e.Erred.Store(false) // the exit code is that of the last plan and apply
		e.directory = whole.With(whole.Place.Reports)
		defer e.directory.Close()
		opening := a.opening(e, "apply")
		opening.Sink = sink
		return workspace.Apply{Plan: workspace.Plan{Dir: e.directory, Subject: e.loading(r.Loaded), Opening: opening, Options: options}}.Run(ctx, by)
	}
	return r.Run(ctx)
}

// serve serves a page at an address that it reports.
func (e *env) serve(ctx context.Context, port int) *webui.Server {
	server, diags := webui.Serve(ctx, port, e.Notice)
	e.Diags(diags)
	return server
}

type following = webrun.Run[*workspace.Work, *workspace.Outcome, workspace.Limits]

// followed is a run that is followed in a page.
func (e *env) followed(server *webui.Server, a *approver) *following {
	return &following{
		Screen: e.Screen, Server: server, Program: e.program, Approver: a, Approved: a.approved,
		Tree:  func(w *workspace.Work) *program.Tree { return w.Config.Tree },
		Edges: func(w *workspace.Work, p *plan.Plan) *edges.Of { return engine.Edges(w.Config, p) },
		Note:  func(w *workspace.Work, p *plan.Plan) { w.Reasons.Note(p) },
		Came: func(o *workspace.Outcome) (done, doubted bool, left diag.List) {
			if o == nil {
				return false, false, nil
			}
			return true, o.Doubted, o.Left
		},
	}
}

// loading is the configuration of the directory; `told` is called when it was loaded.
func (e *env) loading(told func(*program.Tree)) workspace.Subject {
	s := e.directory.Configuration()
	load := s.Load
	s.Load = func(ctx context.Context, l workspace.Loading) (*engine.Config, diag.List) {
		c, diags := load(ctx, l)
		if c != nil {
			told(c.Tree)
		}
		return c, diags
	}
	return s
}
