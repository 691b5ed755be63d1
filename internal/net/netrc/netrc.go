// Package netrc reads names and passwords for hosts from the user's .netrc file.
package netrc

import (
	"os"
	"path/filepath"
	"strings"
)

// Find returns the name and password for a host. The file is the one of the variable NETRC, or
// .netrc in the home directory.
func Find(getenv func(name string) string, host string) (user, password string, ok bool) {
	path := getenv("NETRC")
	if path == "" {
		home := getenv("HOME")
		if home == "" {
			return "", "", false
		}
		path = filepath.Join(home, ".netrc")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", "", false
	}
	return entry(string(data), host)
}

// entry finds the entry for a host, or the default one.
func entry(text, host string) (user, password string, ok bool) {
	words := strings.Fields(withoutMacros(text))
	mine := false
	for i := 0; i < len(words); i++ {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch words[i] {
		case "machine":
			if ok {
				return user, password, true
			}
			mine = next == host
			ok = mine
			i++
		case "default":
			if ok {
				return user, password, true
			}
			mine, ok = true, true
		case "login":
			if mine {
				user = next
			}
			i++
		case "password":
			if mine {
				password = next
			}
			i++
		case "account":
			i++
		}
	}
	return user, password, ok
}

// withoutMacros leaves out macro definitions, which end with an empty line, and
// comments.
func withoutMacros(text string) string {
	var kept strings.Builder
	macro := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case macro:
			macro = trimmed != ""
		case strings.HasPrefix(trimmed, "macdef"):
			macro = true
		case !strings.HasPrefix(trimmed, "#"):
			kept.WriteString(line)
		}
	}
	return kept.String()
}
