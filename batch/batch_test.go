package batch_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"weir.dev/weir/batch"
	"weir.dev/weir/batch/batchv1"
)

type text = wrapperspb.StringValue

// A protocol is what serves ordinary calls, with messages that are easy to make.
type protocol interface {
	ReadResource(context.Context, *text) (*text, error)
}

type thing struct{}

type prepared struct{}

func (thing) ReadResource(ctx context.Context, r *text) (*text, error) {
	switch r.Value {
	case "bad":
		return nil, errors.New("no cheese")
	case "nothing":
		return nil, nil
	case "panic":
		panic("out of cheese")
	}
	word, _ := ctx.Value(prepared{}).(string)
	return wrapperspb.String(r.Value + word), nil
}

var description = grpc.ServiceDesc{
	ServiceName: "tfplugin6.Provider", HandlerType: (*protocol)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "ReadResource", Handler: func(server any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		in := new(text)
		if err := decode(in); err != nil {
			return nil, err
		}
		return intercept(ctx, in, &grpc.UnaryServerInfo{Server: server, FullMethod: "/tfplugin6.Provider/ReadResource"}, func(ctx context.Context, r any) (any, error) {
			return server.(protocol).ReadResource(ctx, r.(*text))
		})
	}}},
}

func serve(t *testing.T, s *batch.Service) *grpc.ClientConn { return serveAs(t, s, thing{}) }

func serveAs(t *testing.T, s *batch.Service, p protocol) *grpc.ClientConn {
	server := s.Server()
	server.RegisterService(&description, p)
	l := bufconn.Listen(1 << 20)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///it", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func requests(t *testing.T, values ...string) *batchv1.Requests {
	r := &batchv1.Requests{TypeName: "a_thing"}
	for _, v := range values {
		data, err := proto.Marshal(wrapperspb.String(v))
		if err != nil {
			t.Fatal(err)
		}
		r.Requests = append(r.Requests, data)
	}
	return r
}

// told are the answers, errors by what they begin with.
func told(t *testing.T, a *batchv1.Answers) string {
	var all []string
	for _, one := range a.GetAnswers() {
		var v text
		if err := one.GetError(); err != "" {
			first, _, _ := strings.Cut(err, "\n")
			all = append(all, "error "+first)
		} else if err := proto.Unmarshal(one.GetResponse(), &v); err != nil {
			t.Error(err)
		}
		all = append(all, v.Value)
	}
	return strings.Join(strings.Fields(strings.Join(all, " ")), " ")
}

// TestAnswers: each request is answered by the provider's own method, in the order of
// requests, and what is wrong with one is wrong with only it.
func TestAnswers(t *testing.T) {
	for _, atOnce := range []int{0, 1} {
		s := &batch.Service{AtOnce: atOnce, Limits: batch.Limits{Read: 10}, Types: map[string]batch.Limits{"other": {Apply: 3}}}
		conn := serve(t, s)
		client := batchv1.NewBatchClient(conn)
		d, err := client.Describe(t.Context(), &batchv1.Description_Request{})
		if err != nil || d.Limits.Read != 10 || d.Limits.Plan != 0 || d.Types["other"].Apply != 3 {
			t.Errorf("%v %v", d, err)
		}
		if _, err := client.ReadResources(t.Context(), requests(t, "a")); err == nil {
			t.Error("it answers before it can know the provider's server")
		}
		if err := conn.Invoke(t.Context(), "/tfplugin6.Provider/ReadResource", wrapperspb.String("x"), new(text)); err != nil {
			t.Fatal(err)
		}
		a, err := client.ReadResources(t.Context(), requests(t, "a", "bad", "b", "panic", "nothing", "c"))
		if got, want := told(t, a), "a error no cheese b error panic: out of cheese error there was no answer c"; got != want || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		if _, err := client.PlanResourceChanges(t.Context(), requests(t, "a")); err == nil {
			t.Error("a method that isn't there was called")
		}
		if _, err := client.ReadResources(t.Context(), &batchv1.Requests{Requests: [][]byte{{0xff}}}); err == nil {
			t.Error("a request that is none was answered")
		}
	}
}

// TestPrepare: all requests have what was made ready for them.
func TestPrepare(t *testing.T) {
	calls := 0
	s := &batch.Service{Prepare: func(ctx context.Context, b batch.Batch) (context.Context, error) {
		calls++
		if b.Type != "a_thing" || b.Method != batch.Read {
			return ctx, errors.New("not this")
		}
		return context.WithValue(ctx, prepared{}, " of "+b.Requests[0].(*text).Value), nil
	}}
	conn := serve(t, s)
	if err := conn.Invoke(t.Context(), "/tfplugin6.Provider/ReadResource", wrapperspb.String("x"), new(text)); err != nil {
		t.Fatal(err)
	}
	client := batchv1.NewBatchClient(conn)
	a, err := client.ReadResources(t.Context(), requests(t, "a", "b"))
	if got := told(t, a); got != "a of a b of a" || err != nil || calls != 1 {
		t.Errorf("%s, %v, %d calls", got, err, calls)
	}
	if _, err := client.ReadResources(t.Context(), &batchv1.Requests{TypeName: "other"}); err == nil {
		t.Error("a batch goes on that couldn't be prepared")
	}
}
