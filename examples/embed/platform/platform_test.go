package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

var files = fstest.MapFS{"main.tf": {Data: []byte(`
terraform {
  required_providers { sim = { source = "example/sim" } }
}
variable "n" {
  type    = number
  default = 1
}
resource "sim_server" "web" {
  count = var.n
  name  = terraform.workspace
}
output "ids" { value = sim_server.web[*].id }
`)}}

type client struct {
	t   *testing.T
	url string
}

// call sends a request, and fails the test unless the answer has the code.
func (c client) call(method, path, body string, code int, into any) {
	c.t.Helper()
	r, err := http.NewRequest(method, c.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer s")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != code {
		c.t.Fatalf("%s %s: %s", method, path, resp.Status)
	}
	if into != nil {
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
			c.t.Fatal(err)
		}
	}
}

// until waits for a run to have a status.
func (c client) until(id int, want Status) Run {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var r Run
		c.call("GET", fmt.Sprintf("/runs/%d", id), "", http.StatusOK, &r)
		if r.Status == want {
			return r
		}
		if r.Error != "" || time.Now().After(deadline) {
			c.t.Fatalf("run %d is %s: %s", id, r.Status, r.Error)
		}
	}
}

func start(t *testing.T) (*Platform, client) {
	store, cloud := weirtest.NewStore(), weirtest.NewCloud().Type("sim_server", "name string required")
	p := &Platform{Open: func(_ Run, o weir.Options) (*weir.Workspace, error) {
		o.Store, o.Providers = store, []weir.ProviderSource{cloud.Source("example/sim")}
		return weir.OpenFS(files, o)
	}}
	p.Start(context.Background())
	server := httptest.NewServer(API(p, "s"))
	t.Cleanup(server.Close)
	return p, client{t, server.URL}
}

// TestRuns: runs of a workspace are done in order, with approvals; another workspace doesn't wait for them.
func TestRuns(t *testing.T) {
	p, c := start(t)
	defer p.Close()
	c.call("POST", "/runs", `{"workspace":"a","variables":{"n":2}}`, http.StatusAccepted, nil)
	c.call("POST", "/runs", `{"workspace":"a","variables":{"n":1}}`, http.StatusAccepted, nil)
	c.call("POST", "/runs", `{"workspace":"b"}`, http.StatusAccepted, nil)
	r := c.until(1, Waiting)
	if !slices.Equal(r.Changes, []string{"create sim_server.web[0]", "create sim_server.web[1]"}) {
		t.Errorf("%q", r.Changes)
	}
	c.until(3, Waiting)
	c.call("POST", "/runs/3/decision", `{"by":"eve","approve":false}`, http.StatusOK, nil)
	c.call("POST", "/runs/2/decision", `{"by":"eve","approve":true}`, http.StatusConflict, nil)
	c.call("POST", "/runs/1/decision", `{"by":"ana","approve":true}`, http.StatusOK, nil)
	if r = c.until(1, Applied); len(r.Outputs["ids"].([]any)) != 2 || r.DecidedBy != "ana" {
		t.Errorf("%+v", r)
	}
	if r = c.until(2, Waiting); !slices.Equal(r.Changes, []string{"delete sim_server.web[1]"}) {
		t.Errorf("%q", r.Changes)
	}
	c.call("GET", "/runs/9", "", http.StatusNotFound, nil)
	c.call("POST", "/runs", `{}`, http.StatusBadRequest, nil)
	var all []Run
	if c.call("GET", "/runs", "", http.StatusOK, &all); len(all) != 3 || all[2].Status != Rejected {
		t.Errorf("%+v", all)
	}
	other, err := http.Get(c.url + "/runs")
	if err != nil || other.StatusCode != http.StatusUnauthorized {
		t.Errorf("%v %v", other, err)
	}
}

// TestClose ends a platform while a plan waits: it isn't applied.
func TestClose(t *testing.T) {
	p, c := start(t)
	c.call("POST", "/runs", `{"workspace":"a"}`, http.StatusAccepted, nil)
	c.until(1, Waiting)
	p.Close()
	if r := p.Runs()[0]; r.Status != Rejected {
		t.Errorf("%+v", r)
	}
}
