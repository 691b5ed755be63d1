package cli

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/durable"
	"weir.dev/weir/internal/format"
)

var fmtCommand = &command{
	name: "fmt", args: "[TARGET...]", max: -1,
	synopsis: "Reformat your configuration in the standard style",
	long:     "Without a target the files of the current directory are rewritten. A target is a directory, a file, or \"-\" for standard input, whose result goes to standard output.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var o fmtOptions
		fs.BoolVar(&o.list, "list", true, "Don't list the files that change.")
		fs.BoolVar(&o.write, "write", true, "Don't write the files.")
		fs.BoolVar(&o.diff, "diff", false, "Show what changes.")
		fs.BoolVar(&o.check, "check", false, "Write nothing; exit with status 0 if all files have the style and 3 otherwise.")
		fs.BoolVar(&o.recursive, "recursive", false, "Also look into subdirectories.")
		return func(_ context.Context, args []string) int { return e.format(o, args) }
	},
}

type fmtOptions struct{ list, write, diff, check, recursive bool }

// exitBadFormat is the status of fmt for files that can't be read or parsed.
const exitBadFormat = 2

func (e *env) format(o fmtOptions, args []string) int {
	if o.check {
		o.write = false
	}
	if len(args) == 1 && args[0] == "-" {
		return e.formatInput(o)
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	var paths []string
	var diags diag.List
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			diags.Errorf("Invalid file or directory path", "No file or directory at %s", arg)
		case info.IsDir():
			found, err := format.Find(arg, o.recursive)
			if err != nil {
				diags.Errorf("Failed to read directory", "%s.", err)
			}
			paths = append(paths, found...)
		case !format.Has(arg):
			diags.Errorf("Invalid file extension", "Only %s files can be processed with fmt; %s is none of them.", strings.Join(format.Suffixes(), ", "), arg)
		default:
			paths = append(paths, arg)
		}
	}
	changed := false
	for _, f := range format.Files(paths) {
		if f.Err != nil {
			diags.Errorf("Failed to read file", "Failed to read %s: %s.", f.Path, diag.Cause(f.Err))
			continue
		}
		e.directory.AddSources(map[string][]byte{f.Path: f.Before})
		diags.Append(diag.FromHCL(f.Diags))
		if !f.Changed() || f.Diags.HasErrors() {
			continue
		}
		changed = true
		if err := e.reformatted(f, o); err != nil {
			diags.Errorf("Failed to write file", "Failed to write %s: %s.", f.Path, diag.Cause(err))
		}
	}
	return e.formatted(o, diags, changed)
}

// reformatted tells of a file that changes, and writes it.
func (e *env) reformatted(f format.File, o fmtOptions) error {
	if o.list {
		e.say("%s\n", f.Path)
	}
	if o.diff {
		e.say("%s", f.Diff())
	}
	if !o.write {
		return nil
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(f.Path); err == nil {
		mode = info.Mode().Perm()
	}
	path, err := filepath.EvalSymlinks(f.Path) // what a link leads to is the user's file
	if err != nil {
		return err
	}
	return durable.Replace(path, f.After, mode)
}

func (e *env) formatInput(o fmtOptions) int {
	data, err := io.ReadAll(e.in)
	if err != nil {
		e.fail("Failed to read standard input", "%s.", err)
		return exitBadFormat
	}
	const name = "<stdin>"
	e.directory.AddSources(map[string][]byte{name: data})
	after, problems := format.Check(data, name)
	diags := diag.FromHCL(problems)
	f := format.File{Path: name, Before: data, After: after}
	if !diags.HasErrors() {
		switch {
		case o.diff:
			e.say("%s", f.Diff())
		case !o.check:
			e.say("%s", after)
		}
	}
	return e.formatted(o, diags, f.Changed())
}

func (e *env) formatted(o fmtOptions, diags diag.List, changed bool) int {
	if e.diags(diags) != 0 {
		return exitBadFormat
	}
	if o.check && changed {
		return exitFormat
	}
	return 0
}
