package module

import (
	"bytes"
	"path/filepath"

	"weir.dev/weir/internal/word/dialect"
)

// settings are the types of the blocks that say how a module is set up.
var settings = []string{"terraform", "language", "required_providers", "variable", "locals"}

// Settings are the files of a directory that may have terraform, variable or
// locals blocks. Callers that need nothing else are spared the parsing of the
// others, which have most of the text.
func Settings(files Files, dir string, d dialect.Dialect) (Memory, error) {
	names, err := files.List(dir)
	if err != nil {
		return nil, err
	}
	primary, override := Select(names, d)
	few := Memory{}
	for _, name := range append(primary, override...) {
		path := filepath.Join(dir, name)
		data, err := files.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, word := range settings {
			if mentions(data, word) {
				few[path] = data
				break
			}
		}
	}
	return few, nil
}

// mentions finds a word anywhere, in comments and strings too.
func mentions(text []byte, word string) bool {
	for {
		at := bytes.Index(text, []byte(word))
		if at < 0 {
			return false
		}
		end := at + len(word)
		if (at == 0 || !inWord(text[at-1])) && (end == len(text) || !inWord(text[end])) {
			return true
		}
		text = text[end:]
	}
}

func inWord(c byte) bool {
	return c == '_' || c == '-' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
