package objectstore

import (
	"sync"
	"time"
)

// Keys are what requests are signed with, until a time if it isn't zero.
type Keys struct {
	ID, Secret, Token string
	Until             time.Time
}

// early is how long before their end keys are found again.
const early = 5 * time.Minute

// A Ring keeps keys as long as they are good.
type Ring struct {
	mu   sync.Mutex
	keys *Keys
}

// Get is the keys that there are, or those that find returns. Anyone who asks meanwhile waits.
func (r *Ring) Get(find func() (Keys, error)) (Keys, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.keys; k != nil && (k.Until.IsZero() || time.Until(k.Until) > early) {
		return *k, nil
	}
	k, err := find()
	if err != nil {
		return Keys{}, err
	}
	r.keys = &k
	return k, nil
}
