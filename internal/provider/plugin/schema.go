package plugin

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// declared is what a plugin says of itself. As bytes, which remembered reads, it
// is the length of the first answer and the two answers.
type declared struct {
	schemas    *tfplugin6.GetProviderSchema_Response
	identities *tfplugin6.GetResourceIdentitySchemas_Response // nil without
}

func (d declared) marshal() ([]byte, error) {
	schemas, err := proto.Marshal(d.schemas)
	if err != nil {
		return nil, err
	}
	out := append(binary.AppendUvarint(nil, uint64(len(schemas))), schemas...)
	if d.identities == nil {
		return out, nil
	}
	return proto.MarshalOptions{}.MarshalAppend(out, d.identities)
}

// loadSchemas asks the plugin what it declares.
func (c *client) loadSchemas(ctx context.Context) diag.List {
	d, diags := c.ask(ctx)
	if diags.HasErrors() {
		return diags
	}
	var more diag.List
	if c.schemas, c.askFirst, more = d.translate(c.name); c.store != nil && len(diags)+len(more) == 0 {
		if data, err := d.marshal(); err == nil {
			c.store(data)
		}
	}
	return append(diags, more...)
}

func (c *client) ask(ctx context.Context) (d declared, diags diag.List) {
	r, err := c.rpc.GetProviderSchema(ctx, &tfplugin6.GetProviderSchema_Request{})
	if err != nil {
		return d, c.callFailed("GetProviderSchema", err)
	}
	diags = diagnostics(r.Diagnostics)
	if diags.HasErrors() {
		return d, diags
	}
	identities, err := c.rpc.GetResourceIdentitySchemas(ctx, &tfplugin6.GetResourceIdentitySchemas_Request{})
	switch {
	case status.Code(err) == codes.Unimplemented:
		identities = nil
	case err != nil:
		diags.Append(c.callFailed("GetResourceIdentitySchemas", err))
		return d, diags
	}
	diags.Append(diagnostics(identities.GetDiagnostics()))
	return declared{r, identities}, diags
}

// translate makes schemas of the answers. askFirst: new processes expect to be
// asked again.
func (d declared) translate(name string) (schemas *provider.Schemas, askFirst bool, diags diag.List) {
	t := &translation{types: make(map[string]cty.Type)}
	schemas = t.schemas(d.schemas)
	t.identities(schemas, d.identities.GetIdentitySchemas())
	slices.Sort(t.errors)
	// A provider may be wrong in a thousand places in the same way.
	for _, text := range t.errors[:min(len(t.errors), 10)] {
		diags.Add(BadAnswer.As("Invalid provider schema").New(diag.Error, "Provider %s declares %s. "+
			"This is a bug in the provider, which should be reported in the provider's own issue tracker.", name, text))
	}
	return schemas, !d.schemas.GetServerCapabilities().GetGetProviderSchemaOptional(), diags
}

// useSchemas makes a new process of a known plugin ready. Plugins that don't
// say otherwise expect to be asked for their schemas before all else.
func (c *client) useSchemas(ctx context.Context, schemas *provider.Schemas, askFirst bool) diag.List {
	c.schemas, c.askFirst = schemas, askFirst
	if askFirst {
		err := c.conn.Invoke(ctx, tfplugin6.Provider_GetProviderSchema_FullMethodName,
			&tfplugin6.GetProviderSchema_Request{}, &emptypb.Empty{})
		if err != nil {
			return c.callFailed("GetProviderSchema", err)
		}
	}
	return nil
}

// A translation turns wire schemas into ours. Providers have few types and
// many attributes, so each type is read once.
type translation struct {
	mu     sync.Mutex // for schemas that are translated when they are asked for
	types  map[string]cty.Type
	errors []string
	where  string
}

func (t *translation) fail(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...)+" in "+t.where)
}

func (t *translation) schemas(r *tfplugin6.GetProviderSchema_Response) *provider.Schemas {
	capabilities := r.GetServerCapabilities()
	out := &provider.Schemas{
		Provider:    &schema.Schema{Block: &schema.Block{}},
		Resources:   t.schemaMap("resource", r.ResourceSchemas),
		DataSources: t.schemaMap("data source", r.DataSourceSchemas),
		Ephemerals:  t.schemaMap("ephemeral resource", r.EphemeralResourceSchemas),
		Lists:       t.schemaMap("list resource", r.ListResourceSchemas),
		StateStores: t.schemaMap("state store", r.StateStoreSchemas),
		Actions:     make(provider.Types, len(r.ActionSchemas)),
		Functions:   t.functions(r.Functions),
		PlanDestroy: capabilities.GetPlanDestroy(),
		MoveState:   capabilities.GetMoveResourceState(),

		GenerateConfig: capabilities.GetGenerateResourceConfig(),
	}
	if r.Provider != nil {
		t.where = "the provider configuration"
		out.Provider = t.schema(r.Provider)
	}
	if r.ProviderMeta != nil {
		t.where = "provider_meta"
		out.Meta = t.schema(r.ProviderMeta)
	}
	for name, a := range r.ActionSchemas {
		t.where = "action " + name
		out.Actions[name] = provider.Known(t.schema(a.GetSchema()))
	}
	return out
}

func (t *translation) schemaMap(kind string, in map[string]*tfplugin6.Schema) provider.Types {
	out := make(provider.Types, len(in))
	for name, s := range in {
		t.where = kind + " " + name
		out[name] = provider.Known(t.schema(s))
	}
	return out
}

func (t *translation) schema(s *tfplugin6.Schema) *schema.Schema {
	return &schema.Schema{Version: s.GetVersion(), Block: t.block(s.GetBlock())}
}

func (t *translation) block(b *tfplugin6.Schema_Block) *schema.Block {
	out := &schema.Block{
		Description:        b.GetDescription(),
		Markdown:           b.GetDescriptionKind() == tfplugin6.StringKind_MARKDOWN,
		Deprecated:         b.GetDeprecated(),
		DeprecationMessage: b.GetDeprecationMessage(),
		Computed:           b.GetComputed(),
		Attributes:         t.attributes(b.GetAttributes()),
	}
	if nested := b.GetBlockTypes(); len(nested) > 0 {
		out.Blocks = make(map[string]*schema.NestedBlock, len(nested))
		for _, n := range nested {
			out.Blocks[n.TypeName] = &schema.NestedBlock{
				Block:   t.block(n.Block),
				Nesting: t.nesting(int32(n.Nesting), n.TypeName),
				Min:     int(n.MinItems),
				Max:     int(n.MaxItems),
			}
		}
	}
	return out
}

func (t *translation) attributes(as []*tfplugin6.Schema_Attribute) map[string]*schema.Attribute {
	out := make(map[string]*schema.Attribute, len(as))
	for _, a := range as {
		attribute := &schema.Attribute{
			Required: a.Required, Optional: a.Optional, Computed: a.Computed,
			Sensitive: a.Sensitive, WriteOnly: a.WriteOnly,
			Deprecated: a.Deprecated, DeprecationMessage: a.DeprecationMessage,
			Description: a.Description, Markdown: a.DescriptionKind == tfplugin6.StringKind_MARKDOWN,
		}
		if a.NestedType != nil {
			attribute.Nested = &schema.Object{
				Attributes: t.attributes(a.NestedType.Attributes),
				Nesting:    t.nesting(int32(a.NestedType.Nesting), a.Name),
			}
		} else {
			attribute.Type = t.typ(a.Type, a.Name)
		}
		out[a.Name] = attribute
	}
	return out
}

// nesting reads either enumeration: blocks and objects have the same numbers.
func (t *translation) nesting(n int32, name string) schema.Nesting {
	switch tfplugin6.Schema_NestedBlock_NestingMode(n) {
	case tfplugin6.Schema_NestedBlock_SINGLE:
		return schema.Single
	case tfplugin6.Schema_NestedBlock_GROUP:
		return schema.Group
	case tfplugin6.Schema_NestedBlock_LIST:
		return schema.List
	case tfplugin6.Schema_NestedBlock_SET:
		return schema.Set
	case tfplugin6.Schema_NestedBlock_MAP:
		return schema.Map
	}
	t.fail("an unknown nesting mode %d for %q", n, name)
	return schema.Single
}

func (t *translation) typ(b []byte, name string) cty.Type {
	if known, ok := t.types[string(b)]; ok {
		return known
	}
	typ, err := ctyjson.UnmarshalType(b)
	if err != nil {
		t.fail("an invalid type %q for %q (%s)", b, name, err)
		typ = cty.DynamicPseudoType
	}
	t.types[string(b)] = typ
	return typ
}

func (t *translation) identities(schemas *provider.Schemas, in map[string]*tfplugin6.ResourceIdentitySchema) {
	for name, identity := range in {
		if s := schemas.Resources.Schema(name); s != nil {
			t.where = "the identity of resource " + name
			t.identity(s, identity)
		}
	}
}

// identity says what identifies the objects of a type.
func (t *translation) identity(s *schema.Schema, in *tfplugin6.ResourceIdentitySchema) {
	object := &schema.Object{Nesting: schema.Single, Attributes: make(map[string]*schema.Attribute)}
	for _, a := range in.IdentityAttributes {
		object.Attributes[a.Name] = &schema.Attribute{
			Type:        t.typ(a.Type, a.Name),
			Required:    a.RequiredForImport,
			Optional:    a.OptionalForImport,
			Description: a.Description,
		}
	}
	s.Identity, s.IdentityVersion = object, in.Version
}

func (t *translation) functions(in map[string]*tfplugin6.Function) map[string]*provider.Function {
	out := make(map[string]*provider.Function, len(in))
	for name, f := range in {
		t.where = "function " + name
		function := &provider.Function{
			Return:      t.typ(f.GetReturn().GetType(), "return"),
			Summary:     f.Summary,
			Description: f.Description,
			Markdown:    f.DescriptionKind == tfplugin6.StringKind_MARKDOWN,
			Deprecated:  f.DeprecationMessage,
		}
		for _, p := range f.Parameters {
			function.Parameters = append(function.Parameters, t.parameter(p))
		}
		if f.VariadicParameter != nil {
			p := t.parameter(f.VariadicParameter)
			function.Variadic = &p
		}
		out[name] = function
	}
	return out
}

func (t *translation) parameter(p *tfplugin6.Function_Parameter) provider.Parameter {
	return provider.Parameter{
		Name:         p.Name,
		Type:         t.typ(p.Type, p.Name),
		AllowNull:    p.AllowNullValue,
		AllowUnknown: p.AllowUnknownValues,
		Description:  p.Description,
		Markdown:     p.DescriptionKind == tfplugin6.StringKind_MARKDOWN,
	}
}
