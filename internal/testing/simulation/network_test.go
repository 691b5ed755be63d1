package simulation

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/gcs"
	web "weir.dev/weir/internal/state/storage/http"
	"weir.dev/weir/internal/state/storage/local"
	"weir.dev/weir/internal/state/storage/s3"
	"weir.dev/weir/internal/state/storage/testservers"
)

// A store is where the state of a history is, and what an onlooker sees there.
type store interface {
	// open is the place as a process has it.
	open(l *life) storage.Backend
	state() []byte
	// put replaces the state, as another program does that has the lock.
	put(state []byte)
	// holder is who has the lock by what is stored.
	holder() *storage.LockInfo
	// note reports whether there is a note beside the state.
	note() bool
	// notes: what is created is noted beside the state.
	notes() bool
	// fenced: a write that is made now is held to what was there before it.
	fenced() bool
}

// placeOf makes them by the name that scripts use.
func (h *history) placeOf(name string) store {
	switch name {
	case "local":
		return &files{m: h.machines[0], changes: -1}
	case "http":
		return &httpPlace{h: h, server: &testservers.HTTP{Password: h.secret()}}
	case "http-tags":
		return &httpPlace{h: h, server: &testservers.HTTP{Tags: true, Password: h.secret()}}
	case "gcs":
		return &googlePlace{h: h, server: &testservers.Google{}}
	case "s3":
		return &amazonPlace{h: h, server: &testservers.Amazon{}}
	case "sessions":
		return &sessions{}
	}
	return nil
}

var placeNames = []string{"local", "http", "http-tags", "gcs", "s3", "sessions"}

func opened[B storage.Backend](t func(cty.Value, storage.Env) (B, diagnostics), shape *schema.Block, set map[string]string, env storage.Env) storage.Backend {
	values := shape.EmptyValue().AsValueMap()
	for name, text := range set {
		values[name] = cty.StringVal(text)
	}
	b, diags := t(cty.ObjectVal(values), env)
	if err := diags.Err(); err != nil {
		panic(err)
	}
	return b
}

// files are beside the configuration.
type files struct {
	m *machine
	// content is that of the file when so many changes had been made to the disk.
	content []byte
	changes int
}

func (p *files) path() string { return filepath.Join(p.m.dir, local.StateFile) }

func (p *files) open(l *life) storage.Backend {
	return opened(local.New, local.Schema(), nil, storage.Env{Dir: l.machine.dir, Disk: l.disk()})
}

func (p *files) state() []byte {
	if now := p.m.disk.changed(); p.changes != now {
		p.content, _ = os.ReadFile(p.path())
		p.changes = now
	}
	return p.content
}

func (p *files) put(state []byte) {
	if err := os.WriteFile(p.path(), state, 0o600); err != nil {
		panic(err)
	}
	p.m.disk.put(p.path(), state)
}

func (p *files) holder() *storage.LockInfo {
	text, err := os.ReadFile(filepath.Join(p.m.dir, "."+local.StateFile+".lock.info"))
	if err != nil {
		return nil
	}
	holder, err := storage.ParseLockInfo(text)
	if err != nil {
		p.m.h.fail("lock", "what is stored of the lock can't be read: %v", err)
	}
	return holder
}

func (p *files) note() bool   { return false }
func (p *files) notes() bool  { return true } // the journal is beside the state
func (p *files) fenced() bool { return true }

type httpPlace struct {
	h      *history
	server *testservers.HTTP
}

func (p *httpPlace) open(l *life) storage.Backend {
	const at = "http://states/one"
	return opened(web.New, web.Schema(), map[string]string{
		"address": at, "lock_address": at, "unlock_address": at, "username": "u", "password": p.h.secret(),
	}, storage.Env{Getenv: noEnvironment, Transport: &wire{l, p.server}})
}

func noEnvironment(string) string { return "" }

func (p *httpPlace) state() []byte    { return p.server.State() }
func (p *httpPlace) put(state []byte) { p.server.Put(string(state)) }
func (p *httpPlace) note() bool       { return false }
func (p *httpPlace) notes() bool      { return false }

func (p *httpPlace) fenced() bool { return p.server.Tags }

func (p *httpPlace) holder() *storage.LockInfo {
	if !p.server.Locked() {
		return nil
	}
	r := httptest.NewRecorder()
	ask := httptest.NewRequest("LOCK", "/one", http.NoBody)
	ask.SetBasicAuth("u", p.h.secret())
	p.server.ServeHTTP(r, ask)
	holder, _ := storage.ParseLockInfo(r.Body.Bytes())
	return holder
}

type googlePlace struct {
	h      *history
	server *testservers.Google
}

func (p *googlePlace) open(l *life) storage.Backend {
	return opened(gcs.New, gcs.Schema(), map[string]string{"bucket": "states", "access_token": p.h.secret()}, storage.Env{Getenv: noEnvironment, Transport: &wire{l, p.server}})
}

func (p *googlePlace) state() []byte {
	content, _ := p.server.Object("default.tfstate")
	return content
}

func (p *googlePlace) put(state []byte) {
	to := &url.URL{Path: "/upload/storage/v1/b/states/o", RawQuery: url.Values{"uploadType": {"media"}, "name": {"default.tfstate"}}.Encode()}
	p.server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", to.String(), bytes.NewReader(state)))
}

func (p *googlePlace) holder() *storage.LockInfo {
	text, generation := p.server.Object("default.tflock")
	if text == nil {
		return nil
	}
	holder, _ := storage.ParseLockInfo(text)
	holder.ID = itoa(generation)
	return holder
}

func (p *googlePlace) note() bool {
	text, _ := p.server.Object("default.tfintents")
	return text != nil
}
func (p *googlePlace) notes() bool  { return true }
func (p *googlePlace) fenced() bool { return true }

// amazonPlace is a bucket with the lock in it.
type amazonPlace struct {
	h      *history
	server *testservers.Amazon
}

func (p *amazonPlace) open(l *life) storage.Backend {
	set := map[string]string{"bucket": "states", "key": "one", "region": "eu-west-1", "endpoint": "http://s3", "access_key": "k", "secret_key": p.h.secret()}
	values := s3.Schema().EmptyValue().AsValueMap()
	for name, text := range set {
		values[name] = cty.StringVal(text)
	}
	for _, name := range []string{"use_lockfile", "use_path_style", "skip_credentials_validation", "skip_requesting_account_id", "skip_region_validation", "skip_metadata_api_check"} {
		values[name] = cty.True
	}
	values["max_retries"] = cty.NumberIntVal(1) // the SDK draws the wait before a second try by itself
	none := cty.SetVal([]cty.Value{cty.StringVal("/none")})
	values["shared_config_files"], values["shared_credentials_files"] = none, none
	b, diags := s3.New(cty.ObjectVal(values), storage.Env{Getenv: noEnvironment, Transport: &wire{l, p.server}})
	if err := diags.Err(); err != nil {
		panic(err)
	}
	return b
}

func (p *amazonPlace) state() []byte    { return p.server.Object("/states/one") }
func (p *amazonPlace) put(state []byte) { p.server.Put("/states/one", state) }
func (p *amazonPlace) note() bool       { return p.server.Object("/states/one.intents") != nil }
func (p *amazonPlace) notes() bool      { return true }
func (p *amazonPlace) fenced() bool     { return true }

func (p *amazonPlace) holder() *storage.LockInfo {
	text := p.server.Object("/states/one.tflock")
	if text == nil {
		return nil
	}
	holder, _ := storage.ParseLockInfo(text)
	return holder
}

// A wire carries the requests of a process to a server.
type wire struct {
	life   *life
	server http.Handler
}

var errConnection = errors.New("the connection was lost")

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	do := func() *http.Response {
		again := r.Clone(context.Background())
		again.RequestURI = r.URL.RequestURI()
		again.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		w.server.ServeHTTP(answer, again)
		return answer.Result()
	}
	what := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if name := r.URL.Query().Get("name"); name != "" {
		what = name
	}
	p := &pending{life: w.life, kind: requesting, label: r.Method + " " + what, effect: func() { do() }}
	if r.Method == http.MethodGet {
		p.effect = nil
	}
	switch w.life.wait(r.Context(), p) {
	case now:
		return do(), nil
	case doubled:
		do()
		return do(), nil
	case refused:
		answer := httptest.NewRecorder()
		answer.WriteHeader(http.StatusServiceUnavailable)
		return answer.Result(), nil
	case silent:
		do()
	case later:
		if p.effect != nil {
			w.life.h.onTheWay = append(w.life.h.onTheWay, &message{w.life, p.label, p.effect})
		}
	case canceled:
		return nil, context.Cause(r.Context())
	}
	return nil, errConnection
}

// A message is a request that the network has kept, and whose sender has given up.
type message struct {
	from  *life
	label string
	do    func()
}
