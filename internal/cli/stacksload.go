package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/stack/parts"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/view"
	"weir.dev/weir/internal/view/dot"
	"weir.dev/weir/internal/view/jsonstate"
)

// init installs what all deployments need.
func (s *stacking) init(ctx context.Context, upgrade bool) int {
	if code := s.startStream(); code != 0 {
		return code
	}
	list, all := s.chosen()
	if all.HasErrors() {
		return s.env.diags(all)
	}
	i := &initializing{env: s.env}
	all.Append(s.directory.InitializeStack(ctx, list, upgrade, i))
	if s.env.diags(all) != 0 {
		return 1
	}
	i.tell("output_init_success_message", "\nThe stack has been successfully initialized! You may now begin with\n\"%s stacks plan\" and \"%s stacks apply\".\n", s.program, s.program)
	return 0
}

// states reads the states of the chosen deployments, without locks.
func (s *stacking) states(ctx context.Context) ([]*deploy.Deployment, []*state.Snapshot, diag.List) {
	list, diags := s.chosen()
	var states []*state.Snapshot
	for _, d := range list {
		one, more := s.directory.DeploymentState(ctx, d)
		diags.Append(more)
		if one == nil {
			break
		}
		states = append(states, one)
	}
	return list, states, diags
}

func (s *stacking) show(ctx context.Context) int {
	list, states, diags := s.states(ctx)
	if s.env.diags(diags) != 0 {
		return 1
	}
	if s.env.json {
		return s.showJSON(ctx, list, states)
	}
	for i, d := range list {
		s.say("Deployment %s:\n", d.Name)
		if states[i].IsEmpty() {
			s.say("The state is empty.\n\n")
			continue
		}
		if code := s.showState(ctx, states[i], false); code != 0 {
			return code
		}
		s.say("\n")
	}
	return 0
}

// showJSON prints an object with the deployments, and in each the objects by
// component instance.
func (s *stacking) showJSON(_ context.Context, list []*deploy.Deployment, states []*state.Snapshot) int {
	type object struct {
		Address  string          `json:"address"`
		Provider string          `json:"provider_name"`
		Values   json.RawMessage `json:"values"`
	}
	type deployment struct {
		Serial     uint64              `json:"serial"`
		Outputs    json.RawMessage     `json:"outputs"`
		Components map[string][]object `json:"components"`
	}
	all := map[string]deployment{}
	for i, d := range list {
		out := deployment{Serial: states[i].Serial, Components: map[string][]object{}}
		text, err := jsonstate.AllOutputs(states[i].Outputs)
		if err != nil {
			return s.fail("Failed to write the outputs as JSON", "%s.", err)
		}
		out.Outputs = json.RawMessage(text)
		for _, a := range states[i].Addresses() {
			if _, instance, ok := parts.Instance(a.Module); ok {
				o := states[i].Objects[a]
				out.Components[instance.String()] = append(out.Components[instance.String()], object{a.String(), o.Provider.Provider.String(), o.JSON})
			}
		}
		all[d.Name] = out
	}
	return s.printJSON(map[string]any{"format_version": "1.0", "deployments": all})
}

func (s *stacking) output(ctx context.Context, name string) int {
	list, states, diags := s.states(ctx)
	if s.env.diags(diags) != 0 {
		return 1
	}
	for i := range list {
		if _, ok := states[i].Outputs[name]; name != "" && !ok {
			return s.fail("Output \""+name+"\" not found", "The state of deployment %q has no output of that name. Outputs are there once the deployment was applied.", list[i].Name)
		}
	}
	if s.env.json {
		all := map[string]json.RawMessage{}
		for i, d := range list {
			text, err := jsonstate.AllOutputs(states[i].Outputs)
			if name != "" {
				text, err = jsonstate.OneOutput(states[i].Outputs[name])
			}
			if err != nil {
				return s.fail("Failed to write the outputs as JSON", "%s.", err)
			}
			all[d.Name] = json.RawMessage(text)
		}
		return s.printJSON(all)
	}
	for i, d := range list {
		if len(list) > 1 {
			s.say("Deployment %s:\n", d.Name)
		}
		if name != "" {
			s.say("%s\n", view.Value(states[i].Outputs[name].Value, 0))
			continue
		}
		if code := s.written(view.Outputs(s.out, states[i].Outputs, s.viewing())); code != 0 {
			return code
		}
	}
	return 0
}

// graph prints the references of the first chosen deployment: the graph is the
// same for all but for sources that depend on inputs.
func (s *stacking) graph(ctx context.Context) int {
	list, diags := s.chosen()
	if s.env.diags(diags) != 0 {
		return 1
	}
	config, diags := s.directory.LoadDeployment(ctx, list[0], operation.Loading{})
	s.env.json = true // warnings must not mix with the graph
	if s.env.diags(diags) != 0 {
		return 1
	}
	return s.written(dot.Configuration(s.out, config.Tree))
}

// A lineWriter passes on whole lines, changed.
type lineWriter struct {
	to     io.Writer
	mu     *sync.Mutex
	change func(line string) string
	rest   []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		line := string(w.rest[:i])
		w.rest = w.rest[i+1:]
		if _, err := io.WriteString(w.to, strings.TrimRight(w.change(line), " ")+"\n"); err != nil {
			return 0, err
		}
	}
}
