package workspace

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/core/diag"
)

// NoRevision says that changes since a revision can't be found.
var NoRevision = diag.Code{Name: "no-such-revision", Summary: "Failed to compare with a revision"}

// ChangedFiles are the absolute paths of the files of the directory's Git repository that differ from
// what they were where the current branch left a revision. Files that are gone, and new ones that
// aren't committed, count.
func (d *Directory) ChangedFiles(ctx context.Context, revision string) ([]string, diag.List) {
	git := func(args ...string) ([]string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.Env = d.Place.Path("."), d.Place.Environment()
		var out, problem bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &problem
		if err := cmd.Run(); err != nil {
			if text := strings.TrimSpace(problem.String()); text != "" {
				return nil, errors.New(text)
			}
			return nil, err
		}
		return strings.FieldsFunc(out.String(), func(r rune) bool { return r == 0 || r == '\n' && args[0] == "rev-parse" }), nil
	}
	fail := func(err error) ([]string, diag.List) {
		return nil, NoRevision.List("The files that changed since %q can't be found with git: %s.", revision, err)
	}
	if strings.HasPrefix(revision, "-") {
		return fail(errors.New("a revision doesn't begin with a dash"))
	}
	top, err := git("rev-parse", "--show-toplevel")
	if err != nil || len(top) != 1 {
		return fail(err)
	}
	changed, err := git("diff", "--name-only", "--no-renames", "--no-relative", "-z", "--merge-base", revision, "--")
	if err != nil {
		return fail(err)
	}
	fresh, err := git("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", ":/")
	if err != nil {
		return fail(err)
	}
	list := append(changed, fresh...)
	for i, name := range list {
		list[i] = filepath.Join(top[0], filepath.FromSlash(name))
	}
	return list, nil
}
