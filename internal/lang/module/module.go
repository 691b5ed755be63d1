package module

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/syntax"
)

// A Source is a directory of configuration as one list of blocks, with
// override files merged into them. The blocks of primary files come first, by
// file name and position.
type Source struct {
	// Dir is the directory as path.module shows it.
	Dir string
	// Registry is where addresses without a host are.
	Registry addr.Registry
	Files    []*syntax.File
	Blocks   []*Block
	// Queries: the blocks of query files are among the others.
	Queries bool
	// Partial: some file has an error of syntax or a block of no known type, so
	// more may be meant to be declared than is here.
	Partial bool
}

// A Block is a top-level block. Its type is one of those in the schema of
// files and it has as many labels as that asks for.
type Block struct {
	*hcl.Block
	File *syntax.File
	// Override is set for blocks that stand in an override file and weren't
	// merged into another block: locals and terraform blocks, which override
	// what they name one by one.
	Override bool
}

// FileSchema is what a configuration file may have at its top.
var FileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "terraform"},
	{Type: "language"},
	{Type: "required_providers"},
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "locals"},
	{Type: "output", LabelNames: []string{"name"}},
	{Type: "module", LabelNames: []string{"name"}},
	{Type: "resource", LabelNames: []string{"type", "name"}},
	{Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "ephemeral", LabelNames: []string{"type", "name"}},
	{Type: "action", LabelNames: []string{"type", "name"}},
	{Type: "check", LabelNames: []string{"name"}},
	{Type: "moved"},
	{Type: "import"},
	{Type: "removed"},
}}

// QuerySchema is what a query file may have at its top.
var QuerySchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "list", LabelNames: []string{"type", "name"}},
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "locals"},
}}

// refused are the blocks that override files may not have.
var refused = map[string]struct {
	code   diag.Code
	detail string
}{
	"moved":    {BadOverride.As("Cannot override 'moved' blocks"), `Blocks of type "moved" can appear only in normal files, not in override files.`},
	"import":   {BadOverride.As("Cannot override 'import' blocks"), `Blocks of type "import" can appear only in normal files, not in override files.`},
	"removed":  {BadOverride.As("Cannot override 'Removed' blocks"), "Removed blocks can appear only in normal files, not in override files."},
	"check":    {BadOverride.As("Can't override check blocks"), "Override files cannot override check blocks."},
	"language": {diag.Edition.As("Language selections in override file"), `Settings in "language" blocks are not allowed in override files. Place them in a normal configuration file.`},
}

// Load reads the configuration of a directory. There is always a source,
// though it lacks what has errors.
func Load(files Files, dir string, d dialect.Dialect) (*Source, diag.List) {
	var diags diag.List
	src := &Source{Dir: dir, Registry: d.Registry()}
	names, err := files.List(dir)
	if err != nil {
		diags.Add(diag.Unreadable.As("Failed to read module directory").New(diag.Error, "Module directory %s does not exist or cannot be read.", dir))
		return src, diags
	}
	primary, override := Select(names, d)
	parsed := parseAll(files, dir, append(primary, override...))
	for _, p := range parsed[:len(primary)] {
		src.Blocks = append(src.Blocks, src.take(p, false, &diags)...)
	}
	base := newOverrides(src)
	for _, p := range parsed[len(primary):] {
		base.apply(src.take(p, true, &diags), &diags)
	}
	return src, diags
}

// LoadQueries is Load with the query files of the directory, which no override file
// changes.
func LoadQueries(files Files, dir string, d dialect.Dialect) (*Source, diag.List) {
	src, diags := Load(files, dir, d)
	src.Queries = true
	names, _ := files.List(dir) // what is wrong with it was reported
	var queries []string
	for _, name := range names {
		if !ignored(name) && (strings.HasSuffix(name, ".tfquery.hcl") || strings.HasSuffix(name, ".tfquery.json")) {
			queries = append(queries, name)
		}
	}
	slices.Sort(queries)
	for _, p := range parseAll(files, dir, queries) {
		src.Blocks = append(src.Blocks, src.takeOnly(QuerySchema, p, false, &diags)...)
	}
	return src, diags
}

type parsed struct {
	file  *syntax.File // nil when it couldn't be read
	diags diag.List
}

// parseAll reads files, several at once.
func parseAll(files Files, dir string, names []string) []parsed {
	list := make([]parsed, len(names))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(names)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				list[i] = parse(files, filepath.Join(dir, names[i]))
			}
		})
	}
	wait.Wait()
	return list
}

func parse(files Files, path string) parsed {
	var p parsed
	data, err := files.ReadFile(path)
	if err != nil {
		p.diags.Add(diag.Unreadable.New(diag.Error, "The file %q could not be read: %s.", path, diag.Cause(err)))
		return p
	}
	p.file, p.diags = syntax.Parse(path, data)
	return p
}

// take adds a file to the source and returns its blocks.
func (s *Source) take(p parsed, override bool, diags *diag.List) []*Block {
	return s.takeOnly(FileSchema, p, override, diags)
}

// takeOnly is take for a file of a kind that may have other blocks.
func (s *Source) takeOnly(may *hcl.BodySchema, p parsed, override bool, diags *diag.List) []*Block {
	diags.Append(p.diags)
	s.Partial = s.Partial || p.diags.HasErrors()
	if p.file == nil {
		return nil
	}
	s.Files = append(s.Files, p.file)
	content, problems := p.file.Body.Content(may)
	diags.Append(diag.FromHCL(syntax.Invalid, syntax.SortDiagnostics(problems)))
	s.Partial = s.Partial || problems.HasErrors()
	blocks := make([]*Block, len(content.Blocks))
	for i, b := range content.Blocks {
		blocks[i] = &Block{Block: b, File: p.file, Override: override}
	}
	return blocks
}

// IsTofu reports whether the file is of the kind that only this engine and
// OpenTofu read.
func (b *Block) IsTofu() bool {
	return isTofu(extension(filepath.Base(b.File.Name)))
}

// address reports which block an override file means.
func (b *Block) address() string {
	if b.Type == "provider" {
		alias := ""
		content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "alias"}}})
		if attr := content.Attributes["alias"]; attr != nil {
			if v, _ := attr.Expr.Value(nil); v.IsKnown() && !v.IsNull() && v.Type().FriendlyName() == "string" {
				alias = v.AsString()
			}
		}
		return "provider." + b.Labels[0] + "." + alias
	}
	return b.Type + "." + strings.Join(b.Labels, ".")
}

// overrides merges the blocks of override files into those of a source.
type overrides struct {
	src  *Source
	base map[string]*Block
}

func newOverrides(src *Source) *overrides {
	return &overrides{src: src}
}

func (o *overrides) apply(blocks []*Block, diags *diag.List) {
	if o.base == nil {
		o.base = make(map[string]*Block, len(o.src.Blocks))
		for _, b := range o.src.Blocks {
			if address := b.address(); o.base[address] == nil {
				o.base[address] = b
			}
		}
	}
	for _, b := range blocks {
		switch b.Type {
		case "locals", "terraform":
			o.src.Blocks = append(o.src.Blocks, b)
		default:
			if no, ok := refused[b.Type]; ok {
				diags.Add(no.code.Error(b.DefRange, "%s", no.detail))
				continue
			}
			o.merge(b, diags)
		}
	}
}

// summaries say that an override has nothing to override.
var summaries = map[string]string{
	"variable":  "Missing base variable declaration to override",
	"output":    "Missing base output definition to override",
	"module":    "Missing module call to override",
	"resource":  "Missing resource to override",
	"data":      "Missing data resource to override",
	"ephemeral": "Missing ephemeral resource to override",
	"action":    "Missing action to override",
	"provider":  "Missing base provider configuration for override",
}

// nested are the block types that may not stand in override files, by the
// block that has them.
var nested = map[string][]string{
	"variable": {"validation"},
	"output":   {"precondition"},
}

func (o *overrides) merge(b *Block, diags *diag.List) {
	base := o.base[b.address()]
	if base == nil {
		if b.Type == "provider" && strings.HasSuffix(b.address(), ".") {
			o.src.Blocks = append(o.src.Blocks, b)
			o.base[b.address()] = b
			return
		}
		summary, ok := summaries[b.Type]
		if !ok {
			o.src.Blocks = append(o.src.Blocks, b)
			return
		}
		diags.Add(BadOverride.As(summary).Error(b.DefRange, "There is no %s %s in a primary configuration file. An override file can only override what is already declared there.",
			b.Type, strings.Join(b.Labels, ".")))
		return
	}
	schema := &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "depends_on"}}}
	for _, typ := range nested[b.Type] {
		schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: typ})
	}
	content, _, _ := b.Body.PartialContent(schema)
	if attr := content.Attributes["depends_on"]; attr != nil && b.Type != "variable" && b.Type != "provider" {
		diags.Add(BadOverride.Error(attr.Range, "The depends_on argument may not be overridden."))
	}
	for _, inner := range content.Blocks {
		diags.Add(BadOverride.As(fmt.Sprintf("Can't override %s blocks", inner.Type)).Error(inner.DefRange, "Override files cannot override %q blocks.", inner.Type))
	}
	merged := *base.Block
	merged.Body = syntax.Merge(base.Body, b.Body, "lifecycle")
	base.Block = &merged
}
