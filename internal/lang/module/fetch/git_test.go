package fetch

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository has two commits on main, a tag on the first and a branch.
func repository(t *testing.T) (dir, first string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git isn't installed")
	}
	dir = t.TempDir()
	git(t, dir, "init", "-q")
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("main.tf", "# one")
	write("modules/a/main.tf", "# a")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "one")
	git(t, dir, "tag", "v1")
	first = git(t, dir, "rev-parse", "HEAD")
	write("main.tf", "# two")
	git(t, dir, "commit", "-qam", "two")
	git(t, dir, "checkout", "-qb", "side/line")
	write("main.tf", "# side")
	git(t, dir, "commit", "-qam", "side")
	git(t, dir, "checkout", "-q", "main")
	return dir, first
}

func TestGit(t *testing.T) {
	repo, first := repository(t)
	f := New(Options{Environ: append(os.Environ(), "GIT_DIR=/nosuch")})
	for _, tt := range []struct {
		suffix, text string
		commits      string // in the history, empty for any
	}{
		{"", "# two", "2"},
		{"?ref=v1", "# one", "1"},
		{"?ref=side/line", "# side", "3"},
		{"?ref=" + first, "# one", ""},
		{"?ref=" + first[:10], "# one", ""},
		{"?depth=1", "# two", "1"},
		{"?ref=side/line&depth=1", "# side", "1"},
		{"?ref=v1&depth=1", "# one", "1"},
		{"?depth=1&ref=" + first, "# one", "1"},
		{"//modules/a?ref=v1", "# a", ""},
		{"//modules/*", "# a", ""},
	} {
		base := filepath.Join(t.TempDir(), "m")
		dir, version, err := f.Fetch(t.Context(), "git::file://"+repo+tt.suffix, "", base)
		if err != nil || version != "" {
			t.Errorf("%s: %v %s", tt.suffix, err, version)
			continue
		}
		if got := read(t, dir, "main.tf"); got != tt.text {
			t.Errorf("%s: the module is %q, want %q", tt.suffix, got, tt.text)
		}
		if tt.commits == "" {
			continue
		}
		if got := git(t, base, "rev-list", "--count", "HEAD"); got != tt.commits {
			t.Errorf("%s: there are %s commits, want %s", tt.suffix, got, tt.commits)
		}
	}
	for suffix, problem := range map[string]string{
		"?ref=nosuch":                     "nosuch",
		"?ref=nosuch&depth=1":             "nosuch",
		"?ref=--upload-pack=touch%20x":    "isn't the name of a branch",
		"?depth=-1":                       "number of commits",
		"?depth=x":                        "number of commits",
		"?sshkey=%25%25":                  "private key in base64",
		"/nosuch":                         "git clone failed",
		"//modules/nosuch?ref=v1&depth=1": "no directory",
	} {
		_, _, err := f.Fetch(t.Context(), "git::file://"+repo+suffix, "", filepath.Join(t.TempDir(), "m"))
		wantError(t, err, problem)
	}
}

func TestGitCopiesWithoutHistory(t *testing.T) {
	repo, _ := repository(t)
	f := New(Options{Environ: os.Environ()})
	base := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if _, _, err := f.Fetch(t.Context(), "git::file://"+repo, "", filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	if !exists(filepath.Join(base, "a", ".git")) || exists(filepath.Join(base, "b", ".git")) || read(t, base, "b", "main.tf") != "# two" {
		t.Error("the first directory is a clone and the second one a copy of its files")
	}
}

func TestGitSubmodules(t *testing.T) {
	inner, _ := repository(t)
	outer := t.TempDir()
	git(t, outer, "init", "-q")
	git(t, outer, "submodule", "add", "-q", "file://"+inner, "inner")
	git(t, outer, "commit", "-qm", "with a submodule")
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[protocol \"file\"]\nallow = always\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := New(Options{Environ: append(os.Environ(), "HOME="+home)})
	dir, _, err := f.Fetch(t.Context(), "git::file://"+outer+"//inner", "", filepath.Join(t.TempDir(), "m"))
	if err != nil || read(t, dir, "main.tf") != "# two" {
		t.Error(dir, err)
	}
}

func TestReadCheckout(t *testing.T) {
	for _, address := range []string{"ext::sh -c x", "ext://x/y", "ssh://-oProxyCommand=x/y", "ssh://host/-x", "--upload-pack=x", "https://x/y?ref=-x"} {
		if c, err := readCheckout(address); err == nil {
			t.Errorf("%s: no error, but %+v", address, c)
		}
	}
	c, err := readCheckout("ssh://git@example.com/x.git?ref=v1&depth=3&sshkey=a2V5&other=1")
	if err != nil || c.url != "ssh://git@example.com/x.git?other=1" || c.ref != "v1" || c.depth != 3 || string(c.sshKey) != "key" {
		t.Errorf("got %+v, %v", c, err)
	}
}

// TestGitSSH has a program in place of ssh that notes what it is given.
func TestGitSSH(t *testing.T) {
	repo, _ := repository(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "ssh")
	script := "#!/bin/sh\necho \"$@\" >" + dir + "/args\nwhile [ \"$1\" != git@example.com ]; do [ \"$1\" = -i ] && cp \"$2\" " + dir + "/key; shift; done\nexec git upload-pack " + repo + "\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	f := New(Options{Environ: append(os.Environ(), "GIT_SSH_COMMAND="+program)})
	got, _, err := f.Fetch(t.Context(), "git::git@example.com:org/x.git?sshkey=c2VjcmV0&ref=v1", "", filepath.Join(t.TempDir(), "m"))
	if err != nil || read(t, got, "main.tf") != "# one" {
		t.Fatal(got, err)
	}
	if read(t, dir, "key") != "secret" || !strings.Contains(read(t, dir, "args"), "org/x.git") {
		t.Errorf("ssh got %s", read(t, dir, "args"))
	}
}

func TestGitDaemon(t *testing.T) {
	repo, _ := repository(t)
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := probe.Addr().String()
	probe.Close()
	host, port, _ := net.SplitHostPort(address)
	// The program itself, so that ending it ends the server.
	program := filepath.Join(git(t, repo, "--exec-path"), "git-daemon")
	if _, err := os.Stat(program); err != nil {
		t.Skip("git daemon isn't installed")
	}
	daemon := exec.Command(program, "--export-all", "--reuseaddr", "--listen="+host, "--port="+port, "--base-path="+filepath.Dir(repo))
	if err := daemon.Start(); err != nil {
		t.Skip("git daemon can't be started: ", err)
	}
	t.Cleanup(func() {
		daemon.Process.Kill()
		daemon.Wait()
	})
	for n := 0; n < 100; n++ {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	f := New(Options{Environ: os.Environ()})
	dir, _, err := f.Fetch(t.Context(), "git::git://"+address+"/"+filepath.Base(repo)+"?ref=v1", "", filepath.Join(t.TempDir(), "m"))
	if err != nil || read(t, dir, "main.tf") != "# one" {
		t.Error(dir, err)
	}
}
