package module

import (
	"path"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/lazyregexp"
)

// IsLocal reports whether a module source is a directory relative to the
// calling module.
func IsLocal(source string) bool {
	return source == "." || source == ".." || strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") ||
		strings.HasPrefix(source, `.\`) || strings.HasPrefix(source, `..\`)
}

type kind uint8

const (
	kindUnknown kind = iota
	kindLocal
	kindRegistry
	kindRemote
)

var registryForm = lazyregexp.New(`^(?:([0-9A-Za-z.-]+\.[0-9A-Za-z-]+(?::\d+)?|localhost(?::\d+)?)/)?[0-9A-Za-z](?:[0-9A-Za-z_-]*[0-9A-Za-z])?/[0-9A-Za-z](?:[0-9A-Za-z_-]*[0-9A-Za-z])?/[0-9a-z]+(?://.*)?$`)

// hosts that sources name without a scheme.
var hosts = []string{"github.com/", "bitbucket.org/"}

func kindOf(source string) kind {
	switch {
	case IsLocal(source):
		return kindLocal
	case strings.Contains(source, "::") || strings.Contains(source, "://"):
		return kindRemote
	}
	for _, h := range hosts {
		if strings.HasPrefix(source, h) {
			return kindRemote
		}
	}
	if registryForm.Get().MatchString(source) {
		return kindRegistry
	}
	if _, err := ParseRemote(source); err == nil {
		return kindRemote
	}
	return kindUnknown
}

// IsRegistry reports whether a module source is an address in a registry.
func IsRegistry(source string) bool { return kindOf(source) == kindRegistry }

// Canonical is the form of a source that the manifest has. An address in a
// registry without a host is in the given one.
func Canonical(source string, registry addr.Registry) string {
	switch kindOf(source) {
	case kindLocal:
		clean := path.Clean(strings.ReplaceAll(source, `\`, "/"))
		if clean == ".." || strings.HasPrefix(clean, "../") {
			return clean
		}
		return "./" + strings.TrimPrefix(clean, "./")
	case kindRegistry:
		if registryForm.Get().FindStringSubmatch(source)[1] == "" {
			return string(registry) + "/" + source
		}
	case kindRemote:
		if r, err := ParseRemote(source); err == nil {
			return r.String()
		}
	}
	return source
}
