package testfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/compiler/literal"
	"weir.dev/weir/internal/lang/syntax"
)

func fileSchema() *hcl.BodySchema {
	return syntax.Schema(nil, "test", "run:name", "variables", "variable:name", "provider:name", "mock_provider:name", "override_resource", "override_data", "override_module")
}

func testSchema() *hcl.BodySchema { return syntax.Schema([]string{"parallel", "skip_cleanup"}) }

func variableSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"type", "default", "description", "sensitive", "ephemeral", "nullable", "deprecated", "const"}, "validation")
}

func providerSchema() *hcl.BodySchema { return syntax.Schema([]string{"alias", "for_each", "version"}) }

func mockSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"alias", "for_each", "source", "override_during"}, "mock_resource:type", "mock_data:type", "override_resource", "override_data")
}

func mockFileSchema() *hcl.BodySchema {
	return syntax.Schema(nil, "mock_resource:type", "mock_data:type", "override_resource", "override_data")
}

func mockedSchema() *hcl.BodySchema { return syntax.Schema([]string{"defaults", "override_during"}) }

func runSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"command", "providers", "expect_failures", "state_key", "parallel", "skip_cleanup"},
		"plan_options", "assert", "variables", "module", "backend:type", "override_resource", "override_data", "override_module")
}

func optionsSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"mode", "refresh", "replace", "target"})
}

func moduleSchema() *hcl.BodySchema { return syntax.Schema([]string{"source!", "version"}) }

func assertSchema() *hcl.BodySchema { return syntax.Schema([]string{"condition!", "error_message!"}) }

// overrideSchema is that of an override block, whose values have the given name.
func overrideSchema(values string) *hcl.BodySchema {
	return syntax.Schema([]string{"target!", values, "override_during"})
}

// Schemas returns the schema of each block of a test file, for the language reference. A nested
// block has the name of its parent in front. The first one is the file's own.
func Schemas() (file *hcl.BodySchema, blocks map[string]*hcl.BodySchema) {
	return fileSchema(), map[string]*hcl.BodySchema{
		"test":              testSchema(),
		"variable":          variableSchema(),
		"provider":          providerSchema(),
		"mock_provider":     mockSchema(),
		"mock_resource":     mockedSchema(),
		"run":               runSchema(),
		"run.plan_options":  optionsSchema(),
		"run.module":        moduleSchema(),
		"run.assert":        assertSchema(),
		"override_resource": overrideSchema("values"),
		"override_data":     overrideSchema("values"),
		"override_module":   overrideSchema("outputs"),
	}
}

// A reader decodes one file.
type reader struct {
	dialect dialect.Dialect
	source  *syntax.File
	diags   diag.List
}

// decode makes the structure of a file. Beside errors it lacks what couldn't be
// understood.
func decode(source *syntax.File, d dialect.Dialect) (*File, diag.List) {
	r := &reader{dialect: d, source: source}
	f := &File{Source: source}
	content := r.content(source.Body, fileSchema())
	var test, variables *hcl.Block
	for _, b := range content.Blocks {
		switch b.Type {
		case "test":
			if r.once(b, &test) {
				r.test(f, b)
			}
		case "variables":
			if r.once(b, &variables) {
				f.Variables = r.assignments(b)
			}
		case "variable":
			if v := r.variable(b); v != nil {
				if slices.ContainsFunc(f.Declared, func(other *Variable) bool { return other.Name == v.Name }) {
					r.diags.Add(diag.Duplicate.As("Duplicate \"variable\" block names").Error(b.DefRange, "This test file already has a variable named %s.", v.Name))
				}
				f.Declared = append(f.Declared, v)
			}
		case "provider", "mock_provider":
			r.addProvider(f, b)
		case "run":
			r.addRun(f, b)
		default:
			r.override(&f.Overrides, b)
		}
	}
	for _, v := range f.Variables {
		if n := slices.IndexFunc(f.Declared, func(other *Variable) bool { return other.Name == v.Name }); n >= 0 {
			r.diags.Add(diag.Duplicate.As("Duplicate \"variable\" block names").Error(f.Declared[n].Range, "The variables block already has a value for %s. A variable can be declared or given a value, not both.", v.Name))
		}
	}
	for _, run := range f.Runs {
		run.Parallel = run.Parallel || f.Parallel && !r.says(content.Blocks, run, "parallel")
	}
	r.directives(f)
	slices.SortStableFunc(r.diags, func(a, b diag.Diagnostic) int {
		return cmp.Or(syntax.CompareRanges(a.Subject, b.Subject), cmp.Compare(a.Severity, b.Severity))
	})
	return f, r.diags
}

// says reports whether a run's block has the argument.
func (r *reader) says(blocks hcl.Blocks, run *Run, argument string) bool {
	for _, b := range blocks {
		if b.Type == "run" && b.DefRange == run.Range {
			content, _, _ := b.Body.PartialContent(syntax.Schema([]string{argument}))
			return content.Attributes[argument] != nil
		}
	}
	return false
}

func (r *reader) content(b hcl.Body, schema *hcl.BodySchema) *hcl.BodyContent {
	content, hd := b.Content(schema)
	r.hcl(hd)
	return content
}

func (r *reader) hcl(hd hcl.Diagnostics) {
	if len(hd) > 0 {
		r.diags.Append(diag.FromHCL(syntax.Invalid, syntax.SortDiagnostics(hd)))
	}
}

// once reports whether the block is the first of its type in its place.
func (r *reader) once(b *hcl.Block, first **hcl.Block) bool {
	if *first != nil {
		r.diags.Add(diag.Duplicate.As(fmt.Sprintf("Multiple %q blocks", b.Type)).Error(b.DefRange, "There is a %s block already at %s.", b.Type, (*first).DefRange))
		return false
	}
	*first = b
	return true
}

func (r *reader) test(f *File, b *hcl.Block) {
	attrs := r.content(b.Body, testSchema()).Attributes
	r.flag(attrs["parallel"], &f.Parallel)
	r.experimental(attrs["skip_cleanup"])
}

// experimental rejects what released engines reject too.
func (r *reader) experimental(attr *hcl.Attribute) {
	if attr != nil {
		r.diags.Add(diag.Unsupported.As("Invalid attribute").Error(attr.NameRange, "The %s argument isn't supported: objects of a test are always destroyed.", attr.Name))
	}
}

func (r *reader) assignments(b *hcl.Block) []*Assignment {
	attrs, hd := b.Body.JustAttributes()
	r.hcl(hd)
	var list []*Assignment
	for _, attr := range syntax.InOrder(attrs) {
		list = append(list, &Assignment{attr.Name, attr.Expr, attr.NameRange})
	}
	return list
}

func (r *reader) variable(b *hcl.Block) *Variable {
	if !r.name(b, "Invalid variable name") {
		return nil
	}
	v := &Variable{Name: b.Labels[0], Range: b.DefRange}
	attrs := r.content(b.Body, variableSchema()).Attributes
	if attr := attrs["type"]; attr != nil {
		v.Type = attr.Expr
	}
	if attr := attrs["default"]; attr != nil {
		v.Default = attr.Expr
	}
	return v
}

func (r *reader) name(b *hcl.Block, summary string) bool {
	if hclsyntax.ValidIdentifier(b.Labels[0]) {
		return true
	}
	r.diags.Add(diag.BadName.As(summary).Error(b.LabelRanges[0], "A name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes."))
	return false
}

func (r *reader) addProvider(f *File, b *hcl.Block) {
	p := &Provider{Range: b.DefRange}
	p.Local = b.Labels[0]
	if !hclsyntax.ValidIdentifier(p.Local) || strings.ToLower(p.Local) != p.Local {
		r.diags.Add(diag.BadProvider.As("Invalid provider local name").Error(b.LabelRanges[0], "%q is an invalid provider local name: it must be made of lowercase letters, digits and dashes.", p.Local))
		return
	}
	var attrs hcl.Attributes
	if b.Type == "mock_provider" {
		content := r.content(b.Body, mockSchema())
		attrs = content.Attributes
		p.Mock = &Mock{During: r.during(attrs["override_during"])}
		if attr := attrs["source"]; attr != nil {
			p.Mock.Source, p.Mock.SourceRange = r.text(attr), attr.Expr.Range()
		}
		for _, inner := range content.Blocks {
			r.mocking(p.Mock, inner)
		}
	} else {
		content, rest, hd := syntax.Split(b.Body, providerSchema())
		r.hcl(hd)
		attrs, p.Config = content.Attributes, rest
	}
	if attr := attrs["alias"]; attr != nil {
		if p.Alias = r.text(attr); !hclsyntax.ValidIdentifier(p.Alias) {
			r.diags.Add(diag.BadProvider.As("Invalid provider configuration alias").Error(attr.Expr.Range(), "An alias must be a valid name."))
			return
		}
	}
	if attr := attrs["version"]; attr != nil {
		p.Version = r.version(attr)
	}
	if attr := attrs["for_each"]; attr != nil {
		p.ForEach = attr.Expr
		if p.Alias == "" {
			r.diags.Add(diag.BadProvider.As(`Alias required when using "for_each"`).Error(attr.Expr.Range(), "The for_each argument is allowed only for provider configurations with an alias."))
			return
		}
	}
	if n := slices.IndexFunc(f.Providers, func(other *Provider) bool { return other.ProviderName == p.ProviderName }); n >= 0 {
		r.diags.Add(diag.Duplicate.As("Duplicate provider block").Error(b.DefRange, "A provider for %s is already defined at %s.", p.ProviderName, f.Providers[n].Range))
		return
	}
	f.Providers = append(f.Providers, p)
}

// version decodes the version constraint of a provider block, which Terraform rejects in tests.
func (r *reader) version(attr *hcl.Attribute) string {
	const advice = "Move the version constraint into the required_providers block of the configuration that uses this provider."
	if r.dialect == dialect.Terraform {
		r.diags.Add(diag.BadProvider.As("Version constraints are not allowed in test files").Error(attr.NameRange, advice))
		return ""
	}
	r.diags.Add(diag.Outdated.As("Version constraints inside provider configuration blocks are deprecated").Warning(attr.NameRange, advice))
	return literal.Reader{Diags: &r.diags}.Constraint(attr.Expr)
}

// mocking decodes a block of a mocked provider.
func (r *reader) mocking(m *Mock, b *hcl.Block) {
	if b.Type != "mock_resource" && b.Type != "mock_data" {
		r.override(&m.Overrides, b)
		return
	}
	res := &Mocked{Mode: modeOf(b.Type), Type: b.Labels[0], Range: b.DefRange}
	attrs := r.content(b.Body, mockedSchema()).Attributes
	res.During = r.during(attrs["override_during"])
	if attr := attrs["defaults"]; attr != nil {
		res.Defaults = attr.Expr
		r.object(attr)
	}
	if slices.ContainsFunc(m.Resources, func(other *Mocked) bool { return other.Mode == res.Mode && other.Type == res.Type }) {
		r.diags.Add(diag.Duplicate.As(fmt.Sprintf("Duplicated `%s` block", b.Type)).Error(b.DefRange, "There is a %s block for %s already.", b.Type, res.Type))
		return
	}
	m.Resources = append(m.Resources, res)
}

func (r *reader) during(attr *hcl.Attribute) During {
	if attr == nil {
		return Unsaid
	}
	switch hcl.ExprAsKeyword(attr.Expr) {
	case "plan":
		return Plan
	case "apply":
		return Apply
	}
	r.diags.Add(BadTarget.As("Invalid override_during value").Error(attr.Range, "The override_during argument has to be plan or apply, without quotes."))
	return Unsaid
}

// object reports a constant that is no object. In Terraform it is a problem only
// if it is used.
func (r *reader) object(attr *hcl.Attribute) {
	if r.dialect == dialect.Terraform || len(attr.Expr.Variables()) > 0 {
		return
	}
	v, hd := attr.Expr.Value(nil)
	if !hd.HasErrors() && !v.Type().IsObjectType() && !v.Type().IsMapType() {
		r.diags.Add(BadTarget.As("Object expected").Error(attr.Range, "The argument %s has to be an object.", attr.Name))
	}
}

func (r *reader) constant(attr *hcl.Attribute, want cty.Type) (cty.Value, bool) {
	if attr == nil {
		return cty.NilVal, false
	}
	v, hd := attr.Expr.Value(nil)
	r.hcl(hd)
	if hd.HasErrors() {
		return cty.NilVal, false
	}
	converted, err := convert.Convert(v, want)
	if err != nil || converted.IsNull() || !converted.IsKnown() {
		r.diags.Add(diag.Unsuitable.As("Unsuitable value type").Error(attr.Expr.Range(), "Unsuitable value for %q: a %s is required.", attr.Name, want.FriendlyName()))
		return cty.NilVal, false
	}
	return converted, true
}

func (r *reader) text(attr *hcl.Attribute) string {
	if v, ok := r.constant(attr, cty.String); ok {
		return v.AsString()
	}
	return ""
}

func (r *reader) flag(attr *hcl.Attribute, to *bool) {
	if v, ok := r.constant(attr, cty.Bool); ok {
		*to = v.True()
	}
}
