// Package readlimit reads files and pipes of users up to a size limit, and until an interrupt.
package readlimit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// How many bytes are read. A file that is longer is none of ours, and what isn't a
// file may have no end.
const (
	MaxFile   = 4 << 30
	MaxStream = 256 << 20
)

// ErrInterrupted is that nobody waits any longer for what was to be read.
var ErrInterrupted = errors.New("interrupted before all of it had come")

// Check rejects what isn't a file, where reading may never end. Directories are left to the
// operating system.
func Check(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode.IsDir(), isNull(info):
		return nil
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("it is a named pipe, and nobody may ever write to it")
	case mode&fs.ModeDevice != 0:
		return errors.New("it is a device, which may have no end")
	}
	return errors.New("it is no file")
}

// isNull reports whether something is the null device, which stands for an empty file.
func isNull(info fs.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}

// stat is os.Stat whose errors are those of opening, which is what callers ask for.
func stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	var problem *fs.PathError
	if errors.As(err, &problem) {
		err = &fs.PathError{Op: "open", Path: path, Err: problem.Err}
	}
	return info, err
}

// Open opens a file that has to be one.
func Open(path string) (*os.File, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if err := Check(info); err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.Open(path)
}

// File reads a file that has to be one, of MaxFile bytes at most.
func File(path string) ([]byte, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if err = Check(info); err == nil && info.Size() > MaxFile {
		err = tooLong(MaxFile)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.ReadFile(path)
}

// Any reads what needn't be a file, such as the pipe by which a shell hands on what
// another program writes, of which it reads MaxStream bytes at most. It waits for that
// until interrupted is closed; nil is never.
func Any(path string, interrupted <-chan struct{}) ([]byte, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() || info.IsDir() || isNull(info) {
		return File(path)
	}
	return wait(interrupted, func() ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readAll(f, path)
	})
}

// Stream does so with what is open, such as the standard input, which messages call
// name.
func Stream(r io.Reader, name string, interrupted <-chan struct{}) ([]byte, error) {
	return wait(interrupted, func() ([]byte, error) { return readAll(r, name) })
}

func readAll(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(Limited(r, name, MaxStream))
	if err != nil {
		return nil, err
	}
	return data, nil
}

// wait calls read, which continues for nobody where interrupted is closed before it ends.
func wait(interrupted <-chan struct{}, read func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		data, err := read()
		done <- answer{data, err}
	}()
	select {
	case a := <-done:
		return a.data, a.err
	case <-interrupted:
		return nil, ErrInterrupted
	}
}

// Limited fails where r, which messages call name, continues after limit bytes.
func Limited(r io.Reader, name string, limit int64) io.Reader {
	return &limited{r, name, limit, limit}
}

type limited struct {
	io.Reader
	name        string
	limit, rest int64
}

func (r *limited) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.rest -= int64(n); r.rest < 0 {
		return 0, &fs.PathError{Op: "read", Path: r.name, Err: tooLong(r.limit)}
	}
	return n, err
}

func tooLong(limit int64) error { return fmt.Errorf("it has more than %d MiB", limit>>20) }
