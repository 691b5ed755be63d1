package planfile

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
)

// The long lists of a plan are written and read one record at a time: the records of
// all objects together would be as large as the plan.

// changeList is a list of changes.
type changeList struct {
	types *typeTable
	list  []*plan.Change
	raw   msgpack.RawMessage // as it was read
}

// EncodeMsgpack implements msgpack.CustomEncoder.
func (l *changeList) EncodeMsgpack(e *msgpack.Encoder) error {
	if err := e.EncodeArrayLen(len(l.list)); err != nil {
		return err
	}
	var r changeRecord
	var err error
	for _, c := range l.list {
		if r, err = fromChange(l.types, c); err == nil {
			err = e.Encode(&r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DecodeMsgpack implements msgpack.CustomDecoder.
func (l *changeList) DecodeMsgpack(d *msgpack.Decoder) (err error) {
	l.raw, err = d.DecodeRaw()
	return err
}

// changes makes the changes that were read, whose types are known by now.
func (l *changeList) changes(types typeReader) ([]*plan.Change, error) {
	if l == nil {
		return nil, nil
	}
	d, n, err := elements(l.raw)
	if err != nil || n == 0 {
		return nil, err
	}
	list, alike := make([]*plan.Change, n), map[addr.Name]*plan.Change{}
	for i := range list {
		var r changeRecord
		if err := d.Decode(&r); err != nil {
			return nil, err
		}
		list[i] = &plan.Change{}
		if err := toChange(list[i], types, r); err != nil {
			return nil, err
		}
		c := list[i]
		if of := alike[c.Addr.Name]; of != nil {
			c.Share(of)
		}
		alike[c.Addr.Name] = c
	}
	l.raw = nil
	return list, nil
}

// stepList is the list of steps.
type stepList struct {
	list []execgraph.Step
	raw  msgpack.RawMessage // as it was read
}

// EncodeMsgpack implements msgpack.CustomEncoder.
func (l *stepList) EncodeMsgpack(e *msgpack.Encoder) error {
	if err := e.EncodeArrayLen(len(l.list)); err != nil {
		return err
	}
	for i := range l.list {
		r := fromStep(&l.list[i])
		if err := e.Encode(&r); err != nil {
			return err
		}
	}
	return nil
}

// DecodeMsgpack implements msgpack.CustomDecoder.
func (l *stepList) DecodeMsgpack(d *msgpack.Decoder) (err error) {
	l.raw, err = d.DecodeRaw()
	return err
}

// graph makes the graph that was read, of a plan that has all but it.
func (l *stepList) graph(p *plan.Plan) (*execgraph.Graph, error) {
	if l == nil {
		l = &stepList{}
	}
	d, n, err := elements(l.raw)
	if err != nil {
		return nil, err
	}
	g := &execgraph.Graph{Steps: make([]execgraph.Step, n)}
	for i := range n {
		var r stepRecord
		if err := d.Decode(&r); err != nil {
			return nil, err
		}
		if r.Invocation < 0 || r.Invocation > len(p.Invocations) || (r.Kind == execgraph.Invoke.String()) != (r.Invocation > 0) {
			return nil, fmt.Errorf("step %d invokes nothing that the plan has", i)
		}
		if err := toStep(&g.Steps[i], r); err != nil {
			return nil, err
		}
		shareWith(p.Changes, &g.Steps[i])
		if s := &g.Steps[i]; s.When > execgraph.OnFailure || s.Of < 0 || int(s.Of) >= n {
			return nil, fmt.Errorf("step %d has a condition that can't be read", i)
		}
	}
	l.raw = nil
	return g, g.Verify(len(p.Changes))
}

// shareWith has a step say in the words of its change what is the same.
func shareWith(changes []*plan.Change, s *execgraph.Step) {
	if s.Change < 1 || s.Change > len(changes) {
		return
	}
	c := changes[s.Change-1]
	if s.At() == c.Addr {
		s.Object = &c.Addr
	}
	if s.Provider != nil && *s.Provider == *c.Provider {
		s.Provider = c.Provider
	}
}

// leastRecord is less than the bytes that any record takes.
const leastRecord = 6

// elements begins to read an array, of which it reports the length. None is an empty one.
func elements(raw msgpack.RawMessage) (*msgpack.Decoder, int, error) {
	if len(raw) == 0 {
		return nil, 0, nil
	}
	d := msgpack.NewDecoder(bytes.NewReader(raw))
	n, err := d.DecodeArrayLen()
	if err == nil && n > len(raw)/leastRecord {
		err = errors.New("a list claims to be longer than it is")
	}
	return d, max(n, 0), err
}

func fromStep(s *execgraph.Step) stepRecord {
	r := stepRecord{Kind: s.Kind.String(), Name: s.Name, Module: string(s.Module), When: uint8(s.When), Of: int(s.Of), Change: s.Change, Invocation: s.Invocation, Batch: s.Batch}
	if s.Object != nil {
		r.Object = objectAddr{s.Object.Instance.String(), s.Object.Deposed}
	}
	if s.Provider != nil {
		r.Provider = s.Provider.String()
	}
	for _, a := range s.After {
		r.After = append(r.After, int(a))
	}
	for _, a := range s.Takes {
		r.Takes = append(r.Takes, int(a))
	}
	return r
}

func toStep(s *execgraph.Step, r stepRecord) error {
	kind, err := execgraph.ParseKind(r.Kind)
	if err != nil {
		return err
	}
	m, err := addr.ParseModule(r.Module)
	if err != nil {
		return err
	}
	*s = execgraph.Step{Kind: kind, Name: r.Name, Module: m, When: execgraph.When(r.When), Of: execgraph.ID(r.Of), Change: r.Change, Invocation: r.Invocation, Batch: r.Batch}
	if r.Object.Instance != "" {
		object, err := toObject(r.Object)
		if err != nil {
			return err
		}
		s.Object = &object
	}
	if r.Provider != "" {
		provider, err := addr.ParseProviderConfig(r.Provider)
		if err != nil {
			return err
		}
		s.Provider = &provider
	}
	for _, a := range r.After {
		s.After = append(s.After, execgraph.ID(a))
	}
	for _, a := range r.Takes {
		s.Takes = append(s.Takes, execgraph.ID(a))
	}
	return nil
}
