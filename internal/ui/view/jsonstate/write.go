package jsonstate

import (
	"bytes"
	"encoding/json"
	"io"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
)

// Marshal is Write into a text.
func Marshal(s *state.Snapshot, schemas map[addr.Provider]*provider.Schemas) ([]byte, error) {
	var b bytes.Buffer
	err := Write(&b, s, schemas)
	return b.Bytes(), err
}

// Write writes a state one object after the other, so that a large one takes no memory for its
// document. Schemas may lack providers. After an error the document is cut off.
func Write(out io.Writer, s *state.Snapshot, schemas map[addr.Provider]*provider.Schemas) error {
	w := &writer{out: out, state: s, schemas: schemas}
	w.text(`{"format_version":`)
	w.json(FormatVersion)
	if !s.IsEmpty() {
		if s.Version != "" {
			w.text(`,"terraform_version":`)
			w.json(s.Version)
		}
		w.values()
		if checks := Checks(s.Checks); len(checks) > 0 {
			w.text(`,"checks":`)
			w.json(checks)
		}
	}
	w.text("}")
	return w.err
}

type writer struct {
	out     io.Writer
	state   *state.Snapshot
	schemas map[addr.Provider]*provider.Schemas
	err     error // the first one; nothing is written after it
}

func (w *writer) text(text string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.out, text)
	}
}

func (w *writer) json(v any) {
	if w.err != nil {
		return
	}
	text, err := json.Marshal(v)
	if err == nil {
		_, err = w.out.Write(text)
	}
	w.err = err
}

func (w *writer) values() {
	w.text(`,"values":{`)
	outputs, err := Outputs(w.state.Outputs)
	if err != nil {
		w.err = err
	}
	if len(outputs) > 0 {
		w.text(`"outputs":`)
		w.json(outputs)
		w.text(",")
	}
	// The objects of a module are next to each other.
	tree := NewTree[[]addr.Object]()
	for all := w.state.Addresses(); len(all) > 0; {
		n := 1
		for n < len(all) && all[n].Module == all[0].Module {
			n++
		}
		tree.Add(all[0].Module, all[:n])
		all = all[n:]
	}
	w.text(`"root_module":`)
	w.module(tree.Root())
	w.text("}")
}

func (w *writer) module(m *Module[[]addr.Object]) {
	separator := "{"
	if len(m.Resources) > 0 {
		w.text(`{"resources":`)
		before := "["
		for _, objects := range m.Resources {
			for _, at := range objects {
				w.text(before)
				w.object(at)
				before = ","
			}
		}
		w.text("]")
		separator = ","
	}
	if m.Address != "" {
		w.text(separator + `"address":`)
		w.json(m.Address)
		separator = ","
	}
	if len(m.Children) > 0 {
		w.text(separator + `"child_modules":`)
		before := "["
		for _, child := range m.Children {
			w.text(before)
			w.module(child)
			before = ","
		}
		w.text("]")
		separator = ","
	}
	if separator == "{" {
		w.text(separator)
	}
	w.text("}")
}

func (w *writer) object(at addr.Object) {
	if w.err != nil {
		return
	}
	o := w.state.Objects[at]
	r, err := object(at, o, Schema(w.schemas, o.Provider.Provider, at.Name))
	if err != nil {
		w.err = err
		return
	}
	w.json(r)
}
