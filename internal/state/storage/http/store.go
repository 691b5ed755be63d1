package http

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/net/httpcall"
	"weir.dev/weir/internal/net/retry"
	"weir.dev/weir/internal/state/storage"
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
	// patience is how long nothing may come or go before a request has failed.
	patience time.Duration
}

// do sends a request until the server answers it. The error says what the request was for.
func (c *client) do(ctx context.Context, method string, to *url.URL, body []byte, header http.Header, what string) (httpcall.Answer, error) {
	a, _, err := c.count(ctx, method, to, body, header, what)
	return a, err
}

// errPassing stands for an answer that may be another one later. It never leaves count.
var errPassing = errors.New("the server can't answer now")

// count is do, and counts how often the request was sent in vain.
func (c *client) count(ctx context.Context, method string, to *url.URL, body []byte, header http.Header, what string) (a httpcall.Answer, vain int, err error) {
	sent := 0
	call := httpcall.Client{
		HTTP: c.http, Stall: c.patience, Retry: retry.Policy{Attempts: 1 + c.retryMax, First: c.waitMin, Longest: c.waitMax},
		Sign: func(_ context.Context, r *http.Request) error {
			sent++
			for name, value := range c.headers {
				r.Header.Set(name, value)
			}
			if c.username != "" {
				r.SetBasicAuth(c.username, c.password)
			}
			if len(body) > 0 {
				sum := md5.Sum(body)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
			}
			return nil
		},
	}
	a, err = call.Do(ctx, httpcall.Request{Method: method, URL: to, Header: header, Body: body}, func(a httpcall.Answer) error {
		if retry.Passing(a.Status) {
			return errPassing
		}
		return nil
	})
	if errors.Is(err, errPassing) {
		err = nil // the caller reads the status
	}
	if err != nil {
		err = fmt.Errorf("failed to %s: %w", what, err)
	}
	return a, sent - 1, err
}

// status is the error for an unexpected answer.
func status(response httpcall.Answer, what string) error {
	switch response.Status {
	case http.StatusUnauthorized:
		return errors.New("HTTP remote state endpoint requires auth")
	case http.StatusForbidden:
		return errors.New("HTTP remote state endpoint invalid auth")
	case http.StatusInternalServerError:
		return errors.New("HTTP remote state internal server error")
	}
	return fmt.Errorf("unexpected HTTP response code %d to the request to %s", response.Status, what)
}

// A store is the state at the address.
type store struct {
	*client

	mu     sync.Mutex
	locked *storage.LockInfo // by this store
	seen   *seen             // what Write replaces, nil where that isn't known
	wrote  bool
	// unanswered: a request for the lock got no answer.
	unanswered bool
}

// Unanswered implements storage.Unanswered.
func (s *store) Unanswered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unanswered
}

// seen is a state that was read or written.
type seen struct {
	sum  [sha256.Size]byte
	etag string // of servers that have one for each content, else empty
}

// nothing is no state. The tag in answers then isn't the state's.
var nothing = &seen{}

// saw is a state with the answer that it came with, or that its upload got.
func saw(content []byte, response httpcall.Answer) *seen {
	s := &seen{sum: sha256.Sum256(content)}
	if tag := response.Header.Get("ETag"); strings.HasPrefix(tag, `"`) { // a weak one may be that of several
		s.etag = tag
	}
	return s
}

func (s *store) Read(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, now, err := s.get(ctx, nil)
	s.seen = now
	return content, err
}

// get reads the state. With the last one given it may return that again, without
// content.
func (s *store) get(ctx context.Context, last *seen) ([]byte, *seen, error) {
	const what = "get state"
	header := http.Header{}
	if last != nil && last.etag != "" {
		header.Set("If-None-Match", last.etag)
	}
	response, err := s.do(ctx, http.MethodGet, s.address, nil, header, what)
	if err != nil {
		return nil, nil, err
	}
	switch response.Status {
	case http.StatusNoContent, http.StatusNotFound:
		return nil, nothing, nil
	case http.StatusOK:
	case http.StatusNotModified:
		if last != nil {
			return nil, last, nil
		}
		fallthrough
	default:
		return nil, nil, status(response, what)
	}
	content := response.Body
	if len(content) == 0 {
		return nil, nothing, nil
	}
	if text := response.Header.Get("Content-MD5"); text != "" {
		want, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, nil, fmt.Errorf("failed to decode Content-MD5 %q: %w", text, err)
		}
		if got := md5.Sum(content); !bytes.Equal(got[:], want) {
			return nil, nil, errors.New("the state doesn't have the checksum that the server sent with it (Content-MD5); it was damaged on the way")
		}
	}
	return content, saw(content, response), nil
}

// Write uploads the state. Few servers hold writes to a condition, so what is there is
// inspected before the first one, and where states have no tags before each. Between that look
// and the upload somebody may still write, where the server doesn't hold it to what the look
// has found.
func (s *store) Write(ctx context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen != nil && (!s.wrote || s.seen.etag == "") {
		_, now, err := s.get(ctx, s.seen)
		if err != nil {
			return err
		}
		if now.sum != s.seen.sum {
			return storage.ErrChanged
		}
	}
	to := *s.address
	if s.locked != nil {
		query := to.Query()
		query.Set("ID", s.locked.ID)
		to.RawQuery = query.Encode()
	}
	response, err := s.upload(ctx, &to, state)
	if err != nil {
		return err
	}
	switch response.Status {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		s.seen, s.wrote = saw(state, response), true
		return nil
	case http.StatusPreconditionFailed, http.StatusConflict:
		return s.rejected(ctx, &to, state, response)
	}
	return status(response, uploading)
}

const uploading = "upload state"

func (s *store) upload(ctx context.Context, to *url.URL, state []byte) (httpcall.Answer, error) {
	header := http.Header{}
	switch {
	case s.seen == nil:
	case s.seen.etag != "":
		header.Set("If-Match", s.seen.etag)
	case s.seen == nothing:
		header.Set("If-None-Match", "*")
	}
	return s.do(ctx, s.updateMethod, to, state, header, uploading)
}

// rejected finds out why the server rejected an upload.
func (s *store) rejected(ctx context.Context, to *url.URL, state []byte, response httpcall.Answer) error {
	_, now, err := s.get(ctx, nil)
	switch {
	case err != nil:
		return errors.Join(status(response, uploading), err)
	case now.sum == sha256.Sum256(state):
		// It arrived before, and the answer was lost.
		s.seen, s.wrote = now, true
		return nil
	case s.seen == nil || now.sum != s.seen.sum:
		return storage.ErrChanged
	case s.seen == nothing && response.Status == http.StatusPreconditionFailed:
		// The server counts a state without content as one. Upload without a condition.
		now = &seen{}
	case now.etag == s.seen.etag:
		return status(response, uploading)
	}
	// Or the tag of the answer to an upload wasn't that of the state.
	s.seen = now
	if response, err = s.upload(ctx, to, state); err != nil {
		return err
	}
	switch response.Status {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		s.seen, s.wrote = &seen{sum: sha256.Sum256(state)}, true
		return nil
	}
	return status(response, uploading)
}

func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	if s.lock == nil {
		return "", nil
	}
	const what = "lock"
	response, vain, err := s.count(ctx, s.lockMethod, s.lock, info.JSON(), nil, what)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unanswered = s.unanswered || vain > 0 || err != nil
	if err != nil {
		return "", err
	}
	switch response.Status {
	case http.StatusOK:
	case http.StatusConflict, http.StatusLocked:
		holder, err := storage.ParseLockInfo(response.Body)
		if err != nil {
			return "", &storage.LockError{Err: fmt.Errorf("HTTP remote state already locked, and the server doesn't say by whom: %w", err)}
		}
		if vain == 0 || holder.ID != info.ID { // else the answer to an earlier try was lost
			// A proxy may have sent the request twice, or the server may repeat the request instead
			// of naming the holder. So nobody knows whether this process has the lock.
			s.unanswered = s.unanswered || holder.ID == info.ID
			return "", &storage.LockError{Holder: holder, Err: fmt.Errorf("HTTP remote state already locked: ID=%s", holder.ID)}
		}
	default:
		return "", status(response, what)
	}
	s.locked = &info
	return info.ID, nil
}

// Inherit implements storage.Lasting.
func (s *store) Inherit(info storage.LockInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked = &info
}

func (s *store) Unlock(ctx context.Context, id string) error {
	switch {
	case s.lock == nil:
		return storage.WithoutLock(id)
	case s.unlock == nil:
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
	response, err := s.do(ctx, s.unlockMethod, s.unlock, info.JSON(), nil, what)
	if err != nil {
		return err
	}
	if response.Status != http.StatusOK {
		return status(response, what)
	}
	s.locked = nil
	return nil
}
