package depot

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"weir.dev/weir/internal/sys/durable"
)

// A Dir is a depot in a directory, which several processes of a machine may use. The
// files of a name are below "stacks", as they are beside a stack that is run without a
// depot.
type Dir struct {
	Root string
	// Now is the clock that leases end by; nil is the system's.
	Now func() time.Time
}

const leaseFile = ".lease"

func (d *Dir) now() time.Time {
	if d.Now != nil {
		return d.Now()
	}
	return time.Now()
}

func (d *Dir) blob(hash string) string { return filepath.Join(d.Root, "blobs", hash[:2], hash) }

func (d *Dir) folder(name string) string {
	return filepath.Join(d.Root, "stacks", filepath.FromSlash(name))
}

// Hash is how a blob is called.
func Hash(blob []byte) string {
	sum := sha256.Sum256(blob)
	return hex.EncodeToString(sum[:])
}

// Put implements Depot.
func (d *Dir) Put(_ context.Context, blob []byte) (string, error) {
	hash := Hash(blob)
	path := d.blob(hash)
	if _, err := os.Stat(path); err == nil {
		return hash, nil
	}
	if err := (*durable.Disk)(nil).MakeFolders(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return hash, durable.Replace(path, blob, 0o600)
}

// Get implements Depot.
func (d *Dir) Get(_ context.Context, hash string) ([]byte, error) {
	if raw, err := hex.DecodeString(hash); err != nil || len(raw) != sha256.Size {
		return nil, fmt.Errorf("%q is no hash", hash)
	}
	blob, err := os.ReadFile(d.blob(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrAbsent
	}
	if err == nil && Hash(blob) != hash {
		err = fmt.Errorf("%s was changed", d.blob(hash))
	}
	return blob, err
}

// alone does something to a name while no other process does.
func (d *Dir) alone(name string, do func(folder string) error) error {
	if err := check(name, ""); err != nil {
		return err
	}
	return locked(d.folder(name), do)
}

// locked does something in a folder while no other process does.
func locked(folder string, do func(folder string) error) error {
	if err := (*durable.Disk)(nil).MakeFolders(folder, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(folder, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return do(folder)
}

func readLease(folder string) (Lease, error) {
	var l Lease
	data, err := os.ReadFile(filepath.Join(folder, leaseFile))
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	return l, err
}

func writeLease(folder string, l Lease) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(folder, leaseFile), data, 0o600)
}

// Acquire implements Depot.
func (d *Dir) Acquire(_ context.Context, name, holder string, long time.Duration) (l Lease, err error) {
	err = d.alone(name, func(folder string) error {
		before, err := readLease(folder)
		if err != nil {
			return err
		}
		if now := d.now(); before.Until.After(now) {
			return &HeldError{before.Holder, before.Until}
		}
		l = Lease{name, holder, before.Fence + 1, d.now().Add(long)}
		return writeLease(folder, l)
	})
	return l, err
}

// under does something under a lease that is still the last one.
func (d *Dir) under(l Lease, do func(folder string) error) error {
	return d.alone(l.Name, func(folder string) error {
		now, err := readLease(folder)
		if err != nil {
			return err
		}
		if now.Fence != l.Fence || now.Holder != l.Holder {
			return ErrFenced
		}
		return do(folder)
	})
}

// Renew implements Depot.
func (d *Dir) Renew(_ context.Context, l Lease, long time.Duration) (Lease, error) {
	err := d.under(l, func(folder string) error {
		l.Until = d.now().Add(long)
		return writeLease(folder, l)
	})
	return l, err
}

// Release implements Depot.
func (d *Dir) Release(_ context.Context, l Lease) error {
	err := d.under(l, func(folder string) error {
		l.Until = time.Time{}
		return writeLease(folder, l)
	})
	if errors.Is(err, ErrFenced) {
		return nil
	}
	return err
}

// Files implements Depot.
func (d *Dir) Files(_ context.Context, name string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := d.alone(name, func(folder string) error {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || check("x", e.Name()) != nil {
				continue
			}
			if files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
		return nil
	})
	return files, err
}

// Write implements Depot.
func (d *Dir) Write(_ context.Context, l Lease, file string, from int64, data []byte) error {
	if err := check(l.Name, file); err != nil {
		return err
	}
	return d.under(l, func(folder string) error {
		path := filepath.Join(folder, file)
		if from <= 0 {
			return durable.Replace(path, data, 0o600)
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		// More may be there of a request whose answer was lost.
		if info.Size() < from {
			return fmt.Errorf("%s has %d bytes, and those from %d on were to be added", path, info.Size(), from)
		}
		if _, err = f.WriteAt(data, from); err == nil {
			err = f.Sync()
		}
		return err
	})
}

// Remove implements Depot.
func (d *Dir) Remove(_ context.Context, l Lease, file string) error {
	if err := check(l.Name, file); err != nil {
		return err
	}
	return d.under(l, func(folder string) error {
		err := os.Remove(filepath.Join(folder, file))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		durable.SyncFolder(folder)
		return err
	})
}

// keyFile has the key of signatures, in the root of the depot.
const keyFile = "key"

// key reads the key, and makes it if it is missing.
func (d *Dir) key() (key []byte, err error) {
	err = locked(d.Root, func(folder string) error {
		path := filepath.Join(folder, keyFile)
		key, err = os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			key = make([]byte, sha256.Size)
			if _, err := rand.Read(key); err != nil {
				return err
			}
			return durable.Replace(path, key, 0o600)
		case err == nil && len(key) != sha256.Size:
			// With another key every approval that was given is worthless, which is safe.
			return fmt.Errorf("%s is damaged. Remove it, and let people approve again what waits", path)
		}
		return err
	})
	return key, err
}

// Sign implements Depot.
func (d *Dir) Sign(_ context.Context, texts []string) ([]string, error) {
	key, err := d.key()
	if err != nil {
		return nil, err
	}
	list := make([]string, len(texts))
	for i, text := range texts {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		list[i] = hex.EncodeToString(h.Sum(nil))
	}
	return list, nil
}
