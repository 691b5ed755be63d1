package fetch

import (
	"bufio"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"os"
	"path"
	"strings"
)

// settings are the parameters of an address that are for the fetcher and not
// for the server.
type settings struct {
	archive  string // the kind of archive, "false" for none, empty for by name
	checksum string // KIND:HEX, HEX or file:ADDRESS
	name     string // of the file
}

// takeSettings removes the settings from an address.
func takeSettings(u *url.URL) (settings, error) {
	if u.RawQuery == "" {
		return settings{name: path.Base(u.Path)}, nil
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return settings{}, fmt.Errorf("the parameters %q can't be read: %w", u.RawQuery, err)
	}
	s := settings{archive: query.Get("archive"), checksum: query.Get("checksum"), name: path.Base(u.Path)}
	if !query.Has("archive") && !query.Has("checksum") {
		return s, nil // signed addresses mustn't be put in another order
	}
	query.Del("archive")
	query.Del("checksum")
	u.RawQuery = query.Encode()
	return s, nil
}

// kind is the kind of archive, or empty when it isn't one.
func (s settings) kind(path string) string {
	switch s.archive {
	case "":
		return kindOf(path)
	case "false", "0":
		return ""
	}
	return s.archive
}

// sums are the kinds of checksums; the length informs those that aren't named.
var sums = []struct {
	name string
	new  func() hash.Hash
}{{"md5", md5.New}, {"sha1", sha1.New}, {"sha256", sha256.New}, {"sha512", sha512.New}}

// verify holds a file to its checksum, if there is one. With load, a list of
// checksums can come from elsewhere.
func (s settings) verify(file string, load func(address string) ([]byte, error)) error {
	if s.checksum == "" {
		return nil
	}
	want := s.checksum
	if address, ok := strings.CutPrefix(want, "file:"); ok {
		if load == nil {
			return errors.New("a list of checksums can only be used with an address on the web: give the checksum itself")
		}
		list, err := load(address)
		if err != nil {
			return fmt.Errorf("the list of checksums can't be fetched: %w", err)
		}
		if want = listed(list, s.name); want == "" {
			return fmt.Errorf("the list of checksums %s has none for %s", address, s.name)
		}
	}
	kind, digits, named := strings.Cut(want, ":")
	if !named {
		kind, digits = "", want
	}
	expected, err := hex.DecodeString(digits)
	if err != nil {
		return fmt.Errorf("the checksum %q isn't made of hexadecimal digits", digits)
	}
	for _, sum := range sums {
		h := sum.new()
		if kind == sum.name || kind == "" && h.Size() == len(expected) {
			return compare(file, h, expected)
		}
	}
	return fmt.Errorf("the checksum %q is of no known kind: use md5, sha1, sha256 or sha512, as in checksum=sha256:…", want)
}

func compare(file string, h hash.Hash, expected []byte) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := h.Sum(nil); string(got) != string(expected) {
		return fmt.Errorf("Checksums did not match: the package has %x and the source asks for %x. It may have been replaced or damaged", got, expected)
	}
	return nil
}

// listed finds the checksum of a file in a list, which has lines of CHECKSUM
// FILE or of KIND (FILE) = CHECKSUM.
func listed(list []byte, name string) string {
	lines := bufio.NewScanner(strings.NewReader(string(list)))
	only := ""
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 2 && path.Base(strings.TrimPrefix(fields[1], "*")) == name:
			return fields[0]
		case len(fields) == 4 && fields[2] == "=" && path.Base(strings.Trim(fields[1], "()")) == name:
			return strings.ToLower(fields[0]) + ":" + fields[3]
		case len(fields) == 1 && n == 1:
			only = fields[0]
		}
	}
	return only
}
