package statefile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir.dev/weir/internal/state"
)

// oldStates are states of former format versions, by what is rare in them.
var oldStates = map[string]string{
	"1": `{"version":1,"serial":3,"modules":[{"path":null,"outputs":{"a":"1","b":null},"resources":{
		"x_y.a":{"type":"x_y","depends_on":["x_y.b"],"tainted":[{"id":"gone"},null],
			"primary":{"id":"i","attributes":{"m.#":"2","m.k":"v","m.2":"w","none.#":"0","l.#":"1","l.0.m.#":"1","l.0.m.k":"v",".#":"0"}}},
		"x_y.b":{"primary":{"id":"j","attributes":{"id":"own"},"tainted":true}}}}]}`,
	"2": `{"version":2,"serial":1,"lineage":"l","terraform_version":"0.7.1","remote":{"type":"s3","config":{"a":"b"}},"modules":[
		{"path":["root"],"outputs":{"list":{"value":["a","b"],"type":"list"},"nothing":{"type":"string"},
			"maps":{"sensitive":true,"value":[{"a":"1","b":"2"}]},"mixed":{"value":{"a":"1","b":2}},"empty":{"value":[]}},
			"resources":{"x_y.a.1":{"primary":{"id":"i","tainted":true,"meta":{"schema_version":"2","k":"v"}},
				"deposed":[{"id":"old"},null,{"id":"older","meta":{"schema_version":3}}],"tainted":[{"id":"no such list"}]}}}]}`,
	"3": `{"version":3,"modules":[{"path":["root","in","side"],"outputs":{"gone":{"value":"x"}},"resources":{
		"data.x_y.a":{"provider":"other.west","primary":{"attributes":{"m.#":"1","m.k":"v"}}},
		"data.x_y.a.0":{"provider":"provider.other","primary":{"meta":{"schema_version":"odd"}}},
		"data.name":{"provider":"module.in.provider.other.west","primary":{}},
		"terraform_remote_state.r":{"primary":{"attributes":{}}},
		"x_y.nothing":{"primary":null}}}]}`,
}

func TestReadOld(t *testing.T) {
	for version, want := range map[string]string{
		"1": `serial 3 lineage "" version 0.0.0
a = cty.StringVal("1")
b = cty.StringVal("")
x_y.a provider["registry.opentofu.org/hashicorp/x"] 0 {"id":"i","l.#":"1","l.0.m.%":"1","l.0.m.k":"v","m.%":"2","m.2":"w","m.k":"v"}
x_y.b provider["registry.opentofu.org/hashicorp/x"] 0 {"id":"own"}
`,
		"2": `serial 1 lineage "l" version 0.7.1
empty = cty.EmptyTupleVal
list = cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")})
maps = cty.ListVal([]cty.Value{cty.MapVal(map[string]cty.Value{"a":cty.StringVal("1"), "b":cty.StringVal("2")})}) sensitive
mixed = cty.ObjectVal(map[string]cty.Value{"a":cty.StringVal("1"), "b":cty.NumberIntVal(2)})
nothing = cty.NullVal(cty.DynamicPseudoType)
x_y.a[1] provider["registry.opentofu.org/hashicorp/x"] 2 {"id":"i"} tainted {"k":"v"}
x_y.a[1] (deposed object 00000001) provider["registry.opentofu.org/hashicorp/x"] 0 {"id":"old"}
x_y.a[1] (deposed object 00000003) provider["registry.opentofu.org/hashicorp/x"] 3 {"id":"older"}
`,
		"3": `serial 0 lineage "" version 0.0.0
module.in.module.side.data.x_y.a module.in.module.side.provider["registry.opentofu.org/hashicorp/other"].west 0 {"m.#":"1","m.k":"v"}
module.in.module.side.data.x_y.a[0] provider["registry.opentofu.org/hashicorp/other"] 0 {} {"schema_version":"odd"}
module.in.module.side.resource.data.name module.in.provider["registry.opentofu.org/hashicorp/other"].west 0 {}
module.in.module.side.terraform_remote_state.r module.in.module.side.provider["terraform.io/builtin/terraform"] 0 {}
`,
	} {
		t.Run(version, func(t *testing.T) {
			s, diags := Read([]byte(oldStates[version]), "x.tfstate")
			if s == nil {
				t.Fatal(diags)
			}
			if diff := cmp.Diff(want, describe(s)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			warned := version == "1"
			if warned && (len(diags) != 1 || !strings.Contains(diags[0].Detail, `tainted object of x_y.a with the id "gone"`)) || !warned && len(diags) != 0 {
				t.Errorf("diagnostics: %v", diags)
			}
			checkRead(t, []byte(oldStates[version]))
		})
	}
}

// describe has a line for each output and object.
func describe(s *state.Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "serial %d lineage %q version %s\n", s.Serial, s.Lineage, s.Version)
	for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
		fmt.Fprintf(&b, "%s = %#v", name, s.Outputs[name].Value)
		if s.Outputs[name].Sensitive {
			b.WriteString(" sensitive")
		}
		b.WriteString("\n")
	}
	for _, at := range s.Addresses() {
		o := s.Objects[at]
		attributes := o.JSON
		if o.Flat != nil {
			attributes, _ = json.Marshal(o.Flat)
		}
		fmt.Fprintf(&b, "%s %s %d %s", at, o.Provider, o.SchemaVersion, attributes)
		if o.Tainted {
			b.WriteString(" tainted")
		}
		if o.Private != nil {
			b.WriteString(" " + string(o.Private))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestReadOldBad(t *testing.T) {
	resource := func(address, members string) string {
		return `{"version":3,"modules":[{"path":["root"],"resources":{"` + address + `":{` + members + `}}}]}`
	}
	for _, tt := range []struct{ name, src, summary, detail string }{
		{"zero", `{"version":0}`, unsupportedFormat, "uses format version 0"},
		{"cut off", `{"version":3,"modules":[`, unsupportedFormat, "could not be parsed"},
		{"doubled", `{"version":3,"modules":[]}{}`, invalidFormat, "x.tfstate is not a valid state of format version 3: invalid character"},
		{"modules", `{"version":2,"modules":{}}`, invalidFormat, `"modules" can't be a JSON object`},
		{"attributes", resource("a.b", `"primary":{"attributes":{"a":1}}`), invalidFormat, `attributes`},
		{"serial before the version", `{"serial":-1,"version":3}`, upgradeFailed, "the serial -1 is less than zero"},
		{"modules is missing", `{"version":3,"serial":1}`, upgradeFailed, `"modules" is missing`},
		{"modules is null", `{"version":3,"modules":null}`, upgradeFailed, `"modules" is missing`},
		{"modules is misspelt", `{"version":1,"module":[]}`, upgradeFailed, `"modules" is missing`},
		{"resources is misspelt", `{"version":3,"modules":[{"path":["root"],"resourcer":{}}]}`, upgradeFailed, `"resources" is missing`},
		{"no path", `{"version":2,"modules":[{}]}`, upgradeFailed, `has the path []`},
		{"null module", `{"version":3,"modules":[null]}`, upgradeFailed, `has the path []`},
		{"another root", `{"version":1,"modules":[{"path":["top"]}]}`, upgradeFailed, `doesn't begin with "root"`},
		{"module", `{"version":3,"modules":[{"path":["root","a b"],"resources":{}}]}`, upgradeFailed, `"a b" in the path`},
		{"one part", resource("a", ""), upgradeFailed, `"a" is not the address of an instance: a type, a name`},
		{"four parts", resource("a.b.0.1", ""), upgradeFailed, `"a.b.0.1" is not the address`},
		{"index", resource("a.b.c", ""), upgradeFailed, `"c" is not an index`},
		{"negative index", resource("a.b.-1", ""), upgradeFailed, `"-1" is not an index`},
		{"name", resource("a.b c", ""), upgradeFailed, `identifiers`},
		{"provider", resource("a.b", `"provider":"provider."`), upgradeFailed, `a.b has the provider "provider.", which can't be understood`},
		{"provider with a key", resource("a.b", `"provider":"x.y[1]"`), upgradeFailed, `an index has no place in it`},
		{"template", resource("a.b", `"provider":"x.${var.y}"`), upgradeFailed, `a template was never possible`},
		{"twice", `{"version":3,"modules":[{"path":["root"],"resources":{"a.b.1":{"primary":{}},"a.b.0x1":{"primary":{}}}}]}`, duplicateInstance, `a.b[1] more than once`},
		{"output of version 1", `{"version":1,"modules":[{"resources":{},"outputs":{"o":{}}}]}`, upgradeFailed, `output "o" is not readable: a text is expected`},
		{"output", `{"version":2,"modules":[{"path":["root"],"resources":{},"outputs":{"o":"x"}}]}`, upgradeFailed, `output "o" is not readable: an object`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, diags := Read([]byte(tt.src), "x.tfstate")
			if s != nil || len(diags) == 0 {
				t.Fatalf("accepted: %v", s)
			}
			if diags[0].Summary != tt.summary || !strings.Contains(diags[0].Detail, tt.detail) {
				t.Errorf("got  %s\nwant %s; … %s …", diags[0], tt.summary, tt.detail)
			}
		})
	}
}

// Providers that states from before there were namespaces have.
func TestReadNamelessProvider(t *testing.T) {
	for provider, want := range map[string]string{
		`registry.terraform.io/-/x`:         `provider["registry.terraform.io/hashicorp/x"]`,
		`registry.opentofu.org/-/x`:         `provider["registry.opentofu.org/hashicorp/x"]`,
		`registry.opentofu.org/-/terraform`: `provider["terraform.io/builtin/terraform"]`,
		`example.com/-/x`:                   `provider["example.com/-/x"]`,
	} {
		s, diags := Read([]byte(`{"version":4,"resources":[{"mode":"data","type":"x_y","name":"a","provider":"provider[\"`+provider+`\"]","instances":[{}]}]}`), "x.tfstate")
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		for _, o := range s.Objects {
			if got := o.Provider.String(); got != want {
				t.Errorf("%s became %s, want %s", provider, got, want)
			}
		}
	}
}
