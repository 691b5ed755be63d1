package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/net/stalltimeout"
)

// hg clones a Mercurial repository. The directory keeps .hg.
func (f *Fetcher) hg(ctx context.Context, address, to string) error {
	source, revision, err := readClone(address)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("hg"); err != nil {
		return errors.New("hg must be available and on the PATH: install Mercurial to use modules in its repositories")
	}
	host := ""
	if u, err := url.Parse(source); err == nil {
		host = u.Host
	}
	run := func(args ...string) error {
		cmd := exec.Command("hg", append([]string{"--noninteractive", "--quiet"}, args...)...)
		cmd.Env = append(slices.Clone(f.Environ), "HGPLAIN=1")
		said, err := f.run(ctx, cmd, host, to)
		if err == nil || ctx.Err() != nil || stalltimeout.Is(err) {
			return err
		}
		return fmt.Errorf("hg %s failed (%w): %s", args[0], err, said)
	}
	if err := run("clone", "--noupdate", "--", source, to); err != nil {
		return err
	}
	update := []string{"update", "--repository", to}
	if revision != "" {
		update = append(update, "--rev", revision)
	}
	return run(update...)
}

// readClone reads a Mercurial address. Nothing in it can be taken for an option.
func readClone(address string) (source, revision string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", "", fmt.Errorf("%q can't be read as the address of a repository", address)
	}
	if !slices.Contains([]string{"https", "http", "ssh", "file"}, u.Scheme) {
		return "", "", fmt.Errorf("hg can't fetch from %s: addresses: use https:, http:, ssh: or file:", u.Scheme)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", "", fmt.Errorf("the parameters %q can't be read: %w", u.RawQuery, err)
	}
	revision = query.Get("rev")
	if strings.HasPrefix(u.Host, "-") || strings.HasPrefix(revision, "-") || strings.HasPrefix(strings.TrimLeft(u.Path, "/"), "-") && u.Scheme == "ssh" {
		return "", "", fmt.Errorf("%q isn't a valid address of a repository: no part of it may begin with a dash", address)
	}
	for _, name := range []string{"rev", "archive", "checksum"} {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	if u.Scheme == "file" {
		return filepath.FromSlash(u.Path), revision, nil
	}
	return u.String(), revision, nil
}
