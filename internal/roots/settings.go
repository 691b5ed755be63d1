package roots

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
)

// SettingsFile is the name of the optional file with settings of roots.
const SettingsFile = "weir.roots.hcl"

// settings are what the file says.
type settings struct {
	exclude []string
	shared  []addr.Provider
	blocks  []*rootBlock
}

// A rootBlock is what a block says about the roots that its pattern matches.
type rootBlock struct {
	pattern    string
	at         hcl.Range
	values     values
	after      []string
	afterAt    hcl.Range
	workspaces []*workspaceBlock
	used       bool
}

type workspaceBlock struct {
	name   string
	values values
}

// values are those of variables.
type values struct {
	files     []string
	variables map[string]cty.Value
	at        hcl.Range
}

// after is an explicit edge.
type after struct {
	pattern string
	at      hcl.Range
}

var (
	fileSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "exclude"}, {Name: "shared_providers"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "root", LabelNames: []string{"pattern"}}},
	}
	rootSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "after"}, {Name: "var_files"}, {Name: "variables"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "workspace", LabelNames: []string{"name"}}},
	}
	workspaceSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "var_files"}, {Name: "variables"}}}
)

// readSettings reads the file of a directory, which needn't exist.
func readSettings(d *workspace.Directory) (*settings, diag.List) {
	s := &settings{}
	data, err := d.Place.ReadFile(SettingsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, diag.Unreadable.List("The file %q could not be read: %s.", SettingsFile, diag.Cause(err))
	}
	d.Place.AddSource(SettingsFile, data)
	f, diags := syntax.Parse(SettingsFile, data)
	r := &reader{diags: diags}
	content := r.content(f.Body, fileSchema)
	s.exclude, _ = r.texts(content.Attributes["exclude"])
	names, at := r.texts(content.Attributes["shared_providers"])
	for _, name := range names {
		p, err := d.Place.Dialect.Registry().ParseProvider(name)
		if err != nil {
			r.diags.Add(BadSettings.Error(at, "%q isn't the address of a provider: %s.", name, err))
		}
		s.shared = append(s.shared, p)
	}
	for _, b := range content.Blocks {
		r.pattern(b.Labels[0], b.LabelRanges[0])
		s.blocks = append(s.blocks, r.root(b))
	}
	for _, p := range s.exclude {
		r.pattern(p, content.Attributes["exclude"].Range)
	}
	return s, r.diags
}

type reader struct{ diags diag.List }

func (r *reader) content(b hcl.Body, s *hcl.BodySchema) *hcl.BodyContent {
	content, problems := syntax.Strict(b, s, nil)
	r.diags.Append(diag.FromHCL(syntax.Invalid, problems))
	return content
}

func (r *reader) pattern(text string, at hcl.Range) {
	if !doublestar.ValidatePattern(text) {
		r.diags.Add(BadSettings.Error(at, "%q isn't a pattern of paths. Write a path from this directory, with * for any name and ** for any folders.", text))
	}
}

func (r *reader) root(b *hcl.Block) *rootBlock {
	content := r.content(b.Body, rootSchema)
	out := &rootBlock{pattern: clean(b.Labels[0]), at: b.DefRange, values: r.values(content)}
	out.after, out.afterAt = r.texts(content.Attributes["after"])
	for _, w := range content.Blocks {
		if !environment.ValidWorkspace(w.Labels[0]) {
			r.diags.Add(diag.BadWorkspace.Error(w.LabelRanges[0], "The name %q is not allowed: %s", w.Labels[0], environment.WorkspaceNames))
		}
		out.workspaces = append(out.workspaces, &workspaceBlock{w.Labels[0], r.values(r.content(w.Body, workspaceSchema))})
	}
	return out
}

func (r *reader) values(c *hcl.BodyContent) values {
	var v values
	v.files, _ = r.texts(c.Attributes["var_files"])
	attr := c.Attributes["variables"]
	if attr == nil {
		return v
	}
	v.at = attr.Range
	given, problems := attr.Expr.Value(nil)
	r.diags.Append(diag.FromHCL(diag.Expression, problems))
	switch {
	case problems.HasErrors():
	case given.IsNull() || !given.IsWhollyKnown() || !given.Type().IsObjectType():
		r.diags.Add(BadSettings.Error(attr.Expr.Range(), "The argument has to be an object with the values of variables by their names."))
	default:
		v.variables = given.AsValueMap()
	}
	return v
}

// texts reads a constant list of strings.
func (r *reader) texts(attr *hcl.Attribute) ([]string, hcl.Range) {
	if attr == nil {
		return nil, hcl.Range{}
	}
	v, problems := attr.Expr.Value(nil)
	r.diags.Append(diag.FromHCL(diag.Expression, problems))
	if problems.HasErrors() {
		return nil, attr.Range
	}
	list, err := convert.Convert(v, cty.List(cty.String))
	if err != nil || list.IsNull() || !list.IsWhollyKnown() {
		r.diags.Add(BadSettings.Error(attr.Expr.Range(), "The argument %q has to be a list of texts.", attr.Name))
		return nil, attr.Range
	}
	var texts []string
	for _, one := range list.AsValueSlice() {
		if !one.IsNull() {
			texts = append(texts, clean(one.AsString()))
		}
	}
	return texts, attr.Range
}

// clean is a pattern without what means nothing.
func clean(pattern string) string {
	for strings.HasPrefix(pattern, "./") {
		pattern = pattern[2:]
	}
	if len(pattern) > 1 {
		pattern = strings.TrimSuffix(pattern, "/")
	}
	return pattern
}

// matches reports whether a pattern names a path.
func matches(pattern, path string) bool {
	ok, err := doublestar.Match(pattern, path)
	return err == nil && ok
}

// literal reports whether a pattern is a path.
func literal(pattern string) bool { return !strings.ContainsAny(pattern, "*?[{\\") }

// excludes reports whether a directory is left out, with everything below it.
func (s *settings) excludes(path string) bool {
	return slices.ContainsFunc(s.exclude, func(p string) bool { return matches(p, path) })
}

// of are the blocks for a path.
func (s *settings) of(path string) []*rootBlock {
	var list []*rootBlock
	for _, b := range s.blocks {
		if matches(b.pattern, path) {
			b.used = true
			list = append(list, b)
		}
	}
	return list
}

// addAfter adds the explicit edges of a block.
func (r *Root) addAfter(b *rootBlock) {
	for _, p := range b.after {
		r.after = append(r.after, after{p, b.afterAt})
	}
}

// given reports whether there are values.
func (v values) given() bool { return len(v.files)+len(v.variables) > 0 }

// add adds values to those of a root.
func (v values) add(r *Root) {
	for _, file := range v.files {
		r.Vars = append(r.Vars, environment.Var{File: true, Value: file})
	}
	for name, val := range v.variables {
		if r.Dir.Place.Values == nil {
			r.Dir.Place.Values = map[string]module.VariableInput{}
		}
		r.Dir.Place.Values[name] = module.VariableInput{Value: val, From: "roots", Range: v.at}
	}
}
