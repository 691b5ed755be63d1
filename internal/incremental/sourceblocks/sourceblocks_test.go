package sourceblocks_test

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/incremental/sourceblocks"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/testing/txtar"
)

// TestRead: what a piece says, and what isn't one.
func TestRead(t *testing.T) {
	for text, want := range map[string]sourceblocks.Facts{
		"":                      {},
		"# nothing\n/* } */\n":  {},
		"variable \"v\" {\n}\n": {Declares: []string{"var.v"}, Base: true},
		"variable \"v\" {\n  type = map(object({ a = optional(string) }))\n  default = {}\n  validation {\n    condition = var.v != local.l\n    error_message = \"\"\n  }\n}\n": {Declares: []string{"var.v"}, Refers: []string{"local.l", "var.v"}, Base: true},
		"locals {\n  a = var.v\n  b = upper(local.a)\n}\n":                                                 {Declares: []string{"local.a", "local.b"}, Refers: []string{"local.a", "var.v"}},
		"locals {\n  a = file(\"x\")\n}\n":                                                                 {Declares: []string{"local.a"}, Open: true},
		"locals {\n  a = core::timestamp()\n}\n":                                                           {Declares: []string{"local.a"}, Open: true},
		"locals {\n  a = provider::x::y()\n}\n":                                                            {Declares: []string{"local.a"}, Open: true},
		"locals {\n  a = templatestring(local.t, {})\n}\n":                                                 {Declares: []string{"local.a"}, Refers: []string{"local.t"}, Open: true},
		"output \"o\" {\n  value = module.m[0].x\n}\n":                                                     {Declares: []string{"output.o"}, Refers: []string{"module.m"}},
		"module \"m\" {\n  source = \"./m\"\n  providers = { a = a.b }\n}\n":                               {Declares: []string{"module.m"}, Refers: []string{"a.b", "provider.*"}},
		"data \"a_b\" \"c\" {\n  x = data.a_b.d[0].e\n}\n":                                                 {Declares: []string{"data.a_b.c"}, Refers: []string{"data.a_b.d"}, Open: true},
		"resource \"a_b\" \"c\" {\n}\n":                                                                    {Declares: []string{"a_b.c"}, Refers: []string{"provider.a"}},
		"resource \"a_b\" \"c\" {\n  provider = x\n}\n":                                                    {Declares: []string{"a_b.c"}, Refers: []string{"provider.x"}},
		"resource \"a_b\" \"c\" {\n  provider = x.y\n}\n":                                                  {Declares: []string{"a_b.c"}, Refers: []string{"provider.x.y", "x.y"}},
		"resource \"a_b\" \"c\" {\n  provider = x.y[\"k\"]\n}\n":                                           {Declares: []string{"a_b.c"}, Refers: []string{"provider.x.y", "x.y"}},
		"resource \"a_b\" \"c\" {\n  provider = x.y[var.v]\n}\n":                                           {Declares: []string{"a_b.c"}, Refers: []string{"provider.x.y", "var.v", "x.y"}},
		"provider \"a\" {\n  b = var.v\n}\n":                                                               {Declares: []string{"provider.a"}, Refers: []string{"var.v"}, Base: true, Settings: true},
		"provider \"a\" {\n  alias = \"b\"\n}\n":                                                           {Declares: []string{"provider.a.b"}, Base: true, Settings: true},
		"resource \"terraform_data\" \"c\" {\n  input = [for x in a_b.d : \"${x.y}\"]\n}\n":                {Declares: []string{"terraform_data.c"}, Refers: []string{"a_b.d", "provider.terraform", "x.y"}},
		"resource \"terraform_data\" \"c\" {\n  input = { (resource.a_b.d) = e_f.g[*].h }\n}\n":            {Declares: []string{"terraform_data.c"}, Refers: []string{"a_b.d", "e_f.g", "provider.terraform"}},
		"resource \"terraform_data\" \"c\" {\n  input = var[\"v\"]\n  depends_on = [ephemeral.a.b]\n}\n":   {Declares: []string{"terraform_data.c"}, Refers: []string{"ephemeral.a.b", "provider.terraform", "var.v"}},
		"resource \"terraform_data\" \"c\" {\n  lifecycle {\n    replace_triggered_by = [a_b.d.e]\n  }\n}": {Declares: []string{"terraform_data.c"}, Refers: []string{"a_b.d", "provider.terraform"}},
		"terraform {\n}\n":         {Base: true, Settings: true},
		"moved {\n  from = a.b\n}": {Refers: []string{"a.b"}, Base: true, Settings: true},
		"resource \"terraform_data\" \"a\" {}\noutput \"o\" { value = path.cwd }\n": {Declares: []string{"output.o", "terraform_data.a"}, Refers: []string{"path.cwd", "provider.terraform"}},
	} {
		if got, ok := sourceblocks.Read([]byte(text)); !ok || !cmp.Equal(got, want) {
			t.Errorf("%s: %v %s", text, ok, cmp.Diff(want, got))
		}
	}
	for _, text := range []string{
		"a = 1\n", "locals {\n", "/* x\n", "}\n", "locals {\n  a = <<E\n}\n", "output \"a\" \"b\" {\n}\n", "output \"a b\" {\n}\n",
		"resource \"a_b\" \"c\" {\n  provider = \"x.y\"\n}\n", "provider \"a\" {\n  alias = var.v\n}\n", "provider {\n}\n",
		"locals {\n  a = \n}\n", "\xef\xbb\xbflocals {\n}\n", "locals {\n  a = \"\xff\"\n}\n",
	} {
		if got, ok := sourceblocks.Read([]byte(text)); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestNext: cuts in the middle of a block are joined.
func TestNext(t *testing.T) {
	text := "locals {\n  a = <<E\n{\n}\n{\n}\nE\n}\noutput \"o\" {\n  value = local.a\n}\n"
	cuts := syntax.Cut([]byte(text))
	if n, f := sourceblocks.Next(cuts); len(cuts) != 4 || n != 3 || f.Declares[0] != "local.a" {
		t.Errorf("%d %v of %q", n, f, cuts)
	}
	if n, _ := sourceblocks.Next(cuts[3:]); n != 1 {
		t.Errorf("%d", n)
	}
	if n, _ := sourceblocks.Next(cuts[1:]); n != 0 {
		t.Errorf("%d", n)
	}
}

// blocks are those of a text with where they are, if it has no problem.
func blocks(text []byte, at int) (list []string, ok bool) {
	file, diags := syntax.Parse("", text)
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		list = append(list, strings.Join(append([]string{b.Type}, b.Labels...), " ")+" "+strconv.Itoa(at+b.Range().Start.Byte))
	}
	return list, len(diags) == 0
}

// FuzzPieces: a file all of whose pieces can be read alone can be read, and has their blocks.
func FuzzPieces(f *testing.F) {
	for _, text := range []string{
		"", "locals {\n}\n", "a {\n}\n/*\n}\n*/\nb {\n}\n", "a {\n  x = <<E\n}\nE\n}\n", "a {\n  x = \"${\n{\n}\n}\"\n}\nb {}", "a {\n}\n\xef\xbb\xbfb {\n}\n", "a {\r\n}\r\n", "a {\n}\n}\n",
		"a {\n  x = [\n}\n]\n}\n", "a {\n  x = <<-E\n  ${<<E\n}\nE\n}\n}\nE\n}\n", "a \"}\n\" {\n}\n", "# {\na {\n}\n# }\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var apart []string
		at := 0
		for cuts := syntax.Cut(text); len(cuts) > 0; {
			n, _ := sourceblocks.Next(cuts)
			if n == 0 {
				return
			}
			piece := sourceblocks.Join(cuts[:n])
			list, ok := blocks(piece, at)
			if !ok {
				t.Fatalf("%q isn't a piece", piece)
			}
			apart = append(apart, list...)
			at, cuts = at+len(piece), cuts[n:]
		}
		whole, ok := blocks(text, 0)
		if !ok || !slices.Equal(whole, apart) || at != len(text) {
			t.Errorf("%q: %q, in pieces %q", text, whole, apart)
		}
	})
}

// TestNothingIsMissed: each reference of a compiled declaration is one that its piece says, in
// all cases of all commands.
func TestNothingIsMissed(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../../test/conformance/cases", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		a, err := txtar.ParseFile(name)
		if err != nil {
			return err
		}
		dirs := map[string]module.Memory{}
		for _, f := range a.Files {
			if dir := path.Dir(f.Name); strings.HasSuffix(f.Name, ".tf") {
				if dirs[dir] == nil {
					dirs[dir] = module.Memory{}
				}
				dirs[dir][path.Base(f.Name)] = f.Data
			}
		}
		for _, files := range dirs {
			found += missed(t, name, files)
		}
		return nil
	})
	if err != nil || found < 1000 {
		t.Errorf("%d references, %v", found, err)
	}
}

// missed checks the references of a module, and counts them.
func missed(t *testing.T, of string, files module.Memory) (found int) {
	src, diags := module.Load(files, ".", dialect.OpenTofu)
	p, more := compiler.Compile(src)
	if diags.HasErrors() || more.HasErrors() {
		return 0
	}
	for _, d := range p.Declarations() {
		head := d.Head()
		says := piece(files[head.Range.Filename], head.Range.Start.Byte)
		d.Parts(func(part program.Part) {
			for _, r := range part.References() {
				name := ""
				switch r.Kind {
				case program.RefVariable:
					name = "var." + r.Variable.Name
				case program.RefLocal:
					name = "local." + r.Local.Name
				case program.RefResource:
					name = r.Resource.Name.String()
				case program.RefCall:
					name = r.Call.String()
				default:
					continue
				}
				found++
				if !slices.Contains(says, name) {
					t.Errorf("%s: %s refers to %s, and its piece says %v", of, head.Name, name, says)
				}
			}
		})
	}
	return found
}

// piece is what the piece with a place in a text refers to.
func piece(text []byte, at int) []string {
	for cuts := syntax.Cut(text); len(cuts) > 0; {
		n, f := sourceblocks.Next(cuts)
		if n == 0 {
			return []string{"no piece"}
		}
		if at -= len(sourceblocks.Join(cuts[:n])); at < 0 {
			return f.Refers
		}
		cuts = cuts[n:]
	}
	return nil
}
