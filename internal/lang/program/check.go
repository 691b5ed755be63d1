package program

import "github.com/hashicorp/hcl/v2"

// A Check is a check block. Its data source, if any, is among the program's
// resources too.
type Check struct {
	Index   int // among the observers
	Name    string
	Data    *Resource
	Asserts []*Condition
	Range   hcl.Range
}

// KindCheck is what checks are.
const KindCheck Kind = "check"

// Head implements Declaration.
func (c *Check) Head() Head { return Head{KindCheck, "check." + c.Name, c.Range} }

// Parts implements Declaration.
func (c *Check) Parts(add func(Part)) { conditions(add, "assert", Assertion, c.Asserts) }

func (c *Check) title() string { return "check." + c.Name }

// Label implements Observer.
func (c *Check) Label() string { return c.Name }

// Place implements Observer.
func (c *Check) Place() int { return c.Index }

// Own implements Observer.
func (c *Check) Own() *Resource { return c.Data }

// Outcomes implements Observer.
func (c *Check) Outcomes() int { return len(c.Asserts) }
