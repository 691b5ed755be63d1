package httpcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir.dev/weir/internal/net/retry"
)

// A server answers one request after the other, without a network.
type server struct {
	answers []any // *http.Response or error; the last one for all further requests
	bodies  []string
}

func (s *server) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, string(body)+r.Header.Get("Signed"))
	switch a := s.answers[min(len(s.bodies), len(s.answers))-1].(type) {
	case error:
		return nil, a
	case *http.Response:
		return a, nil
	}
	panic("not an answer")
}

func answer(status int, body string, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	if len(header) == 2 {
		r.Header.Set(header[0], header[1])
	}
	return r
}

func TestDo(t *testing.T) {
	reset := errors.New("connection reset")
	unsigned := errors.New("no credentials")
	judge := func(a Answer) error {
		if a.Status/100 != 2 {
			return fmt.Errorf("status %d", a.Status)
		}
		return nil
	}
	for _, test := range []struct {
		name    string
		client  Client
		answers []any
		sent    int
		body    string // of the last answer
		err     string
		wait    time.Duration // exact, negative for any
	}{
		{"answers at once", Client{}, []any{answer(200, "a")}, 1, "a", "", 0},
		{"no isn't repeated", Client{}, []any{answer(404, "none")}, 1, "none", "status 404", 0},
		{"busy is repeated", Client{}, []any{answer(503, ""), answer(200, "a")}, 2, "a", "", -1},
		{"busy is repeated as often as allowed", Client{Retry: retry.Policy{Attempts: 3}}, []any{answer(500, ""), answer(500, ""), answer(500, "x")}, 3, "x", "status 500", -1},
		{"the server says when", Client{}, []any{answer(429, "", "Retry-After", "9"), answer(200, "a")}, 2, "a", "", 9 * time.Second},
		{"no answer is repeated", Client{}, []any{reset, answer(200, "a")}, 2, "a", "", -1},
		{"a rule of the caller", Client{Again: func(Answer, error) bool { return false }}, []any{reset}, 1, "", "connection reset", 0},
		{"what isn't signed isn't sent", Client{Sign: func(context.Context, *http.Request) error { return unsigned }}, []any{answer(200, "a")}, 0, "", "no credentials", 0},
		{"too large", Client{Limit: 3}, []any{answer(200, "abcd")}, 1, "", "the answer of host has more than 3 bytes", 0},
		{"as large as allowed", Client{Limit: 4}, []any{answer(200, "abcd")}, 1, "abcd", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{answers: test.answers}
				c := test.client
				c.HTTP, c.Stall = s, time.Minute
				if c.Sign == nil {
					c.Sign = func(_ context.Context, r *http.Request) error { r.Header.Set("Signed", "!"); return nil }
				}
				start := time.Now()
				a, err := c.Do(t.Context(), Request{Method: "PUT", URL: &url.URL{Scheme: "https", Host: "host"}, Body: []byte("content")}, judge)
				if got := fmt.Sprint(err); err == nil && test.err != "" || err != nil && got != test.err {
					t.Errorf("error %v, want %q", err, test.err)
				}
				if string(a.Body) != test.body {
					t.Errorf("body %q, want %q", a.Body, test.body)
				}
				if len(s.bodies) != test.sent {
					t.Errorf("sent %d times, want %d", len(s.bodies), test.sent)
				}
				for _, b := range s.bodies {
					if b != "content!" {
						t.Errorf("an attempt had %q, want the whole content, signed", b)
					}
				}
				if waited := time.Since(start); test.wait >= 0 && waited != test.wait {
					t.Errorf("waited %s, want %s", waited, test.wait)
				}
			})
		})
	}
}

// TestRedirects: without a rule of the caller, no request goes to another server.
func TestRedirects(t *testing.T) {
	for _, follow := range []bool{false, true} {
		asked := 0
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
		defer other.Close()
		own := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
		defer own.Close()
		to, _ := url.Parse(own.URL)
		h := &http.Client{}
		if follow {
			h.CheckRedirect = func(*http.Request, []*http.Request) error { return nil }
		}
		c := Client{HTTP: h, Retry: retry.Policy{Attempts: 1}}
		_, err := c.Do(t.Context(), Request{Method: http.MethodPut, URL: to, Header: http.Header{"X-Token": {"secret"}}, Body: []byte("state")}, nil)
		if (err == nil) != follow || (asked > 0) != follow {
			t.Errorf("follow %v: %v, asked %d times", follow, err, asked)
		}
	}
}
