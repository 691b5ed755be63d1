//go:build !unix

package providerproxy

import "errors"

// Supported reports whether there are guards on this system.
const Supported = false

func hold(string) (func(), error) { return nil, errors.ErrUnsupported }

func busy(string) bool { return false }
