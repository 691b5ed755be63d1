package plugin

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/proto"

	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin/batchv1"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// With this variable the test's plugin has the batch service. Its value is what the service
// does wrong.
const batchEnv = "WEIR_TEST_BATCH"

// batchServer answers each request as server6 does.
type batchServer struct {
	batchv1.UnimplementedBatchServer
	six *server6
}

func (*batchServer) Describe(context.Context, *batchv1.Description_Request) (*batchv1.Description, error) {
	return &batchv1.Description{
		Limits: &batchv1.Description_Limits{Read: 1 << 40, Plan: 5, Apply: -1},
		Types:  map[string]*batchv1.Description_Limits{"other": {Read: 2}},
	}, nil
}

func answered[Q, R proto.Message](requests [][]byte, request func() Q, call func(Q) (R, error)) *batchv1.Answers {
	out := &batchv1.Answers{}
	for _, data := range requests {
		r := request()
		err := proto.Unmarshal(data, r)
		var m R
		if err == nil {
			m, err = call(r)
		}
		if err != nil {
			out.Answers = append(out.Answers, &batchv1.Answers_Answer{Result: &batchv1.Answers_Answer_Error{Error: err.Error()}})
			continue
		}
		data, _ := proto.Marshal(m)
		out.Answers = append(out.Answers, &batchv1.Answers_Answer{Result: &batchv1.Answers_Answer_Response{Response: data}})
	}
	return out
}

func (s *batchServer) ReadResources(ctx context.Context, r *batchv1.Requests) (*batchv1.Answers, error) {
	return answered(r.Requests, func() *tfplugin6.ReadResource_Request { return &tfplugin6.ReadResource_Request{} },
		func(q *tfplugin6.ReadResource_Request) (*tfplugin6.ReadResource_Response, error) {
			return s.six.ReadResource(ctx, q)
		}), nil
}

func (s *batchServer) ApplyResourceChanges(ctx context.Context, r *batchv1.Requests) (*batchv1.Answers, error) {
	a := answered(r.Requests, func() *tfplugin6.ApplyResourceChange_Request { return &tfplugin6.ApplyResourceChange_Request{} },
		func(q *tfplugin6.ApplyResourceChange_Request) (*tfplugin6.ApplyResourceChange_Response, error) {
			return s.six.ApplyResourceChange(ctx, q)
		})
	a.Answers = a.Answers[1:] // one too few
	return a, nil
}

func speaking(t *testing.T, protocol string) provider.Provider {
	t.Helper()
	p, _ := startSelf(t, self(t, protocol))
	if diags := p.Configure(t.Context(), region("x")); diags.HasErrors() {
		t.Fatal(diags)
	}
	return p
}

func readMany(t *testing.T, p provider.Provider, names ...string) []provider.ReadResponse {
	t.Helper()
	var rs []provider.ReadRequest
	for _, name := range names {
		rs = append(rs, provider.ReadRequest{Type: "test_thing", Current: thing(name)})
	}
	out := p.(provider.Batching).ReadMany(t.Context(), rs)
	if len(out) != len(rs) {
		t.Fatalf("%d answers", len(out))
	}
	return out
}

// TestBatches: a batch results in what its requests come to by themselves, in both protocols.
func TestBatches(t *testing.T) {
	t.Setenv(batchEnv, "1")
	for _, protocol := range []string{"5", "6"} {
		t.Run(protocol, func(t *testing.T) {
			p := speaking(t, protocol)
			b := p.(provider.Batching)
			if all, other := b.Batches(t.Context(), "test_thing"), b.Batches(t.Context(), "other"); all != (provider.Batches{Read: 1000, Plan: 5}) || other != (provider.Batches{Read: 2}) {
				t.Errorf("%v, of another type %v", all, other)
			}
			names := []string{"pid", "region", "broken", "later", "many words", "version"}
			for i, got := range readMany(t, p, names...) {
				want := p.Read(t.Context(), provider.ReadRequest{Type: "test_thing", Current: thing(names[i])})
				if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
					t.Errorf("%s: %.500s\nby itself: %.500s", names[i], fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want))
				}
			}
			unfit := b.ReadMany(t.Context(), []provider.ReadRequest{
				{Type: "test_thing", Current: thing("pid")}, {Type: "test_thing", Current: cty.StringVal("x")}, {Type: "nosuch", Current: thing("x")},
			})
			if unfit[0].Diags.HasErrors() || !unfit[1].Diags.HasErrors() || !unfit[2].Diags.HasErrors() {
				t.Errorf("%v", unfit)
			}
			for i, r := range readMany(t, p, "big", "big") {
				if r.Diags.HasErrors() || len(r.New.GetAttr("id").AsString()) != 20<<20 {
					t.Errorf("big thing %d: %v", i, r.Diags)
				}
			}
		})
	}
}

// TestBatchOfCrash: one that ends the process fails only.
func TestBatchOfCrash(t *testing.T) {
	t.Setenv(batchEnv, "1")
	p := speaking(t, "6")
	for i, r := range readMany(t, p, "pid", "exit", "version") {
		if failed := r.Diags.HasErrors(); failed != (i == 1) {
			t.Errorf("%d: %v", i, r.Diags)
		}
	}
}

// TestBatchWithoutAnswers: changes that got no answer, or are to be made by a plugin that can't
// make several, aren't made again.
func TestBatchWithoutAnswers(t *testing.T) {
	t.Setenv(batchEnv, "1")
	p := speaking(t, "6")
	request := func(name string) provider.ApplyRequest {
		return provider.ApplyRequest{Type: "test_thing", Prior: cty.NullVal(thingType), Planned: thing(name), Config: thing(name)}
	}
	for _, r := range p.(provider.Batching).ApplyMany(t.Context(), []provider.ApplyRequest{request("a"), request("b")}) {
		if r.New != cty.NilVal || r.Unsent || !strings.Contains(r.Diags.Err().Error(), "2 requests were answered by 1 messages") {
			t.Errorf("%#v", r)
		}
	}
	// Plans in batches aren't implemented, whatever the plugin says.
	for _, r := range p.(provider.Batching).PlanMany(t.Context(), []provider.PlanRequest{{Type: "test_thing", ProposedNew: thing("a")}, {Type: "test_thing", ProposedNew: thing("b")}}) {
		if r.Diags.HasErrors() || r.Planned == cty.NilVal {
			t.Errorf("%#v", r)
		}
	}
}

// TestNoBatches: plugins without the service are no different.
func TestNoBatches(t *testing.T) {
	for _, protocol := range []string{"5", "6"} {
		p := speaking(t, protocol)
		if got := p.(provider.Batching).Batches(t.Context(), "test_thing"); got != (provider.Batches{}) {
			t.Errorf("%v", got)
		}
		if got := read(t, p, "version"); got != "1.12.0" {
			t.Error(got)
		}
	}
}
