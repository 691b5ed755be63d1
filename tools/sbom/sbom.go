// Package sbom writes the modules of a built program as a CycloneDX document. It reads them
// from the program.
package sbom

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"weir.dev/weir/tools/licences"
)

type document struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component  component  `json:"component"`
	Properties []property `json:"properties,omitempty"`
}

type component struct {
	Ref      string    `json:"bom-ref"`
	Type     string    `json:"type"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	URL      string    `json:"purl"`
	Licences []licence `json:"licenses,omitempty"`
}

type licence struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Write writes the modules of a program to a file. An empty version stands for the program's own.
func Write(program, file, version string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(describe(info, version, cache()), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// cache is the directory of modules.
func cache() string {
	if dir := os.Getenv("GOMODCACHE"); dir != "" {
		return dir
	}
	if dir := os.Getenv("GOPATH"); dir != "" {
		return filepath.Join(filepath.SplitList(dir)[0], "pkg", "mod")
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, "go", "pkg", "mod")
}

func describe(info *debug.BuildInfo, version, cache string) document {
	if version == "" {
		version = info.Main.Version
	}
	main := made("application", info.Main.Path, version)
	main.Licences = named("MPL-2.0")
	doc := document{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{Component: main}, Components: []component{}}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || strings.HasPrefix(s.Key, "vcs") {
			doc.Metadata.Properties = append(doc.Metadata.Properties, property{"build:" + s.Key, s.Value})
		}
	}
	top := dependency{Ref: main.Ref}
	add := func(c component) {
		doc.Components = append(doc.Components, c)
		top.On = append(top.On, c.Ref)
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := made("library", m.Path, m.Version)
		found := licences.Module{Path: m.Path, Version: m.Version, Dir: filepath.Join(cache, escaped(m.Path)+"@"+escaped(m.Version))}
		if ids, err := found.Licences(); err == nil {
			c.Licences = named(ids...)
		}
		add(c)
	}
	std := made("library", "std", strings.TrimPrefix(info.GoVersion, "go"))
	std.Licences = named("BSD-3-Clause")
	add(std)
	doc.Dependencies = []dependency{top}
	return doc
}

func made(kind, path, version string) component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Ref: url, Type: kind, Name: path, Version: version, URL: url}
}

func named(ids ...string) []licence {
	var list []licence
	for _, id := range ids {
		var l licence
		l.License.ID = id
		list = append(list, l)
	}
	return list
}

// escaped is a path as the module cache writes it, where letters differ in more than
// their case.
func escaped(path string) string {
	var b strings.Builder
	for _, r := range path {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('!')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
