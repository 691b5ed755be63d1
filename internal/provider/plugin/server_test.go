package plugin

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"weir.dev/weir/internal/provider/plugin/batchv1"
	"weir.dev/weir/internal/provider/plugin/tfplugin5"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// The test binary is also the plugin: TestMain serves one when this variable
// has a protocol version, and starts one and waits when it is "parent".
const roleEnv = "WEIR_TEST_PLUGIN"

// forever waits. The runtime would end a process whose goroutines all wait for nothing.
func forever() { time.Sleep(time.Hour) }

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleEnv); role {
	case "5", "6":
		servePlugin(role)
		if hungUp.Load() {
			forever()
		}
	case "parent":
		startAndWait()
	case "mute":
		fmt.Println("this is no plugin")
	case "ends":
		fmt.Fprintln(os.Stderr, "no cheese")
		os.Exit(4)
	case "silent":
		forever()
	case "endless":
		flood(syscall.Stdout)
		forever()
	case "floods":
		flood(syscall.Stderr)
		os.Exit(5)
	default:
		os.Exit(m.Run())
	}
}

func servePlugin(role string) {
	server := served{}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion:  uint(role[0] - '0'),
			MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		VersionedPlugins: map[int]goplugin.PluginSet{int(role[0] - '0'): {"provider": server}},
		GRPCServer:       goplugin.DefaultGRPCServer,
	})
}

// flooded is what a flood has, in bytes.
const flooded = 64 << 20

// flood writes a line of half of that, and short lines.
func flood(to int) {
	long, short := bytes.Repeat([]byte{'x'}, 1<<20), bytes.Repeat([]byte("no cheese\n"), 1<<17)
	for written := 0; written < flooded/2; written += len(long) {
		syscall.Write(to, long)
	}
	for written := 0; written < flooded/2; written += len(short) {
		syscall.Write(to, short)
	}
}

type served struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("not a client")
}

func (served) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	six := &server6{stop: s.Stop}
	tfplugin6.RegisterProviderServer(s, six)
	tfplugin5.RegisterProviderServer(s, &server5{six: six})
	if os.Getenv(batchEnv) != "" {
		batchv1.RegisterBatchServer(s, &batchServer{six: six})
	}
	return nil
}

// serveHere serves a plugin in this process, as a debugger would.
func serveHere(t *testing.T, protocol int) Reattach {
	listener, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	served{}.GRPCServer(nil, s)
	go s.Serve(listener)
	t.Cleanup(s.Stop)
	return Reattach{Addr: listener.Addr(), Protocol: protocol}
}

var thingType = cty.Object(map[string]cty.Type{
	"id": cty.String, "name": cty.String, "secret": cty.String, "size": cty.Number,
	"disk": cty.List(cty.Object(map[string]cty.Type{"gb": cty.Number})),
})

func thing(name string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal("1"), "name": cty.StringVal(name), "secret": cty.NullVal(cty.String), "size": cty.NullVal(cty.Number),
		"disk": cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"gb": cty.NumberIntVal(8)})}),
	})
}

// server6 has one resource, test_thing, and obeys the name of the thing.
type server6 struct {
	tfplugin6.UnimplementedProviderServer
	version string
	region  string
	stop    func()
}

// hungUp: the plugin serves no more and doesn't end.
var hungUp atomic.Bool

func attribute(name, typ string) *tfplugin6.Schema_Attribute {
	return &tfplugin6.Schema_Attribute{Name: name, Type: []byte(typ), Optional: true, Computed: name == "id"}
}

func (*server6) GetProviderSchema(context.Context, *tfplugin6.GetProviderSchema_Request) (*tfplugin6.GetProviderSchema_Response, error) {
	secret := attribute("secret", `"string"`)
	secret.WriteOnly, secret.DeprecationMessage = true, "Use a vault."
	thing := &tfplugin6.Schema{Version: 3, Block: &tfplugin6.Schema_Block{
		Attributes: []*tfplugin6.Schema_Attribute{
			attribute("id", `"string"`), attribute("name", `"string"`), secret, attribute("size", `"number"`),
		},
		BlockTypes: []*tfplugin6.Schema_NestedBlock{{
			TypeName: "disk", Nesting: tfplugin6.Schema_NestedBlock_LIST, MaxItems: 4,
			Block: &tfplugin6.Schema_Block{Attributes: []*tfplugin6.Schema_Attribute{attribute("gb", `"number"`)}},
		}},
	}}
	return &tfplugin6.GetProviderSchema_Response{
		Provider:                 &tfplugin6.Schema{Block: &tfplugin6.Schema_Block{Attributes: []*tfplugin6.Schema_Attribute{attribute("region", `"string"`)}}},
		ResourceSchemas:          map[string]*tfplugin6.Schema{"test_thing": thing},
		DataSourceSchemas:        map[string]*tfplugin6.Schema{"test_thing": thing},
		EphemeralResourceSchemas: map[string]*tfplugin6.Schema{"test_thing": thing},
		Functions: map[string]*tfplugin6.Function{"upper": {
			Parameters: []*tfplugin6.Function_Parameter{{Name: "text", Type: []byte(`"string"`)}},
			Return:     &tfplugin6.Function_Return{Type: []byte(`"string"`)},
		}},
		ServerCapabilities: &tfplugin6.ServerCapabilities{PlanDestroy: true},
	}, nil
}

func (*server6) GetResourceIdentitySchemas(context.Context, *tfplugin6.GetResourceIdentitySchemas_Request) (*tfplugin6.GetResourceIdentitySchemas_Response, error) {
	return &tfplugin6.GetResourceIdentitySchemas_Response{IdentitySchemas: map[string]*tfplugin6.ResourceIdentitySchema{
		"test_thing": {Version: 2, IdentityAttributes: []*tfplugin6.ResourceIdentitySchema_IdentityAttribute{
			{Name: "arn", Type: []byte(`"string"`), RequiredForImport: true},
		}},
	}}, nil
}

func (*server6) ValidateProviderConfig(context.Context, *tfplugin6.ValidateProviderConfig_Request) (*tfplugin6.ValidateProviderConfig_Response, error) {
	return &tfplugin6.ValidateProviderConfig_Response{Diagnostics: []*tfplugin6.Diagnostic{{
		Severity: tfplugin6.Diagnostic_WARNING, Summary: "Old region", Detail: "d",
		Attribute: &tfplugin6.AttributePath{Steps: []*tfplugin6.AttributePath_Step{
			{Selector: &tfplugin6.AttributePath_Step_AttributeName{AttributeName: "region"}},
			{Selector: &tfplugin6.AttributePath_Step_ElementKeyInt{ElementKeyInt: 1}},
			{Selector: &tfplugin6.AttributePath_Step_ElementKeyString{ElementKeyString: "k"}},
		}},
	}}}, nil
}

func (s *server6) ConfigureProvider(_ context.Context, r *tfplugin6.ConfigureProvider_Request) (*tfplugin6.ConfigureProvider_Response, error) {
	s.version = r.TerraformVersion
	if v, err := decode(r.Config, cty.Object(map[string]cty.Type{"region": cty.String})); err == nil && !v.IsNull() {
		s.region = v.GetAttr("region").AsString()
	}
	if file, ok := strings.CutPrefix(s.region, "once:"); ok {
		if os.Mkdir(file, 0o755) != nil {
			panic("configured twice")
		}
	}
	return &tfplugin6.ConfigureProvider_Response{}, nil
}

func (s *server6) ReadResource(ctx context.Context, r *tfplugin6.ReadResource_Request) (*tfplugin6.ReadResource_Response, error) {
	v, err := decode(r.CurrentState, thingType)
	if err != nil {
		return nil, err
	}
	out := &tfplugin6.ReadResource_Response{NewState: r.CurrentState, Private: r.Private, NewIdentity: r.CurrentIdentity}
	id := ""
	switch name := v.GetAttr("name").AsString(); {
	case name == "crash":
		panic("out of cheese")
	case name == "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case name == "broken":
		out.NewState = &tfplugin6.DynamicValue{Msgpack: []byte{0xc1}}
		return out, nil
	case name == "flood":
		flood(syscall.Stderr)
	case name == "flooding panic":
		syscall.Write(2, []byte("panic: at the cheese\n"))
		flood(syscall.Stderr)
		os.Exit(2)
	case name == "many words":
		for n := range 32_000 {
			out.Diagnostics = append(out.Diagnostics, &tfplugin6.Diagnostic{Severity: tfplugin6.Diagnostic_ERROR, Summary: fmt.Sprint("No cheese ", n)})
		}
	case name == "log":
		fmt.Fprintln(os.Stderr, "[WARN] the cheese is low")
	case name == "pid":
		id = fmt.Sprint(os.Getpid())
	case name == "region":
		id = s.region
	case name == "exit":
		syscall.Write(2, []byte("{\"@level\":\"warn\",\"@message\":\"of the log\"}\nno cheese\nnone \x1b[31mat\x80 all\n"))
		os.Exit(3)
	case name == "version":
		id = s.version
	case name == "big":
		id = strings.Repeat("x", 20<<20)
	case strings.HasPrefix(name, "env:"):
		id = os.Getenv(strings.TrimPrefix(name, "env:"))
	case name == "later":
		out.Deferred = &tfplugin6.Deferred{Reason: tfplugin6.Deferred_ABSENT_PREREQ}
	}
	if id != "" {
		attrs := v.AsValueMap()
		attrs["id"] = cty.StringVal(id)
		out.NewState, err = encode(cty.ObjectVal(attrs), thingType)
	}
	return out, err
}

// PlanResourceChange answers in JSON, which providers may do.
func (*server6) PlanResourceChange(_ context.Context, r *tfplugin6.PlanResourceChange_Request) (*tfplugin6.PlanResourceChange_Response, error) {
	out := &tfplugin6.PlanResourceChange_Response{PlannedState: r.ProposedNewState, LegacyTypeSystem: true}
	if r.GetClientCapabilities().GetStorePlannedPrivate() {
		out.PlannedPrivate = r.PlannedPrivate
	}
	v, err := decode(r.ProposedNewState, thingType)
	if err != nil {
		return nil, err
	}
	if v.IsWhollyKnown() {
		b, err := ctyjson.Marshal(v, thingType)
		if err != nil {
			return nil, err
		}
		out.PlannedState = &tfplugin6.DynamicValue{Json: b}
	}
	out.RequiresReplace = []*tfplugin6.AttributePath{{Steps: []*tfplugin6.AttributePath_Step{
		{Selector: &tfplugin6.AttributePath_Step_AttributeName{AttributeName: "name"}},
	}}}
	return out, nil
}

func (s *server6) ApplyResourceChange(_ context.Context, r *tfplugin6.ApplyResourceChange_Request) (*tfplugin6.ApplyResourceChange_Response, error) {
	v, err := decode(r.PlannedState, thingType)
	if err != nil {
		return nil, err
	}
	if name := v.GetAttr("name").AsString(); name == "crash" {
		panic("out of cheese")
	} else if name == "hang up" {
		hungUp.Store(true)
		go s.stop()
		forever()
	} else if path, ok := strings.CutPrefix(name, "log:"); ok {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		fmt.Fprintln(f, "changed")
	} else if garbled, ok := strings.CutPrefix(name, "garbled:"); ok {
		answer, err := hex.DecodeString(garbled)
		return &tfplugin6.ApplyResourceChange_Response{NewState: &tfplugin6.DynamicValue{Msgpack: answer}}, err
	} else if name == "huge" {
		return &tfplugin6.ApplyResourceChange_Response{Private: make([]byte, maxMessage+1)}, nil
	}
	return &tfplugin6.ApplyResourceChange_Response{NewState: r.PlannedState}, err
}

func (*server6) CallFunction(_ context.Context, r *tfplugin6.CallFunction_Request) (*tfplugin6.CallFunction_Response, error) {
	arg, err := decode(r.Arguments[0], cty.String)
	if err != nil {
		return nil, err
	}
	if arg.AsString() == "" {
		return &tfplugin6.CallFunction_Response{Error: &tfplugin6.FunctionError{Text: "empty", FunctionArgument: proto.Int64(0)}}, nil
	}
	result, err := encode(cty.StringVal(strings.ToUpper(arg.AsString())), cty.String)
	return &tfplugin6.CallFunction_Response{Result: result}, err
}

func (*server6) OpenEphemeralResource(_ context.Context, r *tfplugin6.OpenEphemeralResource_Request) (*tfplugin6.OpenEphemeralResource_Response, error) {
	return &tfplugin6.OpenEphemeralResource_Response{Result: r.Config, Private: []byte("p"), RenewAt: timestamppb.New(time.Unix(1000, 0))}, nil
}

func (*server6) StopProvider(context.Context, *tfplugin6.StopProvider_Request) (*tfplugin6.StopProvider_Response, error) {
	return &tfplugin6.StopProvider_Response{Error: "busy"}, nil
}

// server5 is the same provider in protocol 5. Messages that both protocols write alike are passed on as bytes; the schemas are copied field by field.
type server5 struct {
	tfplugin5.UnimplementedProviderServer
	six *server6
}

func relay[R6, A6, A5 proto.Message](ctx context.Context, in proto.Message, call func(context.Context, R6) (A6, error), req R6, out A5) (A5, error) {
	b, err := proto.Marshal(in)
	if err == nil {
		err = proto.Unmarshal(b, req)
	}
	if err != nil {
		return out, err
	}
	answer, err := call(ctx, req)
	if err != nil {
		return out, err
	}
	if b, err = proto.Marshal(answer); err != nil {
		return out, err
	}
	return out, proto.Unmarshal(b, out)
}

func (s *server5) GetSchema(ctx context.Context, r *tfplugin5.GetProviderSchema_Request) (*tfplugin5.GetProviderSchema_Response, error) {
	answer, err := s.six.GetProviderSchema(ctx, &tfplugin6.GetProviderSchema_Request{})
	out := &tfplugin5.GetProviderSchema_Response{}
	copyByName(out.ProtoReflect(), answer.ProtoReflect())
	return out, err
}

func (s *server5) GetResourceIdentitySchemas(ctx context.Context, r *tfplugin5.GetResourceIdentitySchemas_Request) (*tfplugin5.GetResourceIdentitySchemas_Response, error) {
	return relay(ctx, r, s.six.GetResourceIdentitySchemas, &tfplugin6.GetResourceIdentitySchemas_Request{}, &tfplugin5.GetResourceIdentitySchemas_Response{})
}

func (s *server5) PrepareProviderConfig(ctx context.Context, r *tfplugin5.PrepareProviderConfig_Request) (*tfplugin5.PrepareProviderConfig_Response, error) {
	out, err := relay(ctx, r, s.six.ValidateProviderConfig, &tfplugin6.ValidateProviderConfig_Request{}, &tfplugin5.PrepareProviderConfig_Response{})
	out.PreparedConfig = r.Config
	return out, err
}

func (s *server5) Configure(ctx context.Context, r *tfplugin5.Configure_Request) (*tfplugin5.Configure_Response, error) {
	return relay(ctx, r, s.six.ConfigureProvider, &tfplugin6.ConfigureProvider_Request{}, &tfplugin5.Configure_Response{})
}

func (s *server5) ReadResource(ctx context.Context, r *tfplugin5.ReadResource_Request) (*tfplugin5.ReadResource_Response, error) {
	return relay(ctx, r, s.six.ReadResource, &tfplugin6.ReadResource_Request{}, &tfplugin5.ReadResource_Response{})
}

func (s *server5) PlanResourceChange(ctx context.Context, r *tfplugin5.PlanResourceChange_Request) (*tfplugin5.PlanResourceChange_Response, error) {
	return relay(ctx, r, s.six.PlanResourceChange, &tfplugin6.PlanResourceChange_Request{}, &tfplugin5.PlanResourceChange_Response{})
}

func (s *server5) CallFunction(ctx context.Context, r *tfplugin5.CallFunction_Request) (*tfplugin5.CallFunction_Response, error) {
	return relay(ctx, r, s.six.CallFunction, &tfplugin6.CallFunction_Request{}, &tfplugin5.CallFunction_Response{})
}

func (s *server5) OpenEphemeralResource(ctx context.Context, r *tfplugin5.OpenEphemeralResource_Request) (*tfplugin5.OpenEphemeralResource_Response, error) {
	return relay(ctx, r, s.six.OpenEphemeralResource, &tfplugin6.OpenEphemeralResource_Request{}, &tfplugin5.OpenEphemeralResource_Response{})
}

func (s *server5) Stop(ctx context.Context, r *tfplugin5.Stop_Request) (*tfplugin5.Stop_Response, error) {
	return relay(ctx, r, s.six.StopProvider, &tfplugin6.StopProvider_Request{}, &tfplugin5.Stop_Response{})
}
