//go:build !windows

package durable

import "os"

var (
	openFile   = os.OpenFile
	createTemp = os.CreateTemp
	rename     = os.Rename
)
