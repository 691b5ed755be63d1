package stream

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
)

// TestListing: what a query asks for and finds is reported without what is sensitive.
func TestListing(t *testing.T) {
	at, err := addr.ParseInstance("list.sim_object.a")
	if err != nil {
		t.Fatal(err)
	}
	secret := cty.StringVal("hunter2").Mark(value.Sensitive)
	l := &plan.Listing{Addr: at, Config: cty.ObjectVal(map[string]cty.Value{"token": secret, "prefix": cty.StringVal("a")})}
	found := &plan.Found{
		Name: "a1", Identity: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i")}), IdentityVersion: 2,
		Object: cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("a1"), "inner": cty.ObjectVal(map[string]cty.Value{"key": secret})}),
		Import: "import {}",
	}
	empty := &plan.Listing{Addr: at, Config: cty.ObjectVal(map[string]cty.Value{"prefix": cty.NullVal(cty.String)})}
	var b bytes.Buffer
	j := NewJSON(&b, dialect.Terraform, func() time.Time { return time.Time{} })
	defer j.Close()
	j.Event(event.Event{Kind: event.ListStart, Listing: l})
	l.Found = append(l.Found, found)
	j.Event(event.Event{Kind: event.ListFound, Listing: l, Found: found})
	j.Event(event.Event{Kind: event.ListComplete, Listing: l})
	j.Event(event.Event{Kind: event.ListStart, Listing: empty})
	for _, want := range []string{
		`"list_start":{"address":"list.sim_object.a","resource_type":"sim_object","input_config":{"prefix":"a","token":null},"sensitive_attribute_paths":[".token"]}`,
		`"identity":{"id":"i"},"identity_version":2,"resource_type":"sim_object","resource_object":{"inner":{"key":null},"name":"a1"},"sensitive_attribute_paths":[".inner.key"],"import_config":"import {}"}`,
		`"list_complete":{"address":"list.sim_object.a","resource_type":"sim_object","total":1}`,
		`"list_start":{"address":"list.sim_object.a","resource_type":"sim_object"}`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s\nisn't in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "hunter2") {
		t.Error("a secret is told")
	}
}
