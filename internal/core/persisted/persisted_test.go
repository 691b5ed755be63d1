package persisted

import (
	"reflect"
	"testing"
)

// TestFlags: no setting is left out, and no name is there twice.
func TestFlags(t *testing.T) {
	var s Settings
	names := map[string]bool{}
	for _, f := range s.Flags() {
		*f.Set = true
		names[f.Name] = true
	}
	fields := reflect.TypeFor[Settings]().NumField()
	if len(names) != fields {
		t.Errorf("%d names for %d settings", len(names), fields)
	}
	v := reflect.ValueOf(s)
	for i := range fields {
		if !v.Field(i).Bool() {
			t.Errorf("%s is no flag", v.Type().Field(i).Name)
		}
	}
}
