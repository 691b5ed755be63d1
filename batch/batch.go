// Package batch lets a provider of plugin protocol 5 or 6 take one call for many objects.
//
// A [Service] stands beside the protocol on the provider's gRPC server. Without more each
// request of a batch goes to the provider's own ReadResource, PlanResourceChange or
// ApplyResourceChange, all of them at the same time, so that everything that holds for one
// object holds in a batch. Anything that is gained like this is that the provider knows which
// requests belong together: [Service.Prepare] can fetch at once what all of them need, and
// hand it to them in their context.
//
//	s := &batch.Service{Limits: batch.Limits{Read: 100}}
//	plugin.Serve(&plugin.ServeConfig{
//		HandshakeConfig: …,
//		Plugins:         plugin.PluginSet{"provider": &tf6server.GRPCProviderPlugin{…}},
//		GRPCServer:      func(o []grpc.ServerOption) *grpc.Server { return s.Server(o...) },
//	})
//
// Engines that don't know the service never ask for it, and lose nothing. docs/batch.md of
// weir has the contract.
package batch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"weir.dev/weir/batch/batchv1"
)

// Limits are how many requests one call may have. 0 and 1 are for ordinary calls only.
type Limits struct{ Read, Plan, Apply int }

// A Method is what all requests of a batch ask for, as the protocol calls it.
type Method string

// The methods.
const (
	Read  Method = "ReadResource"
	Plan  Method = "PlanResourceChange"
	Apply Method = "ApplyResourceChange"
)

// A Batch is a call.
type Batch struct {
	Method Method
	// Type is the resource type that all requests are about.
	Type string
	// Requests are the messages of the protocol, such as *tfplugin6.ReadResource_Request.
	// Their package is internal to most servers; Typed has what is in them.
	Requests []proto.Message
}

// A Service answers batches.
type Service struct {
	// Limits are those of resource types without an entry in Types.
	Limits Limits
	Types  map[string]Limits
	// Prepare, which may be nil, is called once for each batch. The result is the context of
	// its requests. An error is one of all requests, and says nothing of the service that the
	// provider is for: what rejects only for a moment is for the diagnostics of the answers.
	Prepare func(context.Context, Batch) (context.Context, error)
	// AtOnce is how many requests of a batch are worked on at the same time; 0 is for all.
	AtOnce int

	mu     sync.Mutex
	server any // of the protocol, as soon as it was called
	batchv1.UnimplementedBatchServer
}

// Server makes a gRPC server that has the service. Messages may be as large as those of
// providers are, unless the options say otherwise.
func (s *Service) Server(options ...grpc.ServerOption) *grpc.Server {
	const most = 256 << 20 // bytes
	all := append([]grpc.ServerOption{grpc.MaxRecvMsgSize(most), grpc.MaxSendMsgSize(most)}, options...)
	server := grpc.NewServer(append(all, grpc.ChainUnaryInterceptor(s.see))...)
	batchv1.RegisterBatchServer(server, s)
	return server
}

// see learns which server serves the protocol: every engine configures it before it queries
// objects.
func (s *Service) see(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if strings.HasPrefix(info.FullMethod, "/tfplugin") {
		s.mu.Lock()
		s.server = info.Server
		s.mu.Unlock()
	}
	return handle(ctx, request)
}

// Describe implements the service.
func (s *Service) Describe(context.Context, *batchv1.Description_Request) (*batchv1.Description, error) {
	told := func(l Limits) *batchv1.Description_Limits {
		return &batchv1.Description_Limits{Read: int64(l.Read), Plan: int64(l.Plan), Apply: int64(l.Apply)}
	}
	d := &batchv1.Description{Limits: told(s.Limits), Types: map[string]*batchv1.Description_Limits{}}
	for name, l := range s.Types {
		d.Types[name] = told(l)
	}
	return d, nil
}

// ReadResources implements the service.
func (s *Service) ReadResources(ctx context.Context, r *batchv1.Requests) (*batchv1.Answers, error) {
	return s.answer(ctx, Read, r)
}

// PlanResourceChanges implements the service.
func (s *Service) PlanResourceChanges(ctx context.Context, r *batchv1.Requests) (*batchv1.Answers, error) {
	return s.answer(ctx, Plan, r)
}

// ApplyResourceChanges implements the service.
func (s *Service) ApplyResourceChanges(ctx context.Context, r *batchv1.Requests) (*batchv1.Answers, error) {
	return s.answer(ctx, Apply, r)
}

func (s *Service) answer(ctx context.Context, m Method, in *batchv1.Requests) (*batchv1.Answers, error) {
	s.mu.Lock()
	server := s.server
	s.mu.Unlock()
	if server == nil {
		return nil, status.Error(codes.FailedPrecondition, "no method of the provider was called before")
	}
	call, of, err := method(server, m)
	if err != nil {
		return nil, err
	}
	b := Batch{m, in.TypeName, make([]proto.Message, len(in.Requests))}
	for i, data := range in.Requests {
		b.Requests[i] = reflect.New(of).Interface().(proto.Message) // by method
		if err := proto.Unmarshal(data, b.Requests[i]); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "request %d can't be read: %s", i+1, err)
		}
	}
	if s.Prepare != nil {
		if ctx, err = s.Prepare(ctx, b); err != nil {
			return nil, err
		}
	}
	answers := make([]*batchv1.Answers_Answer, len(b.Requests))
	atOnce := s.AtOnce
	if atOnce < 1 {
		atOnce = len(b.Requests)
	}
	r := &round{left: len(b.Requests), atOnce: atOnce, questions: map[any]any{}}
	ctx = context.WithValue(ctx, roundKey{}, r)
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, request := range b.Requests {
		turns <- struct{}{}
		all.Go(func() {
			answers[i] = one(ctx, call, request)
			<-turns
			r.ended()
		})
	}
	all.Wait()
	return &batchv1.Answers{Answers: answers}, nil
}

// method finds a method of the protocol's server, and the type of its request.
func method(server any, m Method) (call reflect.Value, request reflect.Type, err error) {
	switch m { // by names that the compiler sees
	case Read:
		call = reflect.ValueOf(server).MethodByName("ReadResource")
	case Plan:
		call = reflect.ValueOf(server).MethodByName("PlanResourceChange")
	case Apply:
		call = reflect.ValueOf(server).MethodByName("ApplyResourceChange")
	}
	message, problem := reflect.TypeFor[proto.Message](), reflect.TypeFor[error]()
	if !call.IsValid() || call.Type().NumIn() != 2 || call.Type().NumOut() != 2 || call.Type().In(0) != reflect.TypeFor[context.Context]() ||
		!call.Type().In(1).Implements(message) || call.Type().In(1).Kind() != reflect.Pointer || !call.Type().Out(0).Implements(message) || call.Type().Out(1) != problem {
		return call, nil, status.Errorf(codes.Unimplemented, "the provider's server has no method %s", m)
	}
	return call, call.Type().In(1).Elem(), nil
}

// one answers one request. A panic is a problem of this one only.
func one(ctx context.Context, call reflect.Value, request proto.Message) (a *batchv1.Answers_Answer) {
	failed := func(err error) *batchv1.Answers_Answer {
		return &batchv1.Answers_Answer{Result: &batchv1.Answers_Answer_Error{Error: err.Error()}}
	}
	defer func() {
		if v := recover(); v != nil {
			a = failed(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		}
	}()
	out := call.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(request)})
	if err, ok := out[1].Interface().(error); ok && err != nil {
		return failed(err)
	}
	if out[0].IsNil() {
		return failed(errors.New("there was no answer"))
	}
	data, err := proto.Marshal(out[0].Interface().(proto.Message)) // by method
	if err != nil {
		return failed(err)
	}
	return &batchv1.Answers_Answer{Result: &batchv1.Answers_Answer_Response{Response: data}}
}
