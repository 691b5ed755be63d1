package s3

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// New makes a backend from a configuration of the type of Schema. It doesn't
// connect.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	b := &Backend{
		bucket:     r.Text("bucket"),
		key:        r.Text("key"),
		prefix:     r.Text("workspace_key_prefix"),
		table:      r.Text("dynamodb_table"),
		lockFile:   r.Bool("use_lockfile"),
		acl:        r.Text("acl"),
		stateTags:  r.Map("state_tags"),
		lockTags:   r.Map("lock_tags"),
		noChecksum: r.Bool("skip_s3_checksum"),
		pathStyle:  r.Bool("use_path_style") || r.Bool("force_path_style"),
		agent:      useragent.Name(r.Getenv),
		Patience:   10 * time.Second,
		Pause:      2 * time.Second,
	}
	if !r.Set("workspace_key_prefix") {
		b.prefix = "env:"
	}
	if b.bucket == "" {
		r.Problem("bucket", "Invalid bucket value", `The "bucket" attribute value must not be empty.`)
	}
	switch {
	case b.key == "":
		r.Problem("key", "Invalid key value", `The "key" attribute value must not be empty.`)
	case strings.HasPrefix(b.key, "/") || strings.HasSuffix(b.key, "/"):
		r.Problem("key", "Invalid key value", `The "key" attribute value must not start or end with "/".`)
	}
	if strings.HasPrefix(b.prefix, "/") || strings.HasSuffix(b.prefix, "/") {
		r.Problem("workspace_key_prefix", "Invalid workspace_key_prefix value", `The "workspace_key_prefix" attribute value must not start or end with "/".`)
	}
	b.sealing = readSealing(r)
	b.access = readAccess(r)
	b.access.patience, b.access.wire = r.Patience(), env.Transport
	r.Exclude("force_path_style", "use_path_style")
	if r.Set("force_path_style") {
		deprecated(r, "force_path_style", "use_path_style")
	}
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	return b, r.Diags
}

func deprecated(r *backendconfig.Reader, name, by string) {
	r.Warn(name, "Deprecated Parameter", "Parameter %q is deprecated. Use %q instead.", name, by)
}

// The forms of keys. They are compiled when they are asked for: at start they would
// cost every command 0.1 MB.
var (
	kmsID  = lazyregexp.New(`^(` + kmsUUID + `|alias/[a-zA-Z0-9/_-]+)$`)
	kmsARN = lazyregexp.New(`^(key/(` + kmsUUID + `)|alias/[a-zA-Z0-9/_-]+)$`)
)

const kmsUUID = `[a-f0-9]{8}-[a-f0-9]{4}-[1-5][a-f0-9]{3}-[ab89][a-f0-9]{3}-[a-f0-9]{12}|mrk-[a-f0-9]{32}`

// customerKey is the variable for sse_customer_key.
const customerKey = "AWS_SSE_CUSTOMER_KEY"

func readSealing(r *backendconfig.Reader) sealing {
	s := sealing{on: r.Bool("encrypt"), kmsKey: r.Text("kms_key_id")}
	given := r.Text("sse_customer_key")
	name, about := "sse_customer_key", "sse_customer_key"
	if !r.Set(name) {
		given, name, about = r.Getenv(customerKey), "", `The environment variable "`+customerKey+`"`
	}
	if given != "" {
		key, err := base64.StdEncoding.DecodeString(given)
		summary := "Invalid sse_customer_key value"
		if name == "" {
			summary = "Invalid " + customerKey + " value"
		}
		switch {
		case len(given) != 44:
			r.Problem(name, summary, "%s must be 44 characters in length", about)
		case err != nil:
			r.Problem(name, summary, "%s must be base64 encoded: %s", about, err)
		}
		s.customer = key
	}
	if s.kmsKey == "" {
		return s
	}
	if given != "" {
		other := "sse_customer_key"
		if name == "" {
			other = "the environment variable " + customerKey
		}
		r.Problem("", "Invalid encryption configuration", "Only one of kms_key_id and %s can be set: the first is for keys that the key service manages (SSE-KMS), the second for a key of your own (SSE-C).", other)
	}
	if parsed, err := arn.Parse(s.kmsKey); err == nil {
		if !kmsARN.Get().MatchString(parsed.Resource) {
			r.Problem("kms_key_id", "Invalid KMS Key ARN", "Value must be a valid KMS Key ARN, got %q", s.kmsKey)
		}
	} else if !kmsID.Get().MatchString(s.kmsKey) {
		r.Problem("kms_key_id", "Invalid KMS Key ID", "Value must be a valid KMS Key ID, got %q", s.kmsKey)
	}
	return s
}
