package fsfuncs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"sync"
)

// Contents that are larger, or with which all would be, aren't kept in a
// record: then the file has to be there, with the same content.
const (
	maxContent  = 8 << 20
	maxContents = 64 << 20
)

// An Answer is what a source said to one question.
type Answer struct {
	Text string      `json:"text,omitempty"`
	List []string    `json:"list,omitempty"`
	Mode fs.FileMode `json:"mode,omitempty"`
	// Content is the hash of what was read.
	Content string `json:"content,omitempty"`
	// Missing: there is no such file. Problem is any other error.
	Missing bool   `json:"missing,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// A Record is answers by question, and contents by hash.
type Record struct {
	Answers  map[string]Answer
	Contents map[string][]byte
}

// A Recorder answers from the disk and keeps the answers. Asked again, it says
// the same, and so does one that is made from its record, on whatever machine.
type Recorder struct {
	disk Disk

	mu     sync.Mutex
	record Record
	size   int // of all contents
}

// NewRecorder makes one that knows the answers of a record, which may be empty,
// and asks a disk for the others.
func NewRecorder(disk Disk, known Record) *Recorder {
	r := &Recorder{disk: disk, record: Record{map[string]Answer{}, map[string][]byte{}}}
	maps.Copy(r.record.Answers, known.Answers)
	maps.Copy(r.record.Contents, known.Contents)
	for _, content := range known.Contents {
		r.size += len(content)
	}
	return r
}

// Record is what was asked so far.
func (r *Recorder) Record() Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Record{maps.Clone(r.record.Answers), maps.Clone(r.record.Contents)}
}

// ask answers a question about a path as it was answered first.
func (r *Recorder) ask(question, path string, find func() (Answer, error)) (Answer, error) {
	r.mu.Lock()
	a, known := r.record.Answers[question]
	r.mu.Unlock()
	if !known {
		fresh, err := find()
		if err != nil {
			fresh = problem(err)
		}
		r.mu.Lock()
		if a, known = r.record.Answers[question]; !known {
			a = fresh
			r.record.Answers[question] = a
		}
		r.mu.Unlock()
	}
	switch {
	case a.Missing:
		return a, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case a.Problem != "":
		return a, &fs.PathError{Op: "open", Path: path, Err: errors.New(a.Problem)}
	}
	return a, nil
}

// problem is the answer that is an error.
func problem(err error) Answer {
	if errors.Is(err, fs.ErrNotExist) {
		return Answer{Missing: true}
	}
	var perr *fs.PathError
	if errors.As(err, &perr) {
		err = perr.Err
	}
	return Answer{Problem: err.Error()}
}

// Read implements Source.
func (r *Recorder) Read(path string) ([]byte, error) {
	a, err := r.ask("read "+path, path, func() (Answer, error) {
		content, err := r.disk.Read(path)
		if err != nil {
			return Answer{}, err
		}
		return Answer{Content: r.keep(content)}, nil
	})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	content, kept := r.record.Contents[a.Content]
	r.mu.Unlock()
	if kept {
		return content, nil
	}
	content, err = r.disk.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("the file was there when the plan was made and was too large to be saved with it")}
	case err != nil:
		return nil, err
	case hashOf(content) != a.Content:
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("the file has changed since the plan was made and was too large to be saved with it; make the plan again")}
	}
	return content, nil
}

// keep keeps a content unless it is too large, and returns its hash.
func (r *Recorder) keep(content []byte) string {
	hash := hashOf(content)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, kept := r.record.Contents[hash]; !kept && len(content) <= maxContent && r.size+len(content) <= maxContents {
		r.record.Contents[hash] = content
		r.size += len(content)
	}
	return hash
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Sum implements Source.
func (r *Recorder) Sum(path, name string, sum func(io.Reader) (string, error)) (string, error) {
	a, err := r.ask("sum "+name+" "+path, path, func() (Answer, error) {
		text, err := r.disk.Sum(path, name, sum)
		return Answer{Text: text}, err
	})
	return a.Text, err
}

// Mode implements Source.
func (r *Recorder) Mode(path string) (fs.FileMode, error) {
	a, err := r.ask("mode "+path, path, func() (Answer, error) {
		mode, err := r.disk.Mode(path)
		return Answer{Mode: mode}, err
	})
	return a.Mode, err
}

// Match implements Source.
func (r *Recorder) Match(dir, pattern string) ([]string, error) {
	a, err := r.ask(fmt.Sprintf("match %q %s", dir, pattern), dir, func() (Answer, error) {
		list, err := r.disk.Match(dir, pattern)
		return Answer{List: list}, err
	})
	return a.List, err
}

// Abs implements Source.
func (r *Recorder) Abs(path string) (string, error) {
	a, err := r.ask("abs "+path, path, func() (Answer, error) {
		text, err := r.disk.Abs(path)
		return Answer{Text: text}, err
	})
	return a.Text, err
}

// Home implements Source.
func (r *Recorder) Home() (string, error) {
	a, err := r.ask("home", "~", func() (Answer, error) {
		text, err := r.disk.Home()
		return Answer{Text: text}, err
	})
	return a.Text, err
}
