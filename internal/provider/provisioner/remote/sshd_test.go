package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// A lab is an sshd with keys, and what they open it with.
type lab struct {
	t    *testing.T
	dir  string
	port int
	user string
}

// run runs a program to its end.
func (l *lab) run(name string, args ...string) {
	l.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		l.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

func (l *lab) read(name string) string {
	l.t.Helper()
	content, err := os.ReadFile(l.path(name))
	do(l.t, err)
	return string(content)
}

func (l *lab) write(name, content string) {
	l.t.Helper()
	do(l.t, os.WriteFile(l.path(name), []byte(content), 0o600))
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const sshd = "/usr/sbin/sshd"

// start starts Debian's openssh-server for this user.
func start(t *testing.T) *lab {
	t.Helper()
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("there is no sshd: scripts/packages installs it")
	}
	me, err := user.Current()
	do(t, err)
	l := &lab{t: t, dir: t.TempDir(), user: me.Username}
	if os.Getuid() == 0 { // it wants a place of its own then
		do(t, os.MkdirAll("/run/sshd", 0o755))
	}
	for _, key := range []string{"host", "other", "me", "signed", "authority", "stranger"} {
		l.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key, "-f", l.path(key))
	}
	l.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", l.path("locked"))
	l.run("ssh-keygen", "-q", "-s", l.path("authority"), "-I", "me", "-n", l.user, l.path("signed.pub"))
	l.run("ssh-keygen", "-q", "-h", "-s", l.path("authority"), "-I", "host", "-n", "127.0.0.1", l.path("other.pub"))
	l.write("authorized", l.read("me.pub"))
	l.write("config", strings.Join([]string{
		"HostKey " + l.path("host"), "AuthorizedKeysFile " + l.path("authorized"), "TrustedUserCAKeys " + l.path("authority.pub"),
		"PidFile none", "StrictModes no", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin yes", "AllowAgentForwarding yes", "",
	}, "\n"))
	l.port = l.listen("config")
	return l
}

// listen has an sshd for each connection, as inetd does.
func (l *lab) listen(config string) (port int) {
	l.t.Helper()
	return listen(l.t, func(conn net.Conn) {
		file, err := conn.(*net.TCPConn).File()
		if err != nil {
			return
		}
		defer file.Close()
		cmd := exec.Command(sshd, "-i", "-f", l.path(config))
		cmd.Stdin, cmd.Stdout = file, file
		_ = cmd.Run()
	})
}

// connection is a value of the schema, for the user me.
func (l *lab) connection(values map[string]any) cty.Value {
	all := Schema().EmptyValue().AsValueMap()
	for name, v := range map[string]any{"host": "127.0.0.1", "port": l.port, "user": l.user, "timeout": "1m", "agent": false} {
		if _, given := values[name]; !given {
			all[name] = ctyOf(v)
		}
	}
	for name, v := range values {
		all[name] = ctyOf(v)
	}
	return cty.ObjectVal(all)
}

func ctyOf(v any) cty.Value {
	switch v := v.(type) {
	case int:
		return cty.NumberIntVal(int64(v))
	case bool:
		return cty.BoolVal(v)
	}
	return cty.StringVal(v.(string))
}

// try logs in and says what a script prints, or what is the matter.
func (l *lab) try(values map[string]any, socket, script string) string {
	l.t.Helper()
	target, err := Parse(l.connection(values), func(name string) string {
		if name == "SSH_AUTH_SOCK" {
			return socket
		}
		return ""
	})
	if err != nil {
		return "error: " + err.Error()
	}
	host, err := target.Connect(l.t.Context())
	if err != nil {
		return "error: " + err.Error()
	}
	defer host.Close()
	var said []string
	err = host.Script(l.t.Context(), []byte(script), func(line string) { said = append(said, line) })
	if err != nil {
		said = append(said, "error: "+err.Error())
	}
	return strings.Join(said, "\n")
}

// TestWho has each way to log in, and what keeps one out.
func TestWho(t *testing.T) {
	l := start(t)
	agent := l.agent("me", "stranger")
	bastion := l.listen("config")
	proxy := l.proxy("u", "p")
	for name, test := range map[string]struct {
		socket string
		values map[string]any
		want   string
	}{
		"key":              {"", map[string]any{"private_key": l.read("me")}, "hello"},
		"certificate":      {"", map[string]any{"private_key": l.read("signed"), "certificate": l.read("signed-cert.pub")}, "hello"},
		"agent":            {agent, map[string]any{"agent": true}, "hello"},
		"identity":         {agent, map[string]any{"agent": true, "agent_identity": "me"}, "hello"},
		"identity by file": {agent, map[string]any{"agent": true, "agent_identity": l.path("me")}, "hello"},
		"key and agent":    {agent, map[string]any{"agent": true, "private_key": l.read("stranger")}, "hello"},
		"host key":         {"", map[string]any{"private_key": l.read("me"), "host_key": l.read("host.pub")}, "hello"},
		"bastion":          {"", map[string]any{"private_key": l.read("me"), "bastion_host": "127.0.0.1", "bastion_port": bastion, "bastion_host_key": l.read("host.pub"), "host_key": l.read("host.pub")}, "hello"},
		"proxy":            {"", map[string]any{"private_key": l.read("me"), "proxy_host": "127.0.0.1", "proxy_port": proxy, "proxy_user_name": "u", "proxy_user_password": "p"}, "hello"},
		"stranger":         {"", map[string]any{"private_key": l.read("stranger")}, "error: timeout - last error: SSH authentication failed"},
		"no certificate":   {"", map[string]any{"private_key": l.read("signed")}, "error: timeout - last error: SSH authentication failed"},
		"other identity":   {agent, map[string]any{"agent": true, "agent_identity": "nobody"}, "error: timeout - last error: SSH authentication failed"},
		"other host key":   {"", map[string]any{"private_key": l.read("me"), "host_key": l.read("other.pub")}, "error: timeout - last error: SSH authentication failed (" + l.user},
		"wrong bastion":    {"", map[string]any{"private_key": l.read("me"), "bastion_host": "127.0.0.1", "bastion_port": bastion, "bastion_host_key": l.read("other.pub")}, "error: timeout - last error: SSH authentication failed"},
		"wrong proxy":      {"", map[string]any{"private_key": l.read("me"), "proxy_host": "127.0.0.1", "proxy_port": proxy}, "error: timeout - last error: the proxy 127.0.0.1:"},
		"locked":           {"", map[string]any{"private_key": l.read("locked")}, "error: the private key has a passphrase"},
		"a path":           {"", map[string]any{"private_key": l.path("me")}, "error: the private key can't be read"},
		"mere key":         {"", map[string]any{"private_key": l.read("me"), "certificate": l.read("me.pub")}, "error: the certificate is a mere key"},
		"not its own":      {"", map[string]any{"private_key": l.read("me"), "certificate": l.read("signed-cert.pub")}, "error: the certificate doesn't belong to the private key"},
		"bad host key":     {"", map[string]any{"host_key": "x"}, "error: the host key of 127.0.0.1 can't be read"},
		"no agent":         {"", map[string]any{"agent": true}, "error: the connection wants an SSH agent"},
		"winrm":            {"", map[string]any{"type": "winrm"}, "error: connection type 'winrm' not supported"},
		"no host":          {"", map[string]any{"host": ""}, "error: host for provisioner cannot be empty"},
		"bad port":         {"", map[string]any{"port": 70000}, `error: the argument "port" of the connection isn't a port`},
		"bad timeout":      {"", map[string]any{"timeout": "soon"}, `error: the timeout of the connection is "soon"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(test.want, "error: timeout") {
				test.values["timeout"] = "5s"
			}
			// The files of the user's shell may print something, too.
			if got := l.try(test.values, test.socket, "echo hello"); !strings.Contains(got, test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestHostCertificate: the authority that has signed the host's key is enough.
func TestHostCertificate(t *testing.T) {
	l := start(t)
	l.write("certified", strings.ReplaceAll(l.read("config"), "HostKey "+l.path("host"), "HostKey "+l.path("other")+"\nHostCertificate "+l.path("other-cert.pub")))
	l.port = l.listen("certified")
	for key, want := range map[string]string{"authority.pub": "hello", "stranger.pub": "error: "} {
		limit := map[string]string{"authority.pub": "1m", "stranger.pub": "5s"}[key]
		if got := l.try(map[string]any{"private_key": l.read("me"), "host_key": l.read(key), "timeout": limit}, "", "echo hello"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// agent starts an agent with identities.
func (l *lab) agent(keys ...string) (socket string) {
	l.t.Helper()
	dir, err := os.MkdirTemp("", "agent") // short: it is the name of a socket
	do(l.t, err)
	l.t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	cmd := exec.Command("ssh-agent", "-D", "-a", socket)
	out, err := cmd.StdoutPipe()
	do(l.t, err)
	do(l.t, cmd.Start())
	l.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_, err = bufio.NewReader(out).ReadString('\n') // it listens
	do(l.t, err)
	for _, key := range keys {
		add := exec.Command("ssh-add", "-q", l.path(key))
		add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		if out, err := add.CombinedOutput(); err != nil {
			l.t.Fatalf("%v\n%s", err, out)
		}
	}
	return socket
}

// proxy starts one that makes connections for a user.
func (l *lab) proxy(name, password string) (port int) {
	l.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	do(l.t, err)
	l.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				request, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				request.Header["Authorization"] = request.Header["Proxy-Authorization"]
				if u, p, _ := request.BasicAuth(); request.Method != http.MethodConnect || u != name || p != password {
					fmt.Fprint(conn, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
					return
				}
				to, err := net.Dial("tcp", request.Host)
				if err != nil {
					return
				}
				defer to.Close()
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
				go func() { _, _ = io.Copy(to, r) }()
				_, _ = io.Copy(conn, to)
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

// TestScript looks at output, codes, the agent over there, and what is left.
func TestScript(t *testing.T) {
	l := start(t)
	at := map[string]any{"private_key": l.read("me"), "script_path": l.path("script_%RAND%.sh")}
	for name, test := range map[string]struct{ script, want string }{
		"lines":       {"echo a; echo b >&2; printf c", "a\nb\nc"},
		"interpreter": {"#!/bin/cat\nx", "#!/bin/cat\nx"},
		"fails":       {"echo a; exit 3", "a\nerror: error executing \"" + l.path("script_")},
		"terminal":    {"test -t 1 && echo yes", "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := l.try(at, "", test.script); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %q", got)
			}
		})
	}
	if got := l.try(at, "", "exit 3"); !strings.HasSuffix(got, ".sh\": Process exited with status 3") {
		t.Errorf("got %q", got)
	}
	if left, _ := filepath.Glob(l.path("script_*")); left != nil {
		t.Errorf("left: %q", left)
	}
	if got := l.try(map[string]any{"agent": true}, l.agent("me"), "ssh-add -l | cut -d' ' -f3"); got != "me" {
		t.Errorf("the agent over there has %q", got)
	}
	if got := l.try(map[string]any{"private_key": l.read("me"), "script_path": "/nowhere/x.sh"}, "", "true"); !strings.HasPrefix(got, "error: Failed to upload script: ") || !strings.Contains(got, "/nowhere") {
		t.Errorf("got %q", got)
	}
}

// TestInterrupt ends a script in the middle.
func TestInterrupt(t *testing.T) {
	l := start(t)
	target, err := Parse(l.connection(map[string]any{"private_key": l.read("me")}), os.Getenv)
	do(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	host, err := target.Connect(ctx)
	do(t, err)
	defer host.Close()
	err = host.Script(ctx, []byte("echo begun; sleep 1000"), func(string) { cancel(errors.New("enough")) })
	if err == nil || !strings.HasPrefix(err.Error(), "interrupted: ") {
		t.Errorf("got %v", err)
	}
}

// TestCopy brings files and directories there.
func TestCopy(t *testing.T) {
	l := start(t)
	target, err := Parse(l.connection(map[string]any{"private_key": l.read("me")}), os.Getenv)
	do(t, err)
	host, err := target.Connect(t.Context())
	do(t, err)
	defer host.Close()
	do(t, os.MkdirAll(l.path("from/deep"), 0o755))
	do(t, os.MkdirAll(l.path("to it's"), 0o755))
	large := strings.Repeat("0123456789", 100_000)
	l.write("from/a", large)
	l.write("from/deep/b", "")
	do(t, os.Symlink(l.path("from/deep"), l.path("from/link")))
	do(t, host.Put(t.Context(), l.path("to it's/content"), []byte("text")))
	do(t, host.Copy(t.Context(), l.path("to it's/file"), l.path("from/a")))
	do(t, host.Copy(t.Context(), l.path("to it's"), l.path("from")))
	do(t, os.MkdirAll(l.path("flat"), 0o755))
	do(t, host.Copy(t.Context(), l.path("flat"), l.path("from")+"/"))
	for name, want := range map[string]string{
		"to it's/content": "text", "to it's/file": large, "to it's/from/a": large, "to it's/from/deep/b": "", "to it's/from/link/b": "",
		"flat/a": large, "flat/deep/b": "",
	} {
		if got := l.read(name); got != want {
			t.Errorf("%s has %d bytes", name, len(got))
		}
	}
	if err := host.Copy(t.Context(), l.path("nowhere/x"), l.path("from/a")); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v", err)
	}
	if err := host.Copy(t.Context(), l.path("flat"), l.path("none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
