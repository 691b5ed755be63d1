// Package metrics counts the work of a run. Unlike times, the counts don't depend on the machine,
// so tests pin them to find wasted work without a clock.
//
// It owns the counters of the process. It knows nothing of what is counted,
// and nothing may depend on the numbers.
package metrics

import (
	"fmt"
	"io"
	"sync/atomic"
)

// A Counter counts one kind of work.
type Counter struct{ n atomic.Int64 }

// Add counts n more.
func (c *Counter) Add(n int) { c.n.Add(int64(n)) }

// The counters.
var (
	Cells      Counter // computed: values, expansions, instances
	Reads      Counter // of cells by others
	Decoded    Counter // objects of a state
	Calls      Counter // of providers about resource instances
	Batched    Counter // questions about objects that went with others in one call
	Shared     Counter // data sources that were answered by the call for another
	Lists      Counter // of provider objects that were asked for to refresh many
	Listed     Counter // objects that needn't be read because a list had them unchanged
	Refused    Counter // of these, because the provider was asked too often
	Known      Counter // providers whose declarations were remembered, so that none was asked for them
	Started    Counter // processes of providers
	Kept       Counter // processes of providers that continued to serve, rather than others being started
	Unplanned  Counter // objects left out of a plan, because nothing that they come from had changed
	Unread     Counter // objects that a plan didn't ask providers about, as options said
	Steps      Counter // of execution graphs
	Edges      Counter // between these steps
	StateBytes Counter // of states written
	PlanBytes  Counter // of plan files written
)

var all = []struct {
	name string
	*Counter
}{
	{"cells", &Cells}, {"reads", &Reads}, {"decoded", &Decoded}, {"calls", &Calls}, {"batched", &Batched}, {"shared", &Shared}, {"lists", &Lists}, {"listed", &Listed}, {"refused", &Refused},
	{"known", &Known}, {"started", &Started}, {"kept", &Kept}, {"unread", &Unread}, {"unplanned", &Unplanned},
	{"steps", &Steps}, {"edges", &Edges}, {"state-bytes", &StateBytes}, {"plan-bytes", &PlanBytes},
}

// Count runs f and returns by how much each counter grew, by name. Nothing
// else must be at work in the process.
func Count(f func()) map[string]int64 {
	before := Counts()
	f()
	grown := Counts()
	for name, n := range before {
		grown[name] -= n
	}
	return grown
}

// Counts are the counters as they are, by name.
func Counts() map[string]int64 {
	counts := make(map[string]int64, len(all))
	for _, c := range all {
		counts[c.name] = c.n.Load()
	}
	return counts
}

// Write lists the counters, one on each line.
func Write(w io.Writer) error {
	for _, c := range all {
		if _, err := fmt.Fprintf(w, "%s %d\n", c.name, c.n.Load()); err != nil {
			return err
		}
	}
	return nil
}
