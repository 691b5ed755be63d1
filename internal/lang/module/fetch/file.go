package fetch

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// file makes a directory of this disk a package, by a link so that changes
// count at once, or unpacks an archive.
func (f *Fetcher) file(address, to string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "file" {
		return fmt.Errorf("%q isn't a file: address", address)
	}
	if u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(filepath.FromSlash(u.Path)) {
		return fmt.Errorf("%q has to be an absolute path, as in file:///path. Paths relative to the calling module begin with ./ or ../", address)
	}
	settings, err := takeSettings(u)
	if err != nil {
		return err
	}
	from := filepath.FromSlash(u.Path)
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if os.Symlink(from, to) == nil {
			return nil
		}
		return duplicate(from, to)
	}
	kind := settings.kind(u.Path)
	if kind == "" {
		return fmt.Errorf("%s is neither a directory nor an archive of a known kind. Tell the kind with ?archive=, for example archive=zip", from)
	}
	if err := settings.verify(from, nil); err != nil {
		return err
	}
	return f.unpack(from, kind, to)
}
