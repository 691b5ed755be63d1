package builtin

import (
	"context"
	"fmt"
	"maps"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
)

const remoteType = "terraform_remote_state"

const badBackend = "Invalid backend configuration"

// RemoteStateBlock is the schema of terraform_remote_state.
func RemoteStateBlock() *schema.Block {
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"backend": {
			Type: cty.String, Required: true, Markdown: true,
			Description: "The type of the backend, for example `local` or `http`.",
		},
		"config": {
			Type: cty.DynamicPseudoType, Optional: true, Markdown: true,
			Description: "The configuration of the backend: an object with the arguments of a `backend` block of that type.",
		},
		"defaults": {
			Type: cty.DynamicPseudoType, Optional: true, Markdown: true,
			Description: "Values for outputs that the state doesn't have.",
		},
		"outputs": {
			Type: cty.DynamicPseudoType, Computed: true, Markdown: true,
			Description: "An object with all outputs of the root module in the state.",
		},
		"workspace": {
			Type: cty.String, Optional: true, Markdown: true,
			Description: "The workspace to read, `default` if not set.",
		},
	}}
}

func (b *builtin) validateRemote(config cty.Value) diag.List {
	var diags diag.List
	if config.IsNull() || !config.IsKnown() {
		return nil
	}
	at := func(attribute, summary, format string, args ...any) {
		diags.Add(diag.Diagnostic{Code: Remote.Name, Summary: summary, Detail: fmt.Sprintf(format, args...), Path: cty.GetAttrPath(attribute)})
	}
	if c := config.GetAttr("config"); !mapping(c) {
		at("config", badBackend, "The configuration must be an object value.")
	} else if typ := config.GetAttr("backend"); c.IsWhollyKnown() && typ.IsKnown() && !typ.IsNull() {
		_, diags = b.options.backend(config)
	}
	if !mapping(config.GetAttr("defaults")) {
		at("defaults", "Invalid default values", "Defaults must be given in an object value.")
	}
	return diags
}

// mapping reports whether a value is, or can turn out to be, an object.
func mapping(v cty.Value) bool {
	ty := v.Type()
	return ty == cty.DynamicPseudoType || ty.IsObjectType() || ty.IsMapType()
}

func (o Options) find(typ string) (storage.Type, error) {
	if typ == "_local" { // its name long ago
		typ = "local"
	}
	return o.Backends.Find(typ)
}

// backend makes the backend that a configuration names, without contact to
// anything outside.
func (o Options) backend(config cty.Value) (storage.Backend, diag.List) {
	var diags diag.List
	typ := config.GetAttr("backend").AsString()
	found, err := o.find(typ)
	if err != nil {
		diags.Add(diag.Diagnostic{Code: Remote.Name, Summary: badBackend, Detail: err.Error(), Path: cty.GetAttrPath("backend")})
		return nil, diags
	}
	arguments := config.GetAttr("config")
	switch {
	case arguments.IsNull():
		arguments = cty.EmptyObjectVal
	case arguments.Type().IsMapType():
		arguments = cty.ObjectVal(arguments.AsValueMap())
	}
	arguments, err = contract.CoerceValue(found.Schema(), arguments)
	if err != nil {
		diags.Add(diag.Diagnostic{
			Code: Remote.Name, Summary: badBackend,
			Detail: fmt.Sprintf("The given configuration is not valid for backend %q: %s.", typ, value.ErrorString("", err)),
			Path:   cty.GetAttrPath("config"),
		})
		return nil, diags
	}
	opened, diags := found.New(arguments, o.Env)
	for i := range diags {
		diags[i].Path = append(cty.GetAttrPath("config"), diags[i].Path...)
	}
	return opened, diags
}

// readRemote reads the outputs of a state.
func (b *builtin) readRemote(ctx context.Context, at addr.Instance, config cty.Value) (cty.Value, diag.List) {
	opened, workspace, diags := b.options.State(config)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	state, found, more := b.outputs(ctx, at, opened, workspace)
	diags.Append(more)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	if !found {
		diags.Add(diag.Diagnostic{
			Code: Remote.Name, Summary: Remote.Summary,
			Detail: "No stored state was found for the given workspace in the given backend. Apply the configuration that writes it first, or correct the arguments.",
			Path:   cty.GetAttrPath("workspace"),
		})
		return cty.NilVal, diags
	}
	return RemoteState(config, state), diags
}

// RemoteState is what a terraform_remote_state of that configuration has where the state has
// these outputs.
func RemoteState(config cty.Value, state map[string]cty.Value) cty.Value {
	result := config.AsValueMap()
	outputs := map[string]cty.Value{}
	if defaults := config.GetAttr("defaults"); !defaults.IsNull() {
		maps.Copy(outputs, defaults.AsValueMap())
	}
	maps.Copy(outputs, state)
	result["outputs"] = cty.ObjectVal(outputs)
	return cty.ObjectVal(result)
}

// IsRemoteState reports whether a resource of a provider is a terraform_remote_state.
func IsRemoteState(p addr.Provider, name addr.Name) bool {
	return name.Mode == addr.Data && name.Type == remoteType && p == Address
}

// State opens the backend that a terraform_remote_state of that configuration reads from, and
// names the workspace. It has no contact to anything outside.
func (o Options) State(config cty.Value) (storage.Backend, string, diag.List) {
	opened, diags := o.backend(config)
	if diags.HasErrors() {
		return nil, "", diags
	}
	workspace := storage.DefaultWorkspace
	if v := config.GetAttr("workspace"); !v.IsNull() {
		workspace = v.AsString()
	} else if named, ok := opened.(storage.Undefaulted); ok && named.Only() != "" {
		workspace = named.Only()
	}
	return opened, workspace, diags
}

// outputs reads a state and returns its outputs, and whether there is one.
func (b *builtin) outputs(ctx context.Context, at addr.Instance, from storage.Backend, workspace string) (map[string]cty.Value, bool, diag.List) {
	var diags diag.List
	fail := func(err error) (map[string]cty.Value, bool, diag.List) {
		diags.Add(diag.Diagnostic{
			Code: Remote.Name, Summary: "Error loading state error",
			Detail: fmt.Sprintf("error loading the remote state: %s", err),
			Path:   cty.GetAttrPath("backend"),
		})
		return nil, false, diags
	}
	store, err := from.State(workspace)
	if err != nil {
		return fail(err)
	}
	src, err := store.Read(ctx)
	if err == nil && b.options.Decrypt != nil && src != nil {
		src, err = b.options.Decrypt(at, src)
	}
	if err != nil {
		return fail(err)
	}
	s, diags := statefile.Read(src, "The remote state")
	if s == nil {
		return nil, false, diags
	}
	outputs := make(map[string]cty.Value, len(s.Outputs))
	for name, o := range s.Outputs {
		outputs[name] = o.Value
	}
	return outputs, true, diags
}
