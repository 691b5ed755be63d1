package consul

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/rest"
)

// store is one key.
type store struct {
	b   *Backend
	key string

	mu   sync.Mutex
	seen *uint64 // the index that Write replaces, nil where that isn't known
	stop func()  // ends the renewal of the session, nil without one
}

// A content is what a key has, beside the state itself.
type content struct {
	index  uint64
	pieces string // the hash that the keys of pieces have, "" for a state in one
}

// An index of pieces is in the key of a state that doesn't fit.
type indexOfPieces struct {
	Hash   string   `json:"current-hash"`
	Pieces []string `json:"chunks"`
}

// readAgain is how often a state is read again whose pieces are replaced meanwhile.
const readAgain = 10

// get returns nil where there is no state.
func (s *store) get(ctx context.Context) ([]byte, content, error) {
	for try := 0; ; try++ {
		state, at, err := s.getOnce(ctx)
		if !errors.Is(err, errPieceGone) || try == readAgain {
			return state, at, err
		}
	}
}

var errPieceGone = errors.New("a piece of the state is missing")

func (s *store) getOnce(ctx context.Context) ([]byte, content, error) {
	p, err := s.b.kv.get(ctx, s.key)
	if err != nil || p == nil {
		return nil, content{}, err
	}
	at, value := content{index: p.ModifyIndex}, p.Value
	var index indexOfPieces
	if json.Unmarshal(value, &index) == nil && index.Hash != "" {
		at.pieces, value = index.Hash, nil
		for _, key := range index.Pieces {
			piece, err := s.b.kv.get(ctx, key)
			if err != nil {
				return nil, at, err
			}
			if piece == nil {
				return nil, at, fmt.Errorf("%w: key %q could not be found", errPieceGone, key)
			}
			value = append(value, piece.Value...)
		}
	}
	if bytes.HasPrefix(value, []byte{0x1f}) {
		if value, err = unpack(value); err != nil {
			return nil, at, fmt.Errorf("the state can't be uncompressed: %w", err)
		}
	}
	if sum := md5.Sum(value); at.pieces != "" && hex.EncodeToString(sum[:]) != at.pieces {
		return nil, at, fmt.Errorf("%w: the state does not match the expected hash", errPieceGone)
	}
	if value == nil {
		value = []byte{}
	}
	return value, at, nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func pack(state []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(state)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// Read returns the value of the key, or its pieces.
func (s *store) Read(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
	state, at, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	if state != nil && len(state) == 0 {
		return nil, storage.ErrEmptyState
	}
	s.seen = &at.index
	if string(state) == storage.NoState {
		return nil, nil
	}
	return state, nil
}

// Write replaces the index that was seen.
func (s *store) Write(ctx context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, at, err := s.get(ctx)
	if err != nil && !errors.Is(err, errPieceGone) {
		return err
	}
	if s.seen != nil && at.index != *s.seen && *s.seen == 0 && string(now) == storage.NoState {
		s.seen = &at.index // the workspace was made meanwhile, and has no state yet
	}
	value := state
	if s.b.compress {
		if value, err = pack(state); err != nil {
			return err
		}
	}
	index, err := s.b.kv.put(ctx, s.key, value, s.seen)
	pieces := ""
	if tooLarge(err) {
		index, pieces, err = s.split(ctx, state, value)
	}
	if rest.Status(err) == http.StatusConflict {
		// It may have arrived before, and the answer was lost.
		now, there, problem := s.get(ctx)
		if problem != nil {
			return errors.Join(err, problem)
		}
		if !bytes.Equal(now, state) || there.index == *s.seen {
			return storage.ErrChanged
		}
		index = there.index
	} else if err != nil {
		return fmt.Errorf("the state can't be written to %s: %w", s.key, err)
	}
	s.seen = &index
	// The state is there, and what is left of the one before does no harm.
	_ = s.tidy(ctx, at.pieces, pieces)
	return nil
}

// pieceSize is the largest value that servers take unless they are reported otherwise.
const pieceSize = 512 << 10

// split writes a state in pieces, and then the list of them.
func (s *store) split(ctx context.Context, state, value []byte) (index uint64, hash string, err error) {
	sum := md5.Sum(state)
	list := indexOfPieces{Hash: hex.EncodeToString(sum[:])}
	for n := 0; len(value) > 0; n++ {
		piece := value[:min(pieceSize, len(value))]
		value = value[len(piece):]
		key := s.pieces(list.Hash) + strconv.Itoa(n)
		if err := s.b.kv.set(ctx, key, piece); err != nil {
			return 0, "", err
		}
		list.Pieces = append(list.Pieces, key)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return 0, "", err
	}
	index, err = s.b.kv.put(ctx, s.key, text, s.seen)
	return index, list.Hash, err
}

func (s *store) pieces(hash string) string {
	return strings.TrimRight(s.key, "/") + "/tfstate." + hash + "/"
}

// tidy removes the pieces of a state that was replaced, unless they are those of its
// successor.
func (s *store) tidy(ctx context.Context, hash, now string) error {
	if hash == "" || hash == now {
		return nil
	}
	return s.b.kv.removeAll(ctx, s.pieces(hash))
}

func (s *store) lockKey() string { return strings.TrimRight(s.key, "/") + "/.lock" }

func (s *store) infoKey() string { return strings.TrimRight(s.key, "/") + "/.lockinfo" }

// lifetime is how long a session lives that isn't renewed.
const lifetime = 15 * time.Second

// Lock has a session hold the key of the lock. The session is the id.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	if !s.b.locks {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	session, err := s.b.kv.begin(ctx)
	if err != nil {
		return "", fmt.Errorf("no session for the lock could be had: %w", err)
	}
	got, err := s.b.kv.acquire(ctx, s.lockKey(), session)
	if err == nil && !got {
		holder, problem := s.holder(ctx)
		err = &storage.LockError{Holder: holder, Err: errors.Join(fmt.Errorf("the key %s is held by another session", s.lockKey()), problem)}
	}
	if err == nil {
		info.ID, info.Path = session, s.key
		if err = s.b.kv.set(ctx, s.infoKey(), info.JSON()); err == nil {
			s.keep(session)
			return session, nil
		}
		err = fmt.Errorf("the lock's holder can't be written: %w", err)
	}
	return "", errors.Join(err, s.b.kv.end(ctx, session))
}

// keep renews a session until stop. The goroutine ends with the process at the latest,
// and the lock soon after it.
func (s *store) keep(session string) {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(lifetime / 3):
			}
			if rest.Status(s.b.kv.renew(ctx, session)) == http.StatusNotFound {
				return // Unlock says that it is lost, Write that somebody else has written
			}
		}
	}()
}

// holder is who holds the lock, nil for nobody and where they don't say so yet.
func (s *store) holder(ctx context.Context) (*storage.LockInfo, error) {
	lock, err := s.b.kv.get(ctx, s.lockKey())
	if err != nil || lock == nil || lock.Session == "" {
		return nil, err
	}
	text, err := s.b.kv.get(ctx, s.infoKey())
	if err != nil || text == nil {
		return nil, err
	}
	info, err := storage.ParseLockInfo(text.Value)
	if err != nil || info.ID != lock.Session { // of a run before
		return nil, err
	}
	return info, nil
}

// Unlock ends the session that is the lock's id.
func (s *store) Unlock(ctx context.Context, id string) error {
	if !s.b.locks {
		return storage.WithoutLock(id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lock, err := s.b.kv.get(ctx, s.lockKey())
	if err != nil {
		return err
	}
	if lock == nil || lock.Session != id {
		holder, err := s.holder(ctx)
		if lock == nil || lock.Session == "" {
			return errors.Join(errors.New("the state isn't locked: the lock ends by itself some seconds after its run"), err)
		}
		return &storage.LockError{Holder: holder, Err: errors.Join(fmt.Errorf("lock id %q does not match existing lock", id), err)}
	}
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	info, err := s.b.kv.get(ctx, s.infoKey())
	if err == nil && info != nil {
		err = s.b.kv.remove(ctx, s.infoKey(), &info.ModifyIndex)
	}
	err = errors.Join(err, s.b.kv.release(ctx, s.lockKey(), id), s.b.kv.end(ctx, id))
	if left, _ := s.b.kv.get(ctx, s.lockKey()); left != nil && left.Session == "" {
		_ = s.b.kv.remove(ctx, s.lockKey(), &left.ModifyIndex) // of no use, and no harm
	}
	return err
}
