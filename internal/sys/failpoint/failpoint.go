// Package failpoint marks the places where a test may end the process or make
// something go wrong, because what is on disk is between two states there.
//
// It does nothing unless a test sets Hit. It refuses to know what happens.
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
// process does that ends there. What the whole does afterwards has to cover
// the part.
func Half(point string, partly func()) {
	if Hit != nil {
		partly()
		Hit(point)
	}
}
