package gcs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir.dev/weir/internal/net/stalltimeout"
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

func failure(response *http.Response, content []byte) error {
	var told struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	message := strings.TrimSpace(string(content))
	if json.Unmarshal(content, &told) == nil && told.Error.Message != "" {
		message = told.Error.Message
	}
	if len(message) > 500 {
		message = message[:500]
	}
	return &refusal{response.StatusCode, fmt.Sprintf("the service answered %s: %s", response.Status, message)}
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

// How often a request is sent, and the wait before the second time.
const (
	tries     = 6
	firstWait = 200 * time.Millisecond
	maxState  = 4 << 30
)

// do sends a request until the service answers it.
func (s *service) do(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (*http.Response, []byte, error) {
	for try := 1; ; try++ {
		response, content, err := s.once(ctx, method, to, header, body)
		passing := err != nil && status(err) == 0 || status(err) == http.StatusRequestTimeout || status(err) == http.StatusTooManyRequests || status(err) >= 500
		if !passing || try == tries || ctx.Err() != nil || stalltimeout.Is(err) {
			return response, content, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, err
		case <-time.After(firstWait << (try - 1)):
		}
	}
}

func (s *service) once(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (*http.Response, []byte, error) {
	var pulse stalltimeout.Pulse
	ctx, end := pulse.Watch(ctx, to.Host, s.patience)
	defer end()
	request, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if len(body) > 0 {
		request.Body = io.NopCloser(pulse.Reader(bytes.NewReader(body)))
	}
	maps.Copy(request.Header, header)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := s.http.Do(request)
	if err != nil {
		return nil, nil, stalltimeout.Because(ctx, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(pulse.Reader(response.Body), maxState))
	if err != nil {
		return nil, nil, stalltimeout.Because(ctx, err)
	}
	if response.StatusCode/100 != 2 {
		return nil, nil, failure(response, content)
	}
	return response, content, nil
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
	response, content, err := s.do(ctx, http.MethodGet, s.address(object, url.Values{"alt": {"media"}}), header, nil)
	if err != nil {
		return nil, "", err
	}
	generation = response.Header.Get("X-Goog-Generation")
	if generation == "" {
		return nil, "", errors.New("the service doesn't tell which generation of the object it sent")
	}
	return content, generation, nil
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
	_, answer, err := s.do(ctx, http.MethodPost, to, header, content)
	if err != nil {
		return "", err
	}
	var made struct {
		Generation string `json:"generation"`
	}
	if err := json.Unmarshal(answer, &made); err != nil {
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
	_, _, err := s.do(ctx, http.MethodDelete, s.address(object, query), nil, nil)
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
		_, content, err := s.do(ctx, http.MethodGet, s.address("", query), nil, nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []struct {
				Name string `json:"name"`
			} `json:"items"`
			NextPageToken string `json:"nextPageToken"`
		}
		if err := json.Unmarshal(content, &page); err != nil {
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
