// Package lazyregexp compiles regular expressions when they are first used. A
// package-level regexp.MustCompile would run at the start of every command.
//
// It doesn't wrap the methods of expressions: Get returns the expression.
package lazyregexp

import (
	"regexp"
	"sync"
)

// A Regexp is a regular expression that is compiled at its first use.
type Regexp struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New returns the regular expression. For a package-level variable the Go compiler lays it
// out in the program's data, so that nothing runs at the start, unlike with sync.OnceValue.
func New(text string) *Regexp { return &Regexp{text: text} }

// Get compiles the expression if this is the first call. It panics if the expression is
// invalid, like regexp.MustCompile.
func (r *Regexp) Get() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.text) })
	return r.compiled
}
