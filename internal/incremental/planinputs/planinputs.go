// Package planinputs gathers the inputs of an incremental plan: the files of the root module, the
// dependencies of its blocks, and the records of the last plan and of earlier reads.
//
// It doesn't decide what may be affected.
package planinputs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/incremental/impact"
	"weir.dev/weir/internal/incremental/parsecache"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/sys/buildinfo"
	"weir.dev/weir/internal/sys/readlimit"
	"weir.dev/weir/internal/workspace/environment"
)

// Files are those of the root module. It reports whether they can be cut: those in JSON can't,
// and overrides aren't where they count.
func Files(at *environment.Place) ([]*impact.File, bool) {
	primary, override, err := selected(at, ".")
	if err != nil || len(override) > 0 || slices.ContainsFunc(primary, syntax.IsJSON) {
		return nil, false
	}
	files, err := read(at, primary)
	return files, err == nil && len(files) > 0
}

// selected are the files of the module in a directory.
func selected(at *environment.Place, dir string) (primary, override []string, err error) {
	names, err := at.Files().List(dir)
	if err != nil {
		return nil, nil, err
	}
	primary, override = module.Select(names, at.Dialect)
	return primary, override, nil
}

func read(at *environment.Place, names []string) (files []*impact.File, err error) {
	for _, name := range names {
		data, err := at.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, parsecache.Of(at.Memo, "pieces of "+name, data, func(data []byte) *impact.File { return impact.NewFile(name, data) }))
	}
	return files, nil
}

// Sources are what is behind the calls of the root module, by their names, as far as that is
// noted where modules are installed.
func Sources(at *environment.Place) map[string]*impact.Source {
	manifest, err := module.ReadManifest(at.Files(), at.DataName())
	if err != nil || at.FS != nil {
		return nil
	}
	keys := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(manifest)) {
		if call := key[:strings.IndexAny(key+".", ".[")]; call != "" {
			keys[call] = append(keys[call], key)
		}
	}
	sources := map[string]*impact.Source{}
	for call, keys := range keys {
		if s := source(at, manifest, keys); s != nil {
			sources[call] = s
		}
	}
	return sources
}

// source is what is behind a call; nil where that can't be read.
func source(at *environment.Place, manifest module.Manifest, keys []string) *impact.Source {
	var described []byte
	var files []*impact.File
	for _, key := range keys {
		r := manifest[key]
		described = fmt.Appendf(described, "%q %q %q %q\n", key, r.Source, r.Version, r.Dir)
		primary, override, err := selected(at, r.Dir)
		if err != nil {
			return nil
		}
		names := append(primary, override...)
		for i, name := range names {
			names[i] = filepath.Join(r.Dir, name)
		}
		of, err := read(at, names)
		if err != nil {
			return nil
		}
		files = append(files, of...)
	}
	return impact.NewSource(described, files)
}

// Under is a hash of what pieces depend on beside one another: the values of variables, the
// state, by its digest, the chosen providers, and what they and expressions learn of their
// surroundings. Nothing can be known of the values without the state.
func Under(at *environment.Place, workspace string, inputs map[string]module.VariableInput, external map[addr.Provider]bool, digest string) string {
	b := buildinfo.Current()
	h := hmac.New(sha256.New, []byte(digest))
	locked, err := at.LockFile()
	if err != nil {
		return ""
	}
	fmt.Fprintf(h, "%q %q %q %q %q %q %q", b.Version, b.Commit, b.Date, at.Dialect, workspace, at.OriginalDir, locked)
	for _, p := range slices.SortedFunc(maps.Keys(external), addr.Provider.Compare) {
		fmt.Fprintf(h, " %q", p)
	}
	for _, pair := range at.Environment() {
		if name, _, _ := strings.Cut(pair, "="); !isOfNoMatter(name) {
			fmt.Fprintf(h, " %q", pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		in := inputs[name]
		text := []byte(in.Text)
		if in.Value != cty.NilVal {
			if text, err = value.JSON(in.Value, cty.DynamicPseudoType); err != nil {
				return ""
			}
		}
		fmt.Fprintf(h, " %q %q %v %q", name, in.From, in.Value != cty.NilVal, text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// isOfNoMatter reports whether a variable of the environment may be another for the same
// providers: what shells keep for themselves, this program's own, and credentials, which may be
// new each time for the same as before.
func isOfNoMatter(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains([]string{"_", "SHLVL", "PWD", "OLDPWD"}, name) || strings.HasPrefix(name, "WEIR_") ||
		slices.ContainsFunc([]string{"TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL"}, func(part string) bool { return strings.Contains(name, part) })
}

// file is where the record for a workspace is. It is kept where it can be lost.
func file(at *environment.Place, workspace string) string {
	return filepath.Join(at.DataDir(), "affected", workspace)
}

// Record is what the pieces of the root module came to, nil where that isn't known.
func Record(at *environment.Place, workspace string) *impact.Record {
	data, err := readlimit.File(file(at, workspace))
	if err != nil {
		return nil
	}
	return parsecache.Of(at.Memo, "affected "+workspace, data, impact.Parse)
}

// Keep keeps a record; nil has the next plan be one of everything, and so has a failure.
func Keep(at *environment.Place, workspace string, r *impact.Record) {
	path, disk := file(at, workspace), at.StateDisk
	if r != nil && disk.MakeFolders(filepath.Dir(path), 0o700) == nil {
		if text := r.Text(); disk.Replace(path, text, 0o600) == nil {
			parsecache.Put(at.Memo, "affected "+workspace, text, r)
			return
		}
	}
	_ = disk.Remove(path)
}
