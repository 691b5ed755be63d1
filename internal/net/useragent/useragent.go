// Package useragent sets the user agent of HTTP requests.
//
// It owns the name and the header. It doesn't know what is requested.
package useragent

import (
	"net/http"
	"strings"

	"weir.dev/weir/internal/sys/buildinfo"
)

const header = "User-Agent"

// Name is weir with its version, and what TF_APPEND_USER_AGENT adds.
func Name(getenv func(name string) string) string {
	name := "weir/" + buildinfo.Current().Version
	if getenv == nil {
		return name
	}
	return strings.TrimSpace(name + " " + strings.Join(strings.Fields(getenv("TF_APPEND_USER_AGENT")), " "))
}

// Default is the default client, by its name.
func Default(getenv func(name string) string) *http.Client {
	return Client(http.DefaultClient, Name(getenv))
}

// Client returns a client like c whose requests have the name.
func Client(c *http.Client, name string) *http.Client {
	named := *c
	named.Transport = &transport{c.Transport, name}
	return &named
}

type transport struct {
	next http.RoundTripper // nil for the default
	name string
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	if r.Header.Get(header) == "" {
		r = r.Clone(r.Context())
		r.Header.Set(header, t.name)
	}
	return next.RoundTrip(r)
}
