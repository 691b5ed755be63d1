package planfile

import (
	"encoding/json"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
)

// A valueRecord is a value: its type by its place in the table of types, its
// bytes, and its marks. The zero record is no value at all.
type valueRecord struct {
	Type  int    `msgpack:"t"` // counted from 1; 0 means no value
	Bytes []byte `msgpack:"v"`
	Marks []mark `msgpack:"m,omitempty"`
}

// A mark is one mark at a path.
type mark struct {
	Path []byte `msgpack:"p"`
	Name string `msgpack:"n,omitempty"`
}

// A typeTable writes each different type once.
type typeTable struct {
	list   [][]byte
	byText map[string]int
	// recent has the type that last came with a hint, such as the resource
	// type whose value it is: mostly it comes again.
	recent map[hint]typeEntry
}

// A hint is equal for values that are likely to have the same type: those in
// the same place of the same kind of record.
type hint struct {
	kind  string
	name  addr.Name
	place int
}

type typeEntry struct {
	ty cty.Type
	id int
}

func newTypeTable() *typeTable {
	return &typeTable{byText: map[string]int{}, recent: map[hint]typeEntry{}}
}

func (t *typeTable) id(ty cty.Type, at hint) (int, error) {
	if last, ok := t.recent[at]; ok && last.ty.Equals(ty) {
		return last.id, nil
	}
	text, err := ctyjson.MarshalType(ty)
	if err != nil {
		return 0, err
	}
	id, ok := t.byText[string(text)]
	if !ok {
		t.list = append(t.list, text)
		id = len(t.list)
		t.byText[string(text)] = id
	}
	t.recent[at] = typeEntry{ty, id}
	return id, nil
}

// EncodeMsgpack implements msgpack.CustomEncoder.
func (t *typeTable) EncodeMsgpack(e *msgpack.Encoder) error { return e.Encode(t.list) }

// DecodeMsgpack implements msgpack.CustomDecoder.
func (t *typeTable) DecodeMsgpack(d *msgpack.Decoder) error { return d.Decode(&t.list) }

// encode writes a value.
func (t *typeTable) encode(v cty.Value, at hint) (valueRecord, error) {
	var r valueRecord
	if v == cty.NilVal {
		return r, nil
	}
	bare, marked := value.UnmarkDeepPaths(v)
	var err error
	if r.Type, err = t.id(bare.Type(), at); err != nil {
		return r, err
	}
	if bare.IsNull() {
		r.Bytes = []byte{msgpcode.Nil}
	} else if r.Bytes, err = ctymsgpack.Marshal(bare, bare.Type()); err != nil {
		return r, err
	}
	for _, pvm := range marked {
		path, err := value.PathsToJSON([]cty.Path{pvm.Path})
		if err != nil {
			return r, err
		}
		marks, err := encodeMarks(path, pvm.Marks)
		if err != nil {
			return r, err
		}
		r.Marks = append(r.Marks, marks...)
	}
	return r, nil
}

func encodeMarks(path []byte, marks cty.ValueMarks) ([]mark, error) {
	var out []mark
	for _, name := range []value.Mark{value.Sensitive, value.Ephemeral} {
		if _, ok := marks[name]; ok {
			out = append(out, mark{Path: path, Name: string(name)})
		}
	}
	for m := range marks {
		switch m := m.(type) {
		case value.Mark:
			if m != value.Sensitive && m != value.Ephemeral {
				return nil, fmt.Errorf("a value carries the unknown mark %q", string(m))
			}
		default:
			return nil, fmt.Errorf("a value carries a mark of unknown kind %T", m)
		}
	}
	return out, nil
}

// A typeReader is a typeTable read back.
type typeReader []cty.Type

func (t *typeTable) read() (typeReader, error) {
	if t == nil {
		return nil, nil
	}
	types := make(typeReader, len(t.list))
	for i, text := range t.list {
		ty, err := ctyjson.UnmarshalType(text)
		if err != nil {
			return nil, fmt.Errorf("type %d: %w", i+1, err)
		}
		types[i] = ty
	}
	return types, nil
}

func (t typeReader) decode(r valueRecord) (cty.Value, error) {
	if r.Type == 0 {
		return cty.NilVal, nil
	}
	if r.Type < 0 || r.Type > len(t) {
		return cty.NilVal, fmt.Errorf("a value has the type number %d of %d", r.Type, len(t))
	}
	v, err := ctymsgpack.Unmarshal(r.Bytes, t[r.Type-1])
	if err != nil {
		return cty.NilVal, err
	}
	if ty := t[r.Type-1]; ty.IsObjectType() && v.Type().Equals(ty) {
		v = value.WithType(v, ty) // one copy is enough for all
	}
	if len(r.Marks) == 0 {
		return v, nil
	}
	marks := make([]cty.PathValueMarks, 0, len(r.Marks))
	for _, m := range r.Marks {
		path, err := onePath(m.Path)
		if err != nil {
			return cty.NilVal, err
		}
		name := value.Mark(m.Name)
		if name != value.Sensitive && name != value.Ephemeral {
			return cty.NilVal, fmt.Errorf("a value carries the unknown mark %q", m.Name)
		}
		marks = append(marks, cty.PathValueMarks{Path: path, Marks: cty.NewValueMarks(name)})
	}
	return value.MarkPaths(v, marks), nil
}

// onePath reads a list of paths that has to have one.
func onePath(raw json.RawMessage) (cty.Path, error) {
	paths, err := value.PathsFromJSON(raw)
	if err != nil {
		return nil, err
	}
	if len(paths) != 1 {
		return nil, fmt.Errorf("%d paths where one is expected", len(paths))
	}
	return paths[0], nil
}
