// Command platform is a small platform: an HTTP API with a queue for each workspace, and plans
// that somebody approves.
//
//	PLATFORM_TOKEN=secret go run ./platform -dir ../hello
//	curl -H 'Authorization: Bearer secret' -d '{"workspace":"default"}' localhost:8080/runs
//	curl -H 'Authorization: Bearer secret' localhost:8080/runs
//	curl -H 'Authorization: Bearer secret' -d '{"by":"ana","approve":true}' localhost:8080/runs/1/decision
package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"

	"weir.dev/weir"
)

func main() {
	dir := flag.String("dir", ".", "the configuration")
	listen := flag.String("listen", "localhost:8080", "the address of the API")
	flag.Parse()
	token := os.Getenv("PLATFORM_TOKEN")
	if token == "" {
		log.Fatal("PLATFORM_TOKEN must have the token of the API")
	}
	p := &Platform{Open: func(_ Run, o weir.Options) (*weir.Workspace, error) {
		o.Environ = os.Environ()
		return weir.Open(*dir, o)
	}}
	p.Start(context.Background())
	server := &http.Server{Addr: *listen, Handler: API(p, token), ReadHeaderTimeout: 10 * time.Second}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Print(err)
	}
	p.Close()
}

// API serves a platform over HTTP, for clients that have the token.
//
//	POST /runs                 {"workspace", "variables", "destroy"}: queue a run
//	GET  /runs                 all runs
//	GET  /runs/ID              one of them
//	POST /runs/ID/decision     {"by", "approve"}: approve or reject its plan
func API(p *Platform, token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /runs", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Workspace string
			Variables map[string]any
			Destroy   bool
		}
		if err := read(w, r, &body); err != nil || body.Workspace == "" {
			answer(w, http.StatusBadRequest, failure{"a JSON object with workspace is expected"})
			return
		}
		run, err := p.Add(body.Workspace, body.Variables, body.Destroy)
		if err != nil {
			answer(w, http.StatusTooManyRequests, failure{err.Error()})
			return
		}
		answer(w, http.StatusAccepted, run)
	})
	mux.HandleFunc("GET /runs", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, p.Runs()) })
	mux.HandleFunc("GET /runs/{id}", func(w http.ResponseWriter, r *http.Request) {
		for _, run := range p.Runs() {
			if strconv.Itoa(run.ID) == r.PathValue("id") {
				answer(w, http.StatusOK, run)
				return
			}
		}
		answer(w, http.StatusNotFound, failure{"there is no such run"})
	})
	mux.HandleFunc("POST /runs/{id}/decision", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			By      string
			Approve bool
		}
		id, err := strconv.Atoi(r.PathValue("id"))
		if err = errors.Join(err, read(w, r, &body)); err != nil || body.By == "" {
			answer(w, http.StatusBadRequest, failure{"a JSON object with by and approve is expected"})
			return
		}
		if err := p.Decide(id, body.By, body.Approve); err != nil {
			answer(w, http.StatusConflict, failure{err.Error()})
			return
		}
		answer(w, http.StatusOK, struct{}{})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			answer(w, http.StatusUnauthorized, failure{"the token is missing or wrong"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type failure struct {
	Error string `json:"error"`
}

func read(w http.ResponseWriter, r *http.Request, into any) error {
	return json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(into)
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}
