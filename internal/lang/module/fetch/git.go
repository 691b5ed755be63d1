package fetch

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/net/stalltimeout"
)

// A checkout is what is wanted of a repository.
type checkout struct {
	url    string
	host   string
	ref    string // branch, tag or commit; empty for the default branch
	depth  int    // of the history; 0 for all
	sshKey []byte // private key, nil for what ssh finds
}

// git clones a repository. The directory keeps .git, which modules may use.
func (f *Fetcher) git(ctx context.Context, address, to string) error {
	c, err := readCheckout(address)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("git"); err != nil {
		return errors.New("git must be available and on the PATH: install it to use modules in git repositories")
	}
	environ := f.gitEnviron()
	if c.sshKey != nil {
		key := filepath.Join(filepath.Dir(to), "key")
		if err := os.WriteFile(key, c.sshKey, 0o600); err != nil {
			return err
		}
		defer os.Remove(key)
		absolute, err := filepath.Abs(key)
		if err != nil {
			return err
		}
		ssh := f.getenv("GIT_SSH_COMMAND")
		if ssh == "" {
			ssh = "ssh"
		}
		environ = append(environ, "GIT_SSH_COMMAND="+ssh+" -o IdentitiesOnly=yes -i '"+strings.ReplaceAll(absolute, "'", `'\''`)+"'")
	}
	run := func(dir string, args ...string) error { return f.runGit(ctx, c, to, environ, dir, args) }
	if err := c.clone(run, to); err != nil {
		return err
	}
	if !exists(filepath.Join(to, ".gitmodules")) {
		return nil
	}
	return run(to, append([]string{"submodule", "update", "--progress", "--init", "--recursive"}, c.depthArgs()...)...)
}

// readCheckout reads a git address. Nothing in it can be taken for an option.
func readCheckout(address string) (checkout, error) {
	u, err := url.Parse(address)
	if err != nil {
		return checkout{}, fmt.Errorf("%q can't be read as the address of a repository", address)
	}
	if !slices.Contains([]string{"https", "http", "ssh", "git", "file"}, u.Scheme) {
		return checkout{}, fmt.Errorf("git can't fetch from %s: addresses: use https:, ssh:, git: or file:", u.Scheme)
	}
	if strings.HasPrefix(u.Host, "-") || strings.HasPrefix(strings.TrimLeft(u.Path, "/"), "-") && u.Scheme == "ssh" {
		return checkout{}, fmt.Errorf("%q isn't a valid address of a repository: no part of it may begin with a dash", address)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return checkout{}, fmt.Errorf("the parameters %q can't be read: %w", u.RawQuery, err)
	}
	c := checkout{ref: query.Get("ref")}
	if strings.HasPrefix(c.ref, "-") {
		return checkout{}, fmt.Errorf("ref=%q isn't the name of a branch, tag or commit", c.ref)
	}
	if text := query.Get("depth"); text != "" {
		if c.depth, err = strconv.Atoi(text); err != nil || c.depth < 0 {
			return checkout{}, fmt.Errorf("depth=%q has to be a number of commits", text)
		}
	}
	if text := query.Get("sshkey"); text != "" {
		if c.sshKey, err = decodeKey(text); err != nil {
			return checkout{}, errors.New("sshkey has to be a private key in base64")
		}
	}
	for _, name := range []string{"ref", "depth", "sshkey", "archive", "checksum"} {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	c.url, c.host = u.String(), u.Host
	return c, nil
}

// decodeKey reads base64 whose plus signs may have become blanks.
func decodeKey(text string) ([]byte, error) {
	text = strings.ReplaceAll(text, " ", "+")
	if key, err := base64.StdEncoding.DecodeString(text); err == nil {
		return key, nil
	}
	return base64.RawURLEncoding.DecodeString(text)
}

func (c checkout) depthArgs() []string {
	if c.depth == 0 {
		return nil
	}
	return []string{"--depth", strconv.Itoa(c.depth)}
}

func (c checkout) clone(run func(dir string, args ...string) error, to string) error {
	if c.depth == 0 || c.ref == "" {
		args := append([]string{"clone", "--progress"}, c.depthArgs()...)
		if err := run("", append(args, "--", c.url, to)...); err != nil || c.ref == "" {
			return err
		}
		return run(to, "-c", "advice.detachedHead=false", "checkout", "--progress", c.ref, "--")
	}
	// A shallow clone can't begin at a commit, but a fetch can.
	for _, args := range [][]string{
		{"init", "--quiet", "--", to},
		{"-C", to, "remote", "add", "--", "origin", c.url},
		append(append([]string{"-C", to, "fetch", "--progress"}, c.depthArgs()...), "--", "origin", c.ref),
		{"-C", to, "-c", "advice.detachedHead=false", "checkout", "--progress", "FETCH_HEAD", "--"},
	} {
		if err := run("", args...); err != nil {
			return err
		}
	}
	return nil
}

// gitEnviron is the environment without what ties git to a repository around
// the working directory, and without questions at the terminal.
func (f *Fetcher) gitEnviron() []string {
	var environ []string
	for _, pair := range f.Environ {
		switch name, _, _ := strings.Cut(pair, "="); name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_TERMINAL_PROMPT":
		default:
			environ = append(environ, pair)
		}
	}
	return append(environ, "GIT_TERMINAL_PROMPT=0")
}

// runGit runs a command of git, which says what it is doing: what says nothing is given up.
func (f *Fetcher) runGit(ctx context.Context, c checkout, to string, environ []string, dir string, args []string) error {
	// Commands as transports are for people at a terminal.
	cmd := exec.Command("git", append([]string{"-c", "protocol.ext.allow=never"}, args...)...)
	cmd.Dir, cmd.Env = dir, environ
	said, err := f.run(ctx, cmd, c.host, to)
	if err == nil || ctx.Err() != nil || stalltimeout.Is(err) {
		return err
	}
	verb := args[0]
	for i := 0; i < len(args) && strings.HasPrefix(args[i], "-"); i += 2 {
		verb = args[min(i+2, len(args)-1)]
	}
	return fmt.Errorf("git %s failed (%w): %s", verb, err, said)
}
