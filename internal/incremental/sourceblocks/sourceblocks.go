// Package sourceblocks splits files of the native syntax into blocks that can be parsed separately,
// with the declarations and references of each.
//
// It owns what can be known of a piece by its text. It rejects values, and to know whether
// anything has changed.
package sourceblocks

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/syntax"
)

// Facts are what a piece says without being evaluated. Names are var.x, local.x, output.x,
// module.x, TYPE.NAME, data.TYPE.NAME, and provider.x or provider.x.ALIAS for a configuration of
// a provider, which what it serves refers to.
type Facts struct {
	Declares []string `json:"declares,omitempty"`
	// Refers are the names that it may refer to, and perhaps what only looks like some.
	Refers []string `json:"refers,omitempty"`
	// Open: the result of it may follow from what neither the configuration nor the state has:
	// files, clocks, chance, what providers read. The effects of a call on its module aren't in it.
	Open bool `json:"open,omitempty"`
	// Base: the others need it without referring to it.
	Base bool `json:"base,omitempty"`
	// Settings: how others are meant follows from it.
	Settings bool `json:"settings,omitempty"`
}

// AnyProvider is what a module call refers to: its module may be served by all configurations
// of providers.
const AnyProvider = "provider.*"

// most is how many cuts may be in the wrong place one after the other, as in the text of a
// heredoc.
const most = 64

// Next takes the first piece of a text that was cut: how many cuts it has. 0: none exists that
// can be read alone.
func Next(cuts [][]byte) (int, Facts) {
	for n := 1; n <= min(len(cuts), most); n++ {
		if f, ok := Read(Join(cuts[:n])); ok {
			return n, f
		}
	}
	return 0, Facts{}
}

// Join is the text of neighbouring cuts.
func Join(cuts [][]byte) []byte {
	if len(cuts) == 1 {
		return cuts[0]
	}
	return bytes.Join(cuts, nil)
}

// Read reads a piece, unless it has problems or isn't whole blocks only.
func Read(text []byte) (Facts, bool) {
	var f Facts
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		return f, false // only a file may begin so
	}
	file, diags := syntax.Parse("", text)
	body, ok := file.Body.(*hclsyntax.Body)
	if len(diags) > 0 || !ok || len(body.Attributes) > 0 {
		return f, false
	}
	for _, b := range body.Blocks {
		if !f.block(b) {
			return f, false
		}
	}
	// Anything that isn't a name is reported when it is compiled, and no name refers to it.
	f.Refers = slices.DeleteFunc(f.Refers, func(name string) bool { return !isPlain(name) })
	f.Declares, f.Refers = unique(f.Declares), unique(f.Refers)
	return f, !slices.ContainsFunc(f.Declares, func(name string) bool { return !isPlain(name) })
}

// isPlain reports whether a name has no spaces or the like in it.
func isPlain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// labels are how many labels the blocks have that others may refer to, or that can be left out.
func labels(typ string) (n int, known bool) {
	switch typ {
	case "resource", "data", "ephemeral":
		return 2, true
	case "module", "output", "variable", "check":
		return 1, true
	case "locals":
		return 0, true
	}
	return 0, false
}

func (f *Facts) block(b *hclsyntax.Block) bool {
	n, known := labels(b.Type)
	if known && len(b.Labels) != n {
		return false
	}
	name := strings.Join(append([]string{b.Type}, b.Labels...), ".")
	switch b.Type {
	case "resource":
		f.Declares = append(f.Declares, strings.Join(b.Labels, "."))
		server, ok := provider(b)
		if !ok {
			return false
		}
		f.Refers = append(f.Refers, server)
	case "output":
		f.Declares = append(f.Declares, name)
	case "variable":
		f.Declares = append(f.Declares, "var."+b.Labels[0])
		f.Base = true
	case "locals":
		for name := range b.Body.Attributes {
			f.Declares = append(f.Declares, "local."+name)
		}
	case "data", "ephemeral", "check":
		f.Declares = append(f.Declares, name)
		f.Open = true
	case "module":
		f.Declares, f.Refers = append(f.Declares, name), append(f.Refers, AnyProvider)
	case "provider":
		configuration, ok := configured(b)
		if !ok {
			return false
		}
		f.Declares = append(f.Declares, configuration)
		f.Base, f.Settings = true, true
	default:
		f.Base, f.Settings = true, true
	}
	f.body(b.Body, b.Type)
	return true
}

// provider is the name of the provider's configuration that serves a resource.
func provider(b *hclsyntax.Block) (string, bool) {
	attr := b.Body.Attributes["provider"]
	if attr == nil {
		return "provider." + addr.ImpliedProvider(b.Labels[0]), true
	}
	expr := attr.Expr
	if chosen, ok := expr.(*hclsyntax.IndexExpr); ok {
		expr = chosen.Collection
	}
	t, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() {
		return "", false // in quotes, as it was written once, or wrong
	}
	parts := names(t)
	return "provider." + strings.Join(parts[:min(len(parts), 2)], "."), true
}

// configured is the name of what a provider block configures.
func configured(b *hclsyntax.Block) (string, bool) {
	if len(b.Labels) != 1 {
		return "", false
	}
	name := "provider." + b.Labels[0]
	attr := b.Body.Attributes["alias"]
	if attr == nil {
		return name, true
	}
	alias, diags := attr.Expr.Value(nil)
	if diags.HasErrors() || alias.Type() != cty.String || alias.IsNull() {
		return "", false
	}
	return name + "." + alias.AsString(), true
}

// body follows the expressions of a block. Types of variables aren't any.
func (f *Facts) body(b *hclsyntax.Body, of string) {
	for name, attr := range b.Attributes {
		if of != "variable" || name != "type" {
			_ = hclsyntax.VisitAll(attr.Expr, f.node)
		}
	}
	for _, inner := range b.Blocks {
		f.body(inner.Body, "")
	}
}

func (f *Facts) node(n hclsyntax.Node) hcl.Diagnostics {
	switch n := n.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		f.refer(n.Traversal)
	case *hclsyntax.FunctionCallExpr:
		f.Open = f.Open || !function.IsFixed(n.Name)
	}
	return nil
}

// longer reports whether the name of something has another part behind the root.
func longer(root string) bool {
	return root == "data" || root == "ephemeral" || root == "action" || root == "list"
}

// names are the first parts of a traversal.
func names(t hcl.Traversal) (parts []string) {
	for _, step := range t[:min(len(t), 4)] {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			parts = append(parts, step.Name)
		case hcl.TraverseAttr:
			parts = append(parts, step.Name)
		case hcl.TraverseIndex:
			if key := step.Key; key.Type() == cty.String && key.IsKnown() && !key.IsNull() {
				parts = append(parts, key.AsString())
			}
		}
	}
	return parts
}

// refer adds what a traversal may name: its first two parts, or three.
func (f *Facts) refer(t hcl.Traversal) {
	parts := names(t)
	if parts[0] == "resource" {
		parts = parts[1:]
	}
	n := 2
	if len(parts) > 0 && longer(parts[0]) {
		n = 3
	}
	if len(parts) >= n {
		f.Refers = append(f.Refers, strings.Join(parts[:n], "."))
	}
}
