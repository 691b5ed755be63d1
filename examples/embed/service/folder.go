package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"weir.dev/weir"
)

// Folder keeps states in a directory: WORKSPACE.tfstate, and beside it the lock. It
// shows what a store has to do; one in a database does the same with a row.
type Folder string

var writing sync.Mutex // of this process; another process is kept away by the lock

func (f Folder) state(workspace string) string {
	return filepath.Join(string(f), workspace+".tfstate")
}

// Read implements weir.Store. The version is a digest of the content.
func (f Folder) Read(_ context.Context, workspace string) ([]byte, string, error) {
	data, err := os.ReadFile(f.state(workspace))
	if errors.Is(err, os.ErrNotExist) {
		return nil, "", nil
	}
	return data, version(data), err
}

func version(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Write implements weir.Store.
func (f Folder) Write(ctx context.Context, workspace string, state []byte, replaces string) (string, error) {
	writing.Lock()
	defer writing.Unlock()
	if _, now, err := f.Read(ctx, workspace); err != nil || now != replaces {
		return "", errors.Join(err, weir.ErrChanged)
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return "", err
	}
	next := f.state(workspace) + ".new"
	if err := os.WriteFile(next, state, 0o600); err != nil {
		return "", err
	}
	return version(state), os.Rename(next, f.state(workspace))
}

// Lock implements weir.Store.
func (f Folder) Lock(_ context.Context, workspace string, info weir.LockInfo) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.state(workspace)+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		held := &weir.LockedError{}
		if text, err := os.ReadFile(f.state(workspace) + ".lock"); err == nil {
			_ = json.Unmarshal(text, &held.Holder) // else it isn't known who
		}
		return held
	}
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// Unlock implements weir.Store.
func (f Folder) Unlock(_ context.Context, workspace, id string) error {
	path := f.state(workspace) + ".lock"
	var held weir.LockInfo
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &held)
	}
	if err == nil && held.ID != id {
		return &weir.LockedError{Holder: held}
	}
	return errors.Join(err, os.Remove(path))
}

// Workspaces implements weir.Store.
func (f Folder) Workspaces(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".tfstate"); ok {
			names = append(names, name)
		}
	}
	return names, err
}
