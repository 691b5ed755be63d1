package s3

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
)

// The table has the digest of the newest state: who reads another state from the bucket waits
// for it. A run that is killed between the upload and the digest would leave a state that
// nobody takes. So the digest of a state is announced before its upload, in a text of the same
// item that other programs don't look at.
const (
	newest    = "Digest"
	announced = "NextDigest"
)

// digest is what the table has for a state, "" for none.
func digest(content []byte) string {
	if len(content) == 0 {
		return ""
	}
	sum := md5.Sum(content)
	return hex.EncodeToString(sum[:])
}

// stale reports whether the table has the digest of another state. Where it has
// none any state is good, and likewise for who may read the bucket alone.
func (s *store) stale(ctx context.Context, c *clients, content []byte) bool {
	if c.table == nil {
		return false
	}
	found, err := c.table.get(ctx, s.digestID(), newest, announced)
	is, want := digest(content), found[newest].S
	switch {
	case err != nil || len(want) != hex.EncodedLen(md5.Size) || want == is:
		return false
	case is == "" || found[announced].S != is:
		return true
	}
	// Its writer was killed, or has not come to it yet. Without the right to write, other
	// programs wait for the next state.
	_ = c.table.put(ctx, item("LockID", s.digestID(), newest, is), announced+" = :is", item(":is", is))
	return false
}

// announce says which state is uploaded next.
func (s *store) announce(ctx context.Context, c *clients, content []byte) error {
	if c.table == nil {
		return nil
	}
	for {
		found, err := c.table.get(ctx, s.digestID(), newest)
		if err == nil {
			next, condition, was := item("LockID", s.digestID(), announced, digest(content)), "", texts(nil)
			if is := found[newest].S; is != "" {
				next[newest], condition, was = found[newest], newest+" = :is", item(":is", is)
			}
			err = c.table.put(ctx, next, condition, was)
		}
		switch {
		case err == nil:
			return nil
		case code(err) != conditionFailed: // else somebody wrote at this moment
			return fmt.Errorf("the digest of the state can't be stored: %w", err)
		}
	}
}

// note puts the digest of a state that was uploaded.
func (s *store) note(ctx context.Context, c *clients, content []byte) error {
	if c.table == nil {
		return nil
	}
	if err := c.table.put(ctx, item("LockID", s.digestID(), newest, digest(content)), "", nil); err != nil {
		return fmt.Errorf("the state was uploaded, but its digest %s wasn't stored: %w", digest(content), err)
	}
	return nil
}
