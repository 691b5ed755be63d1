package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/rest"
)

// A service is an organization at a host. Requests and answers are JSON:API.
type service struct {
	host, organization string
	given              string   // the token of the configuration
	services           []string // names under which the host reports the address
	run                string   // that this is a part of, for new states
	hosts              func() (storage.Hosts, error)
	client             *http.Client
	patience           time.Duration

	connecting sync.Mutex
	rest       *rest.Client // nil until it is known
	able       bool         // the organization has runs there
}

func client(env storage.Env) *http.Client {
	return sameorigin.Follow(useragent.Client(&http.Client{Transport: env.Transport}, useragent.Name(env.Getenv)))
}

const contentType = "application/vnd.api+json"

// connect finds the address of the service and the token, and makes sure that the
// organization is there: what a token may not see is answered as if it weren't, and a
// state that can't be seen must not be taken for none.
func (s *service) connect(ctx context.Context) (*rest.Client, error) {
	s.connecting.Lock()
	defer s.connecting.Unlock()
	if s.rest != nil {
		s.rest.Patience = s.patience
		return s.rest, nil
	}
	var hosts storage.Hosts
	if s.hosts != nil {
		var err error
		if hosts, err = s.hosts(); err != nil {
			return nil, err
		}
	}
	base, err := s.discover(ctx, hosts)
	if err != nil {
		return nil, err
	}
	token := s.given
	if token == "" && hosts.Token != nil {
		if token, err = hosts.Token(ctx, s.host); err != nil {
			return nil, err
		}
	}
	if token == "" {
		return nil, fmt.Errorf("there is no token for %s: run \"login %s\", or set the environment variable TF_TOKEN_%s", s.host, s.host, strings.NewReplacer("-", "__", ".", "_").Replace(s.host))
	}
	c := &rest.Client{HTTP: s.client, Base: *base, Say: said, Patience: s.patience, Header: http.Header{
		"Authorization": {"Bearer " + token}, "Accept": {contentType}, "Content-Type": {contentType},
	}}
	var answer struct {
		Data struct{ Attributes struct{ Operations bool } }
	}
	err = c.Into(ctx, rest.Request{Method: http.MethodGet, Path: s.ofOrganization("entitlement-set")}, &answer)
	switch rest.Status(err) {
	case http.StatusNotFound:
		return nil, fmt.Errorf("the organization %q isn't at %s, or the token isn't good for it", s.organization, s.host)
	case http.StatusUnauthorized:
		return nil, fmt.Errorf("%s doesn't take the token: run \"login %s\" for a new one", s.host, s.host)
	}
	if err != nil {
		return nil, err
	}
	s.rest, s.able = c, answer.Data.Attributes.Operations
	return c, nil
}

// discover finds the address of the service at its host.
func (s *service) discover(ctx context.Context, hosts storage.Hosts) (*url.URL, error) {
	at := &url.URL{Scheme: "https", Host: s.host, Path: "/.well-known/terraform.json"}
	services, written := hosts.Services[s.host]
	if !written {
		c := &rest.Client{HTTP: s.client, Base: url.URL{Scheme: "https", Host: s.host}, Patience: s.patience}
		if err := c.Into(ctx, rest.Request{Method: http.MethodGet, Path: at.Path}, &services); err != nil {
			return nil, fmt.Errorf("%s doesn't tell where its services are: %w", s.host, err)
		}
	}
	for _, name := range s.services {
		if text, _ := services[name].(string); text != "" {
			base, err := at.Parse(text)
			if err != nil || base.Scheme != "https" && base.Scheme != "http" {
				return nil, fmt.Errorf("%s returned an invalid address for %s: %q", s.host, name, text)
			}
			base.Path = strings.TrimRight(base.Path, "/")
			return base, nil
		}
	}
	return nil, fmt.Errorf("%s has no service %s", s.host, s.services[0])
}

// said is what an answer that means no says.
func said(body []byte) string {
	var answer struct {
		Errors []struct{ Title, Detail string }
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	var texts []string
	for _, e := range answer.Errors {
		text := e.Detail
		if text == "" {
			text = e.Title
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

func (s *service) ofOrganization(rest string) string {
	return "/organizations/" + s.organization + "/" + rest
}

// ask makes a request. The value given is the "data" of its body, nil for none.
func (s *service) ask(ctx context.Context, method, path string, query url.Values, given, into any) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	r := rest.Request{Method: method, Path: path, Query: query}
	if given != nil {
		if r.Body, err = json.Marshal(map[string]any{"data": given}); err != nil {
			return err
		}
	}
	return c.Into(ctx, r, into)
}

// A workspace is one at the service.
type workspace struct {
	ID         string
	Attributes struct {
		Name          string
		ExecutionMode string   `json:"execution-mode"`
		TagNames      []string `json:"tag-names"`
		Locked        bool
		LockedReason  string `json:"locked-reason"`

		WorkingDirectory string          `json:"working-directory"`
		Repository       json.RawMessage `json:"vcs-repo"`
		Permissions      struct {
			Update     bool `json:"can-update"`
			QueueRun   bool `json:"can-queue-run"`
			QueueApply bool `json:"can-queue-apply"`
		}
	}
	Relationships struct {
		CurrentRun Link `json:"current-run"`
	}
}

// operations reports whether the organization has runs at the service.
func (s *service) operations(ctx context.Context) (bool, error) {
	_, err := s.connect(ctx)
	return s.able, err
}

// find returns nil where there is no such workspace.
func (s *service) find(ctx context.Context, name string) (*workspace, error) {
	var answer struct{ Data *workspace }
	err := s.ask(ctx, http.MethodGet, s.ofOrganization("workspaces/"+name), nil, nil, &answer)
	if rest.Status(err) == http.StatusNotFound {
		return nil, nil
	}
	return answer.Data, err
}

// pages is a request whose answer comes in pages.
func pages[T any](ctx context.Context, s *service, path string, query url.Values) (all []T, err error) {
	query.Set("page[size]", "100")
	for page := 1; page > 0; {
		query.Set("page[number]", strconv.Itoa(page))
		var answer struct {
			Data []T
			Meta struct {
				Pagination struct {
					Next int `json:"next-page"`
				}
			}
		}
		if err := s.ask(ctx, http.MethodGet, path, query, nil, &answer); err != nil {
			return nil, err
		}
		all = append(all, answer.Data...)
		if page = answer.Meta.Pagination.Next; len(answer.Data) == 0 {
			break
		}
	}
	return all, nil
}

// list has the workspaces of which the service thinks that they match; what is empty
// isn't asked for.
func (s *service) list(ctx context.Context, search string, tags []string, project string) ([]workspace, error) {
	query := url.Values{}
	for name, text := range map[string]string{"search[name]": search, "search[tags]": strings.Join(tags, ","), "filter[project][id]": project} {
		if text != "" {
			query.Set(name, text)
		}
	}
	return pages[workspace](ctx, s, s.ofOrganization("workspaces"), query)
}

func tagsOf(names []string) []any {
	var tags []any
	for _, name := range names {
		tags = append(tags, map[string]any{"type": "tags", "attributes": map[string]any{"name": name}})
	}
	return tags
}

// create makes a workspace whose plans and applies are made here: nothing else can work
// with it so far.
func (s *service) create(ctx context.Context, name, project string, tags []string) (*workspace, error) {
	relations := map[string]any{}
	if project != "" {
		relations["project"] = map[string]any{"data": map[string]any{"type": "projects", "id": project}}
	}
	if len(tags) > 0 {
		relations["tags"] = map[string]any{"data": tagsOf(tags)}
	}
	var answer struct{ Data *workspace }
	err := s.ask(ctx, http.MethodPost, s.ofOrganization("workspaces"), nil, map[string]any{
		"type":          "workspaces",
		"attributes":    map[string]any{"name": name, "execution-mode": "local", "setting-overwrites": map[string]any{"execution-mode": true}},
		"relationships": relations,
	}, &answer)
	if rest.Status(err) == http.StatusUnprocessableEntity {
		// Somebody else has made it meanwhile, or the answer was lost.
		if w, problem := s.find(ctx, name); w != nil || problem != nil {
			return w, problem
		}
		return nil, fmt.Errorf("the workspace %q can't be made, perhaps because there is one that the token may not see: %w", name, err)
	}
	return answer.Data, err
}

func (s *service) tag(ctx context.Context, id string, names []string) error {
	return s.ask(ctx, http.MethodPost, "/workspaces/"+id+"/relationships/tags", nil, tagsOf(names), nil)
}

func (s *service) remove(ctx context.Context, name string) error {
	err := s.ask(ctx, http.MethodDelete, s.ofOrganization("workspaces/"+name), nil, nil, nil)
	if rest.Status(err) == http.StatusNotFound {
		return nil
	}
	return err
}

type project struct {
	ID         string
	Attributes struct{ Name string }
}

func (s *service) findProject(ctx context.Context, name string) (id string, err error) {
	found, err := pages[project](ctx, s, s.ofOrganization("projects"), url.Values{"filter[names]": {name}})
	for _, p := range found {
		if p.Attributes.Name == name {
			return p.ID, nil
		}
	}
	return "", err
}

func (s *service) makeProject(ctx context.Context, name string) (id string, err error) {
	var answer struct{ Data project }
	err = s.ask(ctx, http.MethodPost, s.ofOrganization("projects"), nil, map[string]any{"type": "projects", "attributes": map[string]any{"name": name}}, &answer)
	return answer.Data.ID, err
}

func (s *service) variables(ctx context.Context, id string) ([]storage.Variable, error) {
	var answer struct {
		Data []struct {
			Attributes struct {
				Key, Value, Category string
				Sensitive, HCL       bool
			}
		}
	}
	// Those of variable sets are among all of them, which older servers don't list.
	err := s.ask(ctx, http.MethodGet, "/workspaces/"+id+"/all-vars", nil, nil, &answer)
	if rest.Status(err) == http.StatusNotFound {
		err = s.ask(ctx, http.MethodGet, "/workspaces/"+id+"/vars", nil, nil, &answer)
	}
	if err != nil {
		return nil, err
	}
	var all []storage.Variable
	for _, v := range answer.Data {
		if a := v.Attributes; a.Category == "terraform" {
			all = append(all, storage.Variable{Name: a.Key, Value: a.Value, Expression: a.HCL, Hidden: a.Sensitive})
		}
	}
	return all, nil
}

// A version is a state that was stored.
type version struct {
	ID         string
	Attributes struct {
		Serial   int64
		Status   string
		Download string `json:"hosted-state-download-url"`
		Upload   string `json:"hosted-state-upload-url"`
	}
}

// current returns nil where no state was stored yet.
func (s *service) current(ctx context.Context, workspace string) (*version, error) {
	var answer struct{ Data *version }
	err := s.ask(ctx, http.MethodGet, "/workspaces/"+workspace+"/current-state-version", nil, nil, &answer)
	if rest.Status(err) == http.StatusNotFound {
		return nil, nil
	}
	return answer.Data, err
}

// at is a client for an address that the service has reported, which may be another server's.
func (s *service) at(ctx context.Context, text string) (*rest.Client, rest.Request, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, rest.Request{}, err
	}
	to, err := c.Base.Parse(text)
	if err != nil || to.Scheme != "https" && to.Scheme != "http" {
		return nil, rest.Request{}, fmt.Errorf("%s returned an invalid address", s.host)
	}
	other := &rest.Client{HTTP: c.HTTP, Base: url.URL{Scheme: to.Scheme, Host: to.Host, User: to.User}, Patience: c.Patience, Say: c.Say}
	if sameorigin.Same(&c.Base, to) {
		other.Header = http.Header{"Authorization": c.Header["Authorization"]}
	}
	return other, rest.Request{Path: to.Path, Query: to.Query()}, nil
}

func (s *service) download(ctx context.Context, v *version) ([]byte, error) {
	c, r, err := s.at(ctx, v.Attributes.Download)
	if err != nil {
		return nil, err
	}
	r.Method = http.MethodGet
	_, body, err := c.Do(ctx, r)
	return body, err
}

// upload stores a state, whose attributes are these: apart from them, as the service
// wants it, or with them, where it is an older one.
func (s *service) upload(ctx context.Context, workspace string, attributes map[string]any, state []byte) (*version, error) {
	given := map[string]any{"type": "state-versions", "attributes": attributes}
	if s.run != "" {
		given["relationships"] = map[string]any{"run": map[string]any{"data": map[string]any{"type": "runs", "id": s.run}}}
	}
	path := "/workspaces/" + workspace + "/state-versions"
	var answer struct{ Data *version }
	err := s.ask(ctx, http.MethodPost, path, nil, given, &answer)
	if err != nil && strings.Contains(err.Error(), "param is missing or the value is empty: state") {
		attributes["state"] = state // base64
		return answer.Data, s.ask(ctx, http.MethodPost, path, nil, given, &answer)
	}
	if err != nil {
		return nil, err
	}
	v := answer.Data
	if v == nil {
		return nil, errors.New("the answer doesn't say what was stored")
	}
	if v.Attributes.Upload == "" {
		return nil, errors.New("the answer doesn't say where the state goes")
	}
	c, r, err := s.at(ctx, v.Attributes.Upload)
	if err != nil {
		return nil, err
	}
	r.Method, r.Body, r.Header = http.MethodPut, state, http.Header{"Content-Type": {"application/octet-stream"}}
	if _, _, err = c.Do(ctx, r); err != nil {
		return nil, err
	}
	return v, s.settled(ctx, v.ID)
}

// How often it is asked whether a state is the current one now, and the wait before the
// second time. It is there at once unless the service is under load.
const (
	looks     = 9
	firstLook = 100 * time.Millisecond
)

// settled waits until a state that was uploaded is the current one.
func (s *service) settled(ctx context.Context, id string) error {
	for look := 0; ; look++ {
		var answer struct{ Data version }
		err := s.ask(ctx, http.MethodGet, "/state-versions/"+id, nil, nil, &answer)
		switch status := answer.Data.Attributes.Status; {
		case err != nil:
			return err
		case status == "discarded":
			return errors.New("the service has thrown the state away")
		case status != "pending":
			return nil
		case look == looks:
			return errors.New("the service has the state, and hasn't taken it over yet")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(firstLook << look):
		}
	}
}

// lock reports false where the workspace is locked already.
func (s *service) lock(ctx context.Context, id, reason string) (bool, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]string{"reason": reason}); err != nil {
		return false, err
	}
	err = c.Into(ctx, rest.Request{Method: http.MethodPost, Path: "/workspaces/" + id + "/actions/lock", Body: body.Bytes()}, nil)
	if rest.Status(err) == http.StatusConflict {
		return false, nil
	}
	return err == nil, err
}

func (s *service) unlock(ctx context.Context, id, how string) error {
	return s.ask(ctx, http.MethodPost, "/workspaces/"+id+"/actions/"+how, nil, nil, nil)
}
