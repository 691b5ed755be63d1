package main

import (
	"encoding/json"
	"slices"
	"testing"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDiff(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		want       []string
	}{
		{"equal", `{"a": [1, {"b": null}]}`, `{"a": [1, {"b": null}]}`, nil},
		{"absent isn't null", `{"a": null}`, `{}`, []string{"x.a"}},
		{"lists of other lengths", `{"a": [1]}`, `{"a": [1, 2]}`, []string{"x.a"}},
		{"objects by address", `{"resources": [{"address": "a", "v": 1}, {"address": "b"}]}`,
			`{"resources": [{"address": "b"}, {"address": "a", "v": 2}]}`, []string{"x.resources⟦a⟧.v", "x.resources#order"}},
		{"deposed objects", `{"resources": [{"address": "a"}, {"address": "a", "deposed": "1"}]}`,
			`{"resources": [{"address": "a"}]}`, []string{"x.resources⟦a 1⟧"}},
		{"references are counted", `{"references": ["a", "a", "b"]}`, `{"references": ["b", "a"]}`, []string{"x.references"}},
		{"kinds", `{"a": {}}`, `{"a": []}`, []string{"x.a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var found []Difference
			diff("x", parse(t, tt.a), parse(t, tt.b), &found)
			var got []string
			for _, d := range found {
				got = append(got, d.Path)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	want := []string{"error: A", "warning: B"}
	whole := `{"valid": false, "diagnostics": [{"severity": "error", "summary": "A"}, {"severity": "warning", "summary": "B"}]}`
	lines := `{"type": "version"}
{"type": "diagnostic", "diagnostic": {"severity": "error", "summary": "A"}}
{"type": "diagnostic", "diagnostic": {"severity": "warning", "summary": "B"}}
`
	for _, text := range []string{whole, lines} {
		if got := problems([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestKnown(t *testing.T) {
	known, err := parseKnown("# comment\nA reason.\n- a\\.b(\\[\\])?\n- c  in ^x/y:  with ^1$\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		example, path, value string
		known                bool
	}{
		{"any", "a.b⟦k⟦0⟧⟧", "", true},
		{"any", "a.bc", "", false},
		{"x/y:z", "c", "1", true},
		{"x/y:z", "c", "2", false},
		{"other", "c", "1", false},
	} {
		if got := explain(known, tt.example, Difference{Path: tt.path, Peer: tt.value}); (got != "") != tt.known {
			t.Errorf("%+v: %q", tt, got)
		}
	}
	if _, err := readKnown(); err != nil {
		t.Error(err)
	}
}
