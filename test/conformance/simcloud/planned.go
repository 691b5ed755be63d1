package main

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The numbers of fields of protocol 6.11, which the libraries don't know yet.
const (
	plannedPrivateField = 9 // of PlanResourceChange.Request
	storesPlannedField  = 3 // of ClientCapabilities
)

type replanKey struct{}

// isReplan reports whether a call to plan has the private data of an earlier plan, from an
// engine that says that it stores it.
func isReplan(ctx context.Context) bool { return ctx.Value(replanKey{}) != nil }

// seeReplans marks the contexts of such calls.
func seeReplans(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if m, ok := request.(proto.Message); ok && strings.HasSuffix(info.FullMethod, "/PlanResourceChange") {
		ctx = markReplans(ctx, m)
	}
	return handle(ctx, request)
}

// markReplans marks the context of calls to plan, if all of them are such calls.
func markReplans(ctx context.Context, requests ...proto.Message) context.Context {
	for _, m := range requests {
		r := m.ProtoReflect()
		capabilities := r.Descriptor().Fields().ByName("client_capabilities")
		if !has(r.GetUnknown(), plannedPrivateField) || capabilities == nil || !has(r.Get(capabilities).Message().GetUnknown(), storesPlannedField) {
			return ctx
		}
	}
	return context.WithValue(ctx, replanKey{}, true)
}

// has reports whether encoded fields have one of a number.
func has(fields []byte, number protowire.Number) bool {
	for len(fields) > 0 {
		n, _, length := protowire.ConsumeField(fields)
		if length < 0 {
			return false
		}
		if n == number {
			return true
		}
		fields = fields[length:]
	}
	return false
}
