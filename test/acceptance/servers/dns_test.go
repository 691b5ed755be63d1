package servers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir.dev/weir/test/acceptance/engine"
)

const (
	tsigKey    = "engine."
	tsigSecret = "c2VjcmV0IGZvciBhIHRlc3QgYW5kIG5vdGhpbmc="
)

// BIND with dynamic updates that a key signs.
func TestDNS(t *testing.T) {
	e := engine.Start(t, "dns", provider(t, "hashicorp/dns", "3.6.1"))
	port := bind(t)
	e.Setenv("DNS_UPDATE_SERVER=127.0.0.1", "DNS_UPDATE_PORT="+port, "DNS_UPDATE_TRANSPORT=tcp",
		"DNS_UPDATE_KEYNAME="+tsigKey, "DNS_UPDATE_KEYALGORITHM=hmac-sha256", "DNS_UPDATE_KEYSECRET="+tsigSecret)

	e.Write("dns")
	e.Run([]string{"init", "-input=false", "-no-color"})
	e.Apply("create")
	e.Settled("created")

	e.Write("dns-change")
	e.Apply("change")
	e.Settled("changed")

	nsupdate(t, port,
		"update add legacy.example.test. 60 TXT before", "update add legacy.example.test. 60 TXT made",
		"update add legacy.example.test. 60 A 192.0.2.66",
		"update delete a.example.test. A 192.0.2.1", "update delete www.example.test. CNAME")
	e.Write("dns-drift")
	e.Run([]string{"import", "-input=false", "-no-color", "dns_a_record_set.legacy", "legacy.example.test."})
	e.Apply("drift")
	e.Settled("restored")

	e.Apply("zone", "-var=zone=example2.test.")
	e.Apply("destroy", "-destroy", "-var=zone=example2.test.")
}

// bind starts a name server for two zones and returns its port.
func bind(t *testing.T) (port string) {
	t.Helper()
	named, err := program("named", "bind9")
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "named")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	port = freePort(t)

	var text strings.Builder
	fmt.Fprintf(&text, `options {
	directory %q;
	listen-on port %s { 127.0.0.1; };
	listen-on-v6 { none; };
	pid-file "pid";
	session-keyfile "session.key";
	recursion no;
	dnssec-validation no;
};
controls { };
key %q { algorithm hmac-sha256; secret %q; };
`, dir, port, tsigKey, tsigSecret)
	for _, zone := range []string{"example.test", "example2.test"} {
		fmt.Fprintf(&text, "zone %q { type primary; file %q; allow-update { key %q; }; };\n", zone, zone, tsigKey)
		records := "$TTL 60\n@ SOA ns root 1 3600 600 86400 60\n@ NS ns\nns A 127.0.0.1\n"
		if err := os.WriteFile(filepath.Join(dir, zone), []byte(records), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "named.conf")
	if err := os.WriteFile(config, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(named, "-g", "-c", config, "-n", "1")
	log := filepath.Join(dir, "log")
	if cmd.Stderr, err = os.Create(log); err != nil {
		t.Fatal(err)
	}
	start(t, cmd, dir)
	waitFor(t, log, func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return port
}

// nsupdate changes records behind the engine's back.
func nsupdate(t *testing.T, port string, updates ...string) {
	t.Helper()
	nsupdate, err := program("nsupdate", "bind9-dnsutils")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(nsupdate, "-y", "hmac-sha256:"+tsigKey+":"+tsigSecret)
	cmd.Stdin = strings.NewReader("server 127.0.0.1 " + port + "\nzone example.test.\n" + strings.Join(updates, "\n") + "\nsend\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nsupdate: %v\n%s", err, out)
	}
}

// program finds a program of a Debian package, also where only root looks for it.
func program(name, of string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
		if path := filepath.Join(dir, name); exists(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s on this machine (Debian: %s)", name, of)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// start starts a server that ends with the test, and as somebody else than root.
func start(t *testing.T, cmd *exec.Cmd, dir string) {
	t.Helper()
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		u, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error { return os.Chown(path, uid, gid) }); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// waitFor waits until a server is up.
func waitFor(t *testing.T, log string, up func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if up() {
			return
		}
	}
	text, _ := os.ReadFile(log)
	t.Fatalf("the server doesn't come up:\n%s", text)
}
