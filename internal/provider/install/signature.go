package install

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
)

// verifySignature returns the id of the key that signed the document. A key
// that has expired since still proves who made the document, unless it mustn't.
func verifySignature(keys []string, document, signature []byte, unexpired bool) (string, error) {
	expired := ""
	for _, key := range keys {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key))
		if err != nil {
			return "", fmt.Errorf("error decoding signing key: %w", err)
		}
		signer, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(document), bytes.NewReader(signature), nil)
		id := "unknown"
		if signer != nil && signer.PrimaryKey != nil {
			id = signer.PrimaryKey.KeyIdString()
		}
		switch {
		case err == nil:
			return id, nil
		case errors.Is(err, pgperrors.ErrUnknownIssuer):
		case errors.Is(err, pgperrors.ErrKeyExpired) || errors.Is(err, pgperrors.ErrSignatureExpired):
			expired = id
		default:
			return "", fmt.Errorf("error checking signature: %w", err)
		}
	}
	if expired != "" && unexpired {
		return "", fmt.Errorf("the key %s, or the signature, has expired", expired)
	}
	if expired != "" {
		return expired, nil
	}
	return "", errors.New("authentication signature from unknown issuer")
}
