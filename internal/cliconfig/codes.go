package cliconfig

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Bad = diag.Code{Name: "invalid-cli-configuration", Summary: "Invalid CLI configuration"}
)
