package view

import (
	"fmt"
	"io"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/view/diff"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// State writes all objects and outputs of a state, as `show` does. Schemas may
// lack providers.
func State(w io.Writer, s *state.Snapshot, schemas map[addr.Provider]*provider.Schemas, o Options) error {
	p := printer{o: o}
	if s.IsEmpty() {
		p.WriteString("The state file is empty. No resources are represented.\n")
		return p.flush(w)
	}
	for i, a := range s.Addresses() {
		if i > 0 {
			p.WriteByte('\n')
		}
		if err := p.object(a, s.Objects[a], schemas); err != nil {
			return err
		}
		if p.Len() > 64<<10 { // the text of a large state would take several times its memory
			if err := p.flush(w); err != nil {
				return err
			}
		}
	}
	if len(s.Outputs) > 0 {
		p.WriteString("\n\nOutputs:\n\n")
		for _, name := range sortedKeys(s.Outputs) {
			v := covered(s.Outputs[name].Value, s.Outputs[name].Sensitive)
			p.printf("%s = %s\n", sanitize.Line(name), diff.Typed(v, v).Text(0, stateOptions(o)))
		}
	}
	return p.flush(w)
}

// Objects writes some objects of a state, as `state show` does.
func Objects(w io.Writer, s *state.Snapshot, list []addr.Object, schemas map[addr.Provider]*provider.Schemas, o Options) error {
	p := printer{o: o}
	for i, a := range list {
		if i > 0 {
			p.WriteByte('\n')
		}
		if err := p.object(a, s.Objects[a], schemas); err != nil {
			return err
		}
	}
	return p.flush(w)
}

func stateOptions(o Options) diff.Options {
	return diff.Options{Pen: o.Pen, ShowSensitive: o.ShowSensitive, ShowUnchanged: true, NoSymbols: true, NoNull: true}
}

func (p *printer) object(a addr.Object, obj *state.Object, schemas map[addr.Provider]*provider.Schemas) error {
	s := jsonstate.Schema(schemas, obj.Provider.Provider, a.Name)
	v, err := jsonstate.Decode(obj, s)
	if err != nil {
		return fmt.Errorf("the stored object of %s can't be read: %w", a, err)
	}
	v, repeated := jsonstate.Cover(v, s)
	bare, _ := v.UnmarkDeep()
	if s == nil || s.Block == nil || len(bare.Type().TestConformance(s.Block.ImpliedType())) > 0 {
		s = guess(v)
	}
	note := ""
	switch {
	case a.Deposed != "":
		note = " (deposed object " + a.Deposed + ")"
	case obj.Tainted:
		note = " (tainted)"
	}
	word := "resource"
	if a.Name.Mode == addr.Data {
		word = "data"
	}
	if bare == cty.NilVal || bare.IsNull() {
		v = s.Block.EmptyValue()
	}
	p.printf("# %s:%s\n%s %q %q %s\n", sanitize.Line(a.Instance.String()), note, word, a.Name.Type, a.Name.Name,
		diff.Object(v, v, s.Block, nil, nil).Text(0, stateOptions(p.o)))
	for _, path := range repeated {
		p.printf("# %s repeats a sensitive value, so it is hidden.\n", sanitize.Line(value.PathName(path)))
	}
	return nil
}
