package module

import "strings"

// IsLocal reports whether a module source is a directory relative to the
// calling module.
func IsLocal(source string) bool {
	return source == "." || source == ".." || strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") ||
		strings.HasPrefix(source, `.\`) || strings.HasPrefix(source, `..\`)
}
