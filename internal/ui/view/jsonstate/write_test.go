package jsonstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

// atOnce is the document of a state, marshalled as a whole.
func atOnce(t *testing.T, s *state.Snapshot) string {
	t.Helper()
	doc := struct {
		FormatVersion string        `json:"format_version"`
		Version       string        `json:"terraform_version,omitempty"`
		Values        *Values       `json:"values,omitempty"`
		Checks        []CheckResult `json:"checks,omitempty"`
	}{FormatVersion: FormatVersion}
	if !s.IsEmpty() {
		doc.Version, doc.Checks = s.Version, Checks(s.Checks)
		outputs, err := Outputs(s.Outputs)
		if err != nil {
			t.Fatal(err)
		}
		tree := NewTree[*Resource]()
		for _, at := range s.Addresses() {
			r, err := object(at, s.Objects[at], nil)
			if err != nil {
				t.Fatal(err)
			}
			tree.Add(at.Module, r)
		}
		doc.Values = &Values{outputs, *tree.Root()}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// random is some state, with any part of it missing now and then.
func random(r *rand.Rand) *state.Snapshot {
	s := state.Empty()
	if r.IntN(3) > 0 {
		s.Version = "1.12.6"
	}
	for i := range r.IntN(3) {
		s.Outputs[fmt.Sprint("o<", i)] = state.Output{Value: cty.StringVal("a&b"), Sensitive: r.IntN(2) > 0}
	}
	if r.IntN(2) > 0 {
		s.Checks = []state.CheckResult{{Kind: "check", Address: "check.c", Status: "pass"}}
	}
	for i := range r.IntN(12) {
		m := addr.Root
		for range r.IntN(3) {
			m = m.Child(addr.Mod(string('a'+rune(r.IntN(2)))), addr.IntKey(r.IntN(11)))
		}
		at := addr.Object{Instance: addr.Resource{Module: m, Name: addr.Name{Type: "t", Name: fmt.Sprint("n", i)}}.Instance(addr.IntKey(r.IntN(20)))}
		o := &state.Object{JSON: fmt.Appendf(nil, `{"text": "<%d>", "list": [1, null]}`, i), Tainted: r.IntN(5) == 0}
		if r.IntN(4) == 0 {
			at.Deposed = "00000001"
		}
		s.Objects[at] = o
	}
	return s
}

// TestWriteAsAtOnce: the document that is written bit by bit is the one that is marshalled at
// once.
func TestWriteAsAtOnce(t *testing.T) {
	for seed := range uint64(500) {
		s := random(rand.New(rand.NewPCG(seed, 0)))
		got, err := Marshal(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := atOnce(t, s); string(got) != want {
			t.Fatalf("seed %d: written\n%s\nand at once\n%s", seed, got, want)
		}
	}
}

// TestWriteStops: nothing is written after an object that can't be shown, and a failure to write
// is returned.
func TestWriteStops(t *testing.T) {
	s := state.Empty()
	for i, text := range []string{`{}`, `{"a": 1`, `{}`} {
		at := addr.Resource{Name: addr.Name{Type: "t", Name: fmt.Sprint("n", i)}}.Instance(addr.NoKey)
		s.Objects[addr.Object{Instance: at}] = &state.Object{JSON: []byte(text)}
	}
	var b bytes.Buffer
	if err := Write(&b, s, nil); err == nil || bytes.Contains(b.Bytes(), []byte("n1")) || bytes.Contains(b.Bytes(), []byte("n2")) {
		t.Errorf("%v after %s", err, b.Bytes())
	}
	if err := Write(full{}, s, nil); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
