// Package flags registers and checks the flag groups that commands share, and converts them to
// options of the packages below.
//
// It doesn't know what any command does with them.
package flags

import (
	"errors"
	"flag"
	"strconv"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/lint"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/planoptions"
	"weir.dev/weir/internal/workspace/statemgr"
)

// A State says which state a command works on and how it is locked.
type State struct {
	Lock    bool
	Timeout time.Duration // how long to wait for the lock
	Path    string        // where the state is read, "" for what the backend says
	Out     string        // where it is written, "" for where it was read
	Backup  string        // where the state from before is kept, "-" for nowhere
	Damaged bool          // take a damaged journal for as far as it can be read
}

// Register registers all of them but -damaged.
func (f *State) Register(fs *flag.FlagSet) {
	f.RegisterLock(fs)
	fs.StringVar(&f.Path, "state", "", "Read the state from the file at `PATH`; for the local backend only.")
	fs.StringVar(&f.Out, "state-out", "", "Write the new state to the file at `PATH`.")
	fs.StringVar(&f.Backup, "backup", "", "Write a backup of the state to `PATH`; \"-\" for none (default: STATE.backup).")
}

// RegisterLock registers those about the lock alone.
func (f *State) RegisterLock(fs *flag.FlagSet) {
	fs.BoolVar(&f.Lock, "lock", true, "Don't lock the state; dangerous beside other runs.")
	fs.DurationVar(&f.Timeout, "lock-timeout", 0, "Wait up to `DURATION`, such as 30s, for a lock that somebody else holds.")
}

// Options are what the flags say.
func (f State) Options() statemgr.Options {
	return statemgr.Options{
		Files:   storage.Override{State: f.Path, StateOut: f.Out, Backup: f.Backup},
		Locking: lockedstate.Locking{Off: !f.Lock, Timeout: f.Timeout},
		Damaged: f.Damaged,
	}
}

// A Plan has the flags that plan, apply, destroy and refresh share.
type Plan struct {
	planoptions.Plan
	Refresh     Refresh
	Parallelism int // operations at once; 0 is for the usual number
}

// Register registers all of them.
func (o *Plan) Register(fs *flag.FlagSet) {
	fs.BoolVar(&o.Destroy, "destroy", false, "Plan to destroy all managed objects.")
	fs.BoolVar(&o.RefreshOnly, "refresh-only", false, "Only update the state to match real objects.")
	o.Refresh = Refreshing
	fs.Var(&o.Refresh, "refresh", "Refresh objects: `WHICH` is true, false or auto (only those that are due).")
	fs.BoolVar(&o.MinimalRefresh, "minimal-refresh", false, "Refresh only objects that the state shows as about to change or be replaced.")
	fs.BoolVar(&o.AllowDeferral, "allow-deferral", false, "Defer changes that can't be planned yet instead of failing.")
	o.RegisterScope(fs, "Work on")
	fs.Var((*commands.Texts)(&o.Replace), "replace", "Replace the instance or pattern `ADDRESS` even without a change; repeatable.")
	fs.Var((*commands.Texts)(&o.Invoke), "invoke", "Only invoke the action at `ADDRESS`.")
	Parallelism(fs, &o.Parallelism)
}

// Lint registers the flag that chooses rules.
func Lint(fs *flag.FlagSet, rules **lint.Rules) {
	fs.Func("lint", "Warn of likely mistakes by the rules in `LIST`, such as all or core:confusing.", func(text string) (err error) {
		*rules, err = lint.Parse(text)
		return err
	})
}

// Refreshed registers the flags of plans that scripts may give refresh too, where the other
// programs take them without effect.
func Refreshed(fs *flag.FlagSet) {
	for _, name := range []string{"refresh", "refresh-only", "destroy"} {
		fs.Bool(name, false, "")
	}
	for _, name := range []string{"replace", "invoke"} {
		fs.Func(name, "", func(string) error { return nil })
	}
}

// RegisterScope registers the flags that leave out a part, of the work that is named.
func (o *Plan) RegisterScope(fs *flag.FlagSet, work string) {
	fs.Var((*commands.Texts)(&o.Targets), "target", work+" only the object or pattern `ADDRESS` and its dependencies; repeatable.")
	fs.Var((*commands.Texts)(&o.TargetFiles), "target-file", "Read addresses for -target from `FILE`, one per line.")
	fs.Var((*commands.Texts)(&o.Excludes), "exclude", "Skip the object or pattern `ADDRESS` and its dependents; repeatable.")
	fs.Var((*commands.Texts)(&o.ExcludeFiles), "exclude-file", "Read addresses for -exclude from `FILE`, one per line.")
}

// A Refresh says what is requested before a plan is made.
type Refresh uint8

const (
	Refreshing     Refresh = iota // everything
	NotRefreshing                 // nothing
	AutoRefreshing                // what wasn't recently
)

// String implements flag.Value.
func (r *Refresh) String() string {
	if r == nil {
		return ""
	}
	return [...]string{"true", "false", "auto"}[*r]
}

// Set implements flag.Value.
func (r *Refresh) Set(text string) error {
	if text == "auto" {
		*r = AutoRefreshing
		return nil
	}
	on, err := strconv.ParseBool(text)
	if *r = NotRefreshing; on {
		*r = Refreshing
	}
	if err != nil {
		return errors.New("it has to be true, false or auto")
	}
	return nil
}

// IsBoolFlag lets the flag stand without a value.
func (r *Refresh) IsBoolFlag() bool { return true }

// Choose checks the flags and their combinations.
func (o *Plan) Choose() (planoptions.Planning, diag.List) {
	o.SkipRefresh, o.AutoRefresh = o.Refresh == NotRefreshing, o.Refresh == AutoRefreshing
	return o.Read()
}

// Vars has -var and -var-file in the order of the command line.
type Vars []environment.Var

// Files are those that values are read from.
func (v Vars) Files() (names []string) {
	for _, one := range v {
		if one.File {
			names = append(names, one.Value)
		}
	}
	return names
}

// Register registers both.
func (v *Vars) Register(fs *flag.FlagSet) {
	fs.Func("var", "Set an input variable of the root module: `NAME=VALUE`; repeatable.", func(s string) error {
		*v = append(*v, environment.Var{Value: s})
		return nil
	})
	fs.Func("var-file", "Read values of input variables from `FILE`; repeatable.", func(s string) error {
		*v = append(*v, environment.Var{File: true, Value: s})
		return nil
	})
}

// Hide leaves flags that are accepted, and change nothing for a command, out of its help.
func Hide(fs *flag.FlagSet, names ...string) {
	for _, name := range names {
		fs.Lookup(name).Usage = ""
	}
}

// Parallelism registers -parallelism.
func Parallelism(fs *flag.FlagSet, n *int) {
	fs.IntVar(n, "parallelism", 0, "Limit concurrent operations to `N` (default: 10; reads adapt to the provider).")
}

// RemoteVersion registers -ignore-remote-version, which is accepted for the sake of
// scripts: versions aren't compared.
func RemoteVersion(fs *flag.FlagSet) {
	fs.Bool("ignore-remote-version", false, "")
}

// Input registers -input.
func Input(fs *flag.FlagSet, input *bool) {
	fs.BoolVar(input, "input", *input, "Ask no questions.")
}

// Stream registers those that choose between text and the stream for programs, and what
// is in both.
func Stream(fs *flag.FlagSet, on *output.Screen) {
	commands.RegisterJSON(fs, on)
	Sensitive(fs, on)
	Detail(fs, on)
	fs.BoolVar(&on.Timings, "timings", false, "Print where the time went: stages, provider calls and the critical path.")
	fs.Func("progress", "Show progress as `KIND`: tty (default on a terminal), plain, json or quiet.", on.SetProgress)
	fs.Func("deprecation", "Show deprecation warnings by `CHOICE`: module:all, module:local or module:none.", on.SetDeprecation)
}

// Detail registers -detail.
func Detail(fs *flag.FlagSet, on *output.Screen) {
	on.Detail = "-detail"
	fs.BoolFunc("detail", "Show every attribute; =full adds unchanged lines, =brief groups similar changes.", on.SetDetail)
}

// Sensitive registers -show-sensitive.
func Sensitive(fs *flag.FlagSet, on *output.Screen) {
	fs.BoolVar(&on.ShowSensitive, "show-sensitive", false, "Show sensitive values.")
}
