package simulation

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"weir.dev/weir/internal/sys/durable"
)

// A disk knows of the files of a machine what is certain to be there after the
// machine has failed: of each file what was in it when it was synced last, of each
// folder the names that it had then.
type disk struct {
	mu    sync.Mutex
	root  *node
	dir   string
	files map[*os.File]*node
	made  uint64
	// changes counts what was done to the disk, by anyone.
	changes int
}

func (d *disk) changed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changes
}

// A node is a file or a folder.
type node struct {
	number uint64
	// Of files: content that is on the disk, and the last that was seen of one that has
	// no name any more.
	synced, last []byte
	// Of folders: names on the disk, names as they are, and what leads from the first
	// to the second.
	folder       bool
	durable, now []entry
	pending      []entry
}

// An entry is a name in a folder; without a node it is removed.
type entry struct {
	name string
	node *node
}

func newDisk(dir string) *disk {
	return &disk{dir: dir, root: &node{folder: true}, files: map[*os.File]*node{}}
}

func (d *disk) newNode() *node {
	d.made++
	return &node{number: d.made}
}

func set(list []entry, name string, n *node) []entry {
	list = slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return e.name == name })
	if n != nil {
		list = append(list, entry{name, n})
	}
	return list
}

func get(list []entry, name string) *node {
	for _, e := range list {
		if e.name == name {
			return e.node
		}
	}
	return nil
}

// folder is that of a path, which is made known if it was made by others.
func (d *disk) folder(path string) *node {
	if path == d.dir || len(path) < len(d.dir) {
		return d.root
	}
	parent, name := d.folder(filepath.Dir(path)), filepath.Base(path)
	n := get(parent.now, name)
	if n == nil {
		n = d.newNode()
		n.folder = true
		parent.now = set(parent.now, name, n)
		parent.durable = set(parent.durable, name, n)
	}
	return n
}

// at is what has a path, nil for nothing.
func (d *disk) at(path string) *node {
	parent, name := d.folder(filepath.Dir(path)), filepath.Base(path)
	n := get(parent.now, name)
	if n == nil {
		if content, err := os.ReadFile(path); err == nil {
			n = d.newNode()
			n.synced = content
			parent.now, parent.durable = set(parent.now, name, n), set(parent.durable, name, n)
		}
	}
	return n
}

// name gives a path to a node, or takes it away.
func (d *disk) name(path string, n *node) {
	parent, name := d.folder(filepath.Dir(path)), filepath.Base(path)
	if was := get(parent.now, name); was != nil && !was.folder {
		was.last, _ = os.ReadFile(path)
	}
	parent.now = set(parent.now, name, n)
	parent.pending = append(parent.pending, entry{name, n})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// change is notified of a change that is about to be made.
func (d *disk) change(c durable.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	switch c.Kind {
	case durable.Sync:
		if n := d.files[c.File]; n != nil {
			n.synced = contentOf(c.File)
		}
	case durable.Move:
		if n := d.at(c.Path); n != nil {
			d.name(c.To, n)
			parent, name := d.folder(filepath.Dir(c.Path)), filepath.Base(c.Path)
			parent.now = set(parent.now, name, nil)
			parent.pending = append(parent.pending, entry{name, nil})
		}
	case durable.Link:
		if n := d.at(c.Path); n != nil && !exists(c.To) {
			d.name(c.To, n)
		}
	case durable.Remove:
		if exists(c.Path) {
			d.at(c.Path)
			d.name(c.Path, nil)
		}
	case durable.Folder:
		var missing []string
		for at := c.Path; !exists(at); at = filepath.Dir(at) {
			missing = append(missing, at)
		}
		for _, at := range slices.Backward(missing) {
			n := d.newNode()
			n.folder = true
			d.name(at, n)
		}
	case durable.FolderSync:
		f := d.folder(c.Path)
		f.durable, f.pending = f.now, nil
	}
}

func contentOf(file *os.File) []byte {
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	content := make([]byte, info.Size())
	n, _ := file.ReadAt(content, 0)
	return content[:n]
}

// opened is notified of a file that was opened.
func (d *disk) opened(file *os.File, before bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, name := d.folder(filepath.Dir(file.Name())), filepath.Base(file.Name())
	n := get(parent.now, name)
	if n == nil {
		n = d.newNode()
		if before { // by others
			n.synced = contentOf(file)
			parent.now, parent.durable = set(parent.now, name, n), set(parent.durable, name, n)
		} else {
			d.name(file.Name(), n)
		}
	}
	d.files[file] = n
}

// put is notified of a file that somebody else has written, and has synced: with its name,
// also where that is ours and wasn't on the disk yet.
func (d *disk) put(path string, content []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	n := d.at(path)
	n.synced = content
	parent, name := d.folder(filepath.Dir(path)), filepath.Base(path)
	parent.durable = set(parent.durable, name, n)
	parent.pending = slices.DeleteFunc(parent.pending, func(e entry) bool { return e.name == name })
}

// gone is notified of a file or folder that somebody has removed for good.
func (d *disk) gone(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	parent, name := d.folder(filepath.Dir(filepath.Join(d.dir, path))), filepath.Base(path)
	parent.now, parent.durable = set(parent.now, name, nil), set(parent.durable, name, nil)
	parent.pending = slices.DeleteFunc(parent.pending, func(e entry) bool { return e.name == name })
}

// fail leaves what the disk has after the machine has failed, which is one of many
// possibilities.
func (d *disk) fail(seed uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	contents := map[*node][]byte{}
	d.read(d.root, d.dir, contents)
	for _, e := range must(os.ReadDir(d.dir)) {
		_ = os.RemoveAll(filepath.Join(d.dir, e.Name()))
	}
	d.files = map[*os.File]*node{}
	d.restore(d.root, d.dir, contents, map[*node]string{}, seed)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// read finds what files that have a name contain now.
func (d *disk) read(f *node, path string, contents map[*node][]byte) {
	for _, e := range f.now {
		at := filepath.Join(path, e.name)
		if e.node.folder {
			d.read(e.node, at, contents)
		} else if content, err := os.ReadFile(at); err == nil {
			contents[e.node] = content
		}
	}
}

// restore makes the folder again: as it was synced, with a part of what was done to its names
// since. Files that have several names keep them: made has the first.
func (d *disk) restore(f *node, path string, contents map[*node][]byte, made map[*node]string, seed uint64) {
	random := rand.New(rand.NewPCG(seed, f.number))
	names := f.durable
	kept := len(f.pending)
	if random.IntN(3) > 0 {
		kept = random.IntN(len(f.pending) + 1)
	}
	for _, e := range f.pending[:kept] {
		names = set(names, e.name, e.node)
	}
	f.now, f.durable, f.pending = names, names, nil
	for _, e := range names {
		at := filepath.Join(path, e.name)
		if e.node.folder {
			if err := os.MkdirAll(at, 0o755); err != nil {
				panic(err)
			}
			d.restore(e.node, at, contents, made, seed)
			continue
		}
		if first := made[e.node]; first != "" {
			if err := os.Link(first, at); err != nil {
				panic(err)
			}
			continue
		}
		made[e.node] = at
		now, there := contents[e.node]
		if !there {
			now = e.node.last
		}
		e.node.synced = torn(rand.New(rand.NewPCG(seed, e.node.number)), e.node.synced, now)
		if err := os.WriteFile(at, e.node.synced, 0o600); err != nil {
			panic(err)
		}
	}
}

// torn is what may be left of a file that was synced with one content and has
// another one since.
func torn(random *rand.Rand, synced, now []byte) []byte {
	if bytes.Equal(synced, now) {
		return now
	}
	switch random.IntN(4) {
	case 0:
		return synced
	case 1:
		return now
	}
	n := random.IntN(len(now) + 1)
	if more, ok := bytes.CutPrefix(now, synced); ok {
		n = len(synced) + random.IntN(len(more)+1)
	}
	left := slices.Clone(now[:n])
	if n < len(synced) {
		left = append(left, synced[n:]...)
	}
	return left
}
