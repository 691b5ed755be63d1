package serve

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// listening are the TCP ports that this process listens at, as far as the system says so.
func listening(t *testing.T) (ports []int) {
	t.Helper()
	own := map[string]bool{}
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, "socket:[") {
			own[strings.Trim(to, "socket:[]")] = true
		}
	}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Skip("the system doesn't say which ports are open")
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			const listen = "0A"
			if len(fields) < 10 || fields[3] != listen || !own[fields[9]] {
				continue
			}
			_, port, _ := strings.Cut(fields[1], ":")
			if n, err := strconv.ParseInt(port, 16, 32); err == nil {
				ports = append(ports, int(n))
			}
		}
	}
	return ports
}
