package diag_test

import (
	"testing"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/diag"
)

func TestCondense(t *testing.T) {
	at := &hcl.Range{Filename: "main.tf"}
	l := diag.List{
		{Summary: "a", Detail: "x", Address: "r.one", Subject: at},
		{Summary: "a", Detail: "x", Address: "r.two", Subject: at},
		{Summary: "gone", Detail: "x", Address: "r.one", Subject: at, Once: true},
		{Summary: "gone", Detail: "x", Address: "r.two", Subject: at, Once: true},
		{Summary: "gone", Detail: "y", Address: "r.two", Subject: at, Once: true},
		{Severity: diag.Warning, Summary: "gone", Detail: "x", Address: "r.two", Once: true},
	}
	got := l.Condense()
	if len(got) != 5 {
		t.Fatal(got)
	}
	for n, want := range []string{"r.one", "r.two", "", "", ""} {
		if got[n].Address != want || (got[n].Subject != nil) != (want != "") {
			t.Errorf("%d: %+v", n, got[n])
		}
	}
	if l[2].Address != "r.one" {
		t.Error("the list itself was changed")
	}
}
