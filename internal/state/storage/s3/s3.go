// Package s3 stores states as objects in a bucket, one for each workspace, in the layout and
// with the locks of OpenTofu and Terraform: an object beside the state, an item in a DynamoDB
// table, or both.
//
// It owns these, the requests that they need, and how its arguments and the environment become
// credentials of the AWS SDK. It doesn't look into the states, or connect before anything is
// asked.
package s3

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/state/storage"
)

// A Backend is the states under a key and a prefix of a bucket.
type Backend struct {
	// Patience is how long to wait for a state that isn't yet what its digest says,
	// and Pause how long to wait before each further look.
	Patience, Pause time.Duration

	bucket, key, prefix string
	table               string // of DynamoDB, "" without
	lockFile            bool
	sealing             sealing
	acl                 string
	stateTags, lockTags map[string]string
	noChecksum          bool
	pathStyle           bool
	access              access
	agent               string

	mu     sync.Mutex
	opened *clients
}

// clients are the services, once the credentials are there.
type clients struct {
	bucket *bucket
	table  *table // nil without one
}

// open connects, once.
func (b *Backend) open(ctx context.Context) (*clients, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil {
		return b.opened, nil
	}
	config, err := b.access.load(ctx)
	if err != nil {
		return nil, err
	}
	c := &clients{}
	if c.bucket, err = openBucket(ctx, config, b.bucket, b.access.endpoints.s3, b.pathStyle); err != nil {
		return nil, err
	}
	if b.table != "" {
		if c.table, err = openTable(ctx, config, b.table, b.access.endpoints.dynamodb); err != nil {
			return nil, err
		}
	}
	c.bucket.agent, c.bucket.patience = b.agent, b.access.patience
	if c.table != nil {
		c.table.agent, c.table.patience = b.agent, b.access.patience
	}
	b.opened = c
	return c, nil
}

// Workspaces lists the states.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	c, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	prefix := ""
	if b.prefix != "" {
		prefix = b.prefix + "/"
	}
	var names []string
	err = c.bucket.list(ctx, prefix, func(key string) {
		name, rest, found := strings.Cut(strings.TrimPrefix(key, prefix), "/")
		if found && name != "" && rest == b.key && name != storage.DefaultWorkspace {
			names = append(names, name)
		}
	})
	if err != nil && code(err) != "AccessDenied" { // who uses the default workspace only need not be allowed to list
		return nil, b.explain(err)
	}
	slices.Sort(names)
	return append([]string{storage.DefaultWorkspace}, names...), nil
}

// CreateWorkspace makes the object of the workspace, unless it is there.
func (b *Backend) CreateWorkspace(ctx context.Context, name string) error {
	switch name {
	case storage.DefaultWorkspace:
		return nil
	case "":
		return errors.New("a workspace needs a name")
	}
	s := &store{b: b, path: b.path(name), seen: &seen{}}
	err := s.Write(ctx, []byte(storage.NoState))
	if errors.Is(err, storage.ErrChanged) {
		return nil
	}
	return err
}

// DeleteWorkspace removes the object of the workspace and its digest.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace || name == "" {
		return errors.New("can't delete default state")
	}
	c, err := b.open(ctx)
	if err != nil {
		return err
	}
	s := &store{b: b, path: b.path(name)}
	if err := c.bucket.remove(ctx, s.path); err != nil {
		return b.explain(err)
	}
	if err := s.SetNote(ctx, nil); err != nil && !errors.Is(err, storage.ErrNoNotes) {
		return err
	}
	if c.table == nil {
		return nil
	}
	return c.table.remove(ctx, s.digestID(), "")
}

// path is the key of a workspace's state.
func (b *Backend) path(name string) string {
	if name == storage.DefaultWorkspace {
		return b.key
	}
	return path.Join(b.prefix, name, b.key)
}

// Place is the object, with the address of the service where it isn't Amazon's.
func (b *Backend) Place(name string) string {
	return b.access.endpoints.s3 + " s3://" + b.bucket + "/" + b.path(name)
}

// State opens the state of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if name == "" {
		return nil, errors.New("a workspace needs a name")
	}
	return &store{b: b, path: b.path(name)}, nil
}

// explain adds what to do where the bucket isn't there.
func (b *Backend) explain(err error) error {
	if code(err) == noBucket {
		return fmt.Errorf("S3 bucket does not exist.\n\nThe bucket %q has to be there before states are kept in it. One that was made a moment ago may take a minute or two until it is found everywhere.\n\nError: %w", b.bucket, err)
	}
	return err
}

const noBucket = "NoSuchBucket"
