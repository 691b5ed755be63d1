package jsonstate

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

func TestIdentities(t *testing.T) {
	s := state.Empty()
	var list []addr.Object
	for address, identity := range map[string]string{
		`sim_object.a`:                  `{"region":null,"id":"a","number":12345678901234567890}`,
		`module.m["k"].sim_object.b[2]`: `{"id":"b"}`,
		`sim_object.none`:               "",
	} {
		i, err := addr.ParseInstance(address)
		if err != nil {
			t.Fatal(err)
		}
		at := addr.Object{Instance: i}
		s.Objects[at] = &state.Object{IdentityJSON: []byte(identity)}
		list = append(list, at)
	}
	text, err := Identities(s, list)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "module.m[\"k\"].sim_object.b[2]": {
    "id": "b"
  },
  "sim_object.a": {
    "id": "a",
    "number": 12345678901234567890,
    "region": null
  }
}`
	if string(text) != want {
		t.Errorf("got %s", text)
	}
	s.Objects[list[0]].IdentityJSON = []byte(`{"id"`)
	if _, err := Identities(s, list); err == nil || !strings.Contains(err.Error(), list[0].String()) {
		t.Errorf("got %v", err)
	}
	if text, err := Identities(s, nil); string(text) != "{}" || err != nil {
		t.Errorf("got %s, %v", text, err)
	}
}
