package batch

import (
	"bytes"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A Kind is what becomes of an object.
type Kind string

// The kinds. A plan has the kind of the change that it plans.
const (
	Reading  Kind = "read"
	Creating Kind = "create"
	Updating Kind = "update"
	Deleting Kind = "delete"
)

// A Request is one request of a batch, with the parts that both protocols have.
type Request struct {
	Kind Kind
	// Prior is the object as it is: of a read the object to read, null for one that is created.
	Prior Value
	// Planned is the object as planned, of a plan as proposed. It is null for one that is deleted, and for reads.
	Planned Value
	// Config is the configuration, null for reads.
	Config Value
	// Private are the provider's private data.
	Private []byte
}

// A Value is an object as the protocol has it: one of the two encodings. In terraform-plugin-go it is a
// DynamicValue with the same fields.
type Value struct{ MsgPack, JSON []byte }

// IsNull reports whether there is no object.
func (v Value) IsNull() bool {
	switch {
	case len(v.MsgPack) > 0:
		return bytes.Equal(v.MsgPack, []byte{0xc0})
	case len(v.JSON) > 0:
		return string(bytes.TrimSpace(v.JSON)) == "null"
	}
	return true
}

// Typed are the requests of a batch in their order. Server packages of providers are internal, so their
// messages can't be named; these can.
func (b Batch) Typed() []Request {
	out := make([]Request, len(b.Requests))
	for i, message := range b.Requests {
		out[i] = b.Method.request(message)
	}
	return out
}

func (m Method) request(message proto.Message) Request {
	if m == Read {
		return Request{Kind: Reading, Prior: value(message, "current_state"), Private: private(message, "private")}
	}
	r := Request{Kind: Updating, Prior: value(message, "prior_state"), Config: value(message, "config")}
	if m == Plan {
		r.Planned, r.Private = value(message, "proposed_new_state"), private(message, "prior_private")
	} else {
		r.Planned, r.Private = value(message, "planned_state"), private(message, "planned_private")
	}
	switch {
	case r.Prior.IsNull():
		r.Kind = Creating
	case r.Planned.IsNull():
		r.Kind = Deleting
	}
	return r
}

// field is a field of a message, which may be missing.
func field(m protoreflect.Message, name protoreflect.Name) (protoreflect.Value, bool) {
	f := m.Descriptor().Fields().ByName(name)
	if f == nil || !m.Has(f) {
		return protoreflect.Value{}, false
	}
	return m.Get(f), true
}

func private(message proto.Message, name protoreflect.Name) []byte {
	v, ok := field(message.ProtoReflect(), name)
	if !ok {
		return nil
	}
	return v.Bytes()
}

func value(message proto.Message, name protoreflect.Name) Value {
	v, ok := field(message.ProtoReflect(), name)
	if !ok {
		return Value{}
	}
	var out Value
	if b, ok := field(v.Message(), "msgpack"); ok {
		out.MsgPack = b.Bytes()
	}
	if b, ok := field(v.Message(), "json"); ok {
		out.JSON = b.Bytes()
	}
	return out
}
