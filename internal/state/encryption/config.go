package encryption

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/lang/syntax"
)

// A Config is what encryption blocks say, without the values of what they name.
type Config struct {
	keys, methods []*block
	state, plan   *target
	remoteDefault *target
	remotes       []remote
	rng           hcl.Range
}

// A block declares a key provider or a method.
type block struct {
	typ, name string
	alias     string // of a key provider, for its metadata; mostly empty
	body      hcl.Body
	rng       hcl.Range
}

// A target says how something is encrypted.
type target struct {
	method   hcl.Expression // nil where it isn't said
	enforced bool
	fallback *target
	rng      hcl.Range
}

type remote struct {
	name   string
	target *target
}

// unencrypted is the method that leaves everything as it is.
const unencrypted = "unencrypted"

var (
	blockSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "key_provider", LabelNames: []string{"type", "name"}},
		{Type: "method", LabelNames: []string{"type", "name"}},
		{Type: "state"}, {Type: "plan"}, {Type: "remote_state_data_sources"},
	}}
	aliasSchema  = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "encrypted_metadata_alias"}}}
	targetSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "method"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "fallback"}},
	}
	enforceableSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "method"}, {Name: "enforced"}},
		Blocks:     targetSchema.Blocks,
	}
	remoteSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "default"}, {Type: "remote_state_data_source", LabelNames: []string{"name"}},
	}}
)

// Schemas returns the schema of the encryption block, and those of the blocks in it, for the
// language reference.
func Schemas() (encryption *hcl.BodySchema, blocks map[string]*hcl.BodySchema) {
	return blockSchema, map[string]*hcl.BodySchema{
		"key_provider":              aliasSchema,
		"state":                     enforceableSchema,
		"plan":                      enforceableSchema,
		"remote_state_data_sources": remoteSchema,
	}
}

// Decode reads the body of an encryption block. at is its header. The parts of
// a union are merged, each over those before.
func Decode(body hcl.Body, at hcl.Range) (*Config, diag.List) {
	if union, ok := body.(*syntax.UnionBody); ok {
		var c *Config
		var diags diag.List
		for _, part := range union.Parts {
			over, more := Decode(part, at)
			diags.Append(more)
			c = Merge(c, over)
		}
		return c, diags
	}
	d := decoding{seen: map[string]bool{}}
	c := &Config{rng: at}
	content := d.content(body, blockSchema)
	for _, b := range content.Blocks {
		switch b.Type {
		case "key_provider":
			if d.once(b, "Duplicate key_provider", "key_provider."+b.Labels[0]+"."+b.Labels[1]) {
				c.keys = append(c.keys, d.keyProvider(b))
			}
		case "method":
			if d.once(b, "Duplicate method", "method."+b.Labels[0]+"."+b.Labels[1]) {
				c.methods = append(c.methods, d.named(b, "method"))
			}
		case "state":
			if d.once(b, "Duplicate state block", "state") {
				c.state = d.target(b, enforceableSchema)
			}
		case "plan":
			if d.once(b, "Duplicate plan block", "plan") {
				c.plan = d.target(b, enforceableSchema)
			}
		case "remote_state_data_sources":
			if d.once(b, "Duplicate remote_state_data_sources block", "remote_state_data_sources") {
				d.remote(c, b)
			}
		}
	}
	return c, d.diags
}

type decoding struct {
	seen  map[string]bool
	diags diag.List
}

func (d *decoding) content(body hcl.Body, schema *hcl.BodySchema) *hcl.BodyContent {
	content, diags := body.Content(schema)
	d.diags.Append(diag.FromHCL(syntax.Invalid, diags))
	return content
}

// once reports whether a block is the first of its name.
func (d *decoding) once(b *hcl.Block, summary, name string) bool {
	if d.seen[name] {
		d.diags.Add(Bad.As(summary).Error(b.DefRange, "Found multiple instances of %s", name))
		return false
	}
	d.seen[name] = true
	return true
}

var nameForm = lazyregexp.New("^[a-zA-Z_0-9-]+$")

func (d *decoding) named(b *hcl.Block, kind string) *block {
	for i, what := range []string{"type", "name"} {
		if !nameForm.Get().MatchString(b.Labels[i]) {
			d.diags.Add(NoKey.As("The provided "+kind+" "+what+" is invalid").Error(b.LabelRanges[i], "The %s of a %s consists of letters, digits, underscores and dashes.", what, kind))
		}
	}
	return &block{typ: b.Labels[0], name: b.Labels[1], body: b.Body, rng: b.DefRange}
}

func (d *decoding) keyProvider(b *hcl.Block) *block {
	made := d.named(b, "key provider")
	content, rest, diags := syntax.Split(b.Body, aliasSchema)
	d.diags.Append(diag.FromHCL(syntax.Invalid, diags))
	made.body = rest
	if attr := content.Attributes["encrypted_metadata_alias"]; attr != nil {
		made.alias, _ = constant(d, attr, cty.String, cty.Value.AsString)
	}
	return made
}

// constant evaluates an argument that may not refer to anything.
func constant[T any](d *decoding, attr *hcl.Attribute, ty cty.Type, as func(cty.Value) T) (result T, ok bool) {
	v, diags := attr.Expr.Value(nil)
	d.diags.Append(diag.FromHCL(diag.Expression, diags))
	if diags.HasErrors() {
		return result, false
	}
	v, err := convert.Convert(v, ty)
	if err != nil || v.IsNull() || !v.IsKnown() {
		d.diags.Add(Bad.As("Unsuitable value type").Error(attr.Expr.Range(), "The argument %q has to be a constant %s.", attr.Name, ty.FriendlyName()))
		return result, false
	}
	return as(v), true
}

func (d *decoding) target(b *hcl.Block, schema *hcl.BodySchema) *target {
	content := d.content(b.Body, schema)
	t := &target{rng: b.DefRange}
	if attr := content.Attributes["method"]; attr != nil {
		t.method = attr.Expr
	}
	if attr := content.Attributes["enforced"]; attr != nil {
		t.enforced, _ = constant(d, attr, cty.Bool, cty.Value.True)
	}
	for _, inner := range content.Blocks {
		if t.fallback != nil {
			d.diags.Add(diag.Duplicate.As("Duplicate fallback block").Error(inner.DefRange, "Only one fallback block is allowed. A fallback may have a fallback of its own."))
			continue
		}
		t.fallback = d.target(inner, targetSchema)
	}
	return t
}

func (d *decoding) remote(c *Config, b *hcl.Block) {
	for _, inner := range d.content(b.Body, remoteSchema).Blocks {
		if inner.Type == "default" {
			if d.once(inner, "Duplicate default block", "remote_state_data_sources.default") {
				c.remoteDefault = d.target(inner, targetSchema)
			}
			continue
		}
		if name := inner.Labels[0]; d.once(inner, "Duplicate remote_data_source", "remote_data_source."+name) {
			c.remotes = append(c.remotes, remote{name, d.target(inner, targetSchema)})
		}
	}
}

// Merge lays one configuration, such as that of the environment, over another;
// either may be nil. Arguments of the same key provider or method replace those
// below, a fallback replaces the one below as a whole, and enforcing can't be
// taken back. A key provider keeps the alias that it has below, so that what
// is encrypted can be found again.
func Merge(below, over *Config) *Config {
	if below == nil || over == nil {
		if below == nil {
			return over
		}
		return below
	}
	c := &Config{
		keys:          mergeBlocks(below.keys, over.keys),
		methods:       mergeBlocks(below.methods, over.methods),
		state:         mergeTargets(below.state, over.state),
		plan:          mergeTargets(below.plan, over.plan),
		remoteDefault: mergeTargets(below.remoteDefault, over.remoteDefault),
		rng:           below.rng,
	}
	c.remotes = append(c.remotes, below.remotes...)
next:
	for _, r := range over.remotes {
		for i, have := range c.remotes {
			if have.name == r.name {
				c.remotes[i].target = mergeTargets(have.target, r.target)
				continue next
			}
		}
		c.remotes = append(c.remotes, r)
	}
	return c
}

func mergeBlocks(below, over []*block) []*block {
	out := append([]*block(nil), below...)
next:
	for _, b := range over {
		for i, have := range out {
			if have.typ == b.typ && have.name == b.name {
				merged := *have
				merged.body = syntax.Merge(have.body, b.body)
				out[i] = &merged
				continue next
			}
		}
		out = append(out, b)
	}
	return out
}

func mergeTargets(below, over *target) *target {
	if below == nil || over == nil {
		if below == nil {
			return over
		}
		return below
	}
	t := *over
	t.enforced = below.enforced || over.enforced
	if t.method == nil {
		t.method = below.method
	}
	if t.fallback == nil {
		t.fallback = below.fallback
	}
	return &t
}

// method finds the method of a target.
func (c *Config) method(t *target) (*block, diag.List) {
	var diags diag.List
	if t.method == nil {
		diags.Add(diag.Missing.Error(t.rng, `The argument "method" is required, but no definition was found. It names a method block, as in method.aes_gcm.NAME.`))
		return nil, diags
	}
	traversal, problems := hcl.AbsTraversalForExpr(t.method)
	if problems.HasErrors() {
		return nil, diag.FromHCL(Bad, problems)
	}
	typ, name, ok := parts(traversal, "method")
	if !ok || len(traversal) != 3 {
		diags.Add(Bad.As("Invalid encryption method identifier").Error(t.method.Range(), "Expected method of form method.<type>.<name>"))
		return nil, diags
	}
	for _, m := range c.methods {
		if m.typ == typ && m.name == name {
			return m, nil
		}
	}
	diags.Add(diag.BadReference.As("Reference to undeclared encryption method").Error(t.method.Range(), "There is no method %q %q block declared in the encryption block.", typ, name))
	return nil, diags
}

// parts splits a reference to a block.
func parts(t hcl.Traversal, root string) (typ, name string, ok bool) {
	if len(t) < 3 || t.RootName() != root {
		return "", "", false
	}
	first, isName := t[1].(hcl.TraverseAttr)
	second, both := t[2].(hcl.TraverseAttr)
	return first.Name, second.Name, isName && both
}
