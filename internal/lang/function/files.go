package function

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

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
		table["file"+name] = text(func(c *call) (cty.Value, error) { return env.digest(c, name, d) })
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
		if home, err = env.Files.Home(); err != nil {
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
	path, err := env.Files.Abs(env.inBase(c.str(0)))
	if err != nil {
		return cty.NilVal, err
	}
	return cty.StringVal(filepath.ToSlash(path)), nil
}

// unreadable says why the file that argument i names can't be read.
func (env Env) unreadable(c *call, i int, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return c.fault(i, "no file exists at %s; files are read before anything is created, so a file that a resource makes has to come from an attribute of that resource", c.show(i))
	}
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
	raw, err := env.Files.Read(env.inBase(path))
	if err != nil {
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

func (env Env) digest(c *call, name string, d digest) (cty.Value, error) {
	path, err := env.expandHome(c, 0)
	if err != nil {
		return cty.NilVal, err
	}
	text, err := env.Files.Sum(env.inBase(path), name, d.sum)
	if err != nil {
		return cty.NilVal, env.unreadable(c, 0, err)
	}
	return cty.StringVal(text), nil
}

func (env Env) fileExists(c *call) (cty.Value, error) {
	path, err := env.expandHome(c, 0)
	if err != nil {
		return cty.NilVal, err
	}
	mode, err := env.Files.Mode(env.inBase(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cty.False, nil
	case err != nil:
		return cty.NilVal, env.unreadable(c, 0, err)
	case mode.IsRegular():
		return cty.True, nil
	}
	return cty.NilVal, c.fault(0, "%s is %s, not a file", c.show(0), kindOf(mode))
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
	list, err := env.Files.Match(env.inBase(c.str(0)), c.str(1))
	if err != nil {
		return cty.NilVal, c.fault(1, "failed to glob pattern %s: %s", c.show(1), err)
	}
	found := make([]cty.Value, len(list))
	for n, name := range list {
		found[n] = cty.StringVal(name)
	}
	if len(found) == 0 {
		return cty.SetValEmpty(cty.String), nil
	}
	return cty.SetVal(found), nil
}
