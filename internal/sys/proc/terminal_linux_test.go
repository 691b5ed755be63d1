package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the engine, at a terminal or not.
const roleEnv = "WEIR_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "terminal":
		beAtTerminal(os.Args[1])
	case "parent":
		beParent()
	}
}

// beAtTerminal runs a command as local-exec does and says how that went.
func beAtTerminal(command string) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGINT)
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Stdout = os.Stdout
	if err := Start(cmd, syscall.SIGTERM); err != nil {
		fmt.Println(err)
		return
	}
	back := LendTerminal(cmd.Process)
	err := cmd.Wait()
	var exit *exec.ExitError
	back(errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGINT)
	if front, err := unix.IoctlGetInt(0, unix.TIOCGPGRP); err != nil || front != unix.Getpgrp() {
		fmt.Println("in front is", front, err)
	}
	select {
	case <-told:
		fmt.Println("interrupted")
	case <-time.After(200 * time.Millisecond):
	}
	fmt.Println("ended:", err)
}

// atTerminal runs beAtTerminal at a new terminal, whose other side is returned.
func atTerminal(t *testing.T, command string) (io.Writer, *bufio.Reader) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	engine := exec.Command(os.Args[0], command)
	engine.Env = append(os.Environ(), roleEnv+"=terminal")
	engine.Stdin, engine.Stdout, engine.Stderr = slave, slave, slave
	engine.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	patience := time.AfterFunc(20*time.Second, func() {
		t.Error("it takes too long")
		syscall.Kill(-engine.Process.Pid, syscall.SIGKILL)
		master.Close()
	})
	t.Cleanup(func() {
		engine.Process.Kill()
		engine.Wait()
		patience.Stop()
		master.Close()
	})
	return master, bufio.NewReader(master)
}

// until reads what the terminal shows up to a text.
func until(t *testing.T, r *bufio.Reader, text string) string {
	t.Helper()
	var seen strings.Builder
	for !strings.Contains(seen.String(), text) {
		b, err := r.ReadByte()
		if err != nil {
			t.Fatalf("%v after %q", err, seen.String())
		}
		seen.WriteByte(b)
	}
	return seen.String()
}

// TestTerminal: a command may ask at the terminal though it isn't in front,
// and the terminal comes back.
func TestTerminal(t *testing.T) {
	in, out := atTerminal(t, `stty -echo </dev/tty; printf 'password? '; read x </dev/tty; echo "got $x"`)
	until(t, out, "password? ")
	io.WriteString(in, "hello\n")
	if shown := until(t, out, "ended: <nil>"); !strings.Contains(shown, "got hello") || strings.Contains(shown, "in front") {
		t.Errorf("%q", shown)
	}
}

// TestTerminalInterrupt: who has the terminal gets its interrupt, which the engine is notified
// of.
func TestTerminalInterrupt(t *testing.T) {
	in, out := atTerminal(t, `stty -echo </dev/tty; printf 'password? '; read x </dev/tty; echo "got $x"`)
	until(t, out, "password? ")
	time.Sleep(100 * time.Millisecond)
	io.WriteString(in, "\x03")
	if shown := until(t, out, "ended: "); !strings.Contains(shown, "interrupted") || strings.Contains(shown, "in front") {
		t.Errorf("%q", shown)
	}
}

// beParent starts a child and waits to be killed.
func beParent() {
	cmd := exec.Command("sleep", "100")
	if err := Start(cmd, syscall.SIGTERM); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cmd.Process.Pid)
	select {}
}

// TestDeath: a child doesn't outlive the engine, however that ends, and does
// outlive the threads of it.
func TestDeath(t *testing.T) {
	engine := exec.Command(os.Args[0])
	engine.Env = append(os.Environ(), roleEnv+"=parent")
	out, err := engine.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Error("it doesn't run")
	}
	engine.Process.Kill()
	engine.Wait()
	for n := 0; alive(pid); n++ {
		if n > 200 {
			t.Fatal("it still runs")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// alive counts a process that only waits to be reaped as dead.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
