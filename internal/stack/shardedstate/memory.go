package shardedstate

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/state"
)

// A Memory is what has to be known of a deployment, or of its components, when the
// configuration has it no more.
type Memory struct {
	// Inputs are values, but for ephemeral ones, as JSON with their types.
	Inputs map[string]Remembered `json:"inputs,omitempty"`
	// Components are by address without keys.
	Components map[string]Origin `json:"components,omitempty"`
}

// A Remembered is a value.
type Remembered struct {
	Value     json.RawMessage `json:"value"`
	Type      json.RawMessage `json:"type"`
	Sensitive bool            `json:"sensitive,omitempty"`
}

// An Origin is where the module of a component or stack came from, and its provider
// configurations as stacks write them, by what the module calls them. A key that has no
// constant value is each.key.
type Origin struct {
	Source    string            `json:"source"`
	Version   string            `json:"version,omitempty"`
	Providers map[string]string `json:"providers,omitempty"`
}

// OriginOf is the origin of what a call calls.
func OriginOf(c *program.Call, child *program.Tree) Origin {
	o := Origin{Source: child.Source, Version: child.Version, Providers: map[string]string{}}
	for _, p := range c.Providers {
		name := p.LocalName
		if p.Alias != "" {
			name += "." + p.Alias
		}
		o.Providers[name] = providerText(p)
	}
	return o
}

// providerText is a provider configuration as stacks write it.
func providerText(p *program.PassedProvider) string {
	text := "provider." + p.Outer.LocalName + "." + p.Outer.Alias
	if p.Outer.Key == nil {
		return text
	}
	if v, diags := p.Outer.Key.Value(nil); !diags.HasErrors() && v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
		return text + "[" + addr.Quote(v.AsString()) + "]"
	}
	return text + "[each.key]"
}

// Recall is what a state remembers; empty where that is nothing.
func Recall(s *state.Snapshot) (m Memory, err error) {
	if s != nil && len(s.Memory) > 0 {
		err = json.Unmarshal(s.Memory, &m)
	}
	return m, err
}

// Text is the memory as states have it.
func (m *Memory) Text() []byte {
	text, err := json.Marshal(m)
	if err != nil {
		return nil // its values are JSON already
	}
	return text
}

// Remember is what is to be kept of a deployment with these inputs.
func Remember(t *program.Tree, inputs map[string]cty.Value) *Memory {
	m := &Memory{Inputs: map[string]Remembered{}, Components: map[string]Origin{}}
	for name, in := range inputs {
		v := t.Program.VariableByName[name]
		if v == nil || v.Ephemeral || in == cty.NilVal || value.IsEphemeral(in) || !in.IsWhollyKnown() {
			continue
		}
		bare, _ := in.UnmarkDeep()
		text, err := ctyjson.Marshal(bare, bare.Type())
		if err != nil {
			continue
		}
		ty, err := ctyjson.MarshalType(bare.Type())
		if err != nil {
			continue
		}
		m.Inputs[name] = Remembered{text, ty, v.Sensitive || value.IsSensitive(in)}
	}
	origins(t, addr.Root, m.Components)
	return m
}

// Values are the inputs, as far as they can be read.
func (m Memory) Values() map[string]cty.Value {
	values := map[string]cty.Value{}
	for name, in := range m.Inputs {
		ty, err := ctyjson.UnmarshalType(in.Type)
		if err != nil {
			continue
		}
		v, err := ctyjson.Unmarshal(in.Value, ty)
		if err != nil {
			continue
		}
		if in.Sensitive {
			v = v.Mark(value.Sensitive)
		}
		values[name] = v
	}
	return values
}

// origins notes the components and stacks of a stack, and of those below it.
func origins(t *program.Tree, at addr.Module, all map[string]Origin) {
	for _, c := range t.Program.Calls {
		children := t.Of(c.Call)
		if c.Kind == addr.ModuleCall || len(children) != 1 {
			continue
		}
		m := at.Child(c.Call, addr.NoKey)
		all[m.String()] = OriginOf(c, children[0])
		if c.Kind == addr.Stack {
			origins(children[0], m, all)
		}
	}
}
