package statestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
	"weir.dev/weir/internal/workspace/statestore"
)

const chunk = 1 << 16

// A server is a provider with the state store mem_store, whose states are in memory. It holds the
// client to the protocol.
type server struct {
	tfplugin6.UnimplementedProviderServer

	mu     sync.Mutex
	states map[string][]byte
	locks  map[string]string
	ids    int
	// How it breaks the protocol: the chunk size it wants, and what becomes of messages with
	// parts of states.
	chunk int64
	spoil func(*tfplugin6.ReadStateBytes_Response)
}

var nothing = &tfplugin6.Schema{Block: &tfplugin6.Schema_Block{}}

func (s *server) GetProviderSchema(context.Context, *tfplugin6.GetProviderSchema_Request) (*tfplugin6.GetProviderSchema_Response, error) {
	return &tfplugin6.GetProviderSchema_Response{
		Provider: nothing,
		StateStoreSchemas: map[string]*tfplugin6.Schema{"mem_store": {Block: &tfplugin6.Schema_Block{Attributes: []*tfplugin6.Schema_Attribute{
			{Name: "name", Type: []byte(`"string"`), Required: true},
		}}}},
	}, nil
}

func problem(text string) []*tfplugin6.Diagnostic {
	return []*tfplugin6.Diagnostic{{Severity: tfplugin6.Diagnostic_ERROR, Summary: text}}
}

func (s *server) ValidateStateStoreConfig(context.Context, *tfplugin6.ValidateStateStore_Request) (*tfplugin6.ValidateStateStore_Response, error) {
	return &tfplugin6.ValidateStateStore_Response{}, nil
}

func (s *server) ConfigureStateStore(_ context.Context, r *tfplugin6.ConfigureStateStore_Request) (*tfplugin6.ConfigureStateStore_Response, error) {
	if r.TypeName != "mem_store" || r.GetCapabilities().GetChunkSize() == 0 {
		return &tfplugin6.ConfigureStateStore_Response{Diagnostics: problem("not configured")}, nil
	}
	return &tfplugin6.ConfigureStateStore_Response{Capabilities: &tfplugin6.StateStoreServerCapabilities{ChunkSize: s.chunk}}, nil
}

func (s *server) ReadStateBytes(r *tfplugin6.ReadStateBytes_Request, to grpc.ServerStreamingServer[tfplugin6.ReadStateBytes_Response]) error {
	s.mu.Lock()
	state := s.states[r.StateId]
	s.mu.Unlock()
	for at := 0; at < len(state); at += chunk {
		end := min(len(state), at+chunk)
		next := &tfplugin6.ReadStateBytes_Response{
			Bytes: state[at:end], TotalLength: int64(len(state)), Range: &tfplugin6.StateRange{Start: int64(at), End: int64(end) - 1},
		}
		if s.spoil != nil {
			s.spoil(next)
		}
		if err := to.Send(next); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) WriteStateBytes(from grpc.ClientStreamingServer[tfplugin6.WriteStateBytes_RequestChunk, tfplugin6.WriteStateBytes_Response]) error {
	var state bytes.Buffer
	var name string
	var total int64
	fail := func(format string, args ...any) error {
		return from.SendAndClose(&tfplugin6.WriteStateBytes_Response{Diagnostics: problem(fmt.Sprintf(format, args...))})
	}
	for {
		next, err := from.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if (state.Len() == 0) != (next.Meta != nil) {
			return fail("only the first chunk says of which state it is")
		}
		if next.Meta != nil {
			name, total = next.Meta.StateId, next.TotalLength
		}
		if next.Range.Start != int64(state.Len()) || next.Range.End != next.Range.Start+int64(len(next.Bytes))-1 || next.TotalLength != total || len(next.Bytes) > chunk {
			return fail("chunk %v of %d bytes after %d of %d", next.Range, len(next.Bytes), state.Len(), total)
		}
		state.Write(next.Bytes)
	}
	if int64(state.Len()) != total || name == "" {
		return fail("%d of %d bytes of %q", state.Len(), total, name)
	}
	if name == "full" {
		return fail("disk full")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "lost" && s.states[name] == nil {
		s.states[name] = state.Bytes()
		return fail("the connection was lost")
	}
	s.states[name] = state.Bytes()
	return from.SendAndClose(&tfplugin6.WriteStateBytes_Response{})
}

func (s *server) LockState(_ context.Context, r *tfplugin6.LockState_Request) (*tfplugin6.LockState_Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.StateId == "lockless" {
		return &tfplugin6.LockState_Response{}, nil
	}
	if id := s.locks[r.StateId]; id != "" || r.Operation == "" {
		return &tfplugin6.LockState_Response{Diagnostics: problem("locked with " + id)}, nil
	}
	s.ids++
	s.locks[r.StateId] = strconv.Itoa(s.ids)
	return &tfplugin6.LockState_Response{LockId: s.locks[r.StateId]}, nil
}

func (s *server) UnlockState(_ context.Context, r *tfplugin6.UnlockState_Request) (*tfplugin6.UnlockState_Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks[r.StateId] != r.LockId {
		return &tfplugin6.UnlockState_Response{Diagnostics: problem("another lock")}, nil
	}
	delete(s.locks, r.StateId)
	return &tfplugin6.UnlockState_Response{}, nil
}

func (s *server) GetStates(context.Context, *tfplugin6.GetStates_Request) (*tfplugin6.GetStates_Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &tfplugin6.GetStates_Response{}
	for name := range s.states {
		out.StateId = append(out.StateId, name)
	}
	return out, nil
}

func (s *server) DeleteState(_ context.Context, r *tfplugin6.DeleteState_Request) (*tfplugin6.DeleteState_Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.states, r.StateId)
	delete(s.locks, r.StateId)
	return &tfplugin6.DeleteState_Response{}, nil
}

func serve(t *testing.T) (*server, provider.StateStorer) {
	t.Helper()
	s := &server{states: map[string][]byte{}, locks: map[string]string{}, chunk: chunk}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	tfplugin6.RegisterProviderServer(g, s)
	go g.Serve(listener)
	t.Cleanup(g.Stop)
	at := addr.Provider{Host: "registry.terraform.io", Namespace: "x", Type: "mem"}
	c := plugin.NewCatalog(plugin.Sources{Reattach: map[addr.Provider]plugin.Reattach{at: {Addr: listener.Addr(), Protocol: 6}}}, plugin.Command{})
	t.Cleanup(func() { c.Close() })
	p, diags := c.Start(t.Context(), at)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return s, p.(provider.StateStorer)
}

var config = cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("x")})

func configured(t *testing.T) (*server, provider.StateStorer) {
	t.Helper()
	s, p := serve(t)
	diags := p.ValidateStateStore(t.Context(), "mem_store", config)
	if diags.Append(p.ConfigureStateStore(t.Context(), "mem_store", config)); diags.HasErrors() {
		t.Fatal(diags)
	}
	return s, p
}

// TestContract holds a state store to the contract of backends, through the protocol.
func TestContract(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		_, p := configured(t)
		return storagetest.Subject{
			New:      func(*testing.T) storage.Backend { return statestore.New(p, "mem_store", "mem") },
			ServerID: true, NoHolder: true,
		}
	})
}

func TestStoreProblems(t *testing.T) {
	s, p := configured(t)
	b := statestore.New(p, "mem_store", "mem")
	open := func(name string) storage.Store {
		t.Helper()
		store, err := b.State(name)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	if b.Place("a") == b.Place("b") {
		t.Error("two workspaces have one place")
	}
	if err := open("full").Write(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("a write that failed: %v", err)
	}
	lockless := open("lockless")
	if id, err := lockless.Lock(t.Context(), storage.NewLockInfo("plan", "me", "1")); id != "" || err != nil {
		t.Errorf("a store without locks: %q %v", id, err)
	}
	if err := lockless.Unlock(t.Context(), ""); err != nil {
		t.Error(err)
	}
	s.states["default"] = bytes.Repeat([]byte("x"), 3*chunk)
	for name, spoil := range map[string]func(*tfplugin6.ReadStateBytes_Response){
		"too short": func(r *tfplugin6.ReadStateBytes_Response) { r.TotalLength *= 2 },
		"too long":  func(r *tfplugin6.ReadStateBytes_Response) { r.TotalLength /= 2 },
		"out of order": func(r *tfplugin6.ReadStateBytes_Response) {
			r.Range.Start += chunk
		},
		"a problem": func(r *tfplugin6.ReadStateBytes_Response) { r.Diagnostics = problem("gone") },
	} {
		s.spoil = spoil
		if state, err := open("default").Read(t.Context()); err == nil {
			t.Errorf("%s: read %d bytes", name, len(state))
		}
	}
	other := statestore.New(p, "other_store", "other")
	if names, err := other.Workspaces(t.Context()); err == nil || !strings.Contains(err.Error(), "other_store") {
		t.Errorf("an unknown type: %v %v", names, err)
	}
	if err := other.CreateWorkspace(t.Context(), "x"); err == nil {
		t.Error("a workspace was made in a store of an unknown type")
	}
	for _, diags := range []error{
		p.ValidateStateStore(t.Context(), "other_store", config).Err(), p.ConfigureStateStore(t.Context(), "other_store", config).Err(),
		p.WriteState(t.Context(), "other_store", "x", nil).Err(), p.UnlockState(t.Context(), "other_store", "x", "1").Err(),
		p.DeleteState(t.Context(), "other_store", "x").Err(),
	} {
		if diags == nil {
			t.Error("a store of an unknown type works")
		}
	}
}

// TestLostAnswer: a write that arrived, although its answer was lost, isn't one of somebody else.
func TestLostAnswer(t *testing.T) {
	s, p := configured(t)
	store, err := statestore.New(p, "mem_store", "mem").State("lost")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), []byte(`{"serial": 1}`)); err == nil || !strings.Contains(err.Error(), "the connection was lost") {
		t.Errorf("a lost answer: %v", err)
	}
	if err := store.Write(t.Context(), []byte(`{"serial": 2}`)); err != nil || string(s.states["lost"]) != `{"serial": 2}` {
		t.Errorf("after a lost answer: %v %s", err, s.states["lost"])
	}
	s.states["lost"] = []byte(`{"serial": 3}`)
	if err := store.Write(t.Context(), []byte(`{"serial": 4}`)); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("over what somebody else wrote: %v", err)
	}
}

func TestChunkSizes(t *testing.T) {
	for _, size := range []int64{0, -1, 1 << 40} {
		s, p := serve(t)
		s.chunk = size
		if diags := p.ConfigureStateStore(t.Context(), "mem_store", config); !diags.HasErrors() {
			t.Errorf("chunks of %d bytes are accepted", size)
		}
	}
	_, p := configured(t)
	b := statestore.New(p, "mem_store", "mem")
	if names, err := b.Workspaces(t.Context()); err != nil || !slices.Equal(names, []string{"default"}) {
		t.Errorf("%v %v", names, err)
	}
}
