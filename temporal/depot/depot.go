// Package depot implements the store that workers share: bundles by their hash, and the files
// of each deployment, which are written only under a lease.
//
// It owns leases and their fencing numbers. It doesn't know what files mean.
package depot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Lease is the right to write the files of a name, until it ends or somebody else has taken
// it over. Each new lease of a name has a higher Fence, and the depot doesn't write under any
// but the last: the caller that was taken for dead can do nothing more.
type Lease struct {
	Name   string
	Holder string
	Fence  int64
	Until  time.Time
}

// A Depot keeps blobs and files. Names of files have no slashes; those of leases are
// words between slashes.
type Depot interface {
	// Put keeps a blob and returns its hash; Get is the blob of a hash.
	Put(ctx context.Context, blob []byte) (hash string, err error)
	Get(ctx context.Context, hash string) ([]byte, error)
	// Acquire takes the lease of a name for so long. It is a *HeldError while somebody
	// else has it.
	Acquire(ctx context.Context, name, holder string, long time.Duration) (Lease, error)
	// Renew has a lease last so long from now on. It is ErrFenced once somebody else has
	// had it.
	Renew(ctx context.Context, l Lease, long time.Duration) (Lease, error)
	// Release ends a lease before its time. Of one that was taken over nothing ends.
	Release(ctx context.Context, l Lease) error
	// Files are the files of a name, empty for none. They need no lease.
	Files(ctx context.Context, name string) (map[string][]byte, error)
	// Write replaces a file, or with from above 0 what it has from that byte on, which
	// has to be its end. When it returns the bytes are on the disk.
	Write(ctx context.Context, l Lease, file string, from int64, data []byte) error
	// Remove removes a file; that none exists is fine.
	Remove(ctx context.Context, l Lease, file string) error
	// Sign signs texts with the key of the depot, which is made when it is first needed and
	// never leaves it. Equal texts have equal signatures, so a client checks one by signing again.
	Sign(ctx context.Context, texts []string) (signatures []string, err error)
}

// ErrFenced is returned to the caller that had a lease that somebody else has had since.
var ErrFenced = errors.New("somebody else has taken over")

// ErrAbsent is returned for a blob that the depot doesn't have.
var ErrAbsent = errors.New("the store doesn't have it")

// A HeldError reports who has a lease.
type HeldError struct {
	Holder string
	Until  time.Time
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is at work on it, until %s unless it continues", e.Holder, e.Until.Format(time.TimeOnly))
}

// Wait is Acquire that waits as long as somebody else has the lease. Before it waits it asks whether
// to: an error ends it. The nil function always waits.
func Wait(ctx context.Context, d Depot, name, holder string, long time.Duration, still func(*HeldError) error) (Lease, error) {
	for {
		l, err := d.Acquire(ctx, name, holder, long)
		var held *HeldError
		if !errors.As(err, &held) {
			return l, err
		}
		if still != nil {
			if err := still(held); err != nil {
				return l, err
			}
		}
		select {
		case <-ctx.Done():
			return l, errors.Join(ctx.Err(), err)
		case <-time.After(max(50*time.Millisecond, min(time.Until(held.Until), time.Second))):
		}
	}
}

// Hold renews a lease until stop is called, or until it is lost: then the context ends,
// with why as its cause. Stop releases it.
func Hold(ctx context.Context, d Depot, l Lease, long time.Duration) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		until := time.Now().Add(long)
		for {
			select {
			case <-held.Done():
				return
			case <-time.After(long / 3):
			}
			_, err := d.Renew(held, l, long)
			switch {
			case err == nil:
				until = time.Now().Add(long)
			case errors.Is(err, ErrFenced) || time.Now().After(until):
				cancel(fmt.Errorf("the lease of %s is lost: %w", l.Name, err))
				return
			}
		}
	}()
	return held, func() {
		cancel(nil)
		<-ended
		last, done := context.WithTimeout(context.WithoutCancel(ctx), long)
		defer done()
		_ = d.Release(last, l) // else it ends by itself
	}
}

// Valid reports whether words can be part of the name of a lease or file.
func Valid(word string) bool {
	return word != "" && len(word) <= 200 && strings.Trim(word, ".") != "" && !strings.ContainsAny(word, "/\\\x00")
}

func check(name, file string) error {
	for word := range strings.SplitSeq(name, "/") {
		if !Valid(word) || strings.HasPrefix(word, ".") {
			return fmt.Errorf("%q can't be the name of a stack or deployment", name)
		}
	}
	if file != "" && (!Valid(file) || strings.HasPrefix(file, ".")) {
		return fmt.Errorf("%q can't be the name of a file", file)
	}
	return nil
}
