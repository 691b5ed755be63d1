package roots

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/stack/deploy"
)

// affect notes why roots may have another plan than at a revision: the files that they read and
// that changed, and upstream roots for which that is so. Where it can't be known what a root reads,
// it counts as affected.
func (e *Estate) affect(ctx context.Context, revision string) diag.List {
	changed, diags := e.Dir.ChangedFiles(ctx, revision)
	if diags.HasErrors() {
		return diags
	}
	top, err := resolved(e.Dir.Place.Dir)
	if err != nil {
		return diag.Unreadable.List("%s.", err)
	}
	each(e.Roots, func(r *Root) { r.affected(ctx, top, changed) })
	// In any order: a circle is reported by who orders the roots.
	for again := true; again; {
		again = false
		for _, r := range e.Roots {
			for _, up := range r.mayRead(e) {
				if up.IsAffected() && !slices.Contains(r.AffectedBy.Upstream, up.Name) {
					r.AffectedBy.Upstream, again = append(r.AffectedBy.Upstream, up.Name), true
				}
			}
		}
	}
	return nil
}

// mayRead are the roots whose states a root reads, and those whose states it may read: it isn't known
// which state that is, or where a root has its own.
func (r *Root) mayRead(e *Estate) []*Root {
	list := r.Upstreams()
	for _, other := range e.Roots {
		if other != r && !slices.Contains(list, other) && (len(r.Unresolved) > 0 || r.outside && other.State == (Place{})) {
			list = append(list, other)
		}
	}
	return list
}

// Affected is why a root may have another plan.
type Affected struct {
	Files    []string `json:"files"`    // as seen from the directory of the estate
	Upstream []string `json:"upstream"` // names of roots
}

// IsAffected reports whether a root may have another plan.
func (r *Root) IsAffected() bool {
	return r.AffectedBy != nil && len(r.AffectedBy.Files)+len(r.AffectedBy.Upstream) > 0
}

func resolved(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// affected finds the changed files that a root reads.
func (r *Root) affected(ctx context.Context, top string, changed []string) {
	r.AffectedBy = &Affected{Files: []string{}, Upstream: []string{}}
	reads := r.inputs(ctx, top)
	for _, path := range changed {
		if reads.has(path) {
			name, err := filepath.Rel(top, path)
			if err != nil {
				name = path
			}
			r.AffectedBy.Files = append(r.AffectedBy.Files, filepath.ToSlash(name))
		}
	}
	slices.Sort(r.AffectedBy.Files)
}

// inputs are the files that the plan of a root depends on.
type inputs struct {
	settings string          // the settings file
	root     string          // the directory
	modules  map[string]bool // directories of sources
	files    []string        // of values
	reads    []engine.FileRead
	any      bool // it can't be known
	stack    bool // the root is a deployment
}

func (r *Root) inputs(ctx context.Context, top string) *inputs {
	in := &inputs{settings: filepath.Join(top, SettingsFile), root: filepath.Join(top, filepath.FromSlash(r.Path)), modules: map[string]bool{}, stack: r.Stack}
	in.modules[in.root] = true
	for _, v := range r.Vars {
		in.files = append(in.files, in.path(v.Value))
	}
	c := r.load(ctx)
	if c == nil || r.Problems.HasErrors() {
		in.any = true
		return in
	}
	for name := range c.Sources {
		in.modules[filepath.Dir(in.path(name))] = true
	}
	var ok bool
	if in.reads, ok = c.FileReads(ctx); !ok {
		in.any = true
	}
	if r.deployment != nil {
		for _, path := range paths(r.deployment) {
			in.reads = append(in.reads, engine.FileRead{Path: path, Whole: true})
		}
	}
	return in
}

// path is a path as seen from the root, made absolute.
func (in *inputs) path(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(in.root, name)
}

// begins is the beginning of a path, made absolute.
func (in *inputs) begins(text string) string {
	i := strings.LastIndexByte(text, '/')
	if i < 0 {
		return ""
	}
	return in.path(text[:i+1]) + string(filepath.Separator) + text[i+1:]
}

// has reports whether a changed file is one that the root reads, or may be.
func (in *inputs) has(path string) bool {
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	switch {
	case in.any, path == in.settings, slices.Contains(in.files, path):
		return true
	case in.modules[dir] && (isConfiguration(name) || in.stack && isOfStack(name)):
		return true
	case dir == in.root && (name == lockfile.Name || strings.HasSuffix(name, ".tfvars") || strings.HasSuffix(name, ".tfvars.json")):
		return automatic(name)
	}
	return slices.ContainsFunc(in.reads, func(r engine.FileRead) bool { return in.reaches(r, path) })
}

// isConfiguration reports whether a file is part of a module.
func isConfiguration(name string) bool {
	return slices.ContainsFunc([]string{".tf", ".tofu", ".tf.json", ".tofu.json"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// isOfStack reports whether a file is part of a stack, its deployments or its settings.
func isOfStack(name string) bool {
	is, _ := module.IsStackFile(name)
	return is || deploy.IsFile(name) || module.IsStackSettings(name)
}

// automatic reports whether a file of the root directory is read without being named.
func automatic(name string) bool {
	return name == lockfile.Name || name == "terraform.tfvars" || name == "terraform.tfvars.json" || strings.HasSuffix(name, ".auto.tfvars") || strings.HasSuffix(name, ".auto.tfvars.json")
}

// reaches reports whether a path of the configuration may lead to a file.
func (in *inputs) reaches(r engine.FileRead, path string) bool {
	if !r.Whole {
		return !module.IsSource(path) && strings.HasPrefix(path, in.begins(r.Path))
	}
	named := in.path(r.Path)
	if path == named {
		return true
	}
	rest, below := strings.CutPrefix(path, named+string(filepath.Separator))
	if below && r.Function == "fileset" && r.Pattern != "" && !strings.Contains(r.Pattern, "..") {
		match, err := doublestar.Match(strings.TrimPrefix(r.Pattern, "./"), filepath.ToSlash(rest))
		return match || err != nil
	}
	return below && (r.Function == "fileset" || r.Function == "" && len(named) > len(in.root) && !in.modules[named])
}
