// Package packages prints the steps of installing, locking and copying provider packages, one
// line each.
//
// It owns the words. It doesn't print and to install anything.
package packages

import (
	"fmt"

	"weir.dev/weir/internal/provider/install"
)

// Installing reports one step of an installation; empty is for what isn't reported. Name is
// the provider's.
func Installing(name string, ev install.Event) string {
	switch ev.Kind {
	case install.BuiltinAvailable:
		return fmt.Sprintf("%s is built in to weir", name)
	case install.Reusing:
		return fmt.Sprintf("Reusing previous version of %s from the dependency lock file", name)
	case install.FindingLatest:
		return fmt.Sprintf("Finding latest version of %s...", name)
	case install.FindingMatching:
		return fmt.Sprintf("Finding %s versions matching %q...", name, ev.Constraints)
	case install.AlreadyInstalled:
		if ev.Shared {
			return fmt.Sprintf("Detected previously-installed %s v%s in the shared cache directory", name, ev.Version)
		}
		return fmt.Sprintf("Using previously-installed %s v%s", name, ev.Version)
	case install.Installing:
		if ev.Shared {
			return fmt.Sprintf("Installing %s v%s to the shared cache directory...", name, ev.Version)
		}
		return fmt.Sprintf("Installing %s v%s...", name, ev.Version)
	case install.Installed:
		if ev.Authentication == install.SignatureSkipped {
			return fmt.Sprintf("Installed %s v%s. Signature validation was skipped due to the registry not containing GPG keys for this provider", name, ev.Version)
		}
		return fmt.Sprintf("Installed %s v%s (%s)", name, ev.Version, authentication(ev))
	case install.Linked:
		return fmt.Sprintf("Using %s v%s from the shared cache directory", name, ev.Version)
	}
	return ""
}

// Fetching reports one step of fetching packages for their checksums; empty is for what isn't
// reported.
func Fetching(name string, ev install.Event) string {
	switch ev.Kind {
	case install.Installing:
		return fmt.Sprintf("Fetching %s %s for %s...", name, ev.Version, ev.Platform)
	case install.Installed:
		return fmt.Sprintf("Retrieved %s %s for %s (%s)", name, ev.Version, ev.Platform, authentication(ev))
	}
	return ""
}

func authentication(ev install.Event) string {
	text := ev.Authentication.String()
	if ev.KeyID != "" {
		text += ", key ID " + ev.KeyID
	}
	return text
}

// Locking reports what has become of a provider's lock.
func Locking(name string, c install.Change) string {
	what := "All checksums for this platform were already tracked in the lock file"
	switch {
	case c.New:
		what = "This was a new provider and the checksums for this platform are now tracked in the lock file"
	case c.Hashes:
		what = "Additional checksums for this platform are now tracked in the lock file"
	}
	return fmt.Sprintf("Obtained %s checksums for %s; %s", name, c.Platform, what)
}

// Copying reports one step of a copy, as an item of a list for people and as a sentence of its
// own for programs.
func Copying(name string, ev install.CopyEvent) (people, programs string) {
	switch {
	case ev.Builtin:
		programs = "Skipping " + name + " because it is built in to weir"
		return "- " + programs, programs
	case ev.Version == "":
		programs = "Mirroring " + name + "..."
		return "- " + programs, programs
	case ev.Done:
		return fmt.Sprintf("  - Package authenticated: %s", ev.Authentication),
			fmt.Sprintf("Package %s v%s for %s authenticated: %s", name, ev.Version, ev.Platform, ev.Authentication)
	case ev.Platform != "":
		return fmt.Sprintf("  - Downloading package for %s...", ev.Platform),
			fmt.Sprintf("Downloading %s v%s package for %s...", name, ev.Version, ev.Platform)
	}
	why := "with no constraints"
	if ev.Locked {
		why = "to match dependency lock file"
	} else if ev.Constraints != "" {
		why = "to meet constraints " + ev.Constraints
	}
	return fmt.Sprintf("  - Selected v%s %s", ev.Version, why), fmt.Sprintf("Selected %s v%s %s", name, ev.Version, why)
}
