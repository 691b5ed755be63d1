//go:build linux

package testservers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres starts a PostgreSQL of its own and returns its connection string. It
// ends with the process, or with stop.
func Postgres() (server string, stop func(), err error) {
	initdb, err := program("initdb")
	if err != nil {
		return "", nil, err
	}
	postgres, err := program("postgres")
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // short: it is part of a socket's name
	if err != nil {
		return "", nil, err
	}
	clean := func() { os.RemoveAll(dir) }
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 { // the server doesn't run as root
		if attributes.Credential, err = someoneElse(dir); err != nil {
			clean()
			return "", nil, err
		}
	}
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.SysProcAttr = attributes
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := run(initdb, "-D", data, "-U", "weir", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C").CombinedOutput(); err != nil {
		clean()
		return "", nil, fmt.Errorf("%s: %w\n%s", initdb, err, out)
	}
	cmd := run(postgres, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	if err := cmd.Start(); err != nil {
		clean()
		return "", nil, err
	}
	server = fmt.Sprintf("host=%s user=weir dbname=postgres", dir)
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
		clean()
	}
	for range 200 {
		conn, problem := pgx.Connect(context.Background(), server)
		if err = problem; err == nil {
			return server, stop, conn.Close(context.Background())
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("the server doesn't come up: %w", err)
}

// program finds a program of the server, in the path or where Debian has it.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", fmt.Errorf("PostgreSQL isn't installed: there is no %s (Debian package postgresql)", name)
	}
	return found[len(found)-1], nil
}

func someoneElse(dir string) (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, uid, gid)
	}
	return nil, fmt.Errorf("there is no user other than root to run the server")
}
