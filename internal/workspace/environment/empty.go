package environment

import (
	"os"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
)

// Filled is the code of a place that has something already.
var Filled = diag.Code{Name: "already-there", Summary: "Target generated file already exists"}

// CheckEmpty rejects a directory with files that a copy could get mixed up with.
func (d *Place) CheckEmpty() diag.List {
	entries, err := os.ReadDir(d.Dir)
	if err != nil {
		return diag.Unreadable.As("Failed to read target directory").List("%s.", err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == ".terraform" || name == d.DataName() })
	switch {
	case !module.IsEmpty(names, d.Dialect):
		return Filled.As("The working directory already contains files").List("The -from-module option requires an empty directory into which a copy of the referenced module will be placed.\n\nTo initialize the configuration already in this working directory, omit the -from-module option.")
	case len(names) > 0:
		return Filled.As("Can't populate non-empty directory").List("The working directory has files, such as %s, so it cannot be initialized with the -from-module option.", names[0])
	}
	return nil
}
