// Package remote runs commands on other machines over SSH, and copies files to them.
//
// It owns what a connection block means: whom to trust, who one is, by which way. It doesn't
// know what the commands are for.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/crypto/ssh"

	"weir.dev/weir/internal/core/schema"
)

// Schema is the schema of connection blocks: what any kind of connection has.
func Schema() *schema.Block {
	b := &schema.Block{Attributes: map[string]*schema.Attribute{
		"port":         {Type: cty.Number, Optional: true},
		"bastion_port": {Type: cty.Number, Optional: true},
		"proxy_port":   {Type: cty.Number, Optional: true},
		"agent":        {Type: cty.Bool, Optional: true},
		"https":        {Type: cty.Bool, Optional: true},
		"insecure":     {Type: cty.Bool, Optional: true},
		"use_ntlm":     {Type: cty.Bool, Optional: true},
	}}
	for _, name := range []string{
		"type", "user", "password", "host", "timeout", "script_path", "target_platform",
		"private_key", "certificate", "host_key", "agent_identity",
		"proxy_scheme", "proxy_host", "proxy_user_name", "proxy_user_password",
		"bastion_host", "bastion_host_key", "bastion_user", "bastion_password", "bastion_private_key", "bastion_certificate",
		"cacert",
	} {
		b.Attributes[name] = &schema.Attribute{Type: cty.String, Optional: true}
	}
	return b
}

// A Target is a machine and the way to it.
type Target struct {
	machine
	timeout   time.Duration // for the connection
	script    string        // where scripts are put, with %RAND% for a number
	windows   bool
	agent     string // the socket of the agent, "" for none
	agentOnly string // the only identity of the agent that is used, "" for all
	bastion   *machine
	proxy     *proxy
}

// A machine is one that is logged in to.
type machine struct {
	host             string
	port             int
	user             string
	password         string
	key, certificate string
	hostKey          string
}

func (m machine) address() string { return net.JoinHostPort(m.host, strconv.Itoa(m.port)) }

// Parse reads a connection, a value of Schema's implied type that is wholly known and
// has no marks.
func Parse(v cty.Value, getenv func(string) string) (*Target, error) {
	text := func(name string) string {
		if a := v.GetAttr(name); !a.IsNull() {
			return a.AsString()
		}
		return ""
	}
	var bad error
	port := func(name string, without int) int {
		a := v.GetAttr(name)
		if a.IsNull() {
			return without
		}
		n, err := strconv.Atoi(a.AsBigFloat().Text('f', -1))
		if err != nil || n < 0 || n > 65535 {
			bad = fmt.Errorf("the argument %q of the connection isn't a port", name)
		}
		return cmp.Or(n, without)
	}
	if typ := text("type"); typ != "" && typ != "ssh" {
		return nil, fmt.Errorf("connection type '%s' not supported: the only one is ssh", typ)
	}
	t := &Target{
		machine: machine{
			host: bare(text("host")), port: port("port", 22), user: cmp.Or(text("user"), "root"), password: text("password"),
			key: text("private_key"), certificate: text("certificate"), hostKey: text("host_key"),
		},
		timeout: 5 * time.Minute, script: text("script_path"), agentOnly: text("agent_identity"),
	}
	if t.host == "" {
		return nil, errors.New("host for provisioner cannot be empty")
	}
	switch platform := text("target_platform"); platform {
	case "", "unix":
		t.script = cmp.Or(t.script, "/tmp/terraform_%RAND%.sh")
	case "windows":
		t.windows = true
		t.script = cmp.Or(t.script, "C:/windows/temp/terraform_%RAND%.cmd")
	default:
		return nil, fmt.Errorf("target_platform is %q, and has to be unix or windows", platform)
	}
	if limit := text("timeout"); limit != "" {
		d, err := time.ParseDuration(limit)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("the timeout of the connection is %q, and has to be a duration such as 30s or 5m", limit)
		}
		t.timeout = d
	}
	if a := v.GetAttr("agent"); a.IsNull() || a.True() {
		t.agent = getenv("SSH_AUTH_SOCK")
		if t.agent == "" && !a.IsNull() {
			return nil, errors.New("the connection wants an SSH agent, and SSH_AUTH_SOCK names none")
		}
	}
	if host := bare(text("bastion_host")); host != "" {
		t.bastion = &machine{
			host: host, port: port("bastion_port", t.port), user: cmp.Or(text("bastion_user"), t.user), password: cmp.Or(text("bastion_password"), t.password),
			key: cmp.Or(text("bastion_private_key"), t.key), certificate: cmp.Or(text("bastion_certificate"), t.certificate), hostKey: text("bastion_host_key"),
		}
	}
	if host := bare(text("proxy_host")); host != "" {
		t.proxy = &proxy{scheme: cmp.Or(text("proxy_scheme"), "http"), host: host, port: port("proxy_port", 80), user: text("proxy_user_name"), password: text("proxy_user_password")}
		if t.proxy.scheme != "http" && t.proxy.scheme != "https" {
			return nil, fmt.Errorf("proxy_scheme is %q, and has to be http or https", t.proxy.scheme)
		}
	}
	if bad != nil {
		return nil, bad
	}
	_, err := t.signer()
	if t.bastion != nil {
		_, more := t.bastion.signer()
		err = errors.Join(err, more, t.bastion.checkHostKey())
	}
	return t, errors.Join(err, t.checkHostKey())
}

// bare is a host without the brackets around IPv6.
func bare(host string) string {
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return host[1 : len(host)-1]
	}
	return host
}

// Describe says where to and how.
func (t *Target) Describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Connecting to %s@%s over SSH", t.user, t.address())
	if t.bastion != nil {
		fmt.Fprintf(&b, " by way of %s@%s", t.bastion.user, t.bastion.address())
	}
	if t.proxy != nil {
		fmt.Fprintf(&b, " through the proxy %s", t.proxy.address())
	}
	var by []string
	for _, way := range []struct {
		name string
		used bool
	}{{"password", t.password != ""}, {"private key", t.key != ""}, {"certificate", t.certificate != ""}, {"SSH agent", t.agent != ""}} {
		if way.used {
			by = append(by, way.name)
		}
	}
	checked := "not checked"
	if t.hostKey != "" {
		checked = "checked"
	}
	fmt.Fprintf(&b, " (%s; host key %s)...", cmp.Or(strings.Join(by, ", "), "without credentials"), checked)
	return b.String()
}

// Waits between attempts: machines that were made a moment ago need a while.
const (
	firstWait = time.Second
	lastWait  = 20 * time.Second
)

// Connect logs in, again and again until the timeout.
func (t *Target) Connect(ctx context.Context) (*Host, error) {
	limited, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	var last error
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		h, err := t.dial(limited)
		if err == nil {
			return h, nil
		}
		if last != nil && limited.Err() != nil {
			err = last // that of an attempt that wasn't cut off
		}
		last = err
		select {
		case <-limited.Done():
			if ctx.Err() != nil {
				return nil, fmt.Errorf("interrupted: %w", err)
			}
			return nil, fmt.Errorf("timeout - last error: %w", err)
		case <-time.After(wait):
		}
	}
}

// oneTry is how long a single attempt may take.
const oneTry = 30 * time.Second

// dial is one attempt.
func (t *Target) dial(ctx context.Context) (*Host, error) {
	ctx, cancel := context.WithTimeout(ctx, oneTry)
	defer cancel()
	keys, err := openAgent(t.agent, t.agentOnly)
	if err != nil {
		return nil, err
	}
	h := &Host{target: t, keys: keys}
	first := t.machine
	if t.bastion != nil {
		first = *t.bastion
	}
	conn, err := t.reach(ctx, first.address())
	if err == nil {
		h.add(conn)
		h.client, err = first.login(ctx, conn, keys)
	}
	if err == nil && t.bastion != nil {
		bastion := h.client
		h.add(bastion)
		if conn, err = bastion.DialContext(ctx, "tcp", t.address()); err != nil {
			err = fmt.Errorf("%s can't be reached from the bastion: %w", t.address(), err)
		} else {
			h.add(conn)
			h.client, err = t.login(ctx, conn, keys)
		}
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	h.add(h.client)
	h.begin()
	return h, nil
}

// reach opens a connection to an address, through the proxy if there is one.
func (t *Target) reach(ctx context.Context, address string) (net.Conn, error) {
	if t.proxy != nil {
		return t.proxy.dial(ctx, address)
	}
	return (&net.Dialer{Timeout: 15 * time.Second}).DialContext(ctx, "tcp", address)
}

// login shakes hands.
func (m *machine) login(ctx context.Context, conn net.Conn, keys *identities) (*ssh.Client, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	config, err := m.config(keys)
	if err != nil {
		return nil, err
	}
	c, channels, requests, err := ssh.NewClientConn(conn, m.address(), config)
	if err != nil {
		return nil, fmt.Errorf("SSH authentication failed (%s@%s): %w", m.user, m.address(), err)
	}
	return ssh.NewClient(c, channels, requests), nil
}
