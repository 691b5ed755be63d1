package module

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/syntax"
)

// settings are the types of the blocks that say how a module is set up.
var settings = []string{"terraform", "language", "required_providers", "variable", "locals"}

// Settings are the files of a directory that may have terraform, variable or
// locals blocks. Callers that need nothing else are spared the parsing of the
// others, which have most of the text.
func Settings(files Files, dir string, d dialect.Dialect) (Memory, error) {
	names, err := files.List(dir)
	if err != nil {
		return nil, err
	}
	primary, override := Select(names, d)
	few := Memory{}
	for _, name := range append(primary, override...) {
		path := filepath.Join(dir, name)
		data, err := files.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, word := range settings {
			if mentions(data, word) {
				few[path] = data
				break
			}
		}
	}
	return few, nil
}

// mentions finds a word anywhere, in comments and strings too.
func mentions(text []byte, word string) bool {
	for {
		at := bytes.Index(text, []byte(word))
		if at < 0 {
			return false
		}
		end := at + len(word)
		if (at == 0 || !inWord(text[at-1])) && (end == len(text) || !inWord(text[end])) {
			return true
		}
		text = text[end:]
	}
}

func inWord(c byte) bool {
	return c == '_' || c == '-' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// IsStackSettings reports whether a file says where the states of a stack are.
func IsStackSettings(name string) bool {
	return strings.HasSuffix(name, ".tfbackend.hcl") || strings.HasSuffix(name, ".tfbackend.json")
}

// stackSettings is what such a file may have, and what its terraform blocks may.
var (
	stackSettings = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "terraform"},
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "locals"},
	}}
	stackStates = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "backend", LabelNames: []string{"type"}},
		{Type: "cloud"},
		{Type: "encryption"},
	}}
	inTerraform = map[string]string{"backend": within, "encryption": within, "cloud": within}
)

const within = "It belongs into a terraform block."

// LoadStackSettings reads where the states of the stack in a directory are, and how they
// are encrypted: blocks as a module has them.
func LoadStackSettings(files Files, dir string, d dialect.Dialect) (*Source, diag.List) {
	src := &Source{Dir: dir, Registry: d.Registry()}
	names, err := files.List(dir)
	if err != nil {
		return src, diag.Unreadable.As("Failed to read stack directory").List("The directory %s does not exist or cannot be read.", dir)
	}
	var diags diag.List
	for _, name := range names {
		if !IsStackSettings(name) {
			continue
		}
		p := parse(files, filepath.Join(dir, name))
		if diags.Append(p.diags); p.file == nil {
			continue
		}
		src.Files = append(src.Files, p.file)
		content, problems := syntax.Strict(p.file.Body, stackSettings, inTerraform)
		diags.Append(diag.FromHCL(syntax.Invalid, syntax.SortDiagnostics(problems)))
		for _, b := range content.Blocks {
			if b.Type == "terraform" {
				_, problems := syntax.Strict(b.Body, stackStates, nil)
				diags.Append(diag.FromHCL(syntax.Invalid, syntax.SortDiagnostics(problems)))
			}
			src.Blocks = append(src.Blocks, &Block{Block: b, File: p.file})
		}
	}
	return src, diags
}
