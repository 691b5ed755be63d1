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
	"weir.dev/weir/internal/plan"
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

// remoteVersion is accepted for the sake of scripts: versions aren't compared.
func remoteVersion(fs *flag.FlagSet) {
	fs.Bool("ignore-remote-version", false, "")
}

// An operation has the flags that plan, apply, destroy and refresh share.
type operation struct {
	destroy     bool
	refreshOnly bool
	refresh     bool
	deferral    bool
	parallelism int

	target, targetFile, exclude, excludeFile, replace texts
}

func (o *operation) register(fs *flag.FlagSet) {
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

func registerParallelism(fs *flag.FlagSet, n *int) {
	fs.IntVar(n, "parallelism", 10, "Run at most `N` operations at once; 0 is for the usual number.")
}

// A choice is what the flags of an operation say.
type choice struct {
	mode              plan.Mode
	targets, excludes []addr.Target
	replace           []addr.Instance
}

// choose checks the flags and their combinations.
func (o *operation) choose() (choice, diag.List) {
	var c choice
	var diags diag.List
	switch {
	case o.destroy && o.refreshOnly:
		diags.Errorf("Incompatible plan mode options", "The -destroy and -refresh-only options are mutually-exclusive.")
	case o.destroy:
		c.mode = plan.Destroy
	case o.refreshOnly:
		c.mode = plan.RefreshOnly
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
	c.targets = parseTargets("target", o.target, o.targetFile, &diags)
	c.excludes = parseTargets("exclude", o.exclude, o.excludeFile, &diags)
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
			c.replace = append(c.replace, t.Instance())
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
			diags.Errorf(fmt.Sprintf("Failed to read the file of -%s-file", what), "The file %q can't be opened: %s.", name, cause(err))
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
			diags.Errorf(fmt.Sprintf("Failed to read the file of -%s-file", what), "Reading %q: %s.", name, cause(err))
		}
		file.Close()
	}
	return out
}

// A varFlag is one -var or -var-file, whose order matters.
type varFlag struct {
	file  bool
	value string
}

// varFlags has them in the order of the command line.
type varFlags []varFlag

func (v *varFlags) register(fs *flag.FlagSet) {
	fs.Func("var", "Set an input variable of the root module: `NAME=VALUE`. May be repeated.", func(s string) error {
		*v = append(*v, varFlag{false, s})
		return nil
	})
	fs.Func("var-file", "Read values of input variables from `FILE`, beside terraform.tfvars and *.auto.tfvars. May be repeated.", func(s string) error {
		*v = append(*v, varFlag{true, s})
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
