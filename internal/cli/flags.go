package cli

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/deprecated"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/session"
	"weir.dev/weir/internal/storage/local"
)

// texts collects the values of a flag that may be repeated.
type texts []string

func (t *texts) String() string { return "" }

func (t *texts) Set(s string) error {
	*t = append(*t, s)
	return nil
}

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
func (f stateFlags) options() operation.StateOptions {
	return operation.StateOptions{
		Files:   local.Override{State: f.state, StateOut: f.stateOut, Backup: f.backup},
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
	destroy     bool
	refreshOnly bool
	refresh     bool
	deferral    bool
	parallelism int

	target, targetFile, exclude, excludeFile, replace texts
}

func (o *planFlags) register(fs *flag.FlagSet) {
	fs.BoolVar(&o.destroy, "destroy", false, "Plan to destroy everything that is managed.")
	fs.BoolVar(&o.refreshOnly, "refresh-only", false, "Plan only to bring the state up to date with what exists.")
	fs.BoolVar(&o.refresh, "refresh", true, "Don't ask providers whether objects changed outside.")
	fs.BoolVar(&o.deferral, "allow-deferral", false, "Put off what can't be planned yet instead of failing.")
	fs.Var(&o.target, "target", "Work on the object at `ADDRESS` and what it depends on, and nothing else. May be repeated.")
	fs.Var(&o.targetFile, "target-file", "Read addresses as for -target from `FILE`, one a line.")
	fs.Var(&o.exclude, "exclude", "Leave out the object at `ADDRESS` and what depends on it. May be repeated.")
	fs.Var(&o.excludeFile, "exclude-file", "Read addresses as for -exclude from `FILE`, one a line.")
	fs.Var(&o.replace, "replace", "Replace the resource instance at `ADDRESS` where it would be kept. May be repeated.")
	registerParallelism(fs, &o.parallelism)
}

// given reports whether flags were given that only make sense for a plan.
// -refresh isn't among them: programs that drive the command line pass it always.
func (o *planFlags) given() bool {
	return o.destroy || o.refreshOnly || len(o.target)+len(o.targetFile)+len(o.exclude)+len(o.excludeFile)+len(o.replace) > 0
}

func registerParallelism(fs *flag.FlagSet, n *int) {
	fs.IntVar(n, "parallelism", 10, "Run at most `N` operations at once; 0 is for the usual number.")
}

// choose checks the flags and their combinations.
func (o *planFlags) choose() (operation.Planning, diag.List) {
	c := operation.Planning{SkipRefresh: !o.refresh, AllowDeferral: o.deferral}
	var diags diag.List
	switch {
	case o.destroy && o.refreshOnly:
		diags.Errorf("Incompatible plan mode options", "The -destroy and -refresh-only options are mutually-exclusive.")
	case o.destroy:
		c.Mode = plan.Destroy
	case o.refreshOnly:
		c.Mode = plan.RefreshOnly
	}
	if o.refreshOnly && !o.refresh {
		diags.Errorf("Incompatible refresh options", "It doesn't make sense to use -refresh-only at the same time as -refresh=false, because weir would have nothing to do.")
	}
	if o.refreshOnly && len(o.replace) > 0 {
		diags.Errorf("Incompatible plan mode options", "The -replace option can't be used with -refresh-only, which replaces nothing.")
	}
	if len(o.target)+len(o.targetFile) > 0 && len(o.exclude)+len(o.excludeFile) > 0 {
		diags.Errorf("Invalid combination of arguments", "The target and exclude planning options are mutually-exclusive. Each plan must use either only the target options or only the exclude options.")
	}
	c.Targets = parseTargets("target", o.target, o.targetFile, &diags)
	c.Excludes = parseTargets("exclude", o.exclude, o.excludeFile, &diags)
	for _, text := range o.replace {
		t, err := addr.ParseTarget(text)
		switch {
		case err != nil:
			diags.Errorf(fmt.Sprintf("Invalid force-replace address %q", text), "%s.", err)
		case t.IsModule():
			diags.Errorf(fmt.Sprintf("Invalid force-replace address %q", text), "The -replace option needs the address of a resource instance, and this is a module.")
		case t.Name.Mode != addr.Managed:
			diags.Errorf(fmt.Sprintf("Invalid force-replace address %q", text), "Only managed resources can be used with the -replace=... option.")
		default:
			c.Replace = append(c.Replace, t.Instance())
		}
	}
	return c, diags
}

func parseTargets(what string, direct, files []string, diags *diag.List) []addr.Target {
	var out []addr.Target
	add := func(text, where string) {
		t, err := addr.ParseTarget(text)
		if err != nil {
			diags.Errorf(fmt.Sprintf("Invalid %s %q", what, text), "%s%s.", where, err)
			return
		}
		out = append(out, t)
	}
	for _, text := range direct {
		add(text, "")
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			diags.Errorf(fmt.Sprintf("Failed to read the file of -%s-file", what), "The file %q can't be opened: %s.", name, diag.Cause(err))
			continue
		}
		lines := bufio.NewScanner(file)
		for n := 1; lines.Scan(); n++ {
			line := strings.TrimSpace(lines.Text())
			if line != "" && !strings.HasPrefix(line, "#") {
				add(line, fmt.Sprintf("%s line %d: ", name, n))
			}
		}
		if err := lines.Err(); err != nil {
			diags.Errorf(fmt.Sprintf("Failed to read the file of -%s-file", what), "Reading %q: %s.", name, diag.Cause(err))
		}
		file.Close()
	}
	return out
}

// varFlags has -var and -var-file in the order of the command line.
type varFlags []operation.Var

func (v *varFlags) register(fs *flag.FlagSet) {
	fs.Func("var", "Set an input variable of the root module: `NAME=VALUE`. May be repeated.", func(s string) error {
		*v = append(*v, operation.Var{Value: s})
		return nil
	})
	fs.Func("var-file", "Read values of input variables from `FILE`, beside terraform.tfvars and *.auto.tfvars. May be repeated.", func(s string) error {
		*v = append(*v, operation.Var{File: true, Value: s})
		return nil
	})
}

// outputFlags choose between text and the stream for programs.
func (e *env) streamFlags(fs *flag.FlagSet) {
	fs.BoolVar(&e.json, "json", false, "Print one JSON object a line, for programs. Implies -input=false.")
	fs.StringVar(&e.jsonInto, "json-into", "", "Write what -json prints to `FILE`, beside the text for people.")
	e.inputFlag(fs)
	fs.BoolVar(&e.view.ShowSensitive, "show-sensitive", false, "Show sensitive values.")
	fs.Func("deprecation", "Which deprecation warnings to show: module:all, module:local or module:none, the `CHOICE`.", func(s string) error {
		if !e.deprecation(s) {
			return fmt.Errorf("has to be module:all, module:local or module:none")
		}
		return nil
	})
}

// deprecation reads the value of -deprecation.
func (e *env) deprecation(text string) bool {
	text, ok := strings.CutPrefix(text, "module:")
	level := deprecated.Level(text)
	if !ok || level != deprecated.All && level != deprecated.Local && level != deprecated.None {
		return false
	}
	e.deprecations = level
	return true
}

func (e *env) inputFlag(fs *flag.FlagSet) {
	fs.BoolVar(&e.input, "input", e.input, "Don't ask for anything.")
}
