package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
)

// An index lists the versions of a release server, in the form of OpenTofu's api.json.
type index struct {
	Versions []indexed `json:"versions"`
}

type indexed struct {
	ID    string   `json:"id"`
	Files []string `json:"files"`
}

// index adds this version to the index at a path, as its first.
func (r *release) index(path string) error {
	var all index
	switch text, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &all); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	this := indexed{ID: r.version}
	for _, e := range entries {
		this.Files = append(this.Files, e.Name())
	}
	all.Versions = slices.DeleteFunc(all.Versions, func(v indexed) bool { return v.ID == r.version })
	all.Versions = append([]indexed{this}, all.Versions...)
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
