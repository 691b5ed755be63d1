// Package login gets tokens from hosts with a browser login, by the OAuth authorization code
// grant with a proof key.
//
// It doesn't keep tokens, to open browsers or ask questions.
package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir.dev/weir/internal/net/sameorigin"
)

// Service is the name of the service that hosts offer.
const Service = "login.v1"

// A Client is what a host says about logging in.
type Client struct {
	ID               string
	Authorize, Token *url.URL
	Scopes           []string
	MinPort, MaxPort int // for the address that the browser is sent back to
}

// NotOffered: the host has no such service.
type NotOffered struct{ Host string }

func (e NotOffered) Error() string {
	return fmt.Sprintf("host %s does not support creating authorization tokens", e.Host)
}

// Discover asks a host how to log in; services that are written in the settings
// take the place of its answer.
func Discover(ctx context.Context, client *http.Client, host string, services map[string]any) (*Client, error) {
	at := &url.URL{Scheme: "https", Host: host, Path: "/.well-known/terraform.json"}
	if services == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusNotFound {
			return nil, NotOffered{host}
		}
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s answered %s", at, resp.Status)
		}
		if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&services); err != nil {
			return nil, fmt.Errorf("%s didn't answer with the expected JSON: %w", at, err)
		}
		at = resp.Request.URL
	}
	if services[Service] == nil {
		return nil, NotOffered{host}
	}
	// Settings have blocks as lists.
	data, err := json.Marshal(services[Service])
	if err != nil {
		return nil, err
	}
	return parse(data, at)
}

func parse(data []byte, at *url.URL) (*Client, error) {
	var told struct {
		Client     string   `json:"client"`
		Authorize  string   `json:"authz"`
		Token      string   `json:"token"`
		GrantTypes []string `json:"grant_types"`
		Ports      []int    `json:"ports"`
		Scopes     []string `json:"scopes"`
	}
	var blocks []json.RawMessage
	if json.Unmarshal(data, &blocks) == nil && len(blocks) == 1 {
		data = blocks[0]
	}
	if err := json.Unmarshal(data, &told); err != nil {
		return nil, fmt.Errorf("the host returned invalid login settings: %w", err)
	}
	c := &Client{ID: told.Client, Scopes: told.Scopes, MinPort: 1024, MaxPort: 65535}
	if c.ID == "" {
		return nil, errors.New("the host names no client for logging in")
	}
	if len(told.GrantTypes) > 0 && !slices.Contains(told.GrantTypes, "authz_code") {
		return nil, errors.New("the host does not allow the authorization code grant, which is the only one that is supported")
	}
	if len(told.Ports) > 0 {
		if len(told.Ports) != 2 || told.Ports[0] < 1024 || told.Ports[1] > 65535 || told.Ports[0] > told.Ports[1] {
			return nil, errors.New("the ports that the host allows must be two numbers from 1024 to 65535, the smaller one first")
		}
		c.MinPort, c.MaxPort = told.Ports[0], told.Ports[1]
	}
	var err error
	if c.Authorize, err = address(at, told.Authorize); err == nil {
		c.Token, err = address(at, told.Token)
	}
	return c, err
}

func address(base *url.URL, text string) (*url.URL, error) {
	u, err := base.Parse(text)
	if err != nil || text == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("the host returned an invalid login address: %q", text)
	}
	return u, nil
}

// secret is text that nobody can guess.
func secret() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Obtain waits until the user has logged in with a browser, which show is reported the address
// for, and returns the token.
func (c *Client) Obtain(ctx context.Context, client *http.Client, show func(address string)) (string, error) {
	listener, back, err := c.listen()
	if err != nil {
		return "", err
	}
	state, proof := secret(), secret()
	codes := make(chan string, 1)
	server := &http.Server{Handler: callback(state, codes), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	defer func() {
		// Let the browser have its page.
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(ending) != nil {
			server.Close()
		}
	}()
	challenge := sha256.Sum256([]byte(proof))
	ask := *c.Authorize
	query := ask.Query()
	query.Set("client_id", c.ID)
	query.Set("response_type", "code")
	query.Set("redirect_uri", back)
	query.Set("state", state)
	query.Set("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:]))
	query.Set("code_challenge_method", "S256")
	if len(c.Scopes) > 0 {
		query.Set("scope", strings.Join(c.Scopes, " "))
	}
	ask.RawQuery = query.Encode()
	show(ask.String())
	select {
	case code := <-codes:
		return c.exchange(ctx, client, url.Values{
			"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back},
			"client_id": {c.ID}, "code_verifier": {proof},
		})
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// listen opens the port that the browser is sent back to.
func (c *Client) listen() (net.Listener, string, error) {
	count := c.MaxPort - c.MinPort + 1
	var pick [2]byte
	rand.Read(pick[:])
	first := int(pick[0])<<8 | int(pick[1])
	for n := range min(count, 1000) {
		port := c.MinPort + (first+n)%count
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return listener, fmt.Sprintf("http://localhost:%d/login", port), nil
		}
	}
	return nil, "", fmt.Errorf("logging in needs a temporary HTTP server on localhost, but no TCP port between %d and %d is available for it", c.MinPort, c.MaxPort)
}

// callback takes the first code that comes with the right state.
func callback(state string, codes chan<- string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := r.FormValue("code")
		if r.URL.Path != "/login" || r.FormValue("state") != state || code == "" {
			http.Error(w, "This isn't an answer to the question that was asked.", http.StatusBadRequest)
			return
		}
		select {
		case codes <- code:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<!doctype html><title>Logged in</title><p>The login was successful. This page can be closed; everything else happens in the terminal.")
		default:
			http.Error(w, "The answer was given already.", http.StatusBadRequest)
		}
	})
}

// exchange gives the code and gets the token.
func (c *Client) exchange(ctx context.Context, client *http.Client, form url.Values) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Token.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	resp, err := sameorigin.Stay(client).Do(req) // the code and its proof are secret
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return "", err
	}
	var told struct {
		Token       string `json:"access_token"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	problem := json.Unmarshal(body, &told)
	switch {
	case told.Error != "":
		return "", errors.New(strings.TrimSpace("the remote server did not assign an auth token: " + told.Error + " " + told.Description))
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("the remote server did not assign an auth token: %s", resp.Status)
	case problem != nil || told.Token == "":
		return "", errors.New("the remote server did not assign an auth token: its answer has none")
	}
	return told.Token, nil
}
