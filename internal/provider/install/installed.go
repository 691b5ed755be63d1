package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/provider/version"
)

// Locate finds the packages that Install left in dir and checks them
// against the locks. Providers that aren't from there (skip) are left out, as
// are built-in ones. It returns the executables.
//
// verified remembers across runs what was checked; nil checks all again.
func Locate(dir string, locks *lockfile.Locks, reqs Requirements, skip map[addr.Provider]bool, verified *Verified) (map[addr.Provider]string, diag.List) {
	var diags diag.List
	var inconsistent, missing []string
	var inconsistentEach, missingEach diag.List
	differs := func(problem string) {
		inconsistent = append(inconsistent, problem)
		inconsistentEach.Add(InconsistentLocks.New(diag.Error, "The dependency lock file is inconsistent with the current configuration: %s. To update it, run:\n  %s", problem, diag.Run("init", "-upgrade")))
	}
	out := make(map[addr.Provider]string)
	for _, p := range slices.SortedFunc(maps.Keys(reqs), addr.Provider.Compare) {
		if p.IsBuiltin() || skip[p] {
			continue
		}
		constraints, problems := parseAll(p, reqs[p])
		diags.Append(problems)
		lock, ok := locks.Get(p)
		switch {
		case !ok:
			inconsistent = append(inconsistent, fmt.Sprintf("provider %s: required by this configuration but no version is selected", p))
			inconsistentEach.Add(Needed.As("Missing required provider").New(diag.Error, "This configuration requires provider %s, but the dependency lock file selects no version of it. To select and install one, run:\n  %s", p, diag.Run("init", "")))
			continue
		case !constraints.Allowed().Has(lock.Version):
			differs(conflict(p, constraints, lock))
			continue
		}
		path, err := installed(dir, lock, verified)
		if err != nil {
			problem := fmt.Sprintf("%s: %s", p, err)
			missing = append(missing, problem)
			missingEach.Add(Needed.As(problem).New(diag.Error, "The installed package of this provider isn't the one that the dependency lock file selects. To download the plugins required for this configuration, run:\n  %s", diag.Run("init", "")))
			continue
		}
		out[p] = path
	}
	diags.Append(conflicts(locks, inconsistent, inconsistentEach))
	if len(missing) > 0 {
		d := Needed.New(diag.Error, "The installed provider plugins are not consistent with the packages selected in the dependency lock file:\n  - %s\n\n"+
			"To download the plugins required for this configuration, run:\n  %s",
			strings.Join(missing, "\n  - "), diag.Run("init", ""))
		d.Each = missingEach
		diags.Add(d)
	}
	return out, diags
}

// conflict is the problem of a lock that doesn't meet the constraints.
func conflict(p addr.Provider, constraints version.Constraints, lock lockfile.Lock) string {
	if constraints.String() != lock.Constraints.String() {
		return fmt.Sprintf("provider %s: locked version selection %s doesn't match the updated version constraints %q", p, lock.Version, constraints)
	}
	return fmt.Sprintf("provider %s: version constraints %q don't match the locked version selection %s", p, constraints, lock.Version)
}

// CheckLocks compares locks with the constraints of their providers. Providers without a lock
// and packages don't matter.
func CheckLocks(locks *lockfile.Locks, reqs Requirements, skip map[addr.Provider]bool) diag.List {
	var diags diag.List
	var problems []string
	for _, p := range slices.SortedFunc(maps.Keys(reqs), addr.Provider.Compare) {
		lock, ok := locks.Get(p)
		if !ok || p.IsBuiltin() || skip[p] {
			continue
		}
		constraints, more := parseAll(p, reqs[p])
		if diags.Append(more); !constraints.Allowed().Has(lock.Version) {
			problems = append(problems, conflict(p, constraints, lock))
		}
	}
	return append(diags, conflicts(locks, problems, nil)...)
}

// conflicts is one diagnostic for all problems of a lock file.
func conflicts(locks *lockfile.Locks, problems []string, each diag.List) diag.List {
	if len(problems) == 0 {
		return nil
	}
	advice, next := "To update the locked dependency selections to match a changed configuration, run:", diag.Run("init", "-upgrade")
	if locks.Empty() {
		advice, next = "To make the initial dependency selections that will initialize the dependency lock file, run:", diag.Run("init", "")
	}
	d := InconsistentLocks.New(diag.Error, "The following dependency selections recorded in the lock file are inconsistent with the current configuration:\n  - %s\n\n%s\n  %s",
		strings.Join(problems, "\n  - "), advice, next)
	d.Each = each
	return diag.List{d}
}

func installed(dir string, lock lockfile.Lock, verified *Verified) (string, error) {
	target := packageDir(dir, lock.Provider, lock.Version, Platform)
	if !isDir(target) {
		return "", fmt.Errorf("there is no package for %s %s cached in %s", lock.Provider, lock.Version, dir)
	}
	path, err := Executable(target, lock.Provider)
	if err != nil {
		return "", err
	}
	if len(lock.Hashes) == 0 {
		return path, nil
	}
	hash, err := verified.hash(target)
	if err != nil {
		return "", fmt.Errorf("failed to verify checksum of %s %s package cached in %s: %w", lock.Provider, lock.Version, dir, err)
	}
	if !slices.Contains(lock.Hashes, hash) {
		return "", fmt.Errorf("the cached package for %s %s (in %s) does not match any of the checksums recorded in the dependency lock file", lock.Provider, lock.Version, dir)
	}
	return path, nil
}

// Overrides finds the executables of providers under development.
func Overrides(dirs map[addr.Provider]string) (map[addr.Provider]string, diag.List) {
	var diags diag.List
	out := make(map[addr.Provider]string, len(dirs))
	for _, p := range slices.SortedFunc(maps.Keys(dirs), addr.Provider.Compare) {
		path, err := Executable(dirs[p], p)
		if err != nil {
			diags.Add(BadInstallation.As("Invalid development override").New(diag.Error, "The dev_overrides directory for provider %s, %s, has no provider: %s.", p.ForDisplay(), dirs[p], err))
			continue
		}
		out[p] = path
	}
	return out, diags
}
