package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// TestReference: the pages say what the commands are. "make reference" writes them again.
func TestReference(t *testing.T) {
	want, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	files, err := filepath.Glob("../../docs/reference/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(file)] = string(text)
	}
	if names := differing(got, want); len(names) > 0 {
		t.Errorf("docs/reference differs from what the commands are in %s: run make reference", strings.Join(names, ", "))
	}
	for name, text := range want {
		for line := range strings.Lines(text) {
			// Links within the reference. make docs follows the others.
			for _, part := range strings.Split(line, "](")[1:] {
				file, heading, _ := strings.Cut(strings.Split(part, ")")[0], "#")
				if strings.HasPrefix(file, "../") {
					continue
				}
				if title := strings.ReplaceAll(heading, "-", " "); want[file] == "" || heading != "" && !strings.Contains(strings.ReplaceAll(want[file], "-", " "), "# "+title+"\n") {
					t.Errorf("%s leads to %s#%s, which isn't there", name, file, heading)
				}
			}
		}
	}
}

// TestExamplesOfBlocks parses the examples of the language reference.
func TestExamplesOfBlocks(t *testing.T) {
	for _, sec := range sections {
		for _, b := range sec.blocks {
			if _, diags := hclsyntax.ParseConfig([]byte(b.example), b.name, hcl.InitialPos); diags.HasErrors() {
				t.Errorf("%s: %v", b.name, diags)
			}
		}
	}
}

// TestOwnArguments: an argument or block that neither OpenTofu nor Terraform has is marked in the
// language reference, and described as a difference. testdata/arguments.txt lists those of
// the two programs.
func TestOwnArguments(t *testing.T) {
	list, err := os.ReadFile("testdata/arguments.txt")
	if err != nil {
		t.Fatal(err)
	}
	differs, err := os.ReadFile("../../docs/where-weir-differs.md")
	if err != nil {
		t.Fatal(err)
	}
	shared := map[string]bool{}
	for _, line := range strings.Fields(string(list)) {
		shared[line] = true
	}
	_, schemas := Schemas()
	for _, sec := range sections {
		for _, b := range sec.blocks {
			for _, name := range names(schemas[sec.prefix+b.name]) {
				key := sec.prefix + b.name + "." + name
				own := !shared[key]
				delete(shared, key)
				if !own || reserved[name] || reserved[key] {
					continue
				}
				if !strings.Contains(b.texts[name], "**Only in weir") {
					t.Errorf("testdata/arguments.txt doesn't list %s as an argument of OpenTofu or Terraform: mark its text with **Only in weir**, or add it there", key)
				}
				if !strings.Contains(string(differs), "`"+name+"`") {
					t.Errorf("docs/where-weir-differs.md has nothing about the argument %s of %s", name, b.name)
				}
			}
		}
	}
	for name := range shared {
		t.Errorf("testdata/arguments.txt lists %s, which weir doesn't have", name)
	}
}

func names(schema *hcl.BodySchema) (list []string) {
	if schema == nil {
		return nil
	}
	for _, a := range schema.Attributes {
		list = append(list, a.Name)
	}
	for _, inner := range schema.Blocks {
		list = append(list, inner.Type)
	}
	return list
}

// TestManual: there is a page for each command, and all text of one is text to man.
func TestManual(t *testing.T) {
	pages, err := Manual("0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		if !strings.HasPrefix(text, ".TH WEIR") || !strings.Contains(text, "weir 0.1.0") || !strings.Contains(text, "\n.SH SYNOPSIS\n") {
			t.Errorf("%s: %.80s", name, text)
		}
		for line := range strings.Lines(text) {
			macro, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !strings.Contains(" .TH .SH .B .BR .TP .PP .nf .fi .RS .RE ", " "+macro+" ") {
				t.Errorf("%s has a line that isn't text: %s", name, line)
			}
		}
	}
	for name, want := range map[string]string{"weir.1": ".SH GLOBAL OPTIONS", "weir-plan.1": `.B \-refresh=WHICH`, "weir-state-mv.1": `.BR weir\-state (1)`, "weir-state.1": ".SH SUBCOMMANDS"} {
		if !strings.Contains(pages[name], want) {
			t.Errorf("%s lacks %s", name, want)
		}
	}
}
