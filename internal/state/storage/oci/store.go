package oci

import (
	"bytes"
	"context"
	"crypto/md5" // #nosec G501 -- what the service wants
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/rest"
)

// store is one object.
type store struct {
	b    *Backend
	path string

	mu   sync.Mutex
	seen *seen // what Write replaces, nil where that isn't known
}

// seen is an object that was read or written, with its tag; without a tag there was none.
type seen struct{ tag string }

// fetch reads an object and its tag; without a tag none exists.
func (s *store) fetch(ctx context.Context, name string, header http.Header) (content []byte, tag string, err error) {
	client, err := s.b.open(ctx)
	if err != nil {
		return nil, "", err
	}
	got, content, err := client.Do(ctx, rest.Request{Method: http.MethodGet, Path: "/o/" + name, Header: header})
	switch {
	case missing(err):
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("failed to access object %q in bucket %q: %w", name, s.b.bucket, err)
	}
	return content, got.Get("Etag"), nil
}

// missing reports whether an error is that there is no such object in the bucket. A bucket
// that isn't there, or may not be seen, is no bucket without a state.
func missing(err error) bool {
	var no *rest.Refusal
	if !errors.As(err, &no) || no.Status != http.StatusNotFound {
		return false
	}
	code, _, _ := strings.Cut(no.Message, ":")
	return !slices.Contains([]string{"BucketNotFound", "NamespaceNotFound", "NotAuthorizedOrNotFound"}, code)
}

// upload puts an object where the condition, a header, holds, and returns its tag.
func (s *store) upload(ctx context.Context, name string, content []byte, header http.Header, condition, value string) (tag string, err error) {
	client, err := s.b.open(ctx)
	if err != nil {
		return "", err
	}
	sum := md5.Sum(content)
	all := http.Header{"Content-Md5": {base64.StdEncoding.EncodeToString(sum[:])}}
	maps.Copy(all, header)
	if condition != "" {
		all.Set(condition, value)
	}
	got, _, err := client.Do(ctx, rest.Request{Method: http.MethodPut, Path: "/o/" + name, Header: all, Body: content})
	return got.Get("Etag"), err
}

// conflict reports whether a condition didn't hold.
func conflict(err error) bool {
	status := rest.Status(err)
	return status == http.StatusPreconditionFailed || status == http.StatusConflict
}

// remove removes an object, with a tag only as long as it has that.
func (s *store) remove(ctx context.Context, name, tag string) error {
	client, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	header := http.Header{}
	if tag != "" {
		header.Set("If-Match", tag)
	}
	_, _, err = client.Do(ctx, rest.Request{Method: http.MethodDelete, Path: "/o/" + name, Header: header})
	if missing(err) {
		return nil
	}
	return err
}

// Read implements storage.Store.
func (s *store) Read(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
	content, tag, err := s.fetch(ctx, s.path, s.b.get)
	switch {
	case err != nil:
		return nil, err
	case tag != "" && len(content) == 0:
		return nil, storage.ErrEmptyState
	}
	s.seen = &seen{tag}
	if string(content) == storage.NoState {
		return nil, nil
	}
	return content, nil
}

// Write implements storage.Store.
func (s *store) Write(ctx context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	condition, value := "", ""
	switch {
	case s.seen == nil:
	case s.seen.tag == "":
		condition, value = "If-None-Match", "*"
	default:
		condition, value = "If-Match", s.seen.tag
	}
	tag, err := s.upload(ctx, s.path, state, s.b.put, condition, value)
	if err != nil {
		if tag, err = s.refused(ctx, state, err); err != nil {
			return err
		}
	}
	s.seen = &seen{tag}
	return nil
}

// refused finds out what became of a state that wasn't taken: the tag is that of the state
// if it arrived after all, and the answer to that was lost.
func (s *store) refused(ctx context.Context, state []byte, problem error) (tag string, err error) {
	problem = fmt.Errorf("failed to upload object %q to bucket %q: %w", s.path, s.b.bucket, problem)
	if s.seen == nil || !conflict(problem) && !missing(problem) {
		return "", problem
	}
	content, now, err := s.fetch(ctx, s.path, s.b.get)
	switch {
	case err != nil:
		return "", errors.Join(problem, err)
	case s.seen.tag == "" && string(content) == storage.NoState && string(state) != storage.NoState:
		// The workspace was made meanwhile, and has no state yet.
		now, err = s.upload(ctx, s.path, state, s.b.put, "If-Match", now)
		if conflict(err) {
			return "", storage.ErrChanged
		}
		return now, err
	case now != "" && bytes.Equal(content, state):
		return now, nil
	case now == s.seen.tag:
		return "", problem // it was a conflict of another kind
	}
	return "", storage.ErrChanged
}

func (s *store) lockName() string { return s.path + ".lock" }

// Lock implements storage.Store: it puts the object as long as none exists.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	info.Path = s.path
	_, err := s.upload(ctx, s.lockName(), info.JSON(), nil, "If-None-Match", "*")
	if err == nil {
		return info.ID, nil
	}
	if !conflict(err) {
		return "", fmt.Errorf("failed to upload object %q to bucket %q: %w", s.lockName(), s.b.bucket, err)
	}
	holder, _, problem := s.holder(ctx)
	if problem == nil && holder != nil && holder.ID == info.ID {
		return info.ID, nil // the answer to an earlier try was lost
	}
	return "", &storage.LockError{Holder: holder, Err: errors.Join(err, problem)}
}

// holder is who put the object of the lock, nil for nobody, with its tag.
func (s *store) holder(ctx context.Context) (*storage.LockInfo, string, error) {
	text, tag, err := s.fetch(ctx, s.lockName(), nil)
	if err != nil || tag == "" {
		return nil, "", err
	}
	holder, err := storage.ParseLockInfo(text)
	if err != nil {
		err = fmt.Errorf("the object %q in the bucket %q: %w", s.lockName(), s.b.bucket, err)
	}
	return holder, tag, err
}

// Holder implements storage.Held.
func (s *store) Holder(ctx context.Context) (*storage.LockInfo, error) {
	holder, _, err := s.holder(ctx)
	return holder, err
}

// Unlock implements storage.Store.
func (s *store) Unlock(ctx context.Context, id string) error {
	holder, tag, err := s.holder(ctx)
	switch {
	case err != nil:
		return err
	case holder == nil:
		return fmt.Errorf("there is no lock %q in the bucket %q", s.lockName(), s.b.bucket)
	case holder.ID != id:
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("lock ID '%s' does not match the existing lock ID '%s'", id, holder.ID)}
	}
	err = s.remove(ctx, s.lockName(), tag)
	if conflict(err) {
		return &storage.LockError{Holder: holder, Err: err}
	}
	return err
}

func (s *store) noteName() string { return s.path + ".intents" }

// Note implements storage.Noted.
func (s *store) Note(ctx context.Context) ([]byte, error) {
	note, _, err := s.fetch(ctx, s.noteName(), s.b.get)
	return note, s.noting(err)
}

// SetNote implements storage.Noted.
func (s *store) SetNote(ctx context.Context, note []byte) error {
	if note == nil {
		return s.noting(s.remove(ctx, s.noteName(), ""))
	}
	_, err := s.upload(ctx, s.noteName(), note, s.b.put, "", "")
	return s.noting(err)
}

// noting reports where a policy is for the state and its lock alone.
func (s *store) noting(err error) error {
	if status := rest.Status(err); status != http.StatusForbidden && status != http.StatusUnauthorized {
		return err
	}
	return fmt.Errorf("%w: the object %q in the bucket %q: %w", storage.ErrNoNotes, s.noteName(), s.b.bucket, err)
}
