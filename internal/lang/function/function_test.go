package function

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/core/value"
)

// zeros is a source of randomness with the same result each time.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func testEnv(t testing.TB) Env {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"hello.txt":       "Hello, Wörld\n",
		"binary.bin":      "\xff\xfe\x00",
		"sub/a.txt":       "a",
		"odd/[x].txt":     "x",
		"sub/deep/b.txt":  "b",
		"greet.tmpl":      "Hi ${name}!%{ for x in list } ${x}%{ endfor }",
		"one.tmpl":        "${value}",
		"nested.tmpl":     `[${templatefile("greet.tmpl", { name = name, list = [] })}]`,
		"endless.tmpl":    `x${templatefile("endless.tmpl", {})}`,
		"endless2.tmpl":   `${templatestring("$${templatefile(\"endless2.tmpl\", {})}", {})}`,
		"bad.tmpl":        "a\n  ${",
		"missing.tmpl":    "line\n${nothing}",
		"fails.tmpl":      "${upper(name, 1)}",
		"home/inhome.txt": "at home",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Env{
		BaseDir:       dir,
		HomeDir:       filepath.Join(dir, "home"),
		PlanTimestamp: func() (time.Time, bool) { return time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), true },
		Now:           func() time.Time { return time.Date(2025, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600)) },
		Random:        zeros{},
		TemplateDepth: 20,
	}
}

func testContext(env Env) *hcl.EvalContext {
	secret := func(v cty.Value) cty.Value { return v.Mark(value.Sensitive) }
	key, ciphertext := testKey()
	strs := cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")})
	ctx := Context(env)
	ctx.Variables = map[string]cty.Value{
		"dir":        cty.StringVal(filepath.ToSlash(env.BaseDir)),
		"privatekey": cty.StringVal(key),
		"ciphertext": cty.StringVal(ciphertext),
		"nothing":    cty.NullVal(cty.String),
		"nolist":     cty.NullVal(cty.List(cty.String)),
		"infinity":   cty.PositiveInfinity,
		"minus_inf":  cty.NegativeInfinity,
		"u_any":      cty.DynamicVal,
		"u_str":      cty.UnknownVal(cty.String),
		"u_num":      cty.UnknownVal(cty.Number),
		"u_bool":     cty.UnknownVal(cty.Bool),
		"u_list":     cty.UnknownVal(cty.List(cty.String)),
		"u_set":      cty.UnknownVal(cty.Set(cty.String)),
		"u_map":      cty.UnknownVal(cty.Map(cty.String)),
		"u_obj":      cty.UnknownVal(cty.Object(map[string]cty.Type{"a": cty.Number})),
		"u_prefixed": cty.UnknownVal(cty.String).Refine().StringPrefixFull("ami-").NewValue(),
		"s_str":      secret(cty.StringVal("hunter22")),
		"s_b64":      secret(cty.StringVal("!hunter22")),
		"s_num":      secret(cty.NumberIntVal(4711)),
		"s_list":     secret(strs),
		"s_elem":     cty.ListVal([]cty.Value{cty.StringVal("a"), secret(cty.StringVal("b"))}),
		"s_map":      secret(cty.MapVal(map[string]cty.Value{"k": cty.StringVal("v")})),
		"s_unknown":  secret(cty.UnknownVal(cty.String)),
		"e_str":      cty.StringVal("brief").Mark(value.Ephemeral),
		"e_obj": cty.ObjectVal(map[string]cty.Value{
			"a": cty.StringVal("x").Mark(value.Ephemeral), "b": secret(cty.StringVal("y")),
			"c": cty.UnknownVal(cty.String).Mark(value.Ephemeral),
		}),
	}
	return ctx
}

func parse(t testing.TB, src string) hclsyntax.Expression {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(src), "test", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %s", src, diags)
	}
	return expr
}

// check compares a result with what a case expects:
//
//	= EXPR    that value, without sensitive or ephemeral parts
//	S= EXPR   that value, sensitive somewhere
//	? TYPE    unknown, of that type
//	S? TYPE   unknown and sensitive
//	! TEXT    an error that has TEXT in it
func check(t *testing.T, ctx *hcl.EvalContext, src, want string) {
	t.Helper()
	got, diags := parse(t, src).Value(ctx)
	kind, text, _ := strings.Cut(want, " ")
	if kind == "!" {
		if !diags.HasErrors() {
			t.Errorf("%s: got %#v, want an error with %q", src, got, text)
		} else if !strings.Contains(diags.Error(), text) {
			t.Errorf("%s:\ngot  %s\nwant %s", src, diags, text)
		}
		return
	}
	if diags.HasErrors() {
		t.Errorf("%s: %s", src, diags)
		return
	}
	if secret := strings.HasPrefix(kind, "S"); secret != value.Hidden(got) {
		t.Errorf("%s: sensitive is %v, want %v", src, !secret, secret)
	}
	got, _ = got.UnmarkDeep()
	if strings.HasSuffix(kind, "?") {
		ty, diags := typeexpr.TypeConstraint(parse(t, text))
		if diags.HasErrors() {
			t.Fatalf("%s: %s", text, diags)
		}
		if got.IsKnown() || !got.Type().Equals(ty) {
			t.Errorf("%s: got %#v, want an unknown %s", src, got, text)
		}
		return
	}
	wanted, diags := parse(t, text).Value(ctx)
	if diags.HasErrors() {
		t.Fatalf("%s: %s", text, diags)
	}
	if wanted, _ = wanted.UnmarkDeep(); !got.RawEquals(wanted) {
		t.Errorf("%s:\ngot  %#v\nwant %#v", src, got, wanted)
	}
}

func TestFunctions(t *testing.T) {
	ctx := testContext(testEnv(t))
	for name, list := range cases {
		t.Run(name, func(t *testing.T) {
			for _, c := range list {
				check(t, ctx, c[0], c[1])
			}
		})
	}
}

// TestEveryFunctionHasCases keeps functions, cases and signatures together.
func TestEveryFunctionHasCases(t *testing.T) {
	table := called(Context(testEnv(t)))
	shared := len(Names())
	for _, programs := range Programs {
		if programs == Own {
			shared--
		}
	}
	if shared != 134 {
		t.Errorf("%d functions, OpenTofu and Terraform together have 134: give a further one its line in Programs, with Own", shared)
	}
	page, err := os.ReadFile("../../../docs/where-weir-differs.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, programs := range Programs {
		if !slices.Contains(Names(), name) {
			t.Errorf("Programs has %s, which isn't a function", name)
		}
		if programs == Own && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/where-weir-differs.md has nothing about the function %s", name)
		}
	}
	for name, fn := range table {
		plain := strings.TrimPrefix(name, namespace)
		if _, ok := table[plain]; !ok {
			t.Errorf("%s has no plain name", name)
		}
		if _, ok := table[namespace+plain]; !ok {
			t.Errorf("%s has no name in %s", name, namespace)
		}
		if len(cases[plain]) == 0 {
			t.Errorf("%s has no test case", plain)
		}
		if plain == "list" || plain == "map" {
			continue
		}
		s, ok := signatures[plain]
		if !ok {
			t.Errorf("%s has no signature", plain)
			continue
		}
		checkSignature(t, plain, fn, s.describe())
	}
	for name, list := range cases {
		if _, ok := table[name]; !ok {
			t.Errorf("cases for %s, which doesn't exist", name)
		}
		good := 0
		for _, c := range list {
			if !strings.Contains(c[0], name+"(") {
				t.Errorf("a case of %s doesn't call it: %s", name, c[0])
			}
			if !strings.HasPrefix(c[1], "!") {
				good++
			}
		}
		if good == 0 && name != "list" && name != "map" {
			t.Errorf("%s has no case in which it works", name)
		}
	}
}

func checkSignature(t *testing.T, name string, fn function.Function, s Signature) {
	t.Helper()
	params := fn.Params()
	if len(params) != len(s.Parameters) {
		t.Errorf("%s has %d parameters, its signature %d", name, len(params), len(s.Parameters))
		return
	}
	for i, p := range params {
		if p.Name != s.Parameters[i].Name {
			t.Errorf("%s: parameter %d is %s, in the signature %s", name, i, p.Name, s.Parameters[i].Name)
		}
	}
	if last := fn.VarParam(); (last == nil) != (s.Variadic == nil) || last != nil && last.Name != s.Variadic.Name {
		t.Errorf("%s: the last parameter differs from the signature", name)
	}
	if s.Description == "" {
		t.Errorf("%s has no description", name)
	}
}

// call splits a case into its function and evaluated arguments. It answers
// false for calls that this can't be done with.
func splitCall(ctx *hcl.EvalContext, expr hclsyntax.Expression) (*hclsyntax.FunctionCallExpr, []cty.Value, bool) {
	call, ok := expr.(*hclsyntax.FunctionCallExpr)
	if !ok || call.ExpandFinal || call.Name == "try" || call.Name == "can" || call.Name == "convert" {
		return nil, nil, false
	}
	args := make([]cty.Value, len(call.Args))
	for i, arg := range call.Args {
		v, diags := arg.Value(ctx)
		if diags.HasErrors() {
			return nil, nil, false
		}
		args[i] = v
	}
	return call, args, true
}

func callWith(ctx *hcl.EvalContext, call *hclsyntax.FunctionCallExpr, args []cty.Value) (cty.Value, hcl.Diagnostics) {
	changed := *call
	changed.Args = make([]hclsyntax.Expression, len(args))
	for i, arg := range args {
		changed.Args[i] = &hclsyntax.LiteralValueExpr{Val: arg, SrcRange: call.Args[i].Range()}
	}
	return changed.Value(ctx)
}

// TestMarksAndUnknowns runs all cases again with each argument made sensitive
// or unknown in turn.
func TestMarksAndUnknowns(t *testing.T) {
	ctx := testContext(testEnv(t))
	// These take marks off or make known what was unknown: that is their job.
	takesMarks := []string{"assumeequal", "issensitive", "nonsensitive"}
	knows := []string{"assumeequal", "list", "map"}
	tried := 0
	for name, list := range cases {
		for _, c := range list {
			call, args, ok := splitCall(ctx, parse(t, c[0]))
			if !ok {
				continue
			}
			for i, arg := range args {
				tried++
				marked := slices.Clone(args)
				marked[i] = arg.Mark(value.Sensitive)
				got, diags := callWith(ctx, call, marked)
				switch {
				case diags.HasErrors():
					if !strings.HasPrefix(c[1], "!") {
						t.Errorf("%s fails when argument %d is sensitive: %s", c[0], i, diags)
					}
					// Endless templates name themselves.
					if shown := leak(arg, diags); shown != "" && !strings.Contains(c[0], "endless") {
						t.Errorf("%s tells the sensitive %s: %s", c[0], shown, diags)
					}
				case name == "lookup" && i == 2 || name == "merge" && arg.IsNull():
					// The result may have nothing of these.
				case !value.IsSensitive(got) && !slices.Contains(takesMarks, name):
					t.Errorf("%s forgets that argument %d was sensitive", c[0], i)
				}
				if bare, _ := arg.Unmark(); strings.HasPrefix(c[1], "!") || bare.IsNull() {
					continue
				}
				unknown := slices.Clone(args)
				bare, marks := arg.Unmark()
				unknown[i] = cty.UnknownVal(bare.Type()).WithMarks(marks)
				got, diags = callWith(ctx, call, unknown)
				if diags.HasErrors() {
					t.Errorf("%s fails when argument %d is unknown: %s", c[0], i, diags)
				} else if got.IsWhollyKnown() && !slices.Contains(knows, name) && !knowsAnyway(name, args, i) {
					t.Errorf("%s gives %#v when argument %d is unknown", c[0], got, i)
				}
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d arguments tried", tried)
	}
}

// knowsAnyway lists results that don't depend on what is unknown.
func knowsAnyway(name string, args []cty.Value, i int) bool {
	arg, _ := args[i].Unmark()
	ty := arg.Type()
	switch name {
	case "length":
		return ty.IsTupleType() || ty.IsObjectType()
	case "keys":
		return ty.IsObjectType()
	case "lookup":
		return i == 2 || ty.IsObjectType()
	case "coalesce", "coalescelist":
		return i > 0
	case "startswith":
		return true // an empty prefix, or a known beginning
	case "setsubtract", "setintersection", "matchkeys", "setproduct", "sensitive", "ephemeralasnull", "contains":
		return false
	case "one":
		return ty.IsTupleType() && ty.Length() == 0
	}
	return ty == cty.EmptyTuple || ty == cty.EmptyObject
}

// leak finds a telling text of the argument in a message.
func leak(arg cty.Value, diags hcl.Diagnostics) string {
	arg, _ = arg.Unmark()
	if arg.IsNull() || !arg.IsKnown() {
		return ""
	}
	text := ""
	switch arg.Type() {
	case cty.String:
		text = arg.AsString()
	case cty.Number:
		text = arg.AsBigFloat().Text('f', -1)
	}
	if len(text) < 4 {
		return ""
	}
	for _, diag := range diags {
		if strings.Contains(diag.Detail, text) {
			return text
		}
	}
	return ""
}

func TestPure(t *testing.T) {
	env := testEnv(t)
	env.Pure = true
	env.PlanTimestamp = nil
	ctx := testContext(env)
	for _, src := range []string{`timestamp()`, `uuid()`, `bcrypt("x")`, `core::timestamp()`, `plantimestamp()`} {
		check(t, ctx, src, "? string")
	}
	check(t, ctx, `uuidv5("dns", "x")`, `= "05b16a01-46c6-56dd-bd6e-c6dfb4a1427a"`)
	for _, name := range []string{"uuid", "core::uuid", "bcrypt", "timestamp"} {
		if !IsImpure(name) {
			t.Errorf("%s is impure", name)
		}
	}
	if IsImpure("uuidv5") || IsImpure("plantimestamp") {
		t.Error("too much is impure")
	}
}

func TestDefaults(t *testing.T) {
	ctx := Context(Env{})
	for src, length := range map[string]int{`uuid()`: 36, `timestamp()`: 20} {
		v, diags := parse(t, src).Value(ctx)
		if diags.HasErrors() || len(v.AsString()) != length {
			t.Errorf("%s: %#v %s", src, v, diags)
		}
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	check(t, ctx, `abspath("x")`, fmt.Sprintf("= %q", filepath.ToSlash(filepath.Join(wd, "x"))))
}

func TestConsoleContext(t *testing.T) {
	ctx := ConsoleContext(testEnv(t))
	if _, ok := called(ctx)["plantimestamp"]; ok {
		t.Error("the console has no plan")
	}
	ctx.Variables = map[string]cty.Value{"s": cty.StringVal("x").Mark(value.Sensitive)}
	for src, want := range map[string]cty.Type{
		`type("a")`:              cty.String,
		`core::type([1])`:        cty.Tuple([]cty.Type{cty.Number}),
		`type(s)`:                cty.String,
		`type(null)`:             cty.DynamicPseudoType,
		`type(tolist(["a"]))`:    cty.List(cty.String),
		`type({ a = true }.a)`:   cty.Bool,
		`type(toset(["a"]))`:     cty.Set(cty.String),
		`type(tomap({a = "b"}))`: cty.Map(cty.String),
	} {
		v, diags := parse(t, src).Value(ctx)
		if diags.HasErrors() {
			t.Errorf("%s: %s", src, diags)
			continue
		}
		if got, ok := TypeOf(v); !ok || !got.Equals(want) {
			t.Errorf("%s: got %#v", src, got)
		}
	}
	if _, ok := TypeOf(cty.StringVal("x")); ok {
		t.Error("a string is not a type")
	}
	if _, ok := called(Context(testEnv(t)))["type"]; ok {
		t.Error("type is for the console alone")
	}
}

func TestNames(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) || slices.Contains(names, "list") || !slices.Contains(names, "urldecode") {
		t.Errorf("%v", names)
	}
	for name, want := range map[string]string{"max": "max", "core::max": "max", "provider::a::max": "", "nope": "", "core::": ""} {
		if got, ok := Plain(name); got != want || ok != (want != "") {
			t.Errorf("Plain(%q) = %q, %v", name, got, ok)
		}
	}
}

func TestMetadataJSON(t *testing.T) {
	raw, err := MetadataJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"format_version":"1.0","function_signatures":{"abs":{"description":"The number without its sign.","return_type":"number","parameters":[{"name":"num","type":"number"}]}`,
		`"return_type":["list",["list","dynamic"]],"parameters":[{"name":"list","type":["list","dynamic"]},{"name":"size","type":"number"}]}`,
		`"core::lookup":{"description":"The element of a map with a key, or a default if the key is missing.","return_type":"dynamic","parameters":[{"name":"inputMap","type":"dynamic"},{"name":"key","type":"string"}],"variadic_parameter":{"name":"default","is_nullable":true,"type":"dynamic"}}`,
		`"parameters":[{"name":"values","type":["map",["list","string"]]}]`,
		`{"name":"type","type":"dynamic"}`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s is not in the metadata", want)
		}
	}
	if got, want := len(Signatures()), 2*len(Names()); got != want {
		t.Errorf("%d signatures, want %d: each name, plain and with core::", got, want)
	}
}

// TestTryEvaluatesOnce counts evaluations through nested calls of try.
func TestTryEvaluatesOnce(t *testing.T) {
	count := 0
	ctx := testContext(testEnv(t))
	ctx.Functions["count"] = function.New(&function.Spec{
		Type: function.StaticReturnType(cty.Number),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { count++; return cty.Zero, nil },
	})
	src := "count()"
	for range 30 {
		src = "try(" + src + ", 1)"
	}
	check(t, ctx, src, "= 0")
	if count != 1 {
		t.Errorf("evaluated %d times", count)
	}
}

// TestTemplateRendersOnce does the same for nested templates.
func TestTemplateRendersOnce(t *testing.T) {
	count := 0
	ctx := testContext(testEnv(t))
	ctx.Functions["count"] = function.New(&function.Spec{
		Type: function.StaticReturnType(cty.Number),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { count++; return cty.Zero, nil },
	})
	check(t, ctx, `templatestring("$${templatestring(\"$$${count()}\", {})}", {})`, "= 0")
	if count != 1 {
		t.Errorf("evaluated %d times", count)
	}
}

// TestLinear would take minutes with anything quadratic in it.
func TestLinear(t *testing.T) {
	const n = 20000
	elems, attrs := make([]cty.Value, n), make(map[string]cty.Value, n)
	lists := make(map[string]cty.Value, n)
	for i := range elems {
		elems[i] = cty.StringVal(fmt.Sprint("e", i))
		attrs[fmt.Sprint("k", i)] = elems[i]
		lists[fmt.Sprint("k", i)] = cty.TupleVal([]cty.Value{cty.StringVal("x"), elems[i]})
	}
	env := testEnv(t)
	ctx := testContext(env)
	ctx.Variables = map[string]cty.Value{
		"t": cty.TupleVal(elems), "o": cty.ObjectVal(attrs), "m": cty.MapVal(attrs), "l": cty.ListVal(elems),
		"lists": cty.ObjectVal(lists), "i": cty.NumberVal(big.NewFloat(n - 1)),
	}
	start := cpuTime(t)
	for _, src := range []string{
		`distinct(t)`, `tolist(t)`, `toset(t)`, `tomap(o)`, `chunklist(t, 7)`, `matchkeys(t, t, t)`, `join(",", t)`,
		`sort(t)`, `compact(t)`, `zipmap(t, t)`, `concat(t, t)`, `flatten([t, t])`, `merge(o, m)`, `setunion(t, t)`,
		`setproduct(t, ["x"])`, `transpose(lists)`, `reverse(t)`,
		`slice(t, 1, i)`, `keys(o)`, `values(o)`, `formatlist("%s", t)`, `jsonencode(o)`, `jsondecode(jsonencode(t))`,
		`yamldecode(yamlencode(l))`, `contains(t, "x")`, `range(1000)`, `coalescelist(t)`, `convert(t, list(string))`,
		`sum([for e in t : 1])`, `max([for e in t : 1]...)`, `coalesce(t...)`,
	} {
		begin := cpuTime(t)
		if _, diags := parse(t, src).Value(ctx); diags.HasErrors() {
			t.Errorf("%s: %s", src, diags)
		}
		if took := cpuTime(t) - begin; took > 6*time.Second {
			t.Errorf("%s took %s", src, took)
		}
	}
	// The first arguments of these must not be walked for each call.
	for _, src := range []string{
		`length([for k, v in m : lookup(m, k, "")])`,
		`length([for k, v in o : lookup(o, k)])`,
		`length([for j, v in l : element(l, j)])`,
		`length([for j, v in t : length(t)])`,
	} {
		begin := cpuTime(t)
		if _, diags := parse(t, src).Value(ctx); diags.HasErrors() {
			t.Errorf("%s: %s", src, diags)
		}
		if took := cpuTime(t) - begin; took > 5*time.Second {
			t.Errorf("%s took %s", src, took)
		}
	}
	if took := cpuTime(t) - start; took > 60*time.Second {
		t.Errorf("all of it took %s", took)
	}
}

// cpuTime is what this process has computed so far, which unlike the time of
// day doesn't depend on what else the machine is doing.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// FuzzCalls calls every function with arguments that weren't meant for it.
func FuzzCalls(f *testing.F) {
	ctx := Context(testEnv(f))
	names := slices.Sorted(maps.Keys(called(ctx)))
	values := []cty.Value{
		cty.StringVal("x"), cty.StringVal("10.0.0.0/8"), cty.StringVal(""), cty.Zero, cty.NumberIntVal(-3), cty.NumberFloatVal(1.5),
		cty.True, cty.NullVal(cty.String), cty.NullVal(cty.DynamicPseudoType), cty.DynamicVal, cty.UnknownVal(cty.List(cty.String)),
		cty.EmptyTupleVal, cty.EmptyObjectVal, cty.ListValEmpty(cty.String), cty.PositiveInfinity,
		cty.TupleVal([]cty.Value{cty.StringVal("a").Mark(value.Sensitive), cty.UnknownVal(cty.Number)}),
		cty.ObjectVal(map[string]cty.Value{"a": cty.NullVal(cty.String)}), cty.SetVal([]cty.Value{cty.UnknownVal(cty.String)}),
		cty.MapVal(map[string]cty.Value{"a": cty.ListValEmpty(cty.String)}),
	}
	f.Add([]byte{0, 1, 2, 3})
	for i := range names {
		f.Add([]byte{byte(i), 9, 10, 11})
		f.Add([]byte{byte(i), 15, 16})
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) == 0 || len(in) > 5 {
			return
		}
		name := names[int(in[0])%len(names)]
		if strings.HasSuffix(name, "bcrypt") {
			return // slow by design
		}
		call := &hclsyntax.FunctionCallExpr{Name: name}
		for _, b := range in[1:] {
			call.Args = append(call.Args, &hclsyntax.LiteralValueExpr{Val: values[int(b)%len(values)]})
		}
		v, diags := call.Value(ctx)
		if strings.Contains(diags.Error(), "panic") || strings.Contains(diags.Error(), "goroutine") {
			t.Errorf("%s%v: %s", name, in, diags)
		}
		if v == cty.NilVal {
			t.Errorf("%s%v: no value", name, in)
		}
	})
}

// called are the functions of a context by their names.
func called(ctx *hcl.EvalContext) map[string]function.Function {
	all := map[string]function.Function{}
	if ctx.Parent() != nil {
		all = called(ctx.Parent())
	}
	maps.Copy(all, ctx.Functions)
	return all
}

// testKey makes a private key and what it decrypts to "message".
var testKey = sync.OnceValues(func() (string, string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	//lint:ignore SA1019 what rsadecrypt decrypts
	secret, err := rsa.EncryptPKCS1v15(rand.Reader, &key.PublicKey, []byte("message"))
	if err != nil {
		panic(err)
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return string(pem.EncodeToMemory(block)), base64.StdEncoding.EncodeToString(secret)
})
