package plugin

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// speak gives a connection on which the methods of protocol 6 can be called,
// whichever protocol the plugin has.
func speak(conn grpc.ClientConnInterface, protocol int) grpc.ClientConnInterface {
	if protocol == 5 {
		return conn5{conn}
	}
	return conn
}

// conn5 calls a plugin of protocol 5 with the messages of protocol 6. The two
// have the same bytes on the wire, but for the names of some methods and the
// numbers of two fields of schema attributes; TestProtocolsDiffer holds both
// contracts to that.
type conn5 struct{ conn grpc.ClientConnInterface }

// method5 is the full name of a method of protocol 6 in protocol 5. Methods of other services,
// which both protocols have, keep their names.
func method5(full string) string {
	name, ok := strings.CutPrefix(full, "/"+tfplugin6.Provider_ServiceDesc.ServiceName+"/")
	if !ok {
		return full
	}
	switch name {
	case "GetProviderSchema":
		name = "GetSchema"
	case "ValidateProviderConfig":
		name = "PrepareProviderConfig"
	case "ValidateResourceConfig":
		name = "ValidateResourceTypeConfig"
	case "ValidateDataResourceConfig":
		name = "ValidateDataSourceConfig"
	case "ConfigureProvider":
		name = "Configure"
	case "StopProvider":
		name = "Stop"
	}
	return "/tfplugin5.Provider/" + name
}

func (c conn5) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if err := c.conn.Invoke(ctx, method5(method), args, reply, opts...); err != nil {
		return err
	}
	if r, ok := reply.(*tfplugin6.GetProviderSchema_Response); ok {
		renumberSchemas(r)
	}
	return nil
}

func (c conn5) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.conn.NewStream(ctx, desc, method5(method), opts...)
}

// The numbers that protocol 5 has for these fields of an attribute. Protocol
// 6 has a message under 10 and a bool under 11, so that a decoder finds the
// wrong wire type and leaves the fields aside, as unknown.
const (
	writeOnly5          = 10 // a bool
	deprecationMessage5 = 11 // a string
)

func renumberSchemas(r *tfplugin6.GetProviderSchema_Response) {
	renumberBlock(r.GetProvider().GetBlock())
	renumberBlock(r.GetProviderMeta().GetBlock())
	for _, schemas := range []map[string]*tfplugin6.Schema{
		r.ResourceSchemas, r.DataSourceSchemas, r.EphemeralResourceSchemas, r.ListResourceSchemas,
	} {
		for _, s := range schemas {
			renumberBlock(s.GetBlock())
		}
	}
	for _, a := range r.ActionSchemas {
		renumberBlock(a.GetSchema().GetBlock())
	}
}

func renumberBlock(b *tfplugin6.Schema_Block) {
	for _, a := range b.GetAttributes() {
		if unknown := a.ProtoReflect().GetUnknown(); len(unknown) > 0 {
			renumberAttribute(a, unknown)
		}
	}
	for _, nested := range b.GetBlockTypes() {
		renumberBlock(nested.GetBlock())
	}
}

func renumberAttribute(a *tfplugin6.Schema_Attribute, fields []byte) {
	for len(fields) > 0 {
		number, kind, n := protowire.ConsumeTag(fields)
		if n < 0 {
			return
		}
		fields = fields[n:]
		switch {
		case number == writeOnly5 && kind == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(fields)
			a.WriteOnly = v != 0
		case number == deprecationMessage5 && kind == protowire.BytesType:
			text, _ := protowire.ConsumeString(fields)
			a.DeprecationMessage = text
		}
		if n = protowire.ConsumeFieldValue(number, kind, fields); n < 0 {
			return
		}
		fields = fields[n:]
	}
	a.ProtoReflect().SetUnknown(nil)
}
