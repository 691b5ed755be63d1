package local

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
	"weir.dev/weir/internal/sys/durable"
)

func config(path, dir string) cty.Value {
	value := func(s string) cty.Value {
		if s == "" {
			return cty.NullVal(cty.String)
		}
		return cty.StringVal(s)
	}
	return cty.ObjectVal(map[string]cty.Value{"path": value(path), "workspace_dir": value(dir)})
}

func backend(t *testing.T, dir string) *Backend {
	t.Helper()
	b, diags := New(config("", ""), storage.Env{Dir: dir})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t *testing.T, b *Backend) *Store {
	t.Helper()
	s, err := b.State("default")
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Store)
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func lock(t *testing.T, s *Store) string {
	t.Helper()
	id, err := s.Lock(t.Context(), storage.NewLockInfo("test", "me@here", "1"))
	must(t, err)
	return id
}

// files lists a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSuite(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		dir := t.TempDir()
		return storagetest.Subject{Proof: true, New: func(t *testing.T) storage.Backend { return backend(t, dir) }}
	})
}

func TestPaths(t *testing.T) {
	for _, tt := range []struct {
		path, dir string
		override  storage.Override
		workspace string
		want      storage.Paths
	}{
		{"", "", storage.Override{}, "default", storage.Paths{In: "terraform.tfstate", Out: "terraform.tfstate", Backup: "terraform.tfstate.backup"}},
		{"", "", storage.Override{}, "dev", storage.Paths{In: "terraform.tfstate.d/dev/terraform.tfstate", Out: "terraform.tfstate.d/dev/terraform.tfstate", Backup: "terraform.tfstate.d/dev/terraform.tfstate.backup"}},
		{"s/a", "ws", storage.Override{}, "default", storage.Paths{In: "s/a", Out: "s/a", Backup: "s/a.backup"}},
		{"s/a", "ws", storage.Override{}, "dev", storage.Paths{In: "ws/dev/terraform.tfstate", Out: "ws/dev/terraform.tfstate", Backup: "ws/dev/terraform.tfstate.backup"}},
		{"s/a", "", storage.Override{State: "x"}, "default", storage.Paths{In: "x", Out: "x", Backup: "x.backup"}},
		{"", "", storage.Override{State: "x"}, "dev", storage.Paths{In: "x", Out: "x", Backup: "x.backup"}},
		{"", "", storage.Override{State: "x", StateOut: "y"}, "default", storage.Paths{In: "x", Out: "y", Backup: "y.backup"}},
		{"", "", storage.Override{StateOut: "y", Backup: "z"}, "default", storage.Paths{In: "terraform.tfstate", Out: "y", Backup: "z"}},
		{"", "", storage.Override{Backup: "-"}, "default", storage.Paths{In: "terraform.tfstate", Out: "terraform.tfstate", Backup: ""}},
	} {
		b, diags := New(config(tt.path, tt.dir), storage.Env{})
		must(t, diags.Err())
		if got := b.WithFiles(tt.override).(*Backend).Paths(tt.workspace); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
}

func TestBadConfig(t *testing.T) {
	empty := cty.StringVal("")
	b, diags := storage.TypeOf(Schema, New).New(cty.ObjectVal(map[string]cty.Value{"path": empty, "workspace_dir": empty}), storage.Env{})
	if b != nil || len(diags) != 2 || diags[0].Summary != "Invalid local state file path" || diags[1].Summary != "Invalid local workspace directory path" {
		t.Errorf("%v %v", b, diags)
	}
	for _, name := range []string{"..", "a/b", `a\b`, "."} {
		if _, err := backend(t, t.TempDir()).State(name); err == nil {
			t.Errorf("workspace %q was accepted", name)
		}
	}
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	path, old := filepath.Join(dir, StateFile), filepath.Join(dir, StateFile+BackupSuffix)
	s := open(t, backend(t, dir))
	must(t, s.Write(t.Context(), []byte("1")))
	if got := get(t, old); got != "(none)" {
		t.Errorf("backup of nothing: %s", got)
	}
	must(t, s.Write(t.Context(), []byte("2")))
	if got := get(t, old); got != "(none)" {
		t.Errorf("backup of what the same run wrote: %s", got)
	}

	s = open(t, backend(t, dir))
	id := lock(t, s)
	must(t, s.Write(t.Context(), []byte("2")))
	if got := get(t, old); got != "(none)" {
		t.Errorf("backup without a change: %s", got)
	}
	must(t, s.Write(t.Context(), []byte("3")))
	must(t, s.Write(t.Context(), []byte("4")))
	must(t, s.Unlock(t.Context(), id))
	if get(t, old) != "2" || get(t, path) != "4" {
		t.Errorf("backup %s, state %s", get(t, old), get(t, path))
	}

	s = open(t, backend(t, dir).WithFiles(storage.Override{Backup: "-"}).(*Backend))
	must(t, s.Write(t.Context(), []byte("5")))
	if get(t, old) != "2" {
		t.Errorf("backup %s", get(t, old))
	}
	s = open(t, backend(t, dir).WithFiles(storage.Override{Backup: "sub/b"}).(*Backend))
	must(t, s.Write(t.Context(), []byte("6")))
	if got := get(t, filepath.Join(dir, "sub/b")); got != "5" {
		t.Errorf("backup %s", got)
	}
}

func TestStateOut(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "in"), "in")
	put(t, filepath.Join(dir, "out"), "out")
	s := open(t, backend(t, dir).WithFiles(storage.Override{State: "in", StateOut: "out"}).(*Backend))
	id := lock(t, s)
	if got := get(t, filepath.Join(dir, ".out.lock.info")); !strings.Contains(got, `"Path":"in"`) {
		t.Errorf("lock info %s", got)
	}
	if got, err := s.Read(t.Context()); string(got) != "in" || err != nil {
		t.Errorf("read %s %v", got, err)
	}
	must(t, s.Write(t.Context(), []byte("new")))
	if got, err := s.Read(t.Context()); string(got) != "new" || err != nil {
		t.Errorf("after the write %s %v", got, err)
	}
	must(t, s.Unlock(t.Context(), id))
	if got := fmt.Sprint(get(t, filepath.Join(dir, "in")), get(t, filepath.Join(dir, "out")), get(t, filepath.Join(dir, "out.backup"))); got != "innewout" {
		t.Error(got)
	}
}

func TestFilesAfterwards(t *testing.T) {
	dir := t.TempDir()
	s := open(t, backend(t, dir))
	id := lock(t, s)
	if got := fmt.Sprint(files(t, dir)); got != "[.terraform.tfstate.lock.info terraform.tfstate]" {
		t.Errorf("locked: %s", got)
	}
	must(t, s.Unlock(t.Context(), id))
	if got := files(t, dir); got != nil {
		t.Errorf("after a lock without a write: %s", got)
	}
	id = lock(t, s)
	must(t, s.Write(t.Context(), []byte("1")))
	must(t, s.Write(t.Context(), []byte("2")))
	must(t, s.Unlock(t.Context(), id))
	if got := fmt.Sprint(files(t, dir)); got != "[terraform.tfstate]" {
		t.Errorf("after writes: %s", got)
	}
	// An empty file that was there before stays.
	put(t, filepath.Join(dir, StateFile), "")
	id = lock(t, s)
	must(t, s.Unlock(t.Context(), id))
	if got := fmt.Sprint(files(t, dir)); got != "[terraform.tfstate]" {
		t.Errorf("with an empty file: %s", got)
	}
	// The next run with a lock removes remains of a crash.
	for _, name := range []string{".terraform.tfstate.1" + tempSuffix, ".terraform.tfstate.1" + keepSuffix} {
		put(t, filepath.Join(dir, name), "x")
	}
	id = lock(t, s)
	must(t, s.Unlock(t.Context(), id))
	if got := fmt.Sprint(files(t, dir)); got != "[terraform.tfstate]" {
		t.Errorf("after a crash: %s", got)
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such permissions")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, StateFile)
	mode := func(path string) os.FileMode {
		info, err := os.Stat(path)
		must(t, err)
		return info.Mode().Perm()
	}
	s := open(t, backend(t, dir))
	must(t, s.Write(t.Context(), []byte("1")))
	if got := mode(path); got != 0o600 {
		t.Errorf("new file %o", got)
	}
	must(t, os.Chmod(path, 0o640))
	s = open(t, backend(t, dir))
	must(t, s.Write(t.Context(), []byte("2")))
	if got, backup := mode(path), mode(path+BackupSuffix); got != 0o640 || backup != 0o640 {
		t.Errorf("state %o, backup %o", got, backup)
	}
}

func TestSymlink(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	must(t, os.Symlink("real/state", filepath.Join(dir, StateFile)))
	s := open(t, backend(t, dir))
	for _, content := range []string{"1", "2"} {
		id := lock(t, s)
		must(t, s.Write(t.Context(), []byte(content)))
		must(t, s.Unlock(t.Context(), id))
		if got := get(t, filepath.Join(dir, "real/state")); got != content {
			t.Errorf("got %s", got)
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, StateFile)); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", info, err)
	}
	if got := fmt.Sprint(files(t, filepath.Join(dir, "real"))); got != "[state]" {
		t.Error(got)
	}
	must(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	s = open(t, backend(t, dir).WithFiles(storage.Override{State: "loop"}).(*Backend))
	if err := s.Write(t.Context(), []byte("1")); err == nil {
		t.Error("wrote through a loop")
	}
}

func TestForceUnlock(t *testing.T) {
	dir := t.TempDir()
	s := open(t, backend(t, dir))
	if err := s.Unlock(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "not locked") {
		t.Errorf("got %v", err)
	}
	left := storage.NewLockInfo("apply", "me@here", "1")
	put(t, filepath.Join(dir, ".terraform.tfstate.lock.info"), string(left.JSON()))
	var held *storage.LockError
	if err := s.Unlock(t.Context(), "x"); !errors.As(err, &held) || held.Holder == nil || held.Holder.ID != left.ID {
		t.Errorf("got %v", err)
	}
	must(t, s.Unlock(t.Context(), left.ID))
	if got := files(t, dir); got != nil {
		t.Errorf("left %v", got)
	}
	// A lock that is in use can't be broken.
	other := open(t, backend(t, dir))
	id := lock(t, other)
	if err := s.Unlock(t.Context(), id); err == nil || !strings.Contains(err.Error(), "cannot be unlocked by another process") {
		t.Errorf("got %v", err)
	}
	must(t, other.Unlock(t.Context(), id))
}

func TestDamagedLockInfo(t *testing.T) {
	dir := t.TempDir()
	s := open(t, backend(t, dir))
	id := lock(t, s)
	put(t, filepath.Join(dir, ".terraform.tfstate.lock.info"), "{")
	_, err := open(t, backend(t, dir)).Lock(t.Context(), storage.LockInfo{})
	var held *storage.LockError
	if !errors.As(err, &held) || held.Holder != nil {
		t.Errorf("got %v", err)
	}
	must(t, s.Unlock(t.Context(), id))
}

// A peer is another process that locks as OpenTofu does, by record locks on
// one descriptor that it opened first, and writes in place.
type peer struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
}

func startPeer(t *testing.T, path string) *peer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PEER_STATE="+path)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	p := &peer{t, in, bufio.NewScanner(out)}
	p.want("", "ready")
	return p
}

func (p *peer) want(command, answer string) {
	p.t.Helper()
	if command != "" {
		fmt.Fprintln(p.in, command)
	}
	if !p.out.Scan() || p.out.Text() != answer {
		p.t.Fatalf("%q answered %q, want %q", command, p.out.Text(), answer)
	}
}

// The run of OpenTofu waits with a file that it opened before we wrote.
func TestPeerThatWaits(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, StateFile)
	for _, before := range []string{"(none)", "0"} {
		if before != "(none)" {
			put(t, path, before)
		}
		s := open(t, backend(t, dir))
		id := lock(t, s)
		p := startPeer(t, path)
		p.want("lock", "resource temporarily unavailable")
		for _, content := range []string{"1", "a much longer content", "22"} {
			must(t, s.Write(t.Context(), []byte(content)))
			p.want("lock", "resource temporarily unavailable")
			startPeer(t, path).want("lock", "resource temporarily unavailable")
		}
		must(t, s.Unlock(t.Context(), id))
		p.want("lock", "<nil>")
		p.want("read", "22")
		_, err := s.Lock(t.Context(), storage.LockInfo{})
		if !errors.As(err, new(*storage.LockError)) {
			t.Fatalf("got %v", err)
		}
		p.want("write peer", "<nil>")
		p.want("unlock", "<nil>")
		id = lock(t, s)
		if got, err := s.Read(t.Context()); err != nil || string(got) != "peer" {
			t.Fatalf("read %q %v", got, err)
		}
		must(t, s.Unlock(t.Context(), id))
	}
}

// The other way round, with a process that dies.
func TestPeerThatHolds(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, StateFile)
	p := startPeer(t, path)
	p.want("lock", "<nil>")
	info := storage.NewLockInfo("peer", "you@there", "2")
	put(t, filepath.Join(dir, ".terraform.tfstate.lock.info"), string(info.JSON()))
	s := open(t, backend(t, dir))
	_, err := s.Lock(t.Context(), storage.LockInfo{})
	var held *storage.LockError
	if !errors.As(err, &held) || held.Holder == nil || held.Holder.Who != "you@there" {
		t.Fatalf("got %v", err)
	}
	p.in.Close() // the reference ends without a word
	id, _, err := storage.Acquire(t.Context(), s, storage.NewLockInfo("test", "me@here", "1"), storage.Taking{Timeout: 10 * time.Second})
	must(t, err)
	must(t, s.Unlock(t.Context(), id))
}

// A lock isn't lost when something else in the process closes the file.
func TestOtherDescriptors(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("locks of open files are Linux's")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, StateFile)
	put(t, path, "0")
	s := open(t, backend(t, dir))
	id := lock(t, s)
	get(t, path)
	startPeer(t, path).want("lock", "resource temporarily unavailable")
	must(t, s.Unlock(t.Context(), id))
}

// When something replaced the file that we locked, what we write still gets
// to the path, and is locked.
func TestReplacedUnderLock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, StateFile)
	put(t, path, "0")
	s := open(t, backend(t, dir))
	id := lock(t, s)
	put(t, path+".x", "editor")
	must(t, os.Rename(path+".x", path))
	must(t, s.Write(t.Context(), []byte("1")))
	if got := get(t, path); got != "1" {
		t.Errorf("got %s", got)
	}
	startPeer(t, path).want("lock", "resource temporarily unavailable")
	put(t, path+".x", "editor")
	must(t, os.Rename(path+".x", path))
	if err := s.Write(t.Context(), []byte("2")); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("what the editor wrote is lost: %v", err)
	}
	if got, err := s.Read(t.Context()); err != nil || string(got) != "editor" {
		t.Errorf("read %s %v", got, err)
	}
	must(t, s.Write(t.Context(), []byte("2")))
	must(t, s.Unlock(t.Context(), id))
	if got := get(t, path); got != "2" || slices.Contains(files(t, dir), ".terraform.tfstate.lock.info") {
		t.Errorf("got %s, %v", got, files(t, dir))
	}
	startPeer(t, path).want("lock", "<nil>")
}

func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "x")
	s := open(t, backend(t, dir).WithFiles(storage.Override{State: "file/state"}).(*Backend))
	if err := s.Write(t.Context(), []byte("1")); err == nil {
		t.Error("wrote below a file")
	}
	if _, err := s.Lock(t.Context(), storage.LockInfo{}); err == nil || errors.As(err, new(*storage.LockError)) {
		t.Errorf("got %v", err)
	}
	must(t, os.MkdirAll(filepath.Join(dir, "full", StateFile, "x"), 0o755))
	s = open(t, backend(t, filepath.Join(dir, "full")))
	if err := s.Write(t.Context(), []byte("1")); err == nil {
		t.Error("wrote over a folder")
	}
	if got := files(t, filepath.Join(dir, "full")); len(got) != 1 {
		t.Errorf("left %v", got)
	}
}

// TestOldFile: where the old file doesn't get the new content, the new file stays in its place,
// and the lock with it.
func TestOldFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files that are open aren't replaced there")
	}
	for name, tt := range map[string]struct {
		fails  durable.Kind
		opened string // what a reader has that has opened the file before
	}{
		"no second names":    {durable.Link, "0"},
		"the disk gets full": {durable.Write, "torn"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, StateFile)
			put(t, path, "0")
			reader, err := os.Open(path)
			must(t, err)
			defer reader.Close()
			s := open(t, backend(t, dir))
			s.disk = &durable.Disk{}
			id := lock(t, s)
			s.disk.Before = func(c durable.Change) error {
				if c.Kind != tt.fails || c.Path != path {
					return nil
				}
				if c.File != nil {
					_, err := c.File.WriteAt([]byte("torn"), 0)
					return errors.Join(err, errors.New("no space left"))
				}
				return errors.New("not supported")
			}
			must(t, s.Write(t.Context(), []byte("1")))
			startPeer(t, path).want("lock", "resource temporarily unavailable")
			if got := get(t, path); got != "1" {
				t.Errorf("got %s", got)
			}
			if got, err := io.ReadAll(reader); err != nil || string(got) != tt.opened {
				t.Errorf("the old file has %q, %v", got, err)
			}
			s.disk.Before = nil
			must(t, s.Write(t.Context(), []byte("2")))
			must(t, s.Unlock(t.Context(), id))
			if got := get(t, path); got != "2" || fmt.Sprint(files(t, dir)) != "[terraform.tfstate terraform.tfstate.backup]" {
				t.Errorf("got %s, %v", got, files(t, dir))
			}
		})
	}
}

// TestWriteAfterFailedRead: a read that failed says nothing about what a write replaces.
func TestWriteAfterFailedRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, StateFile)
	must(t, os.Mkdir(path, 0o755))
	s := open(t, backend(t, dir))
	if got, err := s.Read(t.Context()); err == nil {
		t.Fatalf("a folder was read: %q", got)
	}
	must(t, os.Remove(path))
	put(t, path, "0")
	must(t, s.Write(t.Context(), []byte("1")))
	if got := get(t, path); got != "1" {
		t.Errorf("got %s", got)
	}
}

// Where there is no state, the lock holds on to one that means nothing.
func TestPlaceholder(t *testing.T) {
	const placeholder, other = `{"serial":0}`, `{"serial":0,"lineage":"x"}`
	dir := t.TempDir()
	path := filepath.Join(dir, StateFile)
	s := open(t, backend(t, dir))
	must(t, s.Placeholder([]byte(placeholder)))
	id := lock(t, s)
	wantRead := func(s *Store, want string) {
		t.Helper()
		if got, err := s.Read(t.Context()); err != nil || string(got) != want {
			t.Errorf("read %q %v, want %q", got, err, want)
		}
	}
	wantRead(s, "")
	wantRead(open(t, backend(t, dir)), placeholder)
	startPeer(t, path).want("lock", "resource temporarily unavailable")
	must(t, s.Unlock(t.Context(), id))
	if got := files(t, dir); got != nil {
		t.Errorf("after a lock without a write: %s", got)
	}

	// A run that is killed leaves it behind.
	lock(t, s)
	must(t, s.held.release())
	next := open(t, backend(t, dir))
	must(t, next.Placeholder([]byte(other)))
	id = lock(t, next)
	wantRead(next, placeholder)
	must(t, next.Placeholder([]byte(placeholder))) // the caller has found out that it means nothing
	must(t, next.Write(t.Context(), []byte("1")))
	must(t, next.Unlock(t.Context(), id))
	if got := fmt.Sprint(files(t, dir)); got != "[terraform.tfstate]" {
		t.Errorf("after the next run: %s", got)
	}
}

// Many runs begin at the same time where there is no state.
func TestFirstLocks(t *testing.T) {
	dir := t.TempDir()
	var stores []*Store
	for range 8 {
		s := open(t, backend(t, dir))
		must(t, s.Placeholder([]byte("{}")))
		stores = append(stores, s)
	}
	for range 20 {
		var wg sync.WaitGroup
		var taken atomic.Int32
		ids := make([]string, len(stores))
		for n, s := range stores {
			wg.Go(func() {
				id, err := s.Lock(t.Context(), storage.NewLockInfo("test", "me@here", "1"))
				if err == nil {
					taken.Add(1)
					ids[n] = id
				} else if !errors.As(err, new(*storage.LockError)) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := taken.Load(); n != 1 {
			t.Fatalf("%d have the lock", n)
		}
		for n, id := range ids {
			if id != "" {
				must(t, stores[n].Unlock(t.Context(), id))
			}
		}
	}
	if got := files(t, dir); got != nil {
		t.Errorf("left %v", got)
	}
}

// TestLockInfoLink: the information about the lock isn't written through a link.
func TestLockInfoLink(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, ".terraform.tfstate.lock.info")); err != nil {
		t.Skip(err)
	}
	s := &Store{in: filepath.Join(dir, "terraform.tfstate"), out: filepath.Join(dir, "terraform.tfstate")}
	id, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Unlock(t.Context(), id); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("%q %v", text, err)
	}
}

// TestJournalPath: the journal is beside the state, wherever the process is.
func TestJournalPath(t *testing.T) {
	for dir, want := range map[string]string{"/infra": "/infra/terraform.tfstate.journal", ".": "terraform.tfstate.journal"} {
		b, diags := New(Schema().EmptyValue(), storage.Env{Dir: filepath.FromSlash(dir)})
		if b == nil {
			t.Fatal(diags.Err())
		}
		if got := filepath.ToSlash(b.JournalPath("default")); got != want {
			t.Errorf("in %s: %s, want %s", dir, got, want)
		}
	}
}

// TestRestore: a state that a killed run was overwriting gets the complete copy beside it. A
// complete state, and one that is damaged otherwise, stay as they are.
func TestRestore(t *testing.T) {
	for _, test := range []struct{ state, beside, want string }{
		{`{"serial": 2, "resour`, `{"serial": 2}`, `{"serial": 2}`},
		{`{"serial": 1}`, `{"serial": 2}`, `{"serial": 1}`},
		{`{"serial": 1`, `{"serial"`, `{"serial": 1`},
		{`{"serial": 1`, "", `{"serial": 1`},
	} {
		path := filepath.Join(t.TempDir(), "terraform.tfstate")
		put(t, path, test.state)
		if test.beside != "" {
			put(t, filepath.Join(filepath.Dir(path), tempPrefix(path)+"1"+tempSuffix), test.beside)
		}
		file, err := (*durable.Disk)(nil).OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		err = restore(path, file)
		file.Close()
		if got, readErr := os.ReadFile(path); err != nil || readErr != nil || string(got) != test.want {
			t.Errorf("%s beside %s became %s (%v)", test.state, test.beside, got, errors.Join(err, readErr))
		}
	}
}
