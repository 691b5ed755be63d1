// Package modreg serves a module registry from local clones of git repositories, so that tests
// install public modules without a network.
//
// The module NAMESPACE/NAME/PROVIDER is the clone NAMESPACE+terraform-PROVIDER-NAME
// in one directory, bare or not; its versions are the tags that hold a release
// whose requirements admit the provider that is there (usable).
package modreg

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// A Registry is an http.Handler for the module registry protocol, version 1. Its
// address is what a CLI configuration names for the service modules.v1.
type Registry struct {
	repos, cache string
	prefix       string
	provider     string
	release      version
	log          io.Writer

	mu       sync.Mutex
	versions map[string]*listing
}

type listing struct {
	once sync.Once
	tags []string // newest first
	err  error
}

// New returns a registry of the clones in repos. It is to be served at prefix
// ("/modreg/"), keeps archives in cache, lists only versions that admit the given
// release of the named provider, and writes a line to log for each module that it
// doesn't have.
func New(repos, cache, prefix, provider, release string, log io.Writer) (*Registry, error) {
	v, ok := parse(release)
	if !ok {
		return nil, fmt.Errorf("%q is no release", release)
	}
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return nil, err
	}
	return &Registry{repos: repos, cache: cache, prefix: prefix, provider: provider, release: v, log: log, versions: map[string]*listing{}}, nil
}

func (g *Registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, g.prefix), "/"), "/")
	switch {
	case len(parts) == 2 && parts[0] == "archive":
		http.ServeFile(w, r, filepath.Join(g.cache, filepath.Base(parts[1])))
	case len(parts) == 4 && parts[3] == "versions":
		g.list(w, parts[0], parts[1], parts[2])
	case len(parts) == 5 && parts[4] == "download":
		g.download(w, r, parts[0], parts[1], parts[2], parts[3])
	default:
		http.NotFound(w, r)
	}
}

// tags are the usable tags of a module's clone.
func (g *Registry) tags(namespace, name, provider string) (repo string, tags []string, err error) {
	repo = filepath.Join(g.repos, filepath.Base(namespace)+"+terraform-"+filepath.Base(provider)+"-"+filepath.Base(name))
	if _, err := os.Stat(repo); err != nil {
		return "", nil, err
	}
	g.mu.Lock()
	l := g.versions[repo]
	if l == nil {
		l = &listing{}
		g.versions[repo] = l
	}
	g.mu.Unlock()
	l.once.Do(func() { l.tags, l.err = usable(repo, g.provider, g.release) })
	return repo, l.tags, l.err
}

func (g *Registry) list(w http.ResponseWriter, namespace, name, provider string) {
	source := namespace + "/" + name + "/" + provider
	_, tags, err := g.tags(namespace, name, provider)
	if err != nil {
		g.none(w, source, err)
		return
	}
	type one struct {
		Version string `json:"version"`
	}
	versions := make([]one, len(tags))
	for i, tag := range tags {
		versions[i].Version = strings.TrimPrefix(tag, "v")
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"modules": []any{map[string]any{"source": source, "versions": versions}}})
}

func (g *Registry) download(w http.ResponseWriter, r *http.Request, namespace, name, provider, release string) {
	source := namespace + "/" + name + "/" + provider
	repo, tags, err := g.tags(namespace, name, provider)
	if err != nil {
		g.none(w, source, err)
		return
	}
	for _, tag := range tags {
		if strings.TrimPrefix(tag, "v") != release {
			continue
		}
		file := strings.Join([]string{filepath.Base(repo), release}, "-") + ".tar.gz"
		if err := g.archive(repo, tag, file); err != nil {
			g.none(w, source+" "+release, err)
			return
		}
		w.Header().Set("X-Terraform-Get", "http://"+r.Host+g.prefix+"archive/"+file)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	g.none(w, source+" "+release, fmt.Errorf("no such version"))
}

// archive makes the archive of a tag, once.
func (g *Registry) archive(repo, tag, file string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	path := filepath.Join(g.cache, file)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	part := path + ".part"
	if err := Archive(repo, tag, part); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// Archive writes what a clone has of a tag to a file in the form .tar.gz. Clones
// may lack large files, which are left out.
func Archive(repo, tag, file string) error {
	list, err := git(repo, "ls-tree", "-r", "-z", tag)
	if err != nil {
		return err
	}
	type entry struct{ object, path string }
	var entries []entry
	var objects strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		head, path, _ := strings.Cut(line, "\t")
		if fields := strings.Fields(head); len(fields) == 3 && fields[1] == "blob" {
			entries = append(entries, entry{fields[2], path})
			objects.WriteString(fields[2] + "\n")
		}
	}
	check := exec.Command("git", "-C", repo, "cat-file", "--batch-check")
	check.Stdin = strings.NewReader(objects.String())
	found, err := check.Output()
	if err != nil {
		return fmt.Errorf("git cat-file: %v", err)
	}
	args := []string{"archive", "--format=tar.gz", "-o", file, tag, "--", "."}
	for n, line := range strings.Split(strings.TrimSpace(string(found)), "\n") {
		if strings.HasSuffix(line, " missing") {
			args = append(args, ":(exclude,literal)"+entries[n].path)
		}
	}
	_, err = git(repo, args...)
	return err
}

func (g *Registry) none(w http.ResponseWriter, what string, err error) {
	fmt.Fprintf(g.log, "no module %s: %v\n", what, err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"errors":["Not Found"]}`)
}

func git(repo string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).Output()
	if exit, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}
