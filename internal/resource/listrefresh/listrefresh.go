// Package listrefresh refreshes many objects with one list of a provider: objects that the list shows
// unchanged need no read.
//
// It owns which types that is done for, the lists, one for each provider instance and type,
// and matching what is listed with objects by their identities. A list only reports that an object is unchanged: anything else is for code that reads the object
// itself. It doesn't know what objects are inspected for.
package listrefresh

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/state"
)

// Trust says for which types lists are trusted to tell of objects what reading them does,
// and how many objects there have to be for a list to be asked.
type Trust = map[ratelimit.Of]int

// Lists are the lists of one run. They may be asked by several tasks at once; nil has none.
type Lists struct {
	ctx   context.Context
	trust Trust
	count func() map[source]int
	tell  func(diag.List)

	mu    sync.Mutex
	cells map[source]*promise.Cell[listed]
}

// A source is a provider instance, asked for a type.
type source struct {
	at  addr.ProviderConfig
	typ string
}

func (s source) String() string { return fmt.Sprintf("the list of all %s of %s", s.typ, s.at) }

// listed is what a list has of objects, by the hash of their identities.
type listed map[int][]entry

// An entry is what is known of the object with an identity. Without a value nothing is.
type entry struct{ identity, value cty.Value }

// New makes lists for looking at objects of a state: those of whom wanted says so, all with
// nil. tell learns why a list isn't used. Without trust the result is nil.
func New(ctx context.Context, trust Trust, s *state.Snapshot, wanted func(addr.Object, *state.Object) bool, tell func(diag.List)) *Lists {
	if len(trust) == 0 || s == nil {
		return nil
	}
	count := sync.OnceValue(func() map[source]int {
		n := map[source]int{}
		for at, o := range s.Objects {
			of := source{o.Provider, at.Name.Type}
			if trust[of.of()] > 0 && at.Name.Mode == addr.Managed && len(o.IdentityJSON) > 0 && (wanted == nil || wanted(at, o)) {
				n[of]++
			}
		}
		return n
	})
	return &Lists{ctx: ctx, trust: trust, count: count, tell: tell, cells: map[source]*promise.Cell[listed]{}}
}

func (s source) of() ratelimit.Of { return ratelimit.Of{Provider: s.at.Provider, Type: s.typ} }

// Unchanged reports whether a list reports that an object is as it was. The first who asks has
// the list made, and others wait.
func (l *Lists) Unchanged(t *promise.Task, conn *providerclient.Conn, s lifecycle.Subject, o lifecycle.Object) bool {
	if l == nil || o.Tainted || o.Identity == cty.NilVal || o.Identity.IsNull() || s.Meta != cty.NilVal && !s.Meta.IsNull() {
		return false
	}
	from := source{conn.Addr, s.Addr.Name.Type}
	if least := l.trust[from.of()]; least == 0 || l.count()[from] < least {
		return false
	}
	l.mu.Lock()
	cell := l.cells[from]
	if cell == nil {
		cell = new(promise.Cell[listed])
		l.cells[from] = cell
	}
	l.mu.Unlock()
	found, _, circle := cell.Get(t, from, nil, func(*promise.Task) (listed, bool) { return l.list(conn, s, from), true })
	if circle != nil {
		return false // it asks nothing that could be one
	}
	e := found.find(o.Identity)
	same := e != nil && e.value != cty.NilVal && e.value.RawEquals(o.Value)
	if same {
		metrics.Listed.Add(1)
	}
	return same
}

func (l listed) find(identity cty.Value) *entry {
	list := l[identity.Hash()]
	for i := range list {
		if list[i].identity.RawEquals(identity) {
			return &list[i]
		}
	}
	return nil
}

// add takes in what is reported about an object. Where that was reported before otherwise,
// nothing is known of it.
func (l listed) add(identity, value cty.Value) {
	if e := l.find(identity); e == nil {
		l[identity.Hash()] = append(l[identity.Hash()], entry{identity, value})
	} else if e.value != cty.NilVal && (value == cty.NilVal || !e.value.RawEquals(value)) {
		e.value = cty.NilVal
	}
}

// among is how many objects may be listed for one that is looked for: an account may have
// many that others manage.
const among, leastLimit = 10, 1000

// list asks for all objects of a type. After a problem nothing is known of any.
func (l *Lists) list(conn *providerclient.Conn, s lifecycle.Subject, from source) listed {
	of := conn.Schemas.Lists.Schema(from.typ)
	if of == nil || s.Schema.Identity == nil {
		return l.without(from, "the provider has no list of these objects with identities, to distinguish them")
	}
	config, wrong := of.Block.Decode(hcl.EmptyBody(), nil)
	diags := eval.Diagnostics(wrong)
	if !diags.HasErrors() {
		conn.Ask(l.ctx, providerclient.Plan, addr.Name{Mode: addr.List, Type: from.typ}, func() diag.List {
			diags = conn.ValidateResource(l.ctx, addr.List, from.typ, config)
			return diags
		})
	}
	if diags.HasErrors() {
		return l.without(from, "the list can't be asked for without arguments: "+reason(diags))
	}
	request := provider.ListRequest{Type: from.typ, Config: config, Objects: true, Limit: int64(max(leastLimit, among*l.count()[from]))}
	var found listed
	conn.Ask(l.ctx, providerclient.Read, addr.Name{Mode: addr.List, Type: from.typ}, func() diag.List {
		metrics.Lists.Add(1)
		found = listed{}
		var problems diag.List
		n := int64(0)
		more := conn.List(l.ctx, request, func(r provider.ListResult) bool {
			n++
			problems.Append(found.take(s, r))
			return !problems.HasErrors() && n < request.Limit
		})
		diags = append(problems, more...)
		return diags
	})
	if diags.HasErrors() || l.ctx.Err() != nil {
		return l.without(from, "the list failed: "+reason(diags))
	}
	return found
}

// take holds what is reported about an object to the schema. Anything that is wrong with one
// object is a problem of the list only where it isn't known which object that is.
func (l listed) take(s lifecycle.Subject, r provider.ListResult) diag.List {
	if r.Identity == cty.NilVal || r.Identity.IsNull() {
		if len(r.Diags) > 0 {
			return r.Diags // also a warning by itself
		}
		return lifecycle.InvalidObject.List("an object has no identity")
	}
	if len(contract.Identity(s.Schema.Identity, r.Identity, false)) > 0 {
		return lifecycle.InvalidIdentity.List("an object has an identity that doesn't fit the schema")
	}
	v := r.Object
	if r.Diags.HasErrors() || v == cty.NilVal || v.IsNull() || len(contract.Conforms(v, s.Schema.Block.ImpliedType())) > 0 ||
		!v.IsWhollyKnown() || len(contract.WriteOnlyNull(s.Schema.Block, v)) > 0 {
		l.add(r.Identity, cty.NilVal)
		return nil
	}
	l.add(r.Identity, contract.NormalizeLegacy(s.Schema.Block, v))
	return nil
}

// without reports why nothing is known from a list.
func (l *Lists) without(from source, why string) listed {
	if l.ctx.Err() == nil {
		l.tell(diag.List{{
			Severity: diag.Warning, Code: NoList.Name, Summary: NoList.Summary,
			Detail: fmt.Sprintf("The CLI configuration has lists used for %s of %s (by_list), but %s.\n\nThe objects were read one by one. Nothing is wrong with the result.", from.typ, from.at.Provider.ForDisplay(), why),
		}})
	}
	return nil
}

// reason is the first error, in short.
func reason(diags diag.List) string {
	for _, d := range diags {
		if d.Severity == diag.Error {
			if d.Detail != "" {
				return d.Detail
			}
			return d.Summary
		}
	}
	return "it gave no reason"
}
