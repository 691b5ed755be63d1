package eval_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/testing/txtar"
)

// source makes an archive of one file.
func source(text string) []txtar.File { return []txtar.File{{Name: "main.tf", Data: []byte(text)}} }

// A chain of locals is as long as it likes.
func TestLongChain(t *testing.T) {
	const n = 10_000
	var b strings.Builder
	b.WriteString("locals {\n")
	for i := range n {
		fmt.Fprintf(&b, "  l%d = local.l%d + 1\n", i, i+1)
	}
	fmt.Fprintf(&b, "  l%d = 0\n}\noutput \"o\" { value = local.l0 }\n", n)
	root, _, diags := run(newHost(t, source(b.String())))
	if diags != nil {
		t.Fatal(diags)
	}
	v, _, ok := root.OutputValue(root.Program.Outputs[0])
	if !ok || !v.RawEquals(cty.NumberIntVal(n)) {
		t.Errorf("output %#v %v", v, ok)
	}
}

// So is a circle, and it is reported once.
func TestLongCircle(t *testing.T) {
	const n = 3000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "resource \"thing\" \"r%d\" {\n  value = thing.r%d.id\n}\n", i, (i+1)%n)
	}
	root, rt, diags := run(newHost(t, source(b.String())))
	if len(diags) != 1 || diags[0].Summary != "Cycle" || diags[0].Subject == nil {
		t.Fatalf("%d problems: %.200v", len(diags), diags)
	}
	if got := len(diags[0].Detail); got > 10_000 {
		t.Errorf("the text has %d bytes", got)
	}
	for _, r := range root.Program.Resources {
		if node := root.Expanded(r)[0].Node(); !node.Failed() {
			t.Fatalf("%s isn't failed", node.Subject)
		}
	}
	if p := rt.Panics(); len(p) != 0 {
		t.Error(p)
	}
}

// One cell is computed once, however many tasks want it, and the reads that
// instances note are only their own.
func TestParallel(t *testing.T) {
	const n = 400
	var b strings.Builder
	fmt.Fprintf(&b, "locals {\n  all = [for r in thing.base : r.id]\n  n = length(local.all)\n}\n")
	fmt.Fprintf(&b, "resource \"thing\" \"base\" {\n  count = %d\n}\n", n)
	fmt.Fprintf(&b, "resource \"thing\" \"next\" {\n  count = local.n\n  value = [thing.base[count.index].id, thing.base[(count.index + 1) %% local.n].id]\n}\n")
	fmt.Fprintf(&b, "module \"m\" {\n  count = 20\n  source = \"./m\"\n  in = local.all[count.index]\n}\n")
	fmt.Fprintf(&b, "output \"o\" { value = [length(thing.next), module.m[*].out] }\n")
	files := append(source(b.String()), txtar.File{Name: "m/main.tf", Data: []byte("variable \"in\" {}\nresource \"thing\" \"x\" {\n  count = 10\n  value = var.in\n}\noutput \"out\" { value = thing.x[*].value }\n")})
	for range 3 {
		h := newHost(t, files)
		root, _, diags := run(h)
		if diags != nil {
			t.Fatal(diags)
		}
		for what, asked := range h.asked {
			if asked != 1 {
				t.Errorf("%s was asked for %d times", what, asked)
			}
		}
		if len(h.asked) != 2*n+200 {
			t.Errorf("%d instances", len(h.asked))
		}
		next := root.Expanded(root.Program.Resources[1])
		read := map[string]bool{}
		for _, dep := range next[7].Node().Deps() {
			read[dep.Subject.String()] = true
		}
		if len(read) != 5 || !read["thing.base[7]"] || !read["thing.base[8]"] || !read["local.n"] || !read["thing.base"] || !read["thing.next"] {
			t.Errorf("thing.next[7] reads %v", read)
		}
	}
}

// Anything that is requested after an evaluation has ended is there.
func TestAfterwards(t *testing.T) {
	root, rt, _ := run(newHost(t, source("resource \"thing\" \"a\" {\n  count = 2\n}\nresource \"thing\" \"b\" {\n  for_each = toset([\"x\"])\n}")))
	a, b := root.Program.Resources[0], root.Program.Resources[1]
	rt.Do(func(task *promise.Task) {
		for _, r := range root.Program.Resources {
			for _, i := range root.Instances(task, r, nil) {
				if found := root.Instance(task, r, i.Addr.Key); found != i {
					t.Errorf("%s was found as %v", i, found)
				}
				if found, _, known := root.Lookup(r, i.Addr.Key); found != i || !known {
					t.Errorf("%s was found as %v", i, found)
				}
			}
		}
		if root.Instance(task, a, root.Expanded(b)[0].Addr.Key) != nil {
			t.Error("a counted resource has a text as key")
		}
	})
}
