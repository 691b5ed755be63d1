package s3

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sso"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go/logging"
	"golang.org/x/net/http/httpproxy"

	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/stalltimeout"
)

// load finds credentials in the SDK's own order, assumes the roles that are asked
// for, and tries whether the services take the outcome.
func (a *access) load(ctx context.Context) (aws.Config, error) {
	if a.wire != nil && a.static() {
		// A caller that gives the way to the services wants nothing from around it.
		return aws.Config{
			Region: a.region, HTTPClient: &http.Client{Transport: a.wire}, RetryMaxAttempts: a.tries,
			Credentials: credentials.NewStaticCredentialsProvider(a.accessKey, a.secretKey, a.token),
		}, nil
	}
	options, err := a.options()
	if err != nil {
		return aws.Config{}, err
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("loading the AWS configuration: %w", err)
	}
	if own, ok := c.HTTPClient.(*awshttp.BuildableClient); ok { // it would send states on after a redirect
		c.HTTPClient = sameorigin.Stay(&http.Client{Transport: own.GetTransport(), Timeout: own.GetTimeout()})
	}
	if a.webIdentity != nil && !a.static() {
		if c.Credentials, err = a.tokenRole(ctx, c); err != nil {
			return aws.Config{}, err
		}
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return aws.Config{}, fmt.Errorf("No valid credential sources found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for a profile of the shared configuration files, or the arguments access_key, secret_key or profile of the backend.\n\nThe last source said: %w", err)
	}
	if a.role != nil {
		if c.Credentials, err = a.assumed(ctx, c); err != nil {
			return aws.Config{}, err
		}
	}
	return c, a.verify(ctx, c)
}

// static reports whether the credentials are arguments.
func (a *access) static() bool { return a.accessKey != "" || a.secretKey != "" || a.token != "" }

func (a *access) options() ([]func(*config.LoadOptions) error, error) {
	client := awshttp.NewBuildableClient().WithTransportOptions(a.transport)
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(client), config.WithAppID("weir"), config.WithLogger(logging.Nop{})}
	add := func(wanted bool, option config.LoadOptionsFunc) {
		if wanted {
			options = append(options, option)
		}
	}
	add(a.static(), config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(a.accessKey, a.secretKey, a.token)))
	add(a.region != "", config.WithRegion(a.region))
	add(a.profile != "", config.WithSharedConfigProfile(a.profile))
	add(a.configFiles != nil, config.WithSharedConfigFiles(a.configFiles))
	add(a.credentialsFiles != nil, config.WithSharedCredentialsFiles(a.credentialsFiles))
	add(a.dualStack, config.WithUseDualStackEndpoint(aws.DualStackEndpointStateEnabled))
	add(a.fips, config.WithUseFIPSEndpoint(aws.FIPSEndpointStateEnabled))
	add(a.retryMode != "", config.WithRetryMode(a.retryMode))
	add(a.tries != 0, config.WithRetryMaxAttempts(a.tries))
	add(a.metadata.endpoint != "", config.WithEC2IMDSEndpoint(a.metadata.endpoint))
	switch {
	case strings.EqualFold(a.metadata.mode, "IPv6"):
		add(true, config.WithEC2IMDSEndpointMode(imds.EndpointModeStateIPv6))
	case a.metadata.mode != "":
		add(true, config.WithEC2IMDSEndpointMode(imds.EndpointModeStateIPv4))
	}
	if off := a.metadata.off; off != nil {
		state := imds.ClientEnabled
		if *off {
			state = imds.ClientDisabled
		}
		add(true, config.WithEC2IMDSClientEnableState(state))
	}
	add(a.endpoints.sso != "", config.WithSSOProviderOptions(func(o *ssocreds.Options) {
		if client, ok := o.Client.(*sso.Client); ok {
			o.Client = sso.New(client.Options(), func(o *sso.Options) { setEndpoint(&o.BaseEndpoint, a.endpoints.sso) })
		}
	}))
	add(a.endpoints.sts != "" || a.stsRegion != "", config.WithServiceOptions(func(_ string, options any) {
		if o, ok := options.(*sts.Options); ok {
			a.atSTS(o)
		}
	}))
	if a.caBundle != "" {
		certificates, err := os.ReadFile(a.caBundle)
		if err != nil {
			return nil, fmt.Errorf("the file of custom_ca_bundle can't be read: %w", err)
		}
		add(true, config.WithCustomCABundle(bytes.NewReader(certificates)))
	}
	return options, nil
}

// setEndpoint has a client use an address, "" for that of the SDK.
func setEndpoint(base **string, address string) {
	if address != "" {
		*base = &address
	}
}

func (a *access) transport(t *http.Transport) {
	t.ResponseHeaderTimeout = stalltimeout.Beyond(a.patience) // also where the SDK asks
	if a.insecure {
		if t.TLSClientConfig == nil {
			t.TLSClientConfig = &tls.Config{}
		}
		t.TLSClientConfig.InsecureSkipVerify = true // #nosec G402 -- asked for
	}
	if a.httpProxy == nil && a.httpsProxy == nil && a.skipProxy == nil {
		return
	}
	proxies := httpproxy.FromEnvironment()
	for to, given := range map[*string]*string{&proxies.HTTPProxy: a.httpProxy, &proxies.HTTPSProxy: a.httpsProxy, &proxies.NoProxy: a.skipProxy} {
		if given != nil {
			*to = *given
		}
	}
	find := proxies.ProxyFunc()
	t.Proxy = func(r *http.Request) (*url.URL, error) { return find(r.URL) }
}

func (a *access) atSTS(o *sts.Options) {
	setEndpoint(&o.BaseEndpoint, a.endpoints.sts)
	if a.stsRegion != "" {
		o.Region = a.stsRegion
	}
}

// tokenRole exchanges a token of another identity provider for credentials.
func (a *access) tokenRole(ctx context.Context, c aws.Config) (aws.CredentialsProvider, error) {
	w := a.webIdentity
	if w.arn == "" {
		return nil, errors.New("Assume Role With Web Identity: Role ARN was not set")
	}
	var token stscreds.IdentityTokenRetriever = given(w.token)
	if w.token == "" {
		if w.file == "" {
			return nil, errors.New("Assume Role With Web Identity: One of WebIdentityToken, WebIdentityTokenFile must be set")
		}
		token = stscreds.IdentityTokenFile(w.file)
	}
	c.Credentials = aws.AnonymousCredentials{}
	provider := aws.NewCredentialsCache(stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(c), w.arn, token, func(o *stscreds.WebIdentityRoleOptions) {
		o.RoleSessionName, o.Duration, o.Policy, o.PolicyARNs = w.name, w.duration, filledText(w.policy), descriptors(w.policies)
	}))
	if _, err := provider.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("Cannot assume IAM Role with web identity.\n\nThe role %s doesn't let the token in: the token may be invalid or may not be meant for this role, or there is no such role.\n\nError: %w", w.arn, err)
	}
	return provider, nil
}

// given is a token that is an argument.
type given string

func (g given) GetIdentityToken() ([]byte, error) { return []byte(g), nil }

// assumed are the credentials of the role.
func (a *access) assumed(ctx context.Context, c aws.Config) (aws.CredentialsProvider, error) {
	r := a.role
	provider := aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(c), r.arn, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName, o.Duration, o.Policy, o.PolicyARNs = r.name, r.duration, filledText(r.policy), descriptors(r.policies)
		o.ExternalID, o.SourceIdentity, o.TransitiveTagKeys = filledText(r.externalID), filledText(r.source), r.transitive
		for key, value := range r.tags {
			o.Tags = append(o.Tags, ststypes.Tag{Key: aws.String(key), Value: aws.String(value)})
		}
	}))
	if _, err := provider.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("Cannot assume IAM Role.\n\nThe role %s can't be assumed: the credentials may be invalid or not allowed to, or there is no such role.\n\nError: %w", r.arn, err)
	}
	return provider, nil
}

// filledText is nil for "".
func filledText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func descriptors(arns []string) []ststypes.PolicyDescriptorType {
	var list []ststypes.PolicyDescriptorType
	for _, text := range arns {
		list = append(list, ststypes.PolicyDescriptorType{Arn: aws.String(text)})
	}
	return list
}

// verify tries the credentials, and holds their account to the lists.
func (a *access) verify(ctx context.Context, c aws.Config) error {
	listed := a.allowed != nil || a.forbidden != nil
	if a.skipValidation && (a.skipAccount || !listed) {
		if a.allowed != nil {
			return errors.New("Invalid account ID: allowed_account_ids needs the account, which skip_requesting_account_id keeps from being asked for")
		}
		return nil
	}
	caller, err := sts.NewFromConfig(c).GetCallerIdentity(ctx, nil)
	if err != nil {
		return fmt.Errorf("validating provider credentials: retrieving caller identity from STS: %w", err)
	}
	account := aws.ToString(caller.Account)
	if slices.Contains(a.forbidden, account) || a.allowed != nil && !slices.Contains(a.allowed, account) {
		return fmt.Errorf("Invalid account ID: AWS account ID not allowed: %s", account)
	}
	return nil
}
