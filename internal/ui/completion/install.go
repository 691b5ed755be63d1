package completion

import (
	"errors"
	"os"
	"path/filepath"

	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
)

// startFiles are below the home directory, of each shell the first one that is there.
var startFiles = []struct {
	shell string
	names []string
}{
	{"bash", []string{".bashrc", ".bash_profile"}},
	{"zsh", []string{".zshrc"}},
	{"fish", []string{".config/fish/config.fish"}},
}

// Edit changes the files of all shells that have one, and returns those that it wrote.
func Edit(home string, change func(shell, text string) string) (written []string, err error) {
	if home == "" {
		return nil, errors.New("there is no home directory")
	}
	for _, f := range startFiles {
		for _, name := range f.names {
			path := filepath.Join(home, name)
			old, err := readlimit.File(path)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return written, err
			}
			if next := change(f.shell, string(old)); next != string(old) {
				if err := replace(path, next); err != nil {
					return written, err
				}
				written = append(written, path)
			}
			break
		}
	}
	return written, nil
}

// replace writes a file where it is also if a link leads there, with its permissions.
func replace(path, text string) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return durable.Replace(path, []byte(text), info.Mode().Perm())
}
