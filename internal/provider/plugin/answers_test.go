package plugin

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/proto"

	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// FuzzAnswers decodes any bytes as the answers that carry most: a schema, a value of a resource,
// diagnostics with paths. Each is an error or a value of the declared type.
func FuzzAnswers(f *testing.F) {
	types := []cty.Type{
		cty.Object(map[string]cty.Type{"name": cty.String, "size": cty.Number, "tags": cty.Map(cty.String), "any": cty.DynamicPseudoType}),
		cty.List(cty.Object(map[string]cty.Type{"a": cty.Set(cty.Bool)})), cty.DynamicPseudoType,
	}
	add := func(m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	value, err := encode(cty.ObjectVal(map[string]cty.Value{"name": cty.UnknownVal(cty.String), "size": cty.NumberIntVal(1), "tags": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("b")}), "any": cty.True}), types[0])
	if err != nil {
		f.Fatal(err)
	}
	add(&tfplugin6.ReadResource_Response{NewState: value})
	add(&tfplugin6.ReadResource_Response{NewState: &tfplugin6.DynamicValue{Json: []byte(`{"name": "a", "size": 1, "tags": null, "any": {"value": 1, "type": "number"}}`)}})
	add(&tfplugin6.ReadResource_Response{Diagnostics: []*tfplugin6.Diagnostic{{Severity: tfplugin6.Diagnostic_ERROR, Summary: "s", Attribute: &tfplugin6.AttributePath{Steps: []*tfplugin6.AttributePath_Step{{Selector: &tfplugin6.AttributePath_Step_AttributeName{AttributeName: "a"}}, {Selector: &tfplugin6.AttributePath_Step_ElementKeyInt{ElementKeyInt: -1}}}}}}})
	add(&tfplugin6.GetProviderSchema_Response{ResourceSchemas: map[string]*tfplugin6.Schema{"a": {Version: 1, Block: &tfplugin6.Schema_Block{
		Attributes: []*tfplugin6.Schema_Attribute{{Name: "a", Type: []byte(`"string"`), Required: true}, {Name: "n", NestedType: &tfplugin6.Schema_Object{Nesting: tfplugin6.Schema_Object_LIST}}},
		BlockTypes: []*tfplugin6.Schema_NestedBlock{{TypeName: "b", Nesting: tfplugin6.Schema_NestedBlock_SET, Block: &tfplugin6.Schema_Block{}}},
	}}}})
	f.Fuzz(func(t *testing.T, answer []byte) {
		var read tfplugin6.ReadResource_Response
		if proto.Unmarshal(answer, &read) == nil {
			for _, d := range diagnostics(read.Diagnostics) {
				_ = d.String()
			}
			for _, typ := range types {
				v, err := decode(read.NewState, typ)
				if err == nil && v.Type().TestConformance(typ) != nil {
					t.Errorf("%#v isn't a %s", v, typ.FriendlyName())
				}
			}
		}
		var declared tfplugin6.GetProviderSchema_Response
		if proto.Unmarshal(answer, &declared) == nil {
			tr := &translation{types: map[string]cty.Type{}}
			schemas := tr.schemas(&declared)
			for name, of := range schemas.Resources {
				if s := of.Schema(); s == nil && len(tr.errors) == 0 {
					t.Errorf("no schema of %s, and no error", name)
				}
			}
		}
	})
}
