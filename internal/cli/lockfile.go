package cli

// lockedVersions are the versions that the dependency lock file selects, by
// provider; empty where it can't be read.
func (e *env) lockedVersions() map[string]string { return map[string]string{} }
