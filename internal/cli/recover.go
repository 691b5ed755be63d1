package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/addr"
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
		fs.BoolVar(&r.all, "forget-all", false, "None of the objects in doubt exists, but for those that -import names.")
		fs.Var(&r.imports, "import", "The object exists: import it. `ADDRESS=ID` is where it belongs and what the provider knows it by, as for the import command. May be repeated.")
		fs.BoolVar(&r.state.damaged, "damaged", false, "Take what can be read of a journal that was damaged. What it doesn't say any more isn't in the state afterwards.")
		return func(ctx context.Context, _ []string) int { return r.run(ctx, e) }
	},
}

type recovering struct {
	importing
	forget  texts
	imports texts
	all     bool // forget all that is left
}

func (r *recovering) run(ctx context.Context, e *env) int {
	// Imports first: they take the lock and read the configuration themselves.
	for _, text := range r.imports {
		address, id := cutAddress(text)
		if address == "" || id == "" {
			return e.fail("Invalid import", "%q isn't of the form ADDRESS=ID.", text)
		}
		if code := r.importing.run(ctx, e, address, id); code != 0 {
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
