// Package flags has the groups of flags that commands have in common or that are many:
// what they are called, what help says of them, which can't be given together, and what
// they say to the packages below.
//
// It refuses to know what any command does with them.
package flags

import (
	"errors"
	"flag"
	"strconv"
	"time"

	"weir.dev/weir/internal/core/diag"
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
	fs.StringVar(&f.Out, "state-out", "", "Write the new state to the file at `PATH` rather than where it was read.")
	fs.StringVar(&f.Backup, "backup", "", "Write a backup of the earlier state to `PATH`; \"-\" writes none (default: the state's path with \".backup\" appended).")
}

// RegisterLock registers those about the lock alone.
func (f *State) RegisterLock(fs *flag.FlagSet) {
	fs.BoolVar(&f.Lock, "lock", true, "Don't lock the state. Dangerous if other runs may use it at the same time.")
	fs.DurationVar(&f.Timeout, "lock-timeout", 0, "How long to wait for the lock while someone else has it, such as 30s: a `DURATION`.")
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
	fs.BoolVar(&o.Destroy, "destroy", false, "Plan to destroy everything that is managed.")
	fs.BoolVar(&o.RefreshOnly, "refresh-only", false, "Plan only to bring the state up to date with what exists.")
	o.Refresh = Refreshing
	fs.Var(&o.Refresh, "refresh", "Refresh objects before planning, `WHICH`: true (default), false, or auto (only objects about to change or not refreshed recently).")
	fs.BoolVar(&o.MinimalRefresh, "minimal-refresh", false, "Refresh only objects that the state shows as about to change or be replaced.")
	fs.BoolVar(&o.AllowDeferral, "allow-deferral", false, "Defer changes that can't be planned yet instead of failing.")
	o.RegisterScope(fs, "Work on")
	fs.Var((*commands.Texts)(&o.Replace), "replace", "Replace the resource instance at `ADDRESS` where it would be kept, or all that a pattern such as 'aws_instance.web[*]' names in the state. May be repeated.")
	fs.Var((*commands.Texts)(&o.Invoke), "invoke", "Invoke the action at `ADDRESS`, and do nothing else.")
	Parallelism(fs, &o.Parallelism)
}

// Refreshed registers the flags of plans that scripts may give refresh too, where the other
// engines take them without effect.
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
	fs.Var((*commands.Texts)(&o.Targets), "target", work+" the object at `ADDRESS` and what it depends on, and nothing else. With stars for names and keys, quoted for the shell, it is all that fit: 'aws_*.web', 'module.net[*]', '**.aws_vpc.main' in any module. May be repeated.")
	fs.Var((*commands.Texts)(&o.TargetFiles), "target-file", "Read addresses as for -target from `FILE`, one a line.")
	fs.Var((*commands.Texts)(&o.Excludes), "exclude", "Leave out the object at `ADDRESS` and what depends on it; with stars all that fit, as for -target. May be repeated.")
	fs.Var((*commands.Texts)(&o.ExcludeFiles), "exclude-file", "Read addresses as for -exclude from `FILE`, one a line.")
}

// A Refresh says what is asked for before a plan is made.
type Refresh uint8

const (
	Refreshing     Refresh = iota // everything
	NotRefreshing                 // nothing
	AutoRefreshing                // what wasn't of late
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
	fs.Func("var", "Set an input variable of the root module: `NAME=VALUE`. May be repeated.", func(s string) error {
		*v = append(*v, environment.Var{Value: s})
		return nil
	})
	fs.Func("var-file", "Read values of input variables from `FILE`, beside terraform.tfvars and *.auto.tfvars. May be repeated.", func(s string) error {
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
	fs.IntVar(n, "parallelism", 0, "Run at most `N` operations at once (default: 10 changes; reads adapt to the provider).")
}

// RemoteVersion registers -ignore-remote-version, which is accepted for the sake of
// scripts: versions aren't compared.
func RemoteVersion(fs *flag.FlagSet) {
	fs.Bool("ignore-remote-version", false, "")
}

// Input registers -input.
func Input(fs *flag.FlagSet, input *bool) {
	fs.BoolVar(input, "input", *input, "Don't ask for anything.")
}

// Stream registers those that choose between text and the stream for programs, and what
// is in both.
func Stream(fs *flag.FlagSet, on *output.Screen) {
	commands.RegisterJSON(fs, on)
	Sensitive(fs, on)
	Detail(fs, on)
	fs.BoolVar(&on.Timings, "timings", false, "Tell at the end where the time went, on the standard error and as a message of -json: stages, calls of providers, and the critical path.")
	fs.Func("progress", "Show progress as `KIND`: tty (last lines of the terminal), plain (lines), json or quiet (default: tty on a terminal, else plain).", on.SetProgress)
	fs.Func("deprecation", "Show deprecation warnings by `CHOICE`: module:all, module:local or module:none.", on.SetDeprecation)
}

// Detail registers -detail.
func Detail(fs *flag.FlagSet, on *output.Screen) {
	on.Detail = "-detail"
	fs.BoolFunc("detail", "Show every attribute of each change; -detail=full also unchanged lines of long texts, -detail=brief one row for similar changes (by default what fits the screen).", on.SetDetail)
}

// Sensitive registers -show-sensitive.
func Sensitive(fs *flag.FlagSet, on *output.Screen) {
	fs.BoolVar(&on.ShowSensitive, "show-sensitive", false, "Show sensitive values.")
}
