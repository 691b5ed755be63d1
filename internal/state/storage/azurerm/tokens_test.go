package azurerm

import (
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"weir.dev/weir/internal/state/storage/testservers"
)

// front answers some hosts itself, and passes the other requests on.
type front struct {
	next    http.RoundTripper
	answers map[string]string // by host
	asked   []*http.Request
}

func (f *front) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, ok := f.answers[r.URL.Host]
	if !ok {
		return f.next.RoundTrip(r)
	}
	f.asked = append(f.asked, r)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// TestIdentities has credentials that other services make: each request has what the service
// goes by.
func TestIdentities(t *testing.T) {
	base := map[string]string{"use_cli": "false", "tenant_id": "tenant", "client_id": "client", "use_azuread_auth": "true", "use_oidc": "true"}
	const pipelines = "https://ado/oidc"
	for name, test := range map[string]struct {
		env, values map[string]string
		want        url.Values
	}{
		"federated": {nil, map[string]string{"oidc_request_url": "https://actions/token", "oidc_request_token": "t"},
			url.Values{"audience": {"api://AzureADTokenExchange"}}},
		"own audience": {nil, map[string]string{"oidc_request_url": "https://actions/token?audience=mine", "oidc_request_token": "t"},
			url.Values{"audience": {"mine"}}},
		"managed identity": {nil, map[string]string{"use_oidc": "false", "use_msi": "true"},
			url.Values{"client_id": {"client"}}},
		"Azure DevOps": {map[string]string{"SYSTEM_OIDCREQUESTURI": pipelines}, map[string]string{"ado_pipeline_service_connection_id": "connection", "oidc_request_token": "t"},
			url.Values{"serviceConnectionId": {"connection"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SYSTEM_OIDCREQUESTURI", pipelines)
			_, client := serve(t)
			f := &front{next: client.Transport, answers: map[string]string{
				"actions": `{"value": "jwt"}`, "ado": `{"oidcToken": "jwt"}`,
				"169.254.169.254": `{"access_token": "token", "expires_in": "3600", "expires_on": "4102444800", "token_type": "Bearer", "resource": "r"}`,
			}}
			values := maps.Clone(base)
			maps.Copy(values, test.values)
			b := opened(t, &http.Client{Transport: f}, test.env, values)
			if _, err := b.Workspaces(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(f.asked) == 0 {
				t.Fatal("nobody was asked for a token")
			}
			got := f.asked[len(f.asked)-1].URL.Query()
			for key, want := range test.want {
				if strings.Join(got[key], " ") != strings.Join(want, " ") {
					t.Errorf("%s is %q, want %q", key, got[key], want)
				}
			}
		})
	}
}

// TestRenewed: each assertion has a new token of the identity provider.
func TestRenewed(t *testing.T) {
	f := &front{answers: map[string]string{"actions": `{"value": "jwt"}`}}
	a := &access{requestURL: "https://actions/token", requestToken: "t"}
	for n := range 3 {
		if token, err := a.ask(t.Context(), policy.ClientOptions{Transport: &http.Client{Transport: f}}); token != "jwt" || err != nil || len(f.asked) != n+1 {
			t.Errorf("%q, %v, asked %d times", token, err, len(f.asked))
		}
	}
}

// TestKeyOnce: the backend requests the access key once, however much is done with it.
func TestKeyOnce(t *testing.T) {
	server, client := serve(t)
	b := opened(t, client, nil, map[string]string{
		"use_cli": "false", "tenant_id": "tenant", "client_id": "client", "client_secret": "s", "subscription_id": "sub", "resource_group_name": "group",
	})
	for range 3 {
		if _, err := b.Workspaces(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := b.State("default")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	keys := 0
	for _, r := range server.Log() {
		if strings.HasSuffix(r.Path, "/listKeys") {
			keys++
		}
	}
	if keys != 1 {
		t.Errorf("asked %d times", keys)
	}
}

// pages is a container that lists one blob at a time.
type pages struct{ names []string }

func (p *pages) RoundTrip(r *http.Request) (*http.Response, error) {
	at, _ := strconv.Atoi(r.URL.Query().Get("marker"))
	next := ""
	if at+1 < len(p.names) {
		next = strconv.Itoa(at + 1)
	}
	body := "<EnumerationResults><Blobs><Blob><Name>" + p.names[at] + "</Name></Blob></Blobs><NextMarker>" + next + "</NextMarker></EnumerationResults>"
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestPages: workspaces are found on all pages of a container with many blobs.
func TestPages(t *testing.T) {
	b := opened(t, &http.Client{Transport: &pages{[]string{"a b/app.tfstate", "a b/app.tfstateenv:one", "a b/app.tfstateenv:two"}}}, nil, withKey)
	got, err := b.Workspaces(t.Context())
	if err != nil || strings.Join(got, " ") != "default one two" {
		t.Errorf("%q, %v", got, err)
	}
}

// hangs is a way to servers that never answer.
type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestTimeout: timeout_seconds ends requests for workspaces and states.
func TestTimeout(t *testing.T) {
	if b, said := made(map[string]string{"ARM_TIMEOUT_SECONDS": "7"}, withKey); b == nil || b.timeout != 7*time.Second {
		t.Fatal(said)
	}
	if b, _ := made(nil, withKey); b.timeout != 300*time.Second {
		t.Errorf("%s by default", b.timeout)
	}
	for name, do := range map[string]func(b *Backend) error{
		"workspaces": func(b *Backend) error { _, err := b.Workspaces(t.Context()); return err },
		"state": func(b *Backend) error {
			s, err := b.State("default")
			if err != nil {
				return err
			}
			_, err = s.Read(t.Context())
			return err
		},
	} {
		b := opened(t, &http.Client{Transport: hangs{}}, nil, map[string]string{"access_key": testservers.AzureKey})
		b.timeout = 20 * time.Millisecond
		if err := do(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestIgnored: arguments without effect are named.
func TestIgnored(t *testing.T) {
	b, said := made(nil, map[string]string{"access_key": testservers.AzureKey, "endpoint": "https://elsewhere"})
	if b == nil || !strings.Contains(said, `"endpoint" has no effect`) {
		t.Errorf("said %q", said)
	}
}
