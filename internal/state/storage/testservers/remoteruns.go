package testservers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Runs is how the runs of a Remote go. With the zero value they have changes, print nothing, and
// succeed.
type Runs struct {
	Plan, Apply string // what they print
	JSON        string // the plan, which is both forms of it; "" for none
	Pending     int    // how often a run is read before it starts
	Before      string // the run that it waits for
	Chunk       int    // how much of a log is there at once, 0 for all of it
	Endless     bool   // logs don't end
	Working     string // the directory that they work in
	NoChanges   bool
	// FailPlan and FailApply end with an error. Generated: a failed plan has configuration.
	FailPlan, FailApply, Generated bool
	// Unconfirmable: the token may not apply. Forbidden: nor plan.
	Unconfirmable, Forbidden bool
	Repository               any    // what the workspace is connected to
	Cost                     string // the status of the estimate, "" for none
	Policy                   string // the status of the check, "" for none
	// Stages are the statuses of stages by their names.
	Stages map[string]string
	// Asked is called with a run and what is done with it.
	Asked func(id, action string)
}

type config struct {
	id, status string
	given      map[string]any
	files      []string
}

type run struct {
	id, space, config, status string
	given                     map[string]any
	reads                     int
	override                  map[string]bool // checks and stages that somebody overrode
}

// Started are the attributes that a run was requested with, its status, and the files of its
// configuration; nil for no such run.
func (s *Remote) Started(n int) (given map[string]any, status string, files []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= len(s.started) {
		return nil, "", nil
	}
	r := s.started[n]
	given = r.given
	for name, v := range s.configs[r.config].given {
		given[name] = v
	}
	return given, r.status, s.configs[r.config].files
}

// Decide does with the last run what people do at the service.
func (s *Remote) Decide(action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.act(s.started[len(s.started)-1], action)
}

func link(kind, id string) map[string]any {
	if id == "" {
		return map[string]any{"data": nil}
	}
	return map[string]any{"data": map[string]any{"type": kind, "id": id}}
}

func (s *Remote) configure(r *http.Request, body []byte) answer {
	c := &config{id: s.id("cv"), status: "pending"}
	var d document
	_ = json.Unmarshal(body, &d)
	_ = json.Unmarshal(d.Data.Attributes, &c.given)
	if s.configs == nil {
		s.configs = map[string]*config{}
	}
	s.configs[c.id] = c
	return answer{http.StatusCreated, map[string]any{"data": c.document(r)}}
}

func (c *config) document(r *http.Request) map[string]any {
	return map[string]any{"id": c.id, "type": "configuration-versions", "attributes": map[string]any{"status": c.status, "error-message": "it is broken", "upload-url": "http://" + r.Host + "/archive/" + c.id}}
}

// runArchive has the files of configurations and the logs.
func (s *Remote) runArchive(w http.ResponseWriter, r *http.Request, id string, body []byte) bool {
	if c := s.configs[id]; c != nil && r.Method == http.MethodPut {
		c.status = "uploaded"
		var err error
		if c.files, err = names(body); err != nil {
			c.status = "errored"
		}
		return true
	}
	kind, id, ok := strings.Cut(id, "-log-")
	if !ok {
		return false
	}
	at, run := s.runNamed(id), s.Runs
	if at == nil {
		w.WriteHeader(http.StatusNotFound)
		return true
	}
	log := run.Plan
	if kind == "apply" {
		log = run.Apply
	}
	log = "\x02" + log
	if !run.Endless {
		log += "\x03"
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	most, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if run.Chunk > 0 {
		most = min(most, run.Chunk)
	}
	from = min(from, len(log))
	part := log[from:min(len(log), from+most)]
	_, _ = io.WriteString(w, part)
	if strings.HasSuffix(part, "\x03") {
		s.finish(at)
	}
	return true
}

// names are the files of an archive.
func names(data []byte) (list []string, err error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg {
			list = append(list, h.Name)
		}
	}
}

func (s *Remote) runNamed(id string) *run {
	for _, r := range s.started {
		if r.id == id {
			return r
		}
	}
	return nil
}

// finish ends the phase of a run whose log was read to its end.
func (s *Remote) finish(r *run) {
	is := func(name string) bool { return r.given[name] == true || s.configs[r.config].given[name] == true }
	switch {
	case r.status == "applying" && s.Runs.FailApply, r.status == "planning" && s.Runs.FailPlan:
		r.status = "errored"
	case r.status == "applying":
		r.status = "applied"
	case r.status != "planning":
	case s.Runs.NoChanges || is("speculative"):
		r.status = "planned_and_finished"
	case is("save-plan"):
		r.status = "planned_and_saved"
	case s.Runs.Policy == "soft_failed":
		r.status = "policy_override"
	case s.Runs.Stages["post_plan"] == "awaiting_override":
		r.status = "post_plan_awaiting_decision"
	case s.Runs.Policy == "hard_failed", s.Runs.Stages["post_plan"] == "failed":
		r.status = "errored"
	default:
		s.planned(r)
	}
}

// planned is a plan that nothing keeps from its apply.
func (s *Remote) planned(r *run) {
	r.status = "planned"
	if r.given["auto-apply"] == true {
		r.status = "applying"
	}
}

func (s *Remote) confirmable(r *run) bool {
	return (r.status == "planned" || r.status == "planned_and_saved") && !s.Runs.Unconfirmable
}

// act does what is requested with a run, and reports whether that can be.
func (s *Remote) act(r *run, action string) bool {
	switch {
	case action == "apply" && s.confirmable(r):
		r.status = "applying"
	case action == "discard" && (s.confirmable(r) || r.status == "policy_override"):
		r.status = "discarded"
	case action == "cancel" && slices.Contains([]string{"pending", "planning", "applying"}, r.status):
		r.status = "canceled"
	default:
		return false
	}
	return true
}

func (s *Remote) runsOf(w *space) answer {
	var all []any
	for _, r := range slices.Backward(s.started) {
		if r.space == w.id {
			all = append(all, s.run(r))
		}
	}
	return answer{http.StatusOK, map[string]any{"data": append([]any{}, all...)}}
}

func (s *Remote) run(r *run) map[string]any {
	relations := map[string]any{
		"plan": link("plans", "plan-"+r.id), "apply": link("applies", "apply-"+r.id), "workspace": link("workspaces", r.space),
		"configuration-version": link("configuration-versions", r.config), "cost-estimate": link("cost-estimates", ""), "policy-checks": map[string]any{"data": []any{}},
	}
	if s.Runs.Cost != "" {
		relations["cost-estimate"] = link("cost-estimates", "ce-"+r.id)
	}
	if s.Runs.Policy != "" {
		relations["policy-checks"] = map[string]any{"data": []any{map[string]any{"type": "policy-checks", "id": "polchk-" + r.id}}}
	}
	return map[string]any{"id": r.id, "type": "runs", "relationships": relations, "attributes": map[string]any{
		"status": r.status, "has-changes": !s.Runs.NoChanges && r.status != "pending" && r.status != "planning" && !(r.status == "errored" && s.Runs.FailPlan),
		"is-destroy": r.given["is-destroy"] == true, "refresh-only": r.given["refresh-only"] == true,
		"actions": map[string]any{
			"is-confirmable": s.confirmable(r), "is-cancelable": slices.Contains([]string{"pending", "planning", "applying"}, r.status),
			"is-discardable": s.confirmable(r) || r.status == "policy_override",
		},
	}}
}

// ofRuns answers requests about runs and what belongs to them.
func (s *Remote) ofRuns(r *http.Request, path []string, body []byte) answer {
	data := func(v any) answer { return answer{http.StatusOK, map[string]any{"data": v}} }
	if path[0] == "runs" && r.Method == http.MethodPost && len(path) == 1 {
		return s.begin(body)
	}
	if len(path) < 2 {
		return nowhere
	}
	if c := s.configs[path[1]]; c != nil && path[0] == "configuration-versions" {
		return data(c.document(r))
	}
	_, id, _ := strings.Cut(path[1], "run-")
	at := s.runNamed("run-" + id)
	if at == nil {
		return nowhere
	}
	what := path[0] + strings.Join(append([]string{""}, path[2:]...), "/")
	switch r.Method + " " + what {
	case "GET runs":
		if at.reads++; at.status == "pending" && at.reads > s.Runs.Pending {
			at.status = "planning"
		}
		return data(s.run(at))
	case "POST runs/actions/apply", "POST runs/actions/discard", "POST runs/actions/cancel":
		if s.Runs.Asked != nil {
			s.Runs.Asked(at.id, path[3])
		}
		if !s.act(at, path[3]) {
			return refused(http.StatusConflict, "transition not allowed")
		}
		return answer{http.StatusAccepted, nil}
	case "GET runs/run-events": // OpenTofu reads them for warnings
		return data([]any{})
	case "GET plans":
		return data(map[string]any{"id": path[1], "type": "plans", "attributes": map[string]any{
			"status": s.phase(at, "planning", s.Runs.FailPlan), "log-read-url": "http://" + r.Host + "/archive/plan-log-" + at.id + "?key=1", "generated-configuration": s.Runs.Generated,
		}})
	case "GET applies":
		return data(map[string]any{"id": path[1], "type": "applies", "attributes": map[string]any{
			"status": s.phase(at, "applying", s.Runs.FailApply), "log-read-url": "http://" + r.Host + "/archive/apply-log-" + at.id + "?key=1",
		}})
	case "GET plans/json-output", "GET plans/json-output-redacted":
		if s.Runs.JSON != "" {
			return answer{http.StatusOK, json.RawMessage(s.Runs.JSON)}
		}
	case "GET cost-estimates":
		return data(map[string]any{"id": path[1], "type": "cost-estimates", "attributes": map[string]any{
			"status": s.Runs.Cost, "proposed-monthly-cost": "25.0", "delta-monthly-cost": "-5.5", "matched-resources-count": 1, "resources-count": 2, "error-message": "no prices",
		}})
	case "GET policy-checks":
		return data(map[string]any{"id": path[1], "type": "policy-checks", "attributes": map[string]any{
			"status": s.policy(at), "scope": "organization", "actions": map[string]any{"is-overridable": true}, "permissions": map[string]any{"can-override": !s.Runs.Unconfirmable},
		}})
	case "GET policy-checks/output":
		return answer{http.StatusOK, "no-public-buckets: false"}
	case "POST policy-checks/actions/override", "POST task-stages/actions/override":
		at.override[path[0]] = true
		s.planned(at)
		return answer{http.StatusOK, map[string]any{"data": nil}}
	case "GET runs/task-stages":
		var all []any
		for _, name := range []string{"pre_plan", "post_plan", "pre_apply"} {
			if s.Runs.Stages[name] != "" {
				all = append(all, s.stage(at, name))
			}
		}
		return page(all, r.URL.Query().Get("page[number]"))
	case "GET task-stages":
		return data(s.stage(at, strings.TrimSuffix(path[1], "-"+at.id)))
	case "GET task-results":
		return data(map[string]any{"id": path[1], "attributes": map[string]any{"status": "failed", "task-name": "scan", "message": "two findings", "url": "https://scan.example.com/1", "workspace-task-enforcement-level": "advisory"}})
	case "GET task-stages/policy-evaluations":
		return page([]any{map[string]any{"id": "poleval-" + at.id, "attributes": map[string]any{"status": "failed", "policy-kind": "opa"}}}, "")
	case "GET policy-evaluations/policy-set-outcomes":
		return page([]any{map[string]any{"id": "psout-1", "attributes": map[string]any{"policy-set-name": "buckets", "outcomes": []any{
			map[string]any{"policy_name": "private", "enforcement_level": "mandatory", "status": "failed", "description": "Buckets are private."},
		}}}}, "")
	}
	return nowhere
}

func (s *Remote) stage(r *run, name string) map[string]any {
	status := s.Runs.Stages[name]
	if r.override["task-stages"] {
		status = "passed"
	}
	return map[string]any{"id": name + "-" + r.id, "type": "task-stages", "attributes": map[string]any{
		"stage": name, "status": status, "actions": map[string]any{"is-overridable": true}, "permissions": map[string]any{"can-override": true},
	}, "relationships": map[string]any{"task-results": map[string]any{"data": []any{map[string]any{"id": "taskrs-" + r.id}}}}}
}

func (s *Remote) policy(r *run) string {
	if r.override["policy-checks"] {
		return "overridden"
	}
	return s.Runs.Policy
}

// phase is the status of a phase that lasts while the run has a status.
func (s *Remote) phase(r *run, while string, fails bool) string {
	order := []string{"pending", "planning", "planned", "applying", "applied"}
	at := slices.Index(order, r.status)
	switch {
	case r.status == while:
		return "running"
	case r.status == "canceled":
		return "canceled"
	case r.status == "errored" && fails:
		return "errored"
	case at >= 0 && at < slices.Index(order, while):
		return "pending"
	case while == "applying" && r.status != "applied":
		return "unreachable"
	}
	return "finished"
}

// begin starts a run.
func (s *Remote) begin(body []byte) answer {
	var d struct {
		Data struct {
			Attributes    map[string]any
			Relationships struct {
				Workspace     struct{ Data struct{ ID string } }
				Configuration struct{ Data struct{ ID string } } `json:"configuration-version"`
			}
		}
	}
	if json.Unmarshal(body, &d) != nil || s.workspaces[d.Data.Relationships.Workspace.Data.ID] == nil || s.configs[d.Data.Relationships.Configuration.Data.ID] == nil {
		return refused(http.StatusUnprocessableEntity, "the workspace or the configuration isn't there")
	}
	r := &run{id: s.id("run"), space: d.Data.Relationships.Workspace.Data.ID, config: d.Data.Relationships.Configuration.Data.ID, status: "pending", given: d.Data.Attributes, override: map[string]bool{}}
	s.started = append(s.started, r)
	return answer{http.StatusCreated, map[string]any{"data": s.run(r)}}
}
