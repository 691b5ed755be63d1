// Package jsonplan writes plans as JSON, the form of `show -json PLAN`, and reads their changes.
//
// It owns that format. Everything in it was decided at plan; nothing is
// compared again here.
package jsonplan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/view/jsonconfig"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/ui/view/masking"
)

// FormatVersion is the version of the format.
const FormatVersion = "1.2"

// A document has its members in the order of the format. The prior state, which is written object
// by object, stands between its parts.
type document struct {
	beforePrior
	afterPrior
}

type beforePrior struct {
	FormatVersion   string               `json:"format_version"`
	Version         string               `json:"terraform_version,omitempty"`
	Variables       map[string]variable  `json:"variables,omitempty"`
	PlannedValues   jsonstate.Values     `json:"planned_values"`
	Drift           []*ResourceChange    `json:"resource_drift,omitempty"`
	ResourceChanges []*ResourceChange    `json:"resource_changes,omitempty"`
	Deferred        []deferred           `json:"deferred_changes,omitempty"`
	DeferredActions []deferredInvocation `json:"deferred_action_invocations,omitempty"`
	OutputChanges   map[string]*Change   `json:"output_changes,omitempty"`
}

type afterPrior struct {
	Configuration json.RawMessage         `json:"configuration,omitempty"`
	Relevant      []attribute             `json:"relevant_attributes,omitempty"`
	Actions       []*invocation           `json:"action_invocations,omitempty"`
	Checks        []jsonstate.CheckResult `json:"checks,omitempty"`
	Timestamp     string                  `json:"timestamp,omitempty"`
	LeftOut       *LeftOut                `json:"objects_left_out,omitempty"`
	Graph         *executionGraph         `json:"execution_graph,omitempty"`
	Applyable     bool                    `json:"applyable"`
	Complete      bool                    `json:"complete"`
	Errored       bool                    `json:"errored"`
}

type variable struct {
	Value json.RawMessage `json:"value,omitempty"`
}

type attribute struct {
	Resource  string          `json:"resource"`
	Attribute json.RawMessage `json:"attribute"`
}

type deferred struct {
	Reason string          `json:"reason"`
	Change *ResourceChange `json:"resource_change"`
}

// A ResourceChange is what happens to one object.
type ResourceChange struct {
	Address      string          `json:"address"`
	Previous     string          `json:"previous_address,omitempty"`
	Module       string          `json:"module_address,omitempty"`
	Mode         string          `json:"mode"`
	Type         string          `json:"type"`
	Name         string          `json:"name"`
	Index        json.RawMessage `json:"index,omitempty"`
	IndexUnknown bool            `json:"index_unknown,omitempty"`
	Provider     string          `json:"provider_name"`
	Deposed      string          `json:"deposed,omitempty"`
	Change       *Change         `json:"change"`
	Reason       plan.Reason     `json:"action_reason,omitempty"`
	Awaits       *Awaits         `json:"awaits,omitempty"`
}

// Awaits is the change that a read during apply waits for, and where the reference to it is.
// No other program has it.
type Awaits struct {
	Address string `json:"address"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// A Change is a difference of values. Before and After are null where there is
// nothing; the masks have the values' form with true at what they mark.
type Change struct {
	Actions         []string        `json:"actions"`
	Before          json.RawMessage `json:"before"`
	After           json.RawMessage `json:"after,omitempty"`
	AfterUnknown    json.RawMessage `json:"after_unknown,omitempty"`
	BeforeSensitive json.RawMessage `json:"before_sensitive,omitempty"`
	AfterSensitive  json.RawMessage `json:"after_sensitive,omitempty"`
	ReplacePaths    json.RawMessage `json:"replace_paths,omitempty"`
	Importing       *Importing      `json:"importing,omitempty"`
	GeneratedConfig string          `json:"generated_config,omitempty"`
	BeforeIdentity  json.RawMessage `json:"before_identity,omitempty"`
	AfterIdentity   json.RawMessage `json:"after_identity,omitempty"`
}

// Importing names the object that is imported.
type Importing struct {
	ID       string          `json:"id,omitempty"`
	Unknown  bool            `json:"unknown,omitempty"`
	Identity json.RawMessage `json:"identity,omitempty"`
}

// LeftOut counts objects that weren't read again because they were not long ago.
type LeftOut struct {
	Count int    `json:"count"`
	Since string `json:"since"`
}

// LeftOutOf are those of a plan, nil without one.
func LeftOutOf(p *plan.Plan) *LeftOut {
	if p.LeftOut == nil {
		return nil
	}
	return &LeftOut{p.LeftOut.Objects, p.LeftOut.Since.UTC().Format(time.RFC3339)}
}

// Marshal writes a plan together with the configuration it was made for, which
// may be nil, and its execution graph unless reasons is nil. The dialect names the engine.
func Marshal(p *plan.Plan, tree *program.Tree, reasons *edges.Of, d dialect.Dialect) ([]byte, error) {
	var b bytes.Buffer
	err := Write(&b, p, tree, reasons, d)
	return b.Bytes(), err
}

// Write is Marshal for a writer. After an error the document is cut off.
func Write(w io.Writer, p *plan.Plan, tree *program.Tree, reasons *edges.Of, d dialect.Dialect) error {
	version := d.Version()
	p, _ = masking.Plan(p, masking.Secrets(p, tree))
	doc := document{beforePrior{FormatVersion: FormatVersion, Version: version}, afterPrior{
		Errored: p.Errored, Applyable: !p.Errored && p.HasChanges(), Complete: !p.Errored && len(p.Deferred) == 0 && len(p.Targets)+len(p.Excludes) == 0,
		Checks: jsonstate.Checks(p.Checks), LeftOut: LeftOutOf(p), Graph: executionGraphOf(p, reasons),
	}}
	if !p.Timestamp.IsZero() {
		doc.Timestamp = p.Timestamp.UTC().Format(time.RFC3339)
	}
	err := firstError(
		func() (err error) { doc.Variables, err = variables(p, tree); return },
		func() (err error) { doc.PlannedValues, err = plannedValues(p, d); return },
		func() (err error) { doc.Drift, err = changes(Drift(p), p); return },
		func() (err error) { doc.ResourceChanges, err = changes(Planned(p), p); return },
		func() (err error) { doc.Deferred, err = deferrals(p); return },
		func() (err error) { doc.Actions, err = invocations(p); return },
		func() (err error) { doc.DeferredActions, err = deferredInvocations(p); return },
		func() (err error) { doc.OutputChanges, err = outputs(p.Outputs); return },
		func() (err error) { doc.Relevant, err = relevant(p); return },
		func() (err error) {
			if tree != nil {
				doc.Configuration, err = jsonconfig.Marshal(tree, p.Schemas)
			}
			return
		},
	)
	if err != nil {
		return err
	}
	before, err := json.Marshal(doc.beforePrior)
	if err != nil {
		return err
	}
	after, err := json.Marshal(doc.afterPrior)
	if err != nil {
		return err
	}
	if _, err := w.Write(before[:len(before)-1]); err != nil {
		return err
	}
	if prior := priorState(p, tree); !prior.IsEmpty() {
		now := *prior
		now.Version = version // it was brought up to date
		if _, err := io.WriteString(w, `,"prior_state":`); err != nil {
			return err
		}
		if err := jsonstate.Write(w, &now, p.Schemas); err != nil {
			return err
		}
	}
	after[0] = ','
	_, err = w.Write(after)
	return err
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// priorState is the state that the plan starts from, with the root outputs as
// far as they are known already.
func priorState(p *plan.Plan, tree *program.Tree) *state.Snapshot {
	if p.Refreshed == nil || tree == nil {
		return p.Refreshed
	}
	s := p.Refreshed.Clone()
	s.Checks = nil // those of the plan are beside it
	if p.Mode == plan.Destroy {
		// The results of data sources go without being read again.
		for a, o := range p.Previous.Objects {
			if a.Name.Mode == addr.Data && s.Objects[a] == nil {
				s.Objects[a] = o
			}
		}
		return s
	}
	for _, o := range p.Outputs {
		declared := tree.Program.OutputByName[o.Name]
		after, _ := o.After.UnmarkDeep()
		switch {
		case declared == nil || !after.IsWhollyKnown():
		case after.IsNull():
			delete(s.Outputs, o.Name)
		default:
			s.Outputs[o.Name] = state.Output{Value: after, Sensitive: declared.Sensitive, Deprecated: declared.Deprecated}
		}
	}
	return s
}

// Planned are the changes of resources: none in a plan that only refreshes.
func Planned(p *plan.Plan) []*plan.Change {
	if p.Mode == plan.RefreshOnly {
		return nil
	}
	return p.Changes
}

// Drift lists the differences that refreshing found, as far as they are shown: a changed
// address only is reported by the changes, except in a plan that only refreshes.
func Drift(p *plan.Plan) []*plan.Change {
	if p.Mode == plan.RefreshOnly {
		return p.Drift
	}
	return slices.DeleteFunc(slices.Clone(p.Drift), func(c *plan.Change) bool { return c.Action == plan.NoOp })
}

// variables are those the plan was made with and the defaults of the others.
func variables(p *plan.Plan, tree *program.Tree) (map[string]variable, error) {
	out := map[string]variable{}
	add := func(name string, v cty.Value) error {
		v, _ = v.UnmarkDeep()
		raw, err := ctyjson.Marshal(v, v.Type())
		out[name] = variable{raw}
		return err
	}
	for name, v := range p.Variables {
		if v.Ephemeral || v.Value == cty.NilVal || !v.Value.IsWhollyKnown() {
			continue
		}
		if err := add(name, v.Value); err != nil {
			return nil, err
		}
	}
	if tree == nil {
		return out, nil
	}
	for _, v := range tree.Program.Variables {
		if _, given := p.Variables[v.Name]; given || v.Required() || v.Ephemeral {
			continue
		}
		if err := add(v.Name, v.Default); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// plannedValues is what the state is going to be, as far as known. OpenTofu lists forgotten
// objects, too.
func plannedValues(p *plan.Plan, d dialect.Dialect) (jsonstate.Values, error) {
	tree := jsonstate.NewTree[*jsonstate.Resource]()
	for _, c := range Shown(Planned(p)) {
		if c.Action == plan.Delete || c.Addr.Deposed != "" || c.Action == plan.Forget && d == dialect.Terraform {
			continue
		}
		r := jsonstate.Describe(c.Addr, c.Provider.Provider)
		s := jsonstate.Schema(p.Schemas, c.Provider.Provider, c.Addr.Name)
		if s != nil {
			r.SchemaVersion = s.Version
		}
		if c.After != cty.NilVal {
			if err := r.Fill(jsonstate.Mark(c.After, s, nil)); err != nil {
				return jsonstate.Values{}, err
			}
		}
		if identity, err := identityJSON(c.AfterIdentity); err != nil {
			return jsonstate.Values{}, err
		} else if identity != nil && s != nil {
			r.Identity, r.IdentityVersion = identity, &s.IdentityVersion
		}
		tree.Add(c.Addr.Module, r)
	}
	jsonstate.Sort(tree)
	values := jsonstate.Values{Outputs: map[string]jsonstate.Output{}, Root: *tree.Root()}
	for _, o := range p.Outputs {
		if o.Action == plan.Delete {
			continue
		}
		after, _ := o.After.Unmark()
		if after.IsNull() {
			after = cty.NullVal(cty.DynamicPseudoType) // the format has no typed nulls
		}
		converted, err := jsonstate.OutputOf(after, o.Sensitive || o.BeforeSensitive)
		if err != nil {
			return values, err
		}
		values.Outputs[o.Name] = converted
	}
	return values, nil
}

func deferrals(p *plan.Plan) ([]deferred, error) {
	var out []deferred
	for _, d := range p.Deferred {
		c, err := Convert(d.Change, p)
		if err != nil {
			return nil, err
		}
		out = append(out, deferred{d.Reason, c})
	}
	return out, nil
}

func outputs(all []*plan.OutputChange) (map[string]*Change, error) {
	out := make(map[string]*Change, len(all))
	for _, o := range all {
		c := &Change{Actions: actions(o.Action)}
		if err := c.values(o.Before, o.After, "false"); err != nil {
			return nil, err
		}
		// One flag stands for both sides and for the whole value.
		mask := json.RawMessage("false")
		if o.Sensitive || o.BeforeSensitive {
			mask = json.RawMessage("true")
		}
		c.BeforeSensitive, c.AfterSensitive = mask, mask
		out[o.Name] = c
	}
	return out, nil
}

func relevant(p *plan.Plan) ([]attribute, error) {
	var out []attribute
	for _, r := range p.Relevant {
		path, err := value.PathSteps(r.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, attribute{r.Resource.String(), path})
	}
	slices.SortFunc(out, func(a, b attribute) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(string(a.Attribute), string(b.Attribute)))
	})
	return out, nil
}
