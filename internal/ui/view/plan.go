package view

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/diff"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/ui/view/masking"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/stream"
	"weir.dev/weir/internal/ui/view/summary"
)

// Plan writes what a plan found and what applying it would do.
func Plan(w io.Writer, pl *plan.Plan, o Options) error {
	pl, hidden := masking.Plan(pl, masking.Secrets(pl, nil))
	p := &planPrinter{printer: printer{o: o}, plan: pl, hidden: hidden}
	p.shown = p.changes()
	p.outputs = outputChanges(pl.Outputs, o)
	p.heading()
	drifted := p.drift()
	if len(p.shown) == 0 && p.outputs == "" && len(pl.Invocations) == 0 && (len(pl.Deferred) == 0 || pl.Errored) {
		p.nothing(drifted)
		return p.flush(w)
	}
	if drifted {
		p.WriteByte('\n')
		p.rule()
	}
	p.legend()
	if err := p.actions(w); err != nil {
		return err
	}
	p.asked()
	p.repeated()
	p.deferrals()
	if p.outputs != "" {
		p.WriteString("\nChanges to Outputs:\n" + p.outputs)
		switch {
		case len(p.shown) > 0:
		case pl.Mode == plan.RefreshOnly && !pl.HasChanges():
			p.prose("\nThe state stays as it is: these output values aren't known until their objects are created or changed.")
		default:
			p.prose("\nYou can apply this plan to save these new output values to the " + Engine + " state, without changing any real infrastructure.")
		}
	}
	return p.flush(w)
}

// Changes writes only the planned changes and their totals.
func Changes(w io.Writer, pl *plan.Plan, o Options) error {
	if err := Details(w, pl, o); err != nil {
		return err
	}
	_, err := io.WriteString(w, Summary(pl.Counts(), o.Pen)+"\n")
	return err
}

// Details writes the planned changes without totals: they may be a part of a plan.
func Details(w io.Writer, pl *plan.Plan, o Options) error {
	pl, hidden := masking.Plan(pl, masking.Secrets(pl, nil))
	p := &planPrinter{printer: printer{o: o}, plan: pl, hidden: hidden}
	p.shown = p.changes()
	for _, c := range p.shown {
		p.WriteString(p.change(c) + "\n\n")
	}
	p.asked()
	p.repeated()
	p.deferrals()
	if outputs := outputChanges(pl.Outputs, o); outputs != "" {
		p.WriteString("Changes to Outputs:\n" + outputs + "\n")
	}
	return p.flush(w)
}

// Change writes one planned change.
func Change(w io.Writer, pl *plan.Plan, c *plan.Change, o Options) error {
	p := &planPrinter{printer: printer{o: o}, plan: pl}
	p.WriteString(p.change(c) + "\n")
	return p.flush(w)
}

// OutputChanges writes how root outputs change, nothing where none does.
func OutputChanges(w io.Writer, pl *plan.Plan, o Options) error {
	_, err := io.WriteString(w, outputChanges(pl.Outputs, o))
	return err
}

type planPrinter struct {
	printer
	plan    *plan.Plan
	shown   []*plan.Change
	outputs string
	away    map[addr.Object]plan.Action // what was found to have happened outside
	hidden  []masking.Place
}

// changes are those that are listed; for people what is lost comes first.
func (p *planPrinter) changes() []*plan.Change {
	if p.o.Fold {
		return summary.Changes(p.plan)
	}
	return slices.DeleteFunc(jsonplan.Shown(p.plan.Changes), func(c *plan.Change) bool {
		return c.Action == plan.NoOp && !c.Moved() && c.Importing == nil
	})
}

// drift writes what changed outside, and reports whether there was any.
func (p *planPrinter) drift() bool {
	refreshOnly := p.plan.Mode == plan.RefreshOnly
	if !refreshOnly && len(p.shown) == 0 && p.outputs == "" {
		return false
	}
	// Only what other changes depend on is shown, unless refreshing is all.
	relevant := map[addr.Instance][]cty.Path{}
	for _, r := range p.plan.Relevant {
		relevant[r.Resource] = append(relevant[r.Resource], r.Path)
	}
	var text strings.Builder
	for _, c := range jsonplan.Shown(jsonplan.Drift(p.plan)) {
		paths, ok := relevant[c.Addr.Instance]
		if refreshOnly {
			paths = nil
		} else if !ok {
			continue
		}
		text.WriteString(p.drifted(c, paths))
	}
	if text.Len() == 0 {
		return false
	}
	p.WriteString("\n" + p.o.Pen.Paint("Note:", ansi.Bold, ansi.Cyan) + p.o.Pen.Paint(" Objects have changed outside of "+p.o.product(), ansi.Bold) + "\n\n")
	p.prose("These objects were changed by someone or something else since the last apply, which may have affected this plan:")
	p.WriteString(text.String())
	p.WriteByte('\n')
	if refreshOnly {
		p.prose("\nThis is a refresh-only plan, so " + Engine + " will not take any actions to undo these. If you expected these changes, apply this plan to record them in the " + Engine + " state without changing any remote objects.")
	} else {
		p.prose("\nUnless the configuration asks for the same, or ignores these attributes with ignore_changes, the plan below may undo or respond to these changes.")
	}
	return true
}

// drifted is how one object changed outside, "" where nothing of that is relevant.
func (p *planPrinter) drifted(c *plan.Change, relevant []cty.Path) string {
	n := p.compare(c, relevant)
	if n.Action == plan.NoOp && !(p.plan.Mode == plan.RefreshOnly && c.Moved()) {
		return ""
	}
	return "\n" + p.comment(c, true) + diff.Symbol(c.Action, p.o.Pen) + " " + header(c) + n.Text(0, p.o.diff()) + "\n"
}

// nothing reports that there is nothing to do, and why that may be.
func (p *planPrinter) nothing(drifted bool) {
	verdict := func(colour ansi.Style, head, tail string) {
		p.WriteString("\n" + p.o.Pen.Paint(head, ansi.Bold, colour) + p.o.Pen.Paint(" "+tail, ansi.Bold) + "\n")
	}
	if drifted && (p.plan.Errored || p.plan.Mode == plan.Destroy) {
		p.rule()
	}
	switch {
	case p.plan.Errored:
		verdict(ansi.Red, "Planning failed.", Engine+" encountered an error while generating this plan.")
		p.WriteByte('\n')
	case p.plan.Mode == plan.RefreshOnly:
		if drifted {
			return
		}
		verdict(ansi.Green, "No changes.", "Your infrastructure still matches the configuration.")
		p.prose("\n" + Engine + " has compared the real remote objects with the result of the last apply and found no differences.")
	case p.plan.Mode == plan.Destroy:
		verdict(ansi.Green, "No changes.", "No objects need to be destroyed.")
		p.prose("\nEither no objects have been created yet, or they were already deleted outside of " + Engine + ".")
	default:
		verdict(ansi.Green, "No changes.", "Your infrastructure matches the configuration.")
		p.prose("\n" + Engine + " has compared your real infrastructure with your configuration and found no differences, so no changes are needed.")
		if len(p.plan.Targets)+len(p.plan.Excludes) > 0 {
			p.prose("\nNote: This plan covers only the resources chosen by -target or -exclude. If you expected changes, check these addresses.")
		}
	}
}

// legend explains the symbols that occur.
func (p *planPrinter) legend() {
	pen := p.o.Pen
	used := map[plan.Action]bool{}
	for _, c := range p.shown {
		used[c.Action] = true
	}
	delete(used, plan.NoOp)
	if len(used) == 0 {
		return
	}
	p.prose("\n" + p.o.product() + " used the selected providers to generate the following execution plan. Resource actions are indicated with the following symbols:")
	for _, row := range []struct {
		action plan.Action
		text   string
	}{
		{plan.Create, "create"},
		{plan.Update, "update in-place (current -> planned)"},
		{plan.Delete, "destroy"},
		{plan.DeleteThenCreate, "destroy and then create replacement"},
		{plan.CreateThenDelete, "create replacement and then destroy"},
		{plan.Read, "read (data resources)"},
		{plan.ForgetThenCreate, "forget and then create replacement"},
		{plan.Forget, "forget"},
	} {
		if used[row.action] {
			p.WriteString(diff.Symbol(row.action, pen) + " " + row.text + "\n")
		}
	}
}

// pageSize is how much text is gathered before it is written.
const pageSize = 64 << 10

// actions writes the changes, of many those first that are done.
func (p *planPrinter) actions(w io.Writer) error {
	if len(p.shown) == 0 && len(p.plan.Invocations) == 0 {
		return nil
	}
	if p.plan.Errored {
		p.WriteString("\n" + Engine + " planned the following actions, but then encountered a problem:\n")
	} else {
		p.WriteString("\n" + p.o.product() + " will perform the following actions:\n")
	}
	for _, c := range p.shown {
		p.WriteString("\n" + p.change(c) + "\n")
		if p.Len() >= pageSize {
			if err := p.flush(w); err != nil {
				return err
			}
		}
	}
	p.WriteString("\n" + Summary(p.plan.Counts(), p.o.Pen) + "\n")
	return nil
}

// Summary is the line of totals.
func Summary(n plan.Counts, pen ansi.Pen) string {
	head, rest, _ := strings.Cut(stream.PlanText(n), " ")
	return pen.Paint(head, ansi.Bold) + " " + rest
}

// change sets one change with its heading.
func (p *planPrinter) change(c *plan.Change) string {
	o := p.o.diff()
	o.BlankSymbols, o.NoNull = c.Action == plan.Forget, c.Action == plan.Forget
	o.ShowUnchanged = c.Importing != nil
	symbol := diff.Symbol(c.Action, p.o.Pen)
	if p.o.Fold {
		symbol = rowSymbol(c, p.o.Pen)
	}
	return p.comment(c, false) + symbol + " " + header(c) + p.compare(c, nil).Text(0, o) + p.around(c)
}

func (p *planPrinter) compare(c *plan.Change, relevant []cty.Path) *diff.Node {
	s := jsonstate.Schema(p.plan.Schemas, c.Provider.Provider, c.Addr.Name)
	before, after := c.Before, c.After
	if before != cty.NilVal {
		before = jsonstate.Mark(before, s, nil)
	}
	if after != cty.NilVal {
		after = jsonstate.Mark(after, s, nil)
	}
	if s == nil || s.Block == nil {
		s = guess(before, after)
	}
	return diff.Object(before, after, s.Block, c.ReplacePaths, relevant)
}

// guess makes a schema for values whose own is missing.
func guess(values ...cty.Value) *schema.Schema {
	b := &schema.Block{Attributes: map[string]*schema.Attribute{}}
	for _, v := range values {
		if v == cty.NilVal || !v.Type().IsObjectType() {
			continue
		}
		for name, ty := range v.Type().AttributeTypes() {
			b.Attributes[name] = &schema.Attribute{Type: ty, Optional: true}
		}
	}
	return &schema.Schema{Block: b}
}

func header(c *plan.Change) string {
	word := "resource"
	if c.Addr.Name.Mode == addr.Data {
		word = "data"
	}
	return fmt.Sprintf("%s %q %q ", word, c.Addr.Name.Type, c.Addr.Name.Name)
}

// comment is the lines above a change: what happens, and why.
func (p *planPrinter) comment(c *plan.Change, drift bool) string {
	pen := p.o.Pen
	address := pen.Paint("  # "+sanitize.Line(c.Addr.String()), ansi.Bold)
	if p.o.Fold && !drift {
		address = p.painted("  # "+sanitize.Line(c.Addr.String()), c.Action)
	}
	red := func(text string) string { return pen.Paint(text, ansi.Bold, ansi.Red) }
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }

	switch c.Action {
	case plan.Create:
		say("%s will be created", address)
	case plan.Read:
		say("%s will be read during apply", address)
	case plan.Update:
		if drift {
			say("%s has changed", address)
		} else {
			say("%s will be updated in-place", address)
		}
	case plan.DeleteThenCreate, plan.CreateThenDelete, plan.ForgetThenCreate:
		text := ""
		switch c.Reason {
		case plan.ReplaceTainted:
			text = address + " is tainted, so it must be " + red("replaced")
		case plan.ReplaceRequested:
			text = address + " will be " + red("replaced") + ", as requested"
		case plan.ReplaceTriggered:
			text = address + " will be " + red("replaced") + " due to changes in replace_triggered_by"
		default:
			text = address + " must be " + red("replaced")
		}
		if c.Action == plan.ForgetThenCreate {
			text += " - " + pen.Paint("older instance will not be destroyed", ansi.Yellow) + " (lifecycle.destroy = false)"
		}
		say("%s", text)
	case plan.Delete:
		if drift {
			say("%s has been deleted", address)
		} else {
			say("%s will be %s", address, red("destroyed"))
		}
	case plan.Forget:
		say("%s will be removed from the %s state %s", address, Engine, red("but will not be destroyed"))
	default:
		if c.Moved() {
			say("%s has moved to %s", pen.Paint("  # "+sanitize.Line(c.Previous().String()), ansi.Bold), pen.Paint(sanitize.Line(c.Addr.String()), ansi.Bold))
		} else {
			say("%s will be imported", address)
			if c.GeneratedConfig != "" {
				say("  # (config will be generated)")
			}
		}
	}
	why := reason(c)
	if p.o.Fold && isRemoved(c.Action, c.Reason) {
		why = "because of its removed block"
		if of := Causes(&summary.Row{Changes: []*plan.Change{c}}, p.o.causes()); of != "" {
			why = of
		}
	}
	if why != "" {
		say("  # (%s)", why)
	}
	if c.Awaits != nil {
		say("  # (read during apply: %s)", sanitize.Line(c.Awaits.String()))
	}
	if c.Addr.Deposed != "" && !drift {
		say("  # (left over from a partially-failed replacement of this instance)")
	}
	if c.Moved() && c.Action != plan.NoOp {
		say("  # (moved from %s)", sanitize.Line(c.Previous().String()))
	}
	if text := p.outside(c); text != "" && !drift {
		say("  # (%s)", text)
	}
	lines = append(lines, importing(c, pen)...)
	return strings.Join(lines, "\n") + "\n"
}

// outside says what has become of an object outside, for who reads a plan at a terminal.
func (p *planPrinter) outside(c *plan.Change) string {
	if !p.o.Fold {
		return ""
	}
	if p.away == nil {
		p.away = map[addr.Object]plan.Action{}
		for _, d := range p.plan.Drift {
			p.away[d.Addr] = d.Action
		}
	}
	switch p.away[c.Addr] {
	case plan.Delete:
		return "it was deleted outside of " + Engine
	case plan.Update:
		return "it was changed outside of " + Engine
	}
	return ""
}

func importing(c *plan.Change, pen ansi.Pen) []string {
	if c.Importing == nil {
		return nil
	}
	var lines []string
	converted, err := jsonplan.ConvertImporting(c.Importing)
	switch {
	case c.Importing.ID != "":
		lines = append(lines, fmt.Sprintf("  # (imported from %q)", c.Importing.ID))
	case err == nil && converted.Identity != nil:
		var v any
		if json.Unmarshal(converted.Identity, &v) == nil {
			text, _ := json.MarshalIndent(v, "  # ", "  ")
			lines = append(lines, "  # (imported using resource identity "+string(text)+")")
		}
	default:
		lines = append(lines, "  # (will be imported first)")
	}
	if c.Action == plan.DeleteThenCreate || c.Action == plan.CreateThenDelete {
		lines = append(lines, "  # "+pen.Paint("Warning: this will destroy the imported resource", ansi.Yellow))
	}
	return lines
}

// reason says why an action was chosen, where it isn't reported otherwise.
func reason(c *plan.Change) string {
	switch c.Reason {
	case plan.ReadConfigUnknown:
		return "config refers to values not yet known"
	case plan.ReadDependencyPending:
		return "depends on a resource or a module with changes pending"
	case plan.ReadCheckNested:
		return "config will be reloaded to verify a check block"
	case plan.DeleteNoResourceConfig:
		return "because " + c.Addr.Name.String() + " is not in configuration"
	case plan.DeleteNoMoveTarget:
		return "because " + sanitize.Line(c.Previous().String()) + " was moved to " + sanitize.Line(c.Addr.Instance.String()) + ", which is not in configuration"
	case plan.DeleteNoModule:
		return "because " + sanitize.Line(c.Addr.Module.String()) + " is not in configuration"
	case plan.DeleteWrongRepetition:
		if _, ok := c.Addr.Key.Int(); ok {
			return "because resource does not use count"
		}
		if _, ok := c.Addr.Key.Str(); ok {
			return "because resource does not use for_each"
		}
		return "because resource uses count or for_each"
	case plan.DeleteCountIndex:
		return "because index " + c.Addr.Key.String() + " is out of range for count"
	case plan.DeleteEachKey:
		return "because key " + sanitize.Line(c.Addr.Key.String()) + " is not in for_each map"
	case plan.DeleteEnabledFalse:
		return "because enabled is false"
	case plan.ForgotDestroyFalseState:
		return "because lifecycle.destroy = false was configured before this resource was removed from the configuration"
	case plan.ForgotDestroyFalse:
		return "because lifecycle.destroy = false is set in the configuration"
	}
	return ""
}

// repeated names the attributes that are hidden because they repeat a sensitive value.
func (p *planPrinter) repeated() {
	if text := Repeated(p.hidden); text != "" && !p.o.ShowSensitive {
		p.prose("\n" + text)
	}
}

// mostHidden is how many attributes that are hidden a note names.
const mostHidden = 5

// Repeated is a note that names the attributes that are hidden because they repeat a sensitive
// value, "" without any.
func Repeated(hidden []masking.Place) string {
	if len(hidden) == 0 {
		return ""
	}
	names := make([]string, 0, mostHidden)
	for _, place := range hidden[:min(len(hidden), mostHidden)] {
		names = append(names, sanitize.Line(place.String()))
	}
	text := "Hidden, because a provider repeats a sensitive value there: " + strings.Join(names, ", ")
	if more := len(hidden) - mostHidden; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "."
}

// deferrals lists what waits for a later round.
func (p *planPrinter) deferrals() {
	if len(p.plan.Deferred) == 0 || p.plan.Errored { // what is behind an error isn't known
		return
	}
	waits := doubted(p.plan)
	if slices.ContainsFunc(p.plan.Deferred, func(d *plan.Deferred) bool { return waits(d.Reason) }) {
		p.prose("\nThese objects are in doubt, or something in doubt needs them. Resolve that first, with the command recover; then plan again.")
		p.deferred("waits", waits, true)
	}
	if slices.ContainsFunc(p.plan.Deferred, func(d *plan.Deferred) bool { return !waits(d.Reason) }) {
		p.prose("\nThese changes are deferred: they depend on something that is known only after this plan was applied, so they belong to a later one.")
		p.deferred("was deferred", waits, false)
	}
}

// doubted reports for reasons of a plan whether such a change waits for people, and not for a
// later round. A prerequisite is in doubt where nothing else is a cause.
func doubted(p *plan.Plan) func(reason string) bool {
	doubt, other := false, false
	for _, d := range p.Deferred {
		switch d.Reason {
		case "in_doubt", "needed_in_doubt":
			doubt = true
		case "deferred_prereq":
		default:
			other = true
		}
	}
	return func(reason string) bool {
		return reason == "in_doubt" || reason == "needed_in_doubt" || reason == "deferred_prereq" && doubt && !other
	}
}

// deferred lists the deferred changes that wait for people, or the others.
func (p *planPrinter) deferred(said string, waits func(reason string) bool, are bool) {
	for _, d := range p.plan.Deferred {
		if waits(d.Reason) != are {
			continue
		}
		p.WriteString("\n" + p.o.Pen.Paint("  # "+sanitize.Line(d.Change.Addr.String()), ansi.Bold) + " " + said + "\n")
		p.WriteString("  # (" + deferral(d.Reason, are) + ")\n")
		p.WriteString(diff.Symbol(d.Change.Action, p.o.Pen) + " " + header(d.Change) +
			p.compare(d.Change, nil).Text(0, p.o.diff()) + "\n")
	}
}

// PutOff lists what waits for another round of the same apply.
func PutOff(p *plan.Plan) string {
	if len(p.Deferred) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nPut off until more is known:\n")
	for _, d := range p.Deferred {
		fmt.Fprintf(&b, "  - %s\n", d.Change.Addr)
	}
	b.WriteString("Applying this plan continues with another round for these.\n")
	return b.String()
}

// NextRound says after an apply that deferred changes are left, and what to do
// about them; program is the name of the command. Without any it writes
// nothing.
func NextRound(w io.Writer, pl *plan.Plan, program string, o Options) error {
	n := len(pl.Deferred)
	if n == 0 {
		return nil
	}
	p := &printer{o: o}
	what := "One change was deferred, because it depended on"
	if n > 1 {
		what = strconv.Itoa(n) + " changes were deferred, because they depended on"
	}
	p.prose("\n" + what + " something that wasn't known before. To go on with what is known now, apply again:")
	command := program + " apply"
	if pl.Mode == plan.RefreshOnly {
		command += " -refresh-only"
	}
	p.printf("    %s -allow-deferral\n", command)
	return p.flush(w)
}

// deferral says why a change waits, for people or for a later round.
func deferral(reason string, people bool) string {
	if people && reason == "deferred_prereq" {
		return "because it needs an object in doubt"
	}
	switch reason {
	case "instance_count_unknown":
		return "because the number of resource instances is unknown"
	case "resource_config_unknown":
		return "because the resource configuration is unknown"
	case "provider_config_unknown":
		return "because the provider configuration depends on unknown values"
	case "in_doubt":
		return "because it may exist already"
	case "needed_in_doubt":
		return "because an object in doubt needs it"
	case "deferred_prereq":
		return "because a prerequisite for this resource is deferred"
	case "absent_prereq":
		return "because a prerequisite for this resource has not yet been created"
	}
	return "because of " + strconv.Quote(reason)
}

// outputChanges sets the changes to outputs, one below the other.
func outputChanges(all []*plan.OutputChange, o Options) string {
	width := 0
	for _, c := range all {
		width = max(width, o.diff().Columns(diff.Name(c.Name)))
	}
	var b strings.Builder
	for _, c := range all {
		if c.Action == plan.NoOp {
			continue
		}
		n := diff.Of(covered(c.Before, c.Sensitive || c.BeforeSensitive), covered(c.After, c.Sensitive || c.BeforeSensitive))
		name := diff.Name(c.Name)
		pad := strings.Repeat(" ", width-o.diff().Columns(name))
		fmt.Fprintf(&b, "%s %s = %s\n", diff.Symbol(c.Action, o.Pen), name+pad, n.Text(0, o.diff()))
	}
	return b.String()
}

// Approval is how people are asked whether a plan is to be carried out, and the word
// for that. A place such as a workspace is named unless it is empty.
func Approval(p *plan.Plan, place string) (what, query, description string) {
	in := ""
	if place != "" {
		in = " in " + place
	}
	switch {
	case slices.ContainsFunc(p.Invocations, func(i *plan.Invocation) bool { return i.Event == 0 }):
		return "Invoke", "Would you like to invoke these actions" + in + "?",
			"weir will have the providers do what is shown above, and change nothing else.\nThere is no undo. Only 'yes' will be accepted to confirm."
	case p.Mode == plan.Destroy:
		return "Destroy", "Do you really want to destroy all resources" + in + "?",
			"weir will destroy all your managed infrastructure, as shown above.\nThere is no undo. Only 'yes' will be accepted to confirm."
	case p.Mode == plan.RefreshOnly:
		return "Apply", "Would you like to update the state" + in + " to reflect these detected changes?",
			"weir will write these changes to the state without modifying any real infrastructure.\nThere is no undo. Only 'yes' will be accepted to confirm."
	}
	return "Apply", "Do you want to perform these actions" + in + "?",
		"weir will perform the actions described above.\nOnly 'yes' will be accepted to approve. Before that, 'details' shows all of each change, 'details ADDRESS' one, and 'why ADDRESS' what it comes from."
}

// NextSteps says what to do with a plan that may change something and was saved in a
// file, or wasn't.
func NextSteps(changes bool, program, file string, o Options) string {
	if !changes {
		return ""
	}
	text := fmt.Sprintf("Note: You didn't use the -out option to save this plan, so weir can't guarantee to take exactly these actions if you run \"%s apply\" now.", program)
	if file != "" {
		text = fmt.Sprintf("Saved the plan to: %s\n\nTo perform exactly these actions, run the following command to apply:\n    %s apply %q", file, program, file)
	}
	return fmt.Sprintf("\n%s\n\n%s\n", o.Pen.Rule(o.width()), ansi.Wrap(text, o.width()))
}
