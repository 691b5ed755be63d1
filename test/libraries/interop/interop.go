// Package interop tests the weir program with its surroundings: states of OpenTofu and
// Terraform, real providers, and a library that drives the command line.
//
// It has tests only. They build the program and start it; nothing in them
// reaches into the engine. Tests that need real providers take them from the
// mirror at WEIR_MIRROR, or from the one that "make providers" builds, and are
// skipped where there is neither.
package interop
