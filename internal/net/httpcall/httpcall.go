// Package httpcall sends HTTP requests whose content and answer fit into memory. It repeats
// requests that may succeed later, gives up on servers that stall, and limits the size of
// answers. State backends and key services share it.
//
// It knows no server's interface: a caller says how requests are signed and which answers
// are errors.
package httpcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"weir.dev/weir/internal/net/retry"
	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/stalltimeout"
)

// A Client sends requests.
type Client struct {
	// HTTP is an *http.Client, usually. Without a rule for redirects it follows none to another
	// server, because requests have states and keys.
	HTTP interface {
		Do(*http.Request) (*http.Response, error)
	}
	Stall time.Duration // how long a server may send and take nothing; 0 for no limit
	Limit int64         // bytes of an answer; 0 is 4 GiB
	Retry retry.Policy
	// Sign completes each attempt; nil for requests that are complete.
	Sign func(ctx context.Context, r *http.Request) error
	// Again reports whether a request that failed may succeed later; nil is Passing. The
	// answer has Status 0 if none came.
	Again func(a Answer, err error) bool
}

// A Request can be sent several times.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
}

// An Answer is a whole answer of a server.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Passing is the usual rule for repeating: no answer came, or one with a status of
// retry.Passing.
func Passing(a Answer, _ error) bool { return a.Status == 0 || retry.Passing(a.Status) }

// Do sends a request until its answer is good, until it can't get better, or as often as
// the policy allows. Judge returns an error for an answer that isn't good; nil takes every
// answer. Do returns the last answer, if one came, beside the error.
func (c *Client) Do(ctx context.Context, r Request, judge func(Answer) error) (Answer, error) {
	mayPass := c.Again
	if mayPass == nil {
		mayPass = Passing
	}
	var a Answer
	err := c.Retry.Do(ctx, func() (err error) {
		a, err = c.once(ctx, r)
		var final *fatal
		switch {
		case errors.As(err, &final):
			return final.error
		case err == nil && judge != nil:
			err = judge(a)
		}
		if err == nil || stalltimeout.Is(err) || !mayPass(a, err) {
			return err
		}
		return retry.After(err, retry.Asked(a.Header, time.Now()))
	})
	return a, err
}

// fatal is an error that no further attempt can change.
type fatal struct{ error }

func (c *Client) once(ctx context.Context, r Request) (Answer, error) {
	var pulse stalltimeout.Pulse
	ctx, end := pulse.Watch(ctx, r.URL.Host, c.Stall)
	defer end()
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, &fatal{err}
	}
	if len(r.Body) > 0 {
		request.Body = io.NopCloser(pulse.Reader(bytes.NewReader(r.Body)))
	}
	maps.Copy(request.Header, r.Header)
	if c.Sign != nil {
		if err := c.Sign(ctx, request); err != nil {
			return Answer{}, &fatal{err}
		}
	}
	sender := c.HTTP
	if h, ok := sender.(*http.Client); ok && h.CheckRedirect == nil {
		sender = sameorigin.Stay(h)
	}
	response, err := sender.Do(request)
	if err != nil {
		return Answer{}, stalltimeout.Because(ctx, err)
	}
	defer response.Body.Close()
	limit := c.Limit
	if limit == 0 {
		limit = 4 << 30
	}
	body, err := io.ReadAll(io.LimitReader(pulse.Reader(response.Body), limit+1))
	if err != nil {
		return Answer{}, stalltimeout.Because(ctx, err)
	}
	if int64(len(body)) > limit {
		return Answer{}, &fatal{fmt.Errorf("the answer of %s has more than %d bytes", r.URL.Host, limit)}
	}
	return Answer{response.StatusCode, response.Header, body}, nil
}
