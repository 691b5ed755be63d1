//go:build linux || darwin

package daemon

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// mostFrame is how long what passes may be.
const mostFrame = 16 << 20

// A wire is one side of a connection. Any number of goroutines may write.
type wire struct {
	*net.UnixConn
	mu sync.Mutex
}

// send writes a frame, with files if there are any.
func (w *wire) send(kind byte, text []byte, files ...*os.File) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	frame := append([]byte{kind, 0, 0, 0, 0}, text...)
	binary.BigEndian.PutUint32(frame[1:], uint32(len(text))) // #nosec G115 -- at most mostFrame
	var rights []byte
	if len(files) > 0 {
		numbers := make([]int, len(files))
		for i, f := range files {
			numbers[i] = int(f.Fd())
		}
		rights = syscall.UnixRights(numbers...)
	}
	n, _, err := w.WriteMsgUnix(frame, rights, nil)
	if err == nil && n < len(frame) {
		_, err = w.Write(frame[n:])
	}
	return err
}

// next reads a frame.
func (w *wire) next() (kind byte, text []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(w, head[:]); err != nil {
		return 0, nil, err
	}
	return w.rest(head)
}

func (w *wire) rest(head [5]byte) (kind byte, text []byte, err error) {
	n := binary.BigEndian.Uint32(head[1:])
	if n > mostFrame {
		return 0, nil, errors.New("too long")
	}
	text = make([]byte, n)
	_, err = io.ReadFull(w, text)
	return head[0], text, err
}

// with reads a frame with the files that came with it.
func (w *wire) with() (kind byte, text []byte, files []*os.File, err error) {
	var head [5]byte
	rights := make([]byte, syscall.CmsgSpace(4*16))
	n, oob, _, _, err := w.ReadMsgUnix(head[:], rights)
	if err != nil {
		return 0, nil, nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:oob])
	if err != nil {
		return 0, nil, nil, err
	}
	for i := range messages {
		numbers, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, number := range numbers {
			files = append(files, os.NewFile(uintptr(number), "")) // #nosec G115 -- a file of the system's
		}
	}
	if _, err = io.ReadFull(w, head[n:]); err == nil {
		kind, text, err = w.rest(head)
	}
	return kind, text, files, err
}

// program distinguishes builds: the file that a process runs.
func program(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	at, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return string(encode([]any{at.Dev, at.Ino, info.Size(), info.ModTime().UnixNano()}))
}

// isOurs reports whether a process of the same user is at the other end, and its number.
func (w *wire) isOurs() (pid int, ok bool) {
	raw, err := w.SyscallConn()
	if err != nil {
		return 0, false
	}
	uid := -1
	err = raw.Control(func(fd uintptr) { uid, pid = peer(int(fd)) }) // #nosec G115 -- a file's number
	return pid, err == nil && uid == os.Geteuid()
}
