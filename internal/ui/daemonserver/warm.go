package daemonserver

import (
	"slices"
	"sync"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/incremental/parsecache"
	"weir.dev/weir/internal/ui/daemon"
	"weir.dev/weir/internal/workspace/providersource"
)

// A Task is a job with what is kept for it.
type Task struct {
	daemon.Job
	Programs *engine.Programs
	Kept     *providersource.Kept
	Memo     *parsecache.Memo
}

// mostWarm is how many directories something is kept for.
const mostWarm = 8

// warmth is what is kept for directories, the last used one last.
type warmth struct {
	mu  sync.Mutex
	all []*warm
}

type warm struct {
	dir      string
	programs engine.Programs
	kept     providersource.Kept
	memo     parsecache.Memo
}

// of is what is kept for a directory. The one that wasn't used for the longest time makes
// room.
func (k *warmth) of(dir string) *warm {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.all, func(w *warm) bool { return w.dir == dir })
	w := &warm{dir: dir}
	switch {
	case at >= 0:
		w = k.all[at]
		k.all = slices.Delete(k.all, at, at+1)
	case len(k.all) == mostWarm:
		k.all[0].kept.Close()
		k.all = k.all[1:]
	}
	k.all = append(k.all, w)
	return w
}

// shrink ends processes of providers until there are no more than that in all, in those directories
// first that weren't used for the longest time.
func (k *warmth) shrink(most int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range slices.Backward(k.all) {
		most -= w.kept.Shrink(max(most, 0))
	}
}

func (k *warmth) list() (dirs []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.all {
		dirs = append(dirs, w.dir)
	}
	return dirs
}

func (k *warmth) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.all {
		w.kept.Close()
	}
}
