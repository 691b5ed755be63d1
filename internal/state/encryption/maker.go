package encryption

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/diag"
)

// A purpose is what a method is made for.
type purpose uint8

const (
	// checking finds mistakes. Keys have the right length and wrong content
	// where the right one is costly.
	checking purpose = iota
	// sealing makes keys to encrypt with, and the metadata to find them again.
	sealing
	// opening makes keys from metadata. Those to encrypt with are never used
	// and have wrong content.
	opening
)

// Keys are what key providers make. Either may be missing.
type keys struct {
	encrypt, decrypt []byte
}

// A keyProvider is a type of key providers.
type keyProvider struct {
	arguments []argument
	// make gets what the arguments say, and in the metadata of what is to be
	// opened, nil for none. out is metadata for what is sealed.
	make func(in provided) (k keys, out []byte, err error)
}

// provided is what a key provider has to go by.
type provided struct {
	purpose purpose
	values  map[string]cty.Value
	chain   *keys // of the argument of that name
	meta    []byte
	// run runs a command that makes keys without metadata once for each block.
	run  Run
	once func(func() (keys, []byte, error)) (keys, []byte, error)
}

// An argument of a key provider or a method.
type argument struct {
	name     string
	typ      cty.Type // DynamicPseudoType for keys
	required bool
	block    bool // it is written as a block
}

// A failure is an error of a known kind, whose kind is the summary.
type failure struct {
	summary string
	err     error
}

func (f failure) Error() string { return f.err.Error() }

func invalid(format string, args ...any) error {
	return failure{"Unable to build encryption key data", fmt.Errorf(format, args...)}
}

// A maker makes methods with their keys.
type maker struct {
	config   *Config
	evaluate Evaluate
	run      Run
	services Services
	mu       sync.Mutex
	external map[*block]externalKeys
}

// externalKeys are what an external key provider made without metadata.
type externalKeys struct {
	keys keys
	meta []byte
}

// A making is one method on its way, with the key providers that it needs.
type making struct {
	*maker
	purpose purpose
	in, out map[string][]byte // metadata
	done    map[*block]keys
	stack   []*block
}

// method makes a method, for opening by the metadata in. out is the metadata of
// what it seals.
func (m *maker) method(b *block, p purpose, in map[string][]byte) (made method, out map[string][]byte, diags diag.List) {
	typ, ok := methods()[b.typ]
	if !ok {
		diags.Add(NoKey.As(fmt.Sprintf("Error fetching encryption method %q", b.typ)).Error(b.rng, "encryption method with ID %s not found. There are %s.", b.typ, list(methods())))
		return nil, nil, diags
	}
	w := &making{maker: m, purpose: p, in: in, out: map[string][]byte{}, done: map[*block]keys{}}
	values, diags := w.arguments(b, typ.arguments)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	var k *keys
	if v, ok := values["keys"]; ok {
		found, more := decodeKeys(v, w.rangeOf(b, "keys"))
		diags.Append(more)
		k = &found
	}
	if diags.HasErrors() {
		return nil, nil, diags
	}
	made, err := typ.make(values, k, m.run)
	if err != nil {
		diags.Add(Bad.As("Invalid method configuration").Error(b.rng, "invalid method configuration: %s", err))
	}
	return made, w.out, diags
}

// arguments evaluates the arguments of a block, and before them the key
// providers that they refer to.
func (w *making) arguments(b *block, known []argument) (map[string]cty.Value, diag.List) {
	schema := &hcl.BodySchema{}
	for _, a := range known {
		if a.block {
			schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: a.name})
			continue
		}
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: a.name, Required: a.required})
	}
	content, problems := b.body.Content(schema)
	diags := diag.FromHCL(diag.Expression, problems)
	for i := range diags {
		// Anything that is missing, is missing in this block, which may be merged.
		if diags[i].Subject == nil || diags[i].Subject.Filename == "" {
			diags[i].Subject = b.rng.Ptr()
		}
	}
	if diags.HasErrors() {
		return nil, diags
	}
	values := map[string]cty.Value{}
	for i, inner := range content.Blocks {
		if i > 0 && content.Blocks[i-1].Type == inner.Type {
			diags.Add(diag.Duplicate.As("Duplicate "+inner.Type+" block").Error(inner.DefRange, "There can only be one %s block here.", inner.Type))
			continue
		}
		v, more := w.object(inner.Body)
		diags.Append(more)
		for _, a := range known {
			if a.name != inner.Type || more.HasErrors() {
				continue
			}
			var err error
			if values[a.name], err = convert.Convert(v, a.typ); err != nil {
				diags.Add(Bad.As("Incorrect attribute value type").Error(inner.DefRange, "Inappropriate value in %q: %s.", a.name, err))
			}
		}
	}
	for _, a := range known {
		attr := content.Attributes[a.name]
		if attr == nil {
			continue
		}
		v, more := w.value(attr.Expr)
		diags.Append(more)
		if more.HasErrors() {
			continue
		}
		v, err := convert.Convert(v, a.typ)
		switch {
		case err != nil:
			diags.Add(Bad.As("Incorrect attribute value type").Error(attr.Expr.Range(), "Inappropriate value for attribute %q: %s.", a.name, err))
		case !v.IsNull():
			values[a.name] = v
		case a.required:
			diags.Add(diag.Missing.Error(attr.Expr.Range(), "The argument %q is required, but its value is null.", a.name))
		}
	}
	return values, diags
}

// object is what a block has.
func (w *making) object(body hcl.Body) (cty.Value, diag.List) {
	attributes, problems := body.JustAttributes()
	diags := diag.FromHCL(diag.Expression, problems)
	all := map[string]cty.Value{}
	for name, attr := range attributes {
		v, more := w.value(attr.Expr)
		diags.Append(more)
		all[name] = v
	}
	return cty.ObjectVal(all), diags
}

func (w *making) rangeOf(b *block, name string) hcl.Range {
	content, _, _ := b.body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: name}}})
	if attr := content.Attributes[name]; attr != nil {
		return attr.Expr.Range()
	}
	return b.rng
}

// value evaluates an expression that may refer to key providers. A text that
// is a reference, as JSON has them, stands for what it refers to.
func (w *making) value(expr hcl.Expression) (cty.Value, diag.List) {
	vars, diags := w.providers(expr.Variables())
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	v, more := w.evaluate(expr, vars)
	diags.Append(more)
	if diags.HasErrors() || v.IsNull() || v.Type() != cty.String || !strings.HasPrefix(v.AsString(), "key_provider.") {
		return v, diags
	}
	traversal, problems := hclsyntax.ParseTraversalAbs([]byte(v.AsString()), expr.Range().Filename, expr.Range().Start)
	if problems.HasErrors() {
		return v, diags
	}
	return w.value(&hclsyntax.ScopeTraversalExpr{Traversal: traversal, SrcRange: expr.Range()})
}

// providers makes the keys of all key providers that are referred to.
func (w *making) providers(refs []hcl.Traversal) (map[string]cty.Value, diag.List) {
	var diags diag.List
	byType := map[string]map[string]cty.Value{}
	for _, ref := range refs {
		if ref.RootName() != "key_provider" {
			continue
		}
		typ, name, ok := parts(ref, "key_provider")
		if !ok {
			diags.Add(Bad.As("Invalid Key Provider expression format").Error(ref.SourceRange(), "The key_provider symbol must be followed by two more attribute names specifying the type and name of the selected key provider."))
			continue
		}
		k, more := w.provider(typ, name, ref.SourceRange())
		diags.Append(more)
		if byType[typ] == nil {
			byType[typ] = map[string]cty.Value{}
		}
		byType[typ][name] = cty.ObjectVal(map[string]cty.Value{"encryption_key": bytesValue(k.encrypt), "decryption_key": bytesValue(k.decrypt)})
	}
	if len(byType) == 0 {
		return nil, diags
	}
	all := map[string]cty.Value{}
	for typ, names := range byType {
		all[typ] = cty.ObjectVal(names)
	}
	return map[string]cty.Value{"key_provider": cty.ObjectVal(all)}, diags
}

// provider makes the keys of a key provider, once for each method.
func (w *making) provider(typ, name string, at hcl.Range) (keys, diag.List) {
	var diags diag.List
	i := slices.IndexFunc(w.config.keys, func(b *block) bool { return b.typ == typ && b.name == name })
	if i < 0 {
		diags.Add(diag.BadReference.As("Reference to undeclared key provider").Error(at, "There is no key_provider %q %q block declared in the encryption block.", typ, name))
		return keys{}, diags
	}
	b := w.config.keys[i]
	if k, ok := w.done[b]; ok {
		return k, nil
	}
	if slices.Contains(w.stack, b) {
		var chain []string
		for _, s := range append(w.stack, b) {
			chain = append(chain, s.address())
		}
		diags.Add(diag.Cycle.As("Circular reference detected").Error(b.rng, "Cannot load %s due to circular reference between key providers. Stack trace %s", b.address(), strings.Join(chain, " -> ")))
		return keys{}, diags
	}
	w.stack = append(w.stack, b)
	k, diags := w.make(b)
	w.stack = w.stack[:len(w.stack)-1]
	if !diags.HasErrors() {
		w.done[b] = k
	}
	return k, diags
}

func (b *block) address() string { return "key_provider." + b.typ + "." + b.name }

func (w *making) make(b *block) (keys, diag.List) {
	var diags diag.List
	typ, ok := keyProviders()[b.typ]
	if s, found := w.services[b.typ]; found && !ok {
		typ, ok = s.provider(), true
	}
	if !ok {
		diags.Add(NoKey.As(fmt.Sprintf("Error fetching key_provider %q", b.typ)).Error(b.rng, "key provider with ID %s not found. There are %s.", b.typ, strings.Join(slices.Sorted(maps.Keys(w.types())), ", ")))
		return keys{}, diags
	}
	values, diags := w.arguments(b, typ.arguments)
	if diags.HasErrors() {
		return keys{}, diags
	}
	key := b.address()
	if b.alias != "" {
		key = b.alias
	}
	in := provided{purpose: w.purpose, values: values, meta: w.in[key], run: w.run, once: w.once(b)}
	if v, ok := values["chain"]; ok {
		chain, more := decodeKeys(v, w.rangeOf(b, "chain"))
		diags.Append(more)
		if more.HasErrors() {
			return keys{}, diags
		}
		in.chain = &chain
	}
	k, meta, err := typ.make(in)
	if err != nil {
		summary := "Unable to fetch encryption key data"
		if f, ok := err.(failure); ok {
			summary = f.summary
		}
		diags.Add(Bad.As(summary).Error(b.rng, "%s failed with error: %s", key, err))
		return keys{}, diags
	}
	if _, taken := w.out[key]; taken {
		diags.Add(diag.Duplicate.As("Duplicate metadata key").Error(b.rng, "The metadata key %s is duplicated across multiple key providers for the same method; use the encrypted_metadata_alias option to specify unique metadata keys for each key provider in an encryption method", key))
		return keys{}, diags
	}
	w.out[key] = meta
	return k, diags
}

// types are those of key providers.
func (m *maker) types() map[string]bool {
	all := map[string]bool{}
	for name := range keyProviders() {
		all[name] = true
	}
	for name := range m.services {
		all[name] = true
	}
	return all
}

// once keeps what a block made without metadata.
func (m *maker) once(b *block) func(func() (keys, []byte, error)) (keys, []byte, error) {
	return func(f func() (keys, []byte, error)) (keys, []byte, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if have, ok := m.external[b]; ok {
			return have.keys, have.meta, nil
		}
		k, meta, err := f()
		if err == nil {
			m.external[b] = externalKeys{k, meta}
		}
		return k, meta, err
	}
}

// decodeKeys reads an object with keys, such as a key provider.
func decodeKeys(v cty.Value, at hcl.Range) (keys, diag.List) {
	var k keys
	var diags diag.List
	if ty := v.Type(); !ty.IsObjectType() && !ty.IsMapType() {
		diags.Add(Bad.As("Expected key_provider value").Error(at, "Expected a key_provider compatible value, found %s instead", ty.FriendlyName()))
		return k, diags
	}
	values := v.AsValueMap()
	if _, ok := values["encryption_key"]; !ok {
		diags.Add(Bad.As("Missing encryption_key value").Error(at, "An encryption_key value is required in the key_provider compatible object at this location"))
		return k, diags
	}
	for name, into := range map[string]*[]byte{"encryption_key": &k.encrypt, "decryption_key": &k.decrypt} {
		if v, ok := values[name]; ok {
			b, err := bytesOf(v)
			if err != nil {
				diags.Add(Bad.As("Unsuitable value type").Error(at, "The value of %s is not a key: %s.", name, err))
			}
			*into = b
		}
	}
	diags.Sort()
	return k, diags
}

// list names what a table has.
func list[T any](table map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ", ")
}

// bytesValue is how expressions see bytes: a list of numbers.
func bytesValue(b []byte) cty.Value {
	if len(b) == 0 {
		return cty.NullVal(cty.List(cty.Number))
	}
	values := make([]cty.Value, len(b))
	for i, n := range b {
		values[i] = cty.NumberIntVal(int64(n))
	}
	return cty.ListVal(values)
}

// bytesOf reads a list of numbers, null for none.
func bytesOf(v cty.Value) ([]byte, error) {
	v, err := convert.Convert(v, cty.List(cty.Number))
	if err != nil {
		return nil, fmt.Errorf("it has to be a list of numbers from 0 to 255")
	}
	if v.IsNull() {
		return nil, nil
	}
	b := make([]byte, 0, v.LengthInt())
	for _, n := range v.AsValueSlice() {
		i, ok := wholeNumber(n)
		if !ok || i < 0 || i > 255 {
			return nil, fmt.Errorf("it has to be a list of numbers from 0 to 255")
		}
		b = append(b, byte(i))
	}
	return b, nil
}

// wholeNumber reads a number that fits in an int.
func wholeNumber(v cty.Value) (int, bool) {
	if v.IsNull() || !v.IsKnown() {
		return 0, false
	}
	n, accuracy := v.AsBigFloat().Int64()
	return int(n), accuracy == 0 && n == int64(int(n))
}
