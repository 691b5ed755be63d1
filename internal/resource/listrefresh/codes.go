package listrefresh

import "weir.dev/weir/internal/core/diag"

// NoList is what is reported where a list can't be used.
var NoList = diag.Code{Name: "list-unused", Summary: "Objects are read one by one"}
