package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"weir.dev/weir/internal/net/stalltimeout"
)

// A service is one of Amazon's at an address. Its requests are few, and are made
// here: the SDK's clients have all requests there are, which makes a program half
// as large again and slow to start.
type service struct {
	config  aws.Config
	agent   string // who asks
	name    string // that requests are signed for
	address *url.URL
	decode  func(response *http.Response, content []byte) *failure
	// patience is how long nothing may come or go before a request has failed.
	patience time.Duration
}

// A failure is an answer that means no.
type failure struct {
	status        int
	code, message string
	request       string // its id
}

func (f *failure) Error() string {
	return fmt.Sprintf("StatusCode: %d, RequestID: %s, api error %s: %s", f.status, f.request, f.code, f.message)
}

// ErrorCode and HTTPStatusCode tell the SDK what to try again.
func (f *failure) ErrorCode() string { return f.code }

func (f *failure) HTTPStatusCode() int { return f.status }

// failed is the answer that an error is about, nil for others.
func failed(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return nil
}

func code(err error) string {
	if f := failed(err); f != nil {
		return f.code
	}
	return ""
}

func status(err error) int {
	if f := failed(err); f != nil {
		return f.status
	}
	return 0
}

// An answer is one that means yes.
type answer struct {
	header  http.Header
	content []byte
}

const maxAnswer = 4 << 30

// do sends a request until the service answers it.
func (s *service) do(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (answer, error) {
	retryer := s.retryer()
	for try := 1; ; try++ {
		a, err := s.once(ctx, method, to, header, body)
		if err == nil || try >= retryer.MaxAttempts() || !retryer.IsErrorRetryable(err) || ctx.Err() != nil || stalltimeout.Is(err) {
			return a, err
		}
		wait, tooOften := retryer.RetryDelay(try, err)
		if tooOften != nil {
			return a, err
		}
		select {
		case <-ctx.Done():
			return a, err
		case <-time.After(wait):
		}
	}
}

func (s *service) retryer() aws.Retryer {
	limit := func(o *retry.StandardOptions) {
		if s.config.RetryMaxAttempts > 0 {
			o.MaxAttempts = s.config.RetryMaxAttempts
		}
	}
	if s.config.RetryMode == aws.RetryModeAdaptive {
		return retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) { o.StandardOptions = append(o.StandardOptions, limit) })
	}
	return retry.NewStandard(limit)
}

func (s *service) once(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (answer, error) {
	var pulse stalltimeout.Pulse
	ctx, end := pulse.Watch(ctx, to.Host, s.patience)
	defer end()
	request, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if len(body) > 0 {
		request.Body = io.NopCloser(pulse.Reader(bytes.NewReader(body)))
	}
	maps.Copy(request.Header, header)
	request.Header.Set("User-Agent", s.agent)
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	request.Header.Set("X-Amz-Content-Sha256", hash)
	credentials, err := s.config.Credentials.Retrieve(ctx)
	if err != nil {
		return answer{}, err
	}
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = s.name == "s3" })
	if err := signer.SignHTTP(ctx, credentials, request, hash, s.name, s.config.Region, time.Now()); err != nil {
		return answer{}, err
	}
	response, err := s.config.HTTPClient.Do(request)
	if err != nil {
		return answer{}, &broken{stalltimeout.Because(ctx, err)}
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(pulse.Reader(response.Body), maxAnswer))
	if err != nil {
		return answer{}, &broken{stalltimeout.Because(ctx, err)}
	}
	if response.StatusCode/100 != 2 {
		return answer{}, s.decode(response, content)
	}
	return answer{response.Header, content}, nil
}

// broken is a request without a whole answer.
type broken struct{ error }

func (b *broken) Unwrap() error { return b.error }

// ConnectionError has the SDK try it again.
func (b *broken) ConnectionError() bool { return true }

// at is the service at the address that was configured for it by anyone, or at
// Amazon's: the arguments, the environment, the shared files.
func at(ctx context.Context, config aws.Config, name, id, given string, amazon func(fips, dual bool) string) (*url.URL, error) {
	address := given
	if address == "" {
		address = configured(ctx, config, id)
	}
	if address == "" {
		fips, dual := variants(ctx, config)
		address = amazon(fips, dual)
	}
	to, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || to.Host == "" {
		return nil, fmt.Errorf("the address of %s can't be used: %q", name, address)
	}
	return to, nil
}

// configured is the address of a service in the environment and the shared files.
func configured(ctx context.Context, config aws.Config, id string) string {
	for _, source := range config.ConfigSources {
		if s, ok := source.(interface {
			GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error)
		}); ok {
			if ignore, found, err := s.GetIgnoreConfiguredEndpoints(ctx); err == nil && found && ignore {
				return ""
			}
		}
	}
	for _, source := range config.ConfigSources {
		if s, ok := source.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		}); ok {
			if address, found, err := s.GetServiceBaseEndpoint(ctx, id); err == nil && found {
				return address
			}
		}
	}
	return aws.ToString(config.BaseEndpoint)
}

// variants says which of Amazon's addresses are asked for.
func variants(ctx context.Context, config aws.Config) (fips, dual bool) {
	for _, source := range config.ConfigSources {
		if s, ok := source.(interface {
			GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error)
		}); ok && !fips {
			state, _, _ := s.GetUseFIPSEndpoint(ctx)
			fips = state == aws.FIPSEndpointStateEnabled
		}
		if s, ok := source.(interface {
			GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error)
		}); ok && !dual {
			state, _, _ := s.GetUseDualStackEndpoint(ctx)
			dual = state == aws.DualStackEndpointStateEnabled
		}
	}
	return fips, dual
}

// domains are those of the partitions, by what the names of their regions begin
// with; the second one is for IPv6.
var domains = []struct{ prefix, plain, dual string }{
	{"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
	{"eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
	{"us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
	{"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
	{"us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
	{"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
	{"", "amazonaws.com", "api.aws"},
}

func domain(region string) (plain, dual string) {
	for _, d := range domains {
		if strings.HasPrefix(region, d.prefix) {
			return d.plain, d.dual
		}
	}
	return "", "" // the last one is for all others
}
