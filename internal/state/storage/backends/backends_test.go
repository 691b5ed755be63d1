package backends

import (
	"testing"

	"weir.dev/weir/internal/state/storage"
)

func TestAll(t *testing.T) {
	for name, typ := range All() {
		// Without a configuration there is a backend or a reason.
		b, diags := All().New(name, typ.Schema().EmptyValue(), storage.Env{Dir: t.TempDir()})
		if (b == nil) != diags.HasErrors() {
			t.Errorf("%s: %v %v", name, b, diags)
		}
	}
}
