package why

import (
	"slices"
	"testing"
)

// TestOrigins: what is said in a word where a chain is too long.
func TestOrigins(t *testing.T) {
	from := Link{Kind: Change, Subject: "sim_object.a"}
	for name, c := range map[string]struct {
		chains []Chain
		want   []string
	}{
		"nothing": {nil, nil},
		"an object nearer than where it comes from": {
			[]Chain{{from, {Kind: Change, Subject: "sim_object.b"}, {Kind: Given, Subject: "var.x", Name: "file"}}}, []string{"sim_object.b"}},
		"variables": {[]Chain{
			{from, {Kind: Given, Subject: "var.a", Name: "argument"}},
			{from, {Kind: Given, Subject: "var.b", Name: "environment"}},
			{from, {Kind: Given, Subject: "var.c", Name: "file"}},
			{from, {Kind: Given, Subject: "var.d", Name: "plan"}},
			{from, {Kind: Default, Subject: "var.e"}},
		}, []string{"var.a (-var)", "var.b (environment)", "var.c (file)", "var.d", "var.e (default)"}},
		"what is outside": {[]Chain{
			{from, {Kind: NewData, Subject: "data.sim_lookup.a"}},
			{from, {Kind: Impure, Name: "timestamp"}},
			{from, {Kind: Workspace}},
		}, []string{"data.sim_lookup.a", "timestamp()", "terraform.workspace"}},
		"once":                 {[]Chain{{from, {Kind: Workspace}}, {from, {Kind: Workspace}}}, []string{"terraform.workspace"}},
		"not for certain":      {[]Chain{{from, {Kind: Given, Subject: "var.a", Maybe: true}}}, nil},
		"the change by itself": {[]Chain{{from}}, nil},
	} {
		if got := Origins(c.chains); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
