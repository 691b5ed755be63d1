package cli

import (
	"flag"
	"time"

	"weir.dev/weir/internal/front/commands"
	"weir.dev/weir/internal/operation/place"
	"weir.dev/weir/internal/operation/request"
	"weir.dev/weir/internal/operation/session"
	"weir.dev/weir/internal/operation/states"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/word/diag"
)

// stateFlags say which state a command works on and how it is locked.
type stateFlags struct {
	lock     bool
	timeout  time.Duration
	state    string
	stateOut string
	backup   string
	damaged  bool // take a damaged journal for as far as it can be read
}

func (f *stateFlags) register(fs *flag.FlagSet) {
	f.registerLock(fs)
	fs.StringVar(&f.state, "state", "", "Read the state from the file at `PATH`; for the local backend only.")
	fs.StringVar(&f.stateOut, "state-out", "", "Write the new state to the file at `PATH` rather than where it was read.")
	fs.StringVar(&f.backup, "backup", "", "Keep the state from before at `PATH`; \"-\" keeps none. By default it is the state's path with \".backup\" appended.")
}

func (f *stateFlags) registerLock(fs *flag.FlagSet) {
	fs.BoolVar(&f.lock, "lock", true, "Don't lock the state. That is dangerous where others may work on it at the same time.")
	fs.DurationVar(&f.timeout, "lock-timeout", 0, "How long to wait for the lock while someone else has it, such as 30s: a `DURATION`.")
}

// options are those of the state.
func (f stateFlags) options() states.Options {
	return states.Options{
		Files:   storage.Override{State: f.state, StateOut: f.stateOut, Backup: f.backup},
		Locking: session.Locking{Off: !f.lock, Timeout: f.timeout},
		Damaged: f.damaged,
	}
}

// remoteVersion is accepted for the sake of scripts: versions aren't compared.
func remoteVersion(fs *flag.FlagSet) {
	fs.Bool("ignore-remote-version", false, "")
}

// planFlags are those that plan, apply, destroy and refresh share.
type planFlags struct {
	request.Plan
	refresh     bool
	parallelism int
}

func (o *planFlags) register(fs *flag.FlagSet) {
	fs.BoolVar(&o.Destroy, "destroy", false, "Plan to destroy everything that is managed.")
	fs.BoolVar(&o.RefreshOnly, "refresh-only", false, "Plan only to bring the state up to date with what exists.")
	fs.BoolVar(&o.refresh, "refresh", true, "Don't ask providers whether objects changed outside.")
	fs.BoolVar(&o.AllowDeferral, "allow-deferral", false, "Put off what can't be planned yet instead of failing.")
	o.registerScope(fs, "Work on")
	fs.Var((*commands.Texts)(&o.Replace), "replace", "Replace the resource instance at `ADDRESS` where it would be kept. May be repeated.")
	fs.Var((*commands.Texts)(&o.Invoke), "invoke", "Invoke the action at `ADDRESS`, and do nothing else.")
	registerParallelism(fs, &o.parallelism)
}

// registerScope registers the flags that leave out a part, of the work that is named.
func (o *planFlags) registerScope(fs *flag.FlagSet, work string) {
	fs.Var((*commands.Texts)(&o.Targets), "target", work+" the object at `ADDRESS` and what it depends on, and nothing else. May be repeated.")
	fs.Var((*commands.Texts)(&o.TargetFiles), "target-file", "Read addresses as for -target from `FILE`, one a line.")
	fs.Var((*commands.Texts)(&o.Excludes), "exclude", "Leave out the object at `ADDRESS` and what depends on it. May be repeated.")
	fs.Var((*commands.Texts)(&o.ExcludeFiles), "exclude-file", "Read addresses as for -exclude from `FILE`, one a line.")
}

// choose checks the flags and their combinations.
func (o *planFlags) choose() (request.Planning, diag.List) {
	o.SkipRefresh = !o.refresh
	return o.Read()
}

func registerParallelism(fs *flag.FlagSet, n *int) {
	fs.IntVar(n, "parallelism", 10, "Run at most `N` operations at once; 0 is for the usual number.")
}

// varFlags has -var and -var-file in the order of the command line.
type varFlags []place.Var

func (v *varFlags) register(fs *flag.FlagSet) {
	fs.Func("var", "Set an input variable of the root module: `NAME=VALUE`. May be repeated.", func(s string) error {
		*v = append(*v, place.Var{Value: s})
		return nil
	})
	fs.Func("var-file", "Read values of input variables from `FILE`, beside terraform.tfvars and *.auto.tfvars. May be repeated.", func(s string) error {
		*v = append(*v, place.Var{File: true, Value: s})
		return nil
	})
}

// streamFlags choose between text and the stream for programs.
func (e *env) streamFlags(fs *flag.FlagSet) {
	e.jsonFlags(fs)
	e.inputFlag(fs)
	e.sensitiveFlag(fs)
	e.detailFlag(fs)
	fs.Func("deprecation", "Which deprecation warnings to show: module:all, module:local or module:none, the `CHOICE`.", e.SetDeprecation)
}

func (e *env) inputFlag(fs *flag.FlagSet) {
	fs.BoolVar(&e.input, "input", e.input, "Don't ask for anything.")
}

// jsonFlags choose the stream of what a command does.
func (e *env) jsonFlags(fs *flag.FlagSet) {
	fs.BoolVar(&e.JSON, "json", false, "Print one JSON object a line, for programs. Nothing is asked for then.")
	fs.StringVar(&e.Into, "json-into", "", "Write what -json prints to `FILE`, beside the text for people.")
}

func (e *env) detailFlag(fs *flag.FlagSet) {
	fs.BoolFunc("detail", "Show all of each change, as where the output isn't a terminal. With -detail=brief changes that are alike have one row, as on a terminal.", e.SetDetail)
}

func (e *env) sensitiveFlag(fs *flag.FlagSet) {
	fs.BoolVar(&e.ShowSensitive, "show-sensitive", false, "Show sensitive values.")
}
