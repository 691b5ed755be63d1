package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"weir.dev/weir/internal/state/storage"
)

// store is one object.
type store struct {
	b    *Backend
	path string

	mu   sync.Mutex
	seen *seen // what Write replaces, nil where that isn't known
}

// seen is an object that was read or written, with its tag; without a tag there
// was none.
type seen struct{ tag string }

// Read returns the content of the object. With a table, its digest says which
// content is the newest; where the object isn't that yet, a while later it is.
func (s *store) Read(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
	c, err := s.b.open(ctx)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(s.b.Patience)
	for {
		content, tag, err := s.get(ctx, c, s.path)
		if err != nil {
			return nil, err
		}
		switch {
		case !s.stale(ctx, c, content):
		case time.Now().Before(deadline):
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(s.b.Pause):
			}
			continue
		default:
			return nil, fmt.Errorf(badDigest, digest(content))
		}
		if content != nil && len(content) == 0 {
			return nil, storage.ErrEmptyState
		}
		s.seen = &seen{tag: tag}
		if string(content) == storage.NoState {
			return nil, nil
		}
		return content, nil
	}
}

const badDigest = `state data in S3 does not have the expected content.

The table has the digest of another state. Either the bucket is slow to show what was written last, and a minute or two help, or a run ended between the two, or somebody changed one of them. If it stays so, make sure that the state is the right one and set Digest in the item of the DynamoDB table to: %s`

// get reads an object, nil without one.
func (s *store) get(ctx context.Context, c *clients, key string) (content []byte, tag string, err error) {
	header := http.Header{}
	s.b.sealing.get(header)
	content, tag, err = c.bucket.get(ctx, key, header)
	switch {
	case err == nil:
		return content, tag, nil
	case status(err) == http.StatusNotFound && code(err) != noBucket:
		return nil, "", nil
	}
	return nil, "", s.b.explain(err)
}

// Write replaces the object, and then its digest.
func (s *store) Write(ctx context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	if err := s.announce(ctx, c, state); err != nil {
		return err
	}
	header := s.header(state, s.b.stateTags)
	switch {
	case s.seen == nil:
	case s.seen.tag == "":
		header.Set("If-None-Match", "*")
	default:
		header.Set("If-Match", s.seen.tag)
	}
	tag, err := c.bucket.put(ctx, s.path, state, header)
	if err != nil {
		if tag, err = s.refused(ctx, c, state, err); err != nil {
			return err
		}
	}
	s.seen = &seen{tag: tag}
	return s.note(ctx, c, state)
}

// header is that of an upload.
func (s *store) header(content []byte, tags map[string]string) http.Header {
	header := http.Header{"Content-Type": {"application/json"}}
	if !s.b.noChecksum {
		checksum(header, content)
	}
	if s.b.acl != "" {
		header.Set("X-Amz-Acl", s.b.acl)
	}
	if len(tags) > 0 {
		query := url.Values{}
		for key, value := range tags {
			query.Set(key, value)
		}
		header.Set("X-Amz-Tagging", query.Encode())
	}
	s.b.sealing.put(header)
	return header
}

// refused finds out what became of a state that wasn't taken: the tag is that
// of the state if it arrived after all, and the answer to that was lost.
func (s *store) refused(ctx context.Context, c *clients, state []byte, problem error) (tag string, err error) {
	if s.seen == nil || !conflict(problem) {
		return "", fmt.Errorf("failed to upload state: %w", s.b.explain(problem))
	}
	content, now, err := s.get(ctx, c, s.path)
	switch {
	case err != nil:
		return "", errors.Join(problem, err)
	case s.seen.tag == "" && string(content) == storage.NoState && string(state) != storage.NoState:
		// The workspace was made meanwhile, and has no state yet.
		header := s.header(state, s.b.stateTags)
		header.Set("If-Match", now)
		if now, err = c.bucket.put(ctx, s.path, state, header); conflict(err) {
			return "", storage.ErrChanged
		}
		return now, err
	case content != nil && bytes.Equal(content, state):
		return now, nil
	case now == s.seen.tag && content != nil:
		return "", fmt.Errorf("failed to upload state: %w", problem)
	}
	return "", storage.ErrChanged
}

// conflict reports whether a condition didn't hold: the object is another one, is
// being written at this moment, or is gone.
func conflict(err error) bool {
	switch status(err) {
	case http.StatusPreconditionFailed, http.StatusConflict, http.StatusNotFound:
		return code(err) != noBucket
	}
	return false
}
