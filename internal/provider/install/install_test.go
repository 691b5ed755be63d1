package install

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider/lockfile"
)

func provider(source string) addr.Provider {
	p, err := addr.OpenTofu.ParseProvider(source)
	if err != nil {
		panic(err)
	}
	return p
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// unpacked adds a package to a mirror in unpacked form.
func unpacked(t testing.TB, mirror string, p addr.Provider, v string) {
	write(t, filepath.Join(mirror, p.Host, p.Namespace, p.Type, v, Platform, "terraform-provider-"+p.Type+"_v"+v), "program "+v)
}

// packed writes an archive and returns its zh hash.
func packed(t testing.TB, path, executable, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	h := &zip.FileHeader{Name: executable, Method: zip.Deflate}
	h.SetMode(0o755)
	entry, err := w.CreateHeader(h)
	if err != nil {
		t.Fatal(err)
	}
	entry.Write([]byte(content))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	src, _ := os.ReadFile(path)
	sum := sha256.Sum256(src)
	return "zh:" + hex.EncodeToString(sum[:])
}

func mirrors(dirs ...string) *cliconfig.Config {
	in := &cliconfig.Installation{}
	for _, dir := range dirs {
		in.Methods = append(in.Methods, cliconfig.Method{Kind: cliconfig.FilesystemMirror, Location: dir, DownloadRetries: -1})
	}
	return &cliconfig.Config{Installation: in}
}

func require(pairs ...string) Requirements {
	reqs := make(Requirements)
	for i := 0; i < len(pairs); i += 2 {
		p := provider(pairs[i])
		reqs[p] = append(reqs[p], Requirement{Constraint: pairs[i+1]})
	}
	return reqs
}

// run installs and records the events.
func run(t testing.TB, o Options) (*lockfile.Locks, string, diag.List) {
	var events []string
	told := o.Events
	o.Events = func(e Event) {
		if told != nil {
			told(e)
		}
		if e.Kind == Downloading {
			return
		}
		text := [...]string{"initializing", "builtin", "reusing", "latest", "matching", "already", "installing", "installed", "linked"}[e.Kind]
		for _, part := range []string{e.Provider.Type, e.Version, e.Constraints, e.KeyID} {
			if part != "" {
				text += " " + part
			}
		}
		if e.Shared {
			text += " shared"
		}
		if e.Kind == Installed {
			text += " " + e.Authentication.String()
		}
		events = append(events, text)
	}
	if o.Locks == nil {
		o.Locks = &lockfile.Locks{}
	}
	locks, diags := Install(context.Background(), o)
	return locks, strings.Join(events, "\n"), diags
}

func TestInstallFromMirror(t *testing.T) {
	dir, mirror := t.TempDir(), t.TempDir()
	a, b := provider("weir/a"), provider("weir/b")
	for _, v := range []string{"1.0.0", "1.1.0", "2.0.0-beta1"} {
		unpacked(t, mirror, a, v)
	}
	packed(t, filepath.Join(mirror, b.Host, b.Namespace, b.Type, "terraform-provider-b_3.0.0_"+Platform+".zip"), "terraform-provider-b", "b")
	o := Options{Dir: filepath.Join(dir, "providers"), Config: mirrors(mirror), Requirements: require("weir/a", "1.0.0", "weir/b", "")}

	locks, events, diags := run(t, o)
	want := "initializing\nmatching a 1.0.0\nlatest b\n" +
		"installing a 1.0.0\ninstalled a 1.0.0 unauthenticated\ninstalling b 3.0.0\ninstalled b 3.0.0 unauthenticated"
	if events != want {
		t.Errorf("events\n%s\nwant\n%s", events, want)
	}
	if len(diags) != 1 || diags[0].Summary != "Incomplete lock file information for providers" || !strings.Contains(diags[0].Detail, "weir/a") {
		t.Errorf("%v", diags)
	}
	link, err := os.Readlink(packageDir(o.Dir, a, lockOf(t, locks, a).Version, Platform))
	if err != nil || !strings.HasPrefix(link, mirror) {
		t.Errorf("an unpacked package isn't linked: %q %v", link, err)
	}
	if lock := lockOf(t, locks, b); len(lock.Hashes) != 1 || !strings.HasPrefix(lock.Hashes[0], "h1:") {
		t.Errorf("%+v", lock)
	}
	paths, diags := Locate(o.Dir, locks, o.Requirements, nil, nil)
	if diags != nil || !strings.HasSuffix(paths[a], "terraform-provider-a_v1.0.0") || !strings.HasSuffix(paths[b], "terraform-provider-b") {
		t.Errorf("%v %v", paths, diags)
	}

	// Nothing to do, and nothing is looked up.
	o.Locks, o.Config = locks, mirrors("/nonexistent")
	again, events, diags := run(t, o)
	if !again.Equal(locks) || diags != nil || events != "initializing\nreusing a 1.0.0 1.0.0\nreusing b 3.0.0\nalready a 1.0.0\nalready b 3.0.0" {
		t.Errorf("%v\n%s", diags, events)
	}
	testVersions(t, o, mirror, a)
}

// testVersions continues where the lock file has 1.0.0.
func testVersions(t *testing.T, o Options, mirror string, a addr.Provider) {
	o.Config = mirrors(mirror)
	for _, step := range []struct {
		constraint string
		upgrade    bool
		want       string // the version, or a part of the error
	}{
		{">= 1.0.0", false, "1.0.0"},
		{">= 1.0.0", true, "1.1.0"},
		{"2.0.0-beta1", false, "does not match configured version constraint 2.0.0-beta1; must use weir init -upgrade"},
		{"2.0.0-beta1", true, "2.0.0-beta1"},
		{"~> 3.0", true, "no available releases match the given constraints ~> 3.0. The available versions are "},
		{"x", true, "Invalid provider version constraint"},
	} {
		o.Requirements, o.Upgrade = require("weir/a", step.constraint), step.upgrade
		locks, _, diags := run(t, o)
		if diags.HasErrors() {
			if !strings.Contains(diags.Err().Error(), step.want) {
				t.Errorf("%+v: %v", step, diags)
			}
			continue
		}
		lock := lockOf(t, locks, a)
		if lock.Version.String() != step.want || lock.Constraints.String() != step.constraint {
			t.Errorf("%+v: %s %s", step, lock.Version, lock.Constraints)
		}
		if len(locks.All()) != 1 {
			t.Errorf("a lock of a provider that isn't needed is left: %v", locks.All())
		}
		o.Locks = locks
	}
}

func lockOf(t testing.TB, locks *lockfile.Locks, p addr.Provider) lockfile.Lock {
	t.Helper()
	lock, ok := locks.Get(p)
	if !ok {
		t.Fatalf("no lock for %s", p)
	}
	return lock
}

func TestHashesAreHeldTo(t *testing.T) {
	dir, mirror := t.TempDir(), t.TempDir()
	a := provider("weir/a")
	unpacked(t, mirror, a, "1.0.0")
	o := Options{Dir: dir, Config: mirrors(mirror), Requirements: require("weir/a", "")}
	locks, _, _ := run(t, o)
	good := lockOf(t, locks, a)

	bad := good
	bad.Hashes = []string{"h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}
	wrong := locks.Clone()
	wrong.Set(bad)
	o.Locks = wrong
	if _, _, diags := run(t, o); !diags.HasErrors() || diags[0].Summary != "Failed to install provider" || !strings.Contains(diags[0].Detail, "checksums") {
		t.Errorf("a package with a wrong hash is installed: %v", diags)
	}
	if _, diags := Locate(dir, wrong, o.Requirements, nil, nil); len(diags) != 1 || diags[0].Summary != "Required plugins are not installed" {
		t.Errorf("a package with a wrong hash is used: %v", diags)
	}

	// Hashes of other platforms are kept beside.
	more := good
	more.Hashes = append(slices.Clone(good.Hashes), "zh:other")
	wrong.Set(more)
	o.Locks = wrong
	os.RemoveAll(filepath.Join(dir, a.Host))
	locks, _, diags := run(t, o)
	if got := lockOf(t, locks, a); diags != nil || len(got.Hashes) != 2 {
		t.Errorf("%v %+v", diags, got)
	}

	// A lock without hashes gets them.
	none := good
	none.Hashes = nil
	wrong.Set(none)
	o.Locks = wrong
	if locks, _, _ = run(t, o); !slices.Equal(lockOf(t, locks, a).Hashes, good.Hashes) {
		t.Errorf("%+v", lockOf(t, locks, a))
	}
}

func TestReadOnly(t *testing.T) {
	mirror := t.TempDir()
	a := provider("weir/a")
	unpacked(t, mirror, a, "1.0.0")
	locks, _, _ := run(t, Options{Dir: t.TempDir(), Config: mirrors(mirror), Requirements: require("weir/a", "")})
	if d := ReadOnly(&lockfile.Locks{}, locks); len(d) != 1 || d[0].Summary != "Provider dependency changes detected" {
		t.Error(d)
	}
	changed := locks.Clone()
	lock := lockOf(t, locks, a)
	lock.Hashes = nil
	changed.Set(lock)
	if d := ReadOnly(changed, locks); len(d) != 1 || d[0].Severity != diag.Warning {
		t.Error(d)
	}
	if d := ReadOnly(locks, locks.Clone()); d != nil {
		t.Error(d)
	}
}

func TestPlaces(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	a, b := provider("weir/a"), provider("example.com/weir/b")
	unpacked(t, one, a, "1.0.0")
	unpacked(t, two, a, "2.0.0")
	unpacked(t, two, b, "1.0.0")
	only := func(text string) []cliconfig.Pattern {
		p, err := cliconfig.ParsePattern(text, addr.OpenTofu)
		if err != nil {
			t.Fatal(err)
		}
		return []cliconfig.Pattern{p}
	}
	both := mirrors(one, two)
	excluded := mirrors(one, two)
	excluded.Installation.Methods[1].Exclude = only("weir/*")
	nothing := mirrors(one)
	nothing.Installation.Methods[0].Include = only("other/*")
	network := mirrors(one)
	network.Installation.Methods[0] = cliconfig.Method{Kind: cliconfig.NetworkMirror, Location: "http://insecure.example.com"}
	for name, test := range map[string]struct {
		o    Options
		reqs Requirements
		want string // version of a, or a part of the error
	}{
		"newest of all":        {Options{Config: both}, require("weir/a", ""), "2.0.0"},
		"excluded":             {Options{Config: excluded}, require("weir/a", "", "example.com/weir/b", ""), "1.0.0"},
		"plugin dirs alone":    {Options{Config: both, PluginDirs: []string{one}}, require("weir/a", ""), "1.0.0"},
		"implied":              {Options{Implied: []string{"/nonexistent", one}}, require("weir/a", ""), "1.0.0"},
		"unknown":              {Options{Config: both}, require("weir/nosuch", ""), "registry.opentofu.org/weir/nosuch was not found in any of the search locations\n\n  - " + one + "\n  - " + two},
		"nowhere allowed":      {Options{Config: nothing}, require("weir/a", ""), "include and exclude"},
		"alternative":          {Options{Config: both}, require("a", "", "weir/a", ""), "Did you intend to use weir/a?"},
		"mirror is missing":    {Options{Config: mirrors("/nonexistent")}, require("weir/a", ""), "cannot search /nonexistent: no such file or directory"},
		"mirror without https": {Options{Config: network}, require("weir/a", ""), "must be an https: URL"},
		"builtin":              {Options{Config: both, Builtin: map[addr.Provider]bool{addr.Builtin("terraform"): true}}, require("weir/a", "", "terraform.io/builtin/terraform", ""), "2.0.0"},
		"builtin version":      {Options{Config: both, Builtin: map[addr.Provider]bool{addr.Builtin("terraform"): true}}, require("terraform.io/builtin/terraform", "1.0"), "do not support explicit version constraints"},
		"builtin unknown":      {Options{Config: both}, require("terraform.io/builtin/x", ""), `no built-in provider named "x"`},
		"external":             {Options{Config: both, External: map[addr.Provider]bool{provider("weir/dev"): true}}, require("weir/a", "", "weir/dev", "9.0.0"), "2.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			test.o.Dir, test.o.Requirements, test.o.Registry = t.TempDir(), test.reqs, addr.OpenTofu
			locks, _, diags := run(t, test.o)
			if diags.HasErrors() {
				if !strings.Contains(diags.Err().Error(), test.want) {
					t.Errorf("%v", diags)
				}
				return
			}
			if got := lockOf(t, locks, a).Version.String(); got != test.want {
				t.Errorf("version %s, want %s", got, test.want)
			}
		})
	}
}

func TestSharedCache(t *testing.T) {
	cache, mirror := t.TempDir(), t.TempDir()
	a := provider("weir/a")
	archive := filepath.Join(mirror, a.Host, a.Namespace, a.Type, "terraform-provider-a_1.0.0_"+Platform+".zip")
	packed(t, archive, "terraform-provider-a", "a")
	config := mirrors(mirror)
	config.PluginCacheDir = cache
	first := Options{Dir: t.TempDir(), Config: config, Requirements: require("weir/a", "")}
	locks, events, diags := run(t, first)
	if diags.HasErrors() || !strings.Contains(events, "installing a 1.0.0 shared\ninstalled a 1.0.0 shared unauthenticated\nlinked a 1.0.0 shared") {
		t.Fatalf("%v\n%s", diags, events)
	}
	if target, err := filepath.EvalSymlinks(packageDir(first.Dir, a, lockOf(t, locks, a).Version, Platform)); err != nil || !strings.HasPrefix(target, cache) {
		t.Errorf("%s %v", target, err)
	}
	// With the lock, the cache is enough.
	os.Remove(archive)
	second := first
	second.Dir, second.Locks = t.TempDir(), locks
	if _, events, diags = run(t, second); diags.HasErrors() || !strings.Contains(events, "already a 1.0.0 shared\nlinked a 1.0.0 shared") {
		t.Errorf("%v\n%s", diags, events)
	}
	// Without, it is only by leave.
	packed(t, archive, "terraform-provider-a", "a")
	config.CacheMayBreakLocks = true
	third := first
	third.Dir = t.TempDir()
	if _, events, diags = run(t, third); diags.HasErrors() || strings.Contains(events, "installing") {
		t.Errorf("%v\n%s", diags, events)
	}
}

func TestSharedCacheAtOnce(t *testing.T) {
	cache, mirror := t.TempDir(), t.TempDir()
	a := provider("weir/a")
	packed(t, filepath.Join(mirror, a.Host, a.Namespace, a.Type, "terraform-provider-a_1.0.0_"+Platform+".zip"), "terraform-provider-a", "a")
	config := mirrors(mirror)
	config.PluginCacheDir = cache
	failed := make(chan error, 8)
	for range cap(failed) {
		dir := t.TempDir()
		go func() {
			o := Options{Dir: dir, Config: config, Locks: &lockfile.Locks{}, Requirements: require("weir/a", "")}
			locks, diags := Install(context.Background(), o)
			if !diags.HasErrors() {
				_, more := Locate(dir, locks, o.Requirements, nil, nil)
				diags.Append(more)
			}
			failed <- diags.Err()
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

func TestBadArchives(t *testing.T) {
	a := provider("weir/a")
	for name, executable := range map[string]string{"leads out": "../terraform-provider-a", "has no program": "README", "has an absolute name": "/terraform-provider-a"} {
		mirror, dir := t.TempDir(), t.TempDir()
		packed(t, filepath.Join(mirror, a.Host, a.Namespace, a.Type, "terraform-provider-a_1.0.0_"+Platform+".zip"), executable, "a")
		_, _, diags := run(t, Options{Dir: filepath.Join(dir, "x"), Config: mirrors(mirror), Requirements: require("weir/a", "")})
		if !diags.HasErrors() {
			t.Errorf("an archive that %s is installed", name)
		}
		if found, _ := filepath.Glob(filepath.Join(dir, "terraform*")); found != nil {
			t.Errorf("an archive that %s wrote %v", name, found)
		}
	}
}

func TestLocateProblems(t *testing.T) {
	dir, mirror := t.TempDir(), t.TempDir()
	a := provider("weir/a")
	unpacked(t, mirror, a, "1.0.0")
	locks, _, _ := run(t, Options{Dir: dir, Config: mirrors(mirror), Requirements: require("weir/a", ">= 1.0")})
	for name, test := range map[string]struct {
		dir   string
		locks *lockfile.Locks
		reqs  Requirements
		skip  map[addr.Provider]bool
		want  string
	}{
		"no locks":           {dir, &lockfile.Locks{}, require("weir/a", ""), nil, "Inconsistent dependency lock file; The following dependency selections recorded in the lock file are inconsistent with the current configuration:\n  - provider registry.opentofu.org/weir/a: required by this configuration but no version is selected\n\nTo make the initial"},
		"updated constraint": {dir, locks, require("weir/a", "2.0"), nil, `locked version selection 1.0.0 doesn't match the updated version constraints "2.0.0"`},
		"not installed":      {t.TempDir(), locks, require("weir/a", ""), nil, "Required plugins are not installed"},
		"bad constraint":     {dir, locks, require("weir/a", "?"), nil, "Invalid provider version constraint"},
		"skipped":            {t.TempDir(), &lockfile.Locks{}, require("weir/a", "2.0", "terraform.io/builtin/terraform", ""), map[addr.Provider]bool{a: true}, ""},
	} {
		_, diags := Locate(test.dir, test.locks, test.reqs, test.skip, nil)
		if err := diags.Err(); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLocateProblemsOneByOne(t *testing.T) {
	dir, mirror := t.TempDir(), t.TempDir()
	for _, name := range []string{"weir/a", "weir/b"} {
		unpacked(t, mirror, provider(name), "1.0.0")
	}
	locks, _, _ := run(t, Options{Dir: dir, Config: mirrors(mirror), Requirements: require("weir/a", "", "weir/b", ">= 1.0")})
	empty := t.TempDir()
	for name, test := range map[string]struct {
		locks *lockfile.Locks
		reqs  Requirements
		want  []string
	}{
		"two unselected": {&lockfile.Locks{}, require("weir/a", "", "weir/b", ""), []string{"Missing required provider", "Missing required provider"}},
		"one unselected": {locks, require("weir/b", "2.0", "weir/c", ""), []string{"Inconsistent dependency lock file", "Missing required provider"}},
		"not installed": {locks, require("weir/a", "", "weir/b", ""), []string{
			"registry.opentofu.org/weir/a: there is no package for registry.opentofu.org/weir/a 1.0.0 cached in " + empty,
			"registry.opentofu.org/weir/b: there is no package for registry.opentofu.org/weir/b 1.0.0 cached in " + empty,
		}},
	} {
		_, diags := Locate(empty, test.locks, test.reqs, nil, nil)
		var got []string
		for _, d := range diags.OneByOne() {
			got = append(got, d.Summary)
		}
		if len(diags) != 1 || !slices.Equal(got, test.want) {
			t.Errorf("%s: %d problems, one by one %q", name, len(diags), got)
		}
	}
}

func TestVerifiedNoticesChanges(t *testing.T) {
	dir := t.TempDir()
	pkg := filepath.Join(dir, "pkg")
	file := filepath.Join(pkg, "terraform-provider-a")
	write(t, file, "one")
	note := filepath.Join(dir, "note.json")
	v := ReadVerified(note)
	fresh, err := v.hash(pkg)
	if err != nil {
		t.Fatal(err)
	}
	v.Save()
	if _, err := os.Stat(note); err == nil {
		t.Error("a package that just changed is noted")
	}
	if _, _, ok := fingerprint(pkg); !ok {
		t.Skip("no identity of files on this system")
	}
	v.settled = 50 * time.Millisecond
	time.Sleep(2 * v.settled)
	v.hash(pkg)
	v.Save()
	v = ReadVerified(note)
	if len(v.packages) != 1 {
		t.Fatalf("%+v", v.packages)
	}
	if again, _ := v.hash(pkg); again != fresh {
		t.Error("the noted hash is another one")
	}
	// The same size and time of modification, but other content.
	info, _ := os.Stat(file)
	write(t, file, "two")
	os.Chtimes(file, info.ModTime(), info.ModTime())
	if again, _ := v.hash(pkg); again == fresh {
		t.Error("a change isn't noticed")
	}
	write(t, note, "[]")
	if again, err := ReadVerified(note).hash(pkg); err != nil || again == fresh {
		t.Errorf("with a broken note: %q %v", again, err)
	}
}

func TestOverrides(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "terraform-provider-a"), "a")
	a, b := provider("weir/a"), provider("weir/b")
	paths, diags := Overrides(map[addr.Provider]string{a: dir, b: dir})
	if paths[a] != filepath.Join(dir, "terraform-provider-a") || len(diags) != 1 || !strings.Contains(diags[0].Detail, "weir/b") {
		t.Errorf("%v %v", paths, diags)
	}
}

func TestCancelledInstall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, diags := Install(ctx, Options{Dir: t.TempDir(), Config: mirrors(t.TempDir()), Locks: &lockfile.Locks{}, Requirements: require("weir/a", "")})
	if len(diags) != 1 || diags[0].Summary != "Provider installation was interrupted" {
		t.Errorf("%v", diags)
	}
}

func TestEventsStayInOrder(t *testing.T) {
	var got []string
	in := &installer{Options: Options{Events: func(e Event) { got = append(got, e.Provider.Type+e.Version) }}}
	var providers []addr.Provider
	for i := range 20 {
		providers = append(providers, addr.Provider{Type: fmt.Sprintf("%02d", i)})
	}
	in.inOrder(providers, func(i int, p addr.Provider, emit func(Event)) {
		for n := range 3 {
			time.Sleep(time.Duration((i*7+n*3)%5) * time.Millisecond)
			emit(Event{Provider: p, Version: fmt.Sprint(n)})
		}
	})
	if len(got) != 60 || !slices.IsSorted(got) {
		t.Errorf("%v", got)
	}
}

// TestSharedCacheConflict: an entry of the shared cache that isn't the package of the lock file is
// replaced by that package.
func TestSharedCacheConflict(t *testing.T) {
	cache, mirror := t.TempDir(), t.TempDir()
	a := provider("weir/a")
	packed(t, filepath.Join(mirror, a.Host, a.Namespace, a.Type, "terraform-provider-a_1.0.0_"+Platform+".zip"), "terraform-provider-a", "a")
	config := mirrors(mirror)
	config.PluginCacheDir = cache
	first := Options{Dir: t.TempDir(), Config: config, Requirements: require("weir/a", "")}
	locks, _, diags := run(t, first)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	cached := packageDir(cache, a, lockOf(t, locks, a).Version, Platform)
	if err := os.WriteFile(filepath.Join(cached, "terraform-provider-a"), []byte("another"), 0o700); err != nil {
		t.Fatal(err)
	}
	second := first
	second.Dir, second.Locks = t.TempDir(), locks
	_, events, diags := run(t, second)
	content, err := os.ReadFile(filepath.Join(packageDir(second.Dir, a, lockOf(t, locks, a).Version, Platform), "terraform-provider-a"))
	if diags.HasErrors() || err != nil || string(content) != "a" {
		t.Errorf("%v, %v\n%s\ninstalled %q", diags, err, events, content)
	}
}
