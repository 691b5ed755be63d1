package cliconfig

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	Bad = diag.Code{Name: "invalid-cli-configuration", Summary: "Invalid CLI configuration"}
)
