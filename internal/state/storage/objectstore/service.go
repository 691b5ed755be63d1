// Package objectstore stores states as objects of services that speak XML over HTTP, such as
// Alibaba's OSS and Tencent's COS. Their only condition for an upload is that no object
// exists.
//
// It owns the requests and a store without a lock on top of them. It doesn't know how requests
// are signed, what headers mean and how a state is locked.
package objectstore

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir.dev/weir/internal/net/httpcall"
)

// A Service is one bucket.
type Service struct {
	HTTP    *http.Client
	Address *url.URL // of the bucket
	// Sign makes a request one of who asks. The key is that of the object, "" for the bucket.
	Sign func(ctx context.Context, r *http.Request, key string) error
	// Patience is how long nothing may come or go before a request has failed, 0 for
	// without end.
	Patience time.Duration
}

// A Failure is an answer that means no.
type Failure struct {
	Status        int
	Code, Message string
	Request       string // its id
}

func (f *Failure) Error() string {
	text := fmt.Sprintf("the server answered %d %s", f.Status, http.StatusText(f.Status))
	if f.Code != "" {
		text += fmt.Sprintf(", %s: %s", f.Code, f.Message)
	}
	if f.Request != "" {
		text += " (request " + f.Request + ")"
	}
	return text
}

// Status is that of the answer that an error stands for, 0 for none.
func Status(err error) int {
	var f *Failure
	if errors.As(err, &f) {
		return f.Status
	}
	return 0
}

// Missing reports whether an error is that there is no such object in the bucket.
func Missing(err error) bool {
	var f *Failure
	return errors.As(err, &f) && f.Status == http.StatusNotFound && f.Code != "NoSuchBucket"
}

// An Object is what was read.
type Object struct {
	Content []byte
	Tag     string
	Header  http.Header
}

// Get reads an object.
func (s *Service) Get(ctx context.Context, key string) (Object, error) {
	return s.do(ctx, http.MethodGet, key, nil, nil, nil)
}

// Head reads all but the content of an object.
func (s *Service) Head(ctx context.Context, key string) (Object, error) {
	return s.do(ctx, http.MethodHead, key, nil, nil, nil)
}

// Put makes or replaces an object, and returns its tag.
func (s *Service) Put(ctx context.Context, key string, content []byte, header http.Header) (tag string, err error) {
	o, err := s.do(ctx, http.MethodPut, key, nil, header, content)
	return o.Tag, err
}

// Remove removes an object, or does nothing without one.
func (s *Service) Remove(ctx context.Context, key string) error {
	_, err := s.do(ctx, http.MethodDelete, key, nil, nil, nil)
	if Missing(err) {
		return nil
	}
	return err
}

// List has the keys that begin with a prefix.
func (s *Service) List(ctx context.Context, prefix string) (keys []string, err error) {
	query := url.Values{"max-keys": {"1000"}}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	for {
		o, err := s.do(ctx, http.MethodGet, "", query, nil, nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Contents    []struct{ Key string }
			IsTruncated bool
			NextMarker  string
		}
		if err := xml.Unmarshal(o.Content, &page); err != nil {
			return nil, fmt.Errorf("the list of objects can't be read: %w", err)
		}
		for _, object := range page.Contents {
			keys = append(keys, object.Key)
		}
		if !page.IsTruncated || page.NextMarker == "" {
			return keys, nil
		}
		query.Set("marker", page.NextMarker)
	}
}

// do sends a request until the service answers it.
func (s *Service) do(ctx context.Context, method, key string, query url.Values, header http.Header, body []byte) (Object, error) {
	to := *s.Address
	to.Path = strings.TrimSuffix(to.Path, "/") + "/" + key
	to.RawPath = escape(to.Path)
	to.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	c := httpcall.Client{HTTP: s.HTTP, Stall: s.Patience, Sign: func(ctx context.Context, r *http.Request) error { return s.Sign(ctx, r, key) }}
	a, err := c.Do(ctx, httpcall.Request{Method: method, URL: &to, Header: header, Body: body}, judge)
	if err != nil {
		return Object{}, err
	}
	return Object{a.Body, a.Header.Get("ETag"), a.Header}, nil
}

// judge returns the Failure of an answer that means no.
func judge(a httpcall.Answer) error {
	if a.Status/100 == 2 {
		return nil
	}
	var told struct {
		Code, Message string
		RequestID     string `xml:"RequestId"`
	}
	_ = xml.Unmarshal(a.Body, &told) // answers to HEAD and those of proxies aren't XML
	return &Failure{a.Status, told.Code, told.Message, told.RequestID}
}

// escape escapes all of a path that signatures want escaped.
func escape(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c == '/' || c == '-' || c == '.' || c == '_' || c == '~' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
