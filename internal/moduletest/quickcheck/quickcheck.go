// Package quickcheck generates values for variables by their types and validations, and simpler
// ones after a failure.
//
// It owns which values those are: they follow from a seed alone. It doesn't know what is done
// with them, and doesn't evaluate validations: who does leaves out what they reject.
package quickcheck

import (
	"hash/fnv"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/lang/program"
)

// A Generator makes values of one variable.
type Generator struct {
	// Counts: the variable may say how many instances something has, and numbers
	// are such that these fit into memory.
	Counts bool

	variable *program.Variable
	random   *rand.Rand
	made     int

	texts    []string // that validations and the default mention
	numbers  []*big.Float
	patterns []string // regular expressions
}

// New makes a generator. Others of the same seed and purpose give the same values.
func New(v *program.Variable, seed uint64, purpose string) *Generator {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose + "\x00" + v.Name))
	g := &Generator{variable: v, random: rand.New(rand.NewPCG(seed, h.Sum64()))} // #nosec G404 -- made to be repeated
	for _, c := range v.Validations {
		g.mentioned(c.Condition)
	}
	if v.Default != cty.NilVal {
		g.known(v.Default)
	}
	return g
}

// maxCount is the largest number that is made up for how many instances something
// has: what is tried again and again has to fit into memory and into the time that
// somebody waits, whatever validations take or don't take any more.
const maxCount = 1000

// Counting lists the variables of a module that its repetitions come from, or those
// in the modules that it calls, by themselves or through locals.
func Counting(t *program.Tree) map[string]bool {
	counting := map[string]bool{}
	seen := map[*program.Local]bool{}
	var follow func(e *program.Expr)
	follow = func(e *program.Expr) {
		if e == nil {
			return
		}
		compared := comparedIn(e)
		for _, ref := range e.Refs {
			switch {
			case compared[ref]:
			case ref.Kind == program.RefVariable && ref.Variable != nil:
				counting[ref.Variable.Name] = true
			case ref.Kind == program.RefLocal && ref.Local != nil && !seen[ref.Local]:
				seen[ref.Local] = true
				follow(ref.Local.Expr)
			}
		}
	}
	for _, r := range t.Program.Resources {
		follow(r.Repeat.Count)
		follow(r.Repeat.ForEach)
	}
	for _, c := range t.Program.Calls {
		follow(c.Repeat.Count)
		follow(c.Repeat.ForEach)
		for _, child := range t.Of(c.Call) {
			if child.Program == nil {
				continue
			}
			below := Counting(child)
			for _, in := range c.Inputs {
				if below[in.Name] {
					follow(in.Expr)
				}
			}
		}
	}
	return counting
}

// comparedIn are the references in an expression that only decide between values, such
// as that in "var.port > 0 ? 1 : 0".
func comparedIn(e *program.Expr) map[*program.Ref]bool {
	node, ok := e.Expression.(hclsyntax.Expression)
	if !ok {
		return nil
	}
	compared := map[*program.Ref]bool{}
	note := func(part hcl.Expression) {
		for _, ref := range program.References(part) {
			compared[ref] = true
		}
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.ConditionalExpr:
			note(n.Condition)
		case *hclsyntax.BinaryOpExpr:
			if n.Op.Type == cty.Bool {
				note(n)
			}
		}
		return nil
	})
	return compared
}

// mentioned gathers the constants of a condition.
func (g *Generator) mentioned(e *program.Expr) {
	node, ok := e.Expression.(hclsyntax.Expression)
	if !ok {
		return
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		switch e := n.(type) {
		case *hclsyntax.LiteralValueExpr:
			g.known(e.Val)
		case *hclsyntax.TemplateExpr:
			if v, hd := e.Value(nil); len(e.Parts) == 1 && !hd.HasErrors() {
				g.known(v)
			}
		case *hclsyntax.FunctionCallExpr:
			if (e.Name == "regex" || e.Name == "regexall") && len(e.Args) > 0 && len(e.Args[0].Variables()) == 0 && len(program.References(e.Args[0])) == 0 {
				if v, hd := e.Args[0].Value(nil); !hd.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
					g.patterns = append(g.patterns, v.AsString())
				}
			}
		}
		return nil
	})
	// Anything that is a pattern is no text to match it.
	g.texts = slices.DeleteFunc(g.texts, func(s string) bool { return slices.Contains(g.patterns, s) })
}

// known notes the parts of a value that somebody wrote.
func (g *Generator) known(v cty.Value) {
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
			return false, nil
		}
		switch v.Type() {
		case cty.String:
			if !slices.Contains(g.texts, v.AsString()) {
				g.texts = append(g.texts, v.AsString())
			}
		case cty.Number:
			g.numbers = append(g.numbers, v.AsBigFloat())
		}
		return true, nil
	})
}

// Next makes the next value. Null is among them only where it is the default.
func (g *Generator) Next() cty.Value {
	g.made++
	if d := g.variable.Default; d != cty.NilVal && g.made%10 == 1 {
		return d
	}
	return g.of(g.variable.Type)
}

func (g *Generator) of(ty cty.Type) cty.Value {
	switch {
	case ty == cty.Bool:
		return cty.BoolVal(g.random.IntN(2) == 0)
	case ty == cty.Number:
		return cty.NumberVal(g.number())
	case ty == cty.String, ty == cty.DynamicPseudoType:
		return cty.StringVal(g.text())
	case ty.IsListType(), ty.IsSetType():
		return collection(ty, g.elements(ty.ElementType()))
	case ty.IsMapType():
		values := map[string]cty.Value{}
		for _, v := range g.elements(ty.ElementType()) {
			values[g.name()] = v
		}
		return cty.ObjectVal(values) // the caller that takes it makes them alike
	case ty.IsTupleType():
		var values []cty.Value
		for _, t := range ty.TupleElementTypes() {
			values = append(values, g.of(t))
		}
		return cty.TupleVal(values)
	case ty.IsObjectType():
		values := map[string]cty.Value{}
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
			if ty.AttributeOptional(name) && g.random.IntN(3) == 0 {
				continue
			}
			values[name] = g.of(ty.AttributeType(name))
		}
		return cty.ObjectVal(values)
	}
	return cty.NullVal(ty)
}

// collection makes a list or set. Where the elements differ in what they leave out, the caller
// that takes the value makes them alike.
func collection(ty cty.Type, values []cty.Value) cty.Value {
	switch {
	case len(values) == 0 && ty.IsSetType():
		return cty.SetValEmpty(ty.ElementType().WithoutOptionalAttributesDeep())
	case len(values) == 0:
		return cty.ListValEmpty(ty.ElementType().WithoutOptionalAttributesDeep())
	}
	return cty.TupleVal(values)
}

func (g *Generator) elements(ty cty.Type) []cty.Value {
	const most = 4
	var values []cty.Value
	for range g.random.IntN(most + 1) {
		values = append(values, g.of(ty))
	}
	return values
}

// number makes one near those that somebody wrote, or a common corner.
func (g *Generator) number() *big.Float {
	n := g.anyNumber()
	if g.Counts && n.Cmp(big.NewFloat(maxCount)) > 0 {
		return big.NewFloat(float64(g.random.IntN(maxCount) + 1))
	}
	return n
}

func (g *Generator) anyNumber() *big.Float {
	if len(g.numbers) > 0 && g.random.IntN(3) > 0 {
		n := g.numbers[g.random.IntN(len(g.numbers))]
		if len(g.numbers) > 1 && g.random.IntN(2) == 0 { // between two of them
			other := g.numbers[g.random.IntN(len(g.numbers))]
			low, _ := n.Int64()
			high, _ := other.Int64()
			if low > high {
				low, high = high, low
			}
			if high-low > 0 && high-low < 1<<40 {
				return new(big.Float).SetInt64(low + g.random.Int64N(high-low+1))
			}
		}
		return new(big.Float).Add(n, big.NewFloat(float64(g.random.IntN(3)-1)))
	}
	corners := []float64{0, 1, -1, 2, 10, 100, 0.5, 65535, 1 << 31, 1 << 53}
	if g.Counts {
		corners = corners[:7]
	}
	if n := g.random.IntN(2 * len(corners)); n < len(corners) {
		return big.NewFloat(corners[n])
	}
	if g.Counts {
		return big.NewFloat(float64(g.random.IntN(100)))
	}
	return big.NewFloat(float64(g.random.IntN(1000)))
}

// text makes one that a pattern matches, one that somebody wrote, or a common
// corner.
func (g *Generator) text() string {
	kind := g.random.IntN(4)
	if len(g.patterns) > 0 && kind > 0 {
		if s, ok := matching(g.patterns[g.random.IntN(len(g.patterns))], g.random); ok {
			return s
		}
	}
	if len(g.texts) > 0 && kind > 1 {
		return g.texts[g.random.IntN(len(g.texts))]
	}
	corners := []string{"", "a", " ", "A", "0", "a-b", "a_b", "a.b", "a b", "x/y", "é", "日本", "${x}", "null", "true", "\"", "a\nb", long}
	if n := g.random.IntN(2 * len(corners)); n < len(corners) {
		return corners[n]
	}
	return g.name()
}

const long = "a-text-of-some-length-that-goes-on-for-longer-than-most-names-may-be-0123456789"

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"

func (g *Generator) name() string {
	b := []byte{letters[g.random.IntN(26)]}
	for range g.random.IntN(8) {
		b = append(b, letters[g.random.IntN(len(letters))])
	}
	return string(b)
}
