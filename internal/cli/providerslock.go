package cli

import (
	"context"
	"flag"
	"fmt"
	"net/url"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/view/style"
)

var providersLockCommand = &command{
	name:     "providers lock",
	args:     "[PROVIDER...]",
	synopsis: "Write out dependency locks for the configured providers",
	long:     "Completes the dependency lock file with the checksums of packages for several platforms, which init can't learn from every mirror. Packages come from the providers' own registries, whatever installation methods are configured. Without arguments this is done for all providers of the configuration.",
	max:      -1,
	setup: func(e *env, fs *flag.FlagSet) runner {
		l := &locking{env: e}
		l.register(fs)
		fs.StringVar(&l.fsMirror, "fs-mirror", "", "Ask the filesystem mirror at `DIR` in place of the registries.")
		fs.StringVar(&l.netMirror, "net-mirror", "", "Ask the network mirror at `URL` in place of the registries.")
		fs.StringVar(&l.ociMirror, "oci-mirror", "", "")
		return l.lock
	},
}

var providersMirrorCommand = &command{
	name:     "providers mirror",
	args:     "DIR",
	synopsis: "Save local copies of all required provider plugins",
	long:     "Fills a directory with the packages that the configuration needs, so that it can serve as a filesystem mirror or, by a web server, as a network mirror.",
	min:      1, max: 1,
	setup: func(e *env, fs *flag.FlagSet) runner {
		l := &locking{env: e}
		l.register(fs)
		return l.mirror
	},
}

// locking has the flags of the commands that fetch packages for platforms.
type locking struct {
	*env
	vars                           varFlags
	platforms                      texts
	fsMirror, netMirror, ociMirror string
}

func (l *locking) register(fs *flag.FlagSet) {
	l.vars.register(fs)
	fs.Var(&l.platforms, "platform", "The `OS_ARCH` to fetch packages for, such as linux_amd64. May be repeated. By default that of this machine.")
	fs.BoolVar(&l.env.json, "json", false, "Print one JSON object a line, for programs.")
	fs.StringVar(&l.jsonInto, "json-into", "", "Write what -json prints to `FILE`, beside the text for people.")
	fs.String("test-directory", "tests", "")
	fs.Bool("enable-plugin-cache", false, "")
}

// tell says something to people, or without the marks of a list in the stream.
func (l *locking) tell(people, programs string) {
	if l.stream != nil {
		l.stream.Log(programs)
	}
	if !l.env.json {
		l.say("%s\n", people)
	}
}

// packages is what the flags say of both commands.
func (l *locking) packages(only []string) operation.Packages {
	return operation.Packages{Vars: l.vars, Platforms: l.platforms, Only: only}
}

func (l *locking) lock(ctx context.Context, args []string) int {
	if code := l.startStream(); code != 0 {
		return code
	}
	from, diags := l.source()
	if diags.HasErrors() {
		return l.diags(diags)
	}
	changes, same, diags := l.directory.LockProviders(ctx, l.packages(args), from, l.fetched)
	for _, c := range changes {
		name := l.dialect.Registry().Display(c.Provider)
		what := "All checksums for this platform were already tracked in the lock file"
		switch {
		case c.New:
			what = "This was a new provider and the checksums for this platform are now tracked in the lock file"
		case c.Hashes:
			what = "Additional checksums for this platform are now tracked in the lock file"
		}
		text := fmt.Sprintf("Obtained %s checksums for %s; %s", name, c.Platform, what)
		l.tell("- "+text, text)
	}
	if l.diags(diags) != 0 {
		return 1
	}
	success := l.pen().Paint("Success!", style.Bold, style.Green) + " "
	if same {
		const text = "weir has validated the lock file and found no need for changes."
		l.tell("\n"+success+l.pen().Paint(text, style.Bold)+"\n", "Success! "+text)
		return 0
	}
	const text, review = "weir has updated the lock file.", "Review the changes in .terraform.lock.hcl and then commit to your\nversion control system to retain the new checksums."
	l.tell("\n"+success+l.pen().Paint(text, style.Bold)+"\n\n"+review+"\n", "Success! "+text)
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
			return nil, diag.OneError("Invalid network mirror URL", "The -net-mirror option requires a valid https: URL as the mirror base URL.")
		}
	}
	if l.ociMirror != "" {
		return nil, diag.OneError("Unsupported option", "-oci-mirror isn't supported yet. Use -fs-mirror or -net-mirror.")
	}
	if set > 1 {
		return nil, diag.OneError("Invalid installation method options", "The mirror command line options are mutually-exclusive.")
	}
	return from, nil
}

// fetched tells of one step of fetching packages.
func (l *locking) fetched(ev install.Event) {
	name := l.dialect.Registry().Display(ev.Provider)
	switch ev.Kind {
	case install.Installing:
		text := fmt.Sprintf("Fetching %s %s for %s...", name, ev.Version, ev.Platform)
		l.tell("- "+text, text)
	case install.Installed:
		text := fmt.Sprintf("Retrieved %s %s for %s (%s", name, ev.Version, ev.Platform, ev.Authentication)
		if ev.KeyID != "" {
			text += ", key ID " + ev.KeyID
		}
		l.tell("- "+text+")", text+")")
	}
}

func (l *locking) mirror(ctx context.Context, args []string) int {
	if code := l.startStream(); code != 0 {
		return code
	}
	return l.diags(l.directory.MirrorProviders(ctx, l.packages(nil), args[0], l.copied))
}

// copied tells of one step of a copy.
func (l *locking) copied(ev install.CopyEvent) {
	name := l.dialect.Registry().Display(ev.Provider)
	switch {
	case ev.Builtin:
		text := "Skipping " + name + " because it is built in to weir"
		l.tell("- "+text, text)
	case ev.Version == "":
		text := "Mirroring " + name + "..."
		l.tell("- "+text, text)
	case ev.Done:
		l.tell(fmt.Sprintf("  - Package authenticated: %s", ev.Authentication),
			fmt.Sprintf("Package %s v%s for %s authenticated: %s", name, ev.Version, ev.Platform, ev.Authentication))
	case ev.Platform != "":
		l.tell(fmt.Sprintf("  - Downloading package for %s...", ev.Platform),
			fmt.Sprintf("Downloading %s v%s package for %s...", name, ev.Version, ev.Platform))
	default:
		why := "with no constraints"
		if ev.Locked {
			why = "to match dependency lock file"
		} else if ev.Constraints != "" {
			why = "to meet constraints " + ev.Constraints
		}
		l.tell(fmt.Sprintf("  - Selected v%s %s", ev.Version, why), fmt.Sprintf("Selected %s v%s %s", name, ev.Version, why))
	}
}
