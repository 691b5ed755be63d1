package plugin

import (
	"encoding/binary"
	"errors"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

var errCutOff = errors.New("the provider's schema is incomplete")

// remembered makes schemas of what declared.marshal wrote. Only the bytes of the types that
// are asked for are ever decoded: of a provider with a thousand types that is most of the
// work. Anything that was written had been translated without a problem.
func remembered(data []byte, name string) (schemas *provider.Schemas, askFirst bool, err error) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) { // #nosec G115 -- n bytes of data were read
		return nil, false, errCutOff
	}
	data = data[n:]
	var answer tfplugin6.GetProviderSchema_Response
	field := fieldsOf(&answer)
	resources, dataSources, ephemerals := entries{}, entries{}, entries{}
	lists, actions, identities := entries{}, entries{}, entries{}
	rest, err := split(data[:size], map[protowire.Number]entries{
		field("resource_schemas"): resources, field("data_source_schemas"): dataSources,
		field("ephemeral_resource_schemas"): ephemerals, field("list_resource_schemas"): lists,
		field("action_schemas"): actions,
	})
	if err == nil {
		err = proto.Unmarshal(rest, &answer)
	}
	if err == nil {
		_, err = split(data[size:], map[protowire.Number]entries{
			fieldsOf(&tfplugin6.GetResourceIdentitySchemas_Response{})("identity_schemas"): identities,
		})
	}
	if err != nil {
		return nil, false, err
	}
	schemas, askFirst, diags := declared{schemas: &answer}.translate(name)
	if len(diags) > 0 {
		return nil, false, diags.Err()
	}
	t := &translation{types: make(map[string]cty.Type)}
	schemas.Resources = t.late(resources, func(name string, raw []byte) *schema.Schema {
		s := t.decoded(raw)
		if id, ok := identities[name]; ok {
			var in tfplugin6.ResourceIdentitySchema
			if proto.Unmarshal(id, &in) == nil {
				t.identity(s, &in)
			}
		}
		return s
	})
	plain := func(_ string, raw []byte) *schema.Schema { return t.decoded(raw) }
	schemas.DataSources, schemas.Ephemerals = t.late(dataSources, plain), t.late(ephemerals, plain)
	schemas.Lists = t.late(lists, plain)
	schemas.Actions = t.late(actions, func(_ string, raw []byte) *schema.Schema {
		var in tfplugin6.ActionSchema
		_ = proto.Unmarshal(raw, &in) // as in decoded
		return t.schema(in.GetSchema())
	})
	return schemas, askFirst, nil
}

// late are types that are made of their bytes when they are asked for.
func (t *translation) late(in entries, make func(name string, raw []byte) *schema.Schema) provider.Types {
	out := provider.Types{}
	for name, raw := range in {
		out[name] = provider.Late(func() *schema.Schema {
			t.mu.Lock()
			defer t.mu.Unlock()
			return make(name, raw)
		})
	}
	return out
}

// decoded is the schema that bytes stand for. They are as a message of this type
// was once written, and a checksum has held since, so there is no problem.
func (t *translation) decoded(raw []byte) *schema.Schema {
	var in tfplugin6.Schema
	_ = proto.Unmarshal(raw, &in)
	return t.schema(&in)
}

// entries are the values of a map in a message, as bytes.
type entries map[string][]byte

// split takes the maps with the given field numbers out of a message and returns
// the other fields.
func split(message []byte, maps map[protowire.Number]entries) (rest []byte, err error) {
	for len(message) > 0 {
		number, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, errCutOff
		}
		size := protowire.ConsumeFieldValue(number, typ, message[n:])
		if size < 0 {
			return nil, errCutOff
		}
		if into, ok := maps[number]; ok && typ == protowire.BytesType {
			entry, _ := protowire.ConsumeBytes(message[n:])
			if err := into.add(entry); err != nil {
				return nil, err
			}
		} else {
			rest = append(rest, message[:n+size]...)
		}
		message = message[n+size:]
	}
	return rest, nil
}

// add reads an entry of a map: its key is field 1 and its value field 2.
func (e entries) add(entry []byte) error {
	var key, value []byte
	for len(entry) > 0 {
		number, typ, n := protowire.ConsumeTag(entry)
		if n < 0 || typ != protowire.BytesType {
			return errCutOff
		}
		data, size := protowire.ConsumeBytes(entry[n:])
		if size < 0 {
			return errCutOff
		}
		switch number {
		case 1:
			key = data
		case 2:
			value = data
		}
		entry = entry[n+size:]
	}
	e[string(key)] = value
	return nil
}

// fieldsOf gives the numbers of a message's fields by their names.
func fieldsOf(m proto.Message) func(protoreflect.Name) protowire.Number {
	fields := m.ProtoReflect().Descriptor().Fields()
	return func(name protoreflect.Name) protowire.Number { return fields.ByName(name).Number() }
}
