package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/workspace/statemgr"
)

var adoptCommand = &command{
	Name: "stacks adopt", Synopsis: "Turn roots into components and deployments of a stack",
	Long: "Writes a stack with a component for each root module and a deployment for each workspace. Then it moves the objects of the roots to the states of the stack. It locks all states, plans the deployments as they would be afterwards, and asks for approval. The plans should have no changes. The files of the roots stay as they are. If the run is killed, run it again: it continues with the files that it wrote.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		a := &adopting{moving: moving{env: e, refresh: true, adopts: true}}
		a.choosing.register(fs)
		fs.StringVar(&a.to, "to", "stack", "Write the stack to the folder `DIR`.")
		fs.BoolVar(&a.undo, "undo", false, "Move the objects of the stack back to the roots.")
		fs.BoolVar(&a.approved, "auto-approve", false, "Don't ask for approval; fail if what moves would change.")
		fs.DurationVar(&a.timeout, "lock-timeout", 0, "Wait up to `DURATION` for each lock.")
		flags.Stream(fs, e.Screen)
		flags.Input(fs, &e.input)
		flags.Parallelism(fs, &a.parallelism)
		return a.run
	},
}

// adopting is a run of the command.
type adopting struct {
	moving
	choosing
}

func (a *adopting) run(ctx context.Context, _ []string) int {
	if filepath.Clean(a.to) == "." {
		return a.env.Fail(diag.BadOption.As("No folder for the stack"), "The stack needs a folder of its own. Name one with -to=DIR.")
	}
	a.again = func([]string) string { return a.env.program + " stacks adopt -undo -to=" + a.to }
	file := filepath.ToSlash(filepath.Join(a.to, roots.MovesFile))
	if _, err := a.env.directory.Place.ReadFile(file); errors.Is(err, fs.ErrNotExist) {
		if a.undo {
			return a.env.Fail(diag.Unreadable.As("Nothing to undo"), "The folder %q has no file %s, which lists what a stack has taken over.", a.to, roots.MovesFile)
		}
		if code := a.write(ctx); code != 0 {
			return code
		}
	}
	list, diags := roots.ReadMoves(a.env.directory, file)
	if a.env.Diags(diags) != 0 {
		return 1
	}
	if a.undo {
		list = roots.Undone(list)
		a.again = func([]string) string { return a.env.program + " stacks adopt -to=" + a.to }
	} else if code := a.prepare(ctx); code != 0 {
		return code
	}
	code := a.moving.run(ctx, list, nil)
	if code == 0 && !a.undo {
		a.env.Notice(fmt.Sprintf("\nThe stack manages these objects now. An apply in one of the roots would create them again, so\nremove the directories of the roots when you are content with the stack in %s.\n", a.to))
	}
	return code
}

// write writes the files of the stack.
func (a *adopting) write(ctx context.Context) int {
	estate, list, code := a.modules(ctx, a.env)
	if code != 0 {
		return code
	}
	states := map[*roots.Root]*state.Snapshot{}
	for _, r := range list {
		b, workspace, diags := r.Dir.StatePlace()
		if !diags.HasErrors() {
			session, more := r.Dir.States.PresentIn(ctx, b, workspace, statemgr.Options{})
			if diags.Append(more); session != nil {
				states[r] = session.Snapshot()
			}
		}
		if a.env.Diags(diags) != 0 {
			return 1
		}
	}
	made, diags := estate.Adopt(ctx, list, a.to, states)
	if made == nil || len(made.Moves) == 0 && !diags.HasErrors() {
		if !diags.HasErrors() {
			diags.Append(roots.NotAdopted.As("Nothing to adopt").List("No root has objects in its state. Apply the roots first."))
		}
		return a.env.Diags(diags)
	}
	place, disk := a.env.directory.Place, a.env.directory.Place.StateDisk
	names := slices.Sorted(maps.Keys(made.Files))
	for _, name := range names {
		if data, err := place.ReadFile(path.Join(a.to, name)); err == nil && !bytes.Equal(data, made.Files[name]) {
			diags.Append(diag.Unwritable.As("File exists").List("The stack needs the file %s in %q, which exists. Use another folder, with -to.", name, a.to))
		}
	}
	if a.env.Diags(diags) != 0 {
		return 1
	}
	// The list of moves comes last: with it the files are complete.
	names = append(slices.DeleteFunc(names, func(n string) bool { return n == roots.MovesFile }), roots.MovesFile)
	for _, name := range names {
		at := place.Path(filepath.Join(a.to, filepath.FromSlash(name)))
		err := disk.MakeFolders(filepath.Dir(at), 0o755)
		if err == nil {
			err = durable.Replace(at, made.Files[name], 0o644)
		}
		if err != nil {
			return a.env.Fail(diag.Unwritable.As("Failed to write the stack"), "The file %s could not be written: %s.", at, diag.Cause(err))
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Wrote a stack to %s:\n", a.to)
	for _, name := range names {
		fmt.Fprintf(&text, "  %s\n", name)
	}
	a.env.Notice(text.String())
	return 0
}

// prepare initializes the stack.
func (a *adopting) prepare(ctx context.Context) int {
	dir, err := filepath.Abs(a.env.directory.Place.Path(a.to))
	if err != nil {
		return a.env.Fail(diag.Unreadable, "%s.", err)
	}
	one := a.env.part(a.env.Screen.Part(), "stack", a.to, true, true, &a.mu, a.env.directory.RootIn(dir, "", a.env.reports()))
	defer one.close()
	one.program = one.directory.Place.Program
	s := &stacking{env: one}
	return s.init(ctx, &initializing{env: one, Init: flags.Init{Get: true, Backend: true}})
}
