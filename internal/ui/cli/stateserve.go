package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"flag"
	"fmt"
	"net"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage/stateserver"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/workspace/environment"
)

var stateServeCommand = &command{
	Name:     "state serve",
	Synopsis: "Serve the states of the backend over HTTP",
	Long:     "Serves each workspace of the backend at a path of its own, for the \"http\" backend of OpenTofu, Terraform and weir. Their locks are those of the backend. Clients send any user name and the password in WEIR_SERVE_PASSWORD, or the one that the command prints. It ends after an interrupt, and reports the locks that clients still hold.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var s serving
		fs.StringVar(&s.listen, "listen", "127.0.0.1:8484", "Listen at `ADDRESS`; other machines need a certificate.")
		fs.StringVar(&s.cert, "tls-cert", "", "Serve HTTPS with the certificates in the PEM `FILE`.")
		fs.StringVar(&s.key, "tls-key", "", "Use the private key in the PEM `FILE`.")
		return func(ctx context.Context, _ []string) int { return s.run(ctx, e) }
	},
}

// serving has the flags of state serve.
type serving struct{ listen, cert, key string }

// Where the password of the server is, and how short it may be.
const (
	servePassword = "WEIR_SERVE_PASSWORD"
	shortest      = 16
)

func (s *serving) run(ctx context.Context, e *env) int {
	b, diags := e.directory.Settings.CurrentBackend()
	if b == nil || diags.HasErrors() {
		return e.Diags(diags)
	}
	open, more := e.directory.States.Stores(b)
	diags.Append(more)
	diags.Append(e.directory.States.Usable(ctx, b))
	if e.Diags(diags) != 0 {
		return 1
	}
	given := e.vars[servePassword]
	if given != "" && len(given) < shortest {
		return e.Fail(stateserver.Unserved, "The password in %s has %d characters, and it needs %d. Without the variable weir makes one.", servePassword, len(given), shortest)
	}
	secure, problem := s.certificate(e)
	if problem != "" {
		return e.Fail(stateserver.Unserved, "%s", problem)
	}
	l, problem := s.listener(secure != nil)
	if problem != "" {
		return e.Fail(stateserver.Unserved, "%s", problem)
	}
	server := &stateserver.Server{
		Backend: b.Backend, Open: open, Valid: environment.ValidWorkspace, Password: cmp.Or(given, newPassword()),
		Log: func(line string) { e.Notice(sanitize.Line(line) + "\n") },
	}
	name, more := e.directory.Place.Workspace()
	if e.Diags(more) != 0 {
		_ = l.Close()
		return 1
	}
	scheme := "http"
	if secure != nil {
		scheme = "https"
	}
	e.Say("The states of the %q backend, each workspace at its name:\n  %s://%s/%s\n", b.Kind, scheme, l.Addr(), name)
	if given == "" {
		e.Say("The password, with any user name:\n  %s\n", server.Password)
	}
	err := server.Serve(ctx, l, secure)
	s.left(context.WithoutCancel(ctx), e, server, b.Kind)
	if err != nil {
		return e.Fail(stateserver.Unserved, "The server has ended: %s.", diag.Cause(err))
	}
	return 0
}

// newPassword makes a password of 256 random bits.
func newPassword() string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

// certificate reads that of the server, nil for none.
func (s *serving) certificate(e *env) (secure *tls.Config, problem string) {
	switch {
	case s.cert == "" && s.key == "":
		return nil, ""
	case s.cert == "" || s.key == "":
		return nil, "Set -tls-cert and -tls-key together."
	}
	var texts [2][]byte
	for i, path := range []string{s.cert, s.key} {
		var err error
		if texts[i], err = e.directory.Place.ReadFile(path); err != nil {
			return nil, fmt.Sprintf("%s can't be read: %s.", path, diag.Cause(err))
		}
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return nil, fmt.Sprintf("%s and %s aren't a certificate and its key: %s.", s.cert, s.key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, ""
}

// listener listens. Only with a certificate it does so for other machines: they would send states
// and the password in clear.
func (s *serving) listener(secure bool) (l *net.TCPListener, problem string) {
	at, err := net.ResolveTCPAddr("tcp", s.listen)
	if err != nil {
		return nil, fmt.Sprintf("The address %q of -listen isn't one such as 127.0.0.1:8484: %s.", s.listen, err)
	}
	if !secure && (at.IP == nil || !at.IP.IsLoopback()) {
		return nil, fmt.Sprintf("Other machines can reach %s, and without a certificate states and the password travel in clear. Set -tls-cert and -tls-key, or listen at 127.0.0.1 behind a proxy that has a certificate.", s.listen)
	}
	if l, err = net.ListenTCP("tcp", at); err != nil {
		return nil, fmt.Sprintf("The address %s can't be listened at: %s.", s.listen, diag.Cause(err))
	}
	return l, ""
}

// left reports the locks of clients. To release one would let others change what its client is
// changing, so each stays, unless the backend ties locks to a process.
func (s *serving) left(ctx context.Context, e *env, server *stateserver.Server, kind string) {
	locks := server.Held(ctx)
	if len(locks) == 0 {
		return
	}
	var b strings.Builder
	for _, name := range sortedKeys(locks) {
		fmt.Fprintf(&b, "  %s: %s of %s for %q\n", name, locks[name].ID, locks[name].Who, locks[name].Operation)
	}
	if slices.Contains([]string{"local", "pg", "inmem"}, kind) {
		e.Notice("These locks of clients end with the server, because those of the \"" + kind + "\" backend do:\n" + sanitize.Text(b.String()) + "A run that has one can't save its state any more.\n")
		return
	}
	e.Notice("These locks of clients stay:\n" + sanitize.Text(b.String()) + "Start the server again, and their runs can save and release them. If such a run is gone, run:\n  " + e.program + " force-unlock ID\n")
}
