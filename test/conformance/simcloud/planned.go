package main

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The numbers of fields of protocol 6.11, which the libraries don't know yet.
const (
	plannedPrivateField = 9 // of PlanResourceChange.Request
	storesPlannedField  = 3 // of ClientCapabilities
	computedBlocksField = 4 // of ClientCapabilities
	computedField       = 8 // of Schema.Block
)

// A planCapability marks the context of a plan by an engine that has a capability.
type planCapability int

const (
	replans        planCapability = iota // the plan has the private data of an earlier one, which the engine stores
	computesBlocks                       // the engine lets providers choose blocks
)

func (c planCapability) in(ctx context.Context) bool { return ctx.Value(c) != nil }

// isReplan reports whether a call to plan has the private data of an earlier plan, from an
// engine that says that it stores it.
func isReplan(ctx context.Context) bool { return replans.in(ctx) }

// seeNewest adds to calls what the libraries don't know: the capabilities of plans, and computed
// blocks in schemas.
func seeNewest(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if m, ok := request.(proto.Message); ok && strings.HasSuffix(info.FullMethod, "/PlanResourceChange") {
		ctx = markPlans(ctx, m)
	}
	answer, err := handle(ctx, request)
	if m, ok := answer.(proto.Message); ok && err == nil && strings.HasSuffix(info.FullMethod, "/GetProviderSchema") {
		declareComputedBlocks(m)
	}
	return answer, err
}

// markPlans marks the context of calls to plan with the capabilities that all of them have.
func markPlans(ctx context.Context, requests ...proto.Message) context.Context {
	all := func(test func(proto.Message) bool) bool {
		return !slices.ContainsFunc(requests, func(m proto.Message) bool { return !test(m) })
	}
	if all(func(m proto.Message) bool {
		return has(m.ProtoReflect().GetUnknown(), plannedPrivateField) && capable(m, storesPlannedField)
	}) {
		ctx = context.WithValue(ctx, replans, true)
	}
	if all(func(m proto.Message) bool { return capable(m, computedBlocksField) }) {
		ctx = context.WithValue(ctx, computesBlocks, true)
	}
	return ctx
}

// capable reports whether a request has a capability.
func capable(request proto.Message, number protowire.Number) bool {
	r := request.ProtoReflect()
	capabilities := r.Descriptor().Fields().ByName("client_capabilities")
	return capabilities != nil && has(r.Get(capabilities).Message().GetUnknown(), number)
}

// declareComputedBlocks says of the blocks of sim_listener that the provider may choose them.
func declareComputedBlocks(answer proto.Message) {
	r := answer.ProtoReflect()
	field := func(name string) protoreflect.FieldDescriptor {
		return r.Descriptor().Fields().ByName(protoreflect.Name(name))
	}
	listener := r.Get(field("resource_schemas")).Map().Get(protoreflect.ValueOfString(listenerType).MapKey())
	if !listener.IsValid() {
		return
	}
	r = listener.Message()
	r = r.Get(field("block")).Message()
	list := r.Get(field("block_types")).List()
	for i := range list.Len() {
		r = list.Get(i).Message()
		block := r.Get(field("block")).Message()
		block.SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, computedField, protowire.VarintType), 1))
	}
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
