package environment

import "testing"

func TestValidWorkspace(t *testing.T) {
	for name, want := range map[string]bool{"a-b_c.d~1": true, "": false, "..": false, "a/b": false, "a b": false, "é": false} {
		if ValidWorkspace(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
