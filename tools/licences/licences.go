// Package licences finds the modules of a program and their licenses.
package licences

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Module is a module in the program.
type Module struct {
	Path, Version, Dir string
}

// Platforms are those that releases are built for.
var Platforms = []string{"linux/amd64", "darwin/arm64", "windows/amd64", "freebsd/amd64"}

// Of lists the modules of a program beside its own, sorted, on all platforms. The
// program is a package in the module in dir.
func Of(dir, program string) ([]Module, error) {
	found := map[Module]bool{}
	for _, platform := range Platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-deps", "-json=Module", program)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOWORK=off")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if m := p.Module; m != nil && !m.Main {
				found[Module{m.Path, m.Version, m.Dir}] = true
			}
		}
	}
	var list []Module
	for m := range found {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Module) int { return cmp.Compare(a.Path, b.Path) })
	return list, nil
}

// Texts are a module's licence files: what it is licensed under, and what has to be
// passed on beside.
func (m Module) Texts() (map[string]string, error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts[e.Name()] = strings.ReplaceAll(string(data), "\r\n", "\n")
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has no licence", m.Path)
	}
	return texts, nil
}

// marks are what distinguishes one licence from the others, in this order.
var marks = []struct{ id, text string }{
	{"MPL-2.0", "Mozilla Public License"},
	{"Apache-2.0", "Apache License"},
	{"ISC", "Permission to use, copy, modify, and/or distribute"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"BSD-3-Clause", "endorse or promote products"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
}

// Identify names the licence of a text as SPDX does.
func Identify(text string) (string, bool) {
	words := strings.Join(strings.Fields(text), " ")
	for _, m := range marks {
		if strings.Contains(words, m.text) {
			return m.id, true
		}
	}
	return "", false
}

// Licences are the names of the module's licences, sorted.
func (m Module) Licences() ([]string, error) {
	texts, err := m.Texts()
	if err != nil {
		return nil, err
	}
	var ids []string
	for name, text := range texts {
		upper := strings.ToUpper(name)
		if strings.HasPrefix(upper, "NOTICE") || strings.HasPrefix(upper, "PATENTS") {
			continue
		}
		id, ok := Identify(text)
		if !ok {
			return nil, fmt.Errorf("the licence %s of %s isn't known: add its distinguishing text to tools/licences", name, m.Path)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
