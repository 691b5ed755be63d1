//go:build !linux

package testservers

import "errors"

// Postgres fails: it is started where the tests run.
func Postgres() (server string, stop func(), err error) {
	return "", nil, errors.ErrUnsupported
}
