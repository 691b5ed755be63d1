package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// served counts the commands that daemons have done.
var served atomic.Int64

// startDaemon has a daemon of the engine do what it does of the commands of a case, whose
// environment and directory are those that it starts with.
func startDaemon(env *testscript.Env, bin string) error {
	dir, err := os.MkdirTemp("", "iac") // names of sockets have to be short
	if err != nil {
		return err
	}
	env.Setenv("WEIR_DAEMON", filepath.Join(dir, "s"))
	engine := func(args ...string) *exec.Cmd {
		cmd := exec.Command(bin, args...)
		cmd.Env, cmd.Dir = env.Vars, env.WorkDir
		return cmd
	}
	daemon := engine("daemon")
	daemon.Stderr = os.Stderr
	out, err := daemon.StdoutPipe()
	if err != nil {
		return err
	}
	if err := daemon.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("the daemon doesn't serve: %w", err)
	}
	env.Defer(func() {
		var status struct {
			Served int64 `json:"served"`
		}
		if text, err := engine("daemon", "status", "-json").Output(); err == nil && json.Unmarshal(text, &status) == nil {
			served.Add(status.Served)
		}
		_ = engine("daemon", "stop").Run()                                        // one that crashed is seen by the case
		late := time.AfterFunc(time.Minute, func() { _ = daemon.Process.Kill() }) // a case may leave it suspended
		_ = daemon.Wait()
		late.Stop()
		_ = os.RemoveAll(dir)
	})
	return nil
}
