package batching

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of the service are few and flat. They are written and read here, because
// generated code costs every start of the program, the caller that uses it.

// The numbers of fields in weir/batch/v1/batch.proto.
const (
	requestsType, requestsRequest       protowire.Number = 1, 2
	answersAnswer                       protowire.Number = 1
	answerResponse, answerError         protowire.Number = 1, 2
	descriptionLimits, descriptionTypes protowire.Number = 1, 2
	entryKey, entryValue                protowire.Number = 1, 2
	limitsRead, limitsPlan, limitsApply protowire.Number = 1, 2, 3
)

// A message is one that is written, or the bytes of one that is read.
type message struct {
	data []byte
	typ  string
}

// GetTypeName is the resource type that a request is about, for who looks at calls.
func (m *message) GetTypeName() string { return m.typ }

// plain leaves messages as they are.
type plain struct{}

// Marshal implements the codec.
func (plain) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("%T is no message of the batch service", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(m.data)}, nil
}

// Unmarshal implements the codec.
func (plain) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("%T is no message of the batch service", v)
	}
	m.data = data.Materialize()
	return nil
}

// Name is that of the codec whose messages these are.
func (plain) Name() string { return "proto" }

func requests(typ string, all [][]byte) *message {
	b := protowire.AppendString(protowire.AppendTag(nil, requestsType, protowire.BytesType), typ)
	for _, one := range all {
		b = protowire.AppendBytes(protowire.AppendTag(b, requestsRequest, protowire.BytesType), one)
	}
	return &message{b, typ}
}

var errCutOff = errors.New("a message of the batch service is cut off")

// fields calls take for each field of a message: with its bytes, or without any and its number
// where it is one. A field of the wrong kind is one that isn't known, as it is elsewhere.
func fields(b []byte, take func(n protowire.Number, data []byte, v uint64) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errCutOff
		}
		b = b[n:]
		var data []byte
		var v uint64
		switch kind {
		case protowire.BytesType:
			if data, n = protowire.ConsumeBytes(b); data == nil {
				data = []byte{}
			}
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		default:
			n, number = protowire.ConsumeFieldValue(number, kind, b), 0 // of no field
		}
		if n < 0 {
			return errCutOff
		}
		b = b[n:]
		if err := take(number, data, v); err != nil {
			return err
		}
	}
	return nil
}

// An outcome is the answer to one request: the message that answers the ordinary call, or why
// none exists.
type outcome struct {
	response []byte
	err      error
}

var errNoAnswer = errors.New("it gave no answer to one of several requests")

func outcomes(b []byte) (all []outcome, err error) {
	err = fields(b, func(n protowire.Number, data []byte, _ uint64) error {
		if n != answersAnswer || data == nil {
			return nil
		}
		o := outcome{err: errNoAnswer}
		err := fields(data, func(n protowire.Number, data []byte, _ uint64) error {
			switch {
			case data == nil:
			case n == answerResponse:
				o = outcome{response: data}
			case n == answerError:
				o = outcome{err: status.Error(codes.Unknown, string(data))}
			}
			return nil
		})
		all = append(all, o)
		return err
	})
	return all, err
}

// limits are how many requests a call may have.
type limits struct{ read, plan, apply uint64 }

// described reads what a plugin says of itself.
func described(b []byte) (all limits, types map[string]limits, err error) {
	types = map[string]limits{}
	err = fields(b, func(n protowire.Number, data []byte, _ uint64) error {
		switch {
		case data == nil:
		case n == descriptionLimits:
			return all.add(data)
		case n == descriptionTypes:
			var name string
			var of limits
			err := fields(data, func(n protowire.Number, data []byte, _ uint64) error {
				switch {
				case data == nil:
				case n == entryKey:
					name = string(data)
				case n == entryValue:
					return of.add(data)
				}
				return nil
			})
			types[name] = of
			return err
		}
		return nil
	})
	return all, types, err
}

func (l *limits) add(b []byte) error {
	return fields(b, func(n protowire.Number, data []byte, v uint64) error {
		if data != nil {
			return nil
		}
		if int64(v) < 0 { // #nosec G115 -- that is how negative numbers are written
			v = 0
		}
		switch n {
		case limitsRead:
			l.read = v
		case limitsPlan:
			l.plan = v
		case limitsApply:
			l.apply = v
		}
		return nil
	})
}
