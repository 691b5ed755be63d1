package s3

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/schema"
	"weir.dev/weir/internal/storage/arguments"
)

// Schema is the shape of the configuration.
func Schema() *schema.Block {
	text := func(description string) *schema.Attribute { return arguments.Optional(cty.String, description) }
	truth := func(description string) *schema.Attribute { return arguments.Optional(cty.Bool, description) }
	texts := func(description string) *schema.Attribute {
		return arguments.Optional(cty.Set(cty.String), description)
	}
	table := func(description string) *schema.Attribute {
		return arguments.Optional(cty.Map(cty.String), description)
	}
	number := func(description string) *schema.Attribute { return arguments.Optional(cty.Number, description) }
	required := func(a *schema.Attribute) *schema.Attribute {
		a.Required, a.Optional = true, false
		return a
	}
	secret := func(a *schema.Attribute) *schema.Attribute {
		a.Sensitive = true
		return a
	}
	old := func(a *schema.Attribute) *schema.Attribute {
		a.Deprecated = true
		return a
	}
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"bucket":               required(text("The bucket")),
		"key":                  required(text("The key of the state in the bucket")),
		"region":               text("The region of the bucket and of the table"),
		"workspace_key_prefix": text("What the keys of other workspaces begin with, env: by default"),

		"use_lockfile":   truth("Whether an object beside the state is the lock"),
		"dynamodb_table": text("The DynamoDB table for locks and digests"),

		"encrypt":          truth("Whether the server encrypts the state"),
		"kms_key_id":       text("The KMS key that the server encrypts with"),
		"sse_customer_key": secret(text("The key that the server encrypts with and forgets, as base64")),
		"acl":              text("The canned ACL of the state"),
		"state_tags":       table("Tags of the state"),
		"lock_tags":        table("Tags of the lock"),
		"skip_s3_checksum": truth("Whether uploads have no checksum, for servers that don't know them"),

		"access_key":               text("The access key"),
		"secret_key":               text("The secret of the access key"),
		"token":                    text("The session token"),
		"profile":                  text("The profile in the shared files"),
		"shared_config_files":      texts("The shared configuration files"),
		"shared_credentials_files": texts("The shared credentials files"),
		"shared_credentials_file":  old(text("A shared credentials file")),
		"allowed_account_ids":      texts("The only accounts that may be used"),
		"forbidden_account_ids":    texts("Accounts that must not be used"),

		"assume_role": arguments.Object("The role to assume", map[string]*schema.Attribute{
			"role_arn":            required(text("The role")),
			"duration":            text("How long the session lasts, such as 1h"),
			"external_id":         text("The external ID"),
			"policy":              text("A policy that restricts the session, as JSON"),
			"policy_arns":         texts("Policies that restrict the session"),
			"session_name":        text("The name of the session"),
			"source_identity":     text("The source identity of the session"),
			"tags":                table("Tags of the session"),
			"transitive_tag_keys": texts("Tags that sessions further on keep"),
		}),
		"assume_role_with_web_identity": arguments.Object("The role to assume with a token", map[string]*schema.Attribute{
			"role_arn":                text("The role"),
			"web_identity_token":      secret(text("The token")),
			"web_identity_token_file": text("A file with the token"),
			"session_name":            text("The name of the session"),
			"policy":                  text("A policy that restricts the session, as JSON"),
			"policy_arns":             texts("Policies that restrict the session"),
			"duration":                text("How long the session lasts, such as 1h"),
		}),
		"role_arn":                        old(text("The role to assume")),
		"session_name":                    old(text("The name of the session")),
		"external_id":                     old(text("The external ID")),
		"assume_role_duration_seconds":    old(number("How long the session lasts")),
		"assume_role_policy":              old(text("A policy that restricts the session")),
		"assume_role_policy_arns":         old(texts("Policies that restrict the session")),
		"assume_role_tags":                old(table("Tags of the session")),
		"assume_role_transitive_tag_keys": old(texts("Tags that sessions further on keep")),

		"endpoints": arguments.Object("Addresses of services", map[string]*schema.Attribute{
			"dynamodb": text("The address of DynamoDB"),
			"iam":      text("The address of IAM, which isn't asked for anything"),
			"s3":       text("The address of S3"),
			"sso":      text("The address of the identity center"),
			"sts":      text("The address of STS"),
		}),
		"dynamodb_endpoint":      old(text("The address of DynamoDB")),
		"endpoint":               old(text("The address of S3")),
		"iam_endpoint":           old(text("The address of IAM")),
		"sts_endpoint":           old(text("The address of STS")),
		"sts_region":             text("The region of STS"),
		"use_path_style":         truth("Whether the bucket is in the path of addresses instead of the host"),
		"force_path_style":       old(truth("Whether the bucket is in the path of addresses instead of the host")),
		"use_dualstack_endpoint": truth("Whether addresses have IPv6 too"),
		"use_fips_endpoint":      truth("Whether addresses are those of FIPS 140"),

		"skip_credentials_validation": truth("Whether credentials aren't tried at STS first"),
		"skip_metadata_api_check":     truth("Whether the metadata service of EC2 isn't asked"),
		"skip_region_validation":      truth("Whether any name is taken for a region"),
		"skip_requesting_account_id":  truth("Whether the account isn't asked for"),

		"retry_mode":                         text("How requests are repeated: standard or adaptive"),
		"max_retries":                        number("How often a request is tried, 5 by default"),
		"custom_ca_bundle":                   text("A file with certificates of authorities to trust"),
		"ec2_metadata_service_endpoint":      text("The address of the metadata service of EC2"),
		"ec2_metadata_service_endpoint_mode": text("The kind of that address: IPv4 or IPv6"),
		"http_proxy":                         text("The proxy for HTTP"),
		"https_proxy":                        text("The proxy for HTTPS"),
		"no_proxy":                           text("Hosts that are reached without a proxy"),
		"insecure":                           truth("Whether to trust any server certificate"),
	}}
}
