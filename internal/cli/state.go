package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/edit"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/session"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/statefile"
	"weir.dev/weir/internal/view"
)

var stateCommands = []*command{
	{
		name:     "state",
		synopsis: "Advanced state management",
		long:     "Commands that look at the state and change it without asking any provider.",
	},
	{
		name: "state list", aliases: []string{"state ls"}, args: "[ADDRESS...]", max: -1,
		synopsis: "List resources in the state",
		setup:    setupStateList,
	},
	{
		name: "state show", args: "ADDRESS", min: 1, max: 1,
		synopsis: "Show a resource in the state",
		setup:    setupStateShow,
	},
	{
		name: "state mv", aliases: []string{"state move"}, args: "SOURCE DESTINATION", min: 2, max: 2,
		synopsis: "Move an item in the state",
		long:     "Gives objects another address, without a change to the objects. SOURCE and DESTINATION are both resource instances, both resources or both modules. Where the configuration moves, a moved block does the same for everyone who uses it.",
		setup:    setupStateMove,
	},
	{
		name: "state rm", aliases: []string{"state remove"}, args: "ADDRESS...", min: 1, max: -1,
		synopsis: "Remove instances from the state",
		long:     "Forgets objects. They go on existing and are no longer managed.",
		setup:    setupStateRemove,
	},
	{
		name:     "state pull",
		synopsis: "Pull current state and output to stdout",
		setup: func(e *env, _ *flag.FlagSet) runner {
			return func(ctx context.Context, _ []string) int { return e.statePull(ctx) }
		},
	},
	{
		name: "state push", args: "PATH", min: 1, max: 1,
		synopsis: "Update remote state from a local state file",
		long:     "Puts the state from a file (or from standard input, for \"-\") in the place of the present one. One of another lineage, or an older one, is refused unless forced.",
		setup:    setupStatePush,
	},
	{
		name:     "state history",
		synopsis: "List earlier states that were kept",
		long:     "Each change of a state keeps the one before in the data directory, the last 20 of them. Of states that aren't in files on this machine that is so only where they are encrypted.",
		setup:    setupStateHistory,
	},
	{
		name: "state verify", args: "[PLAN...]", max: -1,
		synopsis: "Look whether all that is kept of the state can be read",
		long:     "Reads the state, its backup and earlier states, the journal of a run that didn't end, the lock, the dependency lock file, and the plan files that are named. Changes nothing. Damage is an error that says how to go on.",
		setup: func(e *env, fs *flag.FlagSet) runner {
			var f stateFlags
			fs.StringVar(&f.state, "state", "", "The state file is at `PATH`.")
			return func(ctx context.Context, plans []string) int { return e.stateVerify(ctx, f, plans) }
		},
	},
	{
		name:     "state undo",
		synopsis: "Go back to an earlier state",
		long:     "Gives the state the content that it had before. Nothing happens to the infrastructure.",
		setup:    setupStateUndo,
	},
	{
		name: "state replace-provider", args: "FROM TO", min: 2, max: 2,
		synopsis: "Replace provider in the state",
		setup:    setupReplaceProvider,
	},
}

func (e *env) stateVerify(ctx context.Context, f stateFlags, plans []string) int {
	found, diags := e.directory.Verify(ctx, f.options(), plans)
	for _, f := range found {
		if diags.Append(f.Problems); !f.Problems.HasErrors() {
			e.say("%s: %s\n", f.What, f.Said)
		}
	}
	return e.diags(diags)
}

// inState opens the state, locks it if the command changes it, and reads it.
// A problem has been reported when the session is nil.
func (e *env) inState(ctx context.Context, f stateFlags, operation string) *session.Session {
	return e.open(ctx, f.options(), operation)
}

func (e *env) open(ctx context.Context, o operation.StateOptions, operation string) *session.Session {
	s, diags := e.directory.State(ctx, o, operation)
	if e.diags(diags) != 0 {
		return nil
	}
	return s
}

// commit saves a changed state and reports problems.
func (e *env) commit(ctx context.Context, s *session.Session, next *state.Snapshot) int {
	return e.diags(e.directory.Commit(ctx, s, next))
}

// noState reports that there is nothing to work on.
func (e *env) noState() int {
	return e.fail("No state file was found", "State management commands need a state. Run this command in a directory where something was applied, or use the -state option to name a state file.")
}

func setupStateList(e *env, fs *flag.FlagSet) runner {
	var f stateFlags
	fs.StringVar(&f.state, "state", "", "Read the state from the file at `PATH`.")
	id := fs.String("id", "", "Only objects whose attribute id is `ID`.")
	return func(ctx context.Context, args []string) int {
		s := e.inState(ctx, f, "")
		if s == nil {
			return 1
		}
		if s.Prior() == nil {
			return e.noState()
		}
		targets, diags := edit.Targets(args)
		if diags.HasErrors() {
			return e.diags(diags)
		}
		for _, t := range targets {
			if !edit.Has(s.Prior(), t) {
				diags.Errorf("Unknown "+t.Kind(), "There is no %s %s in the state. What has only just been written into the configuration, or has got another count or for_each, gets there by \"%s apply\".", t.Kind(), t, e.program)
			}
		}
		var list strings.Builder
		for _, at := range edit.Select(s.Prior(), targets, *id) {
			list.WriteString(at.String())
			list.WriteByte('\n')
		}
		e.say("%s", list.String())
		return e.diags(diags)
	}
}

func setupStateRemove(e *env, fs *flag.FlagSet) runner {
	var f stateFlags
	f.register(fs)
	remoteVersion(fs)
	dry := fs.Bool("dry-run", false, "Only say what would be removed.")
	return func(ctx context.Context, args []string) int {
		targets, diags := edit.Targets(args)
		if diags.HasErrors() {
			return e.diags(diags)
		}
		s := e.inState(ctx, f, "state-rm")
		if s == nil {
			return 1
		}
		if s.Prior() == nil {
			return e.noState()
		}
		next, removed, diags := edit.Remove(s.Prior(), targets)
		for _, i := range removed {
			e.say("%s %s\n", verb(*dry, "Would remove", "Removed"), i)
		}
		if e.diags(diags) != 0 {
			return 1
		}
		if *dry {
			return 0
		}
		if code := e.commit(ctx, s, next); code != 0 {
			return code
		}
		e.say("Successfully removed %d resource instance(s).\n", len(removed))
		return 0
	}
}

func setupStateShow(e *env, fs *flag.FlagSet) runner {
	var f stateFlags
	fs.StringVar(&f.state, "state", "", "Read the state from the file at `PATH`.")
	fs.BoolVar(&e.view.ShowSensitive, "show-sensitive", false, "Show sensitive values.")
	return func(ctx context.Context, args []string) int {
		i, err := addr.ParseInstance(args[0])
		if err != nil {
			return e.fail("Error parsing instance address: "+args[0], "%s. This command requires that the address references one specific instance. To view the available instances, use \"state list\".", err)
		}
		s := e.inState(ctx, f, "")
		if s == nil {
			return 1
		}
		if s.Prior() == nil {
			return e.noState()
		}
		at := addr.Object{Instance: i}
		o := s.Prior().Objects[at]
		if o == nil {
			return e.fail("No instance found for the given address", "This command requires that the address references one specific instance. To view the available instances, use \"state list\". Please modify the address to reference a specific instance.")
		}
		// The object can be shown without its schema too.
		schemas, _ := e.directory.StateSchemas(ctx, s.Prior())
		return e.written(view.Object(e.out, at, o, schemas, e.viewing()))
	}
}

func verb(dry bool, would, did string) string {
	if dry {
		return would
	}
	return did
}

func (e *env) statePull(ctx context.Context) int {
	s := e.inState(ctx, stateFlags{}, "")
	if s == nil {
		return 1
	}
	if s.Base() == nil {
		return 0
	}
	var b bytes.Buffer
	if err := statefile.Write(&b, s.Base()); err != nil {
		return e.fail("Failed to write state", "%s.", err)
	}
	e.say("%s", b.String())
	return 0
}

func setupStatePush(e *env, fs *flag.FlagSet) runner {
	var f stateFlags
	f.registerLock(fs)
	remoteVersion(fs)
	force := fs.Bool("force", false, "Write the state even if its lineage differs or its serial is lower.")
	return func(ctx context.Context, args []string) int {
		data, err := e.readInput(args[0])
		if err != nil {
			return e.fail("Failed to read the state to push", "%s: %s.", args[0], diag.Cause(err))
		}
		data, diags := e.directory.OpenSealed(data)
		if e.diags(diags) != 0 {
			return 1
		}
		pushed, diags := statefile.Read(data, args[0])
		if e.diags(diags) != 0 {
			return 1
		}
		o := f.options()
		o.Unread = *force
		s := e.open(ctx, o, "state-push")
		if s == nil {
			return 1
		}
		next, diags := edit.Push(s.Base(), pushed, *force)
		if e.diags(diags) != 0 {
			return 1
		}
		if err := s.Put(ctx, next); err != nil {
			return e.fail("Failed to write state", "%s.", err)
		}
		return 0
	}
}

// readInput reads a file, or standard input for "-".
func (e *env) readInput(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(e.in)
	}
	return os.ReadFile(name)
}

func setupReplaceProvider(e *env, fs *flag.FlagSet) runner {
	var f stateFlags
	f.register(fs)
	remoteVersion(fs)
	approve := fs.Bool("auto-approve", false, "Don't ask for approval.")
	e.inputFlag(fs)
	return func(ctx context.Context, args []string) int {
		from, err := e.dialect.Registry().ParseProvider(args[0])
		if err != nil {
			return e.fail(fmt.Sprintf("Invalid \"from\" provider %q", args[0]), "%s.", err)
		}
		to, err := e.dialect.Registry().ParseProvider(args[1])
		if err != nil {
			return e.fail(fmt.Sprintf("Invalid \"to\" provider %q", args[1]), "%s.", err)
		}
		s := e.inState(ctx, f, "state-replace-provider")
		if s == nil {
			return 1
		}
		if s.Base() == nil {
			return e.noState()
		}
		// The state as it is stored: the names in it are what this is about.
		next, changed := edit.ReplaceProvider(s.Base(), from, to)
		if len(changed) == 0 {
			e.say("No matching resources found.\n")
			return 0
		}
		e.say("weir will perform the following actions:\n\n  ~ Updating provider:\n    - %s\n    + %s\n\nChanging %d resources:\n\n", from, to, len(changed))
		for _, resource := range changed {
			e.say("  %s\n", resource)
		}
		if !*approve {
			answer, err := e.ask(ctx, question{query: "\nDo you want to make these changes?\nOnly 'yes' will be accepted to continue."})
			if err != nil {
				return e.fail("Approval required", "The answer can't be read: %s. Use -auto-approve to make the changes without asking.", err)
			}
			if answer != "yes" {
				e.say("Cancelled replacing providers.\n")
				return 0
			}
		}
		if code := e.commit(ctx, s, next); code != 0 {
			return code
		}
		e.say("\nSuccessfully replaced provider for %d resources.\n", len(changed))
		return 0
	}
}
