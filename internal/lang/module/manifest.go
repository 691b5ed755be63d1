package module

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/sys/durable"
)

// A Record says where the module behind a call is. The key is the names of
// the calls from the root, joined by dots, and empty for the root.
type Record struct {
	Key     string `json:"Key"`
	Source  string `json:"Source"`
	Version string `json:"Version,omitempty"`
	Dir     string `json:"Dir"`
}

// A Manifest has the installed modules by key. It is the modules.json file
// that other tools read as well.
type Manifest map[string]Record

// ManifestPath is the file of the manifest in a data directory.
func ManifestPath(dataDir string) string { return filepath.Join(dataDir, "modules", "modules.json") }

// ReadManifest reads the manifest of a data directory; without the file it is
// empty.
func ReadManifest(files Files, dataDir string) (Manifest, error) {
	data, err := files.ReadFile(ManifestPath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseManifest(data)
}

// ParseManifest reads the bytes of a modules.json file.
func ParseManifest(data []byte) (Manifest, error) {
	m := Manifest{}
	if len(data) == 0 {
		return m, nil
	}
	var file struct{ Modules []Record }
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading the list of installed modules: %w", err)
	}
	for _, r := range file.Modules {
		if _, twice := m[r.Key]; twice {
			return nil, fmt.Errorf("the list of installed modules has two entries for %q", r.Key)
		}
		r.Dir = filepath.FromSlash(r.Dir)
		m[r.Key] = r
	}
	return m, nil
}

// Bytes is the manifest as a file, sorted by key.
func (m Manifest) Bytes() []byte {
	var file struct{ Modules []Record }
	for _, key := range slices.Sorted(maps.Keys(m)) {
		r := m[key]
		r.Dir = filepath.ToSlash(r.Dir)
		file.Modules = append(file.Modules, r)
	}
	data, err := json.Marshal(file)
	if err != nil {
		panic(err) // strings only
	}
	return data
}

// Write saves the manifest in a data directory of the disk. A reader sees the
// old file or the new one, never a part.
func (m Manifest) Write(dataDir string) error {
	path := ManifestPath(dataDir)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return durable.Replace(path, m.Bytes(), 0o666&^umask)
}

// umask keeps the manifest from being writable for everybody.
const umask = 0o022

// Find returns the directory of the module behind a call, if it is installed
// as the call asks for. The version is a constraint, empty for any; a source in a
// registry is in the given one unless it names another.
func (m Manifest) Find(key, source, constraint string, registry addr.Registry, at hcl.Range) (string, diag.List) {
	var diags diag.List
	source = Canonical(source, registry)
	r, ok := m[key]
	if !ok {
		r, ok = m.sibling(key, source, constraint)
	}
	switch {
	case !ok && kindOf(source) == kindUnknown: // init wouldn't help
		diags.Add(unresolved(source, at))
	case !ok:
		diags.Add(NotInstalled.Error(at, "This module is not yet installed. Run \"%s\" to install all modules required by this configuration.", diag.Run("init", "")))
	case r.Source != source:
		diags.Add(Changed.Error(at, "The source address was changed since this module was installed. Run \"%s\" to install all modules required by this configuration.", diag.Run("init", "")))
	case !fits(r.Version, constraint):
		diags.Add(Changed.As("Module version requirements have changed").Error(at, "The version requirements have changed since this module was installed and the installed version (%s) is no longer acceptable. Run \"%s\" to install all modules required by this configuration.", r.Version, diag.Run("init", "")))
	default:
		return r.Dir, nil
	}
	return "", diags
}

// sibling finds what the same call has installed from the same source, in its
// canonical form, for another instance, or for all.
func (m Manifest) sibling(key, source, constraint string) (Record, bool) {
	call := addr.WithoutKey(key)
	for _, other := range slices.Sorted(maps.Keys(m)) {
		if r := m[other]; addr.WithoutKey(other) == call && r.Source == source && fits(r.Version, constraint) {
			return r, true
		}
	}
	return Record{}, false
}

// fits reports whether an installed version satisfies a constraint.
func fits(installed, constraint string) bool {
	if constraint == "" {
		return true
	}
	v, err := version.NewVersion(installed)
	if err != nil {
		return false
	}
	want, err := version.NewConstraint(constraint)
	return err == nil && want.Check(v)
}
