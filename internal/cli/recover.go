package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
)

var recoverCommand = &command{
	name:     "recover",
	synopsis: "Settle what an interrupted run has left in doubt",
	long:     "Saves what the journal of an interrupted run knows, and lists the objects that may exist: a provider was asked to create them and gave no answer. These are not created again until it is said of each whether it exists. Without options nothing but that is done.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var r recovering
		r.state.register(fs)
		r.vars.register(fs)
		registerParallelism(fs, &r.parallelism)
		fs.Var(&r.forget, "forget", "The object at `ADDRESS` doesn't exist, so it may be created again. May be repeated.")
		fs.BoolVar(&r.all, "forget-all", false, "None of the objects in doubt exists, but for those that are imported.")
		fs.Var(&r.imports, "import", "The object exists: import it. `ADDRESS=ID` is where it belongs and what the provider knows it by, as for the import command. May be repeated.")
		fs.StringVar(&r.importsFrom, "import-from", "", "Import what `FILE` lists, ADDRESS=ID a line. Empty lines and those that begin with # are skipped.")
		fs.BoolVar(&r.state.damaged, "damaged", false, "Take what can be read of a journal that was damaged. What it doesn't say any more isn't in the state afterwards.")
		return func(ctx context.Context, _ []string) int { return r.run(ctx, e) }
	},
}

type recovering struct {
	importing
	forget  texts
	imports texts
	all     bool // forget all that is left

	importsFrom string // a file with more of imports
}

func (r *recovering) run(ctx context.Context, e *env) int {
	// Imports first: they take the lock and read the configuration themselves.
	objects, err := r.objects()
	if err != nil {
		return e.fail("Invalid import", "%s.", err)
	}
	if len(objects) > 0 {
		if code := r.importing.run(ctx, e, objects...); code != 0 {
			return code
		}
		e.progress = nil
	}
	var forget []addr.Instance
	for _, text := range r.forget {
		i, err := addr.ParseInstance(text)
		if err != nil {
			return e.fail("Invalid address", "%s.", err)
		}
		forget = append(forget, i)
	}
	forgotten, left, diags := e.directory.Settle(ctx, r.state.options(), forget, r.all)
	if e.diags(diags) != 0 {
		return 1
	}
	for _, o := range forgotten {
		e.say("%s doesn't exist; it may be created again.\n", o.Object.Instance)
	}
	if len(left) == 0 {
		e.say("Nothing is in doubt.\n")
		return 0
	}
	e.say("In doubt:\n")
	for _, o := range left {
		e.say("  %s\n", o.Object)
	}
	return 0
}

// objects are those to be imported, from options and from a file.
func (r *recovering) objects() ([][2]string, error) {
	var objects [][2]string
	add := func(text, where string) error {
		address, id := cutAddress(text)
		if address == "" || id == "" {
			return fmt.Errorf("%s%q isn't of the form ADDRESS=ID", where, text)
		}
		objects = append(objects, [2]string{address, id})
		return nil
	}
	for _, text := range r.imports {
		if err := add(text, ""); err != nil {
			return nil, err
		}
	}
	if r.importsFrom == "" {
		return objects, nil
	}
	list, err := os.ReadFile(r.importsFrom)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %s", r.importsFrom, diag.Cause(err))
	}
	n := 0
	for line := range strings.Lines(string(list)) {
		n++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := add(line, fmt.Sprintf("%s line %d: ", r.importsFrom, n)); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// cutAddress splits ADDRESS=ID at the first sign that isn't part of an
// instance key.
func cutAddress(text string) (address, id string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '=' && !quoted:
			return text[:i], text[i+1:]
		}
	}
	return "", ""
}
