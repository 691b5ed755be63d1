package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// signer is the private key with its certificate, nil without one.
func (m *machine) signer() (ssh.Signer, error) {
	if m.key == "" {
		return nil, nil
	}
	key, err := ssh.ParsePrivateKey([]byte(m.key))
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, errors.New("the private key has a passphrase: only keys without one can be used, or the SSH agent")
	case err != nil: // may repeat parts of the key
		return nil, errors.New("the private key can't be read: it has to be the content of a key file such as ~/.ssh/id_ed25519, not its path")
	case m.certificate == "":
		return key, nil
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(m.certificate))
	if err != nil {
		return nil, errors.New("the certificate can't be read: it has to be the content of a file such as ~/.ssh/id_ed25519-cert.pub")
	}
	certificate, ok := public.(*ssh.Certificate)
	if !ok {
		return nil, fmt.Errorf("the certificate is a mere key of type %s: it has to be signed by an authority", public.Type())
	}
	signer, err := ssh.NewCertSigner(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate doesn't belong to the private key: %w", err)
	}
	return signer, nil
}

func (m *machine) checkHostKey() error {
	_, err := m.knownKey()
	return err
}

// knownKey is the key of the machine or of an authority, nil where any is right.
func (m *machine) knownKey() (ssh.PublicKey, error) {
	if m.hostKey == "" {
		return nil, nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(m.hostKey))
	if err != nil {
		return nil, fmt.Errorf("the host key of %s can't be read: it has to be the content of a file such as /etc/ssh/ssh_host_ed25519_key.pub", m.host)
	}
	return key, nil
}

// config is how to log in.
func (m *machine) config(keys *identities) (*ssh.ClientConfig, error) {
	// Without a known key the caller that answers is trusted, as the language has it.
	c := &ssh.ClientConfig{User: m.user, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: oneTry} // #nosec G106
	known, err := m.knownKey()
	if err != nil {
		return nil, err
	}
	if known != nil {
		c.HostKeyCallback = (&ssh.CertChecker{
			IsHostAuthority: func(authority ssh.PublicKey, _ string) bool {
				return bytes.Equal(authority.Marshal(), known.Marshal())
			},
			HostKeyFallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
				if bytes.Equal(key.Marshal(), known.Marshal()) {
					return nil
				}
				return fmt.Errorf("the host key is %s, and not the one in the configuration", ssh.FingerprintSHA256(key))
			},
		}).CheckHostKey
		// Anything that is known has to be what the machine shows.
		c.HostKeyAlgorithms = append(certificates(), plain(known.Type())...)
	}
	signer, err := m.signer()
	if err != nil {
		return nil, err
	}
	if signer != nil {
		c.Auth = append(c.Auth, ssh.PublicKeys(signer))
	}
	if m.password != "" {
		c.Auth = append(c.Auth, ssh.Password(m.password), ssh.KeyboardInteractive(func(_, _ string, questions []string, _ []bool) ([]string, error) {
			return slices.Repeat([]string{m.password}, len(questions)), nil
		}))
	}
	if keys != nil && signer == nil {
		c.Auth = append(c.Auth, ssh.PublicKeysCallback(keys.signers))
	} else if keys != nil { // one list: a method is tried once
		c.Auth[0] = ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			more, err := keys.signers()
			return append([]ssh.Signer{signer}, more...), err
		})
	}
	return c, nil
}

func certificates() []string {
	return []string{ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01, ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01}
}

// plain are the algorithms of a type of keys.
func plain(typ string) []string {
	if typ == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{typ}
}

// identities are those of an agent.
type identities struct {
	io.Closer
	agent agent.ExtendedAgent
	only  string
}

// openAgent returns nil without a socket.
func openAgent(socket, only string) (*identities, error) {
	if socket == "" {
		return nil, nil
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("the SSH agent can't be reached: %w", err)
	}
	return &identities{conn, agent.NewClient(conn), only}, nil
}

// signers are the identities, or those that agent_identity names by their comment or by
// the file of their public key.
func (i *identities) signers() ([]ssh.Signer, error) {
	all, err := i.agent.Signers()
	if err != nil || i.only == "" {
		return all, err
	}
	listed, err := i.agent.List()
	if err != nil {
		return nil, err
	}
	var wanted []byte
	if text, err := os.ReadFile(strings.TrimSuffix(i.only, ".pub") + ".pub"); err == nil {
		if key, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
			wanted = key.Marshal()
		}
	}
	var chosen []ssh.Signer
	for _, signer := range all {
		blob := signer.PublicKey().Marshal()
		if bytes.Equal(blob, wanted) || slices.ContainsFunc(listed, func(k *agent.Key) bool { return k.Comment == i.only && bytes.Equal(k.Blob, blob) }) {
			chosen = append(chosen, signer)
		}
	}
	if chosen == nil {
		return nil, fmt.Errorf("the SSH agent has no identity %q", i.only)
	}
	return chosen, nil
}
