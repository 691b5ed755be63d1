package providersource

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
)

// noted is where the providers are noted that the last run had something to do for. It only
// reports which ones to start early, so nothing hangs on it.
func (d *Supplier) noted() string { return filepath.Join(d.place.DataDir(), "started.json") }

// expected are the installed providers that the last run asked for; all of them
// where nothing is known of such a run.
func (d *Supplier) expected(installed map[addr.Provider]string) []addr.Provider {
	all := slices.SortedFunc(maps.Keys(installed), addr.Provider.Compare)
	var names []string
	src, err := readlimit.File(d.noted())
	if err != nil || json.Unmarshal(src, &names) != nil {
		return all
	}
	return slices.DeleteFunc(all, func(p addr.Provider) bool { return !slices.Contains(names, p.String()) })
}

// expect notes which providers a run has asked for. That it can't be is no error of
// the run.
func (d *Supplier) expect(asked []addr.Provider) {
	names := make([]string, len(asked))
	for i, p := range asked {
		names[i] = p.String()
	}
	src, err := json.Marshal(names)
	if err != nil {
		return
	}
	if known, err := readlimit.File(d.noted()); err == nil && bytes.Equal(known, src) {
		return
	}
	_ = durable.Replace(d.noted(), src, 0o600)
}
