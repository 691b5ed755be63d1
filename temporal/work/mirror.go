package work

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/temporal/depot"
)

// A mirror has all that happens to the files of a deployment happen in the depot first: the
// state, and the journal up to the record that somebody waits for. So nothing is asked of a
// provider that another machine wouldn't know of, and the caller that has lost the lease can't
// go on.
type mirror struct {
	ctx    context.Context
	depot  depot.Depot
	lease  depot.Lease
	folder string

	mu   sync.Mutex
	sent map[string]string // the hash of what the depot has of a file
	size map[string]int64  // of a file that is added to
}

// fill puts what the depot has into the folder, in place of what is there.
func (m *mirror) fill() error {
	files, err := m.depot.Files(m.ctx, m.lease.Name)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(m.folder); err != nil {
		return err
	}
	if err := os.MkdirAll(m.folder, 0o700); err != nil {
		return err
	}
	m.sent, m.size = map[string]string{}, map[string]int64{}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(m.folder, name), data, 0o600); err != nil {
			return err
		}
		m.sent[name] = depot.Hash(data)
	}
	return nil
}

// disk is the disk to change the folder with.
func (m *mirror) disk() *durable.Disk { return &durable.Disk{Before: m.before} }

// fresh ends the name of a file that takes the place of another one, and is written to
// by that name afterwards, too.
const fresh = ".new"

// name is the name of a file of the deployment, empty for others and for those that
// are there for a moment.
func (m *mirror) name(path string) string {
	name, err := filepath.Rel(m.folder, path)
	if err != nil || filepath.Base(name) != name || strings.HasPrefix(name, ".") || strings.HasSuffix(name, fresh) {
		return ""
	}
	return name
}

func (m *mirror) before(c durable.Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch c.Kind {
	case durable.Move:
		if name := m.name(c.To); name != "" {
			return m.put(name, c.Path)
		}
	case durable.Sync:
		// The journal: what was added since.
		path := strings.TrimSuffix(c.Path, fresh)
		if name := m.name(path); name != "" && m.size[name] > 0 {
			return m.add(name, path)
		}
	case durable.Remove:
		if name := m.name(c.Path); name != "" && m.sent[name] != "" {
			if err := m.depot.Remove(m.ctx, m.lease, name); err != nil {
				return err
			}
			delete(m.sent, name)
			delete(m.size, name)
		}
	}
	return nil
}

// put sends a file that is about to get its name.
func (m *mirror) put(name, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	hash := depot.Hash(data)
	if m.sent[name] == hash {
		return nil
	}
	if err := m.depot.Write(m.ctx, m.lease, name, 0, data); err != nil {
		return err
	}
	m.sent[name], m.size[name] = hash, int64(len(data))
	return nil
}

// add sends what a file has more than was sent.
func (m *mirror) add(name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	n := info.Size() - m.size[name]
	if n <= 0 {
		return nil
	}
	more := make([]byte, n)
	if _, err := f.ReadAt(more, m.size[name]); err != nil {
		return err
	}
	if err := m.depot.Write(m.ctx, m.lease, name, m.size[name], more); err != nil {
		return err
	}
	m.sent[name] = "added to"
	m.size[name] += n
	return nil
}

// private makes a folder that nobody else can look into.
func private(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.Chmod(folder, fs.FileMode(0o700))
}
