package output

import (
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/why"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/masking"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// An Approval asks whether a plan is to be carried out, and prints details of it on request.
type Approval struct {
	Plan *plan.Plan
	// Ask asks once.
	Ask func() (answer string, err error)
	// Reasons explain objects of the plan.
	Reasons Reasons
	// Person: somebody types the answers, so that one that isn't any needn't be taken for a no.
	Person bool
}

// Reasons tell why a plan deals as it does with what a target names.
type Reasons interface {
	Of(p *plan.Plan, target addr.Target) []why.Explanation
}

// Put asks until there is an answer: all of each change is shown for "details", those of
// some objects for "details ADDRESS", and what a change comes from for "why ADDRESS".
func (q Approval) Put(on *Screen) (answer string, err error) {
	for {
		if answer, err = q.Ask(); err != nil {
			return "", err
		}
		verb, address, _ := strings.Cut(strings.TrimSpace(answer), " ")
		switch {
		case verb == "details" && address == "":
			err = view.Plan(on.Out, q.Plan, on.Viewing())
		case verb == "details":
			err = q.detail(on, strings.TrimSpace(address))
		case verb == "why":
			err = q.explain(on, strings.TrimSpace(address))
		case q.Person && !slices.Contains([]string{"yes", "no", "n", ""}, strings.ToLower(strings.TrimSpace(answer))):
			on.Say("%q isn't an answer to that: yes, no, details, details ADDRESS or why ADDRESS.\n", sanitize.Line(answer))
		default:
			return answer, nil
		}
		if on.Written(err) != 0 {
			return "", nil
		}
	}
}

func (q Approval) detail(on *Screen, address string) error {
	target, ok := q.target(on, "details", address)
	if !ok {
		return nil
	}
	masked, _ := masking.Plan(q.Plan, masking.Secrets(q.Plan, nil)) // by what the others have, too
	named := masked.ChangesAt(target)
	if len(named) == 0 {
		on.Say("The plan has nothing at %s.\n", target)
		return nil
	}
	return view.Details(on.Out, &plan.Plan{Schemas: masked.Schemas, Changes: named}, on.Viewing())
}

func (q Approval) explain(on *Screen, address string) error {
	target, ok := q.target(on, "why", address)
	if !ok {
		return nil
	}
	list := q.Reasons.Of(q.Plan, target)
	if len(list) == 0 {
		on.Say("The plan does nothing at %s.\n", target)
		return nil
	}
	return view.Why(on.Out, list, on.Viewing())
}

// target reads the address behind a word, and says what is wrong with it.
func (q Approval) target(on *Screen, verb, address string) (addr.Target, bool) {
	target, err := addr.ParsePattern(address)
	if err != nil {
		on.Say("%q isn't an address: %s. Write %s and an address as above, such as %s %s.\n", address, err, verb, verb, q.example())
	}
	return target, err == nil
}

// example is the address of something that changes.
func (q Approval) example() string {
	for _, c := range q.Plan.Changes {
		if c.Action != plan.NoOp {
			return c.Addr.Instance.String()
		}
	}
	return "TYPE.NAME"
}
