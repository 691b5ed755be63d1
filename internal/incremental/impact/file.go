package impact

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"

	"weir.dev/weir/internal/incremental/sourceblocks"
	"weir.dev/weir/internal/lang/syntax"
)

// sum is of a text, or of several in no order.
type sum [18]byte

func sumOf(text []byte) (s sum) {
	whole := sha256.Sum256(text)
	copy(s[:], whole[:])
	return s
}

func (s *sum) mix(other sum) {
	for i := range s {
		s[i] ^= other[i]
	}
}

func (s sum) text() string {
	if s == (sum{}) {
		return ""
	}
	return base64.RawStdEncoding.EncodeToString(s[:])
}

func (s *sum) parse(text string) bool {
	if text == "" {
		return true
	}
	n, err := base64.RawStdEncoding.Decode(s[:], []byte(text))
	return err == nil && n == len(s) && len(text) == base64.RawStdEncoding.EncodedLen(len(s))
}

// A File is a file of a module. It is cut when that is needed.
type File struct {
	Name string
	text []byte
	sum  sum
	once sync.Once
	cuts [][]byte
	sums []sum // of the cuts, each as the first of a piece
}

// NewFile is a file with a text that nobody changes.
func NewFile(name string, text []byte) *File {
	return &File{Name: name, text: text, sum: sumOf(text)}
}

func (f *File) cut() {
	f.once.Do(func() {
		f.cuts = syntax.Cut(f.text)
		f.sums = make([]sum, len(f.cuts))
		for i := range f.cuts {
			f.sums[i] = f.sumOf(i, 1)
		}
	})
}

// sumOf is that of some cuts.
func (f *File) sumOf(at, n int) sum {
	return sumOf(append([]byte(f.kind()), sourceblocks.Join(f.cuts[at:at+n])...))
}

// kind distinguishes texts that mean something else in files of another kind.
func (f *File) kind() string {
	if strings.HasSuffix(f.Name, ".tofu") {
		return "tofu"
	}
	return "tf"
}

// A Source is what a call of the root module has behind it.
type Source struct {
	sum   sum
	files []*File
}

// NewSource is the source with the files of the modules that a call leads to. described says
// which modules these are.
func NewSource(described []byte, files []*File) *Source {
	s := &Source{files: files}
	all := append([]byte{}, described...)
	for _, f := range files {
		all = append(append(append(all, 0), f.Name...), f.sum[:]...)
	}
	s.sum = sumOf(all)
	return s
}

// isClosed reports whether what the modules come to follows from the call alone.
func (s *Source) isClosed() bool {
	for _, f := range s.files {
		if syntax.IsJSON(f.Name) {
			return false
		}
		f.cut()
		for cuts := f.cuts; len(cuts) > 0; {
			n, facts := sourceblocks.Next(cuts)
			if n == 0 || facts.Open {
				return false
			}
			cuts = cuts[n:]
		}
	}
	return true
}
