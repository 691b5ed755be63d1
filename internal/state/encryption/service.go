package encryption

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
)

// Services are types of key providers by name whose keys are encrypted by a service.
type Services map[string]Service

// A Service is one such type.
type Service struct {
	// Schema is the shape of its blocks. Those of its arguments that are objects are
	// written as blocks if Blocks names them.
	Schema func() *schema.Block
	Blocks []string
	// Open makes a keeper from a configuration of the schema's implied type. It asks
	// the service for nothing.
	Open func(config cty.Value) (Keeper, error)
}

// A Keeper has a service make keys, or encrypt them, and decrypt them again.
type Keeper interface {
	// Size is how many bytes keys have.
	Size() int
	// Make makes a key, and what finds it again, which becomes JSON.
	Make(ctx context.Context) (key []byte, meta any, err error)
	// Find finds the key by that JSON.
	Find(ctx context.Context, meta []byte) (key []byte, err error)
}

// provider is the type of key providers.
func (s Service) provider() keyProvider {
	block := s.Schema()
	var all []argument
	for _, name := range slices.Sorted(maps.Keys(block.Attributes)) {
		a := block.Attributes[name]
		all = append(all, argument{name: name, typ: typeOf(a), required: a.Required, block: slices.Contains(s.Blocks, name)})
	}
	return keyProvider{arguments: all, make: func(in provided) (keys, []byte, error) { return s.make(block, in) }}
}

// typeOf is the type of an argument, in which what needn't be set may be left out.
func typeOf(a *schema.Attribute) cty.Type {
	if a.Nested == nil {
		return a.Type
	}
	types, optional := map[string]cty.Type{}, []string(nil)
	for name, inner := range a.Nested.Attributes {
		types[name] = typeOf(inner)
		if !inner.Required {
			optional = append(optional, name)
		}
	}
	return cty.ObjectWithOptionalAttrs(types, optional)
}

// patience is how long a service may take for a key, with all that comes before it.
const patience = time.Minute

func (s Service) make(block *schema.Block, in provided) (keys, []byte, error) {
	config := block.EmptyValue().AsValueMap()
	maps.Copy(config, in.values)
	keeper, err := s.Open(cty.ObjectVal(config))
	if err != nil {
		return keys{}, nil, invalid("%w", err)
	}
	standIn := make([]byte, keeper.Size())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch {
	case in.purpose == checking:
		return keys{encrypt: standIn}, []byte("{}"), nil
	case in.purpose == sealing:
		key, meta, err := keeper.Make(ctx)
		if err != nil {
			return keys{}, nil, fmt.Errorf("failed to make a key: %w", err)
		}
		text, err := json.Marshal(meta)
		return keys{encrypt: key}, text, err
	case in.meta == nil:
		return keys{encrypt: standIn}, nil, nil // something else was sealed
	}
	key, err := keeper.Find(ctx, in.meta)
	if err != nil {
		return keys{}, nil, fmt.Errorf("failed to decrypt the key: %w", err)
	}
	return keys{encrypt: standIn, decrypt: key}, nil, nil
}
