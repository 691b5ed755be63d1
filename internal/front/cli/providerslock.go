package cli

import (
	"context"
	"flag"
	"net/url"

	"weir.dev/weir/internal/front/commands"
	"weir.dev/weir/internal/front/view/packages"
	"weir.dev/weir/internal/front/view/style"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/operation/cliconfig"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/word/diag"
)

var providersLockCommand = &command{
	Name:     "providers lock",
	Args:     "[PROVIDER...]",
	Synopsis: "Write out dependency locks for the configured providers",
	Long:     "Completes the dependency lock file with the checksums of packages for several platforms, which init can't learn from every mirror. Packages come from the providers' own registries, whatever installation methods are configured. Without arguments this is done for all providers of the configuration.",
	Max:      -1,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		l := &locking{env: e}
		l.register(fs)
		fs.StringVar(&l.fsMirror, "fs-mirror", "", "Ask the filesystem mirror at `DIR` in place of the registries.")
		fs.StringVar(&l.netMirror, "net-mirror", "", "Ask the network mirror at `URL` in place of the registries.")
		fs.StringVar(&l.ociMirror, "oci-mirror", "", "")
		return l.lock
	},
}

var providersMirrorCommand = &command{
	Name:     "providers mirror",
	Args:     "DIR",
	Synopsis: "Save local copies of all required provider plugins",
	Long:     "Fills a directory with the packages that the configuration needs, so that it can serve as a filesystem mirror or, by a web server, as a network mirror.",
	Min:      1, Max: 1,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		l := &locking{env: e}
		l.register(fs)
		return l.mirror
	},
}

// locking has the flags of the commands that fetch packages for platforms.
type locking struct {
	*env
	vars                           varFlags
	platforms                      commands.Texts
	fsMirror, netMirror, ociMirror string
}

func (l *locking) register(fs *flag.FlagSet) {
	l.vars.register(fs)
	fs.Var(&l.platforms, "platform", "The `OS_ARCH` to fetch packages for, such as linux_amd64. May be repeated. By default that of this machine.")
	l.jsonFlags(fs)
	fs.String("test-directory", "tests", "")
	fs.Bool("enable-plugin-cache", false, "")
}

// tell says something to people, or without the marks of a list in the stream.
func (l *locking) tell(people, programs string) {
	if l.Stream != nil {
		l.Stream.Log(programs)
	}
	if !l.JSON {
		l.Say("%s\n", people)
	}
}

// packages is what the flags say of both commands.
func (l *locking) packages(only []string) operation.Packages {
	return operation.Packages{Vars: l.vars, Platforms: l.platforms, Only: only}
}

func (l *locking) lock(ctx context.Context, args []string) int {
	if code := l.Start(); code != 0 {
		return code
	}
	from, diags := l.source()
	if diags.HasErrors() {
		return l.Diags(diags)
	}
	changes, same, diags := l.directory.LockProviders(ctx, l.packages(args), from, l.fetched)
	for _, c := range changes {
		text := packages.Locking(l.Dialect.Registry().Display(c.Provider), c)
		l.tell("- "+text, text)
	}
	if l.Diags(diags) != 0 {
		return 1
	}
	success := l.Pen().Paint("Success!", style.Bold, style.Green) + " "
	if same {
		const text = "weir has validated the lock file and found no need for changes."
		l.tell("\n"+success+l.Pen().Paint(text, style.Bold)+"\n", "Success! "+text)
		return 0
	}
	const text, review = "weir has updated the lock file.", "Review the changes in .terraform.lock.hcl and then commit to your\nversion control system to retain the new checksums."
	l.tell("\n"+success+l.Pen().Paint(text, style.Bold)+"\n\n"+review+"\n", "Success! "+text)
	return 0
}

// source is the mirror that flags name, or nil for the registries.
func (l *locking) source() (*cliconfig.Method, diag.List) {
	var from *cliconfig.Method
	set := 0
	if l.fsMirror != "" {
		set++
		from = &cliconfig.Method{Kind: cliconfig.FilesystemMirror, Location: l.fsMirror, DownloadRetries: -1}
	}
	if l.netMirror != "" {
		set++
		from = &cliconfig.Method{Kind: cliconfig.NetworkMirror, Location: l.netMirror, DownloadRetries: -1}
		if u, err := url.Parse(l.netMirror); err != nil || u.Scheme != "https" || u.Host == "" {
			return nil, diag.BadOption.As("Invalid network mirror URL").List("The -net-mirror option requires a valid https: URL as the mirror base URL.")
		}
	}
	if l.ociMirror != "" {
		return nil, diag.BadOption.As("Unsupported option").List("-oci-mirror isn't supported yet. Use -fs-mirror or -net-mirror.")
	}
	if set > 1 {
		return nil, diag.BadOption.As("Invalid installation method options").List("The mirror command line options are mutually-exclusive.")
	}
	return from, nil
}

// fetched tells of one step of fetching packages.
func (l *locking) fetched(ev install.Event) {
	if text := packages.Fetching(l.Dialect.Registry().Display(ev.Provider), ev); text != "" {
		l.tell("- "+text, text)
	}
}

func (l *locking) mirror(ctx context.Context, args []string) int {
	if code := l.Start(); code != 0 {
		return code
	}
	return l.Diags(l.directory.MirrorProviders(ctx, l.packages(nil), args[0], l.copied))
}

// copied tells of one step of a copy.
func (l *locking) copied(ev install.CopyEvent) {
	l.tell(packages.Copying(l.Dialect.Registry().Display(ev.Provider), ev))
}
