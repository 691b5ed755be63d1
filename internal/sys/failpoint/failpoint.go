// Package failpoint marks places where a test may end the process or cause a failure, because
// the disk is between two states there.
//
// It does nothing unless a test sets Hit. It doesn't know what happens.
package failpoint

// Hit is called at each point with its name. It is set before anything runs.
var Hit func(point string)

// At is a point.
func At(point string) {
	if Hit != nil {
		Hit(point)
	}
}

// Half is a point in the middle of something: partly does a part of it, as a
// process does that ends there. The whole write has to cover the part afterwards.
func Half(point string, partly func()) {
	if Hit != nil {
		partly()
		Hit(point)
	}
}
