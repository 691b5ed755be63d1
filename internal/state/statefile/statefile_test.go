package statefile

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
)

var update = flag.Bool("update", false, "rewrite the files in testdata in the form that Write has")

func readFile(t testing.TB, name string) ([]byte, *state.Snapshot) {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s, diags := Read(src, name)
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	return src, s
}

func write(t interface {
	Helper()
	Fatal(args ...any)
}, s *state.Snapshot) string {
	t.Helper()
	b, err := Bytes(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// recorded.tfstate was written by OpenTofu 1.12.6, with its check results
// sorted; rare.tfstate has what is seldom seen.
func TestFilesComeBackUnchanged(t *testing.T) {
	for _, name := range []string{"recorded.tfstate", "rare.tfstate"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			src, s := readFile(t, path)
			got := write(t, s)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(src), got); diff != "" {
				t.Errorf("after Read and Write (-file +written):\n%s", diff)
			}

			// The engine makes JSON without white space.
			for _, o := range s.Objects {
				var b bytes.Buffer
				if len(o.JSON) > 0 && json.Compact(&b, o.JSON) == nil {
					o.JSON = b.Bytes()
				}
			}
			if diff := cmp.Diff(string(src), write(t, s)); diff != "" {
				t.Errorf("with compact attributes:\n%s", diff)
			}
		})
	}
}

func TestReadRare(t *testing.T) {
	_, s := readFile(t, "testdata/rare.tfstate")
	deposed := addr.Resource{Name: addr.Name{Type: "sim_object", Name: "deposed"}}
	o := s.Objects[addr.Object{Instance: deposed.Instance(addr.IntKey(2)), Deposed: "ffffffff"}]
	if o == nil {
		t.Fatalf("not found among %v", s.Addresses())
	}
	path := cty.GetAttrPath("list").IndexInt(0).IndexString("k")
	if len(o.Sensitive) != 1 || !o.Sensitive[0].Equals(path) {
		t.Errorf("sensitive paths %#v", o.Sensitive)
	}
	if !o.Tainted || !o.CreateBeforeDestroy || !o.SkipDestroy || !bytes.Equal(o.Private, []byte{0, 1, 2, 3}) {
		t.Errorf("%+v", o)
	}
	if got := fmt.Sprint(o.Dependencies); got != "[data.sim_lookup.x module.p.sim_object.y sim_object.z]" {
		t.Errorf("dependencies %s", got)
	}
	if got := o.Provider.String(); got != `module.p.provider["registry.opentofu.org/weir/sim"].west` {
		t.Errorf("provider %s", got)
	}
	o = s.Objects[addr.Object{Instance: deposed.Instance(addr.IntKey(2)), Deposed: "00000abc"}]
	if o.JSON != nil || o.Flat["list.0"] != "a" || o.SchemaVersion != 3 {
		t.Errorf("%+v", o)
	}
	o = s.Objects[addr.Object{Instance: deposed.Instance(addr.StringKey("text"))}]
	if o.IdentityVersion != 1 || len(o.IdentityJSON) == 0 {
		t.Errorf("%+v", o)
	}
	if s.Serial != 7 || s.Version != "1.12.6" || !strings.HasPrefix(s.Lineage, "0b1e") || s.Checks != nil {
		t.Errorf("%+v", s)
	}
}

func TestReadForms(t *testing.T) {
	const one = `"mode":"managed","type":"a","name":"b","provider":"provider[\"registry.opentofu.org/x/y\"]"`
	for _, tt := range []struct{ name, src, want string }{
		{"empty", "", "nothing"},
		{"blank", " \n", "nothing"},
		{"least", `{"version":4,"resources":[]}`, ""},
		{"unknown members", `{"version":4,"future":{"a":[1]},"resources":[{` + one + `,"more":[{}],"instances":[{"extra":1,"attributes":{"id":"i"}}]}]}`, `a.b {"id":"i"}`},
		{"instances first", `{"resources":[{"instances":[{"index_key":1}],` + one + `}],"version":4}`, `a.b[1] {}`},
		{"provider of an old version", `{"version":4,"resources":[{"mode":"managed","type":"a","name":"b","provider":"provider.y","instances":[{}]}]}`, `a.b {}`},
		{"provider after the instances", `{"version":4,"resources":[{"mode":"data","type":"a","name":"b","instances":[{}],"provider":"provider.y"}]}`, `data.a.b {}`},
		{"each is a thing of the past", `{"version":4,"resources":[{` + one + `,"each":"list","instances":[{"index_key":0,"dependencies":["b.c","b.c","a.a"]}]}]}`, `a.b[0] {}`},
		{"nulls", `{"version":4,"outputs":null,"resources":[],"check_results":null,"lineage":null,"serial":null}`, ""},
		{"null attributes", `{"version":4,"resources":[{` + one + `,"instances":[{"attributes":null,"sensitive_attributes":null,"private":null,"status":null,"identity":null,"index_key":null}]}]}`, `a.b {}`},
		{"output without a value", `{"version":4,"outputs":{"x":{"value":null,"type":"string"}},"resources":[]}`, ""},
		{"no instances", `{"version":4,"resources":[{` + one + `,"instances":[]}]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, diags := Read([]byte(tt.src), "x.tfstate")
			if err := diags.Err(); err != nil {
				t.Fatal(err)
			}
			got := "nothing"
			if s != nil {
				var lines []string
				for _, at := range s.Addresses() {
					lines = append(lines, at.String()+" "+string(s.Objects[at].JSON))
				}
				got = strings.Join(lines, "\n")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReadBad(t *testing.T) {
	resource := func(members string) string {
		return `{"version":4,"resources":[{` + members + `}]}`
	}
	instance := func(members string) string {
		return resource(`"mode":"managed","type":"a","name":"b","provider":"provider[\"x/y/z\"]","instances":[{` + members + `}]`)
	}
	whole, err := os.ReadFile("testdata/recorded.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, src, summary, detail string }{
		{"not JSON", "{ not json", unsupportedFormat, "x.tfstate could not be parsed as JSON: syntax error at byte offset 2 (line 1)"},
		{"cut off", string(whole[:len(whole)/2]), unsupportedFormat, "could not be parsed"},
		{"cut off in a string", `{"version":4,"lineage":"ab`, unsupportedFormat, "ends within a string"},
		{"doubled", `{"version":4}{"version":4}`, unsupportedFormat, "the end of the file is expected"},
		{"conflict markers", "<<<<<<< HEAD\n{}", unsupportedFormat, "could not be parsed"},
		{"array", `[1]`, unsupportedFormat, "a JSON object is expected"},
		{"zeros", "\x00\x00\x00", unsupportedFormat, "could not be parsed"},
		{"deep", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), unsupportedFormat, "nest more than 1000 levels"},
		{"deep attributes", instance(`"attributes":{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`), unsupportedFormat, "nest more than"},
		{"deep objects", strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), unsupportedFormat, "nest more than"},
		{"no version", `{"resources":[]}`, unsupportedFormat, `does not have a "version" attribute`},
		{"newer", `{"version":5,"terraform_version":"9.0.0"}`, unsupportedFormat, "uses format version 5, which is not supported; version 4 is. It was created by version 9.0.0."},
		{"newer of another shape", `{"resources":{"a":1},"version":12}`, unsupportedFormat, "uses format version 12"},
		{"version zero", `{"version":0}`, unsupportedFormat, "uses format version 0"},
		{"version is text", `{"version":"4"}`, unsupportedFormat, `The version in x.tfstate is "4". A positive whole number`},
		{"encrypted", `{"serial":1,"lineage":"x","meta":{},"encrypted_data":"abc","encryption_version":"v0"}`, unsupportedFormat, "is encrypted"},
		{"serial is text", `{"version":4,"serial":"1"}`, invalidFormat, `"serial" must be a whole number`},
		{"negative serial", `{"version":4,"serial":-1}`, invalidFormat, `"serial" must be a whole number`},
		{"resources is an object", `{"version":4,"resources":{}}`, invalidFormat, `"resources" must be an array`},
		{"resources is null", `{"version":4,"resources":null}`, invalidFormat, `"resources" must be an array`},
		{"resources is text", `{"version":4,"resources":"[]"}`, invalidFormat, `"resources" must be an array`},
		{"resources is missing", `{"version":4,"serial":3,"lineage":"x","outputs":{}}`, invalidFormat, `has no "resources"`},
		{"only the version", `{"version":4}`, invalidFormat, `has no "resources"`},
		{"resources is misspelt", `{"version":4,"resourcer":[]}`, invalidFormat, `has no "resources"`},
		{"resources is behind another member", `{"version":4,"more":{"resources":[]}}`, invalidFormat, `has no "resources"`},
		{"a resource is null", `{"version":4,"resources":[null]}`, invalidFormat, `must be an object`},
		{"instances is null", resource(`"mode":"managed","type":"a","name":"b","provider":"provider.y","instances":null`), invalidFormat, `"instances" must be an array`},
		{"instances is null and first", resource(`"instances":null,"mode":"managed","type":"a","name":"b","provider":"provider.y"`), invalidFormat, `"instances" must be an array`},
		{"instances is an object", resource(`"mode":"managed","type":"a","name":"b","provider":"provider.y","instances":{}`), invalidFormat, `"instances" must be an array`},
		{"instances is missing", resource(`"mode":"managed","type":"a","name":"b","provider":"provider.y"`), invalidFormat, `a.b without "instances"`},
		{"instances is misspelt", resource(`"mode":"managed","type":"a","name":"b","provider":"provider.y","instance":[{}]`), invalidFormat, `a.b without "instances"`},
		{"an instance is null", resource(`"mode":"managed","type":"a","name":"b","provider":"provider.y","instances":[null]`), invalidFormat, `must be an object`},
		{"attributes is an array", instance(`"attributes":[]`), invalidFormat, `"attributes" must be an object`},
		{"no mode", resource(`"type":"a","name":"b"`), invalidMode, `mode "" ("a" "b")`},
		{"ephemeral", resource(`"mode":"ephemeral","type":"a","name":"b","instances":[{}]`), invalidMode, `mode "ephemeral"`},
		{"bad module", resource(`"mode":"data","type":"a","name":"b","module":"x"`), invalidFormat, `module that can't be understood`},
		{"bad name", resource(`"mode":"data","type":"a","name":"b c"`), invalidFormat, `identifiers`},
		{"bad provider", resource(`"mode":"data","type":"a","name":"b","provider":"?"`), invalidFormat, `provider that can't be understood`},
		{"no provider", resource(`"mode":"data","type":"a","name":"b","instances":[{}]`), missingProvider, `data.a.b`},
		{"bad key", instance(`"index_key":1.5`), invalidFormat, `"index_key" must be a whole number`},
		{"negative key", instance(`"index_key":-1`), invalidInstance, `index_key`},
		{"odd key", instance(`"index_key":true`), invalidInstance, `index_key`},
		{"status", instance(`"status":"odd"`), invalidInstance, `status "odd"`},
		{"deposed", instance(`"deposed":"123"`), invalidInstance, `deposed key "123"`},
		{"private", instance(`"private":"%"`), invalidInstance, `base64`},
		{"dependency", instance(`"dependencies":["module.x"]`), invalidFormat, `"module.x" as a dependency`},
		{"path", instance(`"sensitive_attributes":[[{"type":"jump","value":"x"}]]`), invalidFormat, `"sensitive_attributes" must be a list of paths`},
		{"twice", instance(`},{`), duplicateInstance, `a.b more than once`},
		{"twice deposed", instance(`"deposed":"12345678"},{"deposed":"12345678"`), duplicateInstance, `deposed object 12345678`},
		{"output type", `{"version":4,"outputs":{"x":{"value":1,"type":"odd"}}}`, invalidOutputType, `output "x"`},
		{"output without a type", `{"version":4,"outputs":{"x":{"value":1}}}`, invalidOutputType, `output "x"`},
		{"output value", `{"version":4,"outputs":{"x":{"value":"a","type":"number"}}}`, invalidOutput, `output "x"`},
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

// Wherever a file is cut off or one byte is damaged, Read says so or finds a
// state that can be written; it never panics.
func TestReadDamaged(t *testing.T) {
	src, err := os.ReadFile("testdata/rare.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(bytes.TrimSpace(src)); n++ {
		if s, diags := Read(src[:n], "x"); s != nil || diags.Err() == nil {
			t.Fatalf("accepted when cut off after %d bytes", n)
		}
	}
	for n := range src {
		for _, c := range []byte{0, '"', '{', ']', 'x', 0xff} {
			damaged := bytes.Clone(src)
			damaged[n] = c
			checkRead(t, damaged)
		}
	}
}

// checkRead checks what holds for any input.
func checkRead(t testing.TB, src []byte) {
	t.Helper()
	s, diags := Read(src, "x")
	if (s == nil) != diags.HasErrors() && len(bytes.TrimSpace(src)) > 0 {
		t.Fatalf("state %v with %v", s, diags)
	}
	checkOutline(t, src, s, diags)
	if s == nil {
		return
	}
	first := write(t, s)
	again, diags := Read([]byte(first), "again")
	if err := diags.Err(); err != nil {
		t.Fatalf("what was written isn't accepted: %v\n%s", err, first)
	}
	if !Equal(s, again) {
		t.Fatalf("not equal after a round trip:\n%s", first)
	}
	if second := write(t, again); first != second {
		t.Fatalf("not stable:\n%s", cmp.Diff(first, second))
	}
}

// checkOutline checks that an outline has the same problems as the state, and else the same
// addresses, providers and everything that isn't about objects.
func checkOutline(t testing.TB, src []byte, s *state.Snapshot, problems diag.List) {
	t.Helper()
	outline, diags := Outline(src, "x")
	if fmt.Sprint(diags) != fmt.Sprint(problems) || (outline == nil) != (s == nil) {
		t.Fatalf("%v of the outline, and %v of the state", diags, problems)
	}
	if s == nil {
		return
	}
	if !slices.Equal(outline.Addresses(), s.Addresses()) {
		t.Fatalf("the outline has %v, and the state %v", outline.Addresses(), s.Addresses())
	}
	for at, o := range s.Objects {
		if outline.Objects[at].Provider != o.Provider {
			t.Fatalf("%s has the provider %s in the outline, and %s in the state", at, outline.Objects[at].Provider, o.Provider)
		}
	}
	rest, all := *outline, *s
	rest.Objects, all.Objects = nil, nil
	if a, b := write(t, &rest), write(t, &all); a != b {
		t.Fatalf("the rest of the outline:\n%s", cmp.Diff(b, a))
	}
}

// TestOutlineShares: objects of one provider configuration are one.
func TestOutlineShares(t *testing.T) {
	s, diags := Outline(big(1000), "x")
	if diags.HasErrors() || len(s.Objects) != 1000 {
		t.Fatal(diags)
	}
	first := s.Objects[s.Addresses()[0]]
	for _, o := range s.Objects {
		if o != first || o.JSON != nil || o.Private != nil || o.Dependencies != nil {
			t.Fatalf("%+v beside %+v", o, first)
		}
	}
}

// TestIsCurrent: only the present version of the format is current, wherever it stands.
func TestIsCurrent(t *testing.T) {
	for src, want := range map[string]bool{
		`{"version": 4, "serial": 1`:  true, // the rest isn't read
		`{"serial": 1, "version": 4}`: true,
		`{"serial": x, "version": 4}`: false,
		`{"version": 3}`:              false,
		`{"other": {"version": 4}}`:   false,
		`["version", 4]`:              false,
		``:                            false,
	} {
		if got := IsCurrent([]byte(src)); got != want {
			t.Errorf("%s: %v", src, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"recorded.tfstate", "rare.tfstate"} {
		src, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	for _, src := range oldStates {
		f.Add([]byte(src))
	}
	f.Add([]byte(`{"version":4,"outputs":{"x":{"value":{"a":[1,"\ud800"]},"type":["object",{"a":["tuple",["number","string"]]}]}}}`))
	f.Fuzz(func(t *testing.T, src []byte) { checkRead(t, src) })
}

func big(n int) []byte {
	s := state.Empty()
	s.Lineage, s.Serial, s.Version = "l", 1, "1.12.6"
	p := addr.ProviderConfig{Provider: addr.Provider{Host: string(addr.OpenTofu), Namespace: "weir", Type: "sim"}}
	deps := []addr.Resource{{Name: addr.Name{Type: "sim_object", Name: "first"}}}
	for i := range n {
		at := addr.Resource{Name: addr.Name{Type: "sim_object", Name: fmt.Sprintf("r%d", i)}}
		s.Objects[addr.Object{Instance: at.Instance(addr.NoKey)}] = &state.Object{
			Provider:     p,
			JSON:         fmt.Appendf(nil, `{"assigned":"assigned-object-%d-1","computed_later":"later-object-%d-1","echo":"1","generation":1,"id":"object-%d","labels":{"a":"b","team":"x"},"mode":"standard","name":"r%d","region":"home","tags":["one","two"],"value":null}`, i, i, i, i),
			Private:      []byte("private data"),
			Dependencies: deps,
		}
	}
	b, err := Bytes(s)
	if err != nil {
		panic(err)
	}
	return b
}

func BenchmarkRead20k(b *testing.B) {
	src := big(20_000)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if s, diags := Read(src, "x"); len(s.Objects) != 20_000 {
			b.Fatal(diags)
		}
	}
}

func BenchmarkWrite20k(b *testing.B) {
	s, _ := Read(big(20_000), "x")
	for b.Loop() {
		if _, err := Bytes(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEqual20k(b *testing.B) {
	src := big(20_000)
	x, _ := Read(src, "x")
	y, _ := Read(bytes.Clone(src), "y")
	for b.Loop() {
		if !Equal(x, y) {
			b.Fatal("not equal")
		}
	}
}

// TestLine: on one line is the same state.
func TestLine(t *testing.T) {
	files, err := filepath.Glob("testdata/*.tfstate")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no files")
	}
	read := 0
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s, diags := Read(src, name)
		if s == nil || diags.HasErrors() {
			continue
		}
		read++
		var written []byte
		var want bytes.Buffer
		line, err := Line(s)
		if err == nil {
			written, err = Bytes(s)
		}
		if err == nil {
			err = json.Compact(&want, written)
		}
		if err != nil || string(line) != want.String() {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, line, want.String())
		}
	}
	if read == 0 {
		t.Error("none of the files has a state")
	}
}

// TestRoom: the bytes of a large state are in a buffer that is hardly larger, however
// unlike its objects are.
func TestRoom(t *testing.T) {
	src := big(3000)
	s, diags := Read(src, "x")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for at, o := range s.Objects {
		if strings.HasSuffix(at.Name.Name, "7") {
			long := *o
			long.Private = bytes.Repeat([]byte("x"), 2000)
			s.Objects[at] = &long
		}
	}
	b, err := Bytes(s)
	if err != nil || cap(b) > len(b)+len(b)/4 {
		t.Errorf("%d bytes in a buffer of %d, %v", len(b), cap(b), err)
	}
}
