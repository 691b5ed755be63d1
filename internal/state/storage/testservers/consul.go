package testservers

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Consul keeps keys and sessions as Consul does, as far as backends ask. The zero value
// is ready.
type Consul struct {
	mu       sync.Mutex
	keys     map[string]*consulKey
	sessions map[string]bool
	index    uint64
	changed  chan struct{} // closed with the next change
	log      []Request
	lose     int
}

type consulKey struct {
	Key         string
	Value       []byte
	Flags       uint64
	CreateIndex uint64
	ModifyIndex uint64
	LockIndex   uint64
	Session     string `json:",omitempty"`
}

// maxConsulValue is the largest value in bytes, and the largest transaction.
const maxConsulValue = 512 << 10

// Lose has it do the next transaction and not answer.
func (s *Consul) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = 1
}

// Value is the value of a key, nil for none, and the session that holds it.
func (s *Consul) Value(key string) (value []byte, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.keys[key]; k != nil {
		return k.Value, k.Session
	}
	return nil, ""
}

// Keys names all keys.
func (s *Consul) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.keys))
}

// End ends all sessions, as time does.
func (s *Consul) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.sessions {
		s.end(id)
	}
}

// Log is the requests since the last Log.
func (s *Consul) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// ServeHTTP implements http.Handler.
func (s *Consul) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := bodyOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys, s.sessions = map[string]*consulKey{}, map[string]bool{}
	}
	s.log = append(s.log, Request{r.Header.Get("X-Consul-Token"), r.Method, r.URL.RequestURI(), r.Header})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Consul-Index", strconv.FormatUint(s.index+1, 10))
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	key, isKey := strings.CutPrefix(path, "kv/")
	switch {
	case isKey && r.Method == http.MethodGet:
		s.get(w, r, key)
	case isKey && r.Method == http.MethodPut:
		s.put(w, r, key, body)
	case isKey && r.Method == http.MethodDelete:
		s.remove(w, r, key)
	case path == "txn":
		s.transact(w, body)
	case path == "session/create":
		s.index++
		id := fmt.Sprintf("00000000-0000-4000-8000-%012x", s.index)
		s.sessions[id] = true
		fmt.Fprintf(w, `{"ID":%q}`, id)
	case strings.HasPrefix(path, "session/renew/"):
		id := strings.TrimPrefix(path, "session/renew/")
		if !s.sessions[id] {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, `[{"ID":%q,"TTL":"15s"}]`, id)
	case strings.HasPrefix(path, "session/info/"):
		fmt.Fprint(w, `[]`)
	case strings.HasPrefix(path, "session/destroy/"):
		s.end(strings.TrimPrefix(path, "session/destroy/"))
		fmt.Fprint(w, "true")
	default:
		w.WriteHeader(http.StatusNotImplemented)
	}
}

func (s *Consul) end(id string) {
	delete(s.sessions, id)
	for _, k := range s.keys {
		if k.Session == id {
			k.Session = ""
			s.touch(k)
		}
	}
}

func (s *Consul) touch(k *consulKey) {
	s.index++
	k.ModifyIndex = s.index
	s.tell()
}

func (s *Consul) tell() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// wait lets go of the server until a key has another index than a request says, or for
// as long as that wants.
func (s *Consul) wait(r *http.Request, key string) {
	query := r.URL.Query()
	index, _ := strconv.ParseUint(query.Get("index"), 10, 64)
	limit, err := time.ParseDuration(query.Get("wait"))
	if err != nil {
		limit = time.Minute
	}
	end := time.After(limit)
	for index != 0 && s.keys[key] != nil && s.keys[key].ModifyIndex == index {
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		over := false
		select {
		case <-changed:
		case <-end:
			over = true
		case <-r.Context().Done():
			over = true
		}
		s.mu.Lock()
		if over {
			return
		}
	}
}

func (s *Consul) write(key string, value []byte, flags string) *consulKey {
	k := s.keys[key]
	if k == nil {
		k = &consulKey{Key: key, CreateIndex: s.index + 1}
		s.keys[key] = k
	}
	k.Value = value
	k.Flags, _ = strconv.ParseUint(flags, 10, 64)
	s.touch(k)
	return k
}

func (s *Consul) get(w http.ResponseWriter, r *http.Request, key string) {
	query := r.URL.Query()
	if query.Has("keys") {
		names := map[string]bool{}
		for name := range s.keys {
			if rest, found := strings.CutPrefix(name, key); found {
				if before, _, cut := strings.Cut(rest, query.Get("separator")); cut && query.Get("separator") != "" {
					rest = before + "/"
				}
				names[key+rest] = true
			}
		}
		if len(names) == 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(slices.Sorted(maps.Keys(names)))
		return
	}
	s.wait(r, key)
	k := s.keys[key]
	if k == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("X-Consul-Index", strconv.FormatUint(k.ModifyIndex, 10))
	_ = json.NewEncoder(w).Encode([]*consulKey{k})
}

func (s *Consul) put(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	query := r.URL.Query()
	k := s.keys[key]
	acquire, release := query.Get("acquire"), query.Get("release")
	done := true
	switch {
	case len(body) > maxConsulValue:
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		fmt.Fprintf(w, "Request body(%d bytes) too large, max size: %d bytes.", len(body), maxConsulValue)
		return
	case acquire != "" && !s.sessions[acquire]:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "invalid session %q", acquire)
		return
	case acquire != "":
		if done = k == nil || k.Session == "" || k.Session == acquire; done {
			k = s.write(key, body, query.Get("flags"))
			k.Session = acquire
			k.LockIndex++
		}
	case release != "":
		if done = k != nil && k.Session == release; done {
			s.write(key, body, query.Get("flags")).Session = ""
		}
	default:
		s.write(key, body, query.Get("flags"))
	}
	fmt.Fprint(w, done)
}

func (s *Consul) remove(w http.ResponseWriter, r *http.Request, key string) {
	query := r.URL.Query()
	if query.Has("recurse") {
		maps.DeleteFunc(s.keys, func(name string, _ *consulKey) bool { return strings.HasPrefix(name, key) })
	} else if index := query.Get("cas"); index == "" || s.keys[key] != nil && strconv.FormatUint(s.keys[key].ModifyIndex, 10) == index {
		delete(s.keys, key)
	} else {
		fmt.Fprint(w, "false")
		return
	}
	s.tell()
	fmt.Fprint(w, "true")
}

func (s *Consul) transact(w http.ResponseWriter, body []byte) {
	var operations []struct {
		KV struct {
			Verb, Key string
			Value     []byte
			Index     uint64
			Flags     uint64
		}
	}
	if len(body) > maxConsulValue {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		fmt.Fprintf(w, "Request body(%d bytes) too large, max size: %d bytes.", len(body), maxConsulValue)
		return
	}
	if json.Unmarshal(body, &operations) != nil || len(operations) != 1 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	o := operations[0].KV
	have := uint64(0)
	if k := s.keys[o.Key]; k != nil {
		have = k.ModifyIndex
	}
	if o.Verb == "cas" && have != o.Index {
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, `{"Results":null,"Errors":[{"OpIndex":0,"What":"failed to set key %q, index is stale"}]}`, o.Key)
		return
	}
	k := *s.write(o.Key, o.Value, strconv.FormatUint(o.Flags, 10))
	if s.lose > 0 {
		s.lose--
		panic(http.ErrAbortHandler)
	}
	k.Value = nil
	_ = json.NewEncoder(w).Encode(map[string]any{"Results": []any{map[string]any{"KV": k}}, "Errors": nil})
}
