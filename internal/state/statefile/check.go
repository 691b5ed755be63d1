package statefile

import (
	"cmp"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
)

// checkStatus is the status, where one that a later version added is unknown.
func checkStatus(text string) string {
	switch text {
	case "pass", "fail", "error":
		return text
	}
	return "unknown"
}

// check reads an element of check_results. Kinds that a later version added are left out: the
// next run evaluates all checks again.
func (r *reader) check() error {
	var c state.CheckResult
	err := r.object(func(member string) (err error) {
		switch member {
		case "object_kind":
			c.Kind, err = r.text()
		case "config_addr":
			c.Address, err = r.text()
		case "status":
			c.Status, err = r.text()
		case "objects":
			err = r.array(func() error {
				o, err := r.checkObject()
				c.Objects = append(c.Objects, o)
				return err
			})
		default:
			err = r.skip()
		}
		return err
	})
	kind := diag.KindOf(func(k diag.CheckableKind) string { return k.Stored }, c.Kind)
	if err != nil || kind == nil {
		return err
	}
	c.Kind, c.Status = kind.Name, checkStatus(c.Status)
	r.out.Checks = append(r.out.Checks, c)
	return nil
}

func (r *reader) checkObject() (state.CheckObject, error) {
	var o state.CheckObject
	err := r.object(func(member string) (err error) {
		switch member {
		case "object_addr":
			o.Address, err = r.text()
		case "status":
			o.Status, err = r.text()
		case "failure_messages":
			err = r.array(func() error {
				message, err := r.text()
				o.Messages = append(o.Messages, message)
				return err
			})
		default:
			err = r.skip()
		}
		return err
	})
	o.Status = checkStatus(o.Status)
	return o, err
}

// sortedChecks is a copy in the order of the file.
func sortedChecks(checks []state.CheckResult) []state.CheckResult {
	checks = slices.Clone(checks)
	slices.SortStableFunc(checks, func(a, b state.CheckResult) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Address, b.Address))
	})
	for i := range checks {
		checks[i].Objects = slices.Clone(checks[i].Objects)
		slices.SortStableFunc(checks[i].Objects, func(a, b state.CheckObject) int {
			return cmp.Compare(a.Address, b.Address)
		})
	}
	return checks
}

func (p *printer) checks(checks []state.CheckResult) {
	p.member("check_results")
	if len(checks) == 0 {
		p.raw("null")
		return
	}
	p.open('[')
	for _, c := range sortedChecks(checks) {
		p.element()
		p.open('{')
		if kind := diag.KindOf(func(k diag.CheckableKind) string { return k.Name }, c.Kind); kind != nil {
			p.text("object_kind", kind.Stored)
		}
		p.text("config_addr", c.Address)
		p.text("status", checkStatus(c.Status))
		p.member("objects")
		if c.Objects == nil {
			p.raw("null")
		} else {
			p.open('[')
			for _, o := range c.Objects {
				p.element()
				p.open('{')
				p.text("object_addr", o.Address)
				p.text("status", checkStatus(o.Status))
				if len(o.Messages) > 0 {
					p.texts("failure_messages", o.Messages)
				}
				p.close('}')
			}
			p.close(']')
		}
		p.close('}')
	}
	p.close(']')
}
