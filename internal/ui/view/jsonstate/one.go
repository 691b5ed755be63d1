package jsonstate

import (
	"bytes"
	"encoding/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
)

// MarshalSome writes some objects of a state: with OpenTofu as a state that has nothing else,
// in one line; with Terraform each as a document of its own, indented.
func MarshalSome(s *state.Snapshot, list []addr.Object, schemas map[addr.Provider]*provider.Schemas, d dialect.Dialect) ([]byte, error) {
	if d != dialect.Terraform {
		alone := state.Empty()
		alone.Version = s.Version
		alone.Objects = map[addr.Object]*state.Object{}
		for _, at := range list {
			alone.Objects[at] = s.Objects[at]
		}
		return Marshal(alone, schemas)
	}
	var documents [][]byte
	for _, at := range list {
		o := s.Objects[at]
		r, err := object(at, o, Schema(schemas, o.Provider.Provider, at.Name))
		if err != nil {
			return nil, err
		}
		text, err := json.MarshalIndent(struct {
			FormatVersion string    `json:"format_version"`
			Resource      *Resource `json:"resource"`
			Diagnostics   []any     `json:"diagnostics"`
		}{FormatVersion, r, []any{}}, "", "  ")
		if err != nil {
			return nil, err
		}
		documents = append(documents, text)
	}
	return bytes.Join(documents, []byte("\n")), nil
}

// Workspaces writes the names of all workspaces as Terraform does.
func Workspaces(names []string, current string) ([]byte, error) {
	type entry struct {
		Name      string `json:"name"`
		IsCurrent bool   `json:"is_current"`
	}
	list := make([]entry, len(names))
	for i, name := range names {
		list[i] = entry{name, name == current}
	}
	return json.MarshalIndent(struct {
		FormatVersion string  `json:"format_version"`
		Workspaces    []entry `json:"workspaces"`
		Diagnostics   []any   `json:"diagnostics"`
	}{"1.0", list, []any{}}, "", "  ")
}
