package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// A signingKey signs as cosign does with a key: ECDSA over SHA-256.
type signingKey struct{ *ecdsa.PrivateKey }

// loadKey reads a key in PEM, as openssl writes it. It creates the file where it is missing.
func loadKey(path string) (signingKey, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newKey(path)
	}
	if err != nil {
		return signingKey{}, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return signingKey{}, fmt.Errorf("%s isn't in PEM", path)
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return signingKey{key}, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return signingKey{}, fmt.Errorf("%s: %w", path, err)
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return signingKey{}, fmt.Errorf("%s has a key of the type %T; an ECDSA key is needed", path, key)
	}
	return signingKey{ec}, nil
}

func newKey(path string) (signingKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return signingKey{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return signingKey{}, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return signingKey{}, err
	}
	return signingKey{key}, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

// Sign signs data. Without a source of random numbers the signature depends on key and data
// only, so that two builds are equal.
func (k signingKey) Sign(_ context.Context, data []byte) ([]byte, error) {
	sum := sha256.Sum256(data)
	return k.PrivateKey.Sign(nil, sum[:], crypto.SHA256)
}

// KeyID is the checksum of the public key.
func (k signingKey) KeyID() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(&k.PublicKey)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), nil
}

// A subject is a file that the provenance is about.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// sign writes the signed provenance of all files, the checksums, their signature and the public
// key. The checksums include the provenance.
func (r *release) sign(key signingKey) error {
	subjects, err := digests(r.dir)
	if err != nil {
		return err
	}
	statement, err := json.Marshal(r.statement(subjects))
	if err != nil {
		return err
	}
	signer, err := dsse.NewEnvelopeSigner(key)
	if err != nil {
		return err
	}
	envelope, err := signer.SignPayload(context.Background(), "application/vnd.in-toto+json", statement)
	if err != nil {
		return err
	}
	text, err := json.Marshal(envelope)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.file("provenance.intoto.jsonl"), append(text, '\n'), 0o644); err != nil {
		return err
	}

	if subjects, err = digests(r.dir); err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, s := range subjects {
		fmt.Fprintf(&sums, "%s  %s\n", s.Digest["sha256"], s.Name)
	}
	if err := os.WriteFile(r.file("checksums.txt"), sums.Bytes(), 0o644); err != nil {
		return err
	}
	signature, err := key.Sign(context.Background(), sums.Bytes())
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.file("checksums.txt.sig"), []byte(base64.StdEncoding.EncodeToString(signature)+"\n"), 0o644); err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(r.dir), "weir.pem"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644)
}

// digests has the SHA-256 of each file of a folder, by name.
func digests(dir string) (list []subject, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		_ = f.Close()
		if err != nil {
			return nil, err
		}
		list = append(list, subject{e.Name(), map[string]string{"sha256": hex.EncodeToString(h.Sum(nil))}})
	}
	return list, nil
}

// statement is SLSA provenance, version 1: https://slsa.dev/spec/v1.0/provenance.
func (r *release) statement(subjects []subject) any {
	type object = map[string]any
	return object{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": object{
			"buildDefinition": object{
				"buildType":          "https://weir.dev/build/release/v1",
				"externalParameters": object{"version": r.version, "commit": r.commit, "date": r.date},
				"resolvedDependencies": []object{
					{"uri": "git+https://weir.dev/weir", "digest": object{"gitCommit": r.commit}},
					{"uri": "pkg:generic/go@" + runtime.Version()[2:]},
				},
			},
			"runDetails": object{"builder": object{"id": "https://weir.dev/build/local"}},
		},
	}
}
