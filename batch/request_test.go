package batch_test

import (
	"bytes"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"weir.dev/weir/batch"
)

// messages are requests as servers have them: by the names of the protocol's fields.
func messages(t *testing.T) protoreflect.MessageDescriptors {
	t.Helper()
	field := func(number int32, name string, message bool) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{
			Name: proto.String(name), Number: proto.Int32(number),
			Type: descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		if message {
			f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(".t.DynamicValue")
		}
		return f
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("t.proto"), Package: proto.String("t"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("DynamicValue"), Field: []*descriptorpb.FieldDescriptorProto{field(1, "msgpack", false), field(2, "json", false)}},
			{Name: proto.String("Read"), Field: []*descriptorpb.FieldDescriptorProto{field(2, "current_state", true), field(3, "private", false)}},
			{Name: proto.String("Plan"), Field: []*descriptorpb.FieldDescriptorProto{field(2, "prior_state", true), field(3, "proposed_new_state", true), field(4, "config", true), field(5, "prior_private", false)}},
			{Name: proto.String("Apply"), Field: []*descriptorpb.FieldDescriptorProto{field(2, "prior_state", true), field(3, "planned_state", true), field(4, "config", true), field(5, "planned_private", false)}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Messages()
}

// TestTyped: requests of both protocols have the same parts.
func TestTyped(t *testing.T) {
	all := messages(t)
	make := func(name protoreflect.Name, fields map[protoreflect.Name]string) proto.Message {
		m := dynamicpb.NewMessage(all.ByName(name))
		for field, text := range fields {
			f := m.Descriptor().Fields().ByName(field)
			if f.Kind() == protoreflect.BytesKind {
				m.Set(f, protoreflect.ValueOfBytes([]byte(text)))
				continue
			}
			v := dynamicpb.NewMessage(all.ByName("DynamicValue"))
			encoding := protoreflect.Name("msgpack")
			if text == "null" {
				encoding = "json"
			}
			v.Set(v.Descriptor().Fields().ByName(encoding), protoreflect.ValueOfBytes([]byte(text)))
			m.Set(f, protoreflect.ValueOfMessage(v))
		}
		return m
	}
	packed := func(text string) batch.Value { return batch.Value{MsgPack: []byte(text)} }
	null := batch.Value{JSON: []byte("null")}
	for _, tt := range []struct {
		method  batch.Method
		message proto.Message
		want    batch.Request
	}{
		{batch.Read, make("Read", map[protoreflect.Name]string{"current_state": "a", "private": "p"}), batch.Request{Kind: batch.Reading, Prior: packed("a"), Private: []byte("p")}},
		{
			batch.Plan, make("Plan", map[protoreflect.Name]string{"prior_state": "a", "proposed_new_state": "b", "config": "c", "prior_private": "p"}),
			batch.Request{Kind: batch.Updating, Prior: packed("a"), Planned: packed("b"), Config: packed("c"), Private: []byte("p")},
		},
		{
			batch.Apply, make("Apply", map[protoreflect.Name]string{"prior_state": "\xc0", "planned_state": "b", "config": "c", "planned_private": "p"}),
			batch.Request{Kind: batch.Creating, Prior: packed("\xc0"), Planned: packed("b"), Config: packed("c"), Private: []byte("p")},
		},
		{
			batch.Apply, make("Apply", map[protoreflect.Name]string{"prior_state": "a", "planned_state": "null"}),
			batch.Request{Kind: batch.Deleting, Prior: packed("a"), Planned: null},
		},
		{batch.Read, &text{}, batch.Request{Kind: batch.Reading}}, // no message of the protocol
	} {
		got := batch.Batch{Method: tt.method, Requests: []proto.Message{tt.message}}.Typed()
		if !reflect.DeepEqual(got, []batch.Request{tt.want}) {
			t.Errorf("%s: %q, want %q", tt.method, got, tt.want)
		}
	}
	if packed("a").IsNull() || !null.IsNull() || !packed("\xc0").IsNull() || !(batch.Value{}).IsNull() || !bytes.Equal(null.JSON, []byte("null")) {
		t.Error("only a value without an object is null")
	}
}
