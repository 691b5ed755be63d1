// Package planoptions parses addresses and names in plan and import options, and rejects options
// that contradict each other.
//
// It owns these texts and their combinations. It rejects configurations, states and flags.
package planoptions

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/sys/readlimit"
)

// Planning says what a plan is for.
type Planning struct {
	Mode        plan.Mode
	SkipRefresh bool
	// MinimalRefresh: only what is to be changed by what the state says is inspected.
	MinimalRefresh bool
	// AutoRefresh: what was inspected not long ago, and doesn't change by what the state says,
	// isn't looked at.
	AutoRefresh   bool
	Targets       []addr.Target
	Excludes      []addr.Target
	Replace       []addr.Instance
	AllowDeferral bool
	// Invoke is the action that is invoked without anything else being done, nil for none.
	Invoke *addr.Target
	// Generate names a new file for the configuration of imports that have none.
	Generate string
	// Explained: somebody may ask why the plan is as it is.
	Explained bool

	replacing []addr.Target // patterns of -replace
}

// In is what is requested where the patterns of -replace name something.
func (p Planning) In(named func(addr.Target) ([]addr.Instance, diag.List)) (Planning, diag.List) {
	var diags diag.List
	for _, t := range p.replacing {
		found, more := named(t)
		diags.Append(more)
		p.Replace = append(slices.Clip(p.Replace), found...)
	}
	return p, diags
}

// A Plan is what is asked of a plan. The files have addresses, one a line.
type Plan struct {
	Destroy, RefreshOnly       bool
	SkipRefresh, AllowDeferral bool
	MinimalRefresh             bool
	AutoRefresh                bool
	Targets, TargetFiles       []string
	Excludes, ExcludeFiles     []string
	Replace                    []string
	Invoke                     []string
}

// CheckOut rejects to save a plan at a path without a directory; "" isn't saved.
func CheckOut(path string) diag.List {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return diag.Unwritable.As("Failed to write plan file").List("The directory of %q doesn't exist.", path)
	}
	return nil
}

// IsGiven reports whether something is requested that only makes sense for a plan that is
// still to be made. Refreshing isn't: programs that drive the command line always say
// something about it.
func (p *Plan) IsGiven() bool {
	return p.Destroy || p.RefreshOnly || len(p.Targets)+len(p.TargetFiles)+len(p.Excludes)+len(p.ExcludeFiles)+len(p.Replace)+len(p.Invoke) > 0
}

// IsPlainAuto reports whether everything is requested, but for looking at what was inspected
// not long ago.
func (p *Plan) IsPlainAuto() bool {
	return p.AutoRefresh && !p.SkipRefresh && !p.MinimalRefresh && !p.AllowDeferral && !p.IsGiven()
}

// Read reads the addresses and checks the combination.
func (p *Plan) Read() (Planning, diag.List) {
	c := Planning{SkipRefresh: p.SkipRefresh, AllowDeferral: p.AllowDeferral, MinimalRefresh: p.MinimalRefresh, AutoRefresh: p.AutoRefresh}
	var diags diag.List
	switch {
	case p.Destroy && p.RefreshOnly:
		diags.Add(diag.Incompatible.As("Incompatible plan mode options").New(diag.Error, "The -destroy and -refresh-only options are mutually-exclusive."))
	case p.Destroy:
		c.Mode = plan.Destroy
	case p.RefreshOnly:
		c.Mode = plan.RefreshOnly
	}
	if p.RefreshOnly && p.SkipRefresh {
		diags.Add(diag.Incompatible.As("Incompatible refresh options").New(diag.Error, "It doesn't make sense to use -refresh-only at the same time as -refresh=false, because weir would have nothing to do."))
	}
	switch {
	case !p.MinimalRefresh:
	case p.RefreshOnly || len(p.Invoke) > 0:
		diags.Add(diag.Incompatible.As("Incompatible refresh options").New(diag.Error, "The -minimal-refresh option leaves out looking at objects that don't change otherwise. A plan that does nothing but look at objects can't be made with it."))
	case p.SkipRefresh:
		diags.Add(diag.Incompatible.As("Incompatible refresh options").New(diag.Error, "The -minimal-refresh and -refresh=false options are mutually-exclusive: with -refresh=false nothing is refreshed in any case."))
	case p.AutoRefresh:
		diags.Add(diag.Incompatible.As("Incompatible refresh options").New(diag.Error, "The -minimal-refresh and -refresh=auto options are mutually-exclusive: both select the objects to refresh."))
	case p.Destroy: // what ends is ended however it looks by now
		c.SkipRefresh, c.MinimalRefresh = true, false
	}
	if p.RefreshOnly && len(p.Replace) > 0 {
		diags.Add(diag.Incompatible.As("Incompatible plan mode options").New(diag.Error, "The -replace option can't be used with -refresh-only, which replaces nothing."))
	}
	if len(p.Targets)+len(p.TargetFiles) > 0 && len(p.Excludes)+len(p.ExcludeFiles) > 0 {
		diags.Add(diag.Incompatible.As("Invalid combination of arguments").New(diag.Error, "The target and exclude planning options are mutually-exclusive. Each plan must use either only the target options or only the exclude options."))
	}
	c.Targets = targets("target", p.Targets, p.TargetFiles, &diags)
	c.Excludes = targets("exclude", p.Excludes, p.ExcludeFiles, &diags)
	p.readInvoke(&c, &diags)
	for _, text := range p.Replace {
		t, err := addr.ParsePattern(text)
		switch {
		case err != nil:
			diags.Add(diag.BadAddress.As(fmt.Sprintf("Invalid force-replace address %q", text)).New(diag.Error, "%s.", err))
		case t.IsModule():
			diags.Add(diag.BadAddress.As(fmt.Sprintf("Invalid force-replace address %q", text)).New(diag.Error, "The -replace option needs the address of a resource instance, and this is a module."))
		case t.Name.Mode != addr.Managed:
			diags.Add(diag.BadAddress.As(fmt.Sprintf("Invalid force-replace address %q", text)).New(diag.Error, "Only managed resources can be used with the -replace=... option."))
		case t.IsPattern():
			c.replacing = append(c.replacing, t)
		default:
			c.Replace = append(c.Replace, t.Instance())
		}
	}
	return c, diags
}

// readInvoke reads what is invoked by hand, in a plan that does nothing else.
func (p *Plan) readInvoke(c *Planning, diags *diag.List) {
	for _, text := range p.Invoke {
		t, err := addr.ParseTarget(text)
		switch {
		case err != nil:
			diags.Add(diag.BadAddress.As(fmt.Sprintf("Invalid target %q", text)).New(diag.Error, "%s.", err))
		case t.IsModule() || t.Name.Mode != addr.Action:
			diags.Add(diag.BadAddress.As(fmt.Sprintf("Invalid target %q", text)).New(diag.Error, "The -invoke option needs the address of an action: action.TYPE.NAME, with a key for one of several instances, after that of its module."))
		default:
			c.Invoke, c.Mode = &t, plan.RefreshOnly
		}
	}
	switch {
	case len(p.Invoke) > 1:
		diags.Add(diag.Incompatible.As("Invalid arguments").New(diag.Error, "Only one action can be invoked at a time."))
	case len(p.Invoke) > 0 && (p.Destroy || p.RefreshOnly || len(p.Replace) > 0):
		diags.Add(diag.Incompatible.As("Incompatible plan mode options").New(diag.Error, "The -invoke option invokes an action and does nothing else, so it can't be used with -destroy, -refresh-only or -replace."))
	}
}

// targets reads addresses of one kind: those that are given, and those in files.
func targets(what string, direct, files []string, diags *diag.List) []addr.Target {
	var out []addr.Target
	add := func(text, where string) {
		t, err := addr.ParsePattern(text)
		if err == nil && !t.IsModule() && (t.Name.Mode == addr.Action || t.Name.Mode == addr.List) {
			err = fmt.Errorf("%s isn't a resource or module", text)
		}
		if err != nil {
			diags.Add(diag.BadAddress.As(fmt.Sprintf("Invalid %s %q", what, text)).New(diag.Error, "%s%s.", where, err))
			return
		}
		out = append(out, t)
	}
	for _, text := range direct {
		add(text, "")
	}
	for _, name := range files {
		data, err := readlimit.Any(name, nil)
		if err != nil {
			diags.Add(diag.Unreadable.As(fmt.Sprintf("Failed to read the file of -%s-file", what)).New(diag.Error, "The file %q can't be opened: %s.", name, diag.Cause(err)))
			continue
		}
		for line, where := range items(name, data) {
			add(line, where)
		}
	}
	return out
}

// items are the lines of a file that say something, each with where it stands.
func items(name string, data []byte) func(yield func(line, where string) bool) {
	return func(yield func(line, where string) bool) {
		n := 0
		for line := range strings.Lines(string(data)) {
			n++
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "#") && !yield(line, fmt.Sprintf("%s line %d: ", name, n)) {
				return
			}
		}
	}
}

// Agrees reports whether a plan that was made already is the one that is requested: the same
// mode, targets and replacements, as far as something is said of them.
func (p *Plan) Agrees(made *plan.Plan) (bool, diag.List) {
	asked, diags := p.Read()
	if diags.HasErrors() {
		return false, diags
	}
	same := func(asked, made []addr.Target) bool {
		texts := func(list []addr.Target) []string {
			var out []string
			for _, t := range list {
				out = append(out, t.String())
			}
			slices.Sort(out)
			return slices.Compact(out)
		}
		return len(asked) == 0 || slices.Equal(texts(asked), texts(made))
	}
	replaces := func(i addr.Instance) bool {
		return slices.ContainsFunc(made.Changes, func(c *plan.Change) bool {
			return c.Addr.Instance == i && c.Reason == plan.ReplaceRequested
		})
	}
	agrees := (asked.Mode == plan.Normal || asked.Mode == made.Mode) && asked.Invoke == nil && len(asked.replacing) == 0 &&
		same(asked.Targets, made.Targets) && same(asked.Excludes, made.Excludes)
	for _, i := range asked.Replace {
		agrees = agrees && replaces(i)
	}
	return agrees, diags
}
