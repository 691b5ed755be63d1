package environment

import (
	"time"

	"weir.dev/weir/internal/core/diag"
)

// Variables of the environment that limit how long providers may take.
const (
	callTimeout    = "WEIR_CALL_TIMEOUT"
	interruptGrace = "WEIR_INTERRUPT_GRACE"
)

// CallLimits are how long calls of providers may take: as such, and after an interrupt.
func (d *Place) CallLimits() (timeout, grace time.Duration, diags diag.List) {
	read := func(name string, without time.Duration) time.Duration {
		text := d.Environ[name]
		if text == "" {
			return without
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			diags.Add(diag.BadOption.As("Invalid duration").New(diag.Error, "%s is %q. It has to be a duration such as 90s or 2h; 0 is no limit.", name, text))
			return without
		}
		return d
	}
	timeout, grace = read(callTimeout, 24*time.Hour), read(interruptGrace, 15*time.Second)
	return timeout, grace, diags
}
