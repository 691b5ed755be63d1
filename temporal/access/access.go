// Package access decides who may use the Temporal server of a worker: clients with the token
// of its store.
//
// It owns how the token becomes a credential and a header of requests. It doesn't know where
// the token is stored.
package access

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// Header is the name of the header that has the credential.
const Header = "authorization"

// Credential is what a client sends to Temporal. It is derived from the token and not the
// token itself: a Temporal server that isn't weir's must not learn what opens the store.
func Credential(token string) string {
	h := hmac.New(sha256.New, []byte(token))
	h.Write([]byte("weir: the Temporal server of the worker with this store"))
	return "Bearer " + hex.EncodeToString(h.Sum(nil))
}

// Allows reports whether a header is the credential of a token. No token allows nobody.
func Allows(token, header string) bool {
	return token != "" && subtle.ConstantTimeCompare([]byte(header), []byte(Credential(token))) == 1
}

// Headers sends the credential of a token with each request of a Temporal client.
type Headers struct{ Token string }

// GetHeaders implements client.HeadersProvider.
func (h Headers) GetHeaders(context.Context) (map[string]string, error) {
	return map[string]string{Header: Credential(h.Token)}, nil
}
