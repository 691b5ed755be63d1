//go:build !linux && !darwin

package daemon

import "errors"

var errUnsupported = errors.New("there is no daemon on this system")

// Ask has the command done by its own process.
func Ask(Client) (code int, done bool) { return 0, false }

// Serve reports that none exists.
func (s *Server) Serve(string, <-chan struct{}, func()) error { return errUnsupported }

// Tell reports that none exists.
func Tell(address, want, build string) (Status, error) { return Status{}, errUnsupported }
