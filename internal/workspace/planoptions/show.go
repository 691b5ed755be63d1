package planoptions

import (
	"strconv"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
)

// A Show is what is asked to be shown, and how.
type Show struct {
	JSON, State, Config bool
	// Path has a state or a saved plan, Plan a saved plan.
	Path, Plan string
	// Module is the directory of a module, which is shown by itself.
	Module string
	// Of a saved plan: its form, text, markdown or html; the addresses whose changes are
	// to be shown, all without any; whether the steps of its apply are, nil where
	// that isn't said.
	Format    string
	Addresses []string
	Steps     *bool
}

// SetSteps reads whether steps are shown.
func (s *Show) SetSteps(text string) error {
	steps, err := strconv.ParseBool(text)
	s.Steps = &steps
	return err
}

// WantsSteps reports whether the steps were asked for by name.
func (s *Show) WantsSteps() bool { return s.Steps != nil && *s.Steps }

// NeedsPlan reports whether only a saved plan can be shown so.
func (s *Show) NeedsPlan() bool {
	return s.WantsSteps() || len(s.Addresses) > 0 || s.Format != "text"
}

// Check rejects what makes no sense together.
func (s *Show) Check() diag.List {
	chosen := 0
	for _, given := range []bool{s.State, s.Config, s.Plan != "", s.Module != "", s.Path != ""} {
		if given {
			chosen++
		}
	}
	switch saved := s.Plan != "" || s.Path != ""; {
	case chosen > 1:
		return diag.Incompatible.As("Conflicting object types to show").List("The -state, -plan=PATH, -config and -module=DIR options and a path are mutually-exclusive, to specify which kind of object to show.")
	case s.Config && !s.JSON:
		return diag.BadOption.As("JSON output required for configuration").List("The -config option can be used only with -json.")
	case s.Module != "" && !s.JSON:
		return diag.BadOption.As("JSON output required for module").List("The -module=DIR option can be used only with -json.")
	case s.Format != "text" && s.Format != "markdown" && s.Format != "html":
		return diag.BadOption.As("Invalid output format").List("There is no format %q: -format takes text, markdown and html.", s.Format)
	case s.Format != "text" && (s.JSON || s.Steps != nil || !saved || len(s.Addresses) > 0):
		return diag.Incompatible.List("With -format=%s a saved plan is shown as a whole: give its path, without addresses, -json and -steps.", s.Format)
	case !saved && s.WantsSteps():
		return diag.BadOption.As("Saved plan required").List("The -steps option shows the steps of a saved plan, so it needs the path of one.")
	case s.JSON && len(s.Addresses) > 0 || s.WantsSteps() && len(s.Addresses) > 0:
		return diag.Incompatible.List("Addresses choose changes that are shown to people. The options -json and -steps show a plan as a whole.")
	}
	return nil
}

// Chosen is the part of a plan that the addresses choose.
func (s *Show) Chosen(p *plan.Plan) (*plan.Plan, diag.List) {
	some := &plan.Plan{Schemas: p.Schemas}
	for _, text := range s.Addresses {
		target, err := addr.ParsePattern(text)
		if err != nil {
			return nil, diag.BadAddress.List("%q can't be used to choose changes: %s.", text, err)
		}
		named := p.ChangesAt(target)
		some.Changes = append(some.Changes, named...)
		if len(named) == 0 {
			return nil, diag.NoInstance.As("No such object in the plan").List("The plan has nothing at %s.", text)
		}
	}
	return some, nil
}
