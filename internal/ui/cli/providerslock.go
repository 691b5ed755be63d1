package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/packages"
	"weir.dev/weir/internal/workspace"
)

var providersLockCommand = &command{
	Name:     "providers lock",
	Args:     "[PROVIDER...]",
	Synopsis: "Write out dependency locks for the configured providers",
	Long:     "Adds checksums of packages for several platforms to the dependency lock file, because init can't learn them from every mirror. Packages come from the providers' own registries, whatever installation methods are configured. Without arguments it covers all providers of the configuration.",
	Max:      -1,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		l := &locking{env: e}
		l.register(fs)
		l.RegisterMirrors(fs)
		return l.lock
	},
}

var providersMirrorCommand = &command{
	Name:     "providers mirror",
	Args:     "DIR",
	Synopsis: "Save local copies of all required provider plugins",
	Long:     "Copies the provider packages of the configuration to a directory. It works as a filesystem mirror or, behind a web server, as a network mirror.",
	Min:      1, Max: 1,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		l := &locking{env: e}
		l.register(fs)
		l.RegisterLockFile(fs)
		return l.mirror
	},
}

// locking is fetching packages for platforms under way, with its flags.
type locking struct {
	env *env
	flags.Packages
}

func (l *locking) register(fs *flag.FlagSet) {
	l.Packages.Register(fs)
	commands.RegisterJSON(fs, l.env.Screen)
}

// tell says something to people, or without the marks of a list in the stream.
func (l *locking) tell(people, programs string) {
	if l.env.Stream != nil {
		l.env.Stream.Log(programs)
	}
	if !l.env.JSON {
		l.env.Say("%s\n", people)
	}
}

// packages is what the flags say of both commands.
func (l *locking) packages(only []string) workspace.Packages {
	return workspace.Packages{Vars: l.Packages.Vars, Platforms: l.Platforms, Only: only}
}

func (l *locking) lock(ctx context.Context, args []string) int {
	if code := l.env.Start(); code != 0 {
		return code
	}
	from, diags := l.Source()
	if diags.HasErrors() {
		return l.env.Diags(diags)
	}
	changes, same, diags := workspace.LockProviders{Dir: l.env.directory, Packages: l.packages(args), From: from, Events: l.fetched}.Run(ctx)
	for _, c := range changes {
		text := packages.Locking(l.env.Dialect.Registry().Display(c.Provider), c)
		l.tell("- "+text, text)
	}
	if l.env.Diags(diags) != 0 {
		return 1
	}
	success := l.env.Pen().Paint("Success!", ansi.Bold, ansi.Green) + " "
	if same {
		const text = "weir has validated the lock file and found no need for changes."
		l.tell("\n"+success+l.env.Pen().Paint(text, ansi.Bold)+"\n", "Success! "+text)
		return 0
	}
	const text, review = "weir has updated the lock file.", "Review the changes in .terraform.lock.hcl and then commit to your\nversion control system to retain the new checksums."
	l.tell("\n"+success+l.env.Pen().Paint(text, ansi.Bold)+"\n\n"+review+"\n", "Success! "+text)
	return 0
}

// fetched reports one step of fetching packages.
func (l *locking) fetched(ev install.Event) {
	if text := packages.Fetching(l.env.Dialect.Registry().Display(ev.Provider), ev); text != "" {
		l.tell("- "+text, text)
	}
}

func (l *locking) mirror(ctx context.Context, args []string) int {
	if code := l.env.Start(); code != 0 {
		return code
	}
	return l.env.Diags(workspace.MirrorProviders{Dir: l.env.directory, Packages: l.packages(nil), To: args[0], Locked: l.LockFile, Events: l.copied}.Run(ctx))
}

// copied reports one step of a copy.
func (l *locking) copied(ev install.CopyEvent) {
	l.tell(packages.Copying(l.env.Dialect.Registry().Display(ev.Provider), ev))
}
