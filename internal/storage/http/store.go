package http

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"weir.dev/weir/internal/storage"
)

// A client sends requests with what is configured for all of them.
type client struct {
	address, lock, unlock                  *url.URL
	updateMethod, lockMethod, unlockMethod string
	username, password                     string
	headers                                map[string]string
	retryMax                               int
	waitMin, waitMax                       time.Duration
	http                                   *http.Client
}

// maxState limits what is read from a server, as a guard for memory.
const maxState = 4 << 30

// do sends a request until the server answers it, and returns the status and
// the body.
func (c *client) do(ctx context.Context, method string, to *url.URL, body []byte, what string) (*http.Response, []byte, error) {
	for try := 0; ; try++ {
		response, content, err := c.once(ctx, method, to, body)
		if err == nil && !transient(response.StatusCode) || try >= c.retryMax || ctx.Err() != nil {
			if err != nil {
				err = fmt.Errorf("failed to %s: %w", what, err)
			}
			return response, content, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(c.pause(try, response)):
		}
	}
}

// transient reports whether the same request may succeed later.
func transient(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}

// pause is the wait after a try: doubled each time, or what the server asks
// for.
func (c *client) pause(try int, response *http.Response) time.Duration {
	if response != nil {
		if s, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && s >= 0 {
			return min(time.Duration(s)*time.Second, c.waitMax)
		}
	}
	return min(c.waitMin<<min(try, 20), c.waitMax)
}

func (c *client) once(ctx context.Context, method string, to *url.URL, body []byte) (*http.Response, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	if c.username != "" {
		request.SetBasicAuth(c.username, c.password)
	}
	if len(body) > 0 {
		sum := md5.Sum(body)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxState))
	return response, content, err
}

// status is the error for an unexpected answer.
func status(response *http.Response, what string) error {
	switch response.StatusCode {
	case http.StatusUnauthorized:
		return errors.New("HTTP remote state endpoint requires auth")
	case http.StatusForbidden:
		return errors.New("HTTP remote state endpoint invalid auth")
	case http.StatusInternalServerError:
		return errors.New("HTTP remote state internal server error")
	}
	return fmt.Errorf("unexpected HTTP response code %d to the request to %s", response.StatusCode, what)
}

// A store is the state at the address.
type store struct {
	*client

	mu     sync.Mutex
	locked *storage.LockInfo // by this store
}

func (s *store) Read(ctx context.Context) ([]byte, error) {
	const what = "get state"
	response, content, err := s.do(ctx, http.MethodGet, s.address, nil, what)
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusNoContent, http.StatusNotFound:
		return nil, nil
	case http.StatusOK:
	default:
		return nil, status(response, what)
	}
	if len(content) == 0 {
		return nil, nil
	}
	if text := response.Header.Get("Content-MD5"); text != "" {
		want, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("failed to decode Content-MD5 %q: %w", text, err)
		}
		if got := md5.Sum(content); !bytes.Equal(got[:], want) {
			return nil, errors.New("the state doesn't have the checksum that the server sent with it (Content-MD5); it was damaged on the way")
		}
	}
	return content, nil
}

func (s *store) Write(ctx context.Context, state []byte) error {
	to := *s.address
	s.mu.Lock()
	if s.locked != nil {
		query := to.Query()
		query.Set("ID", s.locked.ID)
		to.RawQuery = query.Encode()
	}
	s.mu.Unlock()
	const what = "upload state"
	response, _, err := s.do(ctx, s.updateMethod, &to, state, what)
	if err != nil {
		return err
	}
	switch response.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return nil
	}
	return status(response, what)
}

func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	if s.lock == nil {
		return "", nil
	}
	const what = "lock"
	response, content, err := s.do(ctx, s.lockMethod, s.lock, info.JSON(), what)
	if err != nil {
		return "", err
	}
	switch response.StatusCode {
	case http.StatusOK:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.locked = &info
		return info.ID, nil
	case http.StatusConflict, http.StatusLocked:
		holder, err := storage.ParseLockInfo(content)
		if err != nil {
			return "", &storage.LockError{Err: fmt.Errorf("HTTP remote state already locked, and the server doesn't say by whom: %w", err)}
		}
		return "", &storage.LockError{Holder: holder, Err: fmt.Errorf("HTTP remote state already locked: ID=%s", holder.ID)}
	}
	return "", status(response, what)
}

func (s *store) Unlock(ctx context.Context, id string) error {
	if s.unlock == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// A lock that another run left behind is released by its id alone.
	info := storage.LockInfo{}
	if s.locked != nil {
		info = *s.locked
		if info.ID != id {
			return &storage.LockError{Holder: &info, Err: fmt.Errorf("lock id %q does not match existing lock", id)}
		}
	}
	info.ID = id
	const what = "unlock"
	response, _, err := s.do(ctx, s.unlockMethod, s.unlock, info.JSON(), what)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return status(response, what)
	}
	s.locked = nil
	return nil
}
