// Package rest sends requests to backends that speak JSON over HTTP. It retries failed
// requests, and returns rejections as errors.
//
// It owns trust in servers and certificates of clients, too. It doesn't know any server's
// interface.
package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"weir.dev/weir/internal/net/httpcall"
)

// A Client sends requests to one server.
type Client struct {
	HTTP   *http.Client
	Base   url.URL     // what paths are appended to
	Header http.Header // of every request
	// Say finds the message in the body of an answer that means no; nil takes the body.
	Say func(body []byte) string
	// Patience is how long nothing may come or go before a request has failed, 0 for
	// without end.
	Patience time.Duration
}

// A Request is one that may be sent several times.
type Request struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         []byte // JSON; nil for none
	// Once: it is sent again only if the server did nothing, because it had too many requests.
	Once bool
}

// A Refusal is an answer that means no.
type Refusal struct {
	Status  int
	Message string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("the server answered %d %s: %s", r.Status, http.StatusText(r.Status), r.Message)
}

// Status is that of the answer that an error stands for, 0 for none.
func Status(err error) int {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Status
	}
	return 0
}

// Do sends a request until the server answers it.
func (c *Client) Do(ctx context.Context, r Request) (http.Header, []byte, error) {
	to := c.Base
	to.Path += r.Path
	to.RawPath = ""
	to.RawQuery = r.Query.Encode()
	header := http.Header{}
	maps.Copy(header, c.Header)
	maps.Copy(header, r.Header)
	if r.Body != nil && header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	call := httpcall.Client{HTTP: c.HTTP, Stall: c.Patience}
	if r.Once {
		call.Again = func(a httpcall.Answer, _ error) bool { return a.Status == http.StatusTooManyRequests }
	}
	a, err := call.Do(ctx, httpcall.Request{Method: r.Method, URL: &to, Header: header, Body: r.Body}, c.judge)
	return a.Header, a.Body, err
}

// judge returns the Refusal of an answer that means no.
func (c *Client) judge(a httpcall.Answer) error {
	if a.Status/100 == 2 {
		return nil
	}
	message := ""
	if c.Say != nil {
		message = c.Say(a.Body)
	}
	if message == "" {
		message = string(bytes.TrimSpace(a.Body))
	}
	if len(message) > 500 {
		message = message[:500]
	}
	return &Refusal{a.Status, message}
}

// Into reads the answer to a request, nil for nothing but whether it is yes.
func (c *Client) Into(ctx context.Context, r Request, into any) error {
	_, body, err := c.Do(ctx, r)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the answer to %s %s can't be read: %w", r.Method, r.Path, err)
	}
	return nil
}

// Trust is whom a client trusts, and who it is itself.
type Trust struct {
	Authorities []byte // PEM; nil for those of the machine
	Certificate []byte // PEM, with Key
	Key         []byte
	ServerName  string // "" for that of the address
	Anybody     bool
}

// Transport is one with that trust.
func (t Trust) Transport() (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	config := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.Anybody} // #nosec G402 -- asked for
	if len(t.Authorities) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(t.Authorities) {
			return nil, errors.New("there is no certificate of an authority in PEM form")
		}
	}
	if len(t.Certificate) > 0 || len(t.Key) > 0 {
		pair, err := tls.X509KeyPair(t.Certificate, t.Key)
		if err != nil {
			return nil, fmt.Errorf("the certificate of the client can't be read: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport.TLSClientConfig = config
	return transport, nil
}
