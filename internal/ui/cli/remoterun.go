package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/configgen"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/storage/remote"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/diags"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/planoptions"
	"weir.dev/weir/internal/workspace/remoterun"
)

// A remoteRun shows a run at a service.
type remoteRun struct {
	*env
	host, workspace string
	mode            plan.Mode
	generate        string // a new file for configuration of imports, "" for none

	structured bool     // the log has messages for programs
	held       []string // messages about the plan, in case it can't be read
	generated  bool
}

// planRemotely plans at the service.
func (p *planning) planRemotely(ctx context.Context, e *env, runs *remote.Runs, o planoptions.Planning) int {
	c, v, code := p.remoteRun(e, runs, o, false, false)
	if code != 0 {
		return code
	}
	run, err := c.Plan(ctx)
	if err == nil && p.out != "" {
		err = durable.Replace(e.directory.Place.Path(p.out), remoterun.NewBookmark(run.ID, runs.Host()).Bytes(), 0o600)
	}
	if code := v.came(err); code != 0 {
		return code
	}
	if !e.JSON && !e.Automation {
		e.Say("%s", view.NextSteps(run.Attributes.HasChanges, e.program, p.out, e.Viewing()))
	}
	if p.detailed && run.Attributes.HasChanges {
		return exitChanges
	}
	return 0
}

// applyRemotely plans and applies at the service.
func (a *applying) applyRemotely(ctx context.Context, e *env, runs *remote.Runs, o planoptions.Planning) int {
	c, v, code := a.remoteRun(e, runs, o, true, a.approved)
	if code != 0 {
		return code
	}
	_, err := c.Apply(ctx)
	return v.came(err)
}

// applyBookmark applies a plan that the service keeps.
func (a *applying) applyBookmark(ctx context.Context, e *env, b remoterun.Bookmark) int {
	runs, found := e.directory.RemoteRuns(ctx, a.vars)
	switch {
	case found.HasErrors():
		return e.Diags(found)
	case runs == nil || runs.Host() != b.Host:
		return e.Fail(remoterun.Failed.As("Saved plan of another service"), "The plan is the run %s at %s, and the directory's workspace isn't one that %[2]s plans and applies.", b.Run, b.Host)
	case a.IsGiven():
		return e.Fail(diag.BadOption.As("Can't change a saved plan"), "The options -destroy, -refresh-only, -replace, -target and -exclude decide what is planned. Leave them out, or make a new plan.")
	}
	c, v, code := a.remoteRun(e, runs, planoptions.Planning{}, true, true)
	if code != 0 {
		return code
	}
	_, err := c.ApplySaved(ctx, b.Run)
	return v.came(err)
}

// showBookmark shows a plan that a service keeps.
func (e *env) showBookmark(ctx context.Context, b remoterun.Bookmark, o showOptions) int {
	if o.NeedsPlan() {
		return e.Fail(diag.BadOption.As("Saved plan required"), "The plan is kept by %s. Addresses and the options -steps and -format need one that weir made.", b.Host)
	}
	runs, found := e.directory.RemoteRuns(ctx, o.vars)
	if found.HasErrors() {
		return e.Diags(found)
	}
	if runs == nil || runs.Host() != b.Host {
		return e.Fail(remoterun.Failed.As("Saved plan of another service"), "The plan is the run %s at %s, and the directory's workspace isn't one that %[2]s plans and applies.", b.Run, b.Host)
	}
	run, err := runs.Run(ctx, b.Run)
	var data []byte
	if err == nil {
		data, err = runs.PlanJSON(ctx, run.Relationships.Plan.ID(), !o.JSON)
	}
	switch {
	case err != nil:
		return e.Fail(remoterun.Failed.As("Can't read the saved plan"), "%s.", err)
	case data == nil:
		return e.Fail(remoterun.Failed.As("Can't read the saved plan"), "%s has no JSON of the plan, or the token has no permission to read it. The run in a browser:\n%s", b.Host, runs.URL(b.Run))
	}
	return e.Result("plan", func() ([]byte, error) { return bytes.TrimSpace(data), nil }, func() int {
		made, err := jsonplan.Read(data)
		if err != nil {
			return e.Fail(remoterun.Failed.As("Can't read the saved plan"), "%s.", err)
		}
		made.Mode = modeOf(run)
		e.Say("To view this run in a browser, visit:\n%s\n", runs.URL(b.Run))
		code := e.Written(e.Plan(made))
		e.Say("\nThe run is %s.\n", strings.ReplaceAll(run.Attributes.Status, "_", " "))
		return code
	})
}

func modeOf(run *remote.Run) plan.Mode {
	switch {
	case run.Attributes.Destroy:
		return plan.Destroy
	case run.Attributes.RefreshOnly:
		return plan.RefreshOnly
	}
	return plan.Normal
}

// remoteRun prepares a run by the flags.
func (p *planning) remoteRun(e *env, runs *remote.Runs, o planoptions.Planning, apply, approved bool) (*remoterun.Command, *remoteRun, int) {
	if err := runs.Allowed(apply); err != nil {
		return nil, nil, e.Fail(remoterun.Failed.As("Run not allowed"), "%s.", sentence(err))
	}
	options, found := p.remoteOptions(runs, o)
	if found.HasErrors() {
		return nil, nil, e.Diags(found)
	}
	options.PlanOnly, options.Save, options.Approved = !apply && p.out == "", !apply && p.out != "", approved
	c, found := e.directory.RemoteRun(runs, p.vars, options)
	if e.Diags(found) != 0 {
		return nil, nil, 1
	}
	v := &remoteRun{env: e, host: runs.Host(), workspace: runs.Workspace(), mode: o.Mode, generate: p.generate}
	c.By, c.Pending, c.Ending = v, p.state.Timeout, e.interrupts.Saving()
	e.Log(fmt.Sprintf("%s plans and applies the workspace %s.", runs.Host(), runs.Name()))
	return c, v, 0
}

// remoteOptions are what the flags say, as far as a service can do it.
func (p *planning) remoteOptions(runs *remote.Runs, o planoptions.Planning) (remote.Options, diag.List) {
	r := remote.Options{Destroy: o.Mode == plan.Destroy, RefreshOnly: o.Mode == plan.RefreshOnly && o.Invoke == nil, NoRefresh: o.SkipRefresh, Replace: p.Replace, Generate: p.generate != ""}
	var bad []string
	for _, t := range o.Targets {
		r.Targets = append(r.Targets, t.String())
		if t.IsPattern() {
			bad = append(bad, "-target with a pattern")
		}
	}
	if len(o.Replace) != len(p.Replace) {
		bad = append(bad, "-replace with a pattern")
	}
	if o.Invoke != nil {
		r.Invoke = o.Invoke.String()
	}
	for name, given := range map[string]bool{
		"-exclude": len(o.Excludes) > 0, "-minimal-refresh": o.MinimalRefresh, "-refresh=auto": o.AutoRefresh, "-allow-deferral": o.AllowDeferral,
		"-lint": p.lint != nil, "-parallelism": p.Parallelism != 0 && p.Parallelism != 10,
	} {
		if given {
			bad = append(bad, name)
		}
	}
	if len(bad) == 0 {
		return r, nil
	}
	slices.Sort(bad)
	return r, diag.Incompatible.As("Option not available for this workspace").List("%s plans the workspace %s itself, and has no such option: %s. Leave it out, or plan here once with the environment variable TF_FORCE_LOCAL_BACKEND=1.", runs.Host(), runs.Name(), strings.Join(bad, ", "))
}

// came reports what a run came to.
func (v *remoteRun) came(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, remoterun.ErrDeclined):
		what, _, _ := view.Approval(&plan.Plan{Mode: v.mode}, "")
		v.env.Say("\n%s discarded.\n", what)
		return 1
	case errors.Is(err, context.Canceled):
		return v.Fail(diag.Interrupted, "The run at %s was interrupted.", v.host)
	}
	return v.Fail(remoterun.Failed, "%s.", sentence(err))
}

// sentence begins a text with a capital letter.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// Say implements remoterun.Viewer.
func (v *remoteRun) Say(text string) {
	if v.Stream != nil {
		v.Stream.Log(strings.TrimSpace(text))
	}
	if !v.JSON {
		fmt.Fprintln(v.Out, sanitize.Text(text))
	}
}

// A logMessage is a line of a log for programs.
type logMessage struct {
	Message    string            `json:"@message"`
	Type       string            `json:"type"`
	Diagnostic *diags.Diagnostic `json:"diagnostic"`
	Outputs    map[string]struct {
		Sensitive   bool
		Type, Value json.RawMessage
	} `json:"outputs"`
}

// Line implements remoterun.Viewer.
func (v *remoteRun) Line(phase string, line []byte) {
	var m logMessage
	if json.Unmarshal(line, &m) != nil || m.Type == "" {
		text := painted(string(line), v.Pen())
		if v.Stream != nil {
			v.Stream.Log(painted(string(line), ansi.Pen{}))
		}
		if !v.JSON {
			fmt.Fprintln(v.Out, text)
		}
		return
	}
	v.structured = true
	if v.Stream != nil {
		v.Stream.Pass(line)
	}
	switch {
	case v.JSON:
	case m.Diagnostic != nil:
		v.PeopleDiags(v.problem(m.Diagnostic))
	case phase == remote.Planning && (strings.HasPrefix(m.Type, "planned_") || m.Type == "resource_drift" || m.Type == "change_summary" || m.Type == "outputs"):
		v.held = append(v.held, m.Message)
	case m.Type == "outputs":
		v.outputs(m)
	case m.Type == "change_summary":
		v.env.Say("\n%s\n", v.Pen().Paint(sanitize.Line(m.Message), ansi.Bold, ansi.Green))
	case m.Type == "version" && phase == remote.Applying: // the plan said it
	default:
		v.env.Say("%s\n", sanitize.Text(m.Message))
	}
}

// problem is one that the service reports.
func (v *remoteRun) problem(from *diags.Diagnostic) diag.List {
	severity := diag.Error
	if from.Severity == "warning" {
		severity = diag.Warning
	}
	d := remoterun.Failed.As(from.Summary).New(severity, "%s", from.Detail)
	d.Address = from.Address
	if r := from.Range; r != nil {
		d.Subject = &hcl.Range{
			Filename: r.Filename,
			Start:    hcl.Pos{Line: r.Start.Line, Column: r.Start.Column, Byte: r.Start.Byte},
			End:      hcl.Pos{Line: r.End.Line, Column: r.End.Column, Byte: r.End.Byte},
		}
		if data, err := v.directory.Place.ReadFile(r.Filename); err == nil {
			v.directory.Place.AddSource(r.Filename, data)
		}
	}
	return diag.List{d}
}

// outputs prints outputs after an apply.
func (v *remoteRun) outputs(m logMessage) {
	all := map[string]state.Output{}
	for name, o := range m.Outputs {
		out := state.Output{Sensitive: o.Sensitive, Value: cty.NullVal(cty.DynamicPseudoType)}
		if ty, err := ctyjson.UnmarshalType(o.Type); err == nil && len(o.Value) > 0 {
			if value, err := ctyjson.Unmarshal(o.Value, ty); err == nil {
				out.Value = value
			}
		}
		all[name] = out
	}
	v.Written(view.OutputsAfterApply(v.Out, all, v.Viewing()))
}

// Planned implements remoterun.Viewer.
func (v *remoteRun) Planned(data []byte) error {
	made, err := jsonplan.Read(data)
	if err == nil && v.generate != "" && !v.generated {
		if err := v.writeGenerated(made); err != nil {
			return err
		}
	}
	switch {
	case v.JSON || !v.structured:
	case err != nil:
		v.env.Say("\n%s\n", sanitize.Text(strings.Join(v.held, "\n")))
	default:
		made.Mode = v.mode
		v.Written(v.env.Plan(made))
	}
	return nil
}

// writeGenerated writes the configuration that the service has made for imports.
func (v *remoteRun) writeGenerated(made *plan.Plan) error {
	v.generated = true
	var blocks []configgen.Block
	for _, c := range made.Changes {
		if c.GeneratedConfig == "" {
			continue
		}
		b := configgen.Block{Text: c.GeneratedConfig}
		if c.Importing != nil {
			b.From = c.Importing.ID
		}
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		return nil
	}
	if err := durable.New(v.directory.Place.Path(v.generate), configgen.File(blocks)); err != nil {
		return fmt.Errorf("the generated configuration can't be written: %w", err)
	}
	return nil
}

// Ask implements remoterun.Viewer.
func (v *remoteRun) Ask(ctx context.Context, q remoterun.Question) (agreed bool, err error) {
	keyword := "yes"
	var put question
	switch q {
	case remoterun.Confirm:
		_, put.query, _ = view.Approval(&plan.Plan{Mode: v.mode}, fmt.Sprintf("workspace %q", v.workspace))
		put.description = fmt.Sprintf("%s will do what is described above.\nOnly 'yes' will be accepted to approve.", v.host)
	case remoterun.Override:
		keyword = "override"
		put.query, put.description = "Do you want to override the failed policies?", "Only 'override' will be accepted to override."
	case remoterun.Cancel:
		put.query, put.description = fmt.Sprintf("Do you want to cancel the run at %s?", v.host), "Only 'yes' will be accepted to cancel."
	}
	put.query, put.always = "\n"+put.query, q != remoterun.Cancel
	answer, err := v.ask(ctx, put)
	if errors.Is(err, environment.ErrNoAnswer) && q == remoterun.Confirm {
		return false, errors.New("nobody can be asked for approval: use -auto-approve, or approve the run in a browser")
	}
	return answer == keyword, err
}

// painted is a line with the colours of the service where there may be some, and without other
// control characters.
func painted(line string, pen ansi.Pen) string {
	var b strings.Builder
	for line != "" {
		before, after, ok := strings.Cut(line, "\x1b[")
		b.WriteString(sanitize.Line(strings.ReplaceAll(before, "\t", "    ")))
		if !ok {
			break
		}
		end := strings.IndexFunc(after, func(c rune) bool { return c != ';' && (c < '0' || c > '9') })
		if end < 0 {
			break
		}
		if pen.On && after[end] == 'm' {
			b.WriteString("\x1b[" + after[:end+1])
		}
		line = after[end+1:]
	}
	return b.String()
}
