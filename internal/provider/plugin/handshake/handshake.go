// Package handshake implements the host's side of the handshake between a plugin and its host:
// the protocol of hashicorp/go-plugin with gRPC, version 1
// (https://github.com/hashicorp/go-plugin/blob/main/docs/internals.md).
//
// The host reports the program by environment variables that it is a plugin, which versions of
// its interface are understood and by which certificate the host is known. The program answers
// by the first line of its standard output, with where it serves and its own certificate. Over
// the connection it then sends what it prints, and is asked to end.
//
// It owns the variables, the line, the certificates and these two calls. It doesn't know
// processes, and what else is called.
package handshake

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// An Identity is a certificate for one process and its host.
type Identity struct {
	pair tls.Certificate
	pem  string
}

// host is the name in certificates.
const host = "localhost"

// NewIdentity makes a key and a certificate. The curve is the one that costs least; who
// checks the certificate was given it, and may take any.
func NewIdentity() (*Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: host, Organization: []string{"weir"}},
		DNSNames:     []string{host},
		NotBefore:    now.Add(-time.Hour), // clocks of containers differ
		NotAfter:     now.AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyAgreement | x509.KeyUsageCertSign,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		// The plugin takes it for the authority that signed it.
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &Identity{
		pair: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem:  string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	}, nil
}

// Env has the variables for a program that may make its sockets in a directory. Without an
// identity it serves without TLS.
func Env(sockets string, id *Identity) []string {
	env := []string{
		"TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		"PLUGIN_PROTOCOL_VERSIONS=5,6",
		"PLUGIN_MIN_PORT=10000", // where there are no sockets; what all hosts say
		"PLUGIN_MAX_PORT=25000",
		"PLUGIN_UNIX_SOCKET_DIR=" + sockets,
	}
	if id != nil {
		env = append(env, "PLUGIN_CLIENT_CERT="+id.pem)
	}
	return env
}

// A Served is where and how a plugin serves.
type Served struct {
	Addr     net.Addr
	Protocol int // of providers: 5 or 6
	// certificate is the plugin's, nil for none.
	certificate *x509.Certificate
}

// ErrLine is the error of a line in which no plugin says where it serves.
var ErrLine = errors.New("not the line of a plugin")

// Parse reads the line in which a plugin says where it serves: versions of the handshake
// and of the interface, network, address, kind of calls, certificate. More may follow.
func Parse(line string) (Served, error) {
	fields := strings.Split(strings.TrimSpace(line), "|")
	if len(fields) < 4 {
		return Served{}, ErrLine
	}
	if fields[0] != "1" {
		if _, err := strconv.Atoi(fields[0]); err != nil {
			return Served{}, ErrLine
		}
		return Served{}, fmt.Errorf("it speaks version %s of the handshake of plugins; 1 is supported", fields[0])
	}
	s := Served{}
	switch fields[1] {
	case "5":
		s.Protocol = 5
	case "6":
		s.Protocol = 6
	default:
		return Served{}, fmt.Errorf("it serves version %.20q of the provider protocol; 5 and 6 are supported", fields[1])
	}
	if len(fields) < 5 || fields[4] != "grpc" {
		return Served{}, errors.New("it doesn't serve gRPC; providers for Terraform 0.11 and before do that")
	}
	var err error
	switch fields[2] {
	case "unix":
		s.Addr, err = net.ResolveUnixAddr("unix", fields[3])
	case "tcp":
		s.Addr, err = net.ResolveTCPAddr("tcp", fields[3])
	default:
		err = fmt.Errorf("it serves on a network of unknown kind, %.20q", fields[2])
	}
	if err != nil {
		return Served{}, err
	}
	const leastCertificate = 50 // less is of other meaning in early versions
	if len(fields) > 5 && len(fields[5]) > leastCertificate {
		der, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(fields[5], "="))
		if err == nil {
			s.certificate, err = x509.ParseCertificate(der)
		}
		if err != nil {
			return Served{}, fmt.Errorf("its certificate can't be read: %w", err)
		}
	}
	return s, nil
}

// Dial gives the connection to a plugin, which is made with the first call. The identity is
// the one of its environment.
func (s Served) Dial(id *Identity, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	secured := insecure.NewCredentials()
	if id != nil {
		if s.certificate == nil {
			return nil, errors.New("it sent no certificate; TF_DISABLE_PLUGIN_TLS=1 lets it serve without TLS")
		}
		known := x509.NewCertPool()
		known.AddCert(s.certificate)
		secured = credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{id.pair},
			RootCAs:      known,
			ServerName:   host,
			MinVersion:   tls.VersionTLS12,
		})
	}
	addr := s.Addr
	return grpc.NewClient("passthrough:///plugin", append(options,
		grpc.WithTransportCredentials(secured),
		grpc.WithIdleTimeout(0),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, addr.Network(), addr.String())
		}))...)
}
