package login

import "weir.dev/weir/internal/core/diag"

// Failed says that there is no token, whatever the reason.
var Failed = diag.Code{Name: "login-failed", Summary: "Login failed"}
