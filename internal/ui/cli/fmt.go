package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/format"
	"weir.dev/weir/internal/sys/readlimit"
)

var fmtCommand = &command{
	Name: "fmt", Args: "[TARGET...]", Max: -1,
	Synopsis: "Reformat your configuration in the standard style",
	Long:     "Formats the files of the current directory, or of the targets. A target is a directory, a file, or \"-\" for standard input, which is written to standard output.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var o fmtOptions
		fs.BoolVar(&o.list, "list", true, "Don't list the files that change.")
		fs.BoolVar(&o.write, "write", true, "Don't write the files.")
		fs.BoolVar(&o.diff, "diff", false, "Print the differences.")
		fs.BoolVar(&o.check, "check", false, "Write nothing; exit with 0 if all files are formatted, else 3.")
		fs.BoolVar(&o.recursive, "recursive", false, "Include subdirectories.")
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
	paths, diags := format.Targets(args, o.recursive)
	var changed []format.File
	for _, f := range format.Files(paths) {
		if f.Err != nil {
			diags.Add(diag.Unreadable.New(diag.Error, "Failed to read %s: %s.", f.Path, diag.Cause(f.Err)))
			continue
		}
		e.directory.Place.AddSources(map[string][]byte{f.Path: f.Before})
		diags.Append(f.Diags)
		if !f.Changed() || f.Diags.HasErrors() {
			continue
		}
		changed = append(changed, f)
		if o.list {
			e.Say("%s\n", f.Path)
		}
		if o.diff {
			e.Say("%s", f.Diff())
		}
	}
	if o.write {
		for i, err := range format.Write(changed) {
			if err != nil {
				diags.Add(diag.Unwritable.New(diag.Error, "Failed to write %s: %s.", changed[i].Path, diag.Cause(err)))
			}
		}
	}
	return e.formatted(o, diags, len(changed) > 0)
}

func (e *env) formatInput(o fmtOptions) int {
	data, err := readlimit.Stream(e.in, "standard input", e.interrupts.Stop())
	if err != nil {
		e.Fail(diag.Unreadable.As("Failed to read standard input"), "%s.", err)
		return exitBadFormat
	}
	const name = "<stdin>"
	e.directory.Place.AddSources(map[string][]byte{name: data})
	after, diags := format.Check(data, name)
	f := format.File{Path: name, Before: data, After: after}
	if !diags.HasErrors() {
		switch {
		case o.diff:
			e.Say("%s", f.Diff())
		case !o.check:
			e.Say("%s", after)
		}
	}
	return e.formatted(o, diags, f.Changed())
}

func (e *env) formatted(o fmtOptions, diags diag.List, changed bool) int {
	if e.Diags(diags) != 0 {
		return exitBadFormat
	}
	if o.check && changed {
		return exitFormat
	}
	return 0
}
