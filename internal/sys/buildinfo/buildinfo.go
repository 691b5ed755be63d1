// Package buildinfo identifies the running build of weir.
//
// It owns the version. Builds of releases set it with the linker, others tell what Go
// has noted of the source. It knows nothing of the engines that weir takes the place of.
package buildinfo

import (
	"runtime/debug"
	"strings"

	"golang.org/x/mod/module"
)

// Set with -ldflags "-X weir.dev/weir/internal/sys/buildinfo.version=…". A commit that ends in
// -dirty has been changed.
var version, commit, date string

// next is the version that the source is on the way to.
const next = "0.1.0-dev"

// A Build is a version with the commit that it was built from and the commit's date in the
// form of RFC 3339, both empty where nothing reports. Changed says that files weren't as in
// the commit.
type Build struct {
	Version, Commit, Date string
	Changed               bool
}

// Current is the running build.
func Current() Build {
	info, _ := debug.ReadBuildInfo()
	return current(Build{Version: version, Commit: commit, Date: date}, info)
}

// current completes what the linker was reported. info may be nil.
func current(b Build, info *debug.BuildInfo) Build {
	if info != nil && b.Commit == "" {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.Date = s.Value
			case "vcs.modified":
				b.Changed = s.Value == "true"
			}
		}
	}
	if plain, changed := strings.CutSuffix(b.Commit, "-dirty"); changed {
		b.Commit, b.Changed = plain, true
	}
	if b.Version != "" {
		return b
	}
	b.Version = next
	if info != nil {
		// Installed as a module: the version is that of the module.
		v := info.Main.Version
		if strings.HasPrefix(v, "v") && !module.IsPseudoVersion(v) && !strings.Contains(v, "+") {
			b.Version = strings.TrimPrefix(v, "v")
		}
	}
	return b
}

// String is the version, and the commit where it is known.
func (b Build) String() string {
	if b.Commit == "" {
		return b.Version
	}
	text := b.Version + " (commit " + b.Commit[:min(len(b.Commit), 12)]
	if b.Date != "" {
		text += " of " + b.Date
	}
	if b.Changed {
		text += ", with changes"
	}
	return text + ")"
}
