package install

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/net/ociregistry"
	"weir.dev/weir/internal/provider/version"
)

// A source is one place with provider packages. Both methods return
// errUnknown for what isn't there, versions returns errPlatform where all
// packages are for other platforms.
type source interface {
	// versions lists the versions for the platform, in any order, as far as
	// the source knows platforms.
	versions(ctx context.Context, p addr.Provider) (available []version.Version, warnings []string, err error)
	find(ctx context.Context, p addr.Provider, v version.Version) (*found, error)
	// String is what users call the place.
	String() string
}

// A found package is an unpacked directory, a local archive, or what to
// download one from.
type found struct {
	dir, archive, url string
	token             string // for the download
	// blob downloads one from a registry of the OCI, nil for the others.
	blob    func(ctx context.Context, to io.Writer) error
	retries int
	// size is that of a blob; `told` hears of the download, and is nil for nobody.
	size int64
	told func(done, size int64, over bool)

	// authorized are hashes of the archive (zh) or content (h1), of which the package must
	// have one; empty when the source reports none.
	authorized []string
	// lockable are hashes of packages for all platforms that may be trusted
	// on the word of the source.
	lockable       []string
	authentication Authentication
	keyID          string
}

// A place is a source with the rule which providers may come from it.
type place struct {
	source
	allows func(addr.Provider) bool
}

var (
	errUnknown  = fmt.Errorf("it is unknown there")
	errPlatform = fmt.Errorf("it is there for other platforms")
)

func everything(addr.Provider) bool { return true }

// findPlaces lists the sources in the order in which they count.
func (in *installer) findPlaces() ([]place, error) {
	mirror := func(dir string) source { return &mirror{dir: dir, platform: in.Platform} }
	var places []place
	if len(in.PluginDirs) > 0 {
		for _, dir := range in.PluginDirs {
			places = append(places, place{mirror(dir), everything})
		}
		return places, nil
	}
	plain := &web{client: in.HTTP, tokens: in.Tokens, limits: in.Config.Registry, netrc: in.Netrc}
	direct := func(w *web) source {
		return &registry{web: w, platform: in.Platform, services: in.Config.Hosts, sign: in.Config.Registry.RequireSignatures, unexpired: in.Config.Registry.RequireUnexpired, bases: make(map[string]*discovery)}
	}
	if in.Config.Installation == nil {
		local := make([]source, 0, len(in.Implied))
		for _, dir := range in.Implied {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				local = append(local, mirror(dir))
				places = append(places, place{mirror(dir), everything})
			}
		}
		// Anything that is in a local directory isn't looked up elsewhere.
		return append(places, place{direct(plain), func(p addr.Provider) bool {
			return !slices.ContainsFunc(local, func(s source) bool {
				available, _, err := s.versions(context.Background(), p)
				return err == nil && len(available) > 0
			})
		}}), nil
	}
	asked := &ociregistry.Client{HTTP: in.HTTP, Login: in.Login}
	for i := range in.Config.Installation.Methods {
		m := &in.Config.Installation.Methods[i]
		limited := *plain
		if m.DownloadRetries >= 0 {
			limited.limits.DownloadRetries = m.DownloadRetries
		}
		var s source
		switch m.Kind {
		case cliconfig.FilesystemMirror:
			s = mirror(m.Location)
		case cliconfig.NetworkMirror:
			base, err := url.Parse(m.Location)
			if err != nil || base.Scheme != "https" || base.Host == "" {
				return nil, fmt.Errorf("%q can't be a network mirror: its address must be an https: URL", m.Location)
			}
			s = &network{web: &limited, base: base, platform: in.Platform, trusted: m.TrustAllHashes}
		case cliconfig.Direct:
			s = direct(&limited)
		case cliconfig.OCIMirror:
			s = &containers{client: asked, method: m, platform: in.Platform, limits: limited.limits}
		}
		places = append(places, place{s, m.Allows})
	}
	return places, nil
}

// versions asks all places that may have the provider.
func (in *installer) versions(ctx context.Context, p addr.Provider) ([]version.Version, []string, error) {
	var all []version.Version
	var warnings, asked, elsewhere []string
	known := false
	for _, place := range in.places {
		if !place.allows(p) {
			continue
		}
		available, w, err := place.versions(ctx, p)
		warnings = append(warnings, w...)
		if err == errUnknown {
			asked = append(asked, place.String())
			continue
		}
		if err == errPlatform {
			elsewhere = append(elsewhere, place.String())
			continue
		}
		if err != nil {
			return nil, warnings, err
		}
		known = true
		all = append(all, available...)
	}
	if !known && len(elsewhere) > 0 {
		return nil, warnings, notForPlatform{p, in.Platform, elsewhere}
	}
	if !known {
		return nil, warnings, notFound{p, asked}
	}
	return all, warnings, nil
}

// find asks the places for one version; the first that has it counts.
func (in *installer) find(ctx context.Context, p addr.Provider, v version.Version) (*found, error) {
	for _, place := range in.places {
		if !place.allows(p) {
			continue
		}
		f, err := place.find(ctx, p, v)
		if err != errUnknown {
			return f, err
		}
	}
	return nil, fmt.Errorf("there is no package of this version for %s, or not any more", in.Platform)
}
