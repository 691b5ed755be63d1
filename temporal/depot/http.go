package depot

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// request is what a client asks, answer what it gets. Times are durations, so that the
// clocks of the machines needn't agree.
type request struct {
	Lease  Lease         `json:"lease"`
	Long   time.Duration `json:"long,omitempty"`
	File   string        `json:"file,omitempty"`
	From   int64         `json:"from,omitempty"`
	Hash   string        `json:"hash,omitempty"`
	Data   []byte        `json:"data,omitempty"`
	Texts  []string      `json:"texts,omitempty"`
	Method string        `json:"method"`
}

type answer struct {
	Lease   Lease             `json:"lease"`
	Data    []byte            `json:"data,omitempty"`
	Hash    string            `json:"hash,omitempty"`
	Files   map[string][]byte `json:"files,omitempty"`
	Texts   []string          `json:"texts,omitempty"`
	Problem string            `json:"problem,omitempty"`
	Kind    string            `json:"kind,omitempty"`
	Holder  string            `json:"holder,omitempty"`
	Left    time.Duration     `json:"left,omitempty"`
}

// most is the size of the largest request, in bytes.
const most = 512 << 20

// Serve answers for a depot those who know the token; an empty one needn't be known.
func Serve(d Depot, token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !knows(r, token) {
			http.Error(w, "the token of the store is missing or wrong", http.StatusUnauthorized)
			return
		}
		var q request
		if err := json.NewDecoder(io.LimitReader(r.Body, most)).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a, err := carryOut(r.Context(), d, q)
		if err != nil {
			a.Problem = err.Error()
			var held *HeldError
			switch {
			case errors.As(err, &held):
				a.Kind, a.Holder, a.Left = "held", held.Holder, time.Until(held.Until)
			case errors.Is(err, ErrFenced):
				a.Kind = "fenced"
			case errors.Is(err, ErrAbsent):
				a.Kind = "absent"
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a)
	})
}

// knows reports whether a request has the token: as a bearer token, or as the password of the http
// backend. An empty one needn't be known.
func knows(r *http.Request, token string) bool {
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, password, ok := r.BasicAuth(); ok {
		given = password
	}
	return token == "" || subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
}

func carryOut(ctx context.Context, d Depot, q request) (a answer, err error) {
	switch q.Method {
	case "put":
		a.Hash, err = d.Put(ctx, q.Data)
	case "get":
		a.Data, err = d.Get(ctx, q.Hash)
	case "acquire":
		a.Lease, err = d.Acquire(ctx, q.Lease.Name, q.Lease.Holder, q.Long)
	case "renew":
		a.Lease, err = d.Renew(ctx, q.Lease, q.Long)
	case "release":
		err = d.Release(ctx, q.Lease)
	case "files":
		a.Files, err = d.Files(ctx, q.Lease.Name)
	case "write":
		err = d.Write(ctx, q.Lease, q.File, q.From, q.Data)
	case "remove":
		err = d.Remove(ctx, q.Lease, q.File)
	case "sign":
		a.Texts, err = d.Sign(ctx, q.Texts)
	default:
		err = fmt.Errorf("there is no request %q: one of the programs is older", q.Method)
	}
	return a, err
}

// A Remote is a depot behind Serve.
type Remote struct {
	URL, Token string
	HTTP       *http.Client
}

// ask sends a request, again where that is worth it: all of them give the same result when
// they are made twice, but for acquire, whose second answer reports the first.
func (r *Remote) ask(ctx context.Context, q request) (answer, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		a, again, err := r.once(ctx, text)
		if err == nil || !again || wait > 3*time.Second {
			return a, err
		}
		select {
		case <-ctx.Done():
			return a, errors.Join(ctx.Err(), err)
		case <-time.After(wait):
		}
	}
}

func (r *Remote) once(ctx context.Context, text []byte) (a answer, again bool, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(text))
	if err != nil {
		return a, false, err
	}
	q.Header.Set("Authorization", "Bearer "+r.Token)
	response, err := r.HTTP.Do(q)
	if err != nil {
		return a, true, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return a, true, err
	case response.StatusCode != http.StatusOK:
		return a, response.StatusCode >= 500, fmt.Errorf("the store at %s answered %s: %s", r.URL, response.Status, bytes.TrimSpace(data))
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, false, fmt.Errorf("the server at %s is no store of weir: %w", r.URL, err)
	}
	switch {
	case a.Kind == "held":
		err = &HeldError{a.Holder, time.Now().Add(a.Left)}
	case a.Kind == "fenced":
		err = ErrFenced
	case a.Kind == "absent":
		err = ErrAbsent
	case a.Problem != "":
		err = errors.New(a.Problem)
	}
	return a, false, err
}

// Put implements Depot.
func (r *Remote) Put(ctx context.Context, blob []byte) (string, error) {
	a, err := r.ask(ctx, request{Method: "put", Data: blob})
	return a.Hash, err
}

// Get implements Depot.
func (r *Remote) Get(ctx context.Context, hash string) ([]byte, error) {
	a, err := r.ask(ctx, request{Method: "get", Hash: hash})
	if err == nil && Hash(a.Data) != hash {
		err = fmt.Errorf("the store at %s sent something else than %s", r.URL, hash)
	}
	return a.Data, err
}

// Acquire implements Depot.
func (r *Remote) Acquire(ctx context.Context, name, holder string, long time.Duration) (Lease, error) {
	a, err := r.ask(ctx, request{Method: "acquire", Lease: Lease{Name: name, Holder: holder}, Long: long})
	return a.Lease, err
}

// Renew implements Depot.
func (r *Remote) Renew(ctx context.Context, l Lease, long time.Duration) (Lease, error) {
	a, err := r.ask(ctx, request{Method: "renew", Lease: l, Long: long})
	return a.Lease, err
}

// Release implements Depot.
func (r *Remote) Release(ctx context.Context, l Lease) error {
	_, err := r.ask(ctx, request{Method: "release", Lease: l})
	return err
}

// Files implements Depot.
func (r *Remote) Files(ctx context.Context, name string) (map[string][]byte, error) {
	a, err := r.ask(ctx, request{Method: "files", Lease: Lease{Name: name}})
	return a.Files, err
}

// Write implements Depot.
func (r *Remote) Write(ctx context.Context, l Lease, file string, from int64, data []byte) error {
	_, err := r.ask(ctx, request{Method: "write", Lease: l, File: file, From: from, Data: data})
	return err
}

// Remove implements Depot.
func (r *Remote) Remove(ctx context.Context, l Lease, file string) error {
	_, err := r.ask(ctx, request{Method: "remove", Lease: l, File: file})
	return err
}

// Sign implements Depot.
func (r *Remote) Sign(ctx context.Context, texts []string) ([]string, error) {
	a, err := r.ask(ctx, request{Method: "sign", Texts: texts})
	if err == nil && len(a.Texts) != len(texts) {
		err = fmt.Errorf("the store at %s signed %d texts in place of %d", r.URL, len(a.Texts), len(texts))
	}
	return a.Texts, err
}
