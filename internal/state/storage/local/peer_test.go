//go:build unix

package local

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain is the other process of startPeer too.
func TestMain(m *testing.M) {
	if path := os.Getenv("PEER_STATE"); path != "" {
		servePeer(path)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func servePeer(path string) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	set := func(kind int16) error {
		return unix.FcntlFlock(file.Fd(), unix.F_SETLK, &unix.Flock_t{Type: kind})
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		command, rest, _ := strings.Cut(in.Text(), " ")
		switch command {
		case "lock":
			fmt.Println(set(unix.F_WRLCK))
		case "unlock":
			fmt.Println(set(unix.F_UNLCK))
		case "read":
			file.Seek(0, io.SeekStart)
			content, _ := io.ReadAll(file)
			fmt.Println(string(content))
		case "write":
			file.Seek(0, io.SeekStart)
			file.Truncate(0)
			_, err := file.WriteString(rest)
			fmt.Println(err)
		}
	}
}
