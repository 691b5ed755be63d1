package handshake

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
)

// Shutdown asks the plugin to end. It may do so before it has answered.
func Shutdown(ctx context.Context, conn grpc.ClientConnInterface) error {
	return conn.Invoke(ctx, "/plugin.GRPCController/Shutdown", &message{}, &message{}, grpc.ForceCodec(codec{}))
}

// Print passes on what the plugin prints until the connection or ctx ends. A plugin that
// doesn't send it is left alone.
func Print(ctx context.Context, conn grpc.ClientConnInterface, stdout, stderr io.Writer) {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/plugin.GRPCStdio/StreamStdio", grpc.ForceCodec(codec{}))
	if err != nil || stream.SendMsg(&message{}) != nil || stream.CloseSend() != nil {
		return
	}
	for {
		var m message
		if stream.RecvMsg(&m) != nil {
			return
		}
		// Anything that can't be written is nobody's but the writer's problem.
		switch m.channel {
		case 1:
			_, _ = stdout.Write(m.data)
		case 2:
			_, _ = stderr.Write(m.data)
		}
	}
}

// A message is what both services send: nothing, or a piece of output and the number of
// its stream.
type message struct {
	channel uint64 // field 1
	data    []byte // field 2
}

// A codec encodes messages, so that they need no generated code.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(any) ([]byte, error) { return nil, nil }

func (codec) Unmarshal(b []byte, v any) error {
	m := v.(*message)
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		switch {
		case number == 1 && kind == protowire.VarintType:
			m.channel, n = protowire.ConsumeVarint(b)
		case number == 2 && kind == protowire.BytesType:
			var data []byte
			data, n = protowire.ConsumeBytes(b)
			m.data = append([]byte(nil), data...) // the buffer is used again
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return errors.New("a piece of output can't be decoded")
		}
		b = b[n:]
	}
	return nil
}
