package webui

import "weir.dev/weir/internal/core/diag"

// Unserved says that there is no page, whatever the reason.
var Unserved = diag.Code{Name: "page-not-served", Summary: "No page can be served"}
