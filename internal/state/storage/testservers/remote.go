package testservers

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Remote is an organization "org" of a service with the interface of HCP Terraform,
// below /api/v2/, as far as backends ask for it. The zero value is ready. Tokens are
// "USER-token".
type Remote struct {
	// Mode is the execution mode of workspaces that don't ask for one; empty is "remote".
	Mode string
	// Inline has it take states only within requests, as earlier releases do.
	Inline bool
	// Slow has it take states over some time after they were uploaded.
	Slow bool
	// Terse has it keep to itself why a workspace is locked.
	Terse bool
	// InSets has the variables of sets. Older doesn't list them.
	InSets []map[string]any
	Older  bool
	// Runs is how runs go.
	Runs Runs

	mu         sync.Mutex
	workspaces map[string]*space // by id
	projects   map[string]string // names by id
	versions   map[string]*snapshot
	configs    map[string]*config // by id
	started    []*run             // in their order
	next       int
	lose       string
	log        []string
}

type space struct {
	id, name, mode, reason, locker, project string
	tags                                    []string
	versions                                []string
	variables                               []map[string]any
}

type snapshot struct {
	id, space, lineage, sum, status string
	serial                          int64
	looks                           int // until it is the current one
	state                           []byte
	outputs                         map[string]map[string]any
}

// Lose has it do what the next request to a path with that end asks for, and answer with
// 503.
func (s *Remote) Lose(end string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = end
}

// Set sets the execution mode and the variables of a workspace.
func (s *Remote) Set(name, mode string, variables ...map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.named(name)
	w.mode, w.variables = mode, variables
}

// State is what it keeps for a workspace, nil for nothing, and how many there were.
func (s *Remote) State(name string) (state []byte, versions int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.named(name)
	if w == nil || s.current(w) == nil {
		return nil, 0
	}
	return s.current(w).state, len(w.versions)
}

// Outputs are what was reported about the outputs of a state.
func (s *Remote) Outputs(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, _ := json.Marshal(s.current(s.named(name)).outputs)
	return string(text)
}

// Names are the workspaces with their tags and the names of their projects.
func (s *Remote) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, w := range s.workspaces {
		names = append(names, strings.TrimSpace(fmt.Sprint(w.name, " ", w.mode, " ", strings.Join(w.tags, ","), " ", s.projects[w.project])))
	}
	slices.Sort(names)
	return names
}

// Log is the requests so far.
func (s *Remote) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *Remote) named(name string) *space {
	for _, w := range s.workspaces {
		if w.name == name {
			return w
		}
	}
	return nil
}

func (s *Remote) current(w *space) *snapshot {
	for _, id := range slices.Backward(w.versions) {
		if v := s.versions[id]; v.status == "finalized" {
			return v
		}
	}
	return nil
}

// An answer is a status with a body that is sent as JSON.
type answer struct {
	status int
	body   any
}

func refused(status int, detail string) answer {
	return answer{status, map[string]any{"errors": []any{map[string]any{"status": strconv.Itoa(status), "title": strings.ToLower(http.StatusText(status)), "detail": detail}}}}
}

var nowhere = refused(http.StatusNotFound, "")

// ServeHTTP implements http.Handler.
func (s *Remote) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := bodyOf(r)
	s.log = append(s.log, r.Method+" "+r.URL.RequestURI())
	w.Header().Set("TFP-API-Version", "2.6")
	w.Header().Set("Content-Type", "application/vnd.api+json")
	if id, ok := strings.CutPrefix(r.URL.Path, "/archive/"); ok {
		if !s.runArchive(w, r, id, body) {
			s.archive(w, r, id, body)
		}
		return
	}
	user, known := strings.CutSuffix(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "-token")
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v2/"), "/")
	a := nowhere
	switch {
	case path[0] == "ping":
		a = answer{http.StatusNoContent, nil}
	case !known:
		a = refused(http.StatusUnauthorized, "")
	case path[0] == "organizations" && len(path) > 2 && path[1] == "org":
		a = s.organization(r, path[2:], body)
	case path[0] == "workspaces" && len(path) > 1 && s.workspaces[path[1]] != nil:
		a = s.workspace(r, s.workspaces[path[1]], user, path[2:], body)
	case path[0] == "state-versions" && len(path) == 2 && s.versions[path[1]] != nil:
		v := s.versions[path[1]]
		if v.looks--; v.looks <= 0 && v.status == "uploaded" {
			v.status = "finalized"
		}
		a = answer{http.StatusOK, map[string]any{"data": s.version(r, v)}}
	default:
		a = s.ofRuns(r, path, body)
	}
	if s.lose != "" && strings.HasSuffix(r.URL.Path, s.lose) {
		s.lose, a = "", answer{http.StatusServiceUnavailable, nil}
	}
	w.WriteHeader(a.status)
	if a.body != nil {
		_ = json.NewEncoder(w).Encode(a.body)
	}
}

// archive has the states themselves, for code that knows the address.
func (s *Remote) archive(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	v := s.versions[id]
	switch {
	case id == "json" && r.Method == http.MethodPut: // another form of a state, for people to look at
	case v == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPut:
		sum := md5.Sum(body)
		if v.status != "pending" || hex.EncodeToString(sum[:]) != v.sum {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		v.state, v.status = body, "uploaded"
		if !s.Slow {
			v.status = "finalized"
		}
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(v.state)
	}
}

// A document is what requests send, as far as it matters.
type document struct {
	Data struct {
		Attributes    json.RawMessage
		Relationships struct {
			Project struct{ Data struct{ ID string } }
			Tags    struct{ Data []named }
		}
	}
}

type named struct{ Attributes struct{ Name string } }

func (s *Remote) id(prefix string) string {
	s.next++
	return fmt.Sprintf("%s-%04d", prefix, s.next)
}

func (s *Remote) organization(r *http.Request, path []string, body []byte) answer {
	var d document
	_ = json.Unmarshal(body, &d)
	var given struct {
		Name string
		Mode string `json:"execution-mode"`
	}
	_ = json.Unmarshal(d.Data.Attributes, &given)
	query := r.URL.Query()
	switch r.Method + " " + path[0] {
	case "GET entitlement-set":
		return answer{http.StatusOK, map[string]any{"data": map[string]any{"id": "org-1", "type": "entitlement-sets", "attributes": map[string]any{"operations": true, "state-storage": true}}}}
	case "GET projects":
		var found []any
		for id, name := range s.projects {
			if want := query.Get("filter[names]"); want == "" || want == name {
				found = append(found, map[string]any{"id": id, "type": "projects", "attributes": map[string]any{"name": name}})
			}
		}
		return page(found, query.Get("page[number]"))
	case "POST projects":
		id := s.id("prj")
		if s.projects == nil {
			s.projects = map[string]string{}
		}
		s.projects[id] = given.Name
		return answer{http.StatusCreated, map[string]any{"data": map[string]any{"id": id, "type": "projects", "attributes": map[string]any{"name": given.Name}}}}
	case "GET workspaces":
		if len(path) > 1 {
			break
		}
		var found []any
		for _, id := range slices.Sorted(maps.Keys(s.workspaces)) {
			w := s.workspaces[id]
			lacks := func(tag string) bool { return tag != "" && !slices.Contains(w.tags, tag) }
			if project := query.Get("filter[project][id]"); strings.Contains(w.name, query.Get("search[name]")) &&
				!slices.ContainsFunc(strings.Split(query.Get("search[tags]"), ","), lacks) && (project == "" || project == w.project) {
				found = append(found, s.space(w))
			}
		}
		return page(found, query.Get("page[number]"))
	case "POST workspaces":
		if s.named(given.Name) != nil {
			return refused(http.StatusUnprocessableEntity, "Name has already been taken")
		}
		w := &space{id: s.id("ws"), name: given.Name, mode: given.Mode, project: d.Data.Relationships.Project.Data.ID}
		if w.mode == "" {
			w.mode = s.Mode
		}
		if w.mode == "" {
			w.mode = "remote"
		}
		for _, tag := range d.Data.Relationships.Tags.Data {
			w.tags = append(w.tags, tag.Attributes.Name)
		}
		if s.workspaces == nil {
			s.workspaces, s.versions = map[string]*space{}, map[string]*snapshot{}
		}
		s.workspaces[w.id] = w
		return answer{http.StatusCreated, map[string]any{"data": s.space(w)}}
	}
	if path[0] != "workspaces" || len(path) < 2 || s.named(path[1]) == nil {
		return nowhere
	}
	w := s.named(path[1])
	switch r.Method {
	case http.MethodGet, http.MethodPatch:
		return answer{http.StatusOK, map[string]any{"data": s.space(w)}}
	case http.MethodDelete, http.MethodPost: // or actions/safe-delete
		delete(s.workspaces, w.id)
		return answer{http.StatusNoContent, nil}
	}
	return nowhere
}

// pageSize is how many things one answer has.
const pageSize = 2

func page(all []any, number string) answer {
	n, _ := strconv.Atoi(number)
	n = max(n, 1)
	from, to := min((n-1)*pageSize, len(all)), min(n*pageSize, len(all))
	pages := (len(all) + pageSize - 1) / pageSize
	about := map[string]any{"current-page": n, "total-pages": pages, "total-count": len(all), "next-page": nil}
	if n < pages {
		about["next-page"] = n + 1
	}
	return answer{http.StatusOK, map[string]any{"data": append([]any{}, all[from:to]...), "meta": map[string]any{"pagination": about}}}
}

func (s *Remote) space(w *space) map[string]any {
	reason := w.reason
	if s.Terse {
		reason = ""
	}
	return map[string]any{"id": w.id, "type": "workspaces", "relationships": map[string]any{"current-run": link("runs", s.Runs.Before)}, "attributes": map[string]any{
		"working-directory": s.Runs.Working, "vcs-repo": s.Runs.Repository,
		"name": w.name, "execution-mode": w.mode, "operations": w.mode != "local", "terraform-version": "1.12.6", "tag-names": w.tags,
		"locked": w.locker != "", "locked-reason": reason, "permissions": map[string]any{"can-update": !s.Runs.Forbidden, "can-queue-run": !s.Runs.Forbidden, "can-queue-apply": !s.Runs.Forbidden, "can-force-delete": true, "can-lock": true, "can-force-unlock": true},
	}}
}

func (s *Remote) version(r *http.Request, v *snapshot) map[string]any {
	status := v.status
	if status == "uploaded" {
		status = "pending"
	}
	at := "http://" + r.Host + "/archive/" + v.id
	return map[string]any{"id": v.id, "type": "state-versions", "attributes": map[string]any{
		"serial": v.serial, "status": status, "hosted-state-download-url": at, "hosted-state-upload-url": at, "hosted-json-state-upload-url": "http://" + r.Host + "/archive/json",
		"created-at": "2026-01-02T03:04:05Z", "resources-processed": true,
	}}
}

func (s *Remote) workspace(r *http.Request, w *space, user string, path []string, body []byte) answer {
	space := func() answer { return answer{http.StatusOK, map[string]any{"data": s.space(w)}} }
	switch r.Method + " " + strings.Join(path, "/") {
	case "GET ", "PATCH ":
		return space()
	case "POST configuration-versions":
		return s.configure(r, body)
	case "GET runs":
		return s.runsOf(w)
	case "GET all-vars", "GET vars":
		var all []any
		given := w.variables
		if path[0] == "all-vars" {
			if s.Older {
				return answer{status: http.StatusNotFound}
			}
			given = append(slices.Clone(s.InSets), given...)
		}
		for n, v := range given {
			all = append(all, map[string]any{"id": fmt.Sprintf("var-%d", n), "type": "vars", "attributes": v})
		}
		return answer{http.StatusOK, map[string]any{"data": append([]any{}, all...)}}
	case "POST relationships/tags":
		var given struct{ Data []named }
		_ = json.Unmarshal(body, &given)
		for _, tag := range given.Data {
			w.tags = append(w.tags, tag.Attributes.Name)
		}
		return answer{http.StatusNoContent, nil}
	case "POST actions/lock":
		if w.locker != "" {
			return refused(http.StatusConflict, "Unable to lock workspace. The workspace is already locked.")
		}
		var given struct{ Reason string }
		_ = json.Unmarshal(body, &given)
		w.locker, w.reason = user, given.Reason
		return space()
	case "POST actions/unlock":
		switch w.locker {
		case "":
			return refused(http.StatusConflict, "Unable to unlock workspace. The workspace is not locked.")
		case user:
			w.locker, w.reason = "", ""
			return space()
		}
		return refused(http.StatusConflict, "Unable to unlock workspace. The workspace is locked by User "+w.locker)
	case "POST actions/force-unlock":
		if w.locker == "" {
			return refused(http.StatusConflict, "Unable to force unlock workspace. The workspace is not locked.")
		}
		w.locker, w.reason = "", ""
		return space()
	case "GET current-state-version":
		if v := s.current(w); v != nil {
			return answer{http.StatusOK, map[string]any{"data": s.version(r, v)}}
		}
	case "GET current-state-version-outputs":
		v, all := s.current(w), []any{}
		if v != nil {
			for _, name := range slices.Sorted(maps.Keys(v.outputs)) {
				o := v.outputs[name]
				all = append(all, map[string]any{"id": "wsout-" + name, "type": "state-version-outputs", "attributes": map[string]any{"name": name, "value": o["value"], "sensitive": o["sensitive"] == true, "detailed-type": o["type"]}})
			}
		}
		return answer{http.StatusOK, map[string]any{"data": all}}
	case "POST state-versions":
		return s.store(r, w, user, body)
	}
	return nowhere
}

// store takes a new state, or what is reported about it before it is uploaded.
func (s *Remote) store(r *http.Request, w *space, user string, body []byte) answer {
	var d document
	var given struct {
		Serial       *int64
		MD5, Lineage string
		State        []byte
		Force        bool
		Outputs      []byte `json:"json-state-outputs"`
	}
	if json.Unmarshal(body, &d) != nil || json.Unmarshal(d.Data.Attributes, &given) != nil || given.Serial == nil || given.MD5 == "" {
		return refused(http.StatusBadRequest, "param is missing or the value is empty: serial")
	}
	if s.Inline && given.State == nil {
		return refused(http.StatusBadRequest, "param is missing or the value is empty: state")
	}
	if w.locker != user {
		return refused(http.StatusConflict, "The workspace must be locked by the user that stores a state")
	}
	if now := s.current(w); now != nil && !given.Force {
		if *given.Serial <= now.serial && given.MD5 != now.sum {
			return refused(http.StatusConflict, fmt.Sprintf("the serial %d is already there", *given.Serial))
		}
		if given.Lineage != now.lineage {
			return refused(http.StatusConflict, "the lineage is another one")
		}
	}
	v := &snapshot{id: s.id("sv"), space: w.id, serial: *given.Serial, lineage: given.Lineage, sum: given.MD5, status: "pending", looks: 3}
	_ = json.Unmarshal(given.Outputs, &v.outputs)
	if given.State != nil {
		v.state, v.status = given.State, "finalized"
	}
	s.versions[v.id] = v
	w.versions = append(w.versions, v.id)
	return answer{http.StatusCreated, map[string]any{"data": s.version(r, v)}}
}
