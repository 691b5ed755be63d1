// Package sameorigin sends credentials only to the server that they are for, whatever redirects
// say.
//
// It owns what counts as the same server, and the two ways to deal with redirects to another
// one. It doesn't know which credentials there are.
package sameorigin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Same reports whether what is meant for a may go to b: the same scheme, host
// and port, or the way from http to https that servers send everybody on.
func Same(a, b *url.URL) bool {
	if a.Hostname() != b.Hostname() {
		return false
	}
	return a.Scheme == b.Scheme && port(a) == port(b) ||
		a.Scheme == "http" && b.Scheme == "https" && port(a) == "80" && port(b) == "443"
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// maxRedirects is how often a server may send on, as in net/http.
const maxRedirects = 10

var errTooMany = errors.New("stopped after 10 redirects")

// credentials are the headers that the library copies to where a redirect leads,
// which can be another port, or a host below the first one.
var credentials = []string{"Authorization", "Cookie"}

// Follow returns a client like c that follows redirects, but takes no
// credentials to another server. It doesn't follow one that asks for the body of a
// request to be sent to another server, because bodies have tokens and states.
func Follow(c *http.Client) *http.Client {
	return with(c, func(req *http.Request, via []*http.Request) error {
		for _, passed := range via {
			if Same(passed.URL, req.URL) {
				continue
			}
			if req.Body != nil && req.Body != http.NoBody {
				return elsewhere(req)
			}
			for _, name := range credentials {
				req.Header.Del(name)
			}
		}
		return nil
	})
}

// Stay returns a client like c that follows no redirect to another server, for
// requests that are secret themselves.
func Stay(c *http.Client) *http.Client {
	return with(c, func(req *http.Request, via []*http.Request) error {
		if !Same(via[0].URL, req.URL) {
			return elsewhere(req)
		}
		return nil
	})
}

func elsewhere(req *http.Request) error {
	return fmt.Errorf("the server sends on to another one, %s, which isn't followed because the request may be secret. Name that server in the configuration if it is meant", req.URL.Redacted())
}

func with(c *http.Client, check func(*http.Request, []*http.Request) error) *http.Client {
	ret := *c
	ret.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return errTooMany
		}
		return check(req, via)
	}
	return &ret
}

// secretParameters are those of addresses that let somebody in.
var secretParameters = []string{"sshkey", "aws_access_key_secret", "aws_access_token", "access_token", "token", "sig", "X-Amz-Signature", "X-Amz-Security-Token"}

// Secrets are the parts of an address that nobody should see: its password, or the name
// of the user where that is a token, and parameters that let somebody in. The address
// may have other things in front, such as "git::".
func Secrets(address string) []string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		return nil
	}
	var list []string
	host, query, _ := strings.Cut(rest, "?")
	host, _, _ = strings.Cut(host, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		name, password, both := strings.Cut(host[:at], ":")
		switch {
		case both && password != "":
			list = append(list, decoded(password)...)
			if len(password) < 8 { // a word that may be elsewhere by chance
				list = append(list, ":"+password+"@")
			}
		case len(name) >= tokenLength:
			list = append(list, name)
		}
	}
	for _, pair := range strings.Split(query, "&") {
		name, text, _ := strings.Cut(pair, "=")
		if text != "" && slices.ContainsFunc(secretParameters, func(s string) bool { return strings.EqualFold(s, name) }) {
			list = append(list, decoded(text)...)
		}
	}
	return list
}

// tokenLength is the length from which on the name of a user is more likely a token.
const tokenLength = 20

// decoded is a part of an address as it is written and as it is meant.
func decoded(text string) []string {
	if meant, err := url.PathUnescape(text); err == nil && meant != text {
		return []string{text, meant}
	}
	return []string{text}
}
