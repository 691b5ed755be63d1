package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/operation"
)

var importCommand = &command{
	name: "import", args: "ADDRESS ID", min: 2, max: 2,
	synopsis: "Associate existing infrastructure with a resource",
	long:     "Brings an existing object into the state as the resource instance at ADDRESS, which the configuration has to have. ID is what the provider knows the object by. Nothing is changed; the next plan shows what differs from the configuration. An import block does the same as part of a plan.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var i importing
		i.state.register(fs)
		i.vars.register(fs)
		e.inputFlag(fs)
		remoteVersion(fs)
		registerParallelism(fs, &i.parallelism)
		fs.String("config", "", "")
		fs.Bool("allow-missing-config", false, "")
		return func(ctx context.Context, args []string) int { return i.run(ctx, e, [2]string{args[0], args[1]}) }
	},
}

type importing struct {
	state       stateFlags
	vars        varFlags
	parallelism int
}

// run imports objects, each an address and what the provider knows it by.
func (i *importing) run(ctx context.Context, e *env, objects ...[2]string) int {
	if code := e.startStream(); code != 0 {
		return code
	}
	wanted := make([]operation.Wanted, len(objects))
	for n, o := range objects {
		target, err := addr.ParseTarget(o[0])
		switch {
		case err != nil:
			return e.fail("Invalid address", "%s.", err)
		case target.IsModule() || target.Name.Mode != addr.Managed:
			return e.fail("A managed resource address is required", "The import command needs the address of an instance of a managed resource, such as aws_instance.example or module.a.aws_instance.example[0].")
		}
		wanted[n] = operation.Wanted{Target: target, ID: o[1]}
	}
	o := operation.Opening{
		Loading:   operation.Loading{Vars: i.vars, Parallelism: i.parallelism, Sink: e.sink(), Ask: e.asker()},
		State:     i.state.options(),
		Operation: "import",
	}
	w, diags := e.directory.OpenImport(ctx, o, wanted)
	if e.diags(diags) != 0 {
		return 1
	}
	defer w.Unlock()
	for _, o := range wanted {
		e.say("%s: Importing from ID %q...\n", o.Target, o.ID)
	}
	if e.diags(w.Prepare(ctx)) != 0 {
		return 1
	}
	for _, o := range wanted {
		e.say("%s: Import prepared!\n  Prepared %s for import\n", o.Target, o.Target.Name.Type)
	}
	if e.diags(w.Save(e.interrupts.Saving())) != 0 {
		return 1
	}
	e.say("\nImport successful!\n\nThe resources that were imported are shown above. These resources are now in\nyour state and will henceforth be managed by weir.\n\n")
	return 0
}
