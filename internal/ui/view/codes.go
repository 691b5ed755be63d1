package view

import "weir.dev/weir/internal/core/diag"

// NoOutputs says that there is no output to show, or none of the name.
var NoOutputs = diag.Code{Name: "no-outputs", Summary: "No outputs found"}
