package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/analyze"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/schema"
	"weir.dev/weir/internal/storage"
	"weir.dev/weir/internal/storage/backends"
	"weir.dev/weir/internal/storage/local"
	"weir.dev/weir/internal/syntax"
	"weir.dev/weir/internal/workdir"
)

// A backend is where the states of the working directory are.
type backend struct {
	storage.Backend
	kind   string
	config cty.Value
	// requires says which providers the configuration asks for by address.
	requires func(addr.Provider) bool
}

// describe names the backend in messages.
func (b *backend) describe() string { return "the state in the " + b.kind + " backend" }

// withFiles applies -state, -state-out and -backup, which only the local
// backend understands.
func (b *backend) withFiles(f stateFlags) storage.Backend {
	if l, ok := b.Backend.(*local.Backend); ok {
		return l.WithOverride(local.Override{State: f.state, StateOut: f.stateOut, Backup: f.backup})
	}
	return b.Backend
}

// root reads the root module's own files, for commands that need no more than
// its settings.
func (e *env) root() (*program.Program, diag.List) {
	return e.compileRoot(module.Disk{})
}

// rootSettings is the root module as far as its settings go: perhaps without its
// resources. What is wrong with the others isn't reported.
func (e *env) rootSettings() (*program.Program, diag.List) {
	if few, err := module.Settings(module.Disk{}, "."); err == nil {
		if prog, diags := e.compileRoot(few); !diags.HasErrors() {
			return prog, diags
		}
	}
	return e.root() // settings may refer to the rest
}

func (e *env) compileRoot(files module.Files) (*program.Program, diag.List) {
	source, diags := module.Load(files, ".")
	for _, f := range source.Files {
		e.sources[f.Name] = f.Bytes
	}
	prog, more := analyze.Compile(source)
	diags.Append(more)
	return prog, diags
}

// localBackend is the backend of directories without settings.
func localBackend() *backend {
	config := local.Schema().EmptyValue()
	b, _ := local.New(config, storage.Env{Dir: "."})
	return &backend{Backend: b, kind: "local", config: config}
}

// openBackend makes a backend from its whole configuration.
func (e *env) openBackend(kind string, config cty.Value, prog *program.Program) (*backend, diag.List) {
	opened, diags := backends.All().New(kind, config, storage.Env{Dir: ".", Getenv: e.getenv})
	if diags.HasErrors() {
		return nil, diags
	}
	return &backend{Backend: opened, kind: kind, config: config, requires: requiredBy(prog)}, diags
}

// requiredBy tells the providers that the root module names by address.
func requiredBy(prog *program.Program) func(addr.Provider) bool {
	if prog == nil {
		return nil
	}
	return func(p addr.Provider) bool {
		for _, r := range prog.Requirements {
			if r.Provider == p {
				return true
			}
		}
		return false
	}
}

func (e *env) getenv(name string) string { return e.vars[name] }

// A declared backend is what the configuration says.
type declared struct {
	kind   string
	schema *schema.Block
	config cty.Value // with what the command line adds
	hash   uint64    // of the block alone
	block  *program.Backend
}

// declaredBackend evaluates the backend block; nil means that there is none.
func (e *env) declaredBackend(prog *program.Program, inputs map[string]engine.VariableInput, extra map[string]cty.Value) (*declared, diag.List) {
	if prog.Backend == nil {
		return nil, nil
	}
	block := prog.Backend
	t, err := backends.All().Find(block.Type)
	if err != nil {
		var diags diag.List
		diags.ErrorAt(block.Range, "Unsupported backend type", "%s", err)
		return nil, diags
	}
	d := &declared{kind: block.Type, schema: t.Schema(), block: block}
	lenient := optional(d.schema)
	v, diags := e.evaluateSettings(prog, block.Config, lenient, inputs)
	if diags.HasErrors() {
		return nil, diags
	}
	d.hash = workdir.Hash(d.kind, v)
	attrs := v.AsValueMap()
	for _, name := range sortedKeys(extra) {
		a := d.schema.Attributes[name]
		if a == nil {
			diags.Errorf("Invalid backend configuration argument", "The backend configuration argument %q given on the command line is not expected for the selected backend type.", name)
			continue
		}
		converted, err := convert.Convert(extra[name], a.ImpliedType())
		if err != nil {
			diags.Errorf("Invalid backend configuration argument", "The value for the backend configuration argument %q given on the command line isn't right: %s.", name, err)
			continue
		}
		attrs[name] = converted
	}
	d.config = cty.ObjectVal(attrs)
	return d, diags
}

// optional is the schema with nothing required, for a block that the command
// line completes.
func optional(b *schema.Block) *schema.Block {
	out := &schema.Block{Attributes: make(map[string]*schema.Attribute, len(b.Attributes)), Blocks: b.Blocks}
	for name, a := range b.Attributes {
		loose := *a
		if loose.Required {
			loose.Required, loose.Optional = false, true
		}
		out.Attributes[name] = &loose
	}
	return out
}

// backendArguments reads the values of -backend-config.
func (e *env) backendArguments(flags []string) (map[string]cty.Value, diag.List) {
	values := map[string]cty.Value{}
	var diags diag.List
	for _, text := range flags {
		if name, v, ok := strings.Cut(text, "="); ok {
			values[strings.TrimSpace(name)] = cty.StringVal(v)
			continue
		}
		if text == "" {
			clear(values) // forget what was given before
			continue
		}
		data, err := os.ReadFile(text)
		if err != nil {
			diags.Errorf("Failed to read file", "The file %q of -backend-config could not be read: %s.", text, cause(err))
			continue
		}
		e.sources[text] = data
		file, problems := syntax.Parse(text, data)
		diags.Append(problems)
		attributes, more := file.Body.JustAttributes()
		diags.Append(diag.FromHCL(more))
		for _, attr := range syntax.InOrder(attributes) {
			v, bad := attr.Expr.Value(nil)
			diags.Append(diag.FromHCL(bad))
			if !bad.HasErrors() {
				values[attr.Name] = v
			}
		}
	}
	return values, diags
}

// currentBackend is the backend that the working directory was initialized
// with. It has to be the one that the configuration asks for.
func (e *env) currentBackend(context.Context) (*backend, diag.List) {
	inputs, diags := e.inputs(e.settingsVars)
	if diags.HasErrors() {
		return nil, diags
	}
	prog, more := e.rootSettings()
	if more.HasErrors() {
		return nil, more
	}
	return e.initializedBackend(prog, inputs)
}

func (e *env) initializedBackend(prog *program.Program, inputs map[string]engine.VariableInput) (*backend, diag.List) {
	if problem := e.encryption(prog); problem.HasErrors() {
		return nil, problem
	}
	r, err := e.dir().Backend()
	if err != nil {
		return nil, oneError("Failed to read the record of the backend", "%s. Run \"%s init -reconfigure\" to write it anew.", err, e.program)
	}
	switch {
	case prog.Backend == nil && r == nil:
		b := localBackend()
		b.requires = requiredBy(prog)
		return b, nil
	case prog.Backend == nil:
		return nil, e.initRequired(nil, "Unsetting the previously set backend %q", r.Type)
	case r == nil:
		return nil, e.initRequired(prog.Backend, "Initial configuration of the requested backend %q", prog.Backend.Type)
	case r.Type != prog.Backend.Type:
		return nil, e.initRequired(prog.Backend, "Backend type changed from %q to %q", r.Type, prog.Backend.Type)
	}
	t, err := backends.All().Find(r.Type)
	if err != nil {
		return nil, oneError("Unsupported backend type", "%s", err)
	}
	recorded, err := r.Value(t.Schema().ImpliedType())
	if err != nil {
		return nil, e.initRequired(prog.Backend, "The recorded configuration of the backend can't be read: %s", err)
	}
	block, diags := e.evaluateSettings(prog, prog.Backend.Config, optional(t.Schema()), inputs)
	if diags.HasErrors() {
		return nil, diags
	}
	if changed := differing(block, recorded); len(changed) > 0 {
		return nil, e.initRequired(prog.Backend, "Backend configuration block has changed: %s", strings.Join(changed, ", "))
	}
	b, more := e.openBackend(r.Type, recorded, prog)
	diags.Append(more)
	return b, diags
}

// differing lists the arguments that a block sets to something other than what
// was recorded. Arguments that only the record has came from the command line.
func differing(block, recorded cty.Value) []string {
	var names []string
	have := recorded.AsValueMap()
	for name, v := range block.AsValueMap() {
		if empty(v) || have[name].RawEquals(v) {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// empty reports whether an argument isn't set.
func empty(v cty.Value) bool {
	return v.IsNull() || v.CanIterateElements() && v.LengthInt() == 0
}

func (e *env) initRequired(at *program.Backend, format string, args ...any) diag.List {
	var diags diag.List
	d := diag.Diagnostic{
		Summary: fmt.Sprintf("Backend initialization required, please run \"%s init\"", e.program),
		Detail: "Reason: " + fmt.Sprintf(format, args...) + "\n\nThe backend is where the state is kept. " +
			"It has to be initialized before it is used, and again whenever its configuration changes, so that nobody goes on with an empty or an outdated state by accident.",
	}
	if at != nil {
		d.Subject = at.Range.Ptr()
	}
	diags.Add(d)
	return diags
}

// encryption refuses to go on where states are to be encrypted: writing them in
// the clear would be worse than not writing them.
func (e *env) encryption(prog *program.Program) diag.List {
	const detail = "Encryption of states and plans isn't supported yet, and weir doesn't write in the clear what is to be encrypted."
	var diags diag.List
	switch {
	case prog.Encryption != nil:
		diags.ErrorAt(prog.Encryption.Range, "Unsupported encryption", "%s", detail)
	case e.vars["TF_ENCRYPTION"] != "":
		diags.Errorf("Unsupported encryption", "%s The environment variable TF_ENCRYPTION asks for it.", detail)
	}
	return diags
}
