package s3

import (
	"maps"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// Schema is the shape of the configuration.
func Schema() *schema.Block {
	all := map[string]*schema.Attribute{
		"bucket":               required(aText("The bucket")),
		"key":                  required(aText("The key of the state in the bucket")),
		"region":               aText("The region of the bucket and of the table"),
		"workspace_key_prefix": aText("The prefix of other workspaces' keys, env: by default"),

		"use_lockfile":   aBool("Whether an object beside the state is the lock"),
		"dynamodb_table": aText("The DynamoDB table for locks and digests"),

		"encrypt":          aBool("Whether the server encrypts the state"),
		"kms_key_id":       aText("The KMS key that the server encrypts with"),
		"sse_customer_key": secret(aText("The key that the server encrypts with and forgets, as base64")),
		"acl":              aText("The canned ACL of the state"),
		"state_tags":       textMap("Tags of the state"),
		"lock_tags":        textMap("Tags of the lock"),
		"skip_s3_checksum": aBool("Whether uploads have no checksum, for servers that don't know them"),

		"access_key":               aText("The access key"),
		"secret_key":               aText("The secret of the access key"),
		"token":                    aText("The session token"),
		"profile":                  aText("The profile in the shared files"),
		"shared_config_files":      textSet("The shared configuration files"),
		"shared_credentials_files": textSet("The shared credentials files"),
		"shared_credentials_file":  old(aText("A shared credentials file")),
		"allowed_account_ids":      textSet("The only accounts that may be used"),
		"forbidden_account_ids":    textSet("Accounts that must not be used"),

		"endpoints": backendconfig.Object("Addresses of services", map[string]*schema.Attribute{
			"dynamodb": aText("The address of DynamoDB"),
			"iam":      aText("The address of IAM, which isn't asked for anything"),
			"s3":       aText("The address of S3"),
			"sso":      aText("The address of the identity center"),
			"sts":      aText("The address of STS"),
		}),
		"dynamodb_endpoint":      old(aText("The address of DynamoDB")),
		"endpoint":               old(aText("The address of S3")),
		"iam_endpoint":           old(aText("The address of IAM")),
		"sts_endpoint":           old(aText("The address of STS")),
		"sts_region":             aText("The region of STS"),
		"use_path_style":         aBool("Whether the bucket is in the path of addresses instead of the host"),
		"force_path_style":       old(aBool("Whether the bucket is in the path of addresses instead of the host")),
		"use_dualstack_endpoint": aBool("Whether addresses have IPv6 too"),
		"use_fips_endpoint":      aBool("Whether addresses are those of FIPS 140"),

		"skip_credentials_validation": aBool("Whether credentials aren't tried at STS first"),
		"skip_metadata_api_check":     aBool("Whether the metadata service of EC2 isn't asked"),
		"skip_region_validation":      aBool("Whether any name is taken for a region"),
		"skip_requesting_account_id":  aBool("Whether the account isn't asked for"),

		"retry_mode":                         aText("How requests are repeated: standard or adaptive"),
		"max_retries":                        aNumber("How often a request is tried, 5 by default"),
		"custom_ca_bundle":                   aText("A file with certificates of authorities to trust"),
		"ec2_metadata_service_endpoint":      aText("The address of the metadata service of EC2"),
		"ec2_metadata_service_endpoint_mode": aText("The kind of that address: IPv4 or IPv6"),
		"http_proxy":                         aText("The proxy for HTTP"),
		"https_proxy":                        aText("The proxy for HTTPS"),
		"no_proxy":                           aText("Hosts that are reached without a proxy"),
		"insecure":                           aBool("Whether to trust any server certificate"),
	}
	maps.Copy(all, roles())
	return &schema.Block{Attributes: all}
}

// roles are the arguments about roles to assume.
func roles() map[string]*schema.Attribute {
	return map[string]*schema.Attribute{
		"assume_role": backendconfig.Object("The role to assume", map[string]*schema.Attribute{
			"role_arn":            required(aText("The role")),
			"duration":            aText("How long the session lasts, such as 1h"),
			"external_id":         aText("The external ID"),
			"policy":              aText("A policy that restricts the session, as JSON"),
			"policy_arns":         textSet("Policies that restrict the session"),
			"session_name":        aText("The name of the session"),
			"source_identity":     aText("The source identity of the session"),
			"tags":                textMap("Tags of the session"),
			"transitive_tag_keys": textSet("Tags that sessions further on keep"),
		}),
		"assume_role_with_web_identity": backendconfig.Object("The role to assume with a token", map[string]*schema.Attribute{
			"role_arn":                aText("The role"),
			"web_identity_token":      secret(aText("The token")),
			"web_identity_token_file": aText("A file with the token"),
			"session_name":            aText("The name of the session"),
			"policy":                  aText("A policy that restricts the session, as JSON"),
			"policy_arns":             textSet("Policies that restrict the session"),
			"duration":                aText("How long the session lasts, such as 1h"),
		}),
		"role_arn":                        old(aText("The role to assume")),
		"session_name":                    old(aText("The name of the session")),
		"external_id":                     old(aText("The external ID")),
		"assume_role_duration_seconds":    old(aNumber("How long the session lasts")),
		"assume_role_policy":              old(aText("A policy that restricts the session")),
		"assume_role_policy_arns":         old(textSet("Policies that restrict the session")),
		"assume_role_tags":                old(textMap("Tags of the session")),
		"assume_role_transitive_tag_keys": old(textSet("Tags that sessions further on keep")),
	}
}

func aText(description string) *schema.Attribute {
	return backendconfig.Optional(cty.String, description)
}

func aBool(description string) *schema.Attribute {
	return backendconfig.Optional(cty.Bool, description)
}

func textSet(description string) *schema.Attribute {
	return backendconfig.Optional(cty.Set(cty.String), description)
}

func textMap(description string) *schema.Attribute {
	return backendconfig.Optional(cty.Map(cty.String), description)
}

func aNumber(description string) *schema.Attribute {
	return backendconfig.Optional(cty.Number, description)
}

func required(a *schema.Attribute) *schema.Attribute {
	a.Required, a.Optional = true, false
	return a
}

func secret(a *schema.Attribute) *schema.Attribute {
	a.Sensitive = true
	return a
}

func old(a *schema.Attribute) *schema.Attribute {
	a.Deprecated = true
	return a
}
