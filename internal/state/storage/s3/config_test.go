package s3

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
)

// made is a backend of arguments, and what is said about them.
func made(env map[string]string, values map[string]cty.Value) (*Backend, string) {
	config := Schema().EmptyValue().AsValueMap()
	for name, v := range map[string]cty.Value{"bucket": cty.StringVal("states"), "key": cty.StringVal("a/b"), "region": cty.StringVal("eu-central-1")} {
		config[name] = v
	}
	for name, v := range values {
		config[name] = v
	}
	b, diags := New(cty.ObjectVal(config), storage.Env{Getenv: func(name string) string { return env[name] }})
	return b, storagetest.Said(diags)
}

// inner is an object argument with some of its arguments.
func inner(name string, values map[string]cty.Value) map[string]cty.Value {
	all := map[string]cty.Value{}
	for key, a := range Schema().Attributes[name].Nested.Attributes {
		all[key] = cty.NullVal(a.Type)
	}
	for key, v := range values {
		all[key] = v
	}
	return map[string]cty.Value{name: cty.ObjectVal(all)}
}

func TestConfig(t *testing.T) {
	text := cty.StringVal
	null := cty.NullVal(cty.String)
	one := func(name string, v cty.Value) map[string]cty.Value { return map[string]cty.Value{name: v} }
	const key = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI="
	for _, test := range []struct {
		values map[string]cty.Value
		env    map[string]string
		want   string // "" for nothing at all
	}{
		{},
		{values: one("bucket", text("")), want: `Invalid bucket value: The "bucket" attribute value must not be empty.`},
		{values: one("key", text("")), want: `Invalid key value: The "key" attribute value must not be empty.`},
		{values: one("key", text("/a")), want: "Invalid key value"},
		{values: one("key", text("a/")), want: "Invalid key value"},
		{values: one("workspace_key_prefix", text("/x")), want: "Invalid workspace_key_prefix value"},
		{values: one("region", null), want: "Missing region value"},
		{values: one("region", null), env: map[string]string{"AWS_REGION": "eu-central-1"}},
		{values: one("region", text("moon")), want: "Invalid region value: invalid AWS Region: moon"},
		{values: one("region", text("eusc-de-east-1"))},
		{values: one("region", text("mx-central-1"))},
		{values: one("region", text("eu-central-9"))}, // there may be one some day
		{values: map[string]cty.Value{"region": text("moon"), "skip_region_validation": cty.True}},
		{values: one("kms_key_id", text("nonsense")), want: "Invalid KMS Key ID"},
		{values: one("kms_key_id", text("arn:aws:kms:eu-central-1:1:nonsense")), want: "Invalid KMS Key ARN"},
		{values: one("kms_key_id", text("alias/states"))},
		{values: one("kms_key_id", text("arn:aws:kms:eu-central-1:123456789012:key/12345678-1234-1234-9234-123456789012"))},
		{values: one("sse_customer_key", text("short")), want: "Invalid sse_customer_key value: sse_customer_key must be 44 characters in length"},
		{values: one("sse_customer_key", text(strings.Repeat("!", 44))), want: "Invalid sse_customer_key value: sse_customer_key must be base64 encoded"},
		{env: map[string]string{customerKey: "short"}, want: "Invalid AWS_SSE_CUSTOMER_KEY value"},
		{values: map[string]cty.Value{"sse_customer_key": text(key), "kms_key_id": text("alias/a")}, want: "Invalid encryption configuration"},
		{values: one("kms_key_id", text("alias/a")), env: map[string]string{customerKey: key}, want: "Invalid encryption configuration"},
		{values: one("force_path_style", cty.True), want: `Deprecated Parameter: Parameter "force_path_style" is deprecated. Use "use_path_style" instead.`},
		{values: map[string]cty.Value{"force_path_style": cty.True, "use_path_style": cty.True}, want: "Only one of force_path_style, use_path_style can be set."},
		{values: one("role_arn", text("arn:aws:iam::1:role/r")), want: "Deprecated Parameters: The following parameters have been deprecated. Replace them as follows:\n  * role_arn -> assume_role.role_arn"},
		{values: one("retry_mode", text("eager")), want: `Invalid retry mode: Valid values are "standard" and "adaptive".`},
		{values: one("max_retries", cty.NumberFloatVal(1.5)), want: "must be a whole number"},
		{values: one("ec2_metadata_service_endpoint_mode", text("IPv5")), want: "IPv4 or IPv6"},
		{values: inner("assume_role", map[string]cty.Value{"role_arn": text("r"), "source_identity": text("me")})},
		{values: map[string]cty.Value{"state_tags": cty.MapVal(one("team", text("a"))), "lock_tags": cty.MapVal(one("team", text("a")))}},
		{values: inner("assume_role", one("role_arn", text(""))), want: "Missing Required Value"},
		{values: inner("assume_role", map[string]cty.Value{"role_arn": text("r"), "duration": text("1m")}), want: "Invalid Duration: Duration must be between 15m0s and 12h0m0s, had 1m"},
		{values: inner("assume_role", map[string]cty.Value{"role_arn": text("r"), "duration": text("soon")}), want: "cannot be parsed as a duration"},
		{values: inner("assume_role", map[string]cty.Value{"role_arn": text("r"), "policy": text(" ")}), want: "Invalid Value"},
		{values: inner("assume_role", map[string]cty.Value{"role_arn": text("r"), "policy_arns": cty.SetVal([]cty.Value{text("x")})}), want: "Invalid ARN"},
		{values: inner("assume_role_with_web_identity", map[string]cty.Value{"web_identity_token": text("a"), "web_identity_token_file": text("b")}),
			want: "Only one of assume_role_with_web_identity.web_identity_token, assume_role_with_web_identity.web_identity_token_file can be set."},
	} {
		b, said := made(test.env, test.values)
		if test.want == "" && (b == nil || said != "") || !strings.Contains(said, test.want) {
			t.Errorf("%v: %q, want %q", test.values, said, test.want)
		}
	}
}

// TestEndpoints has each way to give an address.
func TestEndpoints(t *testing.T) {
	for _, test := range []struct {
		values map[string]cty.Value
		env    map[string]string
		want   string
	}{
		{values: inner("endpoints", map[string]cty.Value{"s3": cty.StringVal("http://a")}), want: "http://a"},
		{values: map[string]cty.Value{"endpoint": cty.StringVal("b:1")}, want: "https://b:1"},
		{env: map[string]string{"AWS_ENDPOINT_URL_S3": "http://c", "AWS_S3_ENDPOINT": "http://d"}, want: "http://c"},
		{env: map[string]string{"AWS_S3_ENDPOINT": "http://d"}, want: "http://d"},
		{},
	} {
		b, said := made(test.env, test.values)
		if b == nil || b.access.endpoints.s3 != test.want {
			t.Errorf("%v %v: %v %s", test.values, test.env, b, said)
		}
	}
	both := inner("endpoints", map[string]cty.Value{"s3": cty.StringVal("http://a")})
	both["endpoint"] = cty.StringVal("http://b")
	if _, said := made(nil, both); !strings.Contains(said, "Only one of endpoints.s3, endpoint can be set.") {
		t.Error(said)
	}
}
