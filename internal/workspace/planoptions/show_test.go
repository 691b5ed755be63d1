package planoptions

import "testing"

// TestShow: what makes no sense together is rejected, the rest isn't.
func TestShow(t *testing.T) {
	yes, no := true, false
	for _, test := range []struct {
		show Show
		want string // the summary of the problem
	}{
		{Show{}, ""},
		{Show{JSON: true}, ""},
		{Show{Path: "p", Steps: &yes}, ""},
		{Show{Path: "p", Steps: &no, JSON: true}, ""},
		{Show{Plan: "p", Format: "markdown"}, ""},
		{Show{Path: "p", Addresses: []string{"a.b"}}, ""},
		{Show{Config: true, JSON: true}, ""},
		{Show{Config: true}, "JSON output required for configuration"},
		{Show{Module: "m", JSON: true}, ""},
		{Show{Module: "m"}, "JSON output required for module"},
		{Show{Module: "m", State: true, JSON: true}, "Conflicting object types to show"},
		{Show{State: true, Path: "p"}, "Conflicting object types to show"},
		{Show{Plan: "p", Path: "p"}, "Conflicting object types to show"},
		{Show{Steps: &yes}, "Saved plan required"},
		{Show{Format: "markdown"}, "Incompatible options"},
		{Show{Format: "markdown", Path: "p", JSON: true}, "Incompatible options"},
		{Show{Format: "markdown", Path: "p", Steps: &no}, "Incompatible options"},
		{Show{Format: "html", Path: "p"}, ""},
		{Show{Format: "html", Path: "p", JSON: true}, "Incompatible options"},
		{Show{Format: "pdf", Path: "p"}, "Invalid output format"},
		{Show{Path: "p", Addresses: []string{"a.b"}, JSON: true}, "Incompatible options"},
		{Show{Path: "p", Addresses: []string{"a.b"}, Steps: &yes}, "Incompatible options"},
	} {
		if test.show.Format == "" {
			test.show.Format = "text"
		}
		got := ""
		if diags := test.show.Check(); len(diags) > 0 {
			got = diags[0].Summary
		}
		if got != test.want {
			t.Errorf("%+v: %q", test.show, got)
		}
	}
}
