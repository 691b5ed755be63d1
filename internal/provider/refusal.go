package provider

import (
	"strconv"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/lazyregexp"
)

// AskedTooOften reports whether a provider's problems say that its service is asked too
// often, and after how long it may be asked again, 0 where they don't. Providers tell
// problems only as texts: these are the names that services have for it. Quotas of what
// may exist are none of them.
func AskedTooOften(diags diag.List) (tooOften bool, after time.Duration) {
	for _, d := range diags {
		if d.Severity != diag.Error || d.Code != Reported.Name {
			continue
		}
		text := d.Summary + "\n" + d.Detail
		if !refusal.Get().MatchString(text) {
			continue
		}
		tooOften = true
		if m := again.Get().FindStringSubmatch(text); m != nil {
			seconds, err := strconv.ParseFloat(m[1], 64)
			if err == nil && seconds < float64(time.Hour/time.Second) {
				after = max(after, time.Duration(seconds*float64(time.Second)))
			}
		}
	}
	return tooOften, after
}

var (
	refusal = lazyregexp.New(`(?i)\bthrottl(?:ed|ing)|RequestThrottled|too ?many ?requests|\brate ?exceeded|rate ?limit(?: was| has been| is)? ?(?:exceeded|reached)|exceeded (?:\w+ ){0,4}rate limit|RequestLimitExceeded|\bSlowDown\b|(?:status|code|error|http)[^0-9a-z\n]{0,4}429\b`)
	again   = lazyregexp.New(`(?i)(?:retry|try again)(?: it)?[- _]?(?:after|in)[^0-9a-z\n]{0,4}([0-9]{1,6}(?:\.[0-9]+)?) ?(?:s\b|sec|$|["\n.,;])`)
)
