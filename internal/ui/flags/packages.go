package flags

import (
	"flag"
	"net/url"
	"strings"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/commands"
)

// A Packages has the flags of the commands that fetch packages of providers for
// platforms.
type Packages struct {
	Vars                           Vars
	Platforms                      commands.Texts // each OS_ARCH; none is for that of this machine
	LockFile                       bool           // the versions of the lock file are mirrored
	fsMirror, netMirror, ociMirror string
}

// Register registers those that all of these commands have.
func (p *Packages) Register(fs *flag.FlagSet) {
	p.Vars.Register(fs)
	fs.Var(&p.Platforms, "platform", "Fetch packages for `OS_ARCH`, such as linux_amd64 (default: yours); repeatable.")
	fs.String("test-directory", "tests", "")
	fs.Bool("enable-plugin-cache", false, "")
}

// RegisterMirrors registers those that name a mirror.
func (p *Packages) RegisterMirrors(fs *flag.FlagSet) {
	fs.StringVar(&p.fsMirror, "fs-mirror", "", "Install from the filesystem mirror `DIR` instead of the registries.")
	fs.StringVar(&p.netMirror, "net-mirror", "", "Install from the network mirror `URL` instead of the registries.")
	fs.StringVar(&p.ociMirror, "oci-mirror", "", "Install from the OCI repositories of `TEMPLATE` instead of the registries.")
}

// RegisterLockFile registers what mirrors only have.
func (p *Packages) RegisterLockFile(fs *flag.FlagSet) {
	fs.BoolVar(&p.LockFile, "lock-file", true, "Use the newest allowed versions instead of the dependency lock file's.")
}

// Source is the mirror that flags name, or nil for the registries.
func (p *Packages) Source() (*cliconfig.Method, diag.List) {
	var from *cliconfig.Method
	set := 0
	if p.fsMirror != "" {
		set++
		from = &cliconfig.Method{Kind: cliconfig.FilesystemMirror, Location: p.fsMirror, DownloadRetries: -1}
	}
	if p.netMirror != "" {
		set++
		from = &cliconfig.Method{Kind: cliconfig.NetworkMirror, Location: p.netMirror, DownloadRetries: -1}
		if u, err := url.Parse(p.netMirror); err != nil || u.Scheme != "https" || u.Host == "" {
			return nil, diag.BadOption.As("Invalid network mirror URL").List("The -net-mirror option requires a valid https: URL as the mirror base URL.")
		}
	}
	if p.ociMirror != "" {
		set++
		from = &cliconfig.Method{Kind: cliconfig.OCIMirror, Location: p.ociMirror, DownloadRetries: -1}
		if wrong := from.CheckTemplate(); wrong != nil {
			return nil, diag.BadOption.As("Invalid OCI mirror repository template").List("%s", strings.Join(wrong, "\n"))
		}
	}
	if set > 1 {
		return nil, diag.BadOption.As("Invalid installation method options").List("The mirror command line options are mutually-exclusive.")
	}
	return from, nil
}
