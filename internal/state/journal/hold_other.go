//go:build !unix

package journal

import "os"

// hold does nothing: the lock of the state has to do.
func hold(*os.File) error { return nil }

// KnowsBusy reports whether Busy is of any use here.
const KnowsBusy = false

// Busy reports whether a run is writing the journal just now; that isn't known
// here.
func Busy(*os.File) bool { return false }
