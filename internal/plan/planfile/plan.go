package planfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/persisted"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
)

type planRecord struct {
	Mode      uint8               `msgpack:"mode"`
	Changes   *changeList         `msgpack:"changes"`
	Drift     *changeList         `msgpack:"drift"`
	Outputs   []outputRecord      `msgpack:"outputs"`
	Deferred  []deferredRecord    `msgpack:"deferred"`
	Checks    []state.CheckResult `msgpack:"checks"`
	Invoked   []invokedRecord     `msgpack:"invoked,omitempty"`
	Steps     *stepList           `msgpack:"steps"`
	HasGraph  bool                `msgpack:"has_graph"`
	Variables []variableRecord    `msgpack:"variables"`
	Relevant  []relevantRecord    `msgpack:"relevant"`
	Resources []string            `msgpack:"resources"`
	Targets   []string            `msgpack:"targets"`
	Excludes  []string            `msgpack:"excludes"`
	Named     []namedRecord       `msgpack:"named,omitempty"`
	Scope     []string            `msgpack:"scope,omitempty"`
	Timestamp string              `msgpack:"timestamp"`
	LeftOut   int                 `msgpack:"left_out,omitempty"` // objects
	Since     string              `msgpack:"since,omitempty"`
	Errored   bool                `msgpack:"errored"`
	Types     *typeTable          `msgpack:"types"` // those that the rest has used
}

type namedRecord struct {
	Pattern   string   `msgpack:"p"`
	Resources []string `msgpack:"r"`
}

type objectAddr struct {
	Instance string `msgpack:"i"`
	Deposed  string `msgpack:"d,omitempty"`
}

type changeRecord struct {
	Addr           objectAddr    `msgpack:"a"`
	Previous       string        `msgpack:"prev,omitempty"` // empty means unchanged
	Provider       string        `msgpack:"p"`
	Action         uint8         `msgpack:"act"`
	Reason         string        `msgpack:"r,omitempty"`
	Before         valueRecord   `msgpack:"b"`
	After          valueRecord   `msgpack:"n"`
	BeforeIdentity valueRecord   `msgpack:"bi"`
	AfterIdentity  valueRecord   `msgpack:"ni"`
	Private        []byte        `msgpack:"priv,omitempty"`
	ReplacePaths   []byte        `msgpack:"rp,omitempty"`
	DeposedKey     string        `msgpack:"dk,omitempty"`
	Dependencies   []int32       `msgpack:"deps,omitempty"`
	Uses           *[]usesRecord `msgpack:"uses,omitempty"`
	persisted.Settings
	Importing       *importingRecord `msgpack:"imp,omitempty"`
	GeneratedConfig string           `msgpack:"gen,omitempty"`
	Causes          *[]string        `msgpack:"why,omitempty"`
	Awaits          *awaitedRecord   `msgpack:"awaits,omitempty"`
}

// A usesRecord is state.Uses; At is the place of the resource among the plan's.
type usesRecord struct {
	At        int32    `msgpack:"a"`
	SameKey   bool     `msgpack:"s,omitempty"`
	Instances []string `msgpack:"i,omitempty"`
}

// An awaitedRecord is a plan.Awaited.
type awaitedRecord struct {
	Addr string `msgpack:"a"`
	File string `msgpack:"f"`
	Line int    `msgpack:"l"`
}

type importingRecord struct {
	ID       string      `msgpack:"id"`
	Identity valueRecord `msgpack:"identity"`
	Unknown  bool        `msgpack:"unknown"`
}

type outputRecord struct {
	Name            string      `msgpack:"name"`
	Action          uint8       `msgpack:"act"`
	Before          valueRecord `msgpack:"b"`
	After           valueRecord `msgpack:"n"`
	Sensitive       bool        `msgpack:"s"`
	BeforeSensitive bool        `msgpack:"bs"`
}

type deferredRecord struct {
	Change changeRecord `msgpack:"c"`
	Reason string       `msgpack:"r"`
}

type stepRecord struct {
	Kind     string     `msgpack:"k"`
	Object   objectAddr `msgpack:"o"`
	Provider string     `msgpack:"p,omitempty"`
	Name     string     `msgpack:"n,omitempty"`
	Module   string     `msgpack:"m,omitempty"`
	After    []int      `msgpack:"a,omitempty"`
	When     uint8      `msgpack:"w,omitempty"`
	Of       int        `msgpack:"of,omitempty"`
	Change   int        `msgpack:"c,omitempty"`
	Takes    []int      `msgpack:"t,omitempty"`
	Batch    int        `msgpack:"b,omitempty"`
	// Invocation counts from 1.
	Invocation int `msgpack:"inv,omitempty"`
}

type variableRecord struct {
	Name      string      `msgpack:"name"`
	Value     valueRecord `msgpack:"v"`
	Ephemeral bool        `msgpack:"e"`
	Given     bool        `msgpack:"g"`
}

type relevantRecord struct {
	Resource string `msgpack:"r"`
	Path     []byte `msgpack:"p"`
}

func encodePlan(p *plan.Plan) (pages, error) {
	types := newTypeTable()
	r := planRecord{
		Mode:      uint8(p.Mode),
		Checks:    p.Checks,
		Timestamp: p.Timestamp.UTC().Format(time.RFC3339Nano),
		Errored:   p.Errored,
		Changes:   &changeList{types: types, list: p.Changes},
		Drift:     &changeList{types: types, list: p.Drift},
		Steps:     &stepList{},
		Types:     types,
	}
	if p.LeftOut != nil {
		r.LeftOut, r.Since = p.LeftOut.Objects, p.LeftOut.Since.UTC().Format(time.RFC3339Nano)
	}
	for _, d := range p.Deferred {
		c, err := fromChange(types, d.Change)
		if err != nil {
			return nil, err
		}
		r.Deferred = append(r.Deferred, deferredRecord{c, d.Reason})
	}
	for _, o := range p.Outputs {
		out := outputRecord{Name: o.Name, Action: uint8(o.Action), Sensitive: o.Sensitive, BeforeSensitive: o.BeforeSensitive}
		if err := types.fill(hint{kind: "output " + o.Name}, pair{&out.Before, o.Before}, pair{&out.After, o.After}); err != nil {
			return nil, fmt.Errorf("output.%s: %w", o.Name, err)
		}
		r.Outputs = append(r.Outputs, out)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		v := p.Variables[name]
		out := variableRecord{Name: name, Ephemeral: v.Ephemeral, Given: v.Given}
		if !v.Ephemeral { // those values aren't kept anywhere
			if err := types.fill(hint{kind: "variable " + name}, pair{&out.Value, v.Value}); err != nil {
				return nil, fmt.Errorf("var.%s: %w", name, err)
			}
		}
		r.Variables = append(r.Variables, out)
	}
	for _, a := range p.Relevant {
		path, err := value.PathsToJSON([]cty.Path{a.Path})
		if err != nil {
			return nil, err
		}
		r.Relevant = append(r.Relevant, relevantRecord{a.Resource.String(), path})
	}
	for _, resource := range p.Resources {
		r.Resources = append(r.Resources, resource.String())
	}
	for _, t := range p.Targets {
		r.Targets = append(r.Targets, t.String())
	}
	for _, t := range p.Excludes {
		r.Excludes = append(r.Excludes, t.String())
	}
	for _, i := range p.Scope {
		r.Scope = append(r.Scope, i.String())
	}
	for _, n := range p.Named {
		one := namedRecord{Pattern: n.Pattern.String()}
		for _, resource := range n.Resources {
			one.Resources = append(one.Resources, resource.String())
		}
		r.Named = append(r.Named, one)
	}
	var err error
	if r.Invoked, err = fromInvocations(types, p); err != nil {
		return nil, err
	}
	if p.Graph != nil {
		r.HasGraph, r.Steps.list = true, p.Graph.Steps
	}
	var out pages
	err = msgpack.NewEncoder(&out).Encode(&r)
	return out, err
}

// A pair is a value and the record to fill with it.
type pair struct {
	to *valueRecord
	v  cty.Value
}

func (t *typeTable) fill(at hint, pairs ...pair) error {
	for i, p := range pairs {
		at.place = i
		r, err := t.encode(p.v, at)
		if err != nil {
			return err
		}
		*p.to = r
	}
	return nil
}

func fromChange(types *typeTable, c *plan.Change) (changeRecord, error) {
	r := changeRecord{
		Addr:            objectAddr{c.Addr.Instance.String(), c.Addr.Deposed},
		Provider:        c.Provider.String(),
		Action:          uint8(c.Action),
		Reason:          string(c.Reason),
		Private:         c.Private,
		DeposedKey:      c.DeposedKey,
		Dependencies:    c.Dependencies,
		Settings:        c.Settings,
		GeneratedConfig: c.GeneratedConfig,
	}
	if c.Uses != nil {
		r.Uses = &[]usesRecord{}
	}
	for _, u := range c.Uses {
		record := usesRecord{At: u.Resource, SameKey: u.SameKey}
		for _, at := range u.Instances {
			record.Instances = append(record.Instances, at.String())
		}
		*r.Uses = append(*r.Uses, record)
	}
	if c.Causes != nil {
		r.Causes = &c.Causes
	}
	if c.Awaits != nil {
		r.Awaits = &awaitedRecord{c.Awaits.Addr.String(), c.Awaits.Range.Filename, c.Awaits.Range.Start.Line}
	}
	if c.Moved() {
		r.Previous = c.From.String()
	}
	kind := addr.Name{Mode: c.Addr.Name.Mode, Type: c.Addr.Name.Type}
	err := types.fill(hint{name: kind}, pair{&r.Before, c.Before}, pair{&r.After, c.After})
	if err == nil {
		err = types.fill(hint{kind: "identity", name: kind}, pair{&r.BeforeIdentity, c.BeforeIdentity}, pair{&r.AfterIdentity, c.AfterIdentity})
	}
	if err == nil && len(c.ReplacePaths) > 0 {
		r.ReplacePaths, err = value.PathsToJSON(c.ReplacePaths)
	}
	if err == nil && c.Importing != nil {
		r.Importing = &importingRecord{ID: c.Importing.ID, Unknown: c.Importing.Unknown}
		err = types.fill(hint{kind: "identity", name: kind}, pair{&r.Importing.Identity, c.Importing.Identity})
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", c.Addr, err)
	}
	return r, nil
}

func decodePlan(data []byte) (*plan.Plan, error) {
	if len(data) == 0 {
		return nil, errors.New("it isn't in the file")
	}
	var r planRecord
	if err := msgpack.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	types, err := r.Types.read()
	if err != nil {
		return nil, err
	}
	if r.Mode > uint8(plan.RefreshOnly) {
		return nil, fmt.Errorf("its mode %d is unknown", r.Mode)
	}
	p := &plan.Plan{Mode: plan.Mode(r.Mode), Checks: r.Checks, Errored: r.Errored, Variables: map[string]*plan.Variable{}}
	if p.Timestamp, err = time.Parse(time.RFC3339Nano, r.Timestamp); err != nil {
		return nil, err
	}
	if r.LeftOut > 0 {
		p.LeftOut = &plan.LeftOut{Objects: r.LeftOut}
		if p.LeftOut.Since, err = time.Parse(time.RFC3339Nano, r.Since); err != nil {
			return nil, err
		}
	}
	if p.Changes, err = r.Changes.changes(types); err != nil {
		return nil, err
	}
	if p.Drift, err = r.Drift.changes(types); err != nil {
		return nil, err
	}
	for _, d := range r.Deferred {
		c := &plan.Change{}
		if err := toChange(c, types, d.Change); err != nil {
			return nil, err
		}
		p.Deferred = append(p.Deferred, &plan.Deferred{Change: c, Reason: d.Reason})
	}
	if err := toValues(p, types, &r); err != nil {
		return nil, err
	}
	if p.Resources, err = toResources(r.Resources); err != nil {
		return nil, err
	}
	for _, text := range r.Scope {
		i, err := addr.ParseInstance(text)
		if err != nil {
			return nil, err
		}
		p.Scope = append(p.Scope, i)
	}
	for _, n := range r.Named {
		t, err := addr.ParsePattern(n.Pattern)
		if err != nil {
			return nil, err
		}
		resources, err := toResources(n.Resources)
		if err != nil {
			return nil, err
		}
		p.Named = append(p.Named, plan.Named{Pattern: t, Resources: resources})
	}
	if err := checkDependencies(p); err != nil {
		return nil, err
	}
	if p.Targets, err = toTargets(r.Targets); err != nil {
		return nil, err
	}
	if p.Excludes, err = toTargets(r.Excludes); err != nil {
		return nil, err
	}
	if err := toInvocations(p, types, r.Invoked); err != nil {
		return nil, err
	}
	if r.HasGraph {
		if p.Graph, err = r.Steps.graph(p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// toValues reads outputs, variables and relevant attributes.
func toValues(p *plan.Plan, types typeReader, r *planRecord) error {
	for _, o := range r.Outputs {
		action, err := toAction(o.Action)
		if err != nil {
			return err
		}
		out := &plan.OutputChange{Name: o.Name, Action: action, Sensitive: o.Sensitive, BeforeSensitive: o.BeforeSensitive}
		if err := types.fill(into{&out.Before, o.Before}, into{&out.After, o.After}); err != nil {
			return fmt.Errorf("output.%s: %w", o.Name, err)
		}
		p.Outputs = append(p.Outputs, out)
	}
	for _, v := range r.Variables {
		out := &plan.Variable{Ephemeral: v.Ephemeral, Given: v.Given}
		if err := types.fill(into{&out.Value, v.Value}); err != nil {
			return fmt.Errorf("var.%s: %w", v.Name, err)
		}
		p.Variables[v.Name] = out
	}
	for _, a := range r.Relevant {
		instance, err := addr.ParseInstance(a.Resource)
		if err != nil {
			return err
		}
		path, err := onePath(a.Path)
		if err != nil {
			return err
		}
		p.Relevant = append(p.Relevant, plan.Attribute{Resource: instance, Path: path})
	}
	return nil
}

// An into is a record and where its value goes.
type into struct {
	to *cty.Value
	r  valueRecord
}

func (t typeReader) fill(list ...into) error {
	for _, i := range list {
		v, err := t.decode(i.r)
		if err != nil {
			return err
		}
		*i.to = v
	}
	return nil
}

func toAction(n uint8) (plan.Action, error) {
	if n > uint8(plan.ForgetThenCreate) {
		return 0, fmt.Errorf("the action %d is unknown", n)
	}
	return plan.Action(n), nil
}

func toResources(list []string) ([]addr.Resource, error) {
	var out []addr.Resource
	for _, text := range list {
		i, err := addr.ParseInstance(text)
		if err != nil {
			return nil, err
		}
		out = append(out, i.Resource)
	}
	return out, nil
}

func toTargets(list []string) ([]addr.Target, error) {
	var out []addr.Target
	for _, text := range list {
		t, err := addr.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func toObject(o objectAddr) (addr.Object, error) {
	instance, err := addr.ParseInstance(o.Instance)
	return addr.Object{Instance: instance, Deposed: o.Deposed}, err
}

func toChange(c *plan.Change, types typeReader, r changeRecord) error {
	object, err := toObject(r.Addr)
	if err != nil {
		return err
	}
	*c = plan.Change{
		Addr:            object,
		Reason:          plan.Reason(r.Reason),
		Private:         r.Private,
		DeposedKey:      r.DeposedKey,
		Dependencies:    r.Dependencies,
		Settings:        r.Settings,
		GeneratedConfig: r.GeneratedConfig,
	}
	if r.Uses != nil {
		c.Uses = make([]plan.Uses, 0, len(*r.Uses))
	} else {
		r.Uses = &[]usesRecord{}
	}
	for _, record := range *r.Uses {
		u := plan.Uses{Resource: record.At, SameKey: record.SameKey}
		for _, text := range record.Instances {
			at, err := addr.ParseInstance(text)
			if err != nil {
				return err
			}
			u.Instances = append(u.Instances, at)
		}
		c.Uses = append(c.Uses, u)
	}
	if r.Causes != nil {
		c.Causes = *r.Causes
	}
	if r.Awaits != nil {
		at, err := addr.ParseInstance(r.Awaits.Addr)
		if err != nil {
			return err
		}
		where := hcl.Range{Filename: r.Awaits.File}
		where.Start.Line = r.Awaits.Line
		c.Awaits = &plan.Awaited{Addr: at, Range: where}
	}
	if r.Previous != "" {
		previous, err := addr.ParseInstance(r.Previous)
		if err != nil {
			return err
		}
		c.From = &previous
	}
	provider, err := addr.ParseProviderConfig(r.Provider)
	if err != nil {
		return err
	}
	c.Provider = &provider
	if c.Action, err = toAction(r.Action); err != nil {
		return err
	}
	if c.ReplacePaths, err = value.PathsFromJSON(r.ReplacePaths); err != nil {
		return err
	}
	err = types.fill(into{&c.Before, r.Before}, into{&c.After, r.After},
		into{&c.BeforeIdentity, r.BeforeIdentity}, into{&c.AfterIdentity, r.AfterIdentity})
	if err == nil && r.Importing != nil {
		c.Importing = &plan.Importing{ID: r.Importing.ID, Unknown: r.Importing.Unknown}
		err = types.fill(into{&c.Importing.Identity, r.Importing.Identity})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", object, err)
	}
	return nil
}

// encodeState writes a state in the format of state files; nothing for none.
func encodeState(s *state.Snapshot) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	return statefile.Line(s)
}

func decodeState(data []byte) (*state.Snapshot, error) {
	if len(data) == 0 {
		return nil, nil
	}
	s, diags := statefile.Read(data, "plan file")
	return s, diags.Err()
}

// checkDependencies makes sure that indices lead to a resource.
func checkDependencies(p *plan.Plan) error {
	for _, c := range p.Changes {
		for _, i := range c.Dependencies {
			if i < 0 || int(i) >= len(p.Resources) {
				return fmt.Errorf("%s depends on a resource that the plan doesn't have", c.Addr)
			}
		}
		for _, u := range c.Uses {
			if u.Resource < 0 || int(u.Resource) >= len(p.Resources) {
				return fmt.Errorf("%s uses a resource that the plan doesn't have", c.Addr)
			}
		}
	}
	return nil
}
