package cli

import (
	"context"
	"os"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/analyze"
	"weir.dev/weir/internal/backend"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/schema"
	"weir.dev/weir/internal/syntax"
)

func (e *env) getenv(name string) string { return e.vars[name] }

// opener opens backends.
func (e *env) opener() backend.Opener {
	return backend.Opener{Getenv: e.getenv, Program: e.program}
}

// backendSettings evaluates blocks of the root module.
func (e *env) backendSettings(prog *program.Program, inputs map[string]engine.VariableInput) backend.Settings {
	return func(body hcl.Body, s *schema.Block) (cty.Value, diag.List) {
		return e.evaluateSettings(prog, body, s, inputs)
	}
}

// root reads the root module's own files, for commands that need no more than
// its settings.
func (e *env) root() (*program.Program, diag.List) {
	return e.compileRoot(module.Disk{})
}

// rootSettings is the root module as far as its settings go: perhaps without its
// resources. What is wrong with the others isn't reported.
func (e *env) rootSettings() (*program.Program, diag.List) {
	if few, err := module.Settings(module.Disk{}, ".", e.dialect); err == nil {
		if prog, diags := e.compileRoot(few); !diags.HasErrors() {
			return prog, diags
		}
	}
	return e.root() // settings may refer to the rest
}

func (e *env) compileRoot(files module.Files) (*program.Program, diag.List) {
	source, diags := module.Load(files, ".", e.dialect)
	for _, f := range source.Files {
		e.sources[f.Name] = f.Bytes
	}
	prog, more := analyze.Compile(source)
	diags.Append(more)
	return prog, diags
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
func (e *env) currentBackend(context.Context) (*backend.Backend, diag.List) {
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

func (e *env) initializedBackend(prog *program.Program, inputs map[string]engine.VariableInput) (*backend.Backend, diag.List) {
	diags := e.encrypt(prog, inputs)
	if diags.HasErrors() {
		return nil, diags
	}
	record, err := e.dir().Backend()
	if err != nil {
		return nil, oneError("Failed to read the record of the backend", "%s. Run \"%s init -reconfigure\" to write it anew.", err, e.program)
	}
	b, more := e.opener().Initialized(prog, record, e.backendSettings(prog, inputs))
	return b, append(diags, more...)
}
