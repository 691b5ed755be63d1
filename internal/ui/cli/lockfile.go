package cli

import "weir.dev/weir/internal/provider/lockfile"

// lockedVersions are the versions that the dependency lock file selects, by
// provider; empty where it can't be read.
func (e *env) lockedVersions() map[string]string {
	versions := map[string]string{}
	locks, diags := lockfile.Read(lockfile.Name)
	if diags.HasErrors() {
		return versions
	}
	for _, lock := range locks.All() {
		versions[lock.Provider.String()] = lock.Version.String()
	}
	return versions
}
