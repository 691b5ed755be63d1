package evil

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	"weir.dev/weir/internal/provider/plugin/tfplugin5"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// The environment of a plugin says which call it does evil in, and how.
const (
	callEnv     = "EVIL_CALL"     // the name of the call in protocol 6
	doesEnv     = "EVIL_DOES"     // a behavior
	protocolEnv = "EVIL_PROTOCOL" // 5 or 6
	cloudEnv    = "EVIL_CLOUD"    // the folder of the objects
	logEnv      = "EVIL_LOG"      // a file that gets a line for each call
)

// behaviors has what an evil provider does in a call, and whether the engine must go on
// as with an honest one.
var behaviors = []struct {
	name, text string
	bearable   bool
}{
	{"garbled", "the message isn't protobuf", false},
	{"bad value", "the values in the message aren't msgpack", false},
	{"huge", "the message is larger than any may be", false},
	{"many", "20,000 errors", false},
	{"unknown", "all values are unknown", false},
	{"wrong type", "each text is a list, each number a text", false},
	{"nil", "the message is empty", false},
	{"twice", "a second message follows", false},
	{"refusal", "the call fails with 1 MiB of text with control characters", false},
	{"unimplemented", "the call isn't there", false},
	{"exit", "the process ends", false},
	{"panic", "the process panics", false},
	{"silence", "no answer", false},
	{"endless", "no answer, output without end; events without end in a stream", false},
	{"slow", "the answer takes half a second", true},
	{"output", "32 MiB on the standard output, and on the standard error", true},
	{"child", "a child that stays and holds the output open", true},
	{"stray", "the same in a session of its own", true},
	{"stays", "the process ignores the request to end, SIGTERM and SIGINT", true},
}

// names5 has the calls that protocol 5 names otherwise.
var names5 = map[string]string{
	"GetSchema": "GetProviderSchema", "PrepareProviderConfig": "ValidateProviderConfig",
	"ValidateResourceTypeConfig": "ValidateResourceConfig", "ValidateDataSourceConfig": "ValidateDataResourceConfig",
	"Configure": "ConfigureProvider", "Stop": "StopProvider",
}

// serve is the plugin.
func serve() {
	p := &evil{call: os.Getenv(callEnv), does: os.Getenv(doesEnv), protocol: os.Getenv(protocolEnv)}
	p.honest = &honest{cloud: os.Getenv(cloudEnv), stopped: make(chan struct{})}
	version := int(p.protocol[0] - '0')
	if p.does == "stays" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion:  uint(version),
			MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		VersionedPlugins: map[int]goplugin.PluginSet{version: {"provider": nothing{}}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.UnknownServiceHandler(p.answer), grpc.MaxSendMsgSize(1<<30))...)
		},
	})
	if p.does == "stays" {
		time.Sleep(time.Hour)
	}
}

// nothing registers no service: evil answers calls that no service has.
type nothing struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (nothing) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("not a client")
}
func (nothing) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }

// An evil provider is an honest one that misbehaves in one call. Both protocols have the
// same messages but for schemas, so that it works on those of protocol 6.
type evil struct {
	honest     *honest
	call, does string
	protocol   string
	changed    bool
}

// note appends a line to the log.
func note(format string, args ...any) {
	f, err := os.OpenFile(os.Getenv(logEnv), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintf(f, format+"\n", args...)
}

// raw is a message of any bytes.
func raw(data []byte) proto.Message {
	m := &emptypb.Empty{}
	m.ProtoReflect().SetUnknown(data)
	return m
}

// answer serves all calls.
func (p *evil) answer(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	name := method[strings.LastIndex(method, "/")+1:]
	if six, ok := names5[name]; ok {
		name = six
	}
	in := &emptypb.Empty{}
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	requests := [][]byte{in.ProtoReflect().GetUnknown()}
	for name == "WriteStateBytes" {
		in := &emptypb.Empty{}
		if err := stream.RecvMsg(in); err != nil {
			break
		}
		requests = append(requests, in.ProtoReflect().GetUnknown())
	}
	h := *p.honest
	h.encode = write
	evil := name == p.call
	if evil {
		note("%s asked", name) // the process may be ended before it answers
	}
	if evil && p.before() {
		h.encode = p.encode
	}
	messages, err := call(&h, name, requests, stream.Context())
	if err != nil {
		return err
	}
	if !evil {
		note("%s", name)
		for _, m := range messages {
			if err := stream.SendMsg(p.spoken(m)); err != nil {
				return err
			}
		}
		return nil
	}
	return p.after(name, messages, stream)
}

// call has the honest answer, or all events of a stream.
func call(h *honest, name string, requests [][]byte, ctx context.Context) ([]proto.Message, error) {
	switch name {
	case "ReadStateBytes":
		return h.readState(requests[0])
	case "WriteStateBytes":
		return h.writeState(requests)
	case "ListResource":
		return h.list(), nil
	case "InvokeAction":
		return h.invoke(), nil
	}
	for _, m := range tfplugin6.Provider_ServiceDesc.Methods {
		if m.MethodName == name {
			answer, err := m.Handler(h, ctx, func(v any) error { return proto.Unmarshal(requests[0], v.(proto.Message)) }, nil)
			if err != nil {
				return nil, err
			}
			return []proto.Message{answer.(proto.Message)}, nil
		}
	}
	return nil, status.Errorf(codes.Unimplemented, "no %s", name)
}

// spoken is a message in the protocol of the plugin.
func (p *evil) spoken(m proto.Message) proto.Message {
	if schema, ok := m.(*tfplugin6.GetProviderSchema_Response); ok && p.protocol == "5" {
		old := &tfplugin5.GetProviderSchema_Response{}
		copyByName(old.ProtoReflect(), schema.ProtoReflect())
		return old
	}
	return m
}

// copyByName copies the fields that both messages have under the same name.
func copyByName(dst, src protoreflect.Message) {
	src.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to := dst.Descriptor().Fields().ByName(f.Name())
		switch {
		case to == nil:
		case f.IsMap():
			m := dst.Mutable(to).Map()
			v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
				copyByName(m.Mutable(k).Message(), e.Message())
				return true
			})
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			l := dst.Mutable(to).List()
			for i := range v.List().Len() {
				copyByName(l.AppendMutable().Message(), v.List().Get(i).Message())
			}
		case f.Kind() == protoreflect.MessageKind:
			copyByName(dst.Mutable(to).Message(), v.Message())
		default:
			dst.Set(to, v)
		}
		return true
	})
}

// before does what comes before the answer; true means that values are to be spoiled.
func (p *evil) before() bool {
	switch p.does {
	case "bad value", "unknown", "wrong type":
		return true
	case "slow":
		time.Sleep(500 * time.Millisecond)
	case "output":
		line := append(bytes.Repeat([]byte{'x'}, 1<<20), '\n')
		for range 32 {
			syscall.Write(1, line)
			syscall.Write(2, line)
			fmt.Print("no output\n")
		}
	case "child", "stray":
		child := exec.Command(os.Args[0])
		child.Args[0] = "sleeper"
		child.Stdout, child.Stderr = os.NewFile(1, "stdout"), os.NewFile(2, "stderr")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: p.does == "stray"}
		if err := child.Start(); err != nil {
			panic(err)
		}
	case "exit":
		note("%s changed", p.call)
		os.Exit(7)
	case "panic":
		note("%s changed", p.call)
		go panic("evil") // gRPC doesn't recover, but a handler might
		time.Sleep(time.Hour)
	case "silence", "endless":
		if p.does == "endless" && streams(p.call) {
			break
		}
		note("%s changed", p.call)
		for p.does == "endless" {
			if _, err := syscall.Write(2, bytes.Repeat([]byte("evil\n"), 1000)); err != nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Hour)
	}
	return false
}

// encode spoils a value.
func (p *evil) encode(v cty.Value, t cty.Type) *tfplugin6.DynamicValue {
	if v.IsNull() && p.does != "bad value" {
		return write(v, t)
	}
	p.changed = true
	switch p.does {
	case "bad value":
		return &tfplugin6.DynamicValue{Msgpack: []byte{0xc1}}
	case "unknown":
		return write(cty.UnknownVal(t), t)
	}
	wrong, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		switch v.Type() {
		case cty.String:
			return cty.TupleVal([]cty.Value{cty.True}), nil
		case cty.Number:
			return cty.StringVal("many"), nil
		}
		return v, nil
	})
	if err != nil {
		panic(err)
	}
	return write(wrong, wrong.Type())
}

// streams reports whether the answer to a call has several messages.
func streams(call string) bool {
	return call == "ListResource" || call == "InvokeAction" || call == "ReadStateBytes"
}

// after sends the answer, or something in place of it.
func (p *evil) after(name string, messages []proto.Message, stream grpc.ServerStream) error {
	var honest int
	for _, m := range messages {
		honest += proto.Size(m)
	}
	switch p.does {
	case "garbled":
		p.changed, messages = true, []proto.Message{raw([]byte{0x0a, 0xff, 0xff, 0xff, 0x7f, 1})}
	case "huge":
		note("%s changed", name) // the engine doesn't wait for all of it
		// Field 100 is nobody's, and its content makes the message too large.
		messages = []proto.Message{raw(append([]byte{0xa2, 0x06, 0x80, 0x80, 0x80, 0x90, 1}, make([]byte, 288<<20)...))}
	case "many":
		p.changed = many(messages[len(messages)-1]) != nil
	case "nil":
		p.changed = honest > 0
		messages = []proto.Message{raw(nil)}
	case "twice":
		p.changed = !streams(name) || name == "InvokeAction"
		messages = append(messages, messages[len(messages)-1])
	case "refusal":
		note("%s changed", name)
		return status.Error(codes.Internal, strings.Repeat("\x1b[31mevil\a ", 1<<17))
	case "unimplemented":
		note("%s changed", name)
		return status.Error(codes.Unimplemented, "evil")
	case "endless": // of a stream
		note("%s changed", name)
		for {
			if err := stream.SendMsg(messages[0]); err != nil {
				return err
			}
		}
	}
	if p.changed {
		note("%s changed", name)
	} else {
		note("%s same", name)
	}
	for _, m := range messages {
		if err := stream.SendMsg(p.spoken(m)); err != nil {
			return err
		}
	}
	return nil
}

// many gives a message 20,000 errors, where there is a place for them.
func many(m proto.Message) proto.Message {
	if event, ok := m.(*tfplugin6.InvokeAction_Event); ok {
		many(event.GetCompleted())
		return m
	}
	r := m.ProtoReflect()
	for _, name := range []protoreflect.Name{"diagnostics", "diagnostic"} {
		f := r.Descriptor().Fields().ByName(name)
		if f == nil {
			continue
		}
		list := r.Mutable(f).List()
		for i := range 20_000 {
			list.Append(protoreflect.ValueOfMessage((&tfplugin6.Diagnostic{Severity: tfplugin6.Diagnostic_ERROR, Summary: "Evil", Detail: big.NewInt(int64(i)).String()}).ProtoReflect()))
		}
		return m
	}
	return nil
}

// sleeper is a child of the plugin.
func sleeper() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	time.Sleep(30 * time.Second)
}

// role runs the plugin or its child, and reports whether this process is one.
func role() bool {
	switch filepath.Base(os.Args[0]) {
	case "terraform-provider-evil":
		serve()
	case "sleeper":
		sleeper()
	default:
		return false
	}
	return true
}
