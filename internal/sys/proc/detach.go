package proc

import (
	"bufio"
	"os/exec"
	"strings"
)

// Detach starts a process that continues when this one ends, and waits for the first line that
// it prints. The error of one that prints none is empty where it said by itself what is wrong.
func Detach(file string, args, env []string) (pid int, line, problem string, err error) {
	cmd := exec.Command(file, args...) // #nosec G204 -- who calls says what to run
	cmd.Env, cmd.SysProcAttr = env, apart()
	var said strings.Builder
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, "", "", err
	}
	errors, err := cmd.StderrPipe()
	if err != nil {
		return 0, "", "", err
	}
	if err := cmd.Start(); err != nil {
		return 0, "", "", err
	}
	line, err = bufio.NewReader(out).ReadString('\n')
	if err == nil {
		pid = cmd.Process.Pid
		return pid, strings.TrimSpace(line), "", cmd.Process.Release()
	}
	_, _ = bufio.NewReader(errors).WriteTo(&said)
	return 0, "", said.String(), cmd.Wait()
}
