package oci

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// behalf is the header with a token of somebody for whom the request is made.
const behalf = "Opc-Obo-Token"

// sign signs a request, with its body where that isn't nil, as Oracle's services want it:
// HTTP signatures with RSA and SHA-256.
func sign(r *http.Request, as *identity, body []byte) error {
	r.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	names := []string{"date", "(request-target)", "host"}
	if body != nil {
		sum := sha256.Sum256(body)
		r.Header.Set("X-Content-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		names = append(names, "content-length", "content-type", "x-content-sha256")
	}
	if r.Header.Get(behalf) != "" {
		names = append(names, strings.ToLower(behalf))
	}
	var lines []string
	for _, name := range names {
		value := r.Header.Get(name)
		switch name {
		case "(request-target)":
			value = strings.ToLower(r.Method) + " " + r.URL.RequestURI()
		case "host":
			value = r.URL.Host
		}
		lines = append(lines, name+": "+value)
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	signature, err := rsa.SignPKCS1v15(rand.Reader, as.key, crypto.SHA256, sum[:])
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", fmt.Sprintf(`Signature version="1",headers=%q,keyId=%q,algorithm="rsa-sha256",signature=%q`,
		strings.Join(names, " "), as.id, base64.StdEncoding.EncodeToString(signature)))
	return nil
}

// signing signs what it passes on. Bodies are left out, as they may be where objects are put.
type signing struct {
	*access
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s *signing) RoundTrip(r *http.Request) (*http.Response, error) {
	as, err := s.who(r.Context())
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	if s.certainlyBehalf {
		token := []byte(s.onBehalf)
		if s.onBehalfFile != "" {
			if token, err = os.ReadFile(s.onBehalfFile); err != nil {
				return nil, err
			}
		}
		r.Header.Set(behalf, strings.TrimSpace(string(token)))
	}
	if err := sign(r, as, nil); err != nil {
		return nil, fmt.Errorf("the request can't be signed: %w", err)
	}
	return s.next.RoundTrip(r)
}
