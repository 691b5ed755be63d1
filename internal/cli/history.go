package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/statefile"
	"weir.dev/weir/internal/storage/local"
)

// keptStates is how many earlier states of a workspace are kept.
const keptStates = 20

// historyDir is where earlier states are kept, empty where none are: states
// elsewhere have secrets that don't belong on this machine, and their backends
// keep versions of their own.
func (s *session) historyDir() string {
	if _, ok := s.backend.Backend.(*local.Backend); !ok || s.files.backup == "-" {
		return ""
	}
	sum := sha256.Sum256([]byte(s.journalPath()))
	return filepath.Join(s.e.dataDir(), "history", s.workspace+"-"+hex.EncodeToString(sum[:])[:12])
}

// remember keeps the state that is about to be replaced. That this fails is no
// reason not to go on: there is the backup, too.
func (s *session) remember() {
	dir := s.historyDir()
	if dir == "" || s.base == nil || len(s.saved) == 0 || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	name := filepath.Join(dir, fmt.Sprintf("%010d.tfstate", s.base.Serial))
	if os.WriteFile(name+".new", s.saved, 0o600) != nil || os.Rename(name+".new", name) != nil {
		os.Remove(name + ".new")
		return
	}
	all, _ := filepath.Glob(filepath.Join(dir, "*.tfstate"))
	slices.Sort(all)
	for len(all) > keptStates {
		os.Remove(all[0])
		all = all[1:]
	}
}

// A keptState is one of the earlier states.
type keptState struct {
	path   string
	serial uint64
	when   time.Time
}

// history lists the earlier states, the latest first.
func (s *session) history() []keptState {
	entries, err := os.ReadDir(s.historyDir())
	if err != nil {
		return nil // nothing was kept yet
	}
	var list []keptState
	for _, entry := range entries {
		number, ok := strings.CutSuffix(entry.Name(), ".tfstate")
		serial, err := strconv.ParseUint(number, 10, 64)
		info, infoErr := entry.Info()
		if ok && err == nil && infoErr == nil {
			list = append(list, keptState{filepath.Join(s.historyDir(), entry.Name()), serial, info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b keptState) int { return strings.Compare(b.path, a.path) })
	return list
}

func (k keptState) read() (*state.Snapshot, diag.List) {
	data, err := os.ReadFile(k.path)
	if err != nil {
		return nil, oneError("Failed to read an earlier state", "%s: %s.", k.path, cause(err))
	}
	return statefile.Read(data, k.path)
}

func setupStateHistory(e *env, fs *flag.FlagSet) runner {
	var f stateFlags
	fs.StringVar(&f.state, "state", "", "The state file is at `PATH`.")
	return func(ctx context.Context, _ []string) int {
		s := e.inState(ctx, f, "")
		if s == nil {
			return 1
		}
		if s.base != nil {
			e.say("serial %d: %s (now)\n", s.base.Serial, objectCount(s.base))
		}
		for _, k := range s.history() {
			snapshot, diags := k.read()
			if snapshot == nil {
				e.diags(diags)
				continue
			}
			e.say("serial %d: %s, until %s\n", k.serial, objectCount(snapshot), k.when.Format("2006-01-02 15:04:05"))
		}
		return 0
	}
}

func objectCount(s *state.Snapshot) string {
	if n := len(s.Objects); n != 1 {
		return fmt.Sprintf("%d objects", n)
	}
	return "1 object"
}

func setupStateUndo(e *env, fs *flag.FlagSet) runner {
	var f stateFlags
	f.register(fs)
	approve := fs.Bool("auto-approve", false, "Don't ask for approval.")
	to := fs.Uint64("to", 0, "Go back to the state with the serial `N` rather than to the one before.")
	e.inputFlag(fs)
	return func(ctx context.Context, _ []string) int {
		s := e.inState(ctx, f, "state-undo")
		if s == nil {
			return 1
		}
		if s.base == nil {
			return e.noState()
		}
		list := s.history()
		at := slices.IndexFunc(list, func(k keptState) bool {
			return k.serial == *to || *to == 0 && k.serial < s.base.Serial
		})
		if at < 0 {
			return e.fail("No earlier state", "There is no such state to go back to. Run \"%s state history\" to see which there are.", e.program)
		}
		earlier, diags := list[at].read()
		if e.diags(diags) != 0 || earlier == nil {
			return 1
		}
		if earlier.Lineage != s.base.Lineage {
			return e.fail("Earlier state of another lineage", "The state with serial %d has lineage %q, and the present one has lineage %q: they are about different things.", earlier.Serial, earlier.Lineage, s.base.Lineage)
		}
		for _, address := range s.base.Addresses() {
			if earlier.Objects[address] == nil {
				e.say("  - %s\n", address)
			}
		}
		for _, address := range earlier.Addresses() {
			switch now := s.base.Objects[address]; {
			case now == nil:
				e.say("  + %s\n", address)
			case !statefile.SameObject(now, earlier.Objects[address]):
				e.say("  ~ %s\n", address)
			}
		}
		if !*approve {
			answer, err := e.ask(ctx, question{
				query:       fmt.Sprintf("Do you want to go back to the state with serial %d?", earlier.Serial),
				description: "Only the state changes, not the infrastructure: the next plan compares the two. Only 'yes' will be accepted to confirm.",
			})
			if err != nil {
				return e.fail("Approval required", "The answer can't be read: %s. Use -auto-approve to go on without asking.", err)
			}
			if answer != "yes" {
				e.say("Cancelled.\n")
				return 1
			}
		}
		if code := s.commit(ctx, earlier); code != 0 {
			return code
		}
		e.say("The state has the content of serial %d again.\n", earlier.Serial)
		return 0
	}
}
