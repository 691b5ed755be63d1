package providerclient_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/testing/testkit"
)

// based has what every host has, and says nothing else.
type based struct{ providerclient.Base }

func (based) Resource(*promise.Task, *eval.Instance) (cty.Value, bool) { return cty.True, true }

// TestBase: what hosts embed answers what they don't.
func TestBase(t *testing.T) {
	loaded := &program.Program{}
	b := based{providerclient.Base{
		Variables: map[string]cty.Value{"given": cty.StringVal("v")},
		Load: func(_ *eval.Frame, c *program.Call, k addr.Key) (*program.Program, diag.List) {
			if k != addr.IntKey(1) {
				return nil, diag.Bug.List("%s", c.Call)
			}
			return loaded, nil
		},
	}}
	var host eval.Host = &b
	if v, diags := host.Variable(&program.Variable{Name: "given"}); !v.RawEquals(cty.StringVal("v")) || diags != nil {
		t.Error(v, diags)
	}
	if v, diags := host.Variable(&program.Variable{Name: "other"}); v != cty.NilVal || diags != nil {
		t.Error(v, diags)
	}
	want := eval.Expansion{Count: 3}
	if e, ok := host.Expand(nil, eval.Block{}, func() (eval.Expansion, bool) { return want, false }); e.Count != 3 || ok {
		t.Error(e, ok)
	}
	promise.NewRuntime(1).Do(func(task *promise.Task) {
		if p, ok := host.Program(task, nil, &program.Call{}, addr.IntKey(1)); p != loaded || !ok {
			t.Error(p, ok)
		}
		if p, ok := host.Program(task, nil, &program.Call{}, addr.IntKey(2)); p != nil || ok || !task.Reported().HasErrors() {
			t.Error(p, ok, task.Reported())
		}
	})
	b.Pool = providerclient.NewPool(t.Context(), fake.Catalog{testkit.Sim: fake.New()}, 1)
	fn := &program.ProviderFunction{Full: "provider::sim::none", Name: "none", Provider: testkit.Sim}
	if _, err := host.Call(nil, nil, fn, nil); err == nil || !strings.Contains(err.Error(), `no function named "none"`) {
		t.Error(err)
	}
}
