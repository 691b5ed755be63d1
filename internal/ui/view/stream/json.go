package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"strings"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/view/diags"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/ui/view/summary"
)

// uiVersion is the version of the messages.
const uiVersion = "1.2"

// A JSON writes messages for programs, one a line. Its methods may be called
// from several goroutines at once.
type JSON struct {
	*tracker
	w       io.Writer
	dialect dialect.Dialect
}

// NewJSON begins with the message of versions: those of the engine that programs
// know the messages by. A nil clock means time.Now.
func NewJSON(w io.Writer, d dialect.Dialect, now func() time.Time) *JSON {
	j := Beside(w, d, now)
	j.Info(d.Product()+" "+d.Version(), "version", map[string]any{d.Command(): d.Version(), "ui": uiVersion})
	return j
}

// Beside is a stream among others on the same writer, without a message of versions.
func Beside(w io.Writer, d dialect.Dialect, now func() time.Time) *JSON {
	j := &JSON{w: w, dialect: d}
	j.tracker = track(now, j.remind)
	return j
}

// Close stops the reminders. Messages other than events may still be written.
func (j *JSON) Close() { j.tracker.close() }

// Info writes a message of the given type with a payload, whose keys stand
// beside those of the message.
func (j *JSON) Info(text, typ string, payload map[string]any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.write("info", text, typ, payload)
}

// Error is like Info, for what went wrong.
func (j *JSON) Error(text, typ string, payload map[string]any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.write("error", text, typ, payload)
}

// Log writes a message without payload.
func (j *JSON) Log(text string) { j.Info(text, "log", nil) }

// Pass writes a message that another program has made.
func (j *JSON) Pass(line []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _ = j.w.Write(append(bytes.TrimSpace(line), '\n'))
}

// write needs the lock. Anything that can't be written is no reason to stop the work.
func (j *JSON) write(level, text, typ string, payload map[string]any) {
	message := map[string]any{
		"@level": level, "@message": text, "@module": j.dialect.Command() + ".ui",
		"@timestamp": j.now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"),
	}
	if typ != "" {
		message["type"] = typ
	}
	for key, v := range payload {
		message[key] = v
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(message) == nil {
		_, _ = j.w.Write(b.Bytes())
	}
}

// Diagnostics writes a message for each diagnostic.
func (j *JSON) Diagnostics(l diag.List, sources map[string][]byte) {
	j.DiagnosticsOf(nil, l, sources)
}

// DiagnosticsOf writes them with what says whose they are.
func (j *JSON) DiagnosticsOf(owner map[string]any, l diag.List, sources map[string][]byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, d := range l {
		level, title := "error", "Error: "
		if d.Severity == diag.Warning {
			level, title = "warn", "Warning: "
		}
		payload := map[string]any{"diagnostic": diags.JSON(d, sources)}
		maps.Copy(payload, owner)
		j.write(level, title+d.Summary, "diagnostic", payload)
	}
}

// A resource is the address of a resource instance.
type resource struct {
	Addr            string          `json:"addr"`
	Module          string          `json:"module"`
	Resource        string          `json:"resource"`
	ImpliedProvider string          `json:"implied_provider"`
	Type            string          `json:"resource_type"`
	Name            string          `json:"resource_name"`
	Key             json.RawMessage `json:"resource_key"`
}

func resourceOf(i addr.Instance) resource {
	return resource{
		i.String(), i.Module.String(), i.Name.String() + i.Key.String(), addr.ImpliedProvider(i.Name.Type),
		i.Name.Type, i.Name.Name, jsonstate.Index(i.Key),
	}
}

type change struct {
	Resource        resource            `json:"resource"`
	Previous        *resource           `json:"previous_resource,omitempty"`
	Action          string              `json:"action"`
	Reason          string              `json:"reason,omitempty"`
	Importing       *jsonplan.Importing `json:"importing,omitempty"`
	GeneratedConfig string              `json:"generated_config,omitempty"`
}

func changeOf(c *plan.Change) change {
	out := change{Resource: resourceOf(c.Addr.Instance), Action: actionName(c.Action), Reason: reasonName(c.Reason), GeneratedConfig: c.GeneratedConfig}
	if c.Moved() {
		previous := resourceOf(c.Previous())
		out.Previous = &previous
		if c.Action == plan.NoOp {
			out.Action = "move"
		}
	}
	if c.Importing != nil {
		// An identity that can't be written is left out.
		out.Importing, _ = jsonplan.ConvertImporting(c.Importing)
		if out.Importing == nil {
			out.Importing = &jsonplan.Importing{}
		}
		if out.Action == "noop" {
			out.Action = "import"
		}
	}
	return out
}

func actionName(a plan.Action) string {
	switch {
	case a == plan.NoOp:
		return "noop"
	case a == plan.Forget:
		return "remove"
	case a.IsReplace():
		return "replace"
	}
	return a.String()
}

// reasonName is the reason as messages have it, where it differs from that of
// plan JSON.
func reasonName(r plan.Reason) string {
	switch r {
	case plan.ReplaceTainted:
		return "tainted"
	case plan.ReplaceRequested:
		return "requested"
	case plan.ReplaceTriggered:
		return "replace_triggered_by"
	case plan.ReplaceCannotUpdate:
		return "cannot_update"
	}
	return string(r)
}

type totals struct {
	Add       int    `json:"add"`
	Change    int    `json:"change"`
	Import    int    `json:"import"`
	Remove    int    `json:"remove"`
	Forget    *int   `json:"forget,omitempty"`
	Invoked   *int   `json:"action_invocation,omitempty"`
	Failed    *int   `json:"action_fail,omitempty"`
	Operation string `json:"operation"`
}

func (j *JSON) summary(n plan.Counts, operation, text string) {
	s := totals{n.Add, n.Change, n.Import, n.Destroy, nil, nil, nil, operation}
	if n.Forget > 0 || j.dialect != dialect.Terraform {
		s.Forget = &n.Forget
	}
	if n.Invoke+n.Fail > 0 || j.dialect == dialect.Terraform {
		s.Invoked, s.Failed = &n.Invoke, &n.Fail
	}
	j.write("info", text, "change_summary", map[string]any{"changes": s})
}

// An output in a message. Values of sensitive outputs are left out.
type output struct {
	Sensitive  bool            `json:"sensitive"`
	Deprecated string          `json:"deprecated,omitempty"`
	Type       json.RawMessage `json:"type,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"`
	Action     string          `json:"action,omitempty"`
}

// Plan writes what a plan found and what it is going to do.
func (j *JSON) Plan(p *plan.Plan) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if left := jsonplan.LeftOutOf(p); left != nil {
		j.write("info", p.LeftOut.Say(p.Timestamp, p.Unplanned), "log", map[string]any{"objects_left_out": left})
	}
	for _, c := range jsonplan.Shown(jsonplan.Drift(p)) {
		out := changeOf(c)
		fields := map[string]any{"change": out}
		if places := summary.Places(p, c); len(places) > 0 {
			fields["attributes"] = places
		}
		j.write("info", fmt.Sprintf("%s: Drift detected (%s)", out.Resource.Addr, out.Action), "resource_drift", fields)
	}
	j.changes(p, false)
	n := p.Counts()
	j.summary(n, "plan", PlanText(n))
	outputs := map[string]output{}
	for _, o := range p.Outputs {
		outputs[o.Name] = output{Sensitive: o.Sensitive || o.BeforeSensitive, Action: actionName(o.Action)}
	}
	if len(outputs) > 0 {
		j.write("info", fmt.Sprintf("Outputs: %d", len(outputs)), "outputs", map[string]any{"outputs": outputs})
	}
}

// Changes writes what a saved plan is going to do.
func (j *JSON) Changes(p *plan.Plan) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changes(p, true)
}

// changes writes them; saved ones as far as something is done to objects.
func (j *JSON) changes(p *plan.Plan, saved bool) {
	for _, c := range jsonplan.Shown(jsonplan.Planned(p)) {
		if c.Action == plan.NoOp && (saved || !c.Moved() && c.Importing == nil) {
			continue
		}
		out := changeOf(c)
		j.write("info", fmt.Sprintf("%s: Plan to %s", out.Resource.Addr, out.Action), "planned_change", map[string]any{"change": out})
	}
	j.invocations(p)
	for _, d := range p.Deferred {
		out := changeOf(d.Change)
		j.write("info", out.Resource.Addr+": Put off until more is known", "deferred_change", map[string]any{"change": out, "reason": d.Reason})
	}
}

// PlanText is the line of totals of a plan.
func PlanText(n plan.Counts) string {
	text := "Plan: "
	if n.Import > 0 {
		text += fmt.Sprintf("%d to import, ", n.Import)
	}
	text += fmt.Sprintf("%d to add, %d to change, %d to destroy", n.Add, n.Change, n.Destroy)
	if n.Forget > 0 {
		text += fmt.Sprintf(", %d to forget", n.Forget)
	}
	text += "."
	if n.Invoke > 0 {
		text += fmt.Sprintf(" Actions: %d to invoke.", n.Invoke)
	}
	return text
}

// AppliedText is the line of totals after an apply.
func AppliedText(n plan.Counts, destroy bool) string {
	actions := ""
	if n.Invoke > 0 {
		actions = fmt.Sprintf(" Actions: %d invoked.", n.Invoke)
	}
	if destroy {
		return fmt.Sprintf("Destroy complete! Resources: %d destroyed.%s", n.Destroy, actions)
	}
	text := "Apply complete! Resources: "
	if n.Import > 0 {
		text += fmt.Sprintf("%d imported, ", n.Import)
	}
	text += fmt.Sprintf("%d added, %d changed, %d destroyed", n.Add, n.Change, n.Destroy)
	if n.Forget > 0 {
		text += fmt.Sprintf(", %d forgotten", n.Forget)
	}
	return text + "." + actions
}

// DoubtedText is that beside objects in doubt, when nothing is complete.
func DoubtedText(n plan.Counts, destroy bool) string {
	_, totals, _ := strings.Cut(AppliedText(n, destroy), "! ")
	return "Not complete, because objects are in doubt. " + totals
}

// Applied writes the totals after an apply, which isn't complete where objects are
// in doubt.
func (j *JSON) Applied(n plan.Counts, destroy, doubted bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	operation := "apply"
	if destroy {
		operation = "destroy"
	}
	text := AppliedText(n, destroy)
	if doubted {
		text = DoubtedText(n, destroy)
	}
	j.summary(n, operation, text)
}

// Totals are what an apply came to that didn't do everything: steps, objects in doubt, and
// the serial of the state, which has all that was done where it is saved.
type Totals struct {
	Done     int    `json:"done"`
	Failed   int    `json:"failed"`
	InDoubt  int    `json:"in_doubt"`
	NotBegun int    `json:"not_begun"`
	Serial   uint64 `json:"state_serial"`
	Saved    bool   `json:"state_saved"`
	// Addresses.
	FailedAt   []string `json:"failed_objects,omitempty"`
	InDoubtAt  []string `json:"in_doubt_objects,omitempty"`
	NotBegunAt []string `json:"not_begun_objects,omitempty"`
	BecauseOf  []string `json:"because_of,omitempty"`
	Next       string   `json:"next"` // the command that continues
}

// Stopped writes what an apply came to that didn't do everything.
func (j *JSON) Stopped(t Totals) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.write("info", fmt.Sprintf("Stopped: %d done, %d failed, %d in doubt, %d not begun", t.Done, t.Failed, t.InDoubt, t.NotBegun), "apply_stopped", map[string]any{"apply": t})
}

// Outputs writes the outputs after an apply.
func (j *JSON) Outputs(all map[string]state.Output) error {
	converted, err := jsonstate.Outputs(all)
	if err != nil {
		return err
	}
	outputs := map[string]output{}
	for name, o := range converted {
		out := output{Sensitive: o.Sensitive, Deprecated: o.Deprecated, Type: o.Type}
		if !o.Sensitive {
			out.Value = o.Value
		}
		outputs[name] = out
	}
	j.Info(fmt.Sprintf("Outputs: %d", len(outputs)), "outputs", map[string]any{"outputs": outputs})
	return nil
}

// StateDump writes a state that could be kept nowhere else.
func (j *JSON) StateDump(state []byte) {
	j.Info("Emergency state dump", "log", map[string]any{"state": json.RawMessage(state)})
}

// A hook is the payload of a message of progress.
type hook struct {
	Resource    resource `json:"resource"`
	Action      string   `json:"action,omitempty"`
	IDKey       string   `json:"id_key,omitempty"`
	IDValue     string   `json:"id_value,omitempty"`
	Provisioner string   `json:"provisioner,omitempty"`
	Output      string   `json:"output,omitempty"`
	Elapsed     *float64 `json:"elapsed_seconds,omitempty"`
	Text        string   `json:"Msg,omitempty"`
}

// jsonVerbs differ from those for people in how they call reading.
func jsonVerbs(a plan.Action) verbs {
	switch {
	case a == plan.Read:
		return verbs{"Refreshing...", "refreshing", "Refresh"}
	case a == plan.Forget:
		return verbs{"Removing...", "removing", "Removal"}
	}
	return verbsOf(a)
}

// Event writes the messages of one event.
func (j *JSON) Event(e event.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	switch e.Kind {
	case event.ReadStart, event.ReadComplete:
		e.Action = plan.Read
	case event.ApplyStart, event.ApplyComplete, event.ApplyErrored:
		if e.Action == plan.NoOp {
			return
		}
	}
	v := jsonVerbs(e.Action)
	switch e.Kind {
	case event.RefreshStart:
		j.hook(e, "refresh_start", "Refreshing state..."+plainID(e), hook{IDKey: e.IDKey, IDValue: e.IDValue})
	case event.RefreshComplete:
		j.hook(e, "refresh_complete", "Refresh complete"+plainID(e), hook{IDKey: e.IDKey, IDValue: e.IDValue})
	case event.ReadStart, event.ApplyStart:
		j.begin(e)
		j.hook(e, "apply_start", v.starts+plainID(e), hook{Action: actionName(e.Action), IDKey: e.IDKey, IDValue: e.IDValue})
	case event.ReadComplete, event.ApplyComplete:
		_, took := j.end(e)
		j.hook(e, "apply_complete", fmt.Sprintf("%s complete after %s%s", v.noun, took, plainID(e)),
			hook{Action: actionName(e.Action), IDKey: e.IDKey, IDValue: e.IDValue, Elapsed: seconds(took)})
	case event.ApplyErrored:
		_, took := j.end(e)
		j.hook(e, "apply_errored", fmt.Sprintf("%s errored after %s", v.noun, took), hook{Action: actionName(e.Action), Elapsed: seconds(took)})
	case event.ProvisionStart:
		j.hook(e, "provision_start", fmt.Sprintf("Provisioning with '%s'...", e.Provisioner), hook{Provisioner: e.Provisioner})
	case event.ProvisionOutput:
		for _, line := range outputLines(e.Text) {
			j.hook(e, "provision_progress", fmt.Sprintf("(%s): %s", e.Provisioner, line), hook{Provisioner: e.Provisioner, Output: line})
		}
	case event.ProvisionComplete:
		j.hook(e, "provision_complete", fmt.Sprintf("(%s) Provisioning complete", e.Provisioner), hook{Provisioner: e.Provisioner})
	case event.ProvisionErrored:
		j.hook(e, "provision_errored", fmt.Sprintf("(%s) Provisioning errored", e.Provisioner), hook{Provisioner: e.Provisioner})
	case event.EphemeralStart:
		text := ephemeralVerbs(e.Text).starts
		j.hook(e, "ephemeral_action_started", text, hook{Text: text})
	case event.EphemeralComplete:
		text := ephemeralVerbs(e.Text).noun + " complete"
		j.hook(e, "ephemeral_action_complete", text, hook{Text: text})
	case event.ActionStart, event.ActionProgress, event.ActionComplete, event.ActionErrored:
		j.action(e)
	case event.ListStart, event.ListFound, event.ListComplete:
		j.listing(e)
	case event.Slowed:
		j.write("info", slowed(e), "log", rate(e))
	case event.Stopping:
		j.write("info", "Interrupt received.\nPlease wait for weir to exit or data loss may occur.\nGracefully shutting down...", "log", nil)
	}
}

// rate is how often a service is asked, for programs.
func rate(e event.Event) map[string]any {
	s := e.Slowed
	fields := map[string]any{"provider": s.Provider.String()}
	if s.Type != "" {
		fields["resource_type"] = s.Type
	}
	switch {
	case s.AtOnce > 0:
		fields["calls_at_once"] = s.AtOnce
	case s.Budget:
		fields["calls_per_second"] = s.PerSecond
	default:
		fields["calls_per_second"] = math.Round(10*s.PerSecond) / 10
	}
	return fields
}

func (j *JSON) remind(e event.Event, elapsed time.Duration) {
	j.hook(e, "apply_progress", fmt.Sprintf("Still %s... [%s elapsed]", jsonVerbs(e.Action).goes, elapsed), hook{Action: actionName(e.Action), Elapsed: seconds(elapsed)})
}

func (j *JSON) hook(e event.Event, typ, text string, h hook) {
	h.Resource = resourceOf(e.Addr.Instance)
	j.write("info", h.Resource.Addr+": "+text, typ, map[string]any{"hook": h})
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// plainID is id without cleaning: JSON escapes by itself.
func plainID(e event.Event) string {
	if e.IDKey == "" || e.IDValue == "" {
		return ""
	}
	return fmt.Sprintf(" [%s=%s]", e.IDKey, e.IDValue)
}
