package statebackend

import (
	"maps"
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/state/storage"
)

// asked is the block of a state store.
var asked = &program.Backend{
	Type: "x_store", Config: &program.Body{Body: hcl.EmptyBody()}, Range: hcl.Range{Filename: "main.tf"},
	Store: &program.StateStore{Name: "x", Config: &program.Body{Body: hcl.EmptyBody()}},
}

// typed is a type of state store with required arguments, that can't be opened because of some of
// them.
func typed(names, bad []string) func(string, string) (*StoreType, diag.List) {
	s := &schema.Block{Attributes: map[string]*schema.Attribute{}}
	for _, name := range names {
		s.Attributes[name] = &schema.Attribute{Type: cty.String, Required: true}
	}
	return func(string, string) (*StoreType, diag.List) {
		return &StoreType{Type: storage.Type{
			Schema: func() *schema.Block { return WithProvider(s, &schema.Block{}) },
			New: func(cty.Value, storage.Env) (storage.Backend, diag.List) {
				var diags diag.List
				for _, name := range bad {
					d := diag.BadBackend.New(diag.Error, "%s is bad", name)
					d.Path = cty.GetAttrPath(name)
					diags.Add(d)
				}
				return nil, diags
			},
		}}, nil
	}
}

// plainly takes of a body what the test gives.
func plainly(given map[string]cty.Value) Settings {
	return func(_ hcl.Body, s *schema.Block) (cty.Value, diag.List) {
		values := maps.Clone(given)
		for name := range values {
			if s.Attributes[name] == nil {
				delete(values, name)
			}
		}
		return cty.ObjectVal(values), nil
	}
}

// TestMissing: an argument that is missing is reported once, with what is wrong with the others.
func TestMissing(t *testing.T) {
	o := Opener{Stores: typed([]string{"bucket", "region"}, []string{"bucket", "region"})}
	d, diags := o.Declare(&program.Program{Backend: asked}, plainly(map[string]cty.Value{"bucket": cty.NullVal(cty.String), "region": cty.StringVal("?")}), nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	_, _, diags = o.Declared(d, nil)
	var got []string
	for _, d := range diags {
		got = append(got, d.Detail)
	}
	want := []string{`The backend argument "bucket" is required, but no definition was found. Set it in the block or with -backend-config.`, "region is bad"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestNoArguments: a state store needs no arguments.
func TestNoArguments(t *testing.T) {
	o := Opener{Stores: typed(nil, nil)}
	d, diags := o.Declare(&program.Program{Backend: asked}, plainly(nil), nil)
	if diags.HasErrors() || !d.Config.GetAttr("provider").RawEquals(cty.EmptyObjectVal) {
		t.Errorf("%v %v", d, diags)
	}
}

// TestStoreProblems: what is wrong with a type of state store is shown at the block that asks for
// it, unless it is said to be elsewhere.
func TestStoreProblems(t *testing.T) {
	o := Opener{Stores: func(string, string) (*StoreType, diag.List) {
		here := diag.UnknownBackend.New(diag.Error, "no such type")
		there := diag.UnknownBackend.Error(hcl.Range{Filename: "lock"}, "another one")
		return nil, diag.List{here, there}
	}}
	_, diags := o.Declare(&program.Program{Backend: asked}, plainly(nil), nil)
	if len(diags) != 2 || diags[0].Subject == nil || diags[0].Subject.Filename != "main.tf" || diags[1].Subject.Filename != "lock" {
		t.Errorf("%v", diags)
	}
}

// TestPlaceOfFile: a file has one place, from whatever directory it is named.
func TestPlaceOfFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	whole, short := Opener{Dir: dir}.Local(nil).At(storage.DefaultWorkspace), Opener{Dir: "."}.Local(nil).At(storage.DefaultWorkspace)
	if whole != short {
		t.Errorf("%v and %v", whole, short)
	}
}
