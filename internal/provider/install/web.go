package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/net/ociregistry"
	"weir.dev/weir/internal/net/retry"
	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/sys/readlimit"
)

// web makes requests to registries and mirrors.
type web struct {
	client *http.Client
	tokens Tokens
	limits cliconfig.Registry
	netrc  func(host string) (user, password string, ok bool) // for packages; nil for nobody
	basic  bool                                               // requests without a token have what netrc finds
}

// packages is w for packages and their checksums. The interface of a registry takes only
// tokens.
func (w *web) packages() *web {
	other := *w
	other.basic = w.netrc != nil
	return &other
}

// The size limits of a package: the largest there are have a tenth of it. They are
// variables for tests.
var (
	mostBytes int64 = 8 << 30 // of the archive, and of all files together
	mostFiles       = 100_000
)

var errTooLarge = errors.New("it is larger than any provider, so it isn't one")

// maxDocument is the largest answer that isn't a package, in bytes.
const maxDocument = 64 << 20

// statusError is an answer with a status that means no.
type statusError struct {
	code int
	url  string
	wait time.Duration // that the server asks for; negative for none
}

func (e statusError) Error() string {
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("%s asks for credentials, or doesn't accept those it got (%d %s): see the credentials setting of the CLI configuration", e.url, e.code, http.StatusText(e.code))
	}
	return fmt.Sprintf("%s answered %d %s", e.url, e.code, http.StatusText(e.code))
}

func isStatus(err error, codes ...int) bool {
	var e statusError
	if !errors.As(err, &e) {
		return false
	}
	for _, code := range codes {
		if e.code == code {
			return true
		}
	}
	return false
}

// token is the one that the CLI configuration has for a host, or empty.
func (w *web) token(ctx context.Context, host string) (string, error) {
	if w.tokens == nil {
		return "", nil
	}
	return w.tokens.Token(ctx, host)
}

// get fetches a document, with the credentials for its host.
func (w *web) get(ctx context.Context, u *url.URL) ([]byte, *url.URL, error) {
	token, err := w.token(ctx, u.Host)
	if err != nil {
		return nil, nil, err
	}
	return w.getWith(ctx, u, token)
}

// getOf fetches a document of a service, with the credentials for the host that the
// service is of. They go to the address of the service only: an answer must not choose
// who else gets them.
func (w *web) getOf(ctx context.Context, s endpoint, u *url.URL) ([]byte, *url.URL, error) {
	if !sameorigin.Same(s.base, u) {
		return w.getWith(ctx, u, "")
	}
	token, err := w.token(ctx, s.host)
	if err != nil {
		return nil, nil, err
	}
	return w.getWith(ctx, u, token)
}

func (w *web) getWith(ctx context.Context, u *url.URL, token string) ([]byte, *url.URL, error) {
	if w.limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.limits.Timeout*time.Duration(1+w.limits.Retries))
		defer cancel()
	}
	var body []byte
	var at *url.URL
	err := repeat(ctx, w.limits.Retries, func() error {
		resp, err := w.request(ctx, u.String(), token)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		at = resp.Request.URL
		body, err = io.ReadAll(readlimit.Limited(resp.Body, u.String(), maxDocument))
		return err
	})
	return body, at, err
}

// getJSON fetches and decodes a document. It returns the address after
// redirects, to which addresses in the document are relative.
func (w *web) getJSON(ctx context.Context, u *url.URL, into any) (*url.URL, error) {
	body, at, err := w.get(ctx, u)
	if err != nil {
		return nil, err
	}
	return decoded(u, body, at, into)
}

// getJSONOf is getJSON for a document of a service.
func (w *web) getJSONOf(ctx context.Context, s endpoint, u *url.URL, into any) (*url.URL, error) {
	body, at, err := w.getOf(ctx, s, u)
	if err != nil {
		return nil, err
	}
	return decoded(u, body, at, into)
}

func decoded(u *url.URL, body []byte, at *url.URL, into any) (*url.URL, error) {
	if err := json.Unmarshal(body, into); err != nil {
		return nil, fmt.Errorf("%s didn't answer with the expected JSON: %w", u, err)
	}
	return at, nil
}

func (w *web) request(ctx context.Context, address, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	} else if w.basic && req.URL.User == nil {
		if user, password, ok := w.netrc(req.URL.Hostname()); ok {
			req.SetBasicAuth(user, password)
		}
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, statusError{resp.StatusCode, address, retry.Asked(resp.Header, time.Now())}
	}
	return resp, nil
}

// repeat calls do again, up to that many times, after failures that may pass.
func repeat(ctx context.Context, times int, do func() error) error {
	return retry.Policy{Attempts: times + 1}.Do(ctx, func() error {
		err := do()
		status, wait := 0, time.Duration(-1)
		if answer := (statusError{}); errors.As(err, &answer) {
			status, wait = answer.code, answer.wait
		}
		if refusal := (*ociregistry.Refusal)(nil); errors.As(err, &refusal) {
			status = refusal.Status
		}
		return retry.Mark(err, status, wait)
	})
}

// download gets the archive of a package, and gives up on a server that says nothing any
// more.
func (in *installer) download(ctx context.Context, f *found, to string) error {
	from, host := f.blob, "the registry"
	if from == nil {
		at, err := url.Parse(f.url)
		if err != nil {
			return fmt.Errorf("the package can't be downloaded: %w", err)
		}
		host = at.Host
		from = func(ctx context.Context, to io.Writer) error { return in.archive(ctx, f, to) }
	}
	err := repeat(ctx, f.retries, func() error {
		out, err := os.Create(to)
		if err != nil {
			return err
		}
		m := &meter{Writer: out, found: f}
		defer m.tell(true)
		var pulse stalltimeout.Pulse
		watched, end := pulse.Watch(ctx, host, in.Silence)
		defer end()
		err = stalltimeout.Because(watched, from(watched, pulse.Writer(m)))
		return errors.Join(err, out.Close())
	})
	if err != nil {
		return fmt.Errorf("the package can't be downloaded: %w", err)
	}
	return nil
}

// archive reads the one at the address of a package.
func (in *installer) archive(ctx context.Context, f *found, to io.Writer) error {
	resp, err := (&web{client: in.HTTP, netrc: in.Netrc}).packages().request(ctx, f.url, f.token)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f.size = max(0, resp.ContentLength)
	n, err := io.Copy(to, io.LimitReader(resp.Body, mostBytes+1))
	if err == nil && n > mostBytes {
		err = errTooLarge
	}
	return err
}

// A meter reports how much of a package has been written.
type meter struct {
	io.Writer
	*found
	done int64
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.Writer.Write(p)
	m.done += int64(n)
	m.tell(false)
	return n, err
}

func (m *meter) tell(over bool) {
	if m.told != nil {
		m.told(m.done, m.size, over)
	}
}
