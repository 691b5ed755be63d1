package cli

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/sys/readlimit"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statemgr"
)

var stateCommands = []*command{
	{
		Name:     "state",
		Synopsis: "Advanced state management",
		Long:     "Commands that read and change the state without calling a provider.",
	},
	{
		Name: "state list", Aliases: []string{"state ls"}, Args: "[ADDRESS...]", Max: -1,
		Synopsis: "List resources in the state",
		Long:     "An address may be a pattern, quoted for the shell. 'aws_*.web' matches all types with this prefix, 'module.net[*]' all instances of a module, 'module.net[eu-*]' those with such keys, and '**.aws_vpc.main' any module. The other state commands take patterns too.",
		JSON:     output.Messages,
		Setup:    setupStateList,
	},
	{
		Name: "state identities", Args: "[ADDRESS...]", Max: -1,
		Synopsis: "List the identities of resources in the state",
		Long:     "Prints the provider's identity of each object by address, for import blocks and programs. Objects without an identity in the state are left out.",
		Setup:    setupStateIdentities,
	},
	{
		Name: "state show", Args: "ADDRESS", Min: 1, Max: 1,
		Synopsis: "Show a resource in the state",
		Long:     "ADDRESS is the address of an instance, or a pattern as for state list, which shows all matches.",
		JSON:     output.Either,
		Setup:    setupStateShow,
	},
	{
		Name: "state mv", Aliases: []string{"state move"}, Args: "SOURCE DESTINATION", Min: 2, Max: 2,
		Synopsis: "Move an item in the state",
		Long:     "Changes the addresses of objects in the state. SOURCE and DESTINATION are both resource instances, both resources or both modules. Patterns, quoted for the shell, move many at once. Each star of DESTINATION gets the text of the same star in SOURCE: 'aws_instance.web_*' 'aws_instance.web[*]'. If DESTINATION is a module, resources keep their names. A moved block in the configuration does the same for all its users.",
		JSON:     output.Messages,
		Setup:    setupStateMove,
	},
	{
		Name: "state rm", Aliases: []string{"state remove"}, Args: "ADDRESS...", Min: 1, Max: -1,
		Synopsis: "Remove instances from the state",
		Long:     "Removes objects from the state. They still exist, but weir no longer manages them.",
		JSON:     output.Messages,
		Setup:    setupStateRemove,
	},
	{
		Name:     "state pull",
		Synopsis: "Pull current state and output to stdout",
		Setup: func(e *env, _ *flag.FlagSet) runner {
			return func(ctx context.Context, _ []string) int { return e.statePull(ctx) }
		},
	},
	{
		Name: "state push", Args: "PATH", Min: 1, Max: 1,
		Synopsis: "Update remote state from a local state file",
		Long:     "Replaces the present state with the state from a file, or from standard input for \"-\". A state of another lineage, or an older one, needs -force.",
		JSON:     output.Messages,
		Setup:    setupStatePush,
	},
	{
		Name:     "state history",
		Synopsis: "List earlier states with author, command and changes",
		Long:     "Lists the present state and the last 20 before it. Each has the author, command and time of its run, and how many managed objects that added (+), changed (~) and removed (-). weir records runs on this machine only, in the data directory. It keeps the content of earlier states there too, but for states in a backend only if they are encrypted. The database backend keeps both itself.",
		Setup:    setupStateHistory,
	},
	stateQueryCommand,
	{
		Name: "state verify", Args: "[PLAN...]", Max: -1,
		Synopsis: "Check state, backups and journal for damage",
		Long:     "Reads the state with its backup, earlier states, journal and lock, the dependency lock file, and the given plan files. It changes nothing. Damage is an error that names the next step.",
		Setup: func(e *env, fs *flag.FlagSet) runner {
			var f flags.State
			fs.StringVar(&f.Path, "state", "", "Use the state file at `PATH`.")
			return func(ctx context.Context, plans []string) int { return e.stateVerify(ctx, f, plans) }
		},
	},
	{
		Name:     "state undo",
		Synopsis: "Go back to an earlier state",
		Long:     "Restores the previous content of the state. The infrastructure doesn't change.",
		Setup:    setupStateUndo,
	},
	{
		Name: "state replace-provider", Args: "FROM TO", Min: 2, Max: 2,
		Synopsis: "Replace provider in the state",
		JSON:     output.Messages,
		Setup:    setupReplaceProvider,
	},
}

func (e *env) stateVerify(ctx context.Context, f flags.State, plans []string) int {
	found, diags := workspace.Verify{Dir: e.directory, State: f.Options(), Plans: plans}.Run(ctx)
	for _, f := range found {
		if diags.Append(f.Problems); !f.Problems.HasErrors() {
			e.Say("%s: %s\n", f.What, f.Said)
		}
	}
	code := e.Diags(diags)
	switch n := len(diags.Only(diag.Error)); {
	case n > 0:
		e.Say("\nDamaged: %s. Each says how to go on.\n", view.Count(n, "problem"))
	case len(diags) > 0:
		e.Say("\nNothing is damaged, but see the warnings.\n")
	default:
		e.Say("\nOK: everything can be read.\n")
	}
	return code
}

// inState reads the state; nil after a problem, which has been reported.
func (e *env) inState(ctx context.Context, f flags.State) *lockedstate.Session {
	s, diags := e.directory.States.Present(ctx, f.Options())
	e.Diags(diags)
	return s
}

// outlined is inState for a command that needs no more of objects than their addresses.
func (e *env) outlined(ctx context.Context, f flags.State) *lockedstate.Session {
	o := f.Options()
	o.Outlined = true
	s, diags := e.directory.States.Present(ctx, o)
	e.Diags(diags)
	return s
}

// locked is inState for a command that changes the state.
func (e *env) locked(ctx context.Context, o statemgr.Options, operation string) *lockedstate.Claimed {
	if diags := e.directory.CheckMode(ctx); diags.HasErrors() {
		e.Diags(diags)
		return nil
	}
	s, diags := e.directory.States.State(ctx, o, operation)
	e.Diags(diags)
	return s
}

// isThere reports whether there is a state, which commands need, and else the problem.
func (e *env) isThere(s *lockedstate.Session) bool { return s.Prior() != nil || e.noState() == 0 }

// noState reports that there is nothing to work on.
func (e *env) noState() int {
	return e.Fail(diag.Unreadable.As("No state file was found"), "State management commands need a state. Run this command in a directory where something was applied, or use the -state option to name a state file.")
}

// commit saves a changed state and reports problems.
func (e *env) commit(ctx context.Context, s *lockedstate.Claimed, next *state.Snapshot) int {
	return e.Diags(e.directory.States.Commit(ctx, s, next))
}

func setupStateList(e *env, fs *flag.FlagSet) runner {
	var f flags.State
	id := selectionFlags(fs, &f)
	return func(ctx context.Context, args []string) int {
		read := e.outlined
		if *id != "" {
			read = e.inState // the id is an attribute
		}
		s := read(ctx, f)
		if s == nil || !e.isThere(s) {
			return 1
		}
		found, diags := e.selected(s.Prior(), args, *id)
		lines := make([]string, len(found))
		for i, at := range found {
			lines[i] = at.String()
		}
		e.List("resource_address", lines)
		return e.Diags(diags)
	}
}

// selectionFlags registers those that choose objects of a state, beside addresses.
func selectionFlags(fs *flag.FlagSet, f *flags.State) (id *string) {
	fs.StringVar(&f.Path, "state", "", "Read the state from the file at `PATH`.")
	return fs.String("id", "", "Select objects whose attribute id is `ID`.")
}

// selected are the current objects that addresses and an id choose. An address of nothing
// is an error, beside which the others are found.
func (e *env) selected(s *state.Snapshot, addresses []string, id string) ([]addr.Object, diag.List) {
	targets, diags := edit.Targets(addresses)
	if diags.HasErrors() {
		return nil, diags
	}
	for _, t := range targets {
		switch {
		case edit.Has(s, t):
		case t.IsPattern():
			diags.Add(edit.Unmatched(s, t))
		default:
			diags.Add(diag.NoInstance.As("Unknown "+t.Kind()).New(diag.Error, "There is no %s %s in the state. New blocks, and instances of a new count or for_each, get into the state with \"%s apply\".", t.Kind(), t, e.program))
		}
	}
	return edit.Select(s, targets, id), diags
}

func setupStateIdentities(e *env, fs *flag.FlagSet) runner {
	var f flags.State
	id := selectionFlags(fs, &f)
	asJSON := fs.Bool("json", false, "Print a JSON object; required.")
	return func(ctx context.Context, args []string) int {
		if !*asJSON {
			return e.Fail(diag.BadOption.As("The `state identities` command requires the `-json` flag"), "There is no other form of the output yet.")
		}
		e.JSON = true // warnings must not mix with the document
		s := e.inState(ctx, f)
		if s == nil || !e.isThere(s) {
			return 1
		}
		list, diags := e.selected(s.Prior(), args, *id)
		if e.Diags(diags) != 0 {
			return 1
		}
		text, err := jsonstate.Identities(s.Prior(), list)
		return e.Document(text, err, "identities")
	}
}

func setupStateRemove(e *env, fs *flag.FlagSet) runner {
	var f flags.State
	f.Register(fs)
	flags.RemoteVersion(fs)
	dry := fs.Bool("dry-run", false, "Print the removals without making them.")
	return func(ctx context.Context, args []string) int {
		targets, diags := edit.Targets(args)
		if diags.HasErrors() {
			return e.Diags(diags)
		}
		s := e.locked(ctx, f.Options(), "state-rm")
		if s == nil || !e.isThere(s.Session) {
			return 1
		}
		next, removed, diags := edit.Remove(s.Prior(), targets)
		for _, i := range removed {
			e.Say("%s %s\n", view.Either(*dry, "Would remove", "Removed"), i)
		}
		if e.Diags(diags) != 0 {
			return 1
		}
		if *dry {
			return 0
		}
		if code := e.commit(ctx, s, next); code != 0 {
			return code
		}
		e.Say("Successfully removed %d resource instance(s).\n", len(removed))
		return 0
	}
}

func setupStateShow(e *env, fs *flag.FlagSet) runner {
	var f flags.State
	fs.StringVar(&f.Path, "state", "", "Read the state from the file at `PATH`.")
	flags.Sensitive(fs, e.Screen)
	return func(ctx context.Context, args []string) int {
		if _, diags := edit.Targets(args); diags.HasErrors() {
			return e.Diags(diags)
		}
		s := e.inState(ctx, f)
		if s == nil || !e.isThere(s) {
			return 1
		}
		list, diags := edit.Named(s.Prior(), args[0])
		if e.Diags(diags) != 0 {
			return 1
		}
		// Objects can be shown without their schemas too.
		schemas, _ := e.directory.StateSchemas(ctx, s.Prior())
		return e.Result("state", func() ([]byte, error) { return jsonstate.MarshalSome(s.Prior(), list, schemas, e.Dialect) },
			func() int { return e.Written(view.Objects(e.Out, s.Prior(), list, schemas, e.Viewing())) })
	}
}

func (e *env) statePull(ctx context.Context) int {
	s := e.outlined(ctx, flags.State{})
	if s == nil {
		return 1
	}
	text := s.Text()
	if s.Base() != nil && text == nil {
		if s, _ = e.directory.States.Present(ctx, flags.State{}.Options()); s == nil { // its messages were printed
			return 1
		}
		var err error
		if text, err = statefile.Bytes(s.Base()); err != nil {
			return e.Fail(diag.Unwritable.As("Failed to write state"), "%s.", err)
		}
	}
	_, err := e.Out.Write(text)
	return e.Written(err)
}

func setupStatePush(e *env, fs *flag.FlagSet) runner {
	var f flags.State
	f.RegisterLock(fs)
	flags.RemoteVersion(fs)
	force := fs.Bool("force", false, "Write the state even if its lineage differs or its serial is lower.")
	return func(ctx context.Context, args []string) int {
		data, err := e.readInput(args[0])
		if err != nil {
			return e.Fail(diag.Unreadable.As("Failed to read the state to push"), "%s: %s.", args[0], diag.Cause(err))
		}
		data, diags := e.directory.Settings.OpenSealed(data)
		if e.Diags(diags) != 0 {
			return 1
		}
		pushed, diags := statefile.Read(data, args[0])
		if e.Diags(diags) != 0 {
			return 1
		}
		o := f.Options()
		o.Unread = *force
		s := e.locked(ctx, o, "state-push")
		if s == nil {
			return 1
		}
		next, diags := edit.Push(s.Base(), pushed, *force)
		if e.Diags(diags) != 0 {
			return 1
		}
		if err := s.Put(ctx, next); err != nil {
			return e.Fail(diag.Unwritable.As("Failed to write state"), "%s.", err)
		}
		return 0
	}
}

// readInput reads a file, or standard input for "-".
func (e *env) readInput(name string) ([]byte, error) {
	if name == "-" {
		return readlimit.Stream(e.in, "standard input", e.interrupts.Stop())
	}
	return e.directory.Place.Input(name)
}

func setupReplaceProvider(e *env, fs *flag.FlagSet) runner {
	var f flags.State
	f.Register(fs)
	flags.RemoteVersion(fs)
	approve := fs.Bool("auto-approve", false, "Don't ask for approval.")
	flags.Input(fs, &e.input)
	return func(ctx context.Context, args []string) int {
		from, err := e.Dialect.Registry().ParseProvider(args[0])
		if err != nil {
			return e.Fail(diag.BadAddress.As(fmt.Sprintf("Invalid \"from\" provider %q", args[0])), "%s.", err)
		}
		to, err := e.Dialect.Registry().ParseProvider(args[1])
		if err != nil {
			return e.Fail(diag.BadAddress.As(fmt.Sprintf("Invalid \"to\" provider %q", args[1])), "%s.", err)
		}
		s := e.locked(ctx, f.Options(), "state-replace-provider")
		if s == nil {
			return 1
		}
		if s.Base() == nil {
			return e.noState()
		}
		// The state as it is stored: the names in it are what this is about.
		next, changed := edit.ReplaceProvider(s.Base(), from, to)
		if len(changed) == 0 {
			e.Say("No matching resources found.\n")
			return 0
		}
		names := make([]string, len(changed))
		for i, resource := range changed {
			names[i] = resource.String()
		}
		e.SayAs("replace_provider", map[string]any{"from": from.String(), "to": to.String(), "resources": names},
			"weir will perform the following actions:\n\n  ~ Updating provider:\n    - %s\n    + %s\n\nChanging %d resources:\n\n  %s\n", from, to, len(names), strings.Join(names, "\n  "))
		if !*approve {
			q := question{query: "\nDo you want to make these changes?\nOnly 'yes' will be accepted to continue."}
			if yes, code := e.confirm(ctx, q, "Approval required", "-auto-approve"); code != 0 {
				return code
			} else if !yes {
				e.Say("Cancelled replacing providers.\n")
				return 0
			}
		}
		if code := e.commit(ctx, s, next); code != 0 {
			return code
		}
		e.Say("\nSuccessfully replaced provider for %d resources.\n", len(changed))
		return 0
	}
}
