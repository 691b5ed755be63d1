package install

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/provider/version"
)

// network is a mirror that is asked over https.
type network struct {
	web      *web
	base     *url.URL
	platform string
	trusted  bool
}

func (n *network) String() string { return n.base.String() }

func (n *network) at(p addr.Provider, name string) *url.URL {
	u := *n.base
	u.Path = path.Join("/", u.Path, p.Host, p.Namespace, p.Type, name)
	return &u
}

func (n *network) versions(ctx context.Context, p addr.Provider) ([]version.Version, []string, error) {
	var index struct {
		Versions map[string]struct{} `json:"versions"`
	}
	if _, err := n.web.getJSON(ctx, n.at(p, "index.json"), &index); err != nil {
		if isStatus(err, http.StatusNotFound) {
			return nil, nil, errUnknown
		}
		return nil, nil, err
	}
	var out []version.Version
	for text := range index.Versions {
		v, err := version.Parse(text)
		if err != nil {
			return nil, nil, fmt.Errorf("the mirror %s lists %q for provider %s, which isn't a version", n, text, p)
		}
		out = append(out, v)
	}
	return out, nil, nil
}

func (n *network) find(ctx context.Context, p addr.Provider, v version.Version) (*found, error) {
	var meta struct {
		Archives map[string]struct {
			URL    string   `json:"url"`
			Hashes []string `json:"hashes"`
		} `json:"archives"`
	}
	at, err := n.web.getJSON(ctx, n.at(p, v.String()+".json"), &meta)
	if err != nil {
		if isStatus(err, http.StatusNotFound) {
			return nil, errUnknown
		}
		return nil, err
	}
	archive, ok := meta.Archives[n.platform]
	if !ok {
		return nil, unsuitable{fmt.Sprintf("the mirror %s has this version, but no package for %s", n, n.platform)}
	}
	target, err := at.Parse(archive.URL)
	if err != nil || target.Scheme != "https" && target.Scheme != "http" {
		return nil, fmt.Errorf("the mirror %s returned an invalid address for the package: %q", n, archive.URL)
	}
	f := &found{url: target.String(), retries: n.web.limits.DownloadRetries, authorized: archive.Hashes}
	for _, a := range meta.Archives {
		for _, hash := range a.Hashes {
			if err := lockfile.CheckHash(hash); err != nil {
				return nil, fmt.Errorf("the mirror %s returned an invalid hash, %q: %w", n, hash, err)
			}
			if n.trusted {
				f.lockable = append(f.lockable, hash)
			}
		}
	}
	if len(archive.Hashes) > 0 {
		f.authentication = Checked
	}
	if target.Host == n.base.Host && n.web.tokens != nil {
		if f.token, err = n.web.tokens.Token(ctx, target.Host); err != nil {
			return nil, err
		}
	}
	return f, nil
}
