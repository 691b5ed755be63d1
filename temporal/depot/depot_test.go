package depot

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	backend "weir.dev/weir/internal/state/storage/http"
)

// TestDepots holds a depot in a directory, and one behind a server, to the contract.
func TestDepots(t *testing.T) {
	for _, kind := range []string{"directory", "server"} {
		t.Run(kind, func(t *testing.T) {
			now := time.Now()
			dir := &Dir{Root: t.TempDir(), Now: func() time.Time { return now }}
			var d Depot = dir
			if kind == "server" {
				s := httptest.NewServer(Serve(dir, "hush"))
				t.Cleanup(s.Close)
				d = &Remote{URL: s.URL, Token: "hush", HTTP: s.Client()}
				if _, err := (&Remote{URL: s.URL, HTTP: s.Client()}).Files(t.Context(), "a"); err == nil {
					t.Error("it answers without the token")
				}
			}
			contract(t, d, func(long time.Duration) { now = now.Add(long) })
		})
	}
}

func contract(t *testing.T, d Depot, pass func(time.Duration)) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	hash, err := d.Put(ctx, []byte("blob"))
	must(err)
	if got, err := d.Get(ctx, hash); err != nil || string(got) != "blob" {
		t.Errorf("the blob is %q, %v", got, err)
	}
	if _, err := d.Get(ctx, Hash([]byte("other"))); !errors.Is(err, ErrAbsent) {
		t.Errorf("a blob that isn't there: %v", err)
	}

	first, err := d.Acquire(ctx, "net/prod", "one", time.Minute)
	must(err)
	var held *HeldError
	if _, err := d.Acquire(ctx, "net/prod", "two", time.Minute); !errors.As(err, &held) || held.Holder != "one" {
		t.Errorf("a second lease: %v", err)
	}
	must(d.Write(ctx, first, "journal", 0, []byte("abc")))
	must(d.Write(ctx, first, "journal", 3, []byte("def")))
	must(d.Write(ctx, first, "journal", 3, []byte("def"))) // its answer was lost
	if d.Write(ctx, first, "journal", 9, []byte("x")) == nil {
		t.Error("a file has a hole")
	}
	pass(50 * time.Second)
	_, err = d.Renew(ctx, first, time.Minute)
	must(err)
	pass(50 * time.Second)
	if _, err := d.Acquire(ctx, "net/prod", "two", time.Minute); !errors.As(err, &held) {
		t.Errorf("a lease that was renewed: %v", err)
	}

	pass(time.Minute)
	must(d.Write(ctx, first, "index.json", 0, []byte("{}"))) // nobody has taken it over yet
	second, err := d.Acquire(ctx, "net/prod", "two", time.Minute)
	must(err)
	if second.Fence <= first.Fence {
		t.Errorf("the fence is %d after %d", second.Fence, first.Fence)
	}
	for what, err := range map[string]error{
		"write":  d.Write(ctx, first, "index.json", 0, []byte("late")),
		"append": d.Write(ctx, first, "journal", 6, []byte("late")),
		"remove": d.Remove(ctx, first, "index.json"),
	} {
		if !errors.Is(err, ErrFenced) {
			t.Errorf("%s by who was taken for dead: %v", what, err)
		}
	}
	if _, err := d.Renew(ctx, first, time.Minute); !errors.Is(err, ErrFenced) {
		t.Errorf("renewing what was taken over: %v", err)
	}
	must(d.Release(ctx, first))
	must(d.Write(ctx, second, "index.json", 0, []byte("new")))
	files, err := d.Files(ctx, "net/prod")
	must(err)
	if len(files) != 2 || string(files["journal"]) != "abcdef" || string(files["index.json"]) != "new" {
		t.Errorf("the files are %q", files)
	}
	must(d.Remove(ctx, second, "journal"))
	must(d.Remove(ctx, second, "journal"))
	must(d.Release(ctx, second))
	third, err := d.Acquire(ctx, "net/prod", "one", time.Minute)
	must(err)
	if third.Fence <= second.Fence {
		t.Errorf("the fence is %d after %d", third.Fence, second.Fence)
	}
	for _, name := range []string{"", "..", "a/../b", "/a", ".x", `a\b`} {
		if _, err := d.Acquire(ctx, name, "one", time.Minute); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
	for _, file := range []string{"..", ".lease", "a/b"} {
		if d.Write(ctx, third, file, 0, nil) == nil {
			t.Errorf("%q is taken for a file", file)
		}
	}
}

// TestHold: a lease that is lost ends the work under it.
func TestHold(t *testing.T) {
	d := &Dir{Root: t.TempDir()}
	l, err := d.Acquire(t.Context(), "a", "one", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	// Before it is held: a renewal under way would write over what isn't written by a depot.
	if err := writeLease(d.folder("a"), Lease{Name: "a", Holder: "two", Fence: l.Fence + 1}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := Hold(t.Context(), d, l, 30*time.Millisecond)
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), ErrFenced) {
		t.Errorf("it ended because of %v", context.Cause(ctx))
	}
	stop()
	l, err = Wait(t.Context(), d, "a", "three", time.Minute, func(*HeldError) error { t.Error("nobody has it"); return nil })
	if err != nil {
		t.Fatal(err)
	}
	_, stop = Hold(t.Context(), d, l, time.Minute)
	stop()
	if l, err = d.Acquire(t.Context(), "a", "four", time.Minute); err != nil {
		t.Errorf("it was released: %v", err)
	}
	waits := 0
	short, end := context.WithCancel(t.Context())
	if _, err := Wait(short, d, "a", "five", time.Minute, func(*HeldError) error { waits++; end(); return nil }); waits != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("after %d tries: %v", waits, err)
	}
}

// TestSign: the key lasts, belongs to one depot, and is its owner's alone.
func TestSign(t *testing.T) {
	d, other := &Dir{Root: t.TempDir()}, &Dir{Root: t.TempDir()}
	server := httptest.NewServer(Serve(d, "secret"))
	defer server.Close()
	first, err := d.Sign(t.Context(), []string{"a", "b"})
	if err != nil || len(first) != 2 || first[0] == first[1] {
		t.Fatalf("signed %v, %v", first, err)
	}
	for name, depot := range map[string]Depot{"again": &Dir{Root: d.Root}, "remote": &Remote{URL: server.URL, Token: "secret", HTTP: server.Client()}} {
		if got, err := depot.Sign(t.Context(), []string{"a", "b"}); err != nil || !slices.Equal(got, first) {
			t.Errorf("%s: signed %v, %v", name, got, err)
		}
	}
	if got, err := other.Sign(t.Context(), []string{"a"}); err != nil || got[0] == first[0] {
		t.Errorf("another depot signed %v, %v", got, err)
	}
	if got, err := (&Remote{URL: server.URL, Token: "wrong", HTTP: server.Client()}).Sign(t.Context(), []string{"a"}); err == nil {
		t.Errorf("without the token: %v", got)
	}
	path := filepath.Join(d.Root, keyFile)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the key: %v, %v", info, err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Sign(t.Context(), []string{"a"}); err == nil {
		t.Errorf("with a damaged key: %v", got)
	}
}

// TestStates: states are read and written over the protocol of the http backend, under the lock. Workers use the same lease.
func TestStates(t *testing.T) {
	now := time.Now()
	d := &Dir{Root: t.TempDir(), Now: func() time.Time { return now }}
	server := httptest.NewServer(States(d, "hush"))
	defer server.Close()
	open := func(password string) storage.Store {
		t.Helper()
		config := backend.Schema().EmptyValue().AsValueMap()
		for _, name := range []string{"address", "lock_address", "unlock_address"} {
			config[name] = cty.StringVal(server.URL + StatesPath + "estate/apps/web")
		}
		config["username"], config["password"] = cty.StringVal("any"), cty.StringVal(password)
		b, diags := backend.New(cty.ObjectVal(config), storage.Env{Getenv: func(string) string { return "" }})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		s, err := b.State(storage.DefaultWorkspace)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open("wrong").Read(t.Context()); err == nil {
		t.Error("it answers without the token")
	}
	one, two := open("hush"), open("hush")
	if state, err := one.Read(t.Context()); state != nil || err != nil {
		t.Errorf("before there is one: %q, %v", state, err)
	}
	if one.Write(t.Context(), []byte("{}")) == nil {
		t.Error("a state is written without the lock")
	}
	id, err := one.Lock(t.Context(), storage.LockInfo{ID: "1", Who: "ana"})
	must(err)
	var held *storage.LockError
	if _, err := two.Lock(t.Context(), storage.LockInfo{ID: "2"}); !errors.As(err, &held) || held.Holder.Who != "ana" {
		t.Errorf("a second lock: %v", err)
	}
	if _, err := d.Acquire(t.Context(), "estate/apps/web", "worker", time.Minute); err == nil {
		t.Error("a worker has the lease of a state that is locked")
	}
	now = now.Add(24 * time.Hour) // a lock has no end
	must(one.Write(t.Context(), []byte(`{"serial":1}`)))
	if two.Unlock(t.Context(), "2") == nil {
		t.Error("a lock is released by another ID")
	}
	must(one.Unlock(t.Context(), id))
	if state, err := two.Read(t.Context()); string(state) != `{"serial":1}` || err != nil {
		t.Errorf("the state is %q, %v", state, err)
	}

	lease, err := d.Acquire(t.Context(), "estate/apps/web", "worker", time.Minute)
	must(err)
	if _, err := one.Lock(t.Context(), storage.LockInfo{ID: "3"}); !errors.As(err, &held) || held.Holder.Who != "worker" {
		t.Errorf("a lock while a worker has the lease: %v", err)
	}
	must(d.Write(t.Context(), lease, JournalFile, 0, []byte("begun")))
	now = now.Add(time.Hour)
	if _, err := one.Lock(t.Context(), storage.LockInfo{ID: "4"}); !errors.As(err, &held) || !strings.Contains(held.Holder.Who, "isn't finished") {
		t.Errorf("a lock while the journal of a killed worker is there: %v", err)
	}
	lease, err = d.Acquire(t.Context(), "estate/apps/web", "another worker", time.Minute)
	must(err)
	must(d.Remove(t.Context(), lease, JournalFile))
	must(d.Release(t.Context(), lease))
	_, err = one.Lock(t.Context(), storage.LockInfo{ID: "5"})
	must(err)

	for path, want := range map[string]int{"estate": 404, ".hidden/x": 404, "estate/../../x": 404, "estate/none": 404} {
		r := httptest.NewRequest("GET", "http://store"+StatesPath+"x", nil)
		r.URL.Path = StatesPath + path
		r.SetBasicAuth("", "hush")
		w := httptest.NewRecorder()
		if States(d, "hush").ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
