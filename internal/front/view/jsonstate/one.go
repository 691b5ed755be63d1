package jsonstate

import (
	"encoding/json"

	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/dialect"
)

// MarshalOne writes one object of a state: with OpenTofu as a state that has nothing else,
// in one line; with Terraform as a document of its own, indented.
func MarshalOne(s *state.Snapshot, at addr.Object, schemas map[addr.Provider]*provider.Schemas, d dialect.Dialect) ([]byte, error) {
	o := s.Objects[at]
	if d != dialect.Terraform {
		alone := state.Empty()
		alone.Version = s.Version
		alone.Objects = map[addr.Object]*state.Object{at: o}
		return Marshal(alone, schemas)
	}
	r, err := object(at, o, Schema(schemas, o.Provider.Provider, at.Name))
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(struct {
		FormatVersion string    `json:"format_version"`
		Resource      *Resource `json:"resource"`
		Diagnostics   []any     `json:"diagnostics"`
	}{FormatVersion, r, []any{}}, "", "  ")
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
