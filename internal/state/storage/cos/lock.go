package cos

import (
	"context"
	"errors"
	"fmt"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/objectstore"
)

// store is the object of a state, and the one that is its lock.
type store struct {
	b *Backend
	objectstore.State
}

func (s *store) lockKey() string { return s.Key + ".tflock" }

// A tag of the account is there while somebody looks whether there is a lock and makes it:
// of those who create the tag at once, one succeeds.
const tagKey = "tencentcloud-terraform-lock"

func (s *store) tagValue() string { return digest([]byte(s.b.bucket + ":" + s.lockKey())) }

// tag makes or removes the tag.
func (s *store) tag(ctx context.Context, action string) error {
	k, err := s.b.api.access.get(ctx)
	if err != nil {
		return err
	}
	if err := s.b.api.call(ctx, k, "tag", action, map[string]string{"TagKey": tagKey, "TagValue": s.tagValue()}, nil); err != nil {
		return fmt.Errorf("%s %s:%s failed: %w", action, tagKey, s.tagValue(), err)
	}
	return nil
}

// untag removes the tag, if it is there.
func (s *store) untag(ctx context.Context) error {
	err := s.tag(ctx, "DeleteTag")
	switch refused(err) {
	case "ResourceNotFound.TagNonExist":
		return nil
	}
	return err
}

// Lock implements storage.Store. The id is the digest of the object.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (id string, err error) {
	service, err := s.b.open(ctx)
	if err != nil {
		return "", err
	}
	info.Path = s.lockKey()
	if err := s.tag(ctx, "CreateTag"); err != nil {
		if refused(err) != "ResourceInUse.TagDuplicate" {
			return "", err
		}
		return "", s.taken(ctx, err)
	}
	defer func() {
		if problem := s.untag(context.WithoutCancel(ctx)); problem != nil {
			err = errors.Join(err, fmt.Errorf("the lock %s can't be released: %w", s.lockKey(), problem))
		}
	}()
	holder, err := s.Holder(ctx)
	switch {
	case err != nil:
		return "", err
	case holder != nil:
		return "", &storage.LockError{Holder: holder, Err: fmt.Errorf("lock file %s exists", s.lockKey())}
	}
	if _, err := service.Put(ctx, s.lockKey(), info.JSON(), s.b.header(info.JSON())); err != nil {
		return "", fmt.Errorf("failed to save the lock file %s: %w", s.lockKey(), err)
	}
	return digest(info.JSON()), nil
}

// taken is who has the lock where the tag is there. Without the object somebody is about to
// make it, or was killed while it did: then the digest in the tag is the id.
func (s *store) taken(ctx context.Context, err error) error {
	holder, problem := s.Holder(ctx)
	if problem == nil && holder == nil {
		holder = &storage.LockInfo{ID: s.tagValue(), Path: s.lockKey(), Operation: "taking or releasing the lock"}
		err = fmt.Errorf("somebody takes or releases the lock at this moment, or was killed while it did, and has left the tag %s:%s: %w", tagKey, s.tagValue(), err)
	}
	return &storage.LockError{Holder: holder, Err: errors.Join(err, problem)}
}

// Holder implements storage.Held.
func (s *store) Holder(ctx context.Context) (*storage.LockInfo, error) {
	o, err := s.Get(ctx, s.lockKey())
	if err != nil || o.Content == nil {
		return nil, err
	}
	holder, err := storage.ParseLockInfo(o.Content)
	if err != nil {
		return nil, fmt.Errorf("the object %q: %w", s.lockKey(), err)
	}
	holder.ID = digest(o.Content)
	return holder, nil
}

// Unlock implements storage.Store.
func (s *store) Unlock(ctx context.Context, id string) error {
	service, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	holder, err := s.Holder(ctx)
	switch {
	case err != nil:
		return err
	case holder == nil && id == s.tagValue():
		return s.untag(ctx)
	case holder == nil:
		return fmt.Errorf("lock file %s not exists", s.lockKey())
	case holder.ID != id:
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("lock id mismatch, %s != %s", holder.ID, id)}
	}
	// The tag, if there is one, is that of somebody who looks at this moment.
	if err := service.Remove(ctx, s.lockKey()); err != nil {
		return fmt.Errorf("failed to delete the lock file %s: %w", s.lockKey(), err)
	}
	return nil
}
