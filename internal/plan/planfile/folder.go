package planfile

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"weir.dev/weir/internal/core/diag"
)

// Suffix is how the names of plans end that are saved in a folder.
const Suffix = ".tfplan"

// In lists the names of the plans in a folder. Of any other path that is one, empty, for the
// path itself. Program is how people call this one.
func In(path, program string) ([]string, diag.List) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, os.ErrNotExist) {
		return []string{""}, nil
	}
	summary := fmt.Sprintf("Failed to load the plans in %q", path)
	if err != nil {
		return nil, Unreadable.As(summary).List("Error: %s.", diag.Cause(err))
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), Suffix) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, Unreadable.As(summary).List("The folder has no files whose names end in %s. For several deployments \"%s stacks plan -out=FOLDER\" writes one for each.", Suffix, program)
	}
	return names, nil
}
