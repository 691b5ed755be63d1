package supply

import "testing"

// TestSwitches: what a provider declares may hang on switches in its environment,
// and on nothing that differs from run to run.
func TestSwitches(t *testing.T) {
	base := map[string]string{"PATH": "/bin", "ARM_BETA": "true", "HOME": "/root"}
	with := func(name, value string) string {
		environ := map[string]string{name: value}
		for k, v := range base {
			if _, ok := environ[k]; !ok {
				environ[k] = v
			}
		}
		return switches(environ)
	}
	if got := switches(base); got != "ARM_BETA=true" {
		t.Errorf("%q", got)
	}
	for _, other := range [][2]string{{"ARM_BETA", "false"}, {"ARM_BETA", ""}, {"TF_X_MORE", "1"}} {
		if with(other[0], other[1]) == switches(base) {
			t.Errorf("%s=%s makes no difference", other[0], other[1])
		}
	}
	for _, same := range [][2]string{{"AWS_SESSION_TOKEN", "abc"}, {"SHLVL", "1"}, {"TF_VAR_on", "true"}, {"PWD", "/x"}} {
		if with(same[0], same[1]) != switches(base) {
			t.Errorf("%s=%s makes a difference", same[0], same[1])
		}
	}
}
