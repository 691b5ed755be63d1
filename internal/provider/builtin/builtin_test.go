package builtin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backends"
)

var (
	text    = cty.StringVal
	null    = cty.NullVal(cty.DynamicPseudoType)
	newID   = cty.UnknownVal(cty.String).RefineNotNull()
	unknown = cty.UnknownVal(cty.String)
)

func data(id, input, output, triggers cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"id": id, "input": input, "output": output, "triggers_replace": triggers})
}

func start(t *testing.T) provider.Provider {
	t.Helper()
	n := 0
	return New(Options{
		Backends: backends.All(),
		Env:      storage.Env{Dir: "testdata"},
		NewID:    func() string { n++; return fmt.Sprintf("id-%d", n) },
	})
}

func TestDataPlan(t *testing.T) {
	gone := cty.NullVal(dataBlock().ImpliedType())
	object := cty.ObjectVal(map[string]cty.Value{"a": text("x"), "b": unknown})
	prior := data(text("i"), text("a"), text("a"), null)
	for _, tt := range []struct {
		name                  string
		prior, proposed, want cty.Value
		replace               bool
	}{
		{"create", gone, data(unknown, text("a"), cty.DynamicVal, null), data(newID, text("a"), unknown, null), false},
		{"create without an input", gone, data(unknown, null, cty.DynamicVal, null), data(newID, null, null, null), false},
		{"create with a null of a type", gone, data(unknown, cty.NullVal(cty.Number), cty.DynamicVal, null), data(newID, cty.NullVal(cty.Number), cty.NullVal(cty.Number), null), false},
		{"create with an unknown input", gone, data(unknown, cty.DynamicVal, cty.DynamicVal, null), data(newID, cty.DynamicVal, cty.DynamicVal, null), false},
		{"create with a partly known input", gone, data(unknown, object, cty.DynamicVal, null), data(newID, object, cty.UnknownVal(object.Type()), null), false},
		{"no change", prior, prior, prior, false},
		{"input", prior, data(text("i"), text("b"), text("a"), null), data(text("i"), text("b"), unknown, null), false},
		{"input of another type", prior, data(text("i"), cty.True, text("a"), null), data(text("i"), cty.True, cty.UnknownVal(cty.Bool), null), false},
		{"unknown input", prior, data(text("i"), unknown, text("a"), null), data(text("i"), unknown, unknown, null), false},
		{"no input any more", prior, data(text("i"), null, text("a"), null), data(text("i"), null, cty.DynamicVal, null), false},
		{"trigger", prior, data(text("i"), text("a"), text("a"), text("t")), data(newID, text("a"), unknown, text("t")), true},
		{"trigger without an input", data(text("i"), null, null, null), data(text("i"), null, null, text("t")), data(newID, null, null, text("t")), true},
		{"unknown trigger", prior, data(text("i"), text("a"), text("a"), unknown), data(newID, text("a"), unknown, unknown), true},
		{"trigger of another type", data(text("i"), null, null, cty.NumberIntVal(1)), data(text("i"), null, null, text("1")), data(newID, null, null, text("1")), true},
		{"after an import", data(text("i"), null, null, null), data(text("i"), text("a"), null, null), data(text("i"), text("a"), unknown, null), false},
		{"destroy", prior, gone, gone, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t)
			r := p.Plan(t.Context(), provider.PlanRequest{Type: dataType, Prior: tt.prior, ProposedNew: tt.proposed, PriorPrivate: []byte("p")})
			if r.Diags != nil || !r.Planned.RawEquals(tt.want) {
				t.Fatalf("%v\ngot  %#v\nwant %#v", r.Diags, r.Planned, tt.want)
			}
			if replace := len(r.RequiresReplace) == 1 && r.RequiresReplace[0].Equals(cty.GetAttrPath("triggers_replace")); replace != tt.replace {
				t.Errorf("replace %v", r.RequiresReplace)
			}
			if string(r.Private) != "p" {
				t.Errorf("private %q", r.Private)
			}
		})
	}
}

func TestDataApply(t *testing.T) {
	gone := cty.NullVal(dataBlock().ImpliedType())
	for _, tt := range []struct {
		name          string
		planned, want cty.Value
	}{
		{"create", data(newID, text("a"), unknown, null), data(text("id-1"), text("a"), text("a"), null)},
		{"create without an input", data(newID, null, null, null), data(text("id-1"), null, null, null)},
		{"update", data(text("i"), text("b"), unknown, null), data(text("i"), text("b"), text("b"), null)},
		{"no input any more", data(text("i"), null, cty.DynamicVal, null), data(text("i"), null, null, null)},
		{"destroy", gone, gone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t).Apply(t.Context(), provider.ApplyRequest{Type: dataType, Planned: tt.planned, PlannedPrivate: []byte("p")})
			if r.Diags != nil || !r.New.RawEquals(tt.want) || string(r.Private) != "p" {
				t.Fatalf("%v %q\ngot  %#v\nwant %#v", r.Diags, r.Private, r.New, tt.want)
			}
		})
	}
	p := New(Options{})
	r := p.Apply(t.Context(), provider.ApplyRequest{Type: dataType, Planned: data(newID, null, null, null)})
	if id := r.New.GetAttr("id"); id.IsNull() || len(id.AsString()) != 36 {
		t.Errorf("id %#v", id)
	}
}

func TestDataStored(t *testing.T) {
	p := start(t)
	for _, tt := range []struct {
		stored string
		want   cty.Value // NilVal for an error
	}{
		{`{"id":"i","input":{"value":"a","type":"string"},"output":{"value":"a","type":"string"},"triggers_replace":null}`, data(text("i"), text("a"), text("a"), null)},
		{`{"id":"i","input":null,"output":null,"triggers_replace":null,"store":{"input":null,"replace":true}}`, data(text("i"), null, null, null)},
		{`{"id":"i"}`, data(text("i"), null, null, null)},
		{`{"id":{}}`, cty.NilVal},
		{`{`, cty.NilVal},
	} {
		v, diags := p.UpgradeState(t.Context(), provider.UpgradeRequest{Type: dataType, JSON: []byte(tt.stored)})
		if tt.want == cty.NilVal {
			if !diags.HasErrors() {
				t.Errorf("%s was accepted", tt.stored)
			}
		} else if diags != nil || !v.RawEquals(tt.want) {
			t.Errorf("%s: %v %#v", tt.stored, diags, v)
		}
	}
	i := p.Import(t.Context(), provider.ImportRequest{Type: dataType, ID: "x"})
	if len(i.Objects) != 1 || i.Objects[0].Type != dataType || !i.Objects[0].State.RawEquals(data(text("x"), null, null, null)) {
		t.Errorf("imported %#v", i)
	}
	current := data(text("i"), text("a"), text("a"), null)
	r := p.Read(t.Context(), provider.ReadRequest{Type: dataType, Current: current, Private: []byte("p")})
	if !r.New.RawEquals(current) || string(r.Private) != "p" {
		t.Errorf("read %#v", r)
	}
}

func TestDataMove(t *testing.T) {
	triggers := cty.ObjectVal(map[string]cty.Value{"a": text("b")})
	for _, tt := range []struct {
		source, target, stored string
		want                   cty.Value
	}{
		{"null_resource", dataType, `{"id":"1","triggers":{"a":"b"}}`, data(text("1"), null, null, triggers)},
		{"null_resource", dataType, `{"id":"1","triggers":null,"more":1}`, data(text("1"), null, null, null)},
		{"null_resource", dataType, `{"id":"1","triggers":{}}`, data(text("1"), null, null, cty.EmptyObjectVal)},
		{"null_resource", dataType, `[`, cty.NilVal},
		{"null_resource", "other", `{"id":"1"}`, cty.NilVal},
		{"random_id", dataType, `{"id":"1"}`, cty.NilVal},
	} {
		r := start(t).Move(t.Context(), provider.MoveRequest{SourceType: tt.source, TargetType: tt.target, SourceJSON: []byte(tt.stored), SourcePrivate: []byte("p")})
		if tt.want == cty.NilVal {
			if !r.Diags.HasErrors() {
				t.Errorf("%+v was moved", tt)
			}
		} else if r.Diags != nil || !r.Target.RawEquals(tt.want) || string(r.Private) != "p" {
			t.Errorf("%+v: %v %#v", tt, r.Diags, r.Target)
		}
	}
}

func TestDataValidate(t *testing.T) {
	p := start(t)
	str := cty.NullVal(cty.String)
	if diags := p.ValidateResource(t.Context(), addr.Managed, dataType, data(str, text("a"), null, unknown)); diags != nil {
		t.Error(diags)
	}
	diags := p.ValidateResource(t.Context(), addr.Managed, dataType, data(text("a"), null, text("b"), null))
	if len(diags) != 2 || diags[0].Summary != `"id" attribute is read-only` {
		t.Error(diags)
	}
}

func remote(backend string, config, defaults, workspace cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"backend": text(backend), "config": config, "defaults": defaults, "workspace": workspace, "outputs": null,
	})
}

func path(p string) cty.Value { return cty.ObjectVal(map[string]cty.Value{"path": text(p)}) }

func TestRemoteState(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outputs := func(outputs string) string {
		return `{"version":4,"terraform_version":"1.5.0","serial":1,"lineage":"l","outputs":{` + outputs + `},"resources":[]}`
	}
	put("a.tfstate", outputs(`"x":{"value":[1],"type":["list","number"]},"s":{"value":"t","type":"string","sensitive":true}`))
	put("none.tfstate", outputs(""))
	put("bad.tfstate", "{")
	put("empty.tfstate", "")
	put("terraform.tfstate", outputs(`"x":{"value":"default","type":"string"}`))
	put("terraform.tfstate.d/dev/terraform.tfstate", outputs(`"x":{"value":"dev","type":"string"}`))
	put("ws/dev/terraform.tfstate", outputs(`"x":{"value":"ws","type":"string"}`))

	object := func(pairs ...any) cty.Value {
		m := map[string]cty.Value{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1].(cty.Value)
		}
		return cty.ObjectVal(m)
	}
	str := cty.NullVal(cty.String)
	one := cty.ListVal([]cty.Value{cty.NumberIntVal(1)})
	p := New(Options{Backends: backends.All(), Env: storage.Env{Dir: dir}})
	for _, tt := range []struct {
		name    string
		config  cty.Value
		outputs cty.Value // NilVal for an error
		problem string
	}{
		{"relative path", remote("local", path("a.tfstate"), null, str), object("x", one, "s", text("t")), ""},
		{"absolute path", remote("local", path(filepath.Join(dir, "a.tfstate")), null, str), object("x", one, "s", text("t")), ""},
		{"config is a map", remote("local", cty.MapVal(map[string]cty.Value{"path": text("a.tfstate")}), null, str), object("x", one, "s", text("t")), ""},
		{"old name", remote("_local", path("a.tfstate"), null, str), object("x", one, "s", text("t")), ""},
		{"defaults", remote("local", path("a.tfstate"), object("s", cty.True, "more", cty.Zero), str), object("x", one, "s", text("t"), "more", cty.Zero), ""},
		{"only defaults", remote("local", path("none.tfstate"), cty.MapVal(map[string]cty.Value{"a": text("b")}), str), object("a", text("b")), ""},
		{"no outputs", remote("local", path("none.tfstate"), cty.MapValEmpty(cty.String), str), cty.EmptyObjectVal, ""},
		{"without a config", remote("local", null, null, str), object("x", text("default")), ""},
		{"workspace", remote("local", null, null, text("dev")), object("x", text("dev")), ""},
		{"workspace_dir", remote("local", object("workspace_dir", text("ws")), null, text("dev")), object("x", text("ws")), ""},
		{"missing", remote("local", path("other"), object("a", cty.True), str), cty.NilVal, "Unable to find remote state"},
		{"empty", remote("local", path("empty.tfstate"), null, str), cty.NilVal, "the state is empty"},
		{"missing workspace", remote("local", null, null, text("prod")), cty.NilVal, "Unable to find remote state"},
		{"bad workspace", remote("local", null, null, text("../x")), cty.NilVal, "Error loading state error"},
		{"damaged", remote("local", path("bad.tfstate"), null, str), cty.NilVal, "Unsupported state file format"},
		{"a folder", remote("local", path("ws"), null, str), cty.NilVal, "Error loading state error"},
		{"no such type", remote("nonsense", null, null, str), cty.NilVal, `There is no backend type named "nonsense"`},
		{"removed type", remote("etcd", null, null, str), cty.NilVal, `not supported in OpenTofu v1.3 or later`},
		{"no such argument", remote("local", object("file", text("x")), null, str), cty.NilVal, `"file"`},
		{"wrong type", remote("local", path("x").GetAttr("path"), null, str), cty.NilVal, badBackend},
		{"refused by the backend", remote("local", path(""), null, str), cty.NilVal, "Invalid local state file path"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := p.ReadData(t.Context(), provider.ReadDataRequest{Type: remoteType, Config: tt.config})
			if tt.outputs == cty.NilVal {
				if len(r.Diags) != 1 || !strings.Contains(r.Diags[0].String(), tt.problem) {
					t.Fatalf("got %v", r.Diags)
				}
				return
			}
			want := tt.config.AsValueMap()
			want["outputs"] = tt.outputs
			if r.Diags != nil || !r.New.RawEquals(cty.ObjectVal(want)) {
				t.Fatalf("%v\ngot  %#v\nwant %#v", r.Diags, r.New, cty.ObjectVal(want))
			}
		})
	}

	encrypted := New(Options{Backends: backends.All(), Env: storage.Env{Dir: dir}, Decrypt: func(_ addr.Instance, s []byte) ([]byte, error) {
		if string(s) != "{" {
			return nil, errors.New("no key")
		}
		return []byte(outputs(`"secret":{"value":true,"type":"bool"}`)), nil
	}})
	r := encrypted.ReadData(t.Context(), provider.ReadDataRequest{Type: remoteType, Config: remote("local", path("bad.tfstate"), null, str)})
	if r.Diags != nil || !r.New.GetAttr("outputs").RawEquals(object("secret", cty.True)) {
		t.Errorf("decrypted %v %#v", r.Diags, r.New)
	}
	r = encrypted.ReadData(t.Context(), provider.ReadDataRequest{Type: remoteType, Config: remote("local", path("a.tfstate"), null, str)})
	if len(r.Diags) != 1 || !strings.Contains(r.Diags[0].Detail, "no key") {
		t.Errorf("got %v", r.Diags)
	}
}

func TestRemoteStateValidate(t *testing.T) {
	str := cty.NullVal(cty.String)
	for _, tt := range []struct {
		name    string
		config  cty.Value
		problem string
	}{
		{"fine", remote("local", path("x"), null, str), ""},
		{"nothing", remote("local", null, null, str), ""},
		{"unknown config", remote("nonsense", cty.DynamicVal, cty.DynamicVal, unknown), ""},
		{"partly unknown config", remote("local", cty.ObjectVal(map[string]cty.Value{"path": unknown}), null, str), ""},
		{"unknown config that can't fit", remote("local", cty.UnknownVal(cty.Bool), null, str), "must be an object"},
		{"config that can't fit", remote("local", cty.True, null, str), "must be an object"},
		{"defaults that can't fit", remote("local", null, cty.True, str), "Defaults must be given"},
		{"no such type", remote("nonsense", null, null, str), "no backend type"},
		{"no such argument", remote("local", cty.ObjectVal(map[string]cty.Value{"file": unknown, "path": unknown}), null, str), ""},
		{"refused by the backend", remote("local", path(""), null, str), "must not be empty"},
		{"needs more", remote("http", null, null, str), "TF_HTTP_ADDRESS"},
	} {
		diags := start(t).ValidateResource(t.Context(), addr.Data, remoteType, tt.config)
		if tt.problem == "" && diags != nil || tt.problem != "" && (len(diags) != 1 || !strings.Contains(diags[0].Detail, tt.problem)) {
			t.Errorf("%s: %v", tt.name, diags)
		}
	}
	diags := start(t).ValidateResource(t.Context(), addr.Data, remoteType, remote("local", path(""), null, str))
	if len(diags) != 1 || !diags[0].Path.Equals(cty.GetAttrPath("config").GetAttr("path")) {
		t.Errorf("%v", diags)
	}
}

// Results of OpenTofu 1.12.6 returns.
func TestFunctions(t *testing.T) {
	object := func(name string, v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{name: v}) }
	list := cty.TupleVal([]cty.Value{text("x"), null, cty.EmptyObjectVal})
	inner := cty.ObjectVal(map[string]cty.Value{"x y": cty.True, "z": text("${a} %{b} \"q\"\n")})
	p := start(t)
	for _, tt := range []struct {
		name string
		arg  cty.Value
		want cty.Value
		err  string
	}{
		{"encode_tfvars", cty.ObjectVal(map[string]cty.Value{"b": list, "a": cty.NumberFloatVal(1.5), "longer": inner}),
			text("a = 1.5\nb = [\"x\", null, {}]\nlonger = {\n  \"x y\" = true\n  z     = \"$${a} %%{b} \\\"q\\\"\\n\"\n}\n"), ""},
		{"encode_tfvars", cty.EmptyObjectVal, text(""), ""},
		{"encode_tfvars", object("a", unknown), newID, ""},
		{"encode_tfvars", object("a b", cty.True), cty.NilVal, "invalid input: object key: a b - must be a valid identifier"},
		{"encode_tfvars", cty.EmptyTupleVal, cty.NilVal, "invalid input: must be an object"},
		{"encode_tfvars", cty.MapVal(map[string]cty.Value{"a": text("b")}), cty.NilVal, "invalid input: must be an object"},
		{"encode_tfvars", null, cty.NilVal, "invalid input: must not be null"},
		{"encode_expr", cty.ObjectVal(map[string]cty.Value{"k": null, "l": cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.EmptyTupleVal, text("multi\nline\n")})}),
			text("{\n  k = null\n  l = [1, [], \"multi\\nline\\n\"]\n}"), ""},
		{"encode_expr", text("x${y}"), text(`"x$${y}"`), ""},
		{"encode_expr", cty.ListVal([]cty.Value{cty.NumberIntVal(1), cty.NumberIntVal(2)}), text("[1, 2]"), ""},
		{"encode_expr", object("a", unknown), newID, ""},
		{"decode_tfvars", text("a = 1\nb = [true, { c = \"d\" }]\n"), cty.ObjectVal(map[string]cty.Value{
			"a": cty.NumberIntVal(1), "b": cty.TupleVal([]cty.Value{cty.True, object("c", text("d"))})}), ""},
		{"decode_tfvars", text(""), cty.EmptyObjectVal, ""},
		{"decode_tfvars", unknown, cty.DynamicVal, ""},
		{"decode_tfvars", text("a = b"), cty.NilVal, "Variables not allowed"},
		{"decode_tfvars", text("a {}"), cty.NilVal, `Unexpected "a" block`},
		{"decode_tfvars", text("a ="), cty.NilVal, "failed to decode tfvars content"},
		{"decode_tfvars", text("a = f()"), cty.NilVal, "Function calls not allowed"},
		{"other", null, cty.NilVal, `no function "other"`},
	} {
		got, argument, err := p.CallFunction(t.Context(), tt.name, []cty.Value{tt.arg})
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || argument != -1 {
				t.Errorf("%s(%#v): %v", tt.name, tt.arg, err)
			}
		} else if err != nil || !got.RawEquals(tt.want) {
			t.Errorf("%s(%#v): %v\ngot  %#v\nwant %#v", tt.name, tt.arg, err, got, tt.want)
		}
	}
}

// Everything that is declared is there, and nothing else.
func TestDeclared(t *testing.T) {
	s, p := Schemas(Options{}), start(t)
	for name := range s.Functions {
		if implementations[name] == nil {
			t.Errorf("function %s isn't there", name)
		}
	}
	if len(s.Functions) != len(implementations) {
		t.Error("functions aren't declared")
	}
	obj := cty.EmptyObjectVal
	for name, failed := range map[string]bool{
		"validate":         p.ValidateResource(t.Context(), addr.Data, dataType, obj).HasErrors(),
		"plan":             p.Plan(t.Context(), provider.PlanRequest{Type: "x"}).Diags.HasErrors(),
		"apply":            p.Apply(t.Context(), provider.ApplyRequest{Type: "x"}).Diags.HasErrors(),
		"import":           p.Import(t.Context(), provider.ImportRequest{Type: "x"}).Diags.HasErrors(),
		"data":             p.ReadData(t.Context(), provider.ReadDataRequest{Type: "x"}).Diags.HasErrors(),
		"open":             p.OpenEphemeral(t.Context(), "x", obj).Diags.HasErrors(),
		"renew":            p.RenewEphemeral(t.Context(), "x", nil).Diags.HasErrors(),
		"close":            p.CloseEphemeral(t.Context(), "x", nil).HasErrors(),
		"not known before": !p.Configure(t.Context(), obj).HasErrors() && !p.ValidateConfig(t.Context(), obj).HasErrors(),
	} {
		if !failed {
			t.Errorf("%s of an unknown type succeeded", name)
		}
	}
	if err := errors.Join(p.Stop(t.Context()), p.Close()); err != nil {
		t.Error(err)
	}
}
