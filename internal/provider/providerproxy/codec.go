package providerproxy

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// A message is the bytes of one.
type message struct{ data []byte }

// plain leaves messages as they are.
type plain struct{}

func (plain) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("%T is no message of a guard", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(m.data)}, nil
}

func (plain) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("%T is no message of a guard", v)
	}
	m.data = data.Materialize()
	return nil
}

// Name is that of the codec whose messages these are.
func (plain) Name() string { return "proto" }
