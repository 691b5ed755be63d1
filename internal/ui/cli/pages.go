package cli

import (
	"io"

	"weir.dev/weir/internal/ui/commands"
)

// Pages are those about the use of all commands, for the reference and the manual.
func Pages() ([]commands.Page, error) {
	e, err := newEnv(Process{Args: []string{"weir"}, Getwd: func() (string, error) { return ".", nil }})
	if err != nil {
		return nil, err
	}
	defer e.close()
	e.Out, e.Err = io.Discard, io.Discard
	return e.table().Pages(), nil
}
