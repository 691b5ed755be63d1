package s3

import (
	"context"
	"errors"
	"fmt"

	"weir.dev/weir/internal/state/storage"
)

// lockKey is the object that is the lock.
func (s *store) lockKey() string { return s.path + ".tflock" }

// lockID is the item that is the lock.
func (s *store) lockID() string { return s.b.bucket + "/" + s.path }

// digestID is the item with the digest of the state.
func (s *store) digestID() string { return s.lockID() + "-md5" }

// Lock puts the object and the item, whichever are configured, as long as
// nobody else has.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	if !s.b.lockFile && s.b.table == "" {
		return "", nil
	}
	c, err := s.b.open(ctx)
	if err != nil {
		return "", err
	}
	info.Path = s.lockID()
	if s.b.lockFile {
		if err := s.lockObject(ctx, c, info); err != nil {
			return "", err
		}
	}
	if s.b.table != "" {
		if err := s.lockItem(ctx, c, info); err != nil {
			if s.b.lockFile {
				err = errors.Join(err, s.unlockObject(ctx, c, info.ID))
			}
			return "", err
		}
	}
	return info.ID, nil
}

func (s *store) lockObject(ctx context.Context, c *clients, info storage.LockInfo) error {
	header := s.header(info.JSON(), s.b.lockTags)
	header.Set("If-None-Match", "*")
	_, err := c.bucket.put(ctx, s.lockKey(), info.JSON(), header)
	if err == nil || !conflict(err) {
		return s.b.explain(err)
	}
	holder, problem := s.objectHolder(ctx, c)
	if problem == nil && holder.ID == info.ID {
		return nil // the answer to an earlier try was lost
	}
	return &storage.LockError{Holder: holder, Err: errors.Join(err, problem)}
}

// objectHolder is who put the object.
func (s *store) objectHolder(ctx context.Context, c *clients) (*storage.LockInfo, error) {
	text, _, err := s.get(ctx, c, s.lockKey())
	if err != nil {
		return nil, err
	}
	if text == nil {
		return nil, fmt.Errorf("there is no lock object %q in the bucket %q", s.lockKey(), s.b.bucket)
	}
	return storage.ParseLockInfo(text)
}

func (s *store) lockItem(ctx context.Context, c *clients, info storage.LockInfo) error {
	err := c.table.put(ctx, item("LockID", s.lockID(), "Info", string(info.JSON())), "attribute_not_exists(LockID)", nil)
	if err == nil || code(err) != conditionFailed {
		return err
	}
	holder, _, problem := s.itemHolder(ctx, c)
	if problem == nil && holder.ID == info.ID {
		return nil
	}
	return &storage.LockError{Holder: holder, Err: errors.Join(err, problem)}
}

// itemHolder is who put the item, and the text of it.
func (s *store) itemHolder(ctx context.Context, c *clients) (*storage.LockInfo, string, error) {
	found, err := c.table.get(ctx, s.lockID(), "Info")
	if err != nil {
		return nil, "", err
	}
	if found == nil {
		return nil, "", fmt.Errorf("no lock info found for: %q within the DynamoDB table: %s", s.lockID(), s.b.table)
	}
	holder, err := storage.ParseLockInfo([]byte(found["Info"].S))
	return holder, found["Info"].S, err
}

// Holder implements storage.Held: who put the object or, without one, the item.
func (s *store) Holder(ctx context.Context) (*storage.LockInfo, error) {
	c, err := s.b.open(ctx)
	if err != nil {
		return nil, err
	}
	if s.b.lockFile {
		text, _, err := s.get(ctx, c, s.lockKey())
		if err != nil {
			return nil, err
		}
		if text != nil {
			holder, err := storage.ParseLockInfo(text)
			if err != nil {
				return nil, fmt.Errorf("the object %q in the bucket %q: %w", s.lockKey(), s.b.bucket, err)
			}
			return holder, nil
		}
	}
	if s.b.table == "" {
		return nil, nil
	}
	found, err := c.table.get(ctx, s.lockID(), "Info")
	if err != nil || found == nil {
		return nil, err
	}
	holder, err := storage.ParseLockInfo([]byte(found["Info"].S))
	if err != nil {
		return nil, fmt.Errorf("the item %q in the DynamoDB table %q: %w", s.lockID(), s.b.table, err)
	}
	return holder, nil
}

// Unlock removes both, also where one of them can't be removed.
func (s *store) Unlock(ctx context.Context, id string) error {
	if !s.b.lockFile && s.b.table == "" {
		return storage.WithoutLock(id)
	}
	c, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	var object, item error
	if s.b.lockFile {
		object = s.unlockObject(ctx, c, id)
	}
	if s.b.table != "" {
		item = s.unlockItem(ctx, c, id)
	}
	switch {
	case object != nil && item == nil && s.b.table != "":
		return fmt.Errorf("dynamoDB lock released but s3 failed: %w", object)
	case item != nil && object == nil && s.b.lockFile:
		return fmt.Errorf("s3 lock released but dynamoDB failed: %w", item)
	}
	return errors.Join(object, item)
}

func (s *store) unlockObject(ctx context.Context, c *clients, id string) error {
	holder, err := s.objectHolder(ctx, c)
	if err != nil {
		return fmt.Errorf("failed to retrieve s3 lock info: %w", err)
	}
	if holder.ID != id {
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("lock id %q from s3 does not match existing lock", id)}
	}
	return c.bucket.remove(ctx, s.lockKey())
}

func (s *store) unlockItem(ctx context.Context, c *clients, id string) error {
	holder, info, err := s.itemHolder(ctx, c)
	if err != nil {
		return fmt.Errorf("failed to retrieve lock info: %w", err)
	}
	if holder.ID != id {
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("lock id %q does not match existing lock", id)}
	}
	return c.table.remove(ctx, s.lockID(), info)
}
