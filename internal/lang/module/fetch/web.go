package fetch

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/net/netrc"
	"weir.dev/weir/internal/net/retry"
	"weir.dev/weir/internal/sys/readlimit"
)

// maxRedirects is how often an address may name another one.
const maxRedirects = 10

// maxDocument is the largest answer that isn't a package, in bytes.
const maxDocument = 16 << 20

// web fetches an archive, or asks a page where the package is.
func (f *Fetcher) web(ctx context.Context, remote module.Remote, to string, redirects int) error {
	u, err := url.Parse(remote.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%q isn't an address on the web", remote.URL)
	}
	settings, err := takeSettings(u)
	if err != nil {
		return err
	}
	kind := settings.kind(u.Path)
	if kind == "" {
		if settings.checksum != "" {
			return errors.New("a checksum needs an archive. Tell its kind with archive=, for example archive=zip")
		}
		return f.page(ctx, u, to, redirects)
	}
	return f.download(ctx, u, "", to, func(file string) (string, error) {
		return kind, settings.verify(file, func(address string) ([]byte, error) {
			return f.checksums(ctx, u, address)
		})
	})
}

// checksums fetches a list of checksums, whose address may be relative.
func (f *Fetcher) checksums(ctx context.Context, base *url.URL, address string) ([]byte, error) {
	at, err := base.Parse(address)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" {
		return nil, fmt.Errorf("%q isn't an address on the web", address)
	}
	resp, err := f.request(ctx, at, "", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(readlimit.Limited(resp.Body, at.String(), maxDocument))
}

// download fetches and unpacks an archive of the kind that is reported once the file is there
// and was found good.
func (f *Fetcher) download(ctx context.Context, u *url.URL, token, to string, good func(file string) (kind string, err error)) error {
	file := filepath.Join(filepath.Dir(to), "archive")
	err := f.repeat(ctx, func() error {
		resp, err := f.request(ctx, u, token, nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		out, err := os.Create(file)
		if err != nil {
			return err
		}
		n, err := io.Copy(out, io.LimitReader(resp.Body, f.limits.bytes+1))
		if err == nil && n > f.limits.bytes {
			err = fmt.Errorf("%s is too large for a module", u.Redacted())
		}
		return errors.Join(err, out.Close())
	})
	if err != nil {
		return err
	}
	defer os.Remove(file)
	kind, err := good(file)
	if err != nil {
		return err
	}
	return f.unpack(file, kind, to)
}

// page asks a page where the package is: in a header, or in a meta element.
func (f *Fetcher) page(ctx context.Context, u *url.URL, to string, redirects int) error {
	if redirects >= maxRedirects {
		return fmt.Errorf("%s names another address, as did the %d before: there seems to be no end", u.Redacted(), maxRedirects)
	}
	asked := *u
	query := asked.Query()
	query.Set("terraform-get", "1")
	asked.RawQuery = query.Encode()
	resp, err := f.request(ctx, &asked, "", func(status int) bool { return status >= 200 && status < 300 })
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	source := resp.Header.Get("X-Terraform-Get")
	if source == "" {
		source = metaSource(io.LimitReader(resp.Body, maxDocument))
	}
	if source == "" {
		return fmt.Errorf("%s is neither an archive nor a page with the address of the package. If it is an archive, name its kind with ?archive=, for example archive=zip; for git, write git:: in front", u.Redacted())
	}
	next, err := parseRedirect(source, resp.Request.URL)
	if err != nil {
		return err
	}
	if ofThisMachine(next, resp.Request.URL) {
		return fmt.Errorf("%s names the package %q, which it can't know", u.Redacted(), source)
	}
	if next.Subdir == "" {
		return f.get(ctx, next, to, redirects+1)
	}
	whole := to + "-whole"
	defer os.RemoveAll(whole)
	if err := f.get(ctx, next, whole, redirects+1); err != nil {
		return err
	}
	part, err := inside(whole, next.Subdir)
	if err != nil {
		return err
	}
	return duplicate(part, to)
}

// ofThisMachine reports whether an address that a server named is in the file system. Only a
// server on this machine can know repositories there.
func ofThisMachine(r module.Remote, server *url.URL) bool {
	if r.Getter == "file" {
		return true
	}
	u, err := url.Parse(r.URL)
	ip := net.ParseIP(server.Hostname())
	return err == nil && u.Scheme == "file" && server.Hostname() != "localhost" && !ip.IsLoopback()
}

// parseRedirect reads an address that a server named, which may be relative to its own.
func parseRedirect(source string, base *url.URL) (module.Remote, error) {
	if strings.HasPrefix(source, "/") || strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") {
		at, err := base.Parse(source)
		if err != nil {
			return module.Remote{}, fmt.Errorf("%s returned an invalid address: %q", base.Redacted(), source)
		}
		at.User = nil
		source = at.String()
	}
	return module.ParseRemote(source)
}

// metaSource finds <meta name="terraform-get" content="SOURCE"> in the head of
// a page.
func metaSource(page io.Reader) string {
	tokens := xml.NewDecoder(page)
	tokens.Strict, tokens.Entity = false, xml.HTMLEntity
	tokens.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		token, err := tokens.RawToken()
		if err != nil {
			return ""
		}
		switch tag := token.(type) {
		case xml.EndElement:
			if strings.EqualFold(tag.Name.Local, "head") {
				return ""
			}
		case xml.StartElement:
			if strings.EqualFold(tag.Name.Local, "body") {
				return ""
			}
			name, content := "", ""
			for _, a := range tag.Attr {
				switch strings.ToLower(a.Name.Local) {
				case "name":
					name = a.Value
				case "content":
					content = a.Value
				}
			}
			if strings.EqualFold(tag.Name.Local, "meta") && name == "terraform-get" && content != "" {
				return content
			}
		}
	}
}

// statusError is an answer with a status that means no.
type statusError struct {
	code int
	url  string
	wait time.Duration // that the server asks for; negative for none
}

func (e statusError) Error() string {
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("%s asks for credentials, or doesn't accept those it got (%d %s)", e.url, e.code, http.StatusText(e.code))
	}
	return fmt.Sprintf("%s answered with bad response code: %d %s", e.url, e.code, http.StatusText(e.code))
}

// request gets an address, with a bearer token or what .netrc has for the host.
func (f *Fetcher) request(ctx context.Context, u *url.URL, token string, accept func(status int) bool) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if f.Version != "" {
		req.Header.Set("X-Terraform-Version", f.Version)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	} else if u.User == nil {
		if user, password, ok := netrc.Find(f.getenv, u.Hostname()); ok {
			req.SetBasicAuth(user, password)
		}
	}
	resp, err := f.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK && (accept == nil || !accept(resp.StatusCode)) {
		resp.Body.Close()
		return nil, statusError{resp.StatusCode, u.Redacted(), retry.Asked(resp.Header, time.Now())}
	}
	return resp, nil
}

// repeat calls do again, up to f.Retries times, after failures that may pass.
func (f *Fetcher) repeat(ctx context.Context, do func() error) error {
	return retry.Policy{Attempts: f.Retries + 1}.Do(ctx, func() error {
		err := do()
		status, wait := 0, time.Duration(-1)
		if answer := (statusError{}); errors.As(err, &answer) {
			status, wait = answer.code, answer.wait
		}
		if errors.As(err, new(final)) {
			return err
		}
		return retry.Mark(err, status, wait)
	})
}
