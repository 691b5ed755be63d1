package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"weir.dev/weir/temporal/access"
)

// start starts a server in this process and returns its port.
func start(t *testing.T, token string) int {
	t.Helper()
	port, err := freePort(map[int]bool{})
	if err != nil {
		t.Fatal(err)
	}
	stop, err := Start(Options{File: filepath.Join(t.TempDir(), "t.db"), IP: machine, Port: port, Namespace: "default", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return port
}

// dial connects with the credential of a token, or without any.
func dial(t *testing.T, port int, token string) (client.Client, error) {
	o := client.Options{HostPort: net.JoinHostPort(machine, strconv.Itoa(port))}
	if token != "" {
		o.HeadersProvider = access.Headers{Token: token}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := client.DialContext(ctx, o)
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

// TestAccess: only who has the token can do anything, reading included, and the ports of the
// inner services let nobody in.
func TestAccess(t *testing.T) {
	port := start(t, "the token of the store")
	c, err := dial(t, port, "the token of the store")
	if err != nil {
		t.Fatal(err)
	}
	work := func(ctx context.Context, c client.Client) map[string]error {
		all := map[string]error{}
		_, all["list"] = c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'Deployment'"})
		_, all["apply"] = c.SignalWithStartWorkflow(ctx, "weir/net/one", "request", "r", client.StartWorkflowOptions{ID: "weir/net/one", TaskQueue: "weir"}, "Deployment")
		all["decide"] = c.SignalWorkflow(ctx, "weir/net/one", "", "decision", "d")
		_, all["follow"] = c.DescribeWorkflowExecution(ctx, "weir/net/one", "")
		all["end"] = c.TerminateWorkflow(ctx, "weir/net/one", "", "so")
		return all
	}
	for name, err := range work(t.Context(), c) {
		if err != nil {
			t.Errorf("with the token: %s: %v", name, err)
		}
	}
	for _, token := range []string{"", "wrong", access.Credential("the token of the store")} {
		c, err := dial(t, port, token)
		if err == nil {
			for name, err := range work(t.Context(), c) {
				if !denied(err) {
					t.Errorf("with %q: %s: %v", token, name, err)
				}
			}
		} else if !denied(err) {
			t.Errorf("with %q: %v", token, err)
		}
		lazy, err := client.NewLazyClient(client.Options{HostPort: net.JoinHostPort(machine, strconv.Itoa(port))})
		if err != nil {
			t.Fatal(err)
		}
		for name, err := range work(t.Context(), lazy) {
			if !denied(err) {
				t.Errorf("without asking first: %s: %v", name, err)
			}
		}
		lazy.Close()
	}
	inside := 0
	for _, other := range listening(t) {
		if other == port {
			continue
		}
		inside++
		at := net.JoinHostPort(machine, strconv.Itoa(other))
		if _, err := dial(t, other, "the token of the store"); err == nil {
			t.Errorf("%s lets in who has no key", at)
		}
		conn, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) // #nosec G402 -- an attacker doesn't care
		if err != nil {
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s goes on with who has no certificate: %v", at, err)
		}
		conn.Close()
	}
	if inside < 4 {
		t.Errorf("only %d inner services listen", inside)
	}
}

func denied(err error) bool {
	var d *serviceerror.PermissionDenied
	return errors.As(err, &d)
}

// TestPort: a port that is taken is an error in one line that says what to do.
func TestPort(t *testing.T) {
	l, err := net.Listen("tcp", machine+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = Start(Options{File: filepath.Join(t.TempDir(), "t.db"), IP: machine, Port: l.Addr().(*net.TCPAddr).Port, Namespace: "default"})
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "-port=") {
		t.Errorf("it is %v", err)
	}
}
