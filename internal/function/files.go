package function

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

func (env Env) addFiles(table map[string]function.Function) {
	path := []function.Parameter{str("path")}
	text := func(run func(*call) (cty.Value, error)) function.Function {
		return def{path, nil, cty.String, run}.function()
	}
	table["abspath"] = text(env.abspath)
	table["basename"] = text(func(c *call) (cty.Value, error) { return cty.StringVal(filepath.Base(c.str(0))), nil })
	table["dirname"] = text(func(c *call) (cty.Value, error) { return cty.StringVal(filepath.Dir(c.str(0))), nil })
	table["pathexpand"] = text(func(c *call) (cty.Value, error) {
		expanded, err := env.expandHome(c, 0)
		return cty.StringVal(expanded), err
	})
	table["file"] = text(env.file)
	table["filebase64"] = text(func(c *call) (cty.Value, error) {
		raw, err := env.read(c, 0)
		if err != nil {
			return cty.NilVal, err
		}
		return base64Value(raw), nil
	})
	for name, d := range digests {
		table["file"+name] = text(func(c *call) (cty.Value, error) { return env.digest(c, d) })
	}
	table["fileexists"] = def{path, nil, cty.Bool, env.fileExists}.function()
	table["fileset"] = def{[]function.Parameter{str("path"), str("pattern")}, nil, cty.Set(cty.String), env.fileSet}.function()
}

func (env Env) expandHome(c *call, i int) (string, error) {
	path := c.str(i)
	if !strings.HasPrefix(path, "~") {
		return path, nil
	}
	if len(path) > 1 && path[1] != '/' && path[1] != '\\' {
		return "", c.fault(i, `cannot expand %s: only "~" alone stands for a home directory, that of the current user`, c.show(i))
	}
	home := env.HomeDir
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", c.fault(i, "failed to expand ~: %s", err)
		}
	}
	return filepath.Join(home, path[1:]), nil
}

func (env Env) inBase(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(env.BaseDir, path)
}

func (env Env) abspath(c *call) (cty.Value, error) {
	path, err := filepath.Abs(env.inBase(c.str(0)))
	if err != nil {
		return cty.NilVal, err
	}
	return cty.StringVal(filepath.ToSlash(path)), nil
}

// openFile opens the file that argument i names.
func (env Env) openFile(c *call, i int) (*os.File, error) {
	path, err := env.expandHome(c, i)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(env.inBase(path))
	if err == nil {
		return f, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.fault(i, "no file exists at %s; files are read before anything is created, so a file that a resource makes has to come from an attribute of that resource", c.show(i))
	}
	return nil, env.unreadable(c, i, err)
}

func (env Env) unreadable(c *call, i int, err error) error {
	// The path is in the error, made absolute.
	var perr *fs.PathError
	if errors.As(err, &perr) {
		err = perr.Err
	}
	return c.fault(i, "failed to read file %s: %s", c.show(i), err)
}

func (env Env) read(c *call, i int) ([]byte, error) {
	path, err := env.expandHome(c, i)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(env.inBase(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = env.openFile(c, i)
		return nil, err
	case err != nil:
		return nil, env.unreadable(c, i, err)
	}
	return raw, nil
}

func (env Env) file(c *call) (cty.Value, error) {
	raw, err := env.read(c, 0)
	if err != nil {
		return cty.NilVal, err
	}
	if !utf8.Valid(raw) {
		return cty.NilVal, c.fault(0, "contents of %s are not valid UTF-8; filebase64 reads any file, and filesha256 and its like sum one up", c.show(0))
	}
	return cty.StringVal(string(raw)), nil
}

func (env Env) digest(c *call, d digest) (cty.Value, error) {
	f, err := env.openFile(c, 0)
	if err != nil {
		return cty.NilVal, err
	}
	defer f.Close()
	v, err := d.sum(f)
	if err != nil {
		return cty.NilVal, env.unreadable(c, 0, err)
	}
	return v, nil
}

func (env Env) fileExists(c *call) (cty.Value, error) {
	path, err := env.expandHome(c, 0)
	if err != nil {
		return cty.NilVal, err
	}
	info, err := os.Stat(env.inBase(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cty.False, nil
	case err != nil:
		return cty.NilVal, env.unreadable(c, 0, err)
	case info.Mode().IsRegular():
		return cty.True, nil
	}
	return cty.NilVal, c.fault(0, "%s is %s, not a file", c.show(0), kindOf(info.Mode()))
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

func (env Env) fileSet(c *call) (cty.Value, error) {
	dir := env.inBase(c.str(0))
	pattern := filepath.Join(dir, c.str(1))
	matches, err := doublestar.FilepathGlob(pattern)
	if err != nil {
		return cty.NilVal, c.fault(1, "failed to glob pattern %s: %s", c.show(1), err)
	}
	var found []cty.Value
	for _, match := range matches {
		rel, err := env.relative(dir, match)
		if err != nil {
			return cty.NilVal, c.because(1, "failed to look at a match", err)
		}
		if rel != "" {
			found = append(found, cty.StringVal(rel))
		}
	}
	if len(found) == 0 {
		return cty.SetValEmpty(cty.String), nil
	}
	return cty.SetVal(found), nil
}

// relative names a regular file from dir, with slashes, and anything else "".
func (env Env) relative(dir, match string) (string, error) {
	info, err := os.Stat(match)
	if err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	rel, err := filepath.Rel(dir, match)
	if err != nil {
		return "", fmt.Errorf("%s is not below %s", match, dir)
	}
	return filepath.ToSlash(rel), nil
}
