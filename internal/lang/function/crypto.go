package function

import (
	"crypto/md5"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"

	"weir.dev/weir/internal/lang/program"
)

// A digest is one way to sum up bytes; there is a function for strings and one
// for files of each.
type digest struct {
	hash  func() hash.Hash
	write func([]byte) string
}

var digests = map[string]digest{
	"base64sha256": {sha256.New, base64.StdEncoding.EncodeToString},
	"base64sha512": {sha512.New, base64.StdEncoding.EncodeToString},
	"md5":          {md5.New, hex.EncodeToString},
	"sha1":         {sha1.New, hex.EncodeToString},
	"sha256":       {sha256.New, hex.EncodeToString},
	"sha512":       {sha512.New, hex.EncodeToString},
}

func (d digest) sum(r io.Reader) (string, error) {
	h := d.hash()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return d.write(h.Sum(nil)), nil
}

func addCrypto(table map[string]function.Function) {
	for name, d := range digests {
		table[name] = def{[]function.Parameter{str("str")}, nil, cty.String, func(c *call) (cty.Value, error) {
			text, err := d.sum(strings.NewReader(c.str(0)))
			return cty.StringVal(text), err
		}}.function()
	}
	cost := num("cost")
	table["bcrypt"] = def{[]function.Parameter{str("str")}, &cost, cty.String, bcryptHash}.function()
	table["rsadecrypt"] = def{[]function.Parameter{str("ciphertext"), str("privatekey")}, nil, cty.String, rsaDecrypt}.function()
	table["uuidv5"] = def{[]function.Parameter{str("namespace"), str("name")}, nil, cty.String, uuidV5}.function()
}

// hashing is about how long bcrypt takes at the least cost there could be; with each one
// more it takes twice as long.
const hashing = 50 * time.Microsecond

func bcryptHash(c *call) (cty.Value, error) {
	cost := bcrypt.DefaultCost
	switch len(c.args) {
	case 1:
	case 2:
		var err error
		if cost, err = c.integer(1); err != nil {
			return cty.NilVal, err
		}
	default:
		return cty.NilVal, wrongCount("bcrypt", 1, 2, len(c.args))
	}
	if cost > bcrypt.MaxCost {
		return cty.NilVal, c.fault(1, "must be between %d and %d", bcrypt.MinCost, bcrypt.MaxCost)
	}
	if most := program.MaxTime; most > 0 && cost > 0 && hashing<<cost > most {
		return cty.NilVal, c.fault(1, "is so high that the call would take more than %s; WEIR_MAX_TIME can be set to a longer time", most)
	}
	out, err := bcrypt.GenerateFromPassword([]byte(c.str(0)), cost)
	if err != nil {
		return cty.NilVal, c.fault(0, "cannot be hashed: %s", err)
	}
	return cty.StringVal(string(out)), nil
}

func rsaDecrypt(c *call) (cty.Value, error) {
	secret, err := base64.StdEncoding.DecodeString(c.str(0))
	if err != nil {
		return cty.NilVal, c.fault(0, "the cipher text must be base64-encoded")
	}
	// Messages about the key and what it opens never quote either.
	raw, err := ssh.ParseRawPrivateKey([]byte(c.str(1)))
	if err != nil {
		return cty.NilVal, c.fault(1, "invalid private key: %s", err)
	}
	key, ok := raw.(*rsa.PrivateKey)
	if !ok {
		return cty.NilVal, c.fault(1, "the private key is not an RSA key")
	}
	//lint:ignore SA1019 the function's users have secrets in this format
	plain, err := rsa.DecryptPKCS1v15(nil, key, secret)
	if err != nil {
		return cty.NilVal, c.fault(0, "failed to decrypt: %s", err)
	}
	if !utf8.Valid(plain) {
		return cty.NilVal, c.fault(0, "the decrypted data is not valid UTF-8")
	}
	return cty.StringVal(string(plain)), nil
}

func uuidFunc(random io.Reader) function.Function {
	return def{nil, nil, cty.String, func(*call) (cty.Value, error) {
		id, err := uuid.NewRandomFromReader(random)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(id.String()), nil
	}}.function()
}

var uuidSpaces = map[string]uuid.UUID{
	"dns":  uuid.NameSpaceDNS,
	"oid":  uuid.NameSpaceOID,
	"url":  uuid.NameSpaceURL,
	"x500": uuid.NameSpaceX500,
}

func uuidV5(c *call) (cty.Value, error) {
	space, ok := uuidSpaces[c.str(0)]
	if !ok {
		var err error
		if space, err = uuid.Parse(c.str(0)); err != nil {
			return cty.NilVal, c.fault(0, `%s is no namespace: use "dns", "oid", "url", "x500" or a UUID`, c.show(0))
		}
	}
	return cty.StringVal(uuid.NewSHA1(space, []byte(c.str(1))).String()), nil
}
