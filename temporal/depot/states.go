package depot

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/durable"
)

// The files of a root module in the depot: its state, and the journal of an apply that isn't
// finished.
const (
	StateFile   = "terraform.tfstate"
	JournalFile = StateFile + ".journal"
)

// StatesPath begins the address of each state. The name of its lease follows.
const StatesPath = "/states/"

// noEnd is how long somebody's lock lasts: until it is released.
const noEnd = 100 * 365 * 24 * time.Hour

// States serves the states of root modules over the protocol of the http backend. A lock is the
// lease that workers use, so a state has one writer at a time. Nothing is written without the lock.
func States(d *Dir, token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !knows(r, token) {
			w.Header().Set("WWW-Authenticate", `Basic realm="weir"`)
			http.Error(w, "the token of the store is missing or wrong", http.StatusUnauthorized)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, StatesPath)
		if err := check(name, ""); err != nil || !strings.Contains(name, "/") {
			http.Error(w, "the address of a state is "+StatesPath+"NAME/ROOT", http.StatusNotFound)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, most))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch r.Method {
		case http.MethodGet:
			err = d.getState(r, w, name)
		case http.MethodPost, http.MethodPut:
			err = d.putState(w, name, r.URL.Query().Get("ID"), body)
		case "LOCK":
			err = d.lockState(w, name, body)
		case "UNLOCK":
			err = d.unlockState(w, name, body)
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}

func (d *Dir) getState(r *http.Request, w http.ResponseWriter, name string) error {
	files, err := d.Files(r.Context(), name)
	if err != nil {
		return err
	}
	state, ok := files[StateFile]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(state)
	return nil
}

func (d *Dir) putState(w http.ResponseWriter, name, id string, state []byte) error {
	return d.alone(name, func(folder string) error {
		held, err := d.holder(folder)
		if err != nil {
			return err
		}
		if id == "" || held == nil || held.ID != id {
			w.WriteHeader(http.StatusConflict)
			return nil
		}
		return durable.Replace(filepath.Join(folder, StateFile), state, 0o600)
	})
}

func (d *Dir) lockState(w http.ResponseWriter, name string, body []byte) error {
	info, err := storage.ParseLockInfo(body)
	if err != nil || info.ID == "" {
		w.WriteHeader(http.StatusBadRequest)
		return nil
	}
	return d.alone(name, func(folder string) error {
		held, err := d.holder(folder)
		if err != nil {
			return err
		}
		if held == nil {
			// Only the journal has what the killed worker did. Another client would do it again.
			_, err := os.Stat(filepath.Join(folder, JournalFile))
			switch {
			case err == nil:
				held = &storage.LockInfo{Who: "An apply by Temporal workers that isn't finished", Operation: "apply -all -on=temporal"}
			case !errors.Is(err, fs.ErrNotExist):
				return err
			}
		}
		if held != nil && held.ID != info.ID {
			w.WriteHeader(http.StatusLocked)
			_, _ = w.Write(held.JSON())
			return nil
		}
		before, err := readLease(folder)
		if err != nil {
			return err
		}
		return writeLease(folder, Lease{name, string(body), before.Fence + 1, d.now().Add(noEnd)})
	})
}

func (d *Dir) unlockState(w http.ResponseWriter, name string, body []byte) error {
	info, err := storage.ParseLockInfo(body)
	if err != nil || info.ID == "" {
		w.WriteHeader(http.StatusBadRequest)
		return nil
	}
	return d.alone(name, func(folder string) error {
		held, err := d.holder(folder)
		if err != nil {
			return err
		}
		if held == nil || held.ID != info.ID {
			w.WriteHeader(http.StatusConflict)
			return nil
		}
		lease, err := readLease(folder)
		if err != nil {
			return err
		}
		lease.Until = time.Time{}
		return writeLease(folder, lease)
	})
}

// holder is who has the lease of a folder's state, nil for nobody. The lease of a worker has no ID,
// so nobody can release it.
func (d *Dir) holder(folder string) (*storage.LockInfo, error) {
	lease, err := readLease(folder)
	if err != nil || !lease.Until.After(d.now()) {
		return nil, err
	}
	if info, err := storage.ParseLockInfo([]byte(lease.Holder)); err == nil {
		return info, nil
	}
	return &storage.LockInfo{Who: lease.Holder, Operation: "apply -all -on=temporal"}, nil
}
