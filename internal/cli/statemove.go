package cli

import (
	"context"
	"flag"
	"fmt"
	"slices"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/session"
	"weir.dev/weir/internal/state"
)

func setupStateMove(e *env, fs *flag.FlagSet) runner {
	var f stateFlags
	f.registerLock(fs)
	fs.StringVar(&f.state, "state", "", "Move from the state file at `PATH`.")
	fs.StringVar(&f.backup, "backup", "", "Keep the state from before at `PATH`; \"-\" keeps none.")
	out := fs.String("state-out", "", "Move to the state file at `PATH`.")
	fs.String("backup-out", "", "")
	remoteVersion(fs)
	dry := fs.Bool("dry-run", false, "Only say what would be moved.")
	return func(ctx context.Context, args []string) int {
		s := e.inState(ctx, f, "state-mv")
		if s == nil {
			return 1
		}
		if s.Prior() == nil {
			return e.noState()
		}
		target := s.Prior()
		var other *session.Session
		if *out != "" && *out != f.state {
			var diags diag.List
			o := stateFlags{state: *out, backup: "-", lock: f.lock, timeout: f.timeout}.options()
			other, diags = e.directory.StateIn(ctx, e.directory.Opener().Local(nil), s.Workspace(), o, "state-mv")
			if e.diags(diags) != 0 {
				return 1
			}
			target = other.Snapshot()
		}
		moves, refused := planMoves(s.Prior(), target, args[0], args[1])
		if refused != nil {
			return e.diags(refused)
		}
		return e.moveObjects(ctx, s, other, moves, *dry)
	}
}

// moveObjects carries out moves within a state, or from one to another.
func (e *env) moveObjects(ctx context.Context, s, other *session.Session, moves []move, dry bool) int {
	from := s.Prior().Clone()
	to := from
	if other != nil {
		to = other.Snapshot().Clone()
	}
	shown := map[string]bool{}
	for _, m := range moves {
		line := fmt.Sprintf("%s %q to %q\n", verb(dry, "Would move", "Move"), m.from.Instance, m.to.Instance)
		if !shown[line] {
			shown[line] = true
			e.say("%s", line)
		}
		delete(from.Objects, m.from)
	}
	for _, m := range moves {
		to.Objects[m.to] = s.Prior().Objects[m.from]
	}
	switch {
	case dry && len(moves) == 0:
		e.say("Would have moved nothing.\n")
		return 0
	case dry:
		return 0
	case len(moves) == 0:
		e.say("No matching objects found.\n")
		return 0
	}
	renameDependencies(from, moves)
	if other != nil {
		renameDependencies(to, moves)
		// The target first: an object in two states is better than one in none.
		if code := e.commit(ctx, other, to); code != 0 {
			return code
		}
	}
	if code := e.commit(ctx, s, from); code != 0 {
		return code
	}
	e.say("Successfully moved %d object(s).\n", len(shown))
	return 0
}

// A move gives one object another address.
type move struct{ from, to addr.Object }

// The summaries of what is wrong with a request to move.
const (
	wrongSource = "Invalid source address"
	wrongTarget = "Invalid target address"
	wrongMove   = "Invalid state move request"
)

func refuseMove(summary, format string, args ...any) diag.List {
	var diags diag.List
	diags.Errorf(summary, format, args...)
	return diags
}

// planMoves finds the objects that the request is about.
func planMoves(from, to *state.Snapshot, source, destination string) ([]move, diag.List) {
	src, err := addr.ParseTarget(source)
	if err != nil {
		return nil, refuseMove(wrongSource, "Cannot move %s: %s.", source, err)
	}
	dst, err := addr.ParseTarget(destination)
	if err != nil {
		return nil, refuseMove(wrongTarget, "Cannot move to %s: %s.", destination, err)
	}
	if src.IsModule() != dst.IsModule() {
		return nil, refuseMove(wrongTarget, "Cannot move %s to %s: both have to be modules, or both resources.", src, dst)
	}
	if !src.IsModule() {
		switch {
		case src.Name.Mode != addr.Managed || dst.Name.Mode != addr.Managed:
			return nil, refuseMove(wrongMove, "Cannot move %s to %s: only managed resources can be moved.", src, dst)
		case src.Name.Type != dst.Name.Type:
			return nil, refuseMove(wrongMove, "Cannot move %s to %s: resource types don't match.", src, dst)
		}
	}
	var moves []move
	for _, at := range from.Addresses() {
		if !selected(src, at.Instance) {
			continue
		}
		moved := at
		if src.IsModule() {
			moved.Module = rebase(at.Module, src.Module, dst.Module)
		} else {
			moved.Resource = addr.Resource{Module: dst.Module, Name: dst.Name}
			if src.HasKey || dst.HasKey {
				moved.Key = dst.Key
			}
		}
		moves = append(moves, move{at, moved})
	}
	if len(moves) == 0 {
		return nil, refuseMove(wrongSource, "Cannot move %s: does not match anything in the current state.", src)
	}
	if dst.HasKey && !src.HasKey && !src.IsModule() && slices.ContainsFunc(moves, func(m move) bool { return m.from.Key != addr.NoKey }) {
		return nil, refuseMove(wrongTarget, "Cannot move %s to %s: the source has several instances, and the destination is one.", src, dst)
	}
	leaving := map[addr.Object]bool{}
	for _, m := range moves {
		leaving[m.from] = true
	}
	for _, m := range moves {
		if _, taken := to.Objects[m.to]; taken && (from != to || !leaving[m.to]) {
			return nil, refuseMove(wrongTarget, "Cannot move to %s: there is already a resource instance at that address in the current state.", m.to.Instance)
		}
	}
	return moves, nil
}

// selected is narrower than Target.Matches: a module without key is that one
// instance.
func selected(t addr.Target, i addr.Instance) bool {
	if t.IsModule() {
		return t.Module.Contains(i.Module)
	}
	return t.Module == i.Module && t.Name == i.Name && (!t.HasKey || t.Key == i.Key)
}

// rebase puts what lies in a module into another one.
func rebase(m, from, to addr.Module) addr.Module {
	steps := append(to.Steps(), m.Steps()[len(from.Steps()):]...)
	return addr.FromSteps(steps)
}

// renameDependencies makes what depended on moved resources depend on their
// new names.
func renameDependencies(s *state.Snapshot, moves []move) {
	renamed := map[addr.Resource]addr.Resource{}
	for _, m := range moves {
		if old, name := m.from.Resource.Erase(), m.to.Resource.Erase(); old != name {
			renamed[old] = name
		}
	}
	for _, at := range s.Addresses() {
		delete(renamed, at.Resource.Erase()) // other instances stayed
	}
	for at, o := range s.Objects {
		if !slices.ContainsFunc(o.Dependencies, func(d addr.Resource) bool { _, ok := renamed[d]; return ok }) {
			continue
		}
		changed := *o
		changed.Dependencies = nil
		for _, d := range o.Dependencies {
			if name, ok := renamed[d]; ok {
				d = name
			}
			changed.Dependencies = append(changed.Dependencies, d)
		}
		slices.SortFunc(changed.Dependencies, addr.Resource.Compare)
		changed.Dependencies = slices.Compact(changed.Dependencies)
		s.Objects[at] = &changed
	}
}
