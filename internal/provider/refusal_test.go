package provider

import (
	"testing"
	"time"

	"weir.dev/weir/internal/core/diag"
)

func TestAskedTooOften(t *testing.T) {
	for text, after := range map[string]time.Duration{
		"operation error EC2: DescribeInstances, https response error StatusCode: 429, api error":  0,
		"api error ThrottlingException: Rate exceeded":                                             0,
		"api error Throttling: Rate exceeded":                                                      0,
		"RequestLimitExceeded: Request limit exceeded.":                                            0,
		"googleapi: Error 429: Quota exceeded for quota metric 'Read requests', rateLimitExceeded": 0,
		"unexpected status 429 (429 Too Many Requests) with error: TooManyRequests":                0,
		"GET https://api.example.com/x: 403 API rate limit exceeded for user ID 1.":                0,
		"You have exceeded a secondary rate limit. Please retry after 7 seconds.":                  7 * time.Second,
		"HTTP 429: try again in 1.5s":                                                              1500 * time.Millisecond,
		"SlowDown: Please reduce your rate":                                                        0,
		"the request was throttled, wait":                                                          0,
		"Too many requests\nRetry-After: 30":                                                       30 * time.Second,
		"too many requests, retry after 2030":                                                      2030 * time.Second,
	} {
		for _, list := range []diag.List{
			{{Severity: diag.Error, Code: Reported.Name, Summary: text}},
			{{Severity: diag.Warning, Code: Reported.Name, Summary: "x"}, {Severity: diag.Error, Code: Reported.Name, Summary: "Can't read", Detail: text}},
		} {
			if tooOften, wait := AskedTooOften(list); !tooOften || wait != after {
				t.Errorf("%s: %v, %s", text, tooOften, wait)
			}
		}
	}
	for _, d := range []diag.Diagnostic{
		{Severity: diag.Error, Code: Reported.Name, Summary: "VpcLimitExceeded: The maximum number of VPCs has been reached."},
		{Severity: diag.Error, Code: Reported.Name, Summary: "sg-0429 not found", Detail: "QuotaExceeded: limit of 429 addresses"},
		{Severity: diag.Error, Code: Reported.Name, Summary: "aws_api_gateway_usage_plan: throttle_settings is wrong"},
		{Severity: diag.Error, Code: Reported.Name, Summary: "timeout while waiting", Detail: "retry after 5 seconds"},
		{Severity: diag.Warning, Code: Reported.Name, Summary: "Throttling: Rate exceeded"},
		{Severity: diag.Error, Code: "provider-answer", Summary: "Too many requests"},
	} {
		if tooOften, _ := AskedTooOften(diag.List{d}); tooOften {
			t.Errorf("%v says that the service is asked too often", d)
		}
	}
}
