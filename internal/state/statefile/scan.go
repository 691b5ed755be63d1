package statefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// maxDepth limits how deep JSON may nest. Values of providers nest a dozen
// levels; a file that nests deeper than this was made to exhaust a stack.
const maxDepth = 1000

// A syntaxError says where the text stops being JSON.
type syntaxError struct {
	offset int
	what   string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("at byte offset %d: %s", e.offset, e.what) }

// A shapeError says which member holds something else than it should.
type shapeError struct {
	offset int
	want   string
	path   string
}

func (e *shapeError) Error() string {
	return fmt.Sprintf("%q must be %s, which is not what stands at byte offset %d", e.path, e.want, e.offset)
}

// A scanner reads JSON once from left to right. Values that are kept as they
// are become slices of the source, without a copy.
type scanner struct {
	src   []byte
	pos   int
	depth int
	// member is the name of the member whose value is read, for messages.
	member string
	// texts are some of the texts that were read, by what is written for them.
	texts map[string]string
}

func (s *scanner) syntax(what string) error { return &syntaxError{s.pos, what} }

func (s *scanner) shape(want string) error { return &shapeError{s.pos, want, s.member} }

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; c {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) unexpected(want string) error {
	if s.pos >= len(s.src) {
		return s.syntax("the file ends where " + want + " is expected")
	}
	return s.syntax(fmt.Sprintf("%q where %s is expected", s.src[s.pos], want))
}

// object calls f for each member; f has to read the value. A null is an
// object without members.
func (s *scanner) object(f func(name string) error) error {
	outer := s.member
	err := s.each('{', '}', "an object", func() error {
		if s.peek() != '"' {
			return s.unexpected("a member name")
		}
		name, err := s.known()
		if err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.unexpected("a colon")
		}
		s.pos++
		s.member = name
		return f(name)
	})
	s.member = outer
	return err
}

// array calls f for each element; f has to read it. A null is an empty array.
func (s *scanner) array(f func() error) error {
	return s.each('[', ']', "an array", f)
}

// each calls f for each of the things between brackets.
func (s *scanner) each(open, end byte, want string, f func() error) error {
	if s.null() {
		return nil
	}
	if s.peek() != open {
		return s.other(want)
	}
	if s.depth++; s.depth > maxDepth {
		return s.syntax(fmt.Sprintf("values nest more than %d levels deep", maxDepth))
	}
	s.pos++
	if s.peek() == end {
		s.pos++
		s.depth--
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case end:
			s.pos++
			s.depth--
			return nil
		default:
			return s.unexpected("a comma or the end of " + want)
		}
	}
}

// other is the error for a value of the wrong kind: a syntax error when it
// isn't even JSON.
func (s *scanner) other(want string) error {
	at := s.pos
	if _, err := s.value(); err != nil {
		return err
	}
	s.pos = at
	return s.shape(want)
}

// value reads any value and returns its text.
func (s *scanner) value() ([]byte, error) {
	c := s.peek()
	start := s.pos
	var err error
	switch {
	case c == '{':
		err = s.each('{', '}', "an object", s.skipPair)
	case c == '[':
		err = s.each('[', ']', "an array", s.skip)
	case c == '"':
		_, err = s.quoted()
	case c == '-' || c >= '0' && c <= '9':
		err = s.number()
	case s.literal("true"), s.literal("false"), s.literal("null"):
	default:
		err = s.unexpected("a value")
	}
	return s.src[start:s.pos], err
}

func (s *scanner) skip() error {
	_, err := s.value()
	return err
}

// skipPair reads a member with its value.
func (s *scanner) skipPair() error {
	if s.peek() != '"' {
		return s.unexpected("a member name")
	}
	if _, err := s.quoted(); err != nil {
		return err
	}
	if s.peek() != ':' {
		return s.unexpected("a colon")
	}
	s.pos++
	return s.skip()
}

func (s *scanner) literal(word string) bool {
	if bytes.HasPrefix(s.src[s.pos:], []byte(word)) {
		s.pos += len(word)
		return true
	}
	return false
}

func (s *scanner) null() bool {
	return s.peek() == 'n' && s.literal("null")
}

// plain has the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// quoted reads a string and returns it with its quotes.
func (s *scanner) quoted() ([]byte, error) {
	start := s.pos
	for i := s.pos + 1; i < len(s.src); i++ {
		c := s.src[i]
		if plain[c] {
			continue
		}
		switch {
		case c == '"':
			s.pos = i + 1
			return s.src[start:s.pos], nil
		case c < 0x20:
			s.pos = i
			return nil, s.syntax("a control character in a string")
		}
		i++ // the byte after the backslash
		if i >= len(s.src) {
			break
		}
		switch s.src[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			for range 4 {
				i++
				if i >= len(s.src) || !isHex(s.src[i]) {
					s.pos = min(i, len(s.src))
					return nil, s.syntax("a bad escape sequence in a string")
				}
			}
		default:
			s.pos = i
			return nil, s.syntax("a bad escape sequence in a string")
		}
	}
	s.pos = len(s.src)
	return nil, s.syntax("the file ends within a string")
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos] >= '0' && s.src[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

func (s *scanner) at(chars string) bool {
	return s.pos < len(s.src) && bytes.IndexByte([]byte(chars), s.src[s.pos]) >= 0
}

func (s *scanner) number() error {
	if s.at("-") {
		s.pos++
	}
	if s.at("0") {
		s.pos++
	} else if !s.digits() {
		return s.unexpected("a digit")
	}
	if s.at(".") {
		s.pos++
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	if s.at("eE") {
		s.pos++
		if s.at("+-") {
			s.pos++
		}
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	return nil
}

// text reads a string; null is the empty string.
func (s *scanner) text() (string, error) {
	if s.null() {
		return "", nil
	}
	if s.peek() != '"' {
		return "", s.other("a string")
	}
	raw, err := s.quoted()
	if err != nil {
		return "", err
	}
	return unquote(raw)
}

// manyTexts is how many texts are remembered.
const manyTexts = 200

// known is text for what occurs again and again, such as the names of members.
func (s *scanner) known() (string, error) {
	if s.peek() != '"' {
		return s.text()
	}
	raw, err := s.quoted()
	if err != nil {
		return "", err
	}
	if text, ok := s.texts[string(raw)]; ok {
		return text, nil
	}
	text, err := unquote(raw)
	if err == nil && len(s.texts) < manyTexts {
		if s.texts == nil {
			s.texts = map[string]string{}
		}
		s.texts[string(raw)] = text
	}
	return text, err
}

func unquote(raw []byte) (string, error) {
	for _, c := range raw {
		if c == '\\' || c >= 0x80 {
			// Escapes and bytes that aren't UTF-8 follow the library's rules.
			var text string
			err := json.Unmarshal(raw, &text)
			return text, err
		}
	}
	return string(raw[1 : len(raw)-1]), nil
}

// whole reads a whole number that isn't negative; null is 0.
func (s *scanner) whole() (uint64, error) {
	if s.null() {
		return 0, nil
	}
	c := s.peek()
	at := s.pos
	raw, err := s.value()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil || c == '"' {
		s.pos = at
		return 0, s.shape("a whole number")
	}
	return n, nil
}

// flag reads a boolean; null is false.
func (s *scanner) flag() (bool, error) {
	switch c := s.peek(); {
	case c == 't' && s.literal("true"):
		return true, nil
	case c == 'f' && s.literal("false"), s.null():
		return false, nil
	}
	return false, s.other("true or false")
}

// end makes sure that nothing follows.
func (s *scanner) end() error {
	if s.peek(); s.pos < len(s.src) {
		return s.unexpected("the end of the file")
	}
	return nil
}
