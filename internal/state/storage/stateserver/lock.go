package stateserver

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"

	"weir.dev/weir/internal/state/storage"
)

// through stands in front of what a client says about its process. So nobody takes over the lock
// of a client that has ended: only the client's own directory may know what it did. Clients get
// back what they said, and take over their own.
const through = "through weir state serve: "

// ofClient is a lock as clients see it.
func ofClient(info storage.LockInfo) storage.LockInfo {
	info.Info = strings.TrimPrefix(info.Info, through)
	return info
}

// locked says who holds the lock.
func locked(holder *storage.LockInfo) answer {
	if holder == nil {
		holder = &storage.LockInfo{Who: "Somebody that the backend doesn't name"}
	}
	return answer{status: http.StatusLocked, json: true, body: ofClient(*holder).JSON()}
}

// lock takes the lock of the backend for a client.
func (w *workspace) lock(ctx context.Context, body []byte) answer {
	info, err := storage.ParseLockInfo(body)
	if err != nil || info.ID == "" {
		return say(http.StatusBadRequest, "The request has no information about the lock with an ID.")
	}
	if h := w.held; h != nil && h.info.ID == info.ID && h.stands(ctx) { // the answer was lost
		return answer{status: http.StatusOK}
	}
	store, err := w.open(w.name)
	if err != nil {
		return failed(err)
	}
	sent := *info
	sent.Info = through + info.Info
	id, err := store.Lock(ctx, sent)
	var held *storage.LockError
	switch {
	case errors.As(err, &held) && held.Holder != nil && held.Holder.ID == info.ID: // that one was given by a server before
		if h := w.continued(ctx, store, *held.Holder); h != nil {
			w.held = h
			return answer{status: http.StatusOK}
		}
		return locked(held.Holder)
	case errors.As(err, &held):
		return locked(held.Holder)
	case err != nil:
		return failed(err)
	case id == "" && w.held != nil && w.held.id == "": // the backend has no locks
		return locked(&w.held.info)
	}
	h := &hold{*info, id, store}
	if l, ok := inner(store).(storage.Leased); ok {
		if err := l.KeepLock(ctx, id); err != nil {
			_ = store.Unlock(ctx, id)
			return failed(err)
		}
	}
	_, _ = store.Read(ctx) // a write then replaces this state, and none that others write without the lock
	w.held = h
	w.note("%s took the lock %s for %q", info.Who, info.ID, info.Operation)
	return answer{status: http.StatusOK}
}

// unlock releases the lock with the ID that the client names.
func (w *workspace) unlock(ctx context.Context, id string, body []byte) answer {
	if info, err := storage.ParseLockInfo(body); err == nil && info.ID != "" {
		id = info.ID
	}
	switch {
	case id == "":
		return say(http.StatusBadRequest, "The request has no ID of a lock.")
	case id == w.released: // the answer was lost
		return answer{status: http.StatusOK}
	}
	h := w.held
	if h == nil || h.info.ID != id {
		store, err := w.open(w.name)
		if err != nil {
			return failed(err)
		}
		h = &hold{info: storage.LockInfo{ID: id}, id: id, store: store}
	}
	if h.id != "" {
		if err := h.store.Unlock(ctx, h.id); err != nil {
			if a := failed(err); a.status == http.StatusConflict || h.stands(ctx) {
				return a
			}
			return say(http.StatusConflict, "%s.", err)
		}
	}
	if w.held == h {
		w.held = nil
	}
	w.released = id
	w.note("the lock %s was released", id)
	return answer{status: http.StatusOK}
}

// claim is the lock that a request is made under: the one that it names, or one for this request
// only. Without a hold the answer says why.
func (w *workspace) claim(ctx context.Context, r *http.Request) (h *hold, release func(), no answer) {
	if id := r.URL.Query().Get("ID"); id != "" {
		if h = w.holding(ctx, id); h == nil {
			return nil, nil, say(http.StatusConflict, "The lock %s isn't held: it was lost or released, or somebody else holds the lock.", id)
		}
		return h, func() {}, answer{}
	}
	store, err := w.open(w.name)
	if err != nil {
		return nil, nil, failed(err)
	}
	h = &hold{info: request(r), store: store}
	if h.id, err = store.Lock(ctx, h.info); err != nil {
		return nil, nil, failed(err)
	}
	if h.id == "" && w.held != nil && w.held.id == "" {
		return nil, nil, say(http.StatusConflict, "The lock %s is held.", w.held.info.ID)
	}
	return h, func() {
		if h.id != "" {
			_ = h.store.Unlock(ctx, h.id)
		}
	}, answer{}
}

// request is the lock of a request by a client that has none.
func request(r *http.Request) storage.LockInfo {
	user, _, _ := r.BasicAuth()
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return storage.NewLockInfo("http-"+strings.ToLower(r.Method), user+"@"+host, "")
}

// holding is the lock with that ID, nil where the client doesn't hold it. A server that was
// started again continues with locks that an earlier one took.
func (w *workspace) holding(ctx context.Context, id string) *hold {
	if h := w.held; h != nil && h.info.ID == id && h.stands(ctx) {
		return h
	}
	store, err := w.open(w.name)
	if err != nil {
		return nil
	}
	own, err := store.Lock(ctx, storage.NewLockInfo("http-lock", "weir state serve", ""))
	if err == nil {
		if own != "" {
			_ = store.Unlock(ctx, own)
		}
		return nil
	}
	var held *storage.LockError
	if !errors.As(err, &held) || held.Holder == nil || held.Holder.ID != id {
		return nil
	}
	h := w.continued(ctx, store, *held.Holder)
	if h != nil {
		w.held = h
	}
	return h
}

// continued is a lock that the backend has already, nil where it is lost meanwhile.
func (w *workspace) continued(ctx context.Context, store storage.Store, holder storage.LockInfo) *hold {
	if l, ok := inner(store).(storage.Leased); ok && l.KeepLock(ctx, holder.ID) != nil {
		return nil
	}
	_, _ = store.Read(ctx)
	return &hold{ofClient(holder), holder.ID, store}
}

// stands reports whether a lock is still held, as far as the backend can tell.
func (h *hold) stands(ctx context.Context) bool {
	store, ok := inner(h.store).(storage.Held)
	if !ok || h.id == "" {
		return true
	}
	holder, err := store.Holder(ctx)
	return err != nil || holder != nil && holder.ID == h.id
}

// inner is the store of the backend.
func inner(s storage.Store) storage.Store {
	if sealed, ok := s.(*storage.Sealed); ok {
		return sealed.Store
	}
	return s
}

// isEmpty reports whether a state certainly has no objects.
func isEmpty(state []byte) bool {
	if state == nil {
		return true
	}
	var has struct {
		Resources *[]json.RawMessage `json:"resources"`
	}
	return json.Unmarshal(state, &has) == nil && has.Resources != nil && len(*has.Resources) == 0
}
