package planfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
)

// The records below are the written form of schemas, with the types of package
// cty as JSON. They exist because the originals have caches and embedded parts.

type providerRecord struct {
	Provider    *schemaRecord             `json:"provider,omitempty"`
	Meta        *schemaRecord             `json:"meta,omitempty"`
	Resources   map[string]*schemaRecord  `json:"resources,omitempty"`
	DataSources map[string]*schemaRecord  `json:"data_sources,omitempty"`
	Ephemerals  map[string]*schemaRecord  `json:"ephemerals,omitempty"`
	Actions     map[string]*schemaRecord  `json:"actions,omitempty"`
	Functions   map[string]functionRecord `json:"functions,omitempty"`
	PlanDestroy bool                      `json:"plan_destroy,omitempty"`
	MoveState   bool                      `json:"move_state,omitempty"`
}

type schemaRecord struct {
	Version         int64         `json:"version"`
	Block           *blockRecord  `json:"block,omitempty"`
	Identity        *objectRecord `json:"identity,omitempty"`
	IdentityVersion int64         `json:"identity_version,omitempty"`
}

type blockRecord struct {
	Attributes         map[string]attributeRecord `json:"attributes,omitempty"`
	Blocks             map[string]nestedRecord    `json:"blocks,omitempty"`
	Description        string                     `json:"description,omitempty"`
	Markdown           bool                       `json:"markdown,omitempty"`
	Deprecated         bool                       `json:"deprecated,omitempty"`
	DeprecationMessage string                     `json:"deprecation_message,omitempty"`
}

type attributeRecord struct {
	Type               json.RawMessage `json:"type,omitempty"`
	Nested             *objectRecord   `json:"nested,omitempty"`
	Required           bool            `json:"required,omitempty"`
	Optional           bool            `json:"optional,omitempty"`
	Computed           bool            `json:"computed,omitempty"`
	Sensitive          bool            `json:"sensitive,omitempty"`
	WriteOnly          bool            `json:"write_only,omitempty"`
	Deprecated         bool            `json:"deprecated,omitempty"`
	DeprecationMessage string          `json:"deprecation_message,omitempty"`
	Description        string          `json:"description,omitempty"`
	Markdown           bool            `json:"markdown,omitempty"`
}

type objectRecord struct {
	Attributes map[string]attributeRecord `json:"attributes,omitempty"`
	Nesting    schema.Nesting             `json:"nesting,omitempty"`
}

type nestedRecord struct {
	Block   *blockRecord   `json:"block"`
	Nesting schema.Nesting `json:"nesting"`
	Min     int            `json:"min,omitempty"`
	Max     int            `json:"max,omitempty"`
}

type functionRecord struct {
	Parameters  []parameterRecord `json:"parameters,omitempty"`
	Variadic    *parameterRecord  `json:"variadic,omitempty"`
	Return      json.RawMessage   `json:"return"`
	Summary     string            `json:"summary,omitempty"`
	Description string            `json:"description,omitempty"`
	Markdown    bool              `json:"markdown,omitempty"`
	Deprecated  string            `json:"deprecated,omitempty"`
}

type parameterRecord struct {
	Name         string          `json:"name"`
	Type         json.RawMessage `json:"type"`
	AllowNull    bool            `json:"allow_null,omitempty"`
	AllowUnknown bool            `json:"allow_unknown,omitempty"`
	Description  string          `json:"description,omitempty"`
	Markdown     bool            `json:"markdown,omitempty"`
}

// names is a set of resource types with their modes, the caller that provides them.
type names map[addr.Name]bool

func (n names) add(name addr.Name) { n[addr.Name{Mode: name.Mode, Type: name.Type}] = true }

// namesInUse collects the resource types that the plan, its states and the
// configuration have.
func namesInUse(p *plan.Plan, tree *program.Tree) names {
	set := names{}
	for _, list := range [][]*plan.Change{p.Changes, p.Drift} {
		for _, c := range list {
			set.add(c.Addr.Name)
			set.add(c.Previous().Name)
		}
	}
	for _, i := range p.Invocations {
		set.add(i.Addr.Name)
	}
	for _, d := range p.Deferred {
		set.add(d.Change.Addr.Name)
	}
	for _, s := range []*state.Snapshot{p.Previous, p.Refreshed} {
		if s == nil {
			continue
		}
		for object := range s.Objects {
			set.add(object.Name)
		}
	}
	var walk func(*program.Tree)
	walk = func(t *program.Tree) {
		if t == nil || t.Program == nil {
			return
		}
		for _, r := range t.Program.Resources {
			set.add(r.Name)
		}
		for _, child := range t.Calls() {
			walk(child)
		}
	}
	walk(tree)
	return set
}

func encodeSchemas(all map[addr.Provider]*provider.Schemas, used names) ([]byte, error) {
	records := make(map[string]*providerRecord, len(all))
	for p, s := range all {
		if s == nil {
			continue
		}
		r := &providerRecord{
			Provider:    fromSchema(s.Provider),
			Meta:        fromSchema(s.Meta),
			Resources:   fromSchemas(s.Resources, addr.Managed, used),
			DataSources: fromSchemas(s.DataSources, addr.Data, used),
			Ephemerals:  fromSchemas(s.Ephemerals, addr.Ephemeral, used),
			Actions:     fromSchemas(s.Actions, addr.Action, used),
			PlanDestroy: s.PlanDestroy,
			MoveState:   s.MoveState,
			Functions:   map[string]functionRecord{},
		}
		for name, f := range s.Functions {
			r.Functions[name] = fromFunction(f)
		}
		records[p.String()] = r
	}
	return json.Marshal(records)
}

func fromSchemas(all provider.Types, mode addr.Mode, used names) map[string]*schemaRecord {
	records := map[string]*schemaRecord{}
	for name, s := range all {
		if used[addr.Name{Mode: mode, Type: name}] {
			records[name] = fromSchema(s.Schema())
		}
	}
	return records
}

func fromSchema(s *schema.Schema) *schemaRecord {
	if s == nil {
		return nil
	}
	return &schemaRecord{s.Version, fromBlock(s.Block), fromObject(s.Identity), s.IdentityVersion}
}

func fromBlock(b *schema.Block) *blockRecord {
	if b == nil {
		return nil
	}
	r := &blockRecord{
		Attributes:         fromAttributes(b.Attributes),
		Blocks:             make(map[string]nestedRecord, len(b.Blocks)),
		Description:        b.Description,
		Markdown:           b.Markdown,
		Deprecated:         b.Deprecated,
		DeprecationMessage: b.DeprecationMessage,
	}
	for name, n := range b.Blocks {
		r.Blocks[name] = nestedRecord{fromBlock(n.Block), n.Nesting, n.Min, n.Max}
	}
	return r
}

func fromAttributes(all map[string]*schema.Attribute) map[string]attributeRecord {
	records := make(map[string]attributeRecord, len(all))
	for name, a := range all {
		r := attributeRecord{
			Nested:             fromObject(a.Nested),
			Required:           a.Required,
			Optional:           a.Optional,
			Computed:           a.Computed,
			Sensitive:          a.Sensitive,
			WriteOnly:          a.WriteOnly,
			Deprecated:         a.Deprecated,
			DeprecationMessage: a.DeprecationMessage,
			Description:        a.Description,
			Markdown:           a.Markdown,
		}
		if a.Nested == nil {
			r.Type = fromType(a.Type)
		}
		records[name] = r
	}
	return records
}

func fromObject(o *schema.Object) *objectRecord {
	if o == nil {
		return nil
	}
	return &objectRecord{fromAttributes(o.Attributes), o.Nesting}
}

// fromType gives null for types that have no written form, which the reader rejects.
func fromType(ty cty.Type) json.RawMessage {
	if ty == cty.NilType {
		return nil
	}
	text, err := ctyjson.MarshalType(ty)
	if err != nil {
		return nil
	}
	return text
}

func fromFunction(f *provider.Function) functionRecord {
	r := functionRecord{
		Return:      fromType(f.Return),
		Summary:     f.Summary,
		Description: f.Description,
		Markdown:    f.Markdown,
		Deprecated:  f.Deprecated,
	}
	for _, p := range f.Parameters {
		r.Parameters = append(r.Parameters, fromParameter(p))
	}
	if f.Variadic != nil {
		p := fromParameter(*f.Variadic)
		r.Variadic = &p
	}
	return r
}

func fromParameter(p provider.Parameter) parameterRecord {
	return parameterRecord{p.Name, fromType(p.Type), p.AllowNull, p.AllowUnknown, p.Description, p.Markdown}
}

// A schemaReader makes schemas of records; it keeps the first problem.
type schemaReader struct{ err error }

func decodeSchemas(data []byte) (map[addr.Provider]*provider.Schemas, error) {
	var records map[string]*providerRecord
	if err := json.Unmarshal(data, &records); err != nil {
		return nil, err
	}
	all := make(map[addr.Provider]*provider.Schemas, len(records))
	for _, name := range slices.Sorted(maps.Keys(records)) {
		p, err := addr.OpenTofu.ParseProvider(name)
		if err != nil {
			return nil, err
		}
		r := records[name]
		if r == nil {
			return nil, fmt.Errorf("provider %s has no schemas", name)
		}
		var d schemaReader
		s := &provider.Schemas{
			Provider:    d.schema(r.Provider),
			Meta:        d.schema(r.Meta),
			Resources:   d.schemas(r.Resources),
			DataSources: d.schemas(r.DataSources),
			Ephemerals:  d.schemas(r.Ephemerals),
			Actions:     d.schemas(r.Actions),
			Functions:   map[string]*provider.Function{},
			PlanDestroy: r.PlanDestroy,
			MoveState:   r.MoveState,
		}
		for name, f := range r.Functions {
			s.Functions[name] = d.function(f)
		}
		if d.err != nil {
			return nil, fmt.Errorf("provider %s: %w", name, d.err)
		}
		all[p] = s
	}
	return all, nil
}

func (d *schemaReader) schemas(records map[string]*schemaRecord) provider.Types {
	all := make(provider.Types, len(records))
	for name, r := range records {
		all[name] = provider.Known(d.schema(r))
	}
	return all
}

func (d *schemaReader) schema(r *schemaRecord) *schema.Schema {
	if r == nil {
		return nil
	}
	return &schema.Schema{Version: r.Version, Block: d.block(r.Block), Identity: d.object(r.Identity), IdentityVersion: r.IdentityVersion}
}

func (d *schemaReader) block(r *blockRecord) *schema.Block {
	if r == nil {
		return nil
	}
	b := &schema.Block{
		Attributes:         d.attributes(r.Attributes),
		Blocks:             make(map[string]*schema.NestedBlock, len(r.Blocks)),
		Description:        r.Description,
		Markdown:           r.Markdown,
		Deprecated:         r.Deprecated,
		DeprecationMessage: r.DeprecationMessage,
	}
	for name, n := range r.Blocks {
		block := d.block(n.Block)
		if block == nil {
			block = &schema.Block{}
		}
		b.Blocks[name] = &schema.NestedBlock{Block: block, Nesting: n.Nesting, Min: n.Min, Max: n.Max}
	}
	return b
}

func (d *schemaReader) attributes(records map[string]attributeRecord) map[string]*schema.Attribute {
	all := make(map[string]*schema.Attribute, len(records))
	for name, r := range records {
		a := &schema.Attribute{
			Nested:             d.object(r.Nested),
			Required:           r.Required,
			Optional:           r.Optional,
			Computed:           r.Computed,
			Sensitive:          r.Sensitive,
			WriteOnly:          r.WriteOnly,
			Deprecated:         r.Deprecated,
			DeprecationMessage: r.DeprecationMessage,
			Description:        r.Description,
			Markdown:           r.Markdown,
		}
		if r.Nested == nil {
			a.Type = d.typ(r.Type)
		}
		all[name] = a
	}
	return all
}

func (d *schemaReader) object(r *objectRecord) *schema.Object {
	if r == nil {
		return nil
	}
	return &schema.Object{Attributes: d.attributes(r.Attributes), Nesting: r.Nesting}
}

func (d *schemaReader) typ(text json.RawMessage) cty.Type {
	ty, err := ctyjson.UnmarshalType(text)
	if err != nil {
		if d.err == nil {
			d.err = err
		}
		return cty.DynamicPseudoType
	}
	return ty
}

func (d *schemaReader) function(r functionRecord) *provider.Function {
	f := &provider.Function{
		Return:      d.typ(r.Return),
		Summary:     r.Summary,
		Description: r.Description,
		Markdown:    r.Markdown,
		Deprecated:  r.Deprecated,
	}
	for _, p := range r.Parameters {
		f.Parameters = append(f.Parameters, d.parameter(p))
	}
	if r.Variadic != nil {
		p := d.parameter(*r.Variadic)
		f.Variadic = &p
	}
	return f
}

func (d *schemaReader) parameter(r parameterRecord) provider.Parameter {
	return provider.Parameter{Name: r.Name, Type: d.typ(r.Type), AllowNull: r.AllowNull, AllowUnknown: r.AllowUnknown, Description: r.Description, Markdown: r.Markdown}
}
