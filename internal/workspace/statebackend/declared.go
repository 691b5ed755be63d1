package statebackend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/workspace/workdir"
)

// A Settings decodes a body that may refer to variables and locals.
type Settings func(body hcl.Body, s *schema.Block) (cty.Value, diag.List)

// A Declared backend is what the configuration says.
type Declared struct {
	Kind   string
	Config cty.Value // with what the command line adds
	schema *schema.Block
	of     *workdir.StateStore // the provider of a state store
	hash   uint64              // of the block alone
	block  *program.Backend
}

// CheckType reports a backend block whose type doesn't exist.
func (o Opener) CheckType(block *program.Backend) (diags diag.List) {
	if block.Store != nil {
		return nil // its provider may not be installed yet
	}
	_, _, diags = o.findBlock(block)
	return diags
}

// Check compares a backend block with what such a backend may be given.
func (o Opener) Check(block *program.Backend) (diags diag.List) {
	if block.Store != nil {
		return nil
	}
	t, _, diags := o.findBlock(block)
	if diags.HasErrors() {
		return diags
	}
	var names hcl.BodySchema
	for name := range t.Schema().Attributes {
		names.Attributes = append(names.Attributes, hcl.AttributeSchema{Name: name})
	}
	for name := range t.Schema().Blocks {
		names.Blocks = append(names.Blocks, hcl.BlockHeaderSchema{Type: name})
	}
	_, problems := block.Config.Content(&names)
	return diag.FromHCL(diag.BadBackend, problems)
}

// Declare evaluates the backend block, with the arguments that the command line adds; nil
// means that none exists.
func (o Opener) Declare(prog *program.Program, settings Settings, extra map[string]cty.Value) (*Declared, diag.List) {
	if prog.Backend == nil {
		return nil, nil
	}
	block := prog.Backend
	t, of, diags := o.findBlock(block)
	if diags.HasErrors() {
		return nil, diags
	}
	d := &Declared{Kind: block.Type, schema: t.Schema(), block: block, of: of}
	v, more := evaluate(block, d.schema, settings)
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	d.hash = hash(d.Kind, of, v)
	attrs := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		a := d.schema.Attributes[name]
		if a == nil {
			diags.Add(diag.BadBackend.As("Invalid backend configuration argument").New(diag.Error, "The backend configuration argument %q given on the command line is not expected for the selected backend type.", name))
			continue
		}
		converted, err := convert.Convert(extra[name], a.ImpliedType())
		if err != nil {
			diags.Add(diag.BadBackend.As("Invalid backend configuration argument").New(diag.Error, "The value for the backend configuration argument %q given on the command line isn't right: %s.", name, err))
			continue
		}
		attrs[name] = converted
	}
	d.Config = cty.ObjectVal(attrs)
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

// Recall takes over from the record what the command line said when the
// directory was initialized for this very block.
func (d *Declared) Recall(have *workdir.Backend) {
	if have == nil || have.Type != d.Kind || have.Hash != d.hash {
		return
	}
	if recorded, err := have.Value(d.schema.ImpliedType()); err == nil {
		d.Config = recorded
	}
}

// Declared opens a declared backend and makes its record.
func (o Opener) Declared(d *Declared, prog *program.Program) (*Backend, *workdir.Backend, diag.List) {
	var diags diag.List
	missing := map[string]bool{}
	for _, name := range d.schema.Names() {
		if a := d.schema.Attributes[name]; a != nil && a.Required && d.Config.GetAttr(name).IsNull() {
			missing[name] = true
			diags.Add(diag.Missing.Error(d.block.Range, "The backend argument %q is required, but no definition was found. Set it in the block or with -backend-config.", name))
		}
	}
	if diags.HasErrors() {
		// All that is wrong is reported at once, such as a missing bucket and a missing region.
		_, more := o.open(d.Kind, d.of, d.Config, prog)
		more = slices.DeleteFunc(more, func(one diag.Diagnostic) bool {
			return len(one.Path) == 0 || missing[value.PathName(one.Path)]
		})
		locate(more, d.block)
		return nil, nil, append(diags, more...)
	}
	b, diags := o.open(d.Kind, d.of, d.Config, prog)
	locate(diags, d.block)
	if b == nil || diags.HasErrors() {
		return nil, nil, diags
	}
	record, err := workdir.NewBackend(d.Kind, d.Config, d.hash)
	if err == nil {
		record.Store = d.of
	} else {
		diags.Add(diag.Unwritable.As("Failed to record the backend").New(diag.Error, "%s.", err))
	}
	return b, record, diags
}

// Before opens the backend that the directory was initialized with before.
func (o Opener) Before(have *workdir.Backend) (*Backend, diag.List) {
	if have == nil {
		return o.Local(nil), nil
	}
	if _, err := o.Types.Find(have.Type); err != nil && have.Store == nil {
		return nil, diag.UnknownBackend.List("The backend that was initialized before can't be opened: %s Use -reconfigure to go on without its states.", err)
	}
	return o.recorded(*have, nil, "Failed to read the record of the backend", "%s. Use -reconfigure to go on without its states.")
}

// Initialized is the backend that the working directory was initialized with,
// by its record, nil for none. It has to be the one that the configuration asks
// for.
func (o Opener) Initialized(prog *program.Program, r *workdir.Backend, settings Settings) (*Backend, diag.List) {
	switch {
	case prog.Backend == nil && r == nil:
		return o.Local(prog), nil
	case prog.Backend == nil:
		return nil, o.initRequired(nil, "Unsetting the previously set backend %q", r.Type)
	case r == nil:
		return nil, o.initRequired(prog.Backend, "Initial configuration of the requested backend %q", prog.Backend.Type)
	case r.Type != prog.Backend.Type:
		return nil, o.initRequired(prog.Backend, "Backend type changed from %q to %q", r.Type, prog.Backend.Type)
	case (r.Store == nil) != (prog.Backend.Store == nil):
		return nil, o.initRequired(prog.Backend, "Only one of the configured and the previous %q is a state store of a provider", r.Type)
	case r.Store != nil && r.Store.Source != prog.Backend.Store.Provider.String():
		return nil, o.initRequired(prog.Backend, "Provider of the state store changed from %s to %s", r.Store.Source, prog.Backend.Store.Provider)
	}
	t, of, diags := o.findBlock(prog.Backend)
	if diags.HasErrors() {
		return nil, diags
	}
	recorded, err := r.Value(t.Schema().ImpliedType())
	if err != nil {
		return nil, o.initRequired(prog.Backend, "The recorded configuration of the backend can't be read: %s", err)
	}
	block, diags := evaluate(prog.Backend, t.Schema(), settings)
	if diags.HasErrors() {
		return nil, diags
	}
	// Anything that only the record has is from the command line, as long as the block is the
	// one that it was said for.
	changed := differing(block, recorded)
	if hash(r.Type, of, block) != r.Hash && len(changed) > 0 {
		return nil, o.initRequired(prog.Backend, "Backend configuration block has changed: %s", strings.Join(changed, ", "))
	}
	b, more := o.open(r.Type, of, recorded, prog)
	locate(more, prog.Backend)
	diags.Append(more)
	return b, diags
}

// locate gives what is said about an argument its place in the block.
func locate(diags diag.List, block *program.Backend) {
	for i := range diags {
		if d := &diags[i]; len(d.Path) > 0 && d.Subject == nil {
			where := schema.FindRange(block.Config.Body, d.Path)
			d.Subject = &where
		}
	}
}

// differing lists the arguments that differ from what was recorded.
func differing(block, recorded cty.Value) []string {
	var names []string
	have := recorded.AsValueMap()
	for name, v := range block.AsValueMap() {
		if have[name].RawEquals(v) || empty(v) && empty(have[name]) {
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

func (o Opener) initRequired(at *program.Backend, format string, args ...any) diag.List {
	init := diag.Command{Program: o.Program, Name: "init"}
	d := diag.Diagnostic{
		Code: NotInitialized.Name, Summary: fmt.Sprintf("Backend initialization required, please run \"%s\"", init), Commands: []diag.Command{init},
		Detail: "Reason: " + fmt.Sprintf(format, args...) + "\n\nThe backend is where the state is kept. " +
			"It has to be initialized before it is used, and again whenever its configuration changes, so that nobody continues with an empty or an outdated state by accident.",
	}
	if at != nil {
		d.Subject = at.Range.Ptr()
	}
	return diag.List{d}
}

// Changed is the error where nobody said what becomes of the states of the
// backend before; want is nil where none is declared any more.
func Changed(have *workdir.Backend, want *Declared) diag.List {
	d := diag.Diagnostic{
		Code: ConfigurationChanged.Name, Summary: ConfigurationChanged.Summary,
		Detail: "A change in the backend configuration has been detected, which may require migrating existing state.\n\n" +
			"If you wish to attempt automatic migration of the state, use \"init -migrate-state\".\n" +
			"If you wish to store the current configuration with no changes to the state, use \"init -reconfigure\".",
	}
	if want == nil {
		d.Detail = fmt.Sprintf("The backend %q is no longer configured. ", have.Type) + d.Detail
	} else {
		d.Subject = want.block.Range.Ptr()
	}
	return diag.List{d}
}
