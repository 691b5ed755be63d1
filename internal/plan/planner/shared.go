package planner

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/state"
)

// A remote is what surely names one object outside: a provider finds one object of a
// type by an import ID or by an identity, with one configuration. Under another
// configuration, such as that of another region, equal names are another object.
type remote struct {
	provider addr.ProviderConfig
	typ      string
	by       naming
	text     string
}

// A naming is the kind of name.
type naming uint8

const (
	byID naming = iota
	byIdentity
)

// A holder is an address that has an object, or gets it.
type holder struct {
	addr addr.Object
	at   *hcl.Range // of its import block, nil for an object of the state
}

// shared warns of imports of one object to two addresses, and of those of an object
// that the state has at another address: the caller that deletes one of the two deletes the
// object of the other.
func (m *imports) shared(objects []*object, p *prior.Prior) diag.List {
	if len(m.found) == 0 {
		return nil
	}
	var imported []*object
	types := map[remote]bool{} // of what is imported
	forgotten := map[addr.Object]bool{}
	for _, o := range objects {
		if o.change != nil && o.change.Action == plan.Forget {
			forgotten[addr.Object{Instance: o.previous(), Deposed: o.addr.Deposed}] = true
		}
		if target := m.find(o.addr.Instance); target != nil && target.done != nil && o.stored != nil && o.addr.Deposed == "" {
			imported = append(imported, o)
			types[remote{provider: o.stored.Provider, typ: o.addr.Name.Type}] = true
		}
	}
	held := map[remote]holder{}
	for _, a := range p.Snapshot.Addresses() {
		o := p.Snapshot.Objects[a]
		if len(types) == 0 || !types[remote{provider: o.Provider, typ: a.Name.Type}] || forgotten[a] {
			continue
		}
		now := addr.Object{Instance: p.Now(a.Instance), Deposed: a.Deposed}
		for _, name := range namesOf(a.Name.Type, o, idOf(o)) {
			held[name] = holder{addr: now}
		}
	}
	var diags diag.List
	for _, o := range imported {
		target := m.find(o.addr.Instance)
		for _, name := range namesOf(o.addr.Name.Type, o.stored, target.done.ID) {
			first, taken := held[name]
			if taken && first.at == nil && name.by == byID && name.text != idOf(o.stored) {
				// The attribute id identifies the object only if imports of the type use
				// it as their ID.
				taken = false
			}
			if !taken {
				held[name] = holder{*o.addr, &target.block.Range}
				continue
			}
			diags.Add(sharedObject(*o.addr, target, first))
			break
		}
	}
	return diags
}

func sharedObject(to addr.Object, target *importTarget, first holder) diag.Diagnostic {
	named := "the ID " + addr.Quote(target.done.ID)
	if target.done.ID == "" {
		named = "its identity"
	}
	where := fmt.Sprintf("the state has it at %s", first.addr)
	if first.at != nil {
		where = fmt.Sprintf("%s imports it too", first.addr)
		if first.at.Filename != "" {
			where = fmt.Sprintf("the import block at %s:%d,%d imports it to %s", first.at.Filename, first.at.Start.Line, first.at.Start.Column, first.addr)
		}
	}
	return SharedObject.Warning(target.block.Range, "%s is imported by %s, and %s. Both addresses then manage one object: when one of them is destroyed, the object of the other is gone.\n\nRemove one of the two addresses. To give the object to %s, use a moved block, or a removed block with destroy = false for the other address.", to, named, where, to)
}

// namesOf is what an object surely has as names, where its ID may be empty.
func namesOf(typ string, o *state.Object, id string) []remote {
	var names []remote
	if id != "" {
		names = append(names, remote{o.Provider, typ, byID, id})
	}
	if text := identityText(o.IdentityJSON); text != "" {
		names = append(names, remote{o.Provider, typ, byIdentity, text})
	}
	return names
}

// idOf is the attribute id of an object, or empty.
func idOf(o *state.Object) string {
	var attributes struct{ ID *string }
	if json.Unmarshal(o.JSON, &attributes) != nil || attributes.ID == nil {
		return ""
	}
	return *attributes.ID
}

// identityText is an identity in a form that is equal for equal ones; empty for none.
func identityText(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var parts map[string]any
	if d.Decode(&parts) != nil || len(parts) == 0 {
		return ""
	}
	same, err := json.Marshal(parts)
	if err != nil {
		return ""
	}
	return string(same)
}
