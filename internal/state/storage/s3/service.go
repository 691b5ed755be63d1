package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"weir.dev/weir/internal/net/httpcall"
	"weir.dev/weir/internal/net/retry"
)

// A service is one of Amazon's at an address. Its requests are few, and are made
// here: the SDK's clients have all requests there are, which makes a program half
// as large again and slow to start.
type service struct {
	config  aws.Config
	agent   string // who asks
	name    string // that requests are signed for
	address *url.URL
	decode  func(httpcall.Answer) *failure
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

// do sends a request until the service answers it, as often as the settings of the SDK say.
func (s *service) do(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (httpcall.Answer, error) {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	tries := s.retryer()
	c := httpcall.Client{
		HTTP: s.config.HTTPClient, Stall: s.patience,
		Retry: retry.Policy{Attempts: tries.MaxAttempts(), Delay: tries.RetryDelay},
		Sign: func(ctx context.Context, r *http.Request) error {
			r.Header.Set("User-Agent", s.agent)
			r.Header.Set("X-Amz-Content-Sha256", hash)
			credentials, err := s.config.Credentials.Retrieve(ctx)
			if err != nil {
				return err
			}
			signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = s.name == "s3" })
			return signer.SignHTTP(ctx, credentials, r, hash, s.name, s.config.Region, time.Now())
		},
		Again: func(a httpcall.Answer, err error) bool {
			if a.Status == 0 {
				err = &broken{err}
			}
			return tries.IsErrorRetryable(err)
		},
	}
	return c.Do(ctx, httpcall.Request{Method: method, URL: to, Header: header, Body: body}, func(a httpcall.Answer) error {
		if a.Status/100 == 2 {
			return nil
		}
		return s.decode(a)
	})
}

func (s *service) retryer() aws.Retryer {
	limit := func(o *sdkretry.StandardOptions) {
		if s.config.RetryMaxAttempts > 0 {
			o.MaxAttempts = s.config.RetryMaxAttempts
		}
	}
	if s.config.RetryMode == aws.RetryModeAdaptive {
		return sdkretry.NewAdaptiveMode(func(o *sdkretry.AdaptiveModeOptions) { o.StandardOptions = append(o.StandardOptions, limit) })
	}
	return sdkretry.NewStandard(limit)
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
