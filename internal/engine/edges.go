package engine

import (
	"time"

	"github.com/zclconf/go-cty/cty"

	functions "weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
)

// Edges finds why the steps of a plan wait for one another. The configuration is the one
// that the plan was made for. Without one, which is nil, the reasons have no references.
func Edges(c *Config, p *plan.Plan) *edges.Of {
	if c == nil || c.Tree == nil {
		return edges.Without(p)
	}
	values, diags := c.values(false)
	if diags.HasErrors() {
		return edges.Without(p)
	}
	for name, v := range p.Variables {
		if !v.Ephemeral && v.Given {
			values[name] = v.Value
		}
	}
	facts := c.facts(cty.False, functions.Env{Pure: true, PlanTimestamp: func() (time.Time, bool) { return p.Timestamp, true }})
	return edges.Find(p, c.Tree, c.base(values, nil), facts)
}
