package weir

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/planoptions"
	"weir.dev/weir/internal/workspace/statemgr"
)

// A State is what is known of real objects at one moment.
type State struct {
	Lineage   string
	Serial    uint64
	Resources []Resource // by address
	Outputs   map[string]Output
	snapshot  *state.Snapshot
}

// A Resource is an object of a resource instance.
type Resource struct {
	Address  string
	Module   string
	Mode     string // managed or data
	Type     string
	Name     string
	Deposed  string // the key of an object that was replaced and is still there
	Provider string
	Tainted  bool
	// Attributes are the object's, as JSON, sensitive ones included.
	Attributes json.RawMessage
	// DependsOn are the resources that have to outlive it.
	DependsOn []string
}

// An Output is the value of an output of the root module.
type Output struct {
	// Value and Type are JSON; a type is written as other programs' JSON has it.
	Value, Type json.RawMessage
	Sensitive   bool
}

// Decode puts the value into a Go value, as [json.Unmarshal] does.
func (o Output) Decode(into any) error { return json.Unmarshal(o.Value, into) }

// JSON is the state in its file format, version 4.
func (s *State) JSON() ([]byte, error) {
	return statefile.Bytes(s.snapshot)
}

func stateOf(s *state.Snapshot) *State {
	out := &State{Lineage: s.Lineage, Serial: s.Serial, Outputs: map[string]Output{}, snapshot: s}
	for _, a := range s.Addresses() {
		o := s.Objects[a]
		r := Resource{
			Address: a.Instance.String(), Module: a.Module.String(), Mode: a.Name.Mode.String(), Type: a.Name.Type, Name: a.Name.Name,
			Deposed: a.Deposed, Provider: o.Provider.Provider.String(), Tainted: o.Tainted, Attributes: o.JSON,
		}
		for _, d := range o.Dependencies {
			r.DependsOn = append(r.DependsOn, d.String())
		}
		out.Resources = append(out.Resources, r)
	}
	for name, o := range s.Outputs {
		if v, err := jsonstate.OutputOf(o.Value, o.Sensitive); err == nil { // stored values can be written
			out.Outputs[name] = Output{Value: v.Value, Type: v.Type, Sensitive: v.Sensitive}
		}
	}
	return out
}

// State reads the state, with what the journal of an interrupted run knows. It takes no lock.
// Where none exists yet the result is empty.
func (w *Workspace) State(ctx context.Context) (*State, error) {
	d := w.begin()
	defer d.Close()
	s, diags := d.States.Present(ctx, statemgr.Options{})
	if s == nil {
		return nil, w.failure(ctx, diags)
	}
	return stateOf(s.Snapshot()), nil
}

// Outputs reads the outputs of the root module as they were last applied.
func (w *Workspace) Outputs(ctx context.Context) (map[string]Output, error) {
	s, err := w.State(ctx)
	if err != nil {
		return nil, err
	}
	return s.Outputs, nil
}

// A Doubt is an object that may exist: a provider was asked to create it, and its
// answer wasn't seen.
type Doubt struct {
	Address  string
	Provider string
	// Key and ID are an attribute that identifies it, where one was known.
	Key, ID string
}

// RecoverOptions resolve objects in doubt. Those that nothing is said of stay so.
type RecoverOptions struct {
	// Import has the ids of objects that exist, by address.
	Import map[string]string
	// Forget are addresses of objects that don't exist; ForgetAll says so of all that
	// aren't imported.
	Forget    []string
	ForgetAll bool
}

// Recover saves what the journal of an interrupted run knows, resolves what the options say,
// and returns what is still in doubt. Nothing that is in doubt is created again, and what
// depends on it waits.
func (w *Workspace) Recover(ctx context.Context, o RecoverOptions) ([]Doubt, error) {
	d := w.begin()
	defer d.Close()
	for address, id := range o.Import {
		target, err := addr.ParseTarget(address)
		if err != nil {
			return nil, w.failure(ctx, diag.BadAddress.List("%q: %s.", address, err))
		}
		if err := w.failure(ctx, workspace.Import{Dir: d, Opening: w.opening("import"), Objects: []planoptions.Import{{Target: target, ID: id}}}.Run(ctx)); err != nil {
			return nil, err
		}
	}
	var forget []addr.Instance
	for _, text := range o.Forget {
		i, err := addr.ParseInstance(text)
		if err != nil {
			return nil, w.failure(ctx, diag.BadAddress.List("%q: %s.", text, err))
		}
		forget = append(forget, i)
	}
	_, left, diags := workspace.Recover{Dir: d, State: w.opening("recover").State, Forget: forget, ForgetAll: o.ForgetAll}.Run(ctx)
	if err := w.failure(ctx, diags); err != nil {
		return nil, err
	}
	return doubts(left), nil
}

func doubts(list []journal.Operation) []Doubt {
	var out []Doubt
	for _, o := range list {
		out = append(out, Doubt{Address: o.Object.Instance.String(), Provider: o.Provider.Provider.String(), Key: o.Key, ID: o.ID})
	}
	slices.SortFunc(out, func(a, b Doubt) int { return bytes.Compare([]byte(a.Address), []byte(b.Address)) })
	return out
}
