package plugin

import (
	"crypto/sha256"
	"sync"
	"weak"

	"weir.dev/weir/internal/provider"
)

// Decoded has remembered schemas that several catalogs share, as long as one of them uses
// them. The zero value has none.
type Decoded struct {
	mu    sync.Mutex
	known map[decodedKey]sharedSchemas
}

type decodedKey struct {
	name string
	hash [sha256.Size]byte
}

type sharedSchemas struct {
	schemas  weak.Pointer[provider.Schemas]
	askFirst bool
}

// of is remembered, or what another catalog made of the same bytes if that is in use.
func (d *Decoded) of(data []byte, name string) (schemas *provider.Schemas, askFirst bool, err error) {
	if d == nil {
		return remembered(data, name)
	}
	key := decodedKey{name, sha256.Sum256(data)}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.known[key]
	if schemas := known.schemas.Value(); schemas != nil {
		return schemas, known.askFirst, nil
	}
	if schemas, askFirst, err = remembered(data, name); err != nil {
		return nil, false, err
	}
	if d.known == nil {
		d.known = map[decodedKey]sharedSchemas{}
	}
	d.known[key] = sharedSchemas{weak.Make(schemas), askFirst}
	return schemas, askFirst, nil
}

// Share has the catalog use schemas that other catalogs have decoded.
func (c *Catalog) Share(d *Decoded) { c.decoded = d }
