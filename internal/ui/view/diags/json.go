// Package diags prints diagnostics: in boxes for people, as objects for programs.
//
// It owns the snippet of source that a diagnostic points at and how several diagnostics are
// put together. It doesn't choose what is reported; the list comes from the stages as it is.
package diags

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/core/value"
)

// A Diagnostic is the form that programs read.
type Diagnostic struct {
	Severity   string      `json:"severity"`
	Code       string      `json:"code,omitempty"`
	Summary    string      `json:"summary"`
	Detail     string      `json:"detail"`
	Address    string      `json:"address,omitempty"`
	Range      *Range      `json:"range,omitempty"`
	Snippet    *Snippet    `json:"snippet,omitempty"`
	Difference *Difference `json:"difference,omitempty"`

	private bool // there is a source, but it may have secrets there
}

// A Range is a part of a source file. Lines and columns count from 1, bytes
// from 0; the end is exclusive.
type Range struct {
	Filename string   `json:"filename"`
	Start    Position `json:"start"`
	End      Position `json:"end"`
}

// A Position is a place in a source file.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// A Snippet is the source lines around a range, whole lines without the last
// line end. The highlight is given in bytes of Code.
type Snippet struct {
	Context              *string       `json:"context"` // header of the block around it
	Code                 string        `json:"code"`
	StartLine            int           `json:"start_line"`
	HighlightStartOffset int           `json:"highlight_start_offset"`
	HighlightEndOffset   int           `json:"highlight_end_offset"`
	Values               []Value       `json:"values"`
	FunctionCall         *FunctionCall `json:"function_call,omitempty"`
}

// A Value says what a reference in the source was.
type Value struct {
	Traversal string `json:"traversal"`
	Statement string `json:"statement"`
}

// A FunctionCall names the function whose call failed.
type FunctionCall struct {
	CalledAs  string     `json:"called_as"`
	Signature *Signature `json:"signature,omitempty"`
}

// A Signature is what a function takes and returns, as far as that doesn't
// depend on the arguments.
type Signature struct {
	Name     string          `json:"name"`
	Params   []Parameter     `json:"params"`
	Variadic *Parameter      `json:"variadic_param,omitempty"`
	Return   json.RawMessage `json:"return_type"`
}

// A Parameter is a parameter of a function.
type Parameter struct {
	Name string          `json:"name"`
	Type json.RawMessage `json:"type"`
}

// A Difference has the two sides of a comparison that the diagnostic is about,
// in the form of changes in plans.
type Difference struct {
	Before          json.RawMessage `json:"before,omitempty"`
	After           json.RawMessage `json:"after,omitempty"`
	AfterUnknown    json.RawMessage `json:"after_unknown,omitempty"`
	BeforeSensitive json.RawMessage `json:"before_sensitive,omitempty"`
	AfterSensitive  json.RawMessage `json:"after_sensitive,omitempty"`
}

// JSON gives the form for programs. Sources are the files by the name that
// ranges have; without its file a diagnostic has a range but no snippet.
func JSON(d diag.Diagnostic, sources map[string][]byte) *Diagnostic {
	out := &Diagnostic{Severity: d.Severity.String(), Code: d.Code, Summary: d.Summary, Detail: d.Detail, Address: d.Address}
	if d.Subject == nil {
		return out
	}
	highlight, shown := ranges(d)
	out.Range = &Range{highlight.Filename, position(highlight.Start), position(highlight.End)}
	if src, ok := sources[highlight.Filename]; ok && src != nil {
		out.Snippet = snippet(d, src, highlight, shown)
		if d.Private && !innocent.Get().MatchString(out.Snippet.Code) {
			out.Snippet, out.private = nil, true
		}
	}
	out.Difference = difference(d.Compared)
	return out
}

// innocent matches a line that can have no secret: the beginning of a block, and an argument
// that is a reference.
var innocent = lazyregexp.New(`^\s*[\w-]+(\s+"[\w-]*"|\s+[\w-]+)*\s*(\{|=\s*[A-Za-z_][\w.-]*)\s*$`)

// Validation is what `validate -json` prints, indented, with a line end.
func Validation(l diag.List, sources map[string][]byte) []byte {
	result := struct {
		FormatVersion string        `json:"format_version"`
		Valid         bool          `json:"valid"`
		ErrorCount    int           `json:"error_count"`
		WarningCount  int           `json:"warning_count"`
		Diagnostics   []*Diagnostic `json:"diagnostics"`
	}{"1.0", !l.HasErrors(), 0, 0, []*Diagnostic{}}
	for _, d := range l {
		result.Diagnostics = append(result.Diagnostics, JSON(d, sources))
		if d.Severity == diag.Error {
			result.ErrorCount++
		} else {
			result.WarningCount++
		}
	}
	// Nothing in it can fail to be written.
	text, _ := json.MarshalIndent(result, "", "  ")
	return append(text, '\n')
}

func position(p hcl.Pos) Position { return Position{p.Line, p.Column, p.Byte} }

// ranges resolves what is underlined and what is shown. Both have at least one byte, and the
// second contains the first.
func ranges(d diag.Diagnostic) (highlight, shown hcl.Range) {
	highlight = *d.Subject
	if highlight.End == (hcl.Pos{}) || highlight.End.Byte < highlight.Start.Byte {
		highlight.End = highlight.Start
	}
	shown = highlight
	if d.Context != nil && d.Context.Filename == highlight.Filename {
		shown = hcl.RangeOver(*d.Context, highlight)
	}
	if highlight.Empty() {
		highlight.End.Byte++
		highlight.End.Column++
	}
	if shown.Empty() {
		shown.End.Byte++
		shown.End.Column++
	}
	return highlight, shown
}

func snippet(d diag.Diagnostic, src []byte, highlight, shown hcl.Range) *Snippet {
	s := &Snippet{StartLine: shown.Start.Line, Values: []Value{}}
	if context := blockHeader(src, highlight); context != "" {
		s.Context = &context
	}
	start := min(max(shown.Start.Byte, 0), len(src))
	end := min(max(shown.End.Byte, start), len(src))
	lineStart := bytes.LastIndexByte(src[:start], '\n') + 1
	lineEnd := len(src)
	// The range's end is exclusive: a range that ends with a line end doesn't
	// reach into the next line.
	if i := bytes.IndexByte(src[max(end-1, start):], '\n'); i >= 0 {
		lineEnd = max(end-1, start) + i
	}
	s.Code = strings.ReplaceAll(string(src[lineStart:max(lineStart, lineEnd)]), "\r\n", "\n")
	s.Code = strings.TrimSuffix(s.Code, "\r")
	crs := func(to int) int { return bytes.Count(src[lineStart:min(max(to, lineStart), len(src))], []byte("\r\n")) }
	s.HighlightStartOffset = min(max(highlight.Start.Byte-lineStart-crs(highlight.Start.Byte), 0), len(s.Code))
	s.HighlightEndOffset = min(max(highlight.End.Byte-lineStart-crs(highlight.End.Byte), s.HighlightStartOffset), len(s.Code))
	for _, v := range d.Values {
		s.Values = append(s.Values, Value{v.Traversal, v.Statement})
	}
	sort.SliceStable(s.Values, func(i, j int) bool { return s.Values[i].Traversal < s.Values[j].Traversal })
	if d.Function != "" {
		s.FunctionCall = &FunctionCall{d.Function, signature(d.Function, d.Signature)}
	}
	return s
}

func signature(name string, f *function.Function) *Signature {
	if f == nil {
		return nil
	}
	out := &Signature{Name: name[strings.LastIndexByte(name, ':')+1:], Params: []Parameter{}}
	var arguments []cty.Type
	for _, p := range f.Params() {
		out.Params = append(out.Params, Parameter{p.Name, typeJSON(p.Type)})
		arguments = append(arguments, p.Type)
	}
	if p := f.VarParam(); p != nil {
		out.Variadic = &Parameter{p.Name, typeJSON(p.Type)}
		arguments = append(arguments, p.Type)
	}
	result, err := f.ReturnType(arguments)
	if err != nil {
		result = cty.DynamicPseudoType
	}
	out.Return = typeJSON(result)
	return out
}

func typeJSON(ty cty.Type) json.RawMessage {
	text, err := ctyjson.MarshalType(ty)
	if err != nil {
		return json.RawMessage(`"dynamic"`)
	}
	return text
}

// difference is nil where the side that counts as the one before isn't known or
// can't be written, as infinity.
func difference(c *diag.Comparison) *Difference {
	if c == nil || !c.Left.IsWhollyKnown() {
		return nil
	}
	d := &Difference{
		AfterUnknown:    value.UnknownMask(c.Right, "false"),
		BeforeSensitive: value.SensitiveMask(c.Left, nil), AfterSensitive: value.SensitiveMask(c.Right, nil),
	}
	var err error
	if d.Before, err = value.After(c.Left); err != nil {
		return nil
	}
	if d.After, err = value.After(c.Right); err != nil {
		return nil
	}
	return d
}
