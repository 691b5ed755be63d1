// Package query queries list resources for existing objects, and writes configuration to
// import them.
//
// It owns what becomes of the answers. It doesn't know what else a configuration has, or write
// files.
package query

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/configgen"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// A Finder answers for the list resources of a configuration. Its methods may be called
// from several tasks at once.
type Finder struct {
	Context context.Context
	Pool    *providerclient.Pool
	Sink    event.Sink // nil for nobody
	// Generate: configuration is written for what is found.
	Generate bool

	mu   sync.Mutex
	list []*plan.Listing
}

// Listings are what was found, in the order of the blocks and their keys.
func (f *Finder) Listings(root *eval.Frame) []*plan.Listing {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortFunc(f.list, func(a, b *plan.Listing) int {
		if x, y := root.Program.ResourceByName[a.Addr.Name].Index, root.Program.ResourceByName[b.Addr.Name].Index; x != y {
			return x - y
		}
		return a.Addr.Compare(b.Addr)
	})
	return f.list
}

// Find is the value of an instance of a list resource: an object whose attribute data has
// what was found.
func (f *Finder) Find(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	pi, ok := i.Provider(t)
	if !ok {
		return cty.DynamicVal, false
	}
	conn := f.Pool.Open(t, pi)
	if conn == nil {
		return cty.DynamicVal, false
	}
	a := &asking{Finder: f, instance: i, conn: conn, schema: conn.Schemas.Resource(addr.List, i.Addr.Name.Type), of: conn.Schemas.Resources.Schema(i.Addr.Name.Type)}
	switch {
	case a.schema == nil:
		return cty.DynamicVal, t.Report(resourceconfig.Unsupported(i.Resource.TypeRange, pi.Addr.Provider, i.Addr.Name, conn.Schemas)...)
	case conn.Schemas.Found(i.Addr.Name.Type) == cty.NilType:
		return cty.DynamicVal, t.Report(lifecycle.InvalidObject.Error(i.Resource.TypeRange, "The provider %s has a list resource %q, but no resource of that type with an identity, to distinguish found objects. This is a bug in the provider.", pi.Addr.Provider.ForDisplay(), i.Addr.Name.Type))
	}
	listing, ok := a.ask(t)
	if !ok {
		return cty.DynamicVal, false
	}
	f.mu.Lock()
	f.list = append(f.list, listing)
	f.mu.Unlock()
	return valueOf(listing), true
}

// valueOf is a listing as references see it.
func valueOf(l *plan.Listing) cty.Value {
	data := make([]cty.Value, len(l.Found))
	for n, found := range l.Found {
		data[n] = cty.ObjectVal(map[string]cty.Value{"display_name": cty.StringVal(found.Name), "identity": found.Identity, "state": found.Object})
	}
	return cty.ObjectVal(map[string]cty.Value{"data": cty.TupleVal(data)})
}

// An asking is one list resource instance at its provider.
type asking struct {
	*Finder
	instance   *eval.Instance
	conn       *providerclient.Conn
	schema, of *schema.Schema
}

// ask evaluates what is requested, and asks.
func (a *asking) ask(t *promise.Task) (*plan.Listing, bool) {
	i := a.instance
	config, ok := resourceconfig.Configure(t, i, a.schema)
	extent, fits := resourceconfig.ExtentOf(t, i)
	if !ok || !fits {
		return nil, false
	}
	if !config.Value.IsWhollyKnown() || !extent.Known {
		return nil, t.Report(resourceconfig.BadList.As("Query isn't known").Error(i.Resource.Range, "The arguments of %s depend on a value that is known only after apply. Apply first, or write the value itself.", i.Addr))
	}
	var more diag.List
	a.Pool.Call(func() { more = a.conn.ValidateResource(a.Context, addr.List, i.Addr.Name.Type, config.Value) })
	if !t.Report(providerclient.Locate(more, i.Resource.Config, "")...) {
		return nil, false
	}
	listing := &plan.Listing{Addr: i.Addr, Config: config.Kept(a.schema)}
	a.tell(event.ListStart, listing, nil)
	request := provider.ListRequest{Type: i.Addr.Name.Type, Config: config.Value, Objects: extent.Whole || a.Generate, Limit: extent.Limit}
	var problems diag.List
	name := ""
	if a.Generate {
		name = a.name(t)
	}
	size := 0 // of what the provider said, which may be without end
	a.conn.Ask(a.Context, providerclient.Once, i.Addr.Name, func() diag.List {
		if extent.Limit == 0 {
			return nil
		}
		more = a.conn.List(a.Context, request, func(r provider.ListResult) bool {
			if size += sizeOf(r); size > value.MaxSize {
				problems.Add(diag.TooLarge.As("Too much found").Error(i.Resource.Range, "The objects that the provider found for %s take more than %d MiB, so weir stopped the query. Ask for fewer objects with the limit argument or a narrower configuration, or set WEIR_MAX_VALUE to a higher number of MiB.", i.Addr, value.MaxSize>>20))
				return false
			}
			problems.Append(r.Diags)
			if r.Diags.HasErrors() {
				return false
			}
			if r.Identity == cty.NilVal && len(r.Diags) > 0 {
				return true // a warning by itself
			}
			found, wrong := a.found(name, r, len(listing.Found))
			problems.Append(wrong)
			if found == nil {
				return false
			}
			listing.Found = append(listing.Found, found)
			a.tell(event.ListFound, listing, found)
			return int64(len(listing.Found)) < extent.Limit
		})
		return more
	})
	problems.Append(more)
	if !t.Report(providerclient.Locate(problems, i.Resource.Config, "")...) {
		return nil, false
	}
	a.tell(event.ListComplete, listing, nil)
	return listing, true
}

// sizeOf estimates the memory that a result takes, in bytes.
func sizeOf(r provider.ListResult) int {
	n := len(r.Name) + 256
	for _, v := range []cty.Value{r.Identity, r.Object} {
		if v != cty.NilVal {
			n += value.Size(v, value.MaxSize)
		}
	}
	for _, d := range r.Diags {
		n += len(d.Summary) + len(d.Detail) + 256
	}
	return n
}

func (a *asking) tell(kind event.Kind, l *plan.Listing, found *plan.Found) {
	if a.Sink != nil {
		a.Sink(event.Event{Kind: kind, Addr: addr.Object{Instance: l.Addr}, Listing: l, Found: found})
	}
}

// found holds an answer to the schema. It is nil after an error; name begins the names of what is
// generated, and number is how many there were before.
func (a *asking) found(name string, r provider.ListResult, number int) (*plan.Found, diag.List) {
	found := &plan.Found{Name: r.Name, Identity: r.Identity, IdentityVersion: a.of.IdentityVersion, Object: cty.NullVal(a.of.Block.ImpliedType())}
	wrong := func(what string) (*plan.Found, diag.List) {
		return nil, lifecycle.InvalidObject.List("Provider %q returned %s for an object that %s found.\n\nThis is a bug in the provider, which should be reported in the provider's own issue tracker.", a.conn.Addr.Provider, what, a.instance.Addr)
	}
	if r.Identity == cty.NilVal || r.Identity.IsNull() || !r.Identity.IsWhollyKnown() || len(contract.Conforms(r.Identity, a.of.Identity.ImpliedType())) > 0 {
		return wrong("no identity")
	}
	object := r.Object
	if object != cty.NilVal && !object.IsNull() {
		if !object.IsWhollyKnown() || len(contract.Conforms(object, a.of.Block.ImpliedType())) > 0 {
			return wrong("attributes that don't fit the schema")
		}
		found.Object = a.of.Block.MarkSensitive(object)
	}
	if a.Generate {
		resource := addr.Name{Mode: addr.Managed, Type: a.instance.Addr.Name.Type, Name: name + "_" + strconv.Itoa(number)}
		from := a.provider()
		object, choose := found.Object, configgen.Choice(configgen.Settable)
		if !object.IsNull() {
			config, given, diags := a.conn.Configuration(a.Context, resource.Type, a.of.Block, object)
			if diags.HasErrors() {
				return nil, diags
			}
			if given {
				object, choose = config, configgen.Given
			}
		}
		found.Resource = configgen.Resource(resource, from, a.of.Block, object, choose)
		found.Import = configgen.Import(resource, from, found.Identity)
	}
	return found, nil
}

// name begins the names of generated resources: that of the block, with the place of the
// instance among those of the block.
func (a *asking) name(t *promise.Task) string {
	i := a.instance
	if i.Resource.Repeat.IsSingle() {
		return i.Addr.Name.Name
	}
	place := slices.Index(i.Frame.Instances(t, i.Resource, nil), i)
	return i.Addr.Name.Name + "_" + strconv.Itoa(place)
}

// provider is the provider argument of what is generated.
func (a *asking) provider() string {
	use := a.instance.Resource.Provider
	text := use.LocalName
	if use.Alias != "" {
		text += "." + use.Alias
	}
	return text + a.conn.Addr.Key.String()
}
