package install

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/provider/version"
)

// publishFor makes the site a registry with weir/a 1.0.0 and 1.1.0 for several
// platforms. It returns the h1 hashes by version and platform.
func publishFor(t *testing.T, s *site, platforms ...string) map[string]string {
	hashes := map[string]string{}
	s.pages["/.well-known/terraform.json"] = object{service: "/v1/"}
	s.pages["/v1/weir/a/versions"] = object{"versions": []object{{"version": "1.0.0"}, {"version": "1.1.0"}}}
	for _, v := range []string{"1.0.0", "1.1.0"} {
		var list strings.Builder
		sums := map[string]string{}
		for _, platform := range platforms {
			path := filepath.Join(t.TempDir(), "p.zip")
			packed(t, path, "terraform-provider-a_v"+v, "program for "+platform)
			zh, h1, err := HashArchive(path)
			if err != nil {
				t.Fatal(err)
			}
			content, _ := os.ReadFile(path)
			name := v + platform + ".zip"
			s.pages["/files/"+name] = content
			hashes[v+" "+platform] = h1
			sums[platform] = strings.TrimPrefix(zh, "zh:")
			fmt.Fprintf(&list, "%s  %s\n", sums[platform], name)
		}
		public, signature, _ := signingKey(t, []byte(list.String()))
		s.pages["/files/"+v+"sums"], s.pages["/files/"+v+"sig"] = []byte(list.String()), signature
		for _, platform := range platforms {
			system, arch, _ := strings.Cut(platform, "_")
			name := v + platform + ".zip"
			s.pages["/v1/weir/a/"+v+"/download/"+system+"/"+arch] = object{
				"protocols": []string{"5.0"}, "os": system, "arch": arch, "filename": name, "download_url": "/files/" + name,
				"shasum": sums[platform], "shasums_url": "/files/" + v + "sums", "shasums_signature_url": "/files/" + v + "sig",
				"signing_keys": object{"gpg_public_keys": []object{{"ascii_armor": public}}},
			}
		}
	}
	return hashes
}

func lockSite(t *testing.T) (*site, Options, addr.Provider, map[string]string) {
	s := newSite(t)
	hashes := publishFor(t, s, "linux_amd64", "plan9_mips")
	a := addr.Provider{Host: s.host(), Namespace: "weir", Type: "a"}
	builtin := addr.Provider{Host: "terraform.io", Namespace: "builtin", Type: "terraform"}
	// The configured method must not count.
	config := mirrors(t.TempDir())
	config.PluginCacheDir = t.TempDir()
	return s, Options{Config: config, HTTP: s.Client(), Locks: &lockfile.Locks{}, Requirements: Requirements{a: {{Constraint: "~> 1.0"}}, builtin: nil}}, a, hashes
}

func TestLock(t *testing.T) {
	_, o, a, hashes := lockSite(t)
	locks, changes, diags := Lock(t.Context(), o, nil, []string{"linux_amd64", "plan9_mips"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	lock := lockOf(t, locks, a)
	if lock.Version.String() != "1.1.0" || lock.Constraints.String() != "~> 1.0" || len(lock.Hashes) != 4 {
		t.Errorf("the lock is %+v", lock)
	}
	for _, platform := range []string{"linux_amd64", "plan9_mips"} {
		if !slices.Contains(lock.Hashes, hashes["1.1.0 "+platform]) {
			t.Errorf("there is no hash of the package for %s", platform)
		}
	}
	want := []Change{{a, "linux_amd64", true, true}, {a, "plan9_mips", true, true}}
	if !slices.Equal(changes, want) {
		t.Errorf("changes are %v", changes)
	}

	// Anything that is locked stays, and other locks too.
	other := lockfile.Lock{Provider: provider("weir/other"), Version: version.Version{Major: 3}, Hashes: []string{"h1:x="}}
	o.Locks = &lockfile.Locks{}
	o.Locks.Set(other)
	o.Locks.Set(lockfile.Lock{Provider: a, Version: version.Version{Major: 1}, Hashes: []string{hashes["1.0.0 linux_amd64"]}})
	locks, changes, diags = Lock(t.Context(), o, nil, []string{"plan9_mips"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	lock = lockOf(t, locks, a)
	if lock.Version.String() != "1.0.0" || !slices.Contains(lock.Hashes, hashes["1.0.0 plan9_mips"]) || !slices.Contains(lock.Hashes, hashes["1.0.0 linux_amd64"]) {
		t.Errorf("the lock is %+v", lock)
	}
	if _, ok := locks.Get(other.Provider); !ok || !slices.Equal(changes, []Change{{a, "plan9_mips", false, true}}) {
		t.Errorf("changes are %v in\n%s", changes, locks.Bytes("tofu"))
	}
	o.Locks = locks
	again, changes, diags := Lock(t.Context(), o, nil, []string{"plan9_mips"})
	if diags.HasErrors() || !again.Equal(locks) || !slices.Equal(changes, []Change{{a, "plan9_mips", false, false}}) {
		t.Errorf("%v %v", changes, diags)
	}
	if _, _, diags := Lock(t.Context(), o, nil, []string{"nosuch_mips"}); !diags.HasErrors() || diags[0].Summary != "Could not retrieve providers for locking" {
		t.Errorf("%v", diags)
	}
}

func TestLockFromMirror(t *testing.T) {
	dir := t.TempDir()
	unpacked(t, dir, provider("weir/a"), "1.0.0")
	o := Options{Locks: &lockfile.Locks{}, Requirements: require("weir/a", "")}
	locks, _, diags := Lock(t.Context(), o, &cliconfig.Method{Kind: cliconfig.FilesystemMirror, Location: dir, DownloadRetries: -1}, []string{Platform})
	if diags.HasErrors() || len(lockOf(t, locks, provider("weir/a")).Hashes) != 1 {
		t.Errorf("%v", diags)
	}
	if _, _, diags := Lock(t.Context(), o, &cliconfig.Method{Kind: cliconfig.NetworkMirror, Location: "http://x"}, []string{Platform}); !diags.HasErrors() {
		t.Error("a mirror without https was taken")
	}
}

func TestCheckPlatforms(t *testing.T) {
	if diags := CheckPlatforms([]string{"linux_amd64", "plan9_386"}); diags != nil {
		t.Error(diags)
	}
	if diags := CheckPlatforms([]string{"linux", "../_x", "linux_", "a_b_c"}); len(diags) != 4 {
		t.Error(diags)
	}
}

func TestCopy(t *testing.T) {
	s, o, a, hashes := lockSite(t)
	dir := t.TempDir()
	var events []string
	tell := func(e CopyEvent) {
		events = append(events, strings.TrimSpace(fmt.Sprintf("%s %s %s %t", e.Provider.Type, e.Version, e.Platform, e.Done)))
	}
	if diags := Copy(t.Context(), o, dir, []string{"linux_amd64", "plan9_mips"}, tell); diags.HasErrors() {
		t.Fatal(diags)
	}
	want := "a   false, a 1.1.0  false, a 1.1.0 linux_amd64 false, a 1.1.0 linux_amd64 true, a 1.1.0 plan9_mips false, a 1.1.0 plan9_mips true, terraform   false"
	if got := strings.Join(events, ", "); got != want {
		t.Errorf("events are %s", got)
	}

	// An older one beside it, by the lock file.
	o.Locks.Set(lockfile.Lock{Provider: a, Version: version.Version{Major: 1}})
	if diags := Copy(t.Context(), o, dir, []string{"plan9_mips"}, tell); diags.HasErrors() {
		t.Fatal(diags)
	}
	at := filepath.Join(dir, a.Host, "weir", "a")
	names, _ := filepath.Glob(filepath.Join(at, "*"))
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	if got := strings.Join(names, " "); got != "1.0.0.json 1.1.0.json index.json terraform-provider-a_1.0.0_plan9_mips.zip terraform-provider-a_1.1.0_linux_amd64.zip terraform-provider-a_1.1.0_plan9_mips.zip" {
		t.Errorf("files are %s", got)
	}
	var index struct {
		Archives map[string]archiveIndex `json:"archives"`
	}
	data, _ := os.ReadFile(filepath.Join(at, "1.1.0.json"))
	if err := json.Unmarshal(data, &index); err != nil || len(index.Archives) != 2 || index.Archives["plan9_mips"].Hashes[0] != hashes["1.1.0 plan9_mips"] {
		t.Errorf("%v in %s", err, data)
	}

	// Anything that was made is a mirror, on the disk and on the web.
	for _, file := range names {
		content, _ := os.ReadFile(filepath.Join(at, file))
		s.pages["/mirror/"+a.Host+"/weir/a/"+file] = content
	}
	reqs := Requirements{a: nil}
	for _, method := range []cliconfig.Method{
		{Kind: cliconfig.FilesystemMirror, Location: dir, DownloadRetries: -1},
		{Kind: cliconfig.NetworkMirror, Location: s.URL + "/mirror/", DownloadRetries: -1},
	} {
		installed := t.TempDir()
		config := &cliconfig.Config{Installation: &cliconfig.Installation{Methods: []cliconfig.Method{method}}}
		locks, _, diags := run(t, Options{Dir: installed, Config: config, Requirements: reqs, HTTP: s.Client(), Platform: "linux_amd64"})
		if diags.HasErrors() || lockOf(t, locks, a).Version.String() != "1.1.0" {
			t.Errorf("%s: %v", method.Kind, diags)
		}
	}
}

func TestCopyRefuses(t *testing.T) {
	s, o, a, _ := lockSite(t)
	dir := t.TempDir()
	quiet := func(CopyEvent) {}
	for want, change := range map[string]func(){
		"Invalid provider package":          func() { s.pages["/files/1.1.0linux_amd64.zip"] = s.pages["/files/1.0.0linux_amd64.zip"] },
		"Cannot download provider release":  func() { delete(s.pages, "/files/1.1.0linux_amd64.zip") },
		"Provider release not available":    func() { delete(s.pages, "/v1/weir/a/1.1.0/download/linux/amd64") },
		"Provider not available":            func() { delete(s.pages, "/v1/weir/a/versions") },
		"Provider not found in lockfile":    func() { o.Locks.Set(lockfile.Lock{Provider: provider("weir/b"), Version: version.Version{Major: 2}}) },
		"Inconsistent dependency lock file": func() { o.Locks.Set(lockfile.Lock{Provider: a, Version: version.Version{Major: 2}}) },
	} {
		publishFor(t, s, "linux_amd64")
		o.Locks = &lockfile.Locks{}
		change()
		diags := Copy(t.Context(), o, dir, []string{"linux_amd64"}, quiet)
		if !diags.HasErrors() || diags[0].Summary != want {
			t.Errorf("%s: %v", want, diags)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*")); left != nil {
		t.Errorf("files were left: %v", left)
	}
}
