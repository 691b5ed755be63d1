package function

import (
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

func (env Env) addTime(table map[string]function.Function) {
	table["plantimestamp"] = def{nil, nil, cty.String, func(*call) (cty.Value, error) {
		if env.PlanTimestamp != nil {
			if t, ok := env.PlanTimestamp(); ok {
				return cty.StringVal(t.UTC().Format(time.RFC3339)), nil
			}
		}
		return cty.UnknownVal(cty.String), nil
	}}.function()
	table["timestamp"] = def{nil, nil, cty.String, func(*call) (cty.Value, error) {
		return cty.StringVal(env.Now().UTC().Format(time.RFC3339)), nil
	}}.function()
	table["timecmp"] = def{[]function.Parameter{str("timestamp_a"), str("timestamp_b")}, nil, cty.Number, timeCompare}.function()
}

func timeCompare(c *call) (cty.Value, error) {
	var times [2]time.Time
	for i := range times {
		t, err := time.Parse(time.RFC3339, c.str(i))
		if err != nil {
			return cty.NilVal, c.fault(i, "not a valid RFC3339 timestamp such as 2006-01-02T15:04:05Z: %s", c.show(i))
		}
		times[i] = t
	}
	return cty.NumberIntVal(int64(times[0].Compare(times[1]))), nil
}
