package resourceconfig

import (
	"math/big"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// BadList says that the arguments of a list block are wrong, or not known.
var BadList = diag.Code{Name: "invalid-list", Summary: "Invalid list block"}

// DefaultLimit is how many objects a list resource is requested where its block doesn't say.
const DefaultLimit = 100

// An Extent is how much a list resource is requested: how many objects, and whether these
// whole.
type Extent struct {
	Limit int64
	Whole bool
	// Known: neither follows from what isn't known yet.
	Known bool
}

// ExtentOf reads what a list block says of that.
func ExtentOf(t *promise.Task, i *eval.Instance) (e Extent, ok bool) {
	e = Extent{Limit: DefaultLimit, Known: true}
	limit, ok := e.argument(t, i, "limit", i.Resource.Limit, cty.Number)
	if limit != cty.NilVal {
		n, exact := limit.AsBigFloat().Int64()
		if exact != big.Exact || n < 0 {
			ok = t.Report(BadList.As("Invalid limit argument").Error(i.Resource.Limit.Range(), "The limit is how many objects are found at most: a whole number that isn't negative."))
		}
		e.Limit = n
	}
	whole, fits := e.argument(t, i, "include_resource", i.Resource.Whole, cty.Bool)
	e.Whole = whole != cty.NilVal && whole.True()
	return e, ok && fits
}

// argument evaluates one of them. The value is NilVal where nothing follows from it.
func (e *Extent) argument(t *promise.Task, i *eval.Instance, name string, expr *program.Expr, want cty.Type) (cty.Value, bool) {
	if expr == nil {
		return cty.NilVal, true
	}
	v, ok := eval.Evaluate(t, expr, i.Context(t, cty.NilVal))
	if !ok {
		return cty.NilVal, false
	}
	v, _ = v.Unmark()
	v, err := value.Convert(v, want)
	switch {
	case err != nil:
		return cty.NilVal, t.Report(BadList.As("Invalid "+name+" argument").Error(expr.Range(), "The value of %s isn't suitable: %s.", name, value.ErrorString("", err)))
	case !v.IsKnown():
		e.Known = false
		return cty.NilVal, true
	case v.IsNull():
		return cty.NilVal, true
	}
	return v, true
}
