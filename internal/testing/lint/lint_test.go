package lint

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestTree holds this module's own tree to the rules.
func TestTree(t *testing.T) {
	findings, err := Check(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range findings {
		t.Error(finding)
	}
}

// TestPlanted breaks each rule once and expects to be reported where.
func TestPlanted(t *testing.T) {
	const inside = "weir.dev/weir/internal/"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string // a part of each finding, in order
	}{
		{"clean", map[string]string{
			"internal/core/diag/diag.go": "// Package diag is fine.\npackage diag\n",
			"internal/core/addr/addr.go": "// Package addr is fine.\npackage addr\nimport _ \"" + inside + "core/diag\"\n",
		}, nil},
		{"forbidden import", map[string]string{
			"internal/eval/eval.go": "// Package eval is.\npackage eval\n\nimport _ \"" + inside + "state\"\n",
		}, []string{"internal/eval/eval.go:4: eval must never reach state/, but does: eval -> state"}},
		{"import that the folder doesn't allow", map[string]string{
			"internal/core/diag/diag.go": "// Package diag is.\npackage diag\nimport _ \"" + inside + "plan\"\n",
		}, []string{"internal/core/diag/diag.go:3: core/diag must not import plan"}},
		{"forbidden import through another", map[string]string{
			"internal/plan/graphbuilder/graph.go":   "// Package graphbuilder is.\npackage graphbuilder\nimport _ \"" + inside + "plan/moves\"\n",
			"internal/plan/moves/moves.go":          "// Package moves is.\npackage moves\nimport _ \"" + inside + "lang/program\"\n",
			"internal/lang/program/prog.go":         "// Package program is.\npackage program\nimport _ \"" + inside + "state/storage\"\n",
			"internal/state/storage/store.go":       "// Package storage is.\npackage storage\n",
			"internal/state/storage/pg/pg.go":       "// Package pg is.\npackage pg\nimport _ \"" + inside + "state/storage/s3\"\n",
			"internal/state/storage/s3/s3.go":       "// Package s3 is.\npackage s3\nimport _ \"" + inside + "state/storage\"\n",
			"internal/plan/order/order.go":          "// Package order is.\npackage order\nimport _ \"" + inside + "core/addr\"\n",
			"internal/core/addr/addr.go":            "// Package addr is.\npackage addr\n",
			"internal/moduletest/mutate/mutate.go":  "// Package mutate is.\npackage mutate\nimport _ \"" + inside + "core/addr\"\n",
			"internal/moduletest/coverage/cover.go": "// Package coverage is.\npackage coverage\nimport _ \"" + inside + "eval\"\n",
			"internal/eval/eval.go":                 "// Package eval is.\npackage eval\n",
		}, []string{
			"internal/lang/program/prog.go:3: lang/program must not import state/storage",
			"internal/plan/graphbuilder/graph.go:3: plan/graphbuilder must never reach state/storage/, but does: plan/graphbuilder -> plan/moves -> lang/program -> state/storage",
			"internal/plan/moves/moves.go:3: plan/moves must never reach state/storage/, but does",
			"internal/plan/order/order.go:3: plan/order must not import core/addr",
			"internal/state/storage/pg/pg.go:3: state/storage/pg must not import state/storage/s3",
		}},
		{"package for tests", map[string]string{
			"internal/engine/run.go": "// Package engine is.\npackage engine\nimport _ \"" + inside + "provider/fake\"\n",
		}, []string{"engine must not import provider/fake, which is for tests"}},
		{"tests may import anything", map[string]string{
			"internal/core/diag/diag.go":      "// Package diag is.\npackage diag\n",
			"internal/core/diag/diag_test.go": "package diag\nimport _ \"" + inside + "plan\"\n",
		}, nil},
		{"no row", map[string]string{
			"internal/novel/a.go": "// Package novel is.\npackage novel\n",
		}, []string{"package novel is in no folder"}},
		{"bad name and no comment", map[string]string{
			"internal/util/a.go": "package util\n",
		}, []string{`"util" says nothing`, "package util is in no folder", `begin with "Package util "`}},
		{"name differs from directory", map[string]string{
			"internal/core/diag/a.go": "// Package other is.\npackage other\n",
		}, []string{"package other is in a directory named diag"}},
		{"command", map[string]string{
			"cmd/weir/main.go": "// Command weir is.\npackage main\nimport _ \"" + inside + "engine\"\n",
		}, []string{"cmd/weir/main.go:3: cmd/weir must not import engine"}},
		{"wrappers", map[string]string{
			"internal/core/diag/a.go": "// Package diag is.\npackage diag\ntype run struct{ n int }\ntype phase struct{ *run }\ntype part struct {\n*run\nown int\n}\ntype other struct{ *part2 }\ntype part2 func()\ntype held struct{ r *run }\n",
		}, []string{"internal/core/diag/a.go:4: phase wraps *run and adds nothing"}},
		{"failures", map[string]string{
			"internal/eval/a.go": "// Package eval is.\npackage eval\nfunc a(t *promise.Task) (int, diag.List) { return 0, nil }\nfunc b(t *promise.Task) bool { return t.Current().Failed() }\nfunc c() diag.List { return nil }\nfunc d(t *promise.Task, l diag.List) bool { return t.Report(l...) }\n",
		}, []string{"a.go:3: a has a task and returns diagnostics", "a.go:4: code reads whether the task's cell failed"}},
		{"guarded imports", map[string]string{
			"internal/plan/plan.go": "// Package plan is.\npackage plan\n\nimport (\n_ \"os\"\n_ \"google.golang.org/grpc/codes\"\n_ \"path\"\n)\n",
		}, []string{"plan.go:5: plan must not import os: ", "plan.go:6: plan must not import google.golang.org/grpc/codes"}},
		{"guarded names", map[string]string{
			"internal/state/storage/a.go": "// Package storage is.\npackage storage\nimport (\n\"os\"\nf \"fmt\"\n)\nvar a = os.Getenv(\"A\")\nvar b = os.ReadFile\nfunc c() { f.Println() }\n",
		}, []string{"a.go:7: state/storage must not use os.Getenv", "a.go:9: state/storage must not use fmt.Println"}},
		{"problems by their texts", map[string]string{
			"internal/core/addr/addr.go": "// Package addr is fine.\npackage addr\n",
			"internal/core/diag/diag.go": "// Package diag is fine.\npackage diag\ntype Diagnostic struct{ Code, Summary string }\nfunc (d Diagnostic) Alike(o Diagnostic) bool { return d.Summary == o.Summary }\n",
			"internal/core/value/value.go": `// Package value is.
package value

import (
	"strings"

	"weir.dev/weir/internal/core/diag"
)

type other struct{ Summary string }

func bad(d diag.Diagnostic) bool {
	switch d.Summary {
	case "x":
		return strings.HasPrefix(d.Summary, "y")
	}
	return d.Summary == "z"
}

func good(d diag.Diagnostic, o other) bool { return d.Code == "x" || o.Summary == "x" || len(d.Summary) > 0 }
`,
		}, []string{
			"value.go:13: core/value must not decide by the text of a problem",
			"value.go:15: core/value must not decide by the text of a problem",
			"value.go:17: core/value must not decide by the text of a problem",
		}},
		{"regular expressions before main", map[string]string{
			"internal/core/value/value.go": "// Package value is fine.\npackage value\nimport \"regexp\"\nvar a = 1\nvar b = regexp.MustCompile(\"b\")\nfunc f() { _ = regexp.MustCompile(\"c\") }\n",
		}, []string{"internal/core/value/value.go:5: core/value must not compile regular expressions before main"}},
		{"addresses as texts", map[string]string{
			"internal/core/diag/diag.go": "// Package diag is fine.\npackage diag\n",
			"internal/core/addr/addr.go": "// Package addr is fine.\npackage addr\nimport \"strings\"\ntype Module string\nfunc (m Module) String() string { return strings.Trim(string(m), \".\") }\ntype Call struct{ Name string }\nfunc (c Call) String() string { return c.Name }\n",
			"internal/core/value/value.go": `// Package value is.
package value

import (
	"regexp"
	text "strings"

	"weir.dev/weir/internal/core/addr"
)

type call struct{ addr.Call }
type result struct{ Address string }

func bad(m addr.Module, c call, r result, s string, seen map[string]bool) {
	_ = text.HasPrefix(string(m), "component.")
	name := m.String() + "."
	_, _ = text.CutPrefix(s, name)
	_ = c.String()[1:]
	_ = regexp.MustCompile("x").MatchString(r.Address)
	_ = addr.Module(s)
	_ = m[0]
	for range c.Call.String() {
	}
}

func good(m addr.Module, c call, s string, seen map[string]bool) {
	_ = text.HasPrefix(c.Name, "a") || seen[m.String()] || m == addr.Module("module.a")
	_ = text.Join([]string{m.String()}, ",")
	name := s
	_ = text.Split(name, ".")
	_ = addr.Module(m)
}
`,
		}, []string{
			"value.go:15: core/value must not take the text of an address apart",
			"value.go:17: core/value must not take the text of an address apart",
			"value.go:18: core/value must not take the text of an address apart",
			"value.go:19: core/value must not take the text of an address apart",
			"value.go:20: core/value must not make an address of a text",
			"value.go:21: core/value must not take the text of an address apart",
			"value.go:22: core/value must not take the text of an address apart",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range test.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			got, err := Check(root)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, test.want, strings.Contains) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// TestWrappers looks for exceptions that nothing needs any more.
func TestWrappers(t *testing.T) {
	tr, err := readTree(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	listed := wrappers
	wrappers = nil
	defer func() { wrappers = listed }()
	for _, p := range tr.packages {
		tr.checkWrappers(p)
	}
	if len(tr.findings) != len(listed) {
		t.Errorf("the table of wrappers has %d, and the tree these:\n%s", len(listed), strings.Join(tr.findings, "\n"))
	}
}

// TestAnswering looks for exceptions that nothing needs any more.
func TestAnswering(t *testing.T) {
	tr, err := readTree(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	listed := answering
	answering = nil
	defer func() { answering = listed }()
	for _, p := range tr.packages {
		tr.checkFailures(p)
	}
	if len(tr.findings) != len(listed) {
		t.Errorf("the table of answering functions has %d, and the tree these:\n%s", len(listed), strings.Join(tr.findings, "\n"))
	}
}

func TestEmptyTree(t *testing.T) {
	if _, err := Check(fstest.MapFS{}); err == nil {
		t.Error("a tree without packages passes")
	}
}

func TestRows(t *testing.T) {
	if err := checkRows(table); err != nil {
		t.Error(err)
	}
	for want, rows := range map[string][]row{
		"two rows for a":            {{"a", "", ""}, {"a", "", ""}},
		"both allows and forbids b": {{"a", "b", "b"}, {"b", "", ""}},
	} {
		if err := checkRows(rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", rows, err, want)
		}
	}
}

func TestRuleOf(t *testing.T) {
	rows := []row{{"a/", "x/ y", "n"}, {"a/b/", "z", "m"}, {"a/b/c", "only w", ""}, {"a", "r", ""}, {"all", "*", ""}}
	for _, test := range []struct{ pkg, may, never string }{
		{"a", "x/ y r", "n"},
		{"a/d", "x/ y", "n"},
		{"a/b", "x/ y z", "n m"},
		{"a/b/c", "w", "n m"},
		{"a/b/c/d", "x/ y z", "n m"},
		{"ab", "", ""},
	} {
		r := ruleOf(rows, test.pkg)
		if may, never := strings.Join(r.may, " "), strings.Join(r.never, " "); may != test.may || never != test.never {
			t.Errorf("%s: may %q, never %q", test.pkg, may, never)
		}
		if r.ruled != (test.pkg != "ab") {
			t.Errorf("%s: ruled: %t", test.pkg, r.ruled)
		}
	}
	if !ruleOf(rows, "all").all {
		t.Error("an asterisk doesn't stand for everything")
	}
}

func TestNames(t *testing.T) {
	n := names{"a/", "b"}
	for name, want := range map[string]bool{"a": true, "a/x": true, "ab": false, "b": true, "b/x": false} {
		if n.has(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}
