package instance

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/resourceconfig"
	"weir.dev/weir/internal/state"
)

// Existing is the expansion of a block by what a state has, which is what destroying
// everything works on. ok is false for blocks that the configuration expands there too:
// provider configurations, whose keys objects name, actions and removed blocks.
func Existing(keys *state.Keys, b eval.Block) (e eval.Expansion, ok bool) {
	switch {
	case b.Provider != nil || b.Call != nil && b.Call.Nth > 0 || b.Resource != nil && b.Resource.Name.Mode == addr.Action:
		return e, false
	case b.Resource != nil:
		return b.Stored(keys.Resource(addr.Resource{Module: b.Frame.Addr, Name: b.Resource.Name})), true
	}
	return b.Stored(keys.Call(b.Frame.Addr, b.Call.Call)), true
}

// DataResult converts the answer of a data source to its value, with the marks of schema and
// configuration, and to the object that states store.
func DataResult(s lifecycle.Subject, p addr.ProviderConfig, c resourceconfig.Config, answer cty.Value) (marked cty.Value, stored *state.Object, diags diag.List) {
	marked = s.Schema.Block.MarkSensitive(resourceconfig.MarkPaths(answer, c.Sensitive))
	stored, err := s.Store(lifecycle.Object{Value: answer}, p, resourceconfig.SensitivePaths(marked))
	if err != nil {
		return cty.DynamicVal, nil, diag.Bug.As("Failed to encode the result of a data source").List("%s", err)
	}
	return marked, stored, nil
}
