// Package txtar reads and writes text archives: a comment, and files that each start with a
// line "-- NAME --". Tests store their cases in them.
//
// It is for tests only, and knows nothing of what the files mean.
package txtar

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// An Archive is a comment and files.
type Archive struct {
	Comment []byte
	Files   []File
}

// A File is one file of an archive.
type File struct {
	Name string
	Data []byte
}

// ParseFile reads the archive in a file.
func ParseFile(path string) (*Archive, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(data), nil
}

// Parse reads an archive. Any text is one.
func Parse(data []byte) *Archive {
	a := &Archive{}
	part := &a.Comment
	for line := range bytes.Lines(data) {
		if name, ok := marker(line); ok {
			a.Files = append(a.Files, File{Name: name})
			part = &a.Files[len(a.Files)-1].Data
			continue
		}
		*part = append(*part, line...)
	}
	a.Comment = ended(a.Comment)
	for i := range a.Files {
		a.Files[i].Data = ended(a.Files[i].Data)
	}
	return a
}

// marker reads the line that a file begins with.
func marker(line []byte) (name string, ok bool) {
	text := strings.TrimRight(string(line), "\r\n")
	if len(text) < len("-- x --") || !strings.HasPrefix(text, "-- ") || !strings.HasSuffix(text, " --") {
		return "", false
	}
	name = strings.TrimSpace(text[len("-- ") : len(text)-len(" --")])
	return name, name != ""
}

// Format writes an archive.
func Format(a *Archive) []byte {
	var b bytes.Buffer
	b.Write(ended(a.Comment))
	for _, f := range a.Files {
		fmt.Fprintf(&b, "-- %s --\n", f.Name)
		b.Write(ended(f.Data))
	}
	return b.Bytes()
}

// ended is a text whose last line is a whole one.
func ended(data []byte) []byte {
	if len(data) == 0 || data[len(data)-1] == '\n' {
		return data
	}
	return append(data[:len(data):len(data)], '\n')
}
