package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/aws/modreg"
)

// An Example is a directory of a repository at a tag.
type Example struct {
	Repo string // OWNER+terraform-PROVIDER-NAME
	Tag  string
	Dir  string // below the repository, "." for its root
	tree string // where the repository is at that tag
}

// Name is how people call it: OWNER/PROVIDER-NAME, a colon and the directory.
func (e Example) Name() string {
	return strings.Replace(strings.Replace(e.Repo, "+terraform-", "/", 1), "/aws-", "/", 1) + ":" + e.Dir
}

// File is a file name for it.
func (e Example) File() string {
	return strings.NewReplacer("/", "+", ":", "@").Replace(e.Name())
}

// findExamples lists the examples and roots of all clones at the newest version that the
// registry offers, and lays their trees out. Each repository's first one comes before all
// second ones, so that a run that isn't finished has seen most examples.
func findExamples(repos, server, work string) ([]Example, error) {
	entries, err := os.ReadDir(repos)
	if err != nil {
		return nil, err
	}
	var rounds [][]Example
	for _, entry := range entries {
		tag, err := newestTag(filepath.Join(repos, entry.Name()), entry.Name(), server, work)
		if err != nil {
			return nil, fmt.Errorf("%s: %v", entry.Name(), err)
		}
		if tag == "" {
			continue // nothing that the provider's version can serve
		}
		tree := filepath.Join(work, "trees", entry.Name()+"@"+tag)
		if err := layOut(filepath.Join(repos, entry.Name()), tag, tree); err != nil {
			return nil, fmt.Errorf("%s: %v", entry.Name(), err)
		}
		dirs, err := configurations(tree)
		if err != nil {
			return nil, err
		}
		for n, dir := range dirs {
			if n == len(rounds) {
				rounds = append(rounds, nil)
			}
			rounds[n] = append(rounds[n], Example{Repo: entry.Name(), Tag: tag, Dir: dir, tree: tree})
		}
	}
	return slices.Concat(rounds...), nil
}

// newestTag asks the registry, whose business it is which versions can be used
// with the provider that is there. The answer is kept.
func newestTag(dir, name, server, work string) (string, error) {
	kept := filepath.Join(work, "tags", name)
	if b, err := os.ReadFile(kept); err == nil {
		return string(b), nil
	}
	owner, rest, _ := strings.Cut(name, "+terraform-")
	provider, module, ok := strings.Cut(rest, "-")
	if !ok {
		return "", nil
	}
	resp, err := http.Get(server + "/modreg/" + owner + "/" + module + "/" + provider + "/versions")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Modules []struct{ Versions []struct{ Version string } }
	}
	if resp.StatusCode == http.StatusNotFound {
		return "", nil
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", err
	}
	tag := ""
	for _, m := range answer.Modules {
		for _, v := range m.Versions {
			if tag == "" || compareVersions(v.Version, tag) > 0 {
				tag = v.Version
			}
		}
	}
	if tag != "" && exec.Command("git", "-C", dir, "rev-parse", "-q", "--verify", "refs/tags/"+tag).Run() != nil {
		tag = "v" + tag
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return "", err
	}
	return tag, os.WriteFile(kept, []byte(tag), 0o644)
}

func compareVersions(a, b string) int {
	return slices.Compare(numbers(a), numbers(b))
}

func numbers(v string) []int {
	var list []int
	for part := range strings.SplitSeq(v, ".") {
		n := 0
		fmt.Sscan(part, &n)
		list = append(list, n)
	}
	return list
}

// layOut puts a repository's tag into a directory.
func layOut(repo, tag, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.MkdirAll(part, 0o755); err != nil {
		return err
	}
	archive := part + ".tar.gz"
	if err := modreg.Archive(repo, tag, archive); err != nil {
		return err
	}
	defer os.Remove(archive)
	if out, err := exec.Command("tar", "-xzf", archive, "-C", part).CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %v: %s", err, out)
	}
	return os.Rename(part, dir)
}

// configurations lists the root of a tree and the examples below it.
func configurations(tree string) ([]string, error) {
	var list []string
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(tree, path)
		if rel != "." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		first, _, _ := strings.Cut(rel, "/")
		if rel != "." && first != "examples" {
			return filepath.SkipDir
		}
		if files, _ := filepath.Glob(filepath.Join(path, "*.tf")); len(files) > 0 {
			list = append(list, rel)
		}
		return nil
	})
	if len(list) > 0 && list[0] == "." { // most roots only lack values of variables
		list = append(list[1:], ".")
	}
	return list, err
}
