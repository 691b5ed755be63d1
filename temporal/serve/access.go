package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/rpc/encryption"

	"weir.dev/weir/temporal/access"
)

// claims maps the credential of the store's token to every right, and anything else to none.
type claims struct{ token string }

func (c claims) GetClaims(i *authorization.AuthInfo) (*authorization.Claims, error) {
	if i != nil && access.Allows(c.token, i.AuthToken) {
		return &authorization.Claims{System: authorization.RoleAdmin}, nil
	}
	return &authorization.Claims{}, nil
}

// authorizer allows a request with every right, and no other: reading, too, shows
// which deployments exist and who decided about them.
type authorizer struct{}

func (authorizer) Authorize(_ context.Context, c *authorization.Claims, _ *authorization.CallTarget) (authorization.Result, error) {
	if c != nil && c.System&authorization.RoleAdmin != 0 {
		return authorization.Result{Decision: authorization.DecisionAllow}, nil
	}
	return authorization.Result{Decision: authorization.DecisionDeny, Reason: "the token of the store is missing or wrong"}, nil
}

// inner is the mutual TLS between the services of the server. Their ports are open to every
// user of the machine, and they ask for no credential. Its key is made at start and never
// leaves the process.
type inner struct{ server, client *tls.Config }

var _ encryption.TLSConfigProvider = (*inner)(nil)

const innerName = "weir"

func newInner() (*inner, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: innerName}, DNSNames: []string{innerName},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(100, 0, 0), // as long as the process
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(cert)
	own := []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}}
	return &inner{
		server: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: own, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert},
		client: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: own, RootCAs: trusted, ServerName: innerName},
	}, nil
}

func (i *inner) GetInternodeServerConfig() (*tls.Config, error) { return i.server.Clone(), nil }
func (i *inner) GetInternodeClientConfig() (*tls.Config, error) { return i.client.Clone(), nil }

// The frontend asks for the credential, and a server has no other cluster.
func (i *inner) GetFrontendServerConfig() (*tls.Config, error)            { return nil, nil }
func (i *inner) GetFrontendClientConfig() (*tls.Config, error)            { return nil, nil }
func (i *inner) GetRemoteClusterClientConfig(string) (*tls.Config, error) { return nil, nil }
func (i *inner) GetExpiringCerts(time.Duration) (expiring, expired encryption.CertExpirationMap, err error) {
	return nil, nil, nil
}
