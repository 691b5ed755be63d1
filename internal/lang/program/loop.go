package program

import (
	"math/big"
	"reflect"
	"strconv"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
)

// MaxSteps bounds the rounds that a for expression makes, those of the ones
// within it included. A few seconds go by until this default. It is set before
// anything is evaluated.
var MaxSteps = 1 << 20

// MaxTime bounds how long a for expression may take, with what is within it and without
// what it waits for; 0 is no limit. It is set before anything is evaluated.
var MaxTime = 10 * time.Minute

// A Timed scope knows for how long an evaluation continues, and whether it is still waited
// for.
type Timed interface {
	Scope
	Watch() *Watch
}

// A Watch follows an evaluation from when it was made.
type Watch struct {
	Worked      func() time.Duration // without what was waited for
	Interrupted func() bool
	Stop        func()
}

// A LoopExpr is a for expression that ends with an error when it makes too many rounds,
// or when what they make is too large together.
type LoopExpr struct {
	*hclsyntax.ForExpr
}

// NewLoopExpr makes the node. The rounds of the expression, and what they make, are
// counted from then on.
func NewLoopExpr(e *hclsyntax.ForExpr) *LoopExpr {
	if e.CondExpr != nil {
		e.CondExpr = &stepExpr{around(e.CondExpr)}
	}
	if e.KeyExpr != nil {
		e.KeyExpr = &keyExpr{around(e.KeyExpr)}
	}
	e.ValExpr = &resultExpr{around(e.ValExpr), e.CondExpr == nil}
	return &LoopExpr{e}
}

// BoundLoops makes the for expressions within an expression, which it changes, count
// their rounds.
func BoundLoops(e hclsyntax.Expression) hclsyntax.Expression {
	return EditParts(e, func(part hclsyntax.Expression) hclsyntax.Expression {
		if loop, ok := part.(*hclsyntax.ForExpr); ok {
			return NewLoopExpr(loop)
		}
		return part
	})
}

// A stepExpr is what each round evaluates.
type stepExpr struct {
	*hclsyntax.ParenthesesExpr
}

// A resultExpr is what a round makes. Steps says that each round evaluates it.
type resultExpr struct {
	*hclsyntax.ParenthesesExpr
	steps bool
}

// UnwrapExpression gives the expression as it was written.
func (e *LoopExpr) UnwrapExpression() hcl.Expression { return e.ForExpr }

// UnwrapExpression gives the expression as it was written.
func (e *stepExpr) UnwrapExpression() hcl.Expression { return e.ParenthesesExpr.Expression }

// A keyExpr writes whole numbers out itself, for which the library takes longer than
// for the rest of a round.
type keyExpr struct {
	*hclsyntax.ParenthesesExpr
}

// UnwrapExpression gives the expression as it was written.
func (e *keyExpr) UnwrapExpression() hcl.Expression { return e.ParenthesesExpr.Expression }

// UnwrapExpression gives the expression as it was written.
func (e *resultExpr) UnwrapExpression() hcl.Expression { return e.ParenthesesExpr.Expression }

// rounds are those of a for expression in progress.
type rounds struct {
	bytes int // that its results take so far
	all   *effort
}

// An effort is that of the outermost for expression in progress with those within it.
type effort struct {
	made        int  // rounds
	large       bool // the results of one of them are too large together
	late        bool
	interrupted bool

	timed  Timed // nil where there is no scope, and so nothing to wait for
	watch  *Watch
	look   int // at the clock when so many rounds were made
	stride int
	seen   time.Duration // on the clock when it was inspected
}

// Rounds between looks at the clock. Anything that has few of them isn't timed at all, and
// many that are short cost no more than they would without.
const (
	firstLook  = 8
	mostStride = 64
	slowStride = 20 * time.Millisecond
)

// over says that there is no use in going on.
func (e *effort) over() bool { return e.made > MaxSteps || e.large || e.late || e.interrupted }

// round counts one.
func (e *effort) round() {
	if e.made++; e.made == e.look {
		e.time()
	}
}

// time looks at the clock, and decides when to look again.
func (e *effort) time() {
	if e.watch == nil {
		e.watch = watchOf(e.timed)
	}
	worked := e.watch.Worked()
	e.interrupted = e.watch.Interrupted()
	e.late = MaxTime > 0 && worked > MaxTime
	if worked-e.seen > slowStride {
		e.stride = max(1, e.stride/4)
	} else {
		e.stride = min(mostStride, 2*e.stride)
	}
	e.seen, e.look = worked, e.made+e.stride
}

func watchOf(s Timed) *Watch {
	if s != nil {
		return s.Watch()
	}
	begun := time.Now()
	return &Watch{Worked: func() time.Duration { return time.Since(begun) }, Interrupted: func() bool { return false }, Stop: func() {}}
}

var roundsType = cty.Capsule("rounds", reflect.TypeOf(rounds{}))

// roundsName can't be written in a configuration.
const roundsName = "\x00rounds"

func roundsOf(ctx *hcl.EvalContext) *rounds {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[roundsName]; ok {
			return v.EncapsulatedValue().(*rounds)
		}
	}
	return nil
}

// Value implements hcl.Expression. Only the outermost loop reports that there is too much:
// within it the error would be repeated in each round that is left.
func (e *LoopExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	outer := roundsOf(ctx)
	r := &rounds{}
	if outer != nil {
		if r.all = outer.all; r.all.over() {
			return cty.DynamicVal, nil
		}
	} else {
		r.all = &effort{look: firstLook, stride: firstLook}
		r.all.timed, _ = ScopeOf(ctx).(Timed)
	}
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{roundsName: cty.CapsuleVal(roundsType, r)}
	v, diags := e.ForExpr.Value(child)
	if outer != nil {
		return v, diags
	}
	if r.all.watch != nil {
		r.all.watch.Stop()
	}
	var d diag.Diagnostic
	switch {
	case r.all.interrupted:
		d = diag.Interrupted.Error(e.SrcRange, "Evaluation was interrupted before it was done.")
	case r.all.late:
		d = diag.TooLarge.As("Evaluation takes too long").Error(e.SrcRange, "This for expression takes more than %s, without what it waits for. Go over fewer elements, prepare the result outside of the configuration, or set WEIR_MAX_TIME to a longer time; 0 is no limit.", MaxTime)
	case r.all.made > MaxSteps:
		d = diag.TooLarge.As("Evaluation takes too long").Error(e.SrcRange, "This for expression makes more than %d rounds, counting those of the for expressions within it. Go over fewer elements, prepare the result outside of the configuration, or set WEIR_MAX_ROUNDS to a higher number.", MaxSteps)
	case r.all.large:
		d = diag.TooLarge.Error(e.SrcRange, "The result of this for expression, or of one within it, takes more than %d MiB. WEIR_MAX_VALUE can be set to a higher number of MiB.", value.MaxSize>>20)
	default:
		return v, diags
	}
	return cty.DynamicVal, diag.List{d}.ToHCL()
}

// Value implements hcl.Expression.
func (e *stepExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if r := roundsOf(ctx); r != nil {
		if r.all.round(); r.all.over() {
			return cty.DynamicVal, nil
		}
	}
	return e.Expression.Value(ctx)
}

// Value implements hcl.Expression.
func (e *resultExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	r := roundsOf(ctx)
	if r == nil {
		return e.Expression.Value(ctx)
	}
	if e.steps {
		r.all.round()
	}
	if r.all.over() {
		return cty.DynamicVal, nil
	}
	v, diags := e.Expression.Value(ctx)
	if r.bytes += value.Size(v, value.MaxSize); r.bytes > value.MaxSize {
		r.all.large = true
	}
	return v, diags
}

// Value implements hcl.Expression.
func (e *keyExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Expression.Value(ctx)
	if v.Type() != cty.Number || v.IsMarked() || !v.IsKnown() || v.IsNull() {
		return v, diags
	}
	n := v.AsBigFloat()
	if i, accuracy := n.Int64(); accuracy == big.Exact && (i != 0 || !n.Signbit()) {
		v = cty.StringVal(strconv.FormatInt(i, 10))
	}
	return v, diags
}
