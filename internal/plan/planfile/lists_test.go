package planfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"weir.dev/weir/internal/plan"
)

func packed(t *testing.T, v any) msgpack.RawMessage {
	t.Helper()
	raw, err := msgpack.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestBadLists: records that say what can't be are errors, whatever the rest of a plan is.
func TestBadLists(t *testing.T) {
	for what, raw := range map[string]msgpack.RawMessage{
		"no list":               packed(t, "x"),
		"longer than its bytes": {0xdd, 0x7f, 0xff, 0xff, 0xff},
		"no record":             packed(t, []string{"a text that is long enough"}),
	} {
		if _, err := (&changeList{raw: raw}).changes(typeReader{}); err == nil {
			t.Errorf("changes: %s", what)
		}
		if _, err := (&stepList{raw: raw}).graph(&plan.Plan{}); err == nil {
			t.Errorf("steps: %s", what)
		}
	}
	for what, r := range map[string]stepRecord{
		"an unknown kind":             {Kind: "dance"},
		"an invocation that isn't":    {Kind: "invoke", Invocation: 1},
		"an invocation of none":       {Kind: "invoke"},
		"an object's without address": {Kind: "create", Object: objectAddr{Instance: "no address"}},
		"a provider without address":  {Kind: "open", Provider: "no address"},
		"a module without address":    {Kind: "open", Module: "no address"},
		"a step that isn't":           {Kind: "create", Of: 1},
		"a condition that isn't":      {Kind: "create", When: 9},
	} {
		if _, err := (&stepList{raw: packed(t, []stepRecord{r})}).graph(&plan.Plan{}); err == nil {
			t.Errorf("a step with %s", what)
		}
	}
	if _, err := (&changeList{raw: packed(t, []changeRecord{{}})}).changes(typeReader{}); err == nil {
		t.Error("a change of nothing")
	}
	if list, err := (*changeList)(nil).changes(typeReader{}); list != nil || err != nil {
		t.Errorf("of no list: %v, %v", list, err)
	}
	if g, err := (*stepList)(nil).graph(&plan.Plan{}); err != nil || len(g.Steps) > 0 {
		t.Errorf("of no list: %v, %v", g, err)
	}
}

// TestIn: a folder has the plans that are named as such, and any other path is one itself.
func TestIn(t *testing.T) {
	folder := t.TempDir()
	if names, diags := In(folder, "weir"); names != nil || !strings.Contains(diags[0].Detail, "weir stacks plan -out=FOLDER") {
		t.Errorf("an empty folder: %v, %v", names, diags)
	}
	for _, name := range []string{"a.tfplan", "b.txt", "c.tfplan"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if names, diags := In(folder, "weir"); !slices.Equal(names, []string{"a.tfplan", "c.tfplan"}) || diags != nil {
		t.Errorf("%v, %v", names, diags)
	}
	for _, path := range []string{"a.tfplan", "none"} {
		if names, diags := In(filepath.Join(folder, path), "weir"); !slices.Equal(names, []string{""}) || diags != nil {
			t.Errorf("%s: %v, %v", path, names, diags)
		}
	}
}
