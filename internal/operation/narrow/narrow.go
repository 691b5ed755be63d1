// Package narrow finds what plans of what an edit may affect go by: the files of the root
// module, what else the pieces of it depend on, and the record of what they came to.
//
// It refuses to decide what may be affected.
package narrow

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/operation/place"
	"weir.dev/weir/internal/plan/affected"
	"weir.dev/weir/internal/system/input"
	"weir.dev/weir/internal/system/release"
	"weir.dev/weir/internal/word/memo"
	"weir.dev/weir/internal/word/value"
)

// Files are those of the root module, cut. It reports whether they can be: those in JSON can't,
// and overrides aren't where they count.
func Files(at *place.Place) ([]affected.File, bool) {
	names, err := at.Files().List(".")
	if err != nil {
		return nil, false
	}
	primary, override := module.Select(names, at.Dialect)
	if len(override) > 0 {
		return nil, false
	}
	var files []affected.File
	for _, name := range primary {
		data, err := at.ReadFile(name)
		if err != nil || syntax.IsJSON(name) {
			return nil, false
		}
		files = append(files, memo.Of(at.Memo, "pieces of "+name, data, func(data []byte) affected.File { return affected.NewFile(name, data) }))
	}
	return files, len(files) > 0
}

// Under is a hash of what pieces depend on beside one another: the values of variables, the
// state, by its digest, and what expressions learn of their surroundings. Nothing can be told
// of the values without the state.
func Under(at *place.Place, workspace string, inputs map[string]module.VariableInput, digest string) string {
	b := release.Current()
	h := hmac.New(sha256.New, []byte(digest))
	fmt.Fprintf(h, "%q %q %q %q %q %q", b.Version, b.Commit, b.Date, at.Dialect, workspace, at.OriginalDir)
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		in := inputs[name]
		text := []byte(in.Text)
		if in.Value != cty.NilVal {
			var err error
			if text, err = value.JSON(in.Value, cty.DynamicPseudoType); err != nil {
				return ""
			}
		}
		fmt.Fprintf(h, " %q %q %v %q", name, in.From, in.Value != cty.NilVal, text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// file is where the record for a workspace is. It is kept where it can be lost.
func file(at *place.Place, workspace string) string {
	return filepath.Join(at.DataDir(), "affected", workspace)
}

// Record is what the pieces of the root module came to, nil where that isn't known.
func Record(at *place.Place, workspace string) *affected.Record {
	data, err := input.File(file(at, workspace))
	if err != nil {
		return nil
	}
	return memo.Of(at.Memo, "affected "+workspace, data, affected.Parse)
}

// Keep keeps a record; nil has the next plan be one of everything, and so has a failure.
func Keep(at *place.Place, workspace string, r *affected.Record) {
	path, disk := file(at, workspace), at.StateDisk
	if r == nil || disk.MakeFolders(filepath.Dir(path), 0o700) != nil || disk.Replace(path, r.Text(), 0o600) != nil {
		_ = disk.Remove(path)
	}
}
