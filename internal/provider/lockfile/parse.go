package lockfile

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider/version"
)

var fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "provider", LabelNames: []string{"source_addr"}},
	{Type: "module", LabelNames: []string{"path"}},
}}

var lockSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "version", Required: true}, {Name: "constraints"}, {Name: "hashes"},
}}

// Parse reads the content of a lock file. Locks with mistakes are left out.
func Parse(src []byte, filename string) (*Locks, diag.List) {
	locks := &Locks{}
	file, hclDiags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	diags := diag.FromHCL(Invalid, hclDiags)
	if diags.HasErrors() {
		return locks, diags
	}
	content, hclDiags := file.Body.Content(fileSchema)
	diags.Append(diag.FromHCL(Invalid, hclDiags))
	first := make(map[addr.Provider]hcl.Range)
	warned := false
	for _, block := range content.Blocks {
		if block.Type == "module" {
			if !warned {
				diags.Add(Invalid.As("Dependency locks for modules are not yet supported").Warning(block.TypeRange, "Only providers are locked. This file may have been written by a later version."))
			}
			warned = true
			continue
		}
		lock, ok := parseLock(block, &diags)
		if !ok {
			continue
		}
		if at, again := first[lock.Provider]; again {
			diags.Add(Invalid.As("Duplicate provider lock").Error(block.TypeRange, "This lockfile already declared a lock for provider %s at %s. Delete one of the two blocks.", lock.Provider, at))
			continue
		}
		first[lock.Provider] = block.DefRange
		locks.Set(lock)
	}
	return locks, diags
}

func parseLock(block *hcl.Block, diags *diag.List) (Lock, bool) {
	var lock Lock
	var err error
	label := block.LabelRanges[0]
	lock.Provider, err = addr.OpenTofu.ParseProvider(block.Labels[0])
	switch {
	case err != nil:
		diags.Add(Invalid.As("Invalid provider source address").Error(label, "The provider source address for a provider lock must be a valid, fully-qualified address of the form \"hostname/namespace/type\"."))
		return lock, false
	case lock.Provider.IsBuiltin():
		diags.Add(Invalid.As("Invalid provider source address").Error(label, "Cannot lock a version for built-in provider %s: it is a part of the program. Delete this block.", lock.Provider))
		return lock, false
	case lock.Provider.String() != block.Labels[0]:
		diags.Add(Invalid.As("Non-normalized provider source address").Error(label, "The provider source address for this provider lock must be written as %q, the fully-qualified and normalized form.", lock.Provider))
		return lock, false
	}
	content, hclDiags := block.Body.Content(lockSchema)
	diags.Append(diag.FromHCL(Invalid, hclDiags))
	ok := !hclDiags.HasErrors()
	if a := content.Attributes["version"]; a != nil {
		ok = parseVersion(&lock, a, diags) && ok
	}
	if a := content.Attributes["constraints"]; a != nil {
		ok = parseConstraints(&lock, a, diags) && ok
	}
	if a := content.Attributes["hashes"]; a != nil {
		ok = parseHashes(&lock, a, diags) && ok
	}
	return lock, ok
}

func parseVersion(lock *Lock, a *hcl.Attribute, diags *diag.List) bool {
	text, ok := stringOf(a.Expr, diags)
	if !ok {
		return false
	}
	v, err := version.Parse(text)
	switch {
	case err != nil:
		diags.Add(Invalid.As("Invalid provider version number").Error(a.Expr.Range(), "The selected version number for provider %s is invalid: %s.", lock.Provider, err))
		return false
	case v.String() != text:
		diags.Add(Invalid.As("Invalid provider version number").Error(a.Expr.Range(), "The selected version number for provider %s must be written in normalized form: %q.", lock.Provider, v))
		return false
	}
	lock.Version = v
	return true
}

func parseConstraints(lock *Lock, a *hcl.Attribute, diags *diag.List) bool {
	text, ok := stringOf(a.Expr, diags)
	if !ok {
		return false
	}
	c, err := version.ParseConstraints(text)
	switch {
	case err != nil:
		diags.Add(diag.BadVersion.As("Invalid provider version constraints").Error(a.Expr.Range(), "The recorded version constraints for provider %s are invalid: %s.", lock.Provider, err))
		return false
	case c.String() != text:
		diags.Add(diag.BadVersion.As("Invalid provider version constraints").Error(a.Expr.Range(), "The recorded version constraints for provider %s must be written in normalized form: %q.", lock.Provider, c))
		return false
	}
	lock.Constraints = c
	return true
}

func parseHashes(lock *Lock, a *hcl.Attribute, diags *diag.List) bool {
	exprs, hclDiags := hcl.ExprList(a.Expr)
	if hclDiags.HasErrors() {
		diags.Append(diag.FromHCL(Invalid, hclDiags))
		return false
	}
	if len(exprs) == 0 {
		diags.Add(Invalid.As("Invalid provider hash set").Error(a.Expr.Range(), "The \"hashes\" argument must either be omitted or contain at least one hash value."))
		return false
	}
	all := true
	for _, expr := range exprs {
		text, ok := stringOf(expr, diags)
		if ok {
			if err := CheckHash(text); err != nil {
				diags.Add(Invalid.As("Invalid provider hash string").Error(expr.Range(), "Cannot interpret %q as a provider hash: %s.", text, err))
				ok = false
			}
		}
		all = all && ok
		lock.Hashes = append(lock.Hashes, text)
	}
	return all
}

func stringOf(expr hcl.Expression, diags *diag.List) (string, bool) {
	v, hclDiags := expr.Value(nil)
	diags.Append(diag.FromHCL(Invalid, hclDiags))
	if hclDiags.HasErrors() {
		return "", false
	}
	if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		diags.Add(Invalid.As("Unsuitable value type").Error(expr.Range(), "A quoted string is needed here."))
		return "", false
	}
	return v.AsString(), true
}
