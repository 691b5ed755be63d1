// Package syntax parses one configuration file into one tree.
//
// Text in the native syntax is read by hclsyntax, or where it is of the usual
// form by a reader of its own that makes the same tree; text in JSON by another.
// All end in expressions of the hclsyntax package, so that later
// stages can rewrite them in the same way. A broken file gives diagnostics and
// a tree of what could be read, never no tree. Nesting is limited before any
// recursive reader sees the text.
//
// The package knows bodies, blocks and expressions. It doesn't know what any
// block means, and it reads no second file and no disk.
package syntax

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/diag"
)

// A File is the tree of one file.
type File struct {
	Name  string
	Bytes []byte
	Body  hcl.Body // never nil: *hclsyntax.Body or *JSONBody
	JSON  bool
}

// Sources are the bytes of files by name, for showing the lines that a
// diagnostic is about.
type Sources map[string][]byte

// IsJSON reports whether a file of that name is in JSON syntax.
func IsJSON(name string) bool { return strings.HasSuffix(name, ".json") }

// Parse reads a file, in JSON syntax when its name ends in .json. The name is
// what ranges say; nothing is read from disk.
func Parse(name string, src []byte) (*File, diag.List) {
	f := &File{Name: name, Bytes: src, JSON: IsJSON(name)}
	var diags diag.List
	if d, bad := checkEncoding(name, src); bad {
		diags.Add(d)
		f.Body = emptyBody(name, f.JSON)
		return f, diags
	}
	if f.JSON {
		f.Body, diags = parseJSON(name, src)
		return f, diags
	}
	if body, ok := parseChunks(name, src); ok {
		f.Body = body
		return f, nil
	}
	if d, bad := checkFileDepth(name, src); bad {
		diags.Add(d)
		f.Body = emptyBody(name, false)
		return f, diags
	}
	file, hclDiags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	diags.Append(behindUnclosed(diag.FromHCL(Invalid, hclDiags), hclDiags))
	f.Body = emptyBody(name, false)
	if file != nil && file.Body != nil {
		dropUnclosed(file.Body.(*hclsyntax.Body), hclDiags)
		f.Body = file.Body
	}
	return f, diags
}

// dropUnclosed drops the block whose labels a quote that is never closed is in: they are read
// wrongly, which would be a second problem.
func dropUnclosed(b *hclsyntax.Body, found hcl.Diagnostics) {
	i := slices.IndexFunc(found, isUnclosed)
	if i < 0 || found[i].Subject == nil {
		return
	}
	at := found[i].Subject.Start.Line
	b.Blocks = slices.DeleteFunc(b.Blocks, func(block *hclsyntax.Block) bool {
		return len(block.LabelRanges) > 0 && block.TypeRange.Start.Line == at
	})
}

func isUnclosed(d *hcl.Diagnostic) bool {
	return d.Severity == hcl.DiagError && slices.Contains(unclosed, d.Summary)
}

// behindUnclosed marks the problems behind a quote that is never closed, or in its line: they
// only come from text that was taken for a string, or the other way round.
func behindUnclosed(l diag.List, found hcl.Diagnostics) diag.List {
	i := slices.IndexFunc(found, isUnclosed)
	if i >= 0 && len(l) == len(found) {
		line := func(d *hcl.Diagnostic) int {
			if d.Subject == nil {
				return 0
			}
			return d.Subject.Start.Line
		}
		for j := range l {
			l[j].Follows = l[j].Follows || j > i || j < i && line(found[j]) == line(found[i])
		}
	}
	return l
}

// unclosed is how the library calls quotes that aren't closed on their line or at all.
var unclosed = []string{"Invalid multi-line string", "Unterminated template string"}

// ParseExpression reads an expression in native syntax, as in the value of an
// option. The result is nil only after an error.
func ParseExpression(src []byte, name string, start hcl.Pos) (hclsyntax.Expression, diag.List) {
	if d, bad := checkEncoding(name, src); bad {
		return nil, diag.List{d}
	}
	if d, bad := checkDepth(name, src, lexExpression); bad {
		return nil, diag.List{d}
	}
	expr, diags := hclsyntax.ParseExpression(src, name, start)
	if diags.HasErrors() {
		return nil, diag.FromHCL(Invalid, diags)
	}
	return expr, diag.FromHCL(Invalid, diags)
}

func emptyBody(name string, json bool) hcl.Body {
	at := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
	if json {
		return &JSONBody{open: at, rng: at}
	}
	return &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: at, EndRange: at}
}

// checkEncoding finds text that isn't UTF-8.
func checkEncoding(name string, src []byte) (diag.Diagnostic, bool) {
	at := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		return diag.Diagnostic{
			Code: Invalid.Name, Summary: "Invalid character encoding",
			Detail:  "The file is encoded in UTF-16. Configuration is written in UTF-8: save the file in that encoding.",
			Subject: &at,
		}, true
	}
	if utf8.Valid(src) {
		return diag.Diagnostic{}, false
	}
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			at.Start = posAt(src, i)
			at.End = hcl.Pos{Line: at.Start.Line, Column: at.Start.Column + 1, Byte: i + 1}
			break
		}
		i += size
	}
	return diag.Diagnostic{
		Code: Invalid.Name, Summary: "Invalid character encoding",
		Detail:  "All input files must be UTF-8 encoded. Ensure that UTF-8 encoding is selected in your editor.",
		Subject: &at,
	}, true
}

// posAt is the position of a byte, with columns in characters.
func posAt(src []byte, offset int) hcl.Pos {
	line := 1 + bytes.Count(src[:offset], []byte{'\n'})
	start := bytes.LastIndexByte(src[:offset], '\n') + 1
	return hcl.Pos{Line: line, Column: 1 + utf8.RuneCount(src[start:offset]), Byte: offset}
}
