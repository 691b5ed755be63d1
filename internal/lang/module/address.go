package module

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"weir.dev/weir/internal/core/lazyregexp"
)

// A Remote is the address of a package externalinputs of the calling one, and of a
// directory in it.
type Remote struct {
	// Getter is how the package is fetched: "git", "file", "http", "https",
	// "hg", "s3", "gcs" or "oci".
	Getter string
	// URL has a scheme, and may have a query with settings of the getter.
	URL string
	// Subdir is a path with slashes, empty for the whole package. It may be a
	// pattern with * and ?.
	Subdir string
}

// Package is the normal form of the address without the directory.
func (r Remote) Package() string {
	scheme, _, _ := strings.Cut(r.URL, "://")
	if scheme == r.Getter {
		return r.URL
	}
	return r.Getter + "::" + r.URL
}

// String is the normal form of the address.
func (r Remote) String() string {
	if r.Subdir == "" {
		return r.Package()
	}
	before, query, asked := strings.Cut(r.Package(), "?")
	before += "//" + r.Subdir
	if asked {
		return before + "?" + query
	}
	return before
}

var (
	forcedGetter = lazyregexp.New(`^([A-Za-z0-9]+)::(.+)$`)
	secureShell  = lazyregexp.New(`^([^@:/?]+)@([^:/?]+):/?(.+)$`)
)

// ParseRemote reads an address in one of the forms that a module source may
// have when it is neither local nor of a registry.
func ParseRemote(source string) (Remote, error) {
	getter, rest := "", source
	if m := forcedGetter.Get().FindStringSubmatch(source); m != nil {
		getter, rest = m[1], m[2]
	}
	location, subdir := splitSubdir(rest)
	implied, full, err := expand(location, getter)
	if err != nil {
		return Remote{}, err
	}
	if getter == "" {
		getter = implied
	}
	full, inner := splitSubdir(full)
	r := Remote{Getter: getter, URL: full}
	if r.Subdir, err = cleanSubdir(path.Join(inner, subdir)); err != nil {
		return Remote{}, err
	}
	u, err := url.Parse(full)
	switch {
	case err != nil:
		return Remote{}, fmt.Errorf("%q can't be read as an address", source)
	case u.Scheme == "":
		return Remote{}, fmt.Errorf("%q names no kind of source that is known", source)
	}
	return r, nil
}

// expand writes a shorthand in full and reports the getter it stands for.
func expand(location, forced string) (getter, full string, err error) {
	if scheme, _, ok := strings.Cut(location, "://"); ok && !strings.Contains(scheme, "/") && !strings.Contains(scheme, "?") {
		return scheme, location, nil
	}
	bare, query, asked := strings.Cut(location, "?")
	withQuery := func(u string) string {
		if asked {
			return u + "?" + query
		}
		return u
	}
	for _, host := range []string{"github.com", "bitbucket.org"} {
		rest, ok := strings.CutPrefix(bare, host+"/")
		if !ok {
			continue
		}
		parts := strings.SplitN(rest, "/", 3)
		if len(parts) < 2 || parts[0] == "" || parts[1] == "" {
			return "", "", fmt.Errorf("an address at %s needs an owner and a repository, as in %s/owner/repository", host, host)
		}
		full := "https://" + host + "/" + parts[0] + "/" + strings.TrimSuffix(parts[1], ".git") + ".git"
		if len(parts) == 3 {
			full += "/" + parts[2]
		}
		return "git", withQuery(full), nil
	}
	if m := secureShell.Get().FindStringSubmatch(bare); m != nil && (forced == "" || forced == "git") {
		return "git", withQuery("ssh://" + m[1] + "@" + m[2] + "/" + m[3]), nil
	}
	switch {
	case strings.HasPrefix(location, "/"):
		return "file", "file://" + location, nil
	case strings.Contains(bare, ".amazonaws.com/"):
		return "s3", "https://" + location, nil
	case strings.HasPrefix(bare, "www.googleapis.com/storage/"):
		return "gcs", "https://" + location, nil
	case forced != "" && strings.Contains(bare, "/"):
		return forced, "https://" + location, nil
	}
	return "", "", fmt.Errorf("%q names no kind of source that is known", location)
}

// splitSubdir takes the directory after "//" out of an address.
func splitSubdir(source string) (location, subdir string) {
	bare, query, asked := strings.Cut(source, "?")
	from := 0
	if at := strings.Index(bare, "://"); at >= 0 {
		from = at + len("://")
	}
	at := strings.Index(bare[from:], "//")
	if at < 0 {
		return source, ""
	}
	location, subdir = bare[:from+at], bare[from+at+len("//"):]
	if asked {
		location += "?" + query
	}
	return location, subdir
}

func cleanSubdir(subdir string) (string, error) {
	if subdir == "" {
		return "", nil
	}
	clean := path.Clean(strings.TrimLeft(subdir, "/"))
	switch {
	case clean == ".":
		return "", nil
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", fmt.Errorf("the subdirectory %q leads out of the package", subdir)
	}
	return clean, nil
}

// A RegistrySource is the address of a module in a registry.
type RegistrySource struct {
	Host, Namespace, Name, System string
	Subdir                        string
}

// Package is the address without the directory.
func (r RegistrySource) Package() string {
	return r.Host + "/" + r.Namespace + "/" + r.Name + "/" + r.System
}

// ParseRegistry reads a source that is the address of a module in a registry, in
// the canonical form.
func ParseRegistry(source string) (RegistrySource, error) {
	if kindOf(source) != kindRegistry || registryForm.Get().FindStringSubmatch(source)[1] == "" {
		return RegistrySource{}, fmt.Errorf("%q isn't the address of a module in a registry", source)
	}
	location, subdir := splitSubdir(source)
	subdir, err := cleanSubdir(subdir)
	if err != nil {
		return RegistrySource{}, err
	}
	parts := strings.Split(location, "/")
	return RegistrySource{Host: strings.ToLower(parts[0]), Namespace: parts[1], Name: parts[2], System: parts[3], Subdir: subdir}, nil
}

// A Problem is what a Fetcher found wrong, with a summary of its own.
type Problem struct{ Summary, Detail string }

func (p *Problem) Error() string { return p.Detail }
