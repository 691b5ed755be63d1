//go:build linux || darwin

package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// namesOwn reports whether a command may read what only its own process has: a descriptor,
// its terminal, or itself below /proc. The daemon would read its own instead. It looks at
// arguments and the environment, and at where the files that arguments name lead.
func namesOwn(args, environ []string) bool {
	all := args[min(1, len(args)):]
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "TF_") && isOwn(value) {
			return true
		}
		if strings.HasPrefix(name, "TF_CLI_ARGS") {
			all = append(slices.Clip(all), strings.Fields(value)...)
		}
	}
	dir := ""
	for i, arg := range all {
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name == "chdir" && !given && i+1 < len(all) {
			value = all[i+1]
		}
		if name == "chdir" {
			dir = value
		}
	}
	for _, arg := range all {
		if isOwn(arg) {
			return true
		}
		_, value, _ := strings.Cut(arg, "=")
		for _, path := range []string{arg, value} {
			if path != "" && (leadsToOwn(path) || dir != "" && !filepath.IsAbs(path) && leadsToOwn(filepath.Join(dir, path))) {
				return true
			}
		}
	}
	return false
}

// isOwn reports whether a text has a path below /dev or /proc in it.
func isOwn(text string) bool {
	return strings.Contains(text, "/dev/") || strings.Contains(text, "/proc/")
}

// leadsToOwn reports whether a path, by whatever links, leads to something that isn't a file
// or directory, such as a pipe or a device.
func leadsToOwn(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return true
	}
	whole, err := filepath.EvalSymlinks(path)
	if err != nil {
		return true // a descriptor, whose name is none of a file
	}
	whole, err = filepath.Abs(whole)
	return err != nil || isOwn(whole+"/")
}

// limits are those of the process that its files, memory and time are held to.
func limits() []uint64 {
	var all []uint64
	for _, which := range []int{syscall.RLIMIT_AS, syscall.RLIMIT_CPU, syscall.RLIMIT_DATA, syscall.RLIMIT_FSIZE, syscall.RLIMIT_NOFILE, syscall.RLIMIT_STACK} {
		var l syscall.Rlimit
		if syscall.Getrlimit(which, &l) == nil {
			all = append(all, l.Cur, l.Max)
		}
	}
	return all
}
