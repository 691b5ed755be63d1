package moves

import (
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
)

// Repetition is how the configuration repeats a resource or module call.
type Repetition uint8

const (
	Absent  Repetition = iota // it isn't there
	Single                    // neither count nor for_each; also with enabled
	Counted                   // count
	Other                     // for_each, or not known
)

// key is the key that an only instance has.
func (r Repetition) key() (addr.Key, bool) {
	switch r {
	case Single:
		return addr.NoKey, true
	case Counted:
		return addr.IntKey(0), true
	}
	return addr.NoKey, false
}

// A Declarations reports how the configuration repeats what it declares, and where. Addresses
// carry keys, which don't matter.
type Declarations interface {
	Resource(addr.Resource) (Repetition, hcl.Range)
	Call(caller addr.Module, c addr.Call) (Repetition, hcl.Range)
}

// Implied makes the statements that nobody writes: where count was added or
// taken away since, the object without a key and the one with key 0 are the
// same. Whatever an explicit statement mentions is left to that.
//
// It looks at the addresses in the prior state once each.
func Implied(explicit []Statement, prior []addr.Instance, config Declarations) []Statement {
	x := &implied{config: config, mentioned: newIndex(), modules: newIndex(), seen: make(map[string]bool)}
	for i, s := range explicit {
		c := compile(s)
		for _, end := range []pattern{c.from, c.to} {
			// A resource is mentioned with all its instances, a module by
			// what is moved in it too.
			if !end.isModule() {
				end.key = addr.AnyKey
				x.mentioned.add(end, i)
			}
			if len(end.steps) > 0 {
				x.modules.add(end.module(len(end.steps)), i)
			}
		}
	}
	for _, i := range prior {
		x.aroundModule(i.Module)
		x.resource(i)
	}
	return x.out
}

type implied struct {
	config    Declarations
	mentioned *index
	modules   *index
	seen      map[string]bool
	out       []Statement
}

func (x *implied) resource(i addr.Instance) {
	if i.Name.Mode == addr.Ephemeral || !movable(i.Key) {
		return
	}
	repetition, r := x.config.Resource(i.Resource)
	key, ok := repetition.key()
	if !ok || key == i.Key || len(x.mentioned.overlapping(exactly(i))) > 0 {
		return
	}
	x.add(i.String(), program.Endpoint{Module: i.Module, Name: i.Name, Key: i.Key},
		program.Endpoint{Module: i.Module, Name: i.Name, Key: key}, r)
}

// aroundModule looks at a module and all modules around it.
func (x *implied) aroundModule(m addr.Module) {
	for ; !m.IsRoot() && !x.seen["in "+string(m)]; m, _, _ = m.Parent() {
		x.seen["in "+string(m)] = true
		caller, step, _ := m.Parent()
		if !movable(step.Key) {
			continue
		}
		repetition, r := x.config.Call(caller, step.Call)
		key, ok := repetition.key()
		if !ok || key == step.Key || len(x.modules.overlapping(pattern{steps: m.Steps()})) > 0 {
			continue
		}
		x.add(m.String(), program.Endpoint{Module: m}, program.Endpoint{Module: caller.Child(step.Call, key)}, r)
	}
}

func movable(k addr.Key) bool { return k == addr.NoKey || k == addr.IntKey(0) }

func (x *implied) add(text string, from, to program.Endpoint, r hcl.Range) {
	if x.seen[text] {
		return
	}
	x.seen[text] = true
	from.Range, to.Range = r, r
	x.out = append(x.out, Statement{From: from, To: to, Range: r, Implied: true})
}
