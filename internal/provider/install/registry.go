package install

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/provider/version"
)

// A registry is the one at the host of each provider.
type registry struct {
	web      *web
	platform string
	services map[string]map[string]any // what users wrote in place of discovery
	sign     bool                      // OpenTofu's registry must sign too

	unexpired bool // with keys that are still good

	mu    sync.Mutex
	bases map[string]*discovery
}

// A discovery is the answer of one host, found out once.
type discovery struct {
	once sync.Once
	base *url.URL
	err  error
}

func (r *registry) String() string { return "the registry of the provider's host" }

// endpoint finds the registry of a host.
func (r *registry) endpoint(ctx context.Context, host string) (endpoint, error) {
	r.mu.Lock()
	d := r.bases[host]
	if d == nil {
		d = &discovery{}
		r.bases[host] = d
	}
	r.mu.Unlock()
	d.once.Do(func() { d.base, d.err = r.discover(ctx, host) })
	return endpoint{host, d.base}, d.err
}

// An endpoint is the registry of a host, whose address may be at another host.
type endpoint struct {
	host string
	base *url.URL // ends with a slash
}

const service = "providers.v1"

func (r *registry) discover(ctx context.Context, host string) (*url.URL, error) {
	at := &url.URL{Scheme: "https", Host: host, Path: "/.well-known/terraform.json"}
	services, written := r.services[host]
	if !written {
		var err error
		if at, err = r.web.getJSON(ctx, at, &services); err != nil {
			if isStatus(err, http.StatusNotFound) {
				return nil, noRegistry{host}
			}
			return nil, fmt.Errorf("could not connect to %s: %w", host, err)
		}
	}
	text, ok := services[service].(string)
	if !ok || text == "" {
		return nil, noRegistry{host}
	}
	base, err := at.Parse(text)
	if err != nil || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("host %s returned an invalid address for %s: %q", host, service, text)
	}
	if !strings.HasSuffix(base.Path, "/") {
		base.Path += "/"
	}
	return base, nil
}

func (s endpoint) at(parts ...string) *url.URL {
	u := *s.base
	u.Path = path.Join(u.Path, path.Join(parts...))
	return &u
}

func (r *registry) versions(ctx context.Context, p addr.Provider) ([]version.Version, []string, error) {
	s, err := r.endpoint(ctx, p.Host)
	if err != nil {
		return nil, nil, err
	}
	var list struct {
		Versions []struct {
			Version string `json:"version"`
		} `json:"versions"`
		Warnings []string `json:"warnings"`
	}
	if _, err := r.web.getJSONOf(ctx, s, s.at(p.Namespace, p.Type, "versions"), &list); err != nil {
		if isStatus(err, http.StatusNotFound) {
			return nil, nil, errUnknown
		}
		return nil, nil, err
	}
	var out []version.Version
	for _, entry := range list.Versions {
		// A version that can't be read can't be chosen either.
		if v, err := version.Parse(entry.Version); err == nil {
			out = append(out, v)
		}
	}
	return out, list.Warnings, nil
}

// A release is what a registry reports one package.
type release struct {
	Protocols    []string `json:"protocols"`
	OS           string   `json:"os"`
	Arch         string   `json:"arch"`
	Filename     string   `json:"filename"`
	DownloadURL  string   `json:"download_url"`
	Shasum       string   `json:"shasum"`
	ShasumsURL   string   `json:"shasums_url"`
	SignatureURL string   `json:"shasums_signature_url"`
	SigningKeys  struct {
		GPG []struct {
			ASCIIArmor string `json:"ascii_armor"`
		} `json:"gpg_public_keys"`
	} `json:"signing_keys"`
	// Packages has hashes for all platforms, in some registries.
	Packages map[string]struct {
		Hashes []string `json:"hashes"`
	} `json:"packages"`
}

func (r *registry) find(ctx context.Context, p addr.Provider, v version.Version) (*found, error) {
	s, err := r.endpoint(ctx, p.Host)
	if err != nil {
		return nil, err
	}
	system, arch, _ := strings.Cut(r.platform, "_")
	var rel release
	at, err := r.web.getJSONOf(ctx, s, s.at(p.Namespace, p.Type, v.String(), "download", system, arch), &rel)
	if isStatus(err, http.StatusNotFound) {
		return nil, unsuitable{fmt.Sprintf("the registry has no package of it for %s. Other versions may have one", r.platform)}
	}
	if err != nil {
		return nil, err
	}
	if err := rel.usable(r.platform); err != nil {
		return nil, err
	}
	target, err := httpURL(at, rel.DownloadURL)
	if err != nil {
		return nil, err
	}
	f := &found{url: target.String(), retries: r.web.limits.DownloadRetries, authentication: Checked}
	return f, r.authenticate(ctx, p, s, at, &rel, f)
}

// usable reports whether the package is for this platform and protocol.
func (rel *release) usable(platform string) error {
	if got := rel.OS + "_" + rel.Arch; got != platform {
		return fmt.Errorf("the registry was asked for a package for %s and named one for %s", platform, got)
	}
	for _, protocol := range rel.Protocols {
		if major, _, _ := strings.Cut(protocol, "."); major == "5" || major == "6" {
			return nil
		}
	}
	if len(rel.Protocols) > 0 {
		return unsuitable{fmt.Sprintf("it needs plugin protocol %s; 5 and 6 are supported. Another version may have one of them", strings.Join(rel.Protocols, ", "))}
	}
	return nil
}

func httpURL(base *url.URL, text string) (*url.URL, error) {
	u, err := base.Parse(text)
	if err != nil || text == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("the registry returned an invalid address: %q", text)
	}
	return u, nil
}

// authenticate follows the chain from the signing keys over the list of
// checksums to the hash that the package must have.
func (r *registry) authenticate(ctx context.Context, p addr.Provider, s endpoint, at *url.URL, rel *release, f *found) error {
	listURL, err := httpURL(at, rel.ShasumsURL)
	if err != nil {
		return err
	}
	list, _, err := r.web.packages().getOf(ctx, s, listURL)
	if err != nil {
		return fmt.Errorf("the list of checksums can't be fetched: %w", err)
	}
	sums := parseSums(list)
	if sums[rel.Filename] == "" || !strings.EqualFold(sums[rel.Filename], rel.Shasum) {
		return fmt.Errorf("the list of checksums doesn't have %s with the registry's checksum, %s", rel.Filename, rel.Shasum)
	}
	f.authorized = []string{"zh:" + strings.ToLower(rel.Shasum)}

	var keys []string
	for _, key := range rel.SigningKeys.GPG {
		keys = append(keys, key.ASCIIArmor)
	}
	switch {
	case len(keys) > 0:
		signatureURL, err := httpURL(at, rel.SignatureURL)
		if err != nil {
			return err
		}
		signature, _, err := r.web.packages().getOf(ctx, s, signatureURL)
		if err != nil {
			return fmt.Errorf("the signature can't be fetched: %w", err)
		}
		if f.keyID, err = verifySignature(keys, list, signature, r.unexpired); err != nil {
			return fmt.Errorf("the provider is not signed with a valid signing key; please contact the provider author (%w)", err)
		}
		f.authentication = Signed
	case !addr.OpenTofu.Has(p) || r.sign:
		return fmt.Errorf("the provider is not signed with a valid signing key: the registry of %s names no key", p.Host)
	default:
		f.authentication = SignatureSkipped
	}
	for _, sum := range sums {
		f.lockable = append(f.lockable, "zh:"+strings.ToLower(sum))
	}
	if f.authentication == SignatureSkipped {
		for _, pkg := range rel.Packages {
			for _, hash := range pkg.Hashes {
				if lockfile.CheckHash(hash) == nil {
					f.lockable = append(f.lockable, hash)
				}
			}
		}
	}
	return nil
}

// parseSums reads lines of CHECKSUM FILE.
func parseSums(list []byte) map[string]string {
	sums := make(map[string]string)
	for line := range strings.Lines(string(list)) {
		if fields := strings.Fields(line); len(fields) == 2 && len(fields[0]) == 64 {
			sums[strings.TrimPrefix(fields[1], "*")] = fields[0]
		}
	}
	return sums
}
