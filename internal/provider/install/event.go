package install

import (
	"sync"

	"weir.dev/weir/internal/core/addr"
)

// Kind is the kind of an event.
type Kind uint8

const (
	Initializing     Kind = iota // the start, without a provider
	BuiltinAvailable             // a provider that is part of the engine
	Reusing                      // the lock file has the version
	FindingLatest                // any version will do
	FindingMatching              // Constraints are set
	AlreadyInstalled             // the package is in place, or in the cache when Shared
	Installing                   // into the cache when Shared
	Installed                    // Authentication and KeyID are set
	Linked                       // from the shared cache into the working directory
	Downloading                  // Done and Size are set; sent at once, out of order
)

// Authentication says how a package was found to be what it should be.
type Authentication uint8

const (
	// Unauthenticated packages come from a directory of the user, or have a
	// hash that the lock file knows.
	Unauthenticated Authentication = iota
	// Checked packages have the checksum that the registry or mirror reports.
	Checked
	// Signed packages are signed with a key that the registry names.
	Signed
	// SignatureSkipped packages are Checked, without a key to check more.
	SignatureSkipped
)

func (a Authentication) String() string {
	return [...]string{"unauthenticated", "verified checksum", "signed", "signature validation was skipped"}[a]
}

// An Event is progress that users like to see.
type Event struct {
	Kind        Kind
	Provider    addr.Provider
	Version     string
	Constraints string
	// Shared: it is about the cache that all working directories share.
	Shared         bool
	Authentication Authentication
	KeyID          string
	Platform       string // that packages are for; set by Lock
	// Done are the bytes of the package that have come, and Size all; Size is 0 where the
	// server doesn't say it. Over: no more will come.
	Done, Size int64
	Over       bool
}

// parallel is how many providers are worked on at once.
const parallel = 8

// inOrder does the work for all providers at once. Events are passed on in
// the order of the providers: at once for the first that isn't finished,
// later for those after it.
func (in *installer) inOrder(providers []addr.Provider, work func(i int, p addr.Provider, emit func(Event))) {
	var (
		mu       sync.Mutex
		current  int
		waiting  = make([][]Event, len(providers))
		finished = make([]bool, len(providers))
		slots    = make(chan struct{}, parallel)
		all      sync.WaitGroup
	)
	advance := func() {
		for current < len(providers) {
			for _, e := range waiting[current] {
				in.send(e)
			}
			waiting[current] = nil
			if !finished[current] {
				return
			}
			current++
		}
	}
	for i, p := range providers {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			work(i, p, func(e Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == Downloading {
					in.send(e)
					return
				}
				waiting[i] = append(waiting[i], e)
				if i == current {
					advance()
				}
			})
			mu.Lock()
			defer mu.Unlock()
			finished[i] = true
			advance()
		})
	}
	all.Wait()
}
