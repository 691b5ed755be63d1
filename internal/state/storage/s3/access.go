package s3

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// access is how to reach the services: who asks, where, and by which way.
type access struct {
	region, stsRegion                string
	accessKey, secretKey, token      string
	profile                          string
	configFiles, credentialsFiles    []string
	role                             *role
	webIdentity                      *webIdentity
	allowed, forbidden               []string // accounts
	skipValidation, skipAccount      bool
	metadata                         metadata
	endpoints                        endpoints
	patience                         time.Duration
	wire                             http.RoundTripper // nil for the network
	dualStack, fips                  bool
	retryMode                        aws.RetryMode
	tries                            int // 0 for what the environment says
	caBundle                         string
	httpProxy, httpsProxy, skipProxy *string // nil for what the environment says
	insecure                         bool
}

// endpoints are addresses of services, "" for Amazon's.
type endpoints struct{ s3, dynamodb, sts, sso string }

// metadata is the service of machines of EC2.
type metadata struct {
	endpoint, mode string
	off            *bool // nil for what the environment says
}

// A session is what roles are assumed for.
type session struct {
	arn, name, policy string
	policies          []string
	duration          time.Duration
}

type role struct {
	session
	externalID, source string
	tags               map[string]string
	transitive         []string
}

type webIdentity struct {
	session
	token, file string
}

func readAccess(r *backendconfig.Reader) access {
	a := access{
		region:           r.Text("region"),
		stsRegion:        r.Text("sts_region"),
		accessKey:        r.Text("access_key"),
		secretKey:        r.Text("secret_key"),
		token:            r.Text("token"),
		profile:          r.Text("profile"),
		configFiles:      files(r, "shared_config_files", "AWS_SHARED_CONFIG_FILE"),
		credentialsFiles: files(r, "shared_credentials_files", "AWS_SHARED_CREDENTIALS_FILE"),
		allowed:          r.Texts("allowed_account_ids"),
		forbidden:        r.Texts("forbidden_account_ids"),
		skipValidation:   r.Bool("skip_credentials_validation"),
		skipAccount:      r.Bool("skip_requesting_account_id"),
		metadata: metadata{
			endpoint: r.Text("ec2_metadata_service_endpoint", "AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_METADATA_URL"),
			mode:     r.Text("ec2_metadata_service_endpoint_mode", "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"),
		},
		dualStack: r.Bool("use_dualstack_endpoint"),
		fips:      r.Bool("use_fips_endpoint"),
		caBundle:  r.Text("custom_ca_bundle", "AWS_CA_BUNDLE"),
		insecure:  r.Bool("insecure"),
	}
	if a.region == "" && r.Getenv("AWS_REGION") == "" && r.Getenv("AWS_DEFAULT_REGION") == "" {
		r.Problem("region", "Missing region value", `The bucket's region isn't set. Set the argument region in the block or with -backend-config="region=NAME", or set the environment variable AWS_REGION or AWS_DEFAULT_REGION.`)
	}
	if a.region != "" && !r.Bool("skip_region_validation") && !regions.Get().MatchString(a.region) {
		r.Problem("region", "Invalid region value", "invalid AWS Region: %s", a.region)
	}
	if r.Set("shared_credentials_file") {
		deprecated(r, "shared_credentials_file", "shared_credentials_files")
		a.credentialsFiles = []string{r.Text("shared_credentials_file")}
	}
	if r.Set("skip_metadata_api_check") {
		a.metadata.off = aws.Bool(r.Bool("skip_metadata_api_check"))
	}
	if mode := a.metadata.mode; mode != "" && !strings.EqualFold(mode, "IPv4") && !strings.EqualFold(mode, "IPv6") {
		r.Problem("ec2_metadata_service_endpoint_mode", "Invalid backend configuration", "The mode of the metadata service must be IPv4 or IPv6, not %q.", mode)
	}
	for name, to := range map[string]**string{"http_proxy": &a.httpProxy, "https_proxy": &a.httpsProxy, "no_proxy": &a.skipProxy} {
		if r.Set(name) {
			*to = aws.String(r.Text(name))
		}
	}
	if r.Set("retry_mode") {
		var err error
		if a.retryMode, err = aws.ParseRetryMode(r.Text("retry_mode")); err != nil {
			r.Problem("retry_mode", "Invalid retry mode", "Valid values are %q and %q.", aws.RetryModeStandard, aws.RetryModeAdaptive)
		}
	}
	if r.Set("max_retries") || r.Getenv("AWS_MAX_ATTEMPTS") == "" {
		a.tries = max(r.Int("max_retries", 5), 1)
	}
	r.Exclude("shared_credentials_file", "shared_credentials_files")
	r.Exclude("allowed_account_ids", "forbidden_account_ids")
	a.endpoints = readEndpoints(r)
	a.role = readRole(r)
	a.webIdentity = readWebIdentity(r)
	return a
}

// regions are the names that regions have in all partitions.
var regions = lazyregexp.New(`^(us|eu|ap|sa|ca|me|af|il|mx|cn|eusc|us-gov|us-iso[bef]?|eu-isoe)(-[a-z]+)+-\d+$`)

// files are the elements of an argument, or else the one file that a variable names.
func files(r *backendconfig.Reader, name, variable string) []string {
	if r.Set(name) {
		return r.Texts(name)
	}
	if file := r.Getenv(variable); file != "" {
		return []string{file}
	}
	return nil
}

func readEndpoints(r *backendconfig.Reader) endpoints {
	inner := r.Object("endpoints")
	// read takes the argument, its old name, or the variables that only the incumbents
	// know beside those of the SDK.
	read := func(name, old string, variables ...string) string {
		address := ""
		if inner != nil {
			address = inner.Text(name)
		}
		if old != "" && r.Set(old) {
			if address != "" {
				r.Problem("", "Invalid Attribute Combination", "Only one of endpoints.%s, %s can be set.", name, old)
			}
			address = r.Text(old)
		}
		for _, v := range variables {
			if address == "" {
				address = r.Getenv(v)
			}
		}
		if address != "" && !strings.Contains(address, "://") {
			address = "https://" + address
		}
		return address
	}
	read("iam", "iam_endpoint")
	return endpoints{
		s3:       read("s3", "endpoint", "AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT"),
		dynamodb: read("dynamodb", "dynamodb_endpoint", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_DYNAMODB_ENDPOINT"),
		sts:      read("sts", "sts_endpoint", "AWS_ENDPOINT_URL_STS", "AWS_STS_ENDPOINT"),
		sso:      read("sso", "", "AWS_ENDPOINT_URL_SSO"),
	}
}

// flatRole has the old names of the arguments of assume_role.
var flatRole = map[string]string{
	"role_arn":                        "assume_role.role_arn",
	"session_name":                    "assume_role.session_name",
	"external_id":                     "assume_role.external_id",
	"assume_role_duration_seconds":    "assume_role.duration",
	"assume_role_policy":              "assume_role.policy",
	"assume_role_policy_arns":         "assume_role.policy_arns",
	"assume_role_tags":                "assume_role.tags",
	"assume_role_transitive_tag_keys": "assume_role.transitive_tag_keys",
}

func readRole(r *backendconfig.Reader) *role {
	old := r.Replaced(flatRole)
	inner := r.Object("assume_role")
	if inner == nil {
		if old != "" {
			r.Warn("", "Deprecated Parameters", "The following parameters have been deprecated. Replace them as follows:\n%s", old)
		}
		if !r.Set("role_arn") {
			return nil
		}
		return &role{
			session: session{
				arn: r.Text("role_arn"), name: r.Text("session_name"), policy: r.Text("assume_role_policy"),
				policies: r.Texts("assume_role_policy_arns"),
				duration: time.Duration(r.Int("assume_role_duration_seconds", 0)) * time.Second,
			},
			externalID: r.Text("external_id"), tags: r.Map("assume_role_tags"), transitive: r.Texts("assume_role_transitive_tag_keys"),
		}
	}
	if old != "" {
		r.Problem("", "Conflicting Parameters", "The following deprecated parameters conflict with the parameter \"assume_role\". Replace them as follows:\n%s", old)
	}
	read := &role{
		session:    readSession(inner),
		externalID: filled(inner, "external_id"),
		source:     filled(inner, "source_identity"),
		tags:       inner.Map("tags"),
		transitive: inner.Texts("transitive_tag_keys"),
	}
	read.arn = inner.Text("role_arn")
	if read.arn == "" {
		inner.Problem("role_arn", "Missing Required Value", `The attribute "assume_role.role_arn" is required by the backend.`)
	}
	r.Took(inner)
	return read
}

func readWebIdentity(r *backendconfig.Reader) *webIdentity {
	inner := r.Object("assume_role_with_web_identity")
	if inner == nil {
		return nil
	}
	inner.Exclude("web_identity_token", "web_identity_token_file")
	read := &webIdentity{
		session: readSession(inner),
		token:   inner.Text("web_identity_token", "AWS_WEB_IDENTITY_TOKEN"),
		file:    inner.Text("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE"),
	}
	read.arn = inner.Text("role_arn", "AWS_ROLE_ARN")
	if read.name == "" {
		read.name = r.Getenv("AWS_ROLE_SESSION_NAME")
	}
	r.Took(inner)
	return read
}

func readSession(r *backendconfig.Reader) session {
	s := session{name: filled(r, "session_name"), policy: strings.TrimSpace(filled(r, "policy")), policies: r.Texts("policy_arns")}
	for _, text := range s.policies {
		if parsed, err := arn.Parse(text); err != nil {
			r.Problem("policy_arns", "Invalid ARN", "The value %q cannot be parsed as an ARN: %s", text, err)
		} else if !strings.HasPrefix(parsed.Resource, "policy/") {
			r.Problem("policy_arns", "Invalid IAM Policy ARN", "Value must be a valid IAM Policy ARN, got %q", text)
		}
	}
	slices.Sort(s.policies)
	if text := r.Text("duration"); r.Set("duration") {
		const shortest, longest = 15 * time.Minute, 12 * time.Hour
		var err error
		if s.duration, err = time.ParseDuration(text); err != nil {
			r.Problem("duration", "Invalid Duration", "The value %q cannot be parsed as a duration: %s", text, err)
		} else if s.duration < shortest || s.duration > longest {
			r.Problem("duration", "Invalid Duration", "Duration must be between %s and %s, had %s", shortest, longest, text)
		}
	}
	return s
}

// filled is an argument that must not be blank where it is set.
func filled(r *backendconfig.Reader, name string) string {
	text := r.Text(name)
	if r.Set(name) && strings.TrimSpace(text) == "" {
		r.Problem(name, "Invalid Value", "The value cannot be empty or all whitespace")
	}
	return text
}
