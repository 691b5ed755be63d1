package cliconfig

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// Stacks say where deployments of stacks take from what their files only name.
type Stacks struct {
	// Tokens are by the name of the token, or "*" for all others.
	Tokens map[string]*Source
	// Stores are by type, and by the name of the block or what identifies the store
	// there; "*" stands for all others.
	Stores map[[2]string]*Source
	// Upstreams are directories of stacks by their addresses.
	Upstreams map[string]string
}

// A Source is where one token or the values of one store come from: a file, the
// environment, what a command prints, or an address.
type Source struct {
	// File is a file, or for a store also a directory with a file for each value.
	File string
	// Environment is the name of a variable for a token, and for a store what the names of
	// variables begin with; Given reports an empty beginning from none.
	Environment string
	Given       bool
	Command     []string
	URL         string
	// Bearer is the name of the variable with what requests to URL are authorized by.
	Bearer string
	Range  hcl.Range
}

// stacks reads the block of that name.
func (r *reader) stacks(it item) {
	all := &r.config.Stacks
	if all.Tokens == nil {
		*all = Stacks{Tokens: map[string]*Source{}, Stores: map[[2]string]*Source{}, Upstreams: map[string]string{}}
	}
	for _, arg := range it.children() {
		switch arg.name {
		case "identity_token":
			r.labelled(arg, 1, func(names []string, at item) { all.Tokens[names[0]] = r.source(at) })
		case "store":
			r.labelled(arg, 2, func(names []string, at item) { all.Stores[[2]string{names[0], names[1]}] = r.source(at) })
		case "upstream":
			r.labelled(arg, 1, func(names []string, at item) {
				for _, inner := range at.children() {
					dir := ""
					switch {
					case inner.name != "directory":
						r.unknown(inner, "an upstream block")
					case r.value(inner, &dir):
						all.Upstreams[names[0]] = dir
					}
				}
			})
		default:
			r.unknown(arg, "a stacks block")
		}
	}
}

// labelled goes through blocks that have n labels.
func (r *reader) labelled(it item, n int, each func(names []string, at item)) {
	if n == 0 {
		each(nil, it)
		return
	}
	if !it.json && len(it.labels) < n {
		r.fail(it.pos, "Invalid CLI configuration", "A %s block in stacks needs %d more label(s), such as the name of what it is for.", it.name, n-len(it.labels))
		return
	}
	for _, at := range it.children() {
		r.labelled(at, n-1, func(names []string, inner item) { each(slices.Concat([]string{at.name}, names), inner) })
	}
}

func (r *reader) source(it item) *Source {
	s := &Source{Range: *r.rangeOf(it.pos)}
	ways := 0
	for _, arg := range it.children() {
		switch arg.name {
		case "file":
			r.value(arg, &s.File)
		case "environment":
			r.value(arg, &s.Environment)
			s.Given = true
		case "command":
			r.value(arg, &s.Command)
		case "url":
			r.value(arg, &s.URL)
		case "bearer":
			r.value(arg, &s.Bearer)
			continue
		default:
			r.unknown(arg, "a source of tokens and stores")
			continue
		}
		ways++
	}
	if ways != 1 {
		r.fail(it.pos, "Invalid CLI configuration", "A source of a token or store needs one of the arguments file, environment, command and url.")
	}
	return s
}
