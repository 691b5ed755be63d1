// Package interop holds weir, as the program that users run, to what lives
// around it: states made by a peer, real providers, a library that drives the
// command line.
//
// It has tests only. They build the program and start it; nothing in them
// reaches into the engine. Tests that need real providers take them from the
// mirror at WEIR_MIRROR, or from the one that "make providers" builds, and are
// skipped where there is neither.
package interop
