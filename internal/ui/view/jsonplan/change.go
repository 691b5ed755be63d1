package jsonplan

import (
	"encoding/json"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/jsonstate"
)

var null = json.RawMessage("null")

// changes converts all changes that users see, ordered by address.
func changes(all []*plan.Change, p *plan.Plan) ([]*ResourceChange, error) {
	var out []*ResourceChange
	for _, c := range Shown(all) {
		converted, err := Convert(c, p)
		if err != nil {
			return nil, err
		}
		out = append(out, converted)
	}
	return out, nil
}

// Shown lists the changes that are of interest, ordered by address.
func Shown(all []*plan.Change) []*plan.Change {
	shown := slices.DeleteFunc(slices.Clone(all), func(c *plan.Change) bool { return !isShown(c) })
	slices.SortStableFunc(shown, func(a, b *plan.Change) int { return a.Addr.Compare(b.Addr) })
	return shown
}

// isShown reports whether a change is of interest: reading a data source is
// when it is still to be done, its leaving the state never is.
func isShown(c *plan.Change) bool {
	switch c.Addr.Name.Mode {
	case addr.Ephemeral:
		return false
	case addr.Data:
		return c.Action != plan.NoOp && c.Action != plan.Delete || c.Action == plan.NoOp && c.Moved()
	}
	return true
}

// Convert gives one change of a plan in the form for programs.
func Convert(c *plan.Change, p *plan.Plan) (*ResourceChange, error) {
	out := &ResourceChange{
		Address: c.Addr.Instance.String(), Module: c.Addr.Module.String(), Mode: c.Addr.Name.Mode.String(), Type: c.Addr.Name.Type, Name: c.Addr.Name.Name,
		Index: jsonstate.Index(c.Addr.Key), IndexUnknown: c.Addr.Key.IsAny(),
		Provider: c.Provider.Provider.String(), Deposed: c.Addr.Deposed, Reason: c.Reason,
	}
	if c.Moved() {
		out.Previous = c.Previous().String()
	}
	if c.Awaits != nil {
		out.Awaits = &Awaits{Address: c.Awaits.Addr.String(), File: c.Awaits.Range.Filename, Line: c.Awaits.Range.Start.Line}
	}
	s := jsonstate.Schema(p.Schemas, c.Provider.Provider, c.Addr.Name)
	change := &Change{Actions: actions(c.Action), GeneratedConfig: c.GeneratedConfig}
	out.Change = change
	before, after := c.Before, c.After
	if before != cty.NilVal {
		before = jsonstate.Mark(before, s, nil)
	}
	if after != cty.NilVal {
		after = jsonstate.Mark(after, s, nil)
	}
	err := change.values(before, after, "{}")
	if err != nil {
		return nil, err
	}
	if len(c.ReplacePaths) > 0 {
		if change.ReplacePaths, err = paths(c.ReplacePaths); err != nil {
			return nil, err
		}
	}
	if change.Importing, err = ConvertImporting(c.Importing); err != nil {
		return nil, err
	}
	if change.BeforeIdentity, err = identityJSON(c.BeforeIdentity); err != nil {
		return nil, err
	}
	change.AfterIdentity, err = identityJSON(c.AfterIdentity)
	return out, err
}

// values fills in both sides and their masks. None is the mask of a value that
// is known.
func (c *Change) values(before, after cty.Value, none string) (err error) {
	c.Before, c.After = null, null
	c.AfterUnknown, c.BeforeSensitive, c.AfterSensitive = json.RawMessage(none), json.RawMessage("false"), json.RawMessage("false")
	if before != cty.NilVal {
		if c.Before, err = value.After(before); err != nil {
			return err
		}
		c.BeforeSensitive = value.SensitiveMask(before, nil)
	}
	if after != cty.NilVal {
		if c.After, err = value.After(after); err != nil {
			return err
		}
		bare, _ := after.UnmarkDeep()
		c.AfterUnknown = value.UnknownMask(bare, none)
		c.AfterSensitive = value.SensitiveMask(after, nil)
	}
	return nil
}

// ConvertImporting gives the form for programs, nil for nil.
func ConvertImporting(i *plan.Importing) (*Importing, error) {
	if i == nil {
		return nil, nil
	}
	out := &Importing{ID: i.ID, Unknown: i.Unknown}
	var err error
	if i.Identity != cty.NilVal {
		out.Identity, err = identityJSON(i.Identity)
	}
	return out, err
}

func identityJSON(v cty.Value) (json.RawMessage, error) {
	if v == cty.NilVal {
		return nil, nil
	}
	v, _ = v.UnmarkDeep()
	if v.IsNull() || !v.IsWhollyKnown() {
		return nil, nil
	}
	return ctyjson.Marshal(v, v.Type())
}

func paths(all []cty.Path) (json.RawMessage, error) {
	all = slices.Clone(all)
	value.SortPaths(all)
	out := make([]json.RawMessage, len(all))
	for i, path := range all {
		var err error
		if out[i], err = value.PathSteps(path); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

func actions(a plan.Action) []string {
	switch a {
	case plan.DeleteThenCreate:
		return []string{"delete", "create"}
	case plan.CreateThenDelete:
		return []string{"create", "delete"}
	case plan.ForgetThenCreate:
		return []string{"forget", "create"}
	}
	return []string{a.String()}
}
