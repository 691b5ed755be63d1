package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider/version"
)

// A mirror is a directory with packages, in one of two layouts:
//
//	HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/              unpacked
//	HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip
type mirror struct {
	dir      string
	platform string
}

func (m *mirror) String() string { return m.dir }

func (m *mirror) providerDir(p addr.Provider) string {
	return filepath.Join(m.dir, p.Host, p.Namespace, p.Type)
}

func (m *mirror) versions(_ context.Context, p addr.Provider) ([]version.Version, []string, error) {
	if _, err := os.Stat(m.dir); err != nil {
		return nil, nil, fmt.Errorf("cannot search %s: %w", m.dir, reason(err))
	}
	entries, err := os.ReadDir(m.providerDir(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errUnknown
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot search %s: %w", m.dir, err)
	}
	var out []version.Version
	none := errUnknown
	for _, e := range entries {
		text, packed := m.packedVersion(e.Name(), p)
		if !packed {
			text = e.Name()
		}
		v, err := version.Parse(text)
		if err != nil {
			if m.isPackage(e.Name(), p) {
				none = errPlatform
			}
			continue
		}
		if packed || isDir(packageDir(m.dir, p, v, m.platform)) {
			out = append(out, v)
		} else {
			none = errPlatform
		}
	}
	if len(out) == 0 {
		return nil, nil, none
	}
	return out, nil, nil
}

func archivePrefix(p addr.Provider) string { return "terraform-provider-" + p.Type + "_" }

// packedVersion is the version in the name of an archive for the platform.
func (m *mirror) packedVersion(name string, p addr.Provider) (string, bool) {
	rest, ok := strings.CutPrefix(strings.ToLower(name), archivePrefix(p))
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "_"+m.platform+".zip")
}

// isPackage reports whether a file is an archive of the provider for any
// platform.
func (m *mirror) isPackage(name string, p addr.Provider) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, archivePrefix(p)) && strings.HasSuffix(name, ".zip")
}

func (m *mirror) find(_ context.Context, p addr.Provider, v version.Version) (*found, error) {
	if dir := packageDir(m.dir, p, v, m.platform); isDir(dir) {
		return &found{dir: dir}, nil
	}
	entries, err := os.ReadDir(m.providerDir(p))
	if err != nil {
		return nil, errUnknown
	}
	for _, e := range entries {
		if text, ok := m.packedVersion(e.Name(), p); ok && text == v.String() {
			return &found{archive: filepath.Join(m.providerDir(p), e.Name())}, nil
		}
	}
	return nil, errUnknown
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// reason leaves out the path of an error.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
