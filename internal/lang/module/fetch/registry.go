package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/provider/version"
	"weir.dev/weir/internal/sys/readlimit"
)

// A host is the module registry at one host, found out once.
type host struct {
	base *url.URL // ends with a slash
	err  error
}

const service = "modules.v1"

// A location is where a registry says that one version of a module is.
type location struct {
	remote module.Remote
	// direct is the address of an archive that takes the place of remote, with
	// the token for it.
	direct *url.URL
	token  string
	subdir string
}

// An answer is what a registry says to one question.
type answer struct {
	status int
	header http.Header
	body   []byte
	at     *url.URL // after redirects
}

func (f *Fetcher) fromRegistry(ctx context.Context, r module.RegistrySource, constraint, dir string) (moduleDir, chosen string, err error) {
	available, err := f.versions(ctx, r)
	if err != nil {
		return "", "", err
	}
	v, err := choose(r, available, constraint)
	if err != nil {
		return "", "", err
	}
	f.begin(r.Package(), v)
	at, err := f.locate(ctx, r, v)
	if err != nil {
		return "", "", err
	}
	subdir := path.Join(at.subdir, r.Subdir)
	if at.direct == nil {
		err = f.place(ctx, at.remote, dir)
	} else {
		err = f.placeAs(r.Package()+" "+v, dir, func(to string) error {
			return f.download(ctx, at.direct, at.token, to, sniff)
		})
	}
	if err != nil {
		return "", "", err
	}
	moduleDir, err = inside(dir, subdir)
	return moduleDir, v, err
}

// versionPrefix is a "v" before a version, which those of modules may have.
var versionPrefix = lazyregexp.New(`\bv([0-9])`)

// choose gives the newest version that the constraint allows, as the registry
// writes it.
func choose(r module.RegistrySource, available []string, constraint string) (string, error) {
	allowed := goversion.Constraints{}
	var err error
	if constraint != "" {
		allowed, err = goversion.NewConstraint(constraint)
	}
	if err != nil {
		return "", &module.Problem{Summary: "Invalid version constraint", Detail: fmt.Sprintf("The version constraint on module %s can't be read: %s.", r.Package(), err)}
	}
	// The stricter reading decides about pre-releases; what it can't read asks
	// for none.
	exact, _ := version.ParseConstraints(versionPrefix.Get().ReplaceAllString(constraint, "$1"))
	var newest, best *goversion.Version
	for _, text := range available {
		v, err := goversion.NewVersion(text)
		if err != nil {
			continue // what can't be read can't be chosen either
		}
		if v.Prerelease() != "" {
			// Only those that are asked for by name.
			same, err := version.Parse(v.String())
			if err != nil || !exact.Allowed().Has(same) {
				continue
			}
		}
		if newest == nil || v.GreaterThan(newest) {
			newest = v
		}
		if allowed.Check(v) && (best == nil || v.GreaterThan(best)) {
			best = v
		}
	}
	switch {
	case newest == nil:
		return "", &module.Problem{Summary: "Module has no versions", Detail: fmt.Sprintf("Module %q has no versions available on %s.", r.Package(), r.Host)}
	case best == nil:
		return "", &module.Problem{Summary: "Unresolvable module version constraint", Detail: fmt.Sprintf("There is no available version of module %q which matches the given version constraint %s. The newest available version is %s.", r.Package(), constraint, newest)}
	}
	return best.String(), nil
}

func (f *Fetcher) versions(ctx context.Context, r module.RegistrySource) ([]string, error) {
	a, err := f.ask(ctx, r, "versions")
	if err != nil {
		return nil, err
	}
	var list struct {
		Modules []struct {
			Versions []struct {
				Version string `json:"version"`
			} `json:"versions"`
		} `json:"modules"`
	}
	if a.status == http.StatusNotFound {
		return nil, &module.Problem{Summary: "Module not found", Detail: fmt.Sprintf("Module %q cannot be found in the module registry at %s.", r.Package(), r.Host)}
	}
	if err := json.Unmarshal(a.body, &list); err != nil || len(list.Modules) == 0 {
		return nil, &module.Problem{Summary: "Invalid response from remote module registry", Detail: fmt.Sprintf("The registry at %s returned an invalid response when asked for the versions of %s.", r.Host, r.Package())}
	}
	var all []string
	for _, v := range list.Modules[0].Versions {
		all = append(all, v.Version)
	}
	return all, nil
}

// locate asks where a version is.
func (f *Fetcher) locate(ctx context.Context, r module.RegistrySource, v string) (location, error) {
	key := r.Package() + " " + v
	if at, ok := f.locations[key]; ok {
		return at, nil
	}
	failed := func(err error) error {
		return &module.Problem{Summary: "Error accessing remote module registry", Detail: fmt.Sprintf("Failed to retrieve a download URL for %s %s from %s: %s.", r.Package(), v, r.Host, err)}
	}
	a, err := f.ask(ctx, r, v, "download")
	if err != nil {
		return location{}, err
	}
	if a.status == http.StatusNotFound {
		return location{}, failed(errors.New("the registry doesn't have this version any more"))
	}
	var told struct {
		Location    string `json:"location"`
		Credentials *bool  `json:"use_registry_credentials"`
	}
	if a.status == http.StatusOK {
		// A header alone is enough too, whatever the body.
		if err := json.Unmarshal(a.body, &told); err != nil && a.header.Get("X-Terraform-Get") == "" {
			return location{}, failed(fmt.Errorf("the answer isn't the expected JSON: %w", err))
		}
	}
	if told.Location == "" {
		told.Location = a.header.Get("X-Terraform-Get")
	}
	if told.Location == "" {
		return location{}, failed(errors.New("the registry did not return a location for this package"))
	}
	at, err := f.readLocation(ctx, r, a.at, told.Location, told.Credentials)
	if err != nil {
		return location{}, failed(err)
	}
	f.locations[key] = at
	return at, nil
}

func (f *Fetcher) readLocation(ctx context.Context, r module.RegistrySource, base *url.URL, text string, credentials *bool) (location, error) {
	remote, err := parseRedirect(text, base)
	if credentials == nil {
		if err == nil && ofThisMachine(remote, base) {
			err = fmt.Errorf("it names a directory of this machine, %q, which it can't know", text)
		}
		return location{remote: remote, subdir: remote.Subdir}, err
	}
	u, err := base.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return location{}, fmt.Errorf("the registry returned an invalid address: %q", text)
	}
	at := location{direct: u}
	if *credentials && f.Tokens != nil {
		at.token, err = f.Tokens.Token(ctx, r.Host)
	}
	return at, err
}

// ask puts a question about a module to its registry. The status is that of
// success, or that there is no such thing.
func (f *Fetcher) ask(ctx context.Context, r module.RegistrySource, parts ...string) (answer, error) {
	base, err := f.base(ctx, r.Host)
	if err != nil {
		return answer{}, &module.Problem{Summary: "Error accessing remote module registry", Detail: fmt.Sprintf("Failed to retrieve available versions for module %q from %s: %s.", r.Package(), r.Host, err)}
	}
	u := *base
	u.Path = path.Join(append([]string{u.Path, r.Namespace, r.Name, r.System}, parts...)...)
	a, err := f.question(ctx, &u, r.Host)
	if err != nil {
		return answer{}, &module.Problem{Summary: "Error accessing remote module registry", Detail: fmt.Sprintf("The module registry at %s can't be asked for module %q: %s.", r.Host, r.Package(), err)}
	}
	return a, nil
}

// base finds the registry at a host.
func (f *Fetcher) base(ctx context.Context, name string) (*url.URL, error) {
	if known, ok := f.hosts[name]; ok {
		return known.base, known.err
	}
	base, err := f.discover(ctx, name)
	if ctx.Err() == nil {
		f.hosts[name] = &host{base, err}
	}
	return base, err
}

func (f *Fetcher) discover(ctx context.Context, name string) (*url.URL, error) {
	at := &url.URL{Scheme: "https", Host: name, Path: "/.well-known/terraform.json"}
	services, written := f.Services[name]
	if !written {
		a, err := f.question(ctx, at, name)
		if err != nil {
			return nil, err
		}
		if a.status == http.StatusNotFound {
			return nil, fmt.Errorf("host %s does not provide a module registry", name)
		}
		if err := json.Unmarshal(a.body, &services); err != nil {
			return nil, fmt.Errorf("%s didn't answer with the expected JSON: %w", at, err)
		}
		at = a.at
	}
	text, _ := services[service].(string)
	if text == "" {
		return nil, fmt.Errorf("host %s does not provide a module registry", name)
	}
	base, err := at.Parse(text)
	if err != nil || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("host %s returned an invalid address for %s: %q", name, service, text)
	}
	if !strings.HasSuffix(base.Path, "/") {
		base.Path += "/"
	}
	return base, nil
}

// question gets a small document, with the credentials for a host.
func (f *Fetcher) question(ctx context.Context, u *url.URL, name string) (answer, error) {
	token := ""
	if f.Tokens != nil {
		var err error
		if token, err = f.Tokens.Token(ctx, name); err != nil {
			return answer{}, err
		}
	}
	var a answer
	err := f.repeat(ctx, func() error {
		if f.Timeout > 0 {
			var cancel context.CancelFunc
			limited, cancel := context.WithTimeout(ctx, f.Timeout)
			defer cancel()
			return f.once(limited, u, token, &a)
		}
		return f.once(ctx, u, token, &a)
	})
	return a, err
}

func (f *Fetcher) once(ctx context.Context, u *url.URL, token string, a *answer) error {
	resp, err := f.request(ctx, u, token, func(status int) bool {
		return status == http.StatusNoContent || status == http.StatusNotFound
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(readlimit.Limited(resp.Body, u.String(), maxDocument))
	*a = answer{resp.StatusCode, resp.Header, body, resp.Request.URL}
	return err
}
