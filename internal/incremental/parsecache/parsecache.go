// Package parsecache caches results that were computed from texts, by the text.
//
// It owns telling texts apart, by all their bytes. It doesn't know what is made of them, which
// nobody changes.
package parsecache

import (
	"bytes"
	"sync"
)

// A Memo has the last text of each name, and what was made of it. It may be used by several
// tasks at once; nil keeps nothing.
type Memo struct {
	mu sync.Mutex
	of map[string]entry
}

type entry struct {
	text []byte
	made any
}

// most is how many names there may be. Those of files that are gone count, too.
const most = 10_000

// Of is the result of make for a text, which nobody changes afterwards. It isn't called where
// the last text of the name was the same.
func Of[T any](m *Memo, name string, text []byte, make func([]byte) T) T {
	if m == nil {
		return make(text)
	}
	m.mu.Lock()
	last, ok := m.of[name]
	m.mu.Unlock()
	if made, is := last.made.(T); ok && is && bytes.Equal(last.text, text) {
		return made
	}
	made := make(text)
	Put(m, name, text, made)
	return made
}

// Put has something for what the text of a name results in.
func Put[T any](m *Memo, name string, text []byte, made T) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil || len(m.of) >= most {
		m.of = map[string]entry{}
	}
	m.of[name] = entry{text, made}
}
