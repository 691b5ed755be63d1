package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
	"weir.dev/weir/internal/state/storage/testservers"
)

const host = "app.example.com"

func serve(t *testing.T, s *testservers.Remote) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

func environment(url string, variables map[string]string) storage.Env {
	return storage.Env{
		Getenv: func(name string) string { return variables[name] },
		Hosts: func() (storage.Hosts, error) {
			return storage.Hosts{
				Token:    func(context.Context, string) (string, error) { return "me-token", nil },
				Services: map[string]map[string]any{host: {"tfe.v2": url + "/api/v2/"}},
			}, nil
		},
	}
}

// configured makes a value of a schema out of its texts, those in workspaces by their names.
func configured(cloud bool, values map[string]string) cty.Value {
	s := Schema()
	if cloud {
		s = CloudSchema()
	}
	all := s.EmptyValue().AsValueMap()
	inner := s.Blocks["workspaces"].Block.EmptyValue().AsValueMap()
	set := false
	for name, text := range values {
		switch {
		case name == "tags":
			var tags []cty.Value
			for tag := range strings.SplitSeq(text, ",") {
				tags = append(tags, cty.StringVal(tag))
			}
			inner[name], set = cty.SetVal(tags), true
		case s.Attributes[name] == nil:
			inner[name], set = cty.StringVal(text), true
		default:
			all[name] = cty.StringVal(text)
		}
	}
	if set {
		all["workspaces"] = cty.ObjectVal(inner)
	}
	return cty.ObjectVal(all)
}

func opened(t *testing.T, cloud bool, values map[string]string, env storage.Env) *Backend {
	t.Helper()
	b, diags := made(cloud, values, env)
	storagetest.Do(t, diags.Err())
	return b
}

func made(cloud bool, values map[string]string, env storage.Env) (*Backend, diag.List) {
	if cloud {
		return NewCloud(configured(cloud, values), env)
	}
	return New(configured(cloud, values), env)
}

func with(values map[string]string, more ...string) map[string]string {
	all := map[string]string{"hostname": host, "organization": "org"}
	for name, text := range values {
		all[name] = text
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

func TestContract(t *testing.T) {
	for name, test := range map[string]struct {
		cloud     bool
		values    map[string]string
		inline    bool
		noDefault bool
	}{
		"name":   {false, map[string]string{"name": "net"}, false, false},
		"prefix": {false, map[string]string{"prefix": "net-"}, false, true},
		"tags":   {true, map[string]string{"tags": "net,team", "project": "p"}, false, true},
		"old":    {false, map[string]string{"name": "net"}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Subject {
				server := &testservers.Remote{Inline: test.inline}
				url := serve(t, server)
				return storagetest.Subject{
					New: func(t *testing.T) storage.Backend {
						return opened(t, test.cloud, with(test.values), environment(url, nil))
					},
					OneWorkspace: test.values["name"] != "", NoDefault: test.noDefault,
				}
			})
		})
	}
}

// TestWorkspaces looks at what workspaces are made at the service, and which are listed.
func TestWorkspaces(t *testing.T) {
	server := &testservers.Remote{}
	env := environment(serve(t, server), nil)
	ctx := t.Context()
	tagged := opened(t, true, with(nil, "tags", "net,team", "project", "p"), env)
	for _, name := range []string{"a", "b", "c"} {
		storagetest.Do(t, tagged.CreateWorkspace(ctx, name))
	}
	storagetest.Do(t, opened(t, false, with(nil, "prefix", "net-"), env).CreateWorkspace(ctx, "d"))
	named := opened(t, true, with(nil, "name", "e"), env)
	storagetest.Do(t, storagetest.State(t, named, "e").Write(ctx, []byte(`{"serial":1,"lineage":"l"}`)))
	if got := strings.Join(server.Names(), "; "); got != "a local net,team p; b local net,team p; c local net,team p; e local; net-d local" {
		t.Errorf("made %s", got)
	}
	for _, test := range []struct {
		b    *Backend
		want string
	}{
		{tagged, "a b c"}, {named, "e"},
		{opened(t, true, with(nil, "tags", "team"), env), "a b c"},
		{opened(t, true, with(nil, "tags", "team", "project", "none"), env), ""},
		{opened(t, false, with(nil, "prefix", "net-"), env), "d"},
		{opened(t, false, with(nil, "prefix", "e"), env), ""},
	} {
		got, err := test.b.Workspaces(ctx)
		storagetest.Do(t, err)
		if strings.Join(got, " ") != test.want {
			t.Errorf("listed %q instead of %q", got, test.want)
		}
	}
	// One that lacks tags gets them with the first change.
	storagetest.Do(t, opened(t, true, with(nil, "tags", "late"), env).CreateWorkspace(ctx, "e"))
	if got := server.Names(); !strings.Contains(got[3], "late") {
		t.Errorf("%q", got)
	}
	if _, err := named.State("other"); !errors.Is(err, storage.ErrWorkspacesNotSupported) {
		t.Errorf("another workspace: %v", err)
	}
}

// TestWhatIsTold looks at what the service learns of a state beside its content.
func TestWhatIsTold(t *testing.T) {
	server := &testservers.Remote{Slow: true}
	b := opened(t, true, with(nil, "name", "net"), environment(serve(t, server), map[string]string{"TFE_RUN_ID": "run-1"}))
	s := storagetest.State(t, b, "net")
	storagetest.Do(t, s.Write(t.Context(), []byte(`{"serial":4,"lineage":"l","outputs":{"o":{"value":1,"type":"number"}}}`)))
	if got := server.Outputs("net"); got != `{"o":{"type":"number","value":1}}` {
		t.Errorf("outputs %s", got)
	}
	// Older states, or other lineages, are wanted here.
	for _, text := range []string{`{"serial":3,"lineage":"l"}`, `{"serial":9,"lineage":"m"}`, `{"serial":10,"lineage":"m","encrypted_data":"x"}`} {
		storagetest.Do(t, s.Write(t.Context(), []byte(text)))
		if got, n := server.State("net"); string(got) != text || n == 0 {
			t.Errorf("stored %s", got)
		}
	}
	if got := server.Outputs("net"); got != "null" {
		t.Errorf("outputs of an encrypted state: %s", got)
	}
}

func TestLostAnswer(t *testing.T) {
	server := &testservers.Remote{}
	b := opened(t, false, with(nil, "name", "net"), environment(serve(t, server), nil))
	s := storagetest.State(t, b, "default")
	server.Lose("/workspaces")
	id, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	storagetest.Do(t, err)
	server.Lose("/state-versions")
	storagetest.Do(t, s.Write(t.Context(), []byte(`{"serial":1,"lineage":"l"}`)))
	server.Lose("/actions/unlock")
	if err := s.Unlock(t.Context(), id); err != nil && !strings.Contains(err.Error(), "not locked") {
		t.Error(err)
	}
	server.Lose("/actions/lock")
	again, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	storagetest.Do(t, err)
	storagetest.Do(t, s.Unlock(t.Context(), again))
}

// TestLockOfOthers: all that is known of a lock of another program is the workspace.
func TestLockOfOthers(t *testing.T) {
	for _, terse := range []bool{false, true} {
		server := &testservers.Remote{Terse: terse}
		url := serve(t, server)
		b := opened(t, false, with(nil, "name", "net"), environment(url, nil))
		other := opened(t, false, with(nil, "name", "net", "token", "other-token"), environment(url, nil))
		storagetest.Do(t, b.CreateWorkspace(t.Context(), "default"))
		w, err := other.find(t.Context(), "net")
		storagetest.Do(t, err)
		got, err := other.lock(t.Context(), w.ID, "Locked by OpenTofu")
		if !got || err != nil {
			t.Fatal(err)
		}
		s := storagetest.State(t, b, "default")
		_, err = s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
		var held *storage.LockError
		if !errors.As(err, &held) || held.Holder.ID != "org/net" || (held.Holder.Info == "Locked by OpenTofu") == terse {
			t.Errorf("%v", err)
		}
		if err := s.Write(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), "must be locked by the user") {
			t.Errorf("wrote beside a lock: %v", err)
		}
		if err := s.Unlock(t.Context(), "org/other"); err == nil {
			t.Error("released by a wrong id")
		}
		storagetest.Do(t, s.Unlock(t.Context(), "org/net")) // by force, as it is another user's
		id, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
		storagetest.Do(t, err)
		storagetest.Do(t, s.Unlock(t.Context(), id))
	}
}

func TestRunsElsewhere(t *testing.T) {
	server := &testservers.Remote{}
	url := serve(t, server)
	b := opened(t, true, with(nil, "name", "net"), environment(url, nil))
	storagetest.Do(t, b.CreateWorkspace(t.Context(), "net"))
	if why, err := b.Elsewhere(t.Context(), "net"); why != "" || err != nil {
		t.Errorf("%s %v", why, err)
	}
	server.Set("net", "remote", map[string]any{"key": "a", "value": "1", "category": "terraform"}, map[string]any{"key": "b", "value": "[1]", "category": "terraform", "hcl": true},
		map[string]any{"key": "c", "sensitive": true, "category": "terraform"}, map[string]any{"key": "D", "value": "1", "category": "env"})
	if why, err := b.Elsewhere(t.Context(), "net"); err != nil || !strings.Contains(why, "TF_FORCE_LOCAL_BACKEND") || !strings.Contains(why, "org/net") {
		t.Errorf("%s %v", why, err)
	}
	forced := opened(t, true, with(nil, "name", "net"), environment(url, map[string]string{"TF_FORCE_LOCAL_BACKEND": "1"}))
	if why, err := forced.Elsewhere(t.Context(), "net"); why != "" || err != nil {
		t.Errorf("%s %v", why, err)
	}
	got, err := forced.Variables(t.Context(), "net")
	if want := []storage.Variable{{Name: "a", Value: "1"}, {Name: "b", Value: "[1]", Expression: true}, {Name: "c", Hidden: true}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	server.Set("net", "local", map[string]any{"key": "a", "value": "1", "category": "terraform"})
	if got, err := forced.Variables(t.Context(), "net"); len(got) > 0 || err != nil {
		t.Errorf("%v %v", got, err)
	}
	// Variable sets count, at servers that have them.
	server.Set("net", "remote", map[string]any{"key": "a", "value": "1", "category": "terraform"})
	server.InSets = []map[string]any{{"key": "s", "value": "2", "category": "terraform"}}
	for _, older := range []bool{false, true} {
		server.Older = older
		want := []storage.Variable{{Name: "s", Value: "2"}, {Name: "a", Value: "1"}}
		if older {
			want = want[1:]
		}
		if got, err := forced.Variables(t.Context(), "net"); err != nil || !slices.Equal(got, want) {
			t.Errorf("older %v: %v %v", older, got, err)
		}
	}
}

func TestConfig(t *testing.T) {
	for name, test := range map[string]struct {
		cloud  bool
		values map[string]string
		env    map[string]string
		want   string
	}{
		"remote":          {false, with(nil, "name", "w"), nil, "remote://app.example.com/org/w default=true only="},
		"prefix":          {false, with(nil, "prefix", "p-"), nil, "remote://app.example.com/org/default default=false only="},
		"both":            {false, with(nil, "prefix", "p-", "name", "w"), nil, `Only one of workspace "name" or "prefix"`},
		"neither":         {false, with(nil), nil, `Either workspace "name" or "prefix"`},
		"no organization": {false, map[string]string{"hostname": host, "name": "w"}, nil, `"organization" attribute value must not be empty`},
		"no host":         {false, map[string]string{"organization": "org", "name": "w"}, nil, "set hostname"},
		"cloud":           {true, with(nil, "name", "w"), nil, "remote://app.example.com/org/default default=false only=w"},
		"environment":     {true, nil, map[string]string{"TF_CLOUD_HOSTNAME": "h", "TF_CLOUD_ORGANIZATION": "o", "TF_WORKSPACE": "w", "TF_CLOUD_PROJECT": "p"}, "remote://h/o/default default=false only=w"},
		"same":            {true, with(nil, "name", "w"), map[string]string{"TF_WORKSPACE": "w"}, "remote://app.example.com/org/default default=false only=w"},
		"tags":            {true, with(nil, "tags", "a"), map[string]string{"TF_WORKSPACE": "w"}, "remote://app.example.com/org/default default=false only="},
		"another":         {true, with(nil, "name", "w"), map[string]string{"TF_WORKSPACE": "v"}, "TF_WORKSPACE says"},
		"name and tags":   {true, with(nil, "name", "w", "tags", "a"), nil, `Only one of workspace "name" or "tags"`},
		"nothing":         {true, nil, nil, "TF_CLOUD_ORGANIZATION"},
		"no host either":  {true, nil, nil, "TF_CLOUD_HOSTNAME"},
		"no workspaces":   {true, with(nil), nil, "needs workspaces"},
	} {
		t.Run(name, func(t *testing.T) {
			b, diags := made(test.cloud, test.values, environment("http://none", test.env))
			got := ""
			for _, d := range diags {
				got += d.Detail + "\n"
			}
			if b != nil {
				got = fmt.Sprintf("%s default=%v only=%s", b.Place("default"), !b.Undefaulted(), b.Only())
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestConnect: what can't be seen isn't taken for a place without states.
func TestConnect(t *testing.T) {
	url := serve(t, &testservers.Remote{})
	for name, test := range map[string]struct {
		values map[string]string
		change func(*storage.Hosts)
		want   string
	}{
		"no organization": {with(nil, "name", "w", "organization", "other"), nil, `the organization "other" isn't at app.example.com`},
		"no token": {with(nil, "name", "w"), func(h *storage.Hosts) {
			h.Token = func(context.Context, string) (string, error) { return "", nil }
		}, "TF_TOKEN_app_example_com"},
		"bad token":  {with(nil, "name", "w", "token", "x"), nil, "doesn't take the token"},
		"no service": {with(nil, "name", "w"), func(h *storage.Hosts) { h.Services[host] = map[string]any{"modules.v1": "/"} }, "has no service tfe.v2"},
		"nonsense":   {with(nil, "name", "w"), func(h *storage.Hosts) { h.Services[host] = map[string]any{"tfe.v2": "file:///x"} }, "invalid address"},
	} {
		t.Run(name, func(t *testing.T) {
			env := environment(url, nil)
			hosts, _ := env.Hosts()
			if test.change != nil {
				test.change(&hosts)
			}
			env.Hosts = func() (storage.Hosts, error) { return hosts, nil }
			_, err := storagetest.State(t, opened(t, false, test.values, env), "default").Read(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestSilent has a service that stops answering, in each request.
func TestSilent(t *testing.T) {
	url := serve(t, &testservers.Remote{})
	storagetest.Silent(t, "tcp", strings.TrimPrefix(url, "http://"), func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		b := opened(t, false, with(nil, "name", "w"), environment("http://"+address, nil))
		storagetest.Do(t, b.CreateWorkspace(t.Context(), "default"))
		return b, func(d time.Duration) { b.patience = d }
	})
}
