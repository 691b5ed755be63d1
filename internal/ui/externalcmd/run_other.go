//go:build !unix

package externalcmd

import (
	"errors"
	"os"
	"os/exec"
)

func run(file string, args, env []string) (int, error) {
	cmd := &exec.Cmd{Path: file, Args: args, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := cmd.Run()
	if errors.As(err, new(*exec.ExitError)) {
		return cmd.ProcessState.ExitCode(), nil
	}
	return 0, err
}
