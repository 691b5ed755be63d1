package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"weir.dev/weir/internal/state/storage/rest"
)

// Runs are the plans and applies of one workspace at the service.
type Runs struct {
	s *service
	w *workspace
}

// Runs returns those of a workspace whose plans and applies are made at the service, nil where
// they are made here.
func (b *Backend) Runs(ctx context.Context, name string) (*Runs, error) {
	w, err := b.runs(ctx, name)
	if w == nil || err != nil {
		return nil, err
	}
	return &Runs{&b.service, w}, nil
}

// Host is the host of the service.
func (r *Runs) Host() string { return r.s.host }

// Name is the workspace with its organization.
func (r *Runs) Name() string { return r.s.organization + "/" + r.w.Attributes.Name }

// Workspace is the name of the workspace alone.
func (r *Runs) Workspace() string { return r.w.Attributes.Name }

// Subdirectory is the part of the uploaded directory that the service works in, "" for all of it.
func (r *Runs) Subdirectory() string { return r.w.Attributes.WorkingDirectory }

// URL is the page of a run.
func (r *Runs) URL(run string) string {
	return fmt.Sprintf("https://%s/app/%s/%s/runs/%s", r.s.host, r.s.organization, r.w.Attributes.Name, run)
}

// Allowed reports why the token can't start a plan, or an apply, nil where it can.
func (r *Runs) Allowed(apply bool) error {
	p := r.w.Attributes.Permissions
	switch {
	case !apply && !p.QueueRun:
		return fmt.Errorf("the token has no permission to plan in the workspace %s", r.Name())
	case apply && !p.QueueApply && !p.Update:
		return fmt.Errorf("the token has no permission to apply in the workspace %s", r.Name())
	case apply && len(r.w.Attributes.Repository) > 0 && string(r.w.Attributes.Repository) != "null":
		return fmt.Errorf("the workspace %s applies what is in its repository: commit the change there", r.Name())
	}
	return nil
}

// A Link leads to one thing of the service; Data is nil for none.
type Link struct{ Data *struct{ ID string } }

// ID is what the link leads to, "" for nothing.
func (l Link) ID() string {
	if l.Data == nil {
		return ""
	}
	return l.Data.ID
}

// A Run is a plan, and perhaps its apply.
type Run struct {
	ID         string
	Attributes struct {
		Status      string
		HasChanges  bool `json:"has-changes"`
		Destroy     bool `json:"is-destroy"`
		RefreshOnly bool `json:"refresh-only"`
		Actions     struct {
			Cancelable  bool `json:"is-cancelable"`
			Confirmable bool `json:"is-confirmable"`
			Discardable bool `json:"is-discardable"`
		}
	}
	Relationships struct {
		Plan, Apply, Workspace Link
		Configuration          Link                                 `json:"configuration-version"`
		CostEstimate           Link                                 `json:"cost-estimate"`
		PolicyChecks           struct{ Data []struct{ ID string } } `json:"policy-checks"`
	}
}

// Options say what a run does.
type Options struct {
	Destroy, RefreshOnly bool
	NoRefresh            bool
	Targets, Replace     []string
	Invoke               string            // the address of an action, "" for none
	Variables            map[string]string // as expressions
	Generate             bool              // configuration for imports
	// PlanOnly: there will be no apply. Save: there may be one later. Approved: it follows by
	// itself.
	PlanOnly, Save, Approved bool
}

// get reads one thing.
func get[T any](ctx context.Context, r *Runs, path string) (*T, error) {
	var answer struct{ Data T }
	if err := r.s.ask(ctx, http.MethodGet, path, nil, nil, &answer); err != nil {
		return nil, err
	}
	return &answer.Data, nil
}

// Upload makes a version of the configuration out of a compressed archive.
func (r *Runs) Upload(ctx context.Context, o Options, archive []byte) (id string, err error) {
	var answer struct {
		Data struct {
			ID         string
			Attributes struct {
				Upload string `json:"upload-url"`
			}
		}
	}
	err = r.s.ask(ctx, http.MethodPost, "/workspaces/"+r.w.ID+"/configuration-versions", nil, map[string]any{
		"type":       "configuration-versions",
		"attributes": map[string]any{"auto-queue-runs": false, "speculative": o.PlanOnly, "provisional": o.Save},
	}, &answer)
	if err != nil {
		return "", err
	}
	c, request, err := r.s.at(ctx, answer.Data.Attributes.Upload)
	if err != nil {
		return "", err
	}
	request.Method, request.Body, request.Header = http.MethodPut, archive, http.Header{"Content-Type": {"application/octet-stream"}}
	_, _, err = c.Do(ctx, request)
	return answer.Data.ID, err
}

// Uploaded reports whether the service has taken over a configuration.
func (r *Runs) Uploaded(ctx context.Context, id string) (bool, error) {
	v, err := get[struct {
		Attributes struct {
			Status string
			Error  string `json:"error-message"`
		}
	}](ctx, r, "/configuration-versions/"+id)
	switch {
	case err != nil:
		return false, err
	case v.Attributes.Status == "errored":
		return false, fmt.Errorf("the service can't read the uploaded configuration: %s", v.Attributes.Error)
	}
	return v.Attributes.Status == "uploaded", nil
}

// Create starts a run with a configuration. The request isn't repeated, so that there is never a
// second run; one whose answer was lost is found by its configuration.
func (r *Runs) Create(ctx context.Context, configuration string, o Options) (*Run, error) {
	attributes := map[string]any{"refresh": !o.NoRefresh, "auto-apply": o.Approved, "save-plan": o.Save}
	if o.Destroy {
		attributes["is-destroy"] = true
	}
	if o.RefreshOnly {
		attributes["refresh-only"] = true
	}
	if len(o.Targets) > 0 {
		attributes["target-addrs"] = o.Targets
	}
	if len(o.Replace) > 0 {
		attributes["replace-addrs"] = o.Replace
	}
	if o.Invoke != "" {
		attributes["invoke-action-addrs"] = []string{o.Invoke}
	}
	if o.Generate {
		attributes["allow-config-generation"] = true
	}
	variables := []any{}
	for name, text := range o.Variables {
		variables = append(variables, map[string]any{"key": name, "value": text})
	}
	attributes["variables"] = variables
	one := func(kind, id string) any {
		return map[string]any{"data": map[string]any{"type": kind, "id": id}}
	}
	body, err := json.Marshal(map[string]any{"data": map[string]any{
		"type": "runs", "attributes": attributes,
		"relationships": map[string]any{"workspace": one("workspaces", r.w.ID), "configuration-version": one("configuration-versions", configuration)},
	}})
	if err != nil {
		return nil, err
	}
	c, err := r.s.connect(ctx)
	if err != nil {
		return nil, err
	}
	var answer struct{ Data *Run }
	err = c.Into(ctx, rest.Request{Method: http.MethodPost, Path: "/runs", Body: body, Once: true}, &answer)
	if status := rest.Status(err); err != nil && (status == 0 || status >= 500) {
		if run, problem := r.of(ctx, configuration); run != nil && problem == nil {
			return run, nil
		}
	}
	if err == nil && answer.Data == nil {
		err = errors.New("the answer doesn't say which run it is")
	}
	return answer.Data, err
}

// of finds the run of a configuration, which has one at most.
func (r *Runs) of(ctx context.Context, configuration string) (*Run, error) {
	var answer struct{ Data []*Run }
	err := r.s.ask(ctx, http.MethodGet, "/workspaces/"+r.w.ID+"/runs", url.Values{
		"filter[operation]": {"plan_only,plan_and_apply,save_plan,refresh_only,destroy,empty_apply,action_only"},
	}, nil, &answer)
	i := slices.IndexFunc(answer.Data, func(run *Run) bool { return run.Relationships.Configuration.ID() == configuration })
	if err != nil || i < 0 {
		return nil, err
	}
	return answer.Data[i], nil
}

// Run reads a run.
func (r *Runs) Run(ctx context.Context, id string) (*Run, error) {
	return get[Run](ctx, r, "/runs/"+id)
}

// Ours reports whether a run is one of this workspace.
func (r *Runs) Ours(run *Run) bool { return run.Relationships.Workspace.ID() == r.w.ID }

// Act has a run confirmed ("apply"), discarded ("discard") or canceled ("cancel").
func (r *Runs) Act(ctx context.Context, run, action string) error {
	return r.s.ask(ctx, http.MethodPost, "/runs/"+run+"/actions/"+action, nil, nil, nil)
}

// Blocked says what a run that hasn't started waits for, "" where that isn't known.
func (r *Runs) Blocked(ctx context.Context, run string) (string, error) {
	w, err := r.s.find(ctx, r.w.Attributes.Name)
	if err != nil || w == nil {
		return "", err
	}
	current := w.Relationships.CurrentRun.ID()
	switch {
	case w.Attributes.Locked && w.Attributes.LockedReason != "":
		return "the workspace is locked: " + w.Attributes.LockedReason, nil
	case current != "" && current != run:
		return "another run of the workspace hasn't ended: " + r.URL(current), nil
	case w.Attributes.Locked && current == "":
		return "the workspace is locked", nil
	}
	return "", nil
}

// The phases of a run, as the service names them.
const (
	Planning = "plans"
	Applying = "applies"
)

// A Phase is the plan or the apply of a run.
type Phase struct {
	Attributes struct {
		Status    string
		Log       string `json:"log-read-url"`
		Generated bool   `json:"generated-configuration"`
	}
}

// Begun reports whether there may be a log.
func (p *Phase) Begun() bool {
	return p.Attributes.Log != "" && !slices.Contains([]string{"pending", "queued", "managed_queued", "unreachable"}, p.Attributes.Status)
}

// Ended reports whether nothing more comes.
func (p *Phase) Ended() bool {
	return slices.Contains([]string{"finished", "errored", "canceled", "unreachable"}, p.Attributes.Status)
}

// Phase reads a phase by its id.
func (r *Runs) Phase(ctx context.Context, kind, id string) (*Phase, error) {
	return get[Phase](ctx, r, "/"+kind+"/"+id)
}

// The marks of the beginning and the end of a log.
const (
	logBegins = '\x02'
	logEnds   = '\x03'
)

// most is how much of a log is read at once.
const most = 1 << 16

// Log reads a part of a log from a place on, and returns the place of the next part. The log is
// whole where the mark of its end was read.
func (r *Runs) Log(ctx context.Context, p *Phase, from int) (text []byte, next int, whole bool, err error) {
	c, request, err := r.s.at(ctx, p.Attributes.Log)
	if err != nil {
		return nil, from, false, err
	}
	request.Method = http.MethodGet
	request.Query.Set("limit", strconv.Itoa(most))
	request.Query.Set("offset", strconv.Itoa(from))
	_, text, err = c.Do(ctx, request)
	if err != nil {
		return nil, from, false, err
	}
	next = from + len(text)
	if from == 0 {
		text = bytes.TrimPrefix(text, []byte{logBegins})
	}
	text, whole = bytes.CutSuffix(text, []byte{logEnds})
	return text, next, whole, nil
}

// PlanJSON is a plan in the format of "show -json". Redacted is without sensitive values and may
// be read by everybody who reads runs. It is nil where the service has none.
func (r *Runs) PlanJSON(ctx context.Context, plan string, redacted bool) ([]byte, error) {
	c, err := r.s.connect(ctx)
	if err != nil {
		return nil, err
	}
	path := "/plans/" + plan + "/json-output"
	if redacted {
		path += "-redacted"
	}
	_, body, err := c.Do(ctx, rest.Request{Method: http.MethodGet, Path: path})
	if status := rest.Status(err); status == http.StatusNotFound || status == http.StatusUnprocessableEntity {
		return nil, nil
	}
	return body, err
}

// A Stage is where the service asks others about a run: tasks and policies.
type Stage struct {
	ID         string
	Attributes struct {
		Stage, Status string
		Actions       struct {
			Overridable bool `json:"is-overridable"`
		}
		Permissions struct {
			Override bool `json:"can-override"`
		}
	}
	Relationships struct {
		Results struct{ Data []struct{ ID string } } `json:"task-results"`
	}
}

// Stages are those of a run. Services without tasks have none.
func (r *Runs) Stages(ctx context.Context, run string) ([]Stage, error) {
	all, err := pages[Stage](ctx, r.s, "/runs/"+run+"/task-stages", url.Values{})
	if rest.Status(err) == http.StatusNotFound {
		return nil, nil
	}
	return all, err
}

// Stage reads a stage.
func (r *Runs) Stage(ctx context.Context, id string) (*Stage, error) {
	return get[Stage](ctx, r, "/task-stages/"+id)
}

// OverrideStage has a run continue although policies of a stage failed.
func (r *Runs) OverrideStage(ctx context.Context, id string) error {
	return r.s.ask(ctx, http.MethodPost, "/task-stages/"+id+"/actions/override", nil, nil, nil)
}

// A TaskResult is what a task says of a run.
type TaskResult struct {
	Attributes struct {
		Status, Message, URL string
		Name                 string `json:"task-name"`
		Level                string `json:"workspace-task-enforcement-level"`
	}
}

// TaskResult reads a result.
func (r *Runs) TaskResult(ctx context.Context, id string) (*TaskResult, error) {
	return get[TaskResult](ctx, r, "/task-results/"+id)
}

// An Evaluation is what the policies of a kind say of a run.
type Evaluation struct {
	ID         string
	Attributes struct {
		Status string
		Kind   string `json:"policy-kind"`
	}
}

// Evaluations are those of a stage.
func (r *Runs) Evaluations(ctx context.Context, stage string) ([]Evaluation, error) {
	return pages[Evaluation](ctx, r.s, "/task-stages/"+stage+"/policy-evaluations", url.Values{})
}

// An Outcome is what the policies of a set say.
type Outcome struct {
	Attributes struct {
		Set      string `json:"policy-set-name"`
		Error    string
		Outcomes []struct {
			Name        string `json:"policy_name"`
			Level       string `json:"enforcement_level"`
			Status      string
			Description string
		}
	}
}

// Outcomes are those of an evaluation.
func (r *Runs) Outcomes(ctx context.Context, evaluation string) ([]Outcome, error) {
	return pages[Outcome](ctx, r.s, "/policy-evaluations/"+evaluation+"/policy-set-outcomes", url.Values{})
}

// A Cost is an estimate of what a plan costs.
type Cost struct {
	Attributes struct {
		Status   string
		Proposed string `json:"proposed-monthly-cost"`
		Delta    string `json:"delta-monthly-cost"`
		Matched  int    `json:"matched-resources-count"`
		All      int    `json:"resources-count"`
		Error    string `json:"error-message"`
	}
}

// Cost reads an estimate.
func (r *Runs) Cost(ctx context.Context, id string) (*Cost, error) {
	return get[Cost](ctx, r, "/cost-estimates/"+id)
}

// A PolicyCheck is what the policies of an organization or a workspace say of a run.
type PolicyCheck struct {
	Attributes struct {
		Status, Scope string
		Actions       struct {
			Overridable bool `json:"is-overridable"`
		}
		Permissions struct {
			Override bool `json:"can-override"`
		}
	}
}

// PolicyCheck reads a check.
func (r *Runs) PolicyCheck(ctx context.Context, id string) (*PolicyCheck, error) {
	return get[PolicyCheck](ctx, r, "/policy-checks/"+id)
}

// PolicyOutput is the text of a check.
func (r *Runs) PolicyOutput(ctx context.Context, id string) ([]byte, error) {
	c, err := r.s.connect(ctx)
	if err != nil {
		return nil, err
	}
	_, body, err := c.Do(ctx, rest.Request{Method: http.MethodGet, Path: "/policy-checks/" + id + "/output"})
	return bytes.TrimFunc(body, func(c rune) bool { return c == logBegins || c == logEnds }), err
}

// OverridePolicy has a run continue although a check failed.
func (r *Runs) OverridePolicy(ctx context.Context, id string) error {
	return r.s.ask(ctx, http.MethodPost, "/policy-checks/"+id+"/actions/override", nil, nil, nil)
}
