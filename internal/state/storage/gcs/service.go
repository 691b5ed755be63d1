package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir.dev/weir/internal/net/httpcall"
	"weir.dev/weir/internal/net/retry"
)

// A service is a bucket as the JSON API has it.
type service struct {
	http   *http.Client
	base   *url.URL
	bucket string
	// patience is how long nothing may come or go before a request has failed.
	patience time.Duration
}

// A refusal is an answer that means no.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

// judge returns the refusal of an answer that means no.
func judge(a httpcall.Answer) error {
	if a.Status/100 == 2 {
		return nil
	}
	var told struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	message := strings.TrimSpace(string(a.Body))
	if json.Unmarshal(a.Body, &told) == nil && told.Error.Message != "" {
		message = told.Error.Message
	}
	if len(message) > 500 {
		message = message[:500]
	}
	return &refusal{a.Status, fmt.Sprintf("the service answered %d %s: %s", a.Status, http.StatusText(a.Status), message)}
}

func status(err error) int {
	var r *refusal
	if errors.As(err, &r) {
		return r.status
	}
	return 0
}

func missing(err error) bool { return status(err) == http.StatusNotFound }

// changed reports whether the generation was another one.
func changed(err error) bool { return status(err) == http.StatusPreconditionFailed }

// do sends a request until the service answers it.
func (s *service) do(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (httpcall.Answer, error) {
	if body != nil {
		header = header.Clone()
		if header == nil {
			header = http.Header{}
		}
		header.Set("Content-Type", "application/json")
	}
	c := httpcall.Client{HTTP: s.http, Stall: s.patience, Retry: retry.Policy{Attempts: 6}}
	return c.Do(ctx, httpcall.Request{Method: method, URL: to, Header: header, Body: body}, judge)
}

// address is that of an object, "" for the list of them all.
func (s *service) address(object string, query url.Values) *url.URL {
	to := s.base.JoinPath("b", url.PathEscape(s.bucket), "o")
	if object != "" {
		to = to.JoinPath(url.PathEscape(object))
	}
	to.RawQuery = query.Encode()
	return to
}

// get reads an object and its generation.
func (s *service) get(ctx context.Context, object string, header http.Header) (content []byte, generation string, err error) {
	answer, err := s.do(ctx, http.MethodGet, s.address(object, url.Values{"alt": {"media"}}), header, nil)
	if err != nil {
		return nil, "", err
	}
	generation = answer.Header.Get("X-Goog-Generation")
	if generation == "" {
		return nil, "", errors.New("the service doesn't tell which generation of the object it sent")
	}
	return answer.Body, generation, nil
}

// put replaces a generation of an object, "0" for none and "" for any, and
// returns the new one.
func (s *service) put(ctx context.Context, object string, content []byte, replaces, kmsKey string, header http.Header) (generation string, err error) {
	query := url.Values{"uploadType": {"media"}, "name": {object}}
	if replaces != "" {
		query.Set("ifGenerationMatch", replaces)
	}
	if kmsKey != "" {
		query.Set("kmsKeyName", kmsKey)
	}
	to := s.address("", query)
	to.Path = "/upload" + to.Path
	if to.RawPath != "" {
		to.RawPath = "/upload" + to.RawPath
	}
	answer, err := s.do(ctx, http.MethodPost, to, header, content)
	if err != nil {
		return "", err
	}
	var made struct {
		Generation string `json:"generation"`
	}
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		return "", fmt.Errorf("the answer to an upload can't be read: %w", err)
	}
	return made.Generation, nil
}

// remove removes a generation of an object, "" for any.
func (s *service) remove(ctx context.Context, object, generation string) error {
	query := url.Values{}
	if generation != "" {
		query.Set("ifGenerationMatch", generation)
	}
	_, err := s.do(ctx, http.MethodDelete, s.address(object, query), nil, nil)
	return err
}

// list names the objects in a directory.
func (s *service) list(ctx context.Context, prefix string) (names []string, err error) {
	return s.listed(ctx, url.Values{"prefix": {prefix}, "delimiter": {"/"}})
}

// listed names the objects that a query is about.
func (s *service) listed(ctx context.Context, query url.Values) (names []string, err error) {
	query.Set("fields", "items/name,nextPageToken")
	for {
		answer, err := s.do(ctx, http.MethodGet, s.address("", query), nil, nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []struct {
				Name string `json:"name"`
			} `json:"items"`
			NextPageToken string `json:"nextPageToken"`
		}
		if err := json.Unmarshal(answer.Body, &page); err != nil {
			return nil, fmt.Errorf("the list of objects can't be read: %w", err)
		}
		for _, item := range page.Items {
			names = append(names, item.Name)
		}
		if page.NextPageToken == "" {
			return names, nil
		}
		query.Set("pageToken", page.NextPageToken)
	}
}
