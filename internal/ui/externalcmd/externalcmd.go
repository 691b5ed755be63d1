// Package externalcmd runs commands in a second program, so that weir starts without that
// program's libraries.
//
// It owns where such programs are found. It doesn't know what they do.
package externalcmd

import (
	"os/exec"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/core/diag"
)

// Missing is a program that isn't there.
var Missing = diag.Code{Name: "program-missing", Summary: "Missing program"}

// A Call is what a program is to do.
type Call struct {
	Name string   // of the program
	For  string   // the feature that needs it, in the plural
	Args []string // without the name
	Env  []string
	// Beside is a file in whose folder the program is looked for first, Path are the
	// folders after that, as the environment has them.
	Beside, Path string
}

// Run does it in place of this process where the system can do that, or else as a
// process of its own, and returns its exit code.
func Run(c Call) (code int, diags diag.List) {
	file := c.find()
	if file == "" {
		return 1, Missing.List("%s need the program %s, which isn't beside %s or in a folder of PATH. Build it with \"make temporal\" in weir's source, and put it there.", c.For, c.Name, filepath.Base(c.Beside))
	}
	code, err := run(file, append([]string{c.Name}, c.Args...), c.Env)
	if err != nil {
		diags = Missing.As("Failed to start a program").List("%s can't be started: %s.", file, diag.Cause(err))
	}
	return code, diags
}

// find is the file of the program, empty without one.
func (c Call) find() string {
	folders := filepath.SplitList(c.Path)
	if c.Beside != "" {
		folders = append([]string{filepath.Dir(c.Beside)}, folders...)
	}
	for _, folder := range folders {
		if folder == "" || !filepath.IsAbs(folder) {
			continue // what lies about in a working directory isn't started
		}
		if file, err := exec.LookPath(filepath.Join(folder, strings.TrimSuffix(c.Name, ".exe"))); err == nil {
			return file
		}
	}
	return ""
}
