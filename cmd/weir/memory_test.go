package main

import (
	"math"
	"os"
	"testing"
)

func TestMemory(t *testing.T) {
	const machine = "MemTotal:        2048000 kB\nMemFree: 1 kB\n"
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is told": {nil, math.MaxInt64},
		"the machine":     {map[string]string{"/proc/meminfo": machine}, 2048000 << 10},
		"a group": {map[string]string{
			"/proc/meminfo": machine, "/proc/self/cgroup": "0::/a/b\n",
			"/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "500000000\n",
		}, 500000000},
		"a container": {map[string]string{
			"/proc/meminfo": machine, "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "400000000\n",
		}, 400000000},
		"the first version": {map[string]string{
			"/proc/meminfo": machine, "/proc/self/cgroup": "3:cpu:/x\n2:memory:/x\n",
			"/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "300000000\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 300000000},
		"more than there is": {map[string]string{
			"/proc/meminfo": machine, "/proc/self/cgroup": "0::/../x\n", "/sys/fs/cgroup/x/memory.max": "99999999999999\n",
		}, 2048000 << 10},
	} {
		got := memory(func(name string) ([]byte, error) {
			text, ok := tt.files[name]
			if !ok {
				return nil, os.ErrNotExist
			}
			return []byte(text), nil
		})
		if got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
