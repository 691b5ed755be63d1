package lockedstate

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/storage/backends"
	"weir.dev/weir/internal/state/storage/http"
	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/workspace/statebackend"
)

// A crowd is the processes of a machine: this one, and those that have ended.
type crowd struct {
	this string
	gone map[string]bool
}

func (c crowd) This() string          { return c.this }
func (c crowd) Gone(info string) bool { return c.gone[info] }
func (c crowd) Exclude(context.Context, string) (func(), error) {
	return func() {}, nil
}

// at opens the state behind address as a process that has a data directory.
func at(t *testing.T, address, dir string, who crowd, said *diag.List) *Session {
	t.Helper()
	config := http.Schema().EmptyValue().AsValueMap()
	for _, name := range []string{"address", "lock_address", "unlock_address"} {
		config[name] = cty.StringVal(address)
	}
	b, diags := statebackend.Opener{Types: backends.All()}.Open("http", cty.ObjectVal(config), nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	s, diags := Open(b, "default", Options{
		Dir: dir, DataDir: dir, Program: "weir", Version: "1.2.3", Processes: who,
		Notice: func(string) {}, Problem: func(l diag.List) { *said = append(*said, l...) },
	})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return s
}

// TestStaysLocked: as long as something is in doubt that only one directory knows of, nobody
// else gets the lock, and the caller that continues there never lets it go before.
func TestStaysLocked(t *testing.T) {
	server := &testservers.HTTP{}
	web := httptest.NewServer(server)
	defer web.Close()
	dir, said := t.TempDir(), diag.List{}
	gone := map[string]bool{}
	run := func(dir, process string) (*Claimed, error) {
		t.Helper()
		said = nil
		s, diags := at(t, web.URL, dir, crowd{process, gone}, &said).Lock(t.Context(), "apply", Locking{})
		if diags.HasErrors() {
			return nil, diags.Err()
		}
		if diags := s.Read(t.Context()); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		return s, nil
	}
	end := func(s *Claimed, process string, stays bool) {
		t.Helper()
		s.Unlock()
		gone[process] = true
		if server.Locked() != stays || stays != (len(said) == 1 && said[0].Summary == "The state stays locked") {
			t.Errorf("%s: locked %v, says %v", process, server.Locked(), said)
		}
	}

	first, err := run(dir, "one")
	if err != nil {
		t.Fatal(err)
	}
	doubt := journal.Operation{Object: addr.Object{Instance: instance(t, "a.b")}, Action: journal.Create}
	if err := first.Settle([]journal.Operation{doubt}); err != nil {
		t.Fatal(err)
	}
	end(first, "one", true)

	if _, err := run(t.TempDir(), "elsewhere"); err == nil || !strings.Contains(err.Error(), "its journal isn't in") {
		t.Errorf("in another directory: %v", err)
	}
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := run(copied, "copy"); err == nil || !strings.Contains(err.Error(), "its journal isn't in") {
		t.Errorf("in a copy of the directory: %v", err)
	}

	// The next run continues with the lock, without a request that releases it.
	before := len(server.Log())
	second, err := run(dir, "two")
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range server.Log()[before:] {
		if strings.HasPrefix(request, "UNLOCK") {
			t.Error("there is a moment without the lock")
		}
	}
	if len(second.Doubts()) != 1 {
		t.Errorf("doubts: %v", second.Doubts())
	}
	// As long as it runs nobody else does.
	if _, err := run(dir, "three"); err == nil || !strings.Contains(err.Error(), "(two) has taken the lock over") {
		t.Errorf("beside it: %v", err)
	}
	// When it has ended, the same process may begin again: recover imports, and then resolves.
	second.Unlock()
	if second, err = run(dir, "two"); err != nil {
		t.Fatal(err)
	}
	end(second, "two", true)

	fourth, err := run(dir, "four")
	if err != nil {
		t.Fatal(err)
	}
	if err := fourth.Settle(nil); err != nil {
		t.Fatal(err)
	}
	end(fourth, "four", false)
	if left, _ := filepath.Glob(filepath.Join(dir, "journals", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestClonedMachine: a machine that was copied while it ran has the host's name, the boot
// and the namespaces of the other one, so that a process there which still runs looks as if
// it had ended. Only its directory knows its results, so its lock isn't taken over,
// also where the copy has the directory as it was.
func TestClonedMachine(t *testing.T) {
	server := &testservers.HTTP{}
	web := httptest.NewServer(server)
	defer web.Close()
	var said diag.List
	lock := func(dir, process string) (*Claimed, error) {
		t.Helper()
		s, diags := at(t, web.URL, dir, crowd{process, map[string]bool{"earlier": true, "running": true}}, &said).Lock(t.Context(), "apply", Locking{})
		return s, diags.Err()
	}
	dir, copied := t.TempDir(), t.TempDir()
	earlier, err := lock(dir, "earlier")
	if err != nil {
		t.Fatal(err)
	}
	earlier.Unlock()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	running, err := lock(dir, "running")
	if err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"the directory as it was": copied, "another one": t.TempDir()} {
		if _, err := lock(dir, "on the copy"); err == nil || !strings.Contains(err.Error(), "its journal isn't in") || !server.Locked() {
			t.Errorf("in %s: %v", name, err)
		}
	}
	running.Unlock()
	after, err := lock(copied, "on the copy")
	if err != nil {
		t.Fatal(err)
	}
	after.Unlock()
}

// TestHeldNotNoted: no lock is taken where it can't be noted which process has it.
func TestHeldNotNoted(t *testing.T) {
	server := &testservers.HTTP{}
	web := httptest.NewServer(server)
	defer web.Close()
	var said diag.List
	s := at(t, web.URL, t.TempDir(), crowd{"one", nil}, &said)
	s.Disk = &durable.Disk{Before: func(c durable.Change) error {
		if c.Kind == durable.Move {
			return errors.New("disk full")
		}
		return nil
	}}
	if _, diags := s.Lock(t.Context(), "apply", Locking{}); !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "disk full") || server.Locked() {
		t.Errorf("%v, locked %v", diags, server.Locked())
	}
}
