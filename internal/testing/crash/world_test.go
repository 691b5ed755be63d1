//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// A world is a cloud and its provider, which outlive the processes that use them: a call that
// has started is done, the caller that asked for it.
type world struct {
	tfplugin6.UnimplementedProviderServer

	traffic traffic
	mu      sync.Mutex
	objects map[string]string // id -> name
	made    int
	busy    sync.WaitGroup
}

const source = "registry.opentofu.org/test/world"

// serve starts the provider and returns the setting that makes an engine use
// it.
func serve(t *testing.T) (*world, string) {
	w := &world{objects: map[string]string{}}
	listener, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.StatsHandler(&w.traffic))
	tfplugin6.RegisterProviderServer(s, w)
	go s.Serve(listener)
	t.Cleanup(s.Stop)
	setting, err := json.Marshal(map[string]any{source: map[string]any{
		"Protocol": "grpc", "ProtocolVersion": 6, "Pid": 1, "Test": true,
		"Addr": map[string]string{"Network": "unix", "String": listener.Addr().String()},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return w, string(setting)
}

// A traffic counts connections, and changes from the moment that their headers are read. Calls of a
// killed client may still wait to be read.
type traffic struct{ open atomic.Int64 }

type method struct{}

func (*traffic) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, method{}, i.FullMethodName)
}

func (*traffic) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (c *traffic) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if name, _ := ctx.Value(method{}).(string); !strings.HasSuffix(name, "/ApplyResourceChange") {
		return
	}
	switch s.(type) {
	case *stats.InHeader:
		c.open.Add(1)
	case *stats.End:
		c.open.Add(-1)
	}
}

func (c *traffic) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		c.open.Add(1)
	case *stats.ConnEnd:
		c.open.Add(-1)
	}
}

// quiet waits until all that killed clients sent has been done.
func (w *world) quiet(t *testing.T) {
	t.Helper()
	for range 3000 {
		if w.traffic.open.Load() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("calls are under way though nobody waits for them")
}

// live are the names of the objects by id, once nothing is under way.
func (w *world) live() map[string]string {
	w.busy.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]string{}
	for id, name := range w.objects {
		all[id] = name
	}
	return all
}

func (w *world) clear() {
	w.busy.Wait()
	w.mu.Lock()
	clear(w.objects)
	w.mu.Unlock()
}

func (w *world) create(name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
	id := fmt.Sprintf("id-%d", w.made)
	w.objects[id] = name
	return id
}

var objectType = cty.Object(map[string]cty.Type{"id": cty.String, "name": cty.String})

func object(id cty.Value, name cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"id": id, "name": name})
}

func decode(d *tfplugin6.DynamicValue) (cty.Value, error) {
	return msgpack.Unmarshal(d.Msgpack, objectType)
}

func encode(v cty.Value) (*tfplugin6.DynamicValue, error) {
	text, err := msgpack.Marshal(v, objectType)
	return &tfplugin6.DynamicValue{Msgpack: text}, err
}

func (*world) GetProviderSchema(context.Context, *tfplugin6.GetProviderSchema_Request) (*tfplugin6.GetProviderSchema_Response, error) {
	return &tfplugin6.GetProviderSchema_Response{
		Provider: &tfplugin6.Schema{Block: &tfplugin6.Schema_Block{}},
		ResourceSchemas: map[string]*tfplugin6.Schema{"world_object": {Block: &tfplugin6.Schema_Block{Attributes: []*tfplugin6.Schema_Attribute{
			{Name: "id", Type: []byte(`"string"`), Computed: true},
			{Name: "name", Type: []byte(`"string"`), Required: true},
		}}}},
	}, nil
}

func (*world) ValidateProviderConfig(_ context.Context, r *tfplugin6.ValidateProviderConfig_Request) (*tfplugin6.ValidateProviderConfig_Response, error) {
	return &tfplugin6.ValidateProviderConfig_Response{}, nil
}

func (*world) ConfigureProvider(context.Context, *tfplugin6.ConfigureProvider_Request) (*tfplugin6.ConfigureProvider_Response, error) {
	return &tfplugin6.ConfigureProvider_Response{}, nil
}

func (*world) StopProvider(context.Context, *tfplugin6.StopProvider_Request) (*tfplugin6.StopProvider_Response, error) {
	return &tfplugin6.StopProvider_Response{}, nil
}

func (*world) ValidateResourceConfig(context.Context, *tfplugin6.ValidateResourceConfig_Request) (*tfplugin6.ValidateResourceConfig_Response, error) {
	return &tfplugin6.ValidateResourceConfig_Response{}, nil
}

func (*world) UpgradeResourceState(_ context.Context, r *tfplugin6.UpgradeResourceState_Request) (*tfplugin6.UpgradeResourceState_Response, error) {
	var stored struct{ ID, Name string }
	if err := json.Unmarshal(r.RawState.Json, &stored); err != nil {
		return nil, err
	}
	v, err := encode(object(cty.StringVal(stored.ID), cty.StringVal(stored.Name)))
	return &tfplugin6.UpgradeResourceState_Response{UpgradedState: v}, err
}

func (w *world) ReadResource(_ context.Context, r *tfplugin6.ReadResource_Request) (*tfplugin6.ReadResource_Response, error) {
	v, err := decode(r.CurrentState)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	name, ok := w.objects[v.GetAttr("id").AsString()]
	w.mu.Unlock()
	now := cty.NullVal(objectType)
	if ok {
		now = object(v.GetAttr("id"), cty.StringVal(name))
	}
	state, err := encode(now)
	return &tfplugin6.ReadResource_Response{NewState: state}, err
}

func (*world) PlanResourceChange(_ context.Context, r *tfplugin6.PlanResourceChange_Request) (*tfplugin6.PlanResourceChange_Response, error) {
	proposed, err := decode(r.ProposedNewState)
	if err != nil {
		return nil, err
	}
	if !proposed.IsNull() && proposed.GetAttr("id").IsNull() {
		proposed = object(cty.UnknownVal(cty.String), proposed.GetAttr("name"))
	}
	state, err := encode(proposed)
	return &tfplugin6.PlanResourceChange_Response{PlannedState: state}, err
}

func (w *world) ApplyResourceChange(_ context.Context, r *tfplugin6.ApplyResourceChange_Request) (*tfplugin6.ApplyResourceChange_Response, error) {
	w.busy.Add(1)
	defer w.busy.Done()
	prior, err := decode(r.PriorState)
	if err != nil {
		return nil, err
	}
	planned, err := decode(r.PlannedState)
	if err != nil {
		return nil, err
	}
	switch {
	case planned.IsNull():
		w.mu.Lock()
		delete(w.objects, prior.GetAttr("id").AsString())
		w.mu.Unlock()
	case prior.IsNull():
		name := planned.GetAttr("name")
		planned = object(cty.StringVal(w.create(name.AsString())), name)
	default:
		w.mu.Lock()
		w.objects[prior.GetAttr("id").AsString()] = planned.GetAttr("name").AsString()
		w.mu.Unlock()
	}
	state, err := encode(planned)
	return &tfplugin6.ApplyResourceChange_Response{NewState: state}, err
}

func (w *world) ImportResourceState(_ context.Context, r *tfplugin6.ImportResourceState_Request) (*tfplugin6.ImportResourceState_Response, error) {
	w.mu.Lock()
	name, ok := w.objects[r.Id]
	w.mu.Unlock()
	if !ok {
		return &tfplugin6.ImportResourceState_Response{Diagnostics: []*tfplugin6.Diagnostic{{Severity: tfplugin6.Diagnostic_ERROR, Summary: "no such object"}}}, nil
	}
	state, err := encode(object(cty.StringVal(r.Id), cty.StringVal(name)))
	return &tfplugin6.ImportResourceState_Response{ImportedResources: []*tfplugin6.ImportResourceState_ImportedResource{{TypeName: "world_object", State: state}}}, err
}

// idOf is the object of a name; there must not be several.
func idOf(t *testing.T, live map[string]string, name string) string {
	t.Helper()
	var found []string
	for id, n := range live {
		if n == name {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	if len(found) > 1 {
		t.Fatalf("%s exists %d times: %v", name, len(found), found)
	}
	return append(found, "")[0]
}
