package function

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/url"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"

	"weir.dev/weir/internal/core/value"
)

func addEncodings(table map[string]function.Function) {
	text := func(run func(*call) (cty.Value, error), params ...function.Parameter) function.Function {
		return def{params, nil, cty.String, run}.function()
	}
	table["base64decode"] = text(base64Decode, str("str"))
	table["base64encode"] = text(func(c *call) (cty.Value, error) { return base64Value([]byte(c.str(0))), nil }, str("str"))
	table["base64gzip"] = text(base64Gzip, str("str"))
	table["base64gunzip"] = text(base64Gunzip, str("str"))
	table["textdecodebase64"] = text(textDecode, str("source"), str("encoding"))
	table["textencodebase64"] = text(textEncode, str("string"), str("encoding"))
	table["urldecode"] = text(urlDecode, str("str"))
	table["urlencode"] = text(func(c *call) (cty.Value, error) { return cty.StringVal(url.QueryEscape(c.str(0))), nil }, str("str"))
}

func base64Value(raw []byte) cty.Value {
	return cty.StringVal(base64.StdEncoding.EncodeToString(raw))
}

// base64Bytes reads argument i.
func (c *call) base64Bytes(i int) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(c.str(i))
	if err != nil {
		return nil, c.fault(i, "failed to decode base64 data %s", c.show(i))
	}
	return raw, nil
}

func base64Decode(c *call) (cty.Value, error) {
	raw, err := c.base64Bytes(0)
	if err != nil {
		return cty.NilVal, err
	}
	if !utf8.Valid(raw) {
		return cty.NilVal, c.fault(0, "the result of decoding the provided string is not valid UTF-8; textdecodebase64 reads other encodings")
	}
	return cty.StringVal(string(raw)), nil
}

// base64Gzip flushes before it closes, which leaves a mark in the bytes that the other
// programs have there as well.
func base64Gzip(c *call) (cty.Value, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(c.str(0))); err != nil {
		return cty.NilVal, err
	}
	if err := w.Flush(); err != nil {
		return cty.NilVal, err
	}
	if err := w.Close(); err != nil {
		return cty.NilVal, err
	}
	return base64Value(b.Bytes()), nil
}

func base64Gunzip(c *call) (cty.Value, error) {
	raw, err := c.base64Bytes(0)
	if err != nil {
		return cty.NilVal, err
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return cty.NilVal, c.fault(0, "not compressed by gzip: %s", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, int64(value.MaxSize)+1))
	switch {
	case err != nil:
		return cty.NilVal, c.fault(0, "failed to decompress: %s", err)
	case len(plain) > value.MaxSize:
		return cty.NilVal, c.fault(0, "the decompressed text has more than %d MiB", value.MaxSize>>20)
	case !utf8.Valid(plain):
		return cty.NilVal, c.fault(0, "the decompressed data is not valid UTF-8")
	}
	return cty.StringVal(string(plain)), nil
}

// textEncoding reads argument 1 and gives the encoding's usual name as well.
func (c *call) textEncoding() (encoding.Encoding, string, error) {
	enc, err := ianaindex.IANA.Encoding(c.str(1))
	if err != nil || enc == nil {
		return nil, "", c.fault(1, "%s is not the name of a supported character encoding in the IANA registry", c.show(1))
	}
	name, err := ianaindex.IANA.Name(enc)
	if err != nil || c.hidden[1] {
		name = c.show(1)
	}
	return enc, name, nil
}

func textEncode(c *call) (cty.Value, error) {
	enc, name, err := c.textEncoding()
	if err != nil {
		return cty.NilVal, err
	}
	raw, err := enc.NewEncoder().Bytes([]byte(c.str(0)))
	if err != nil {
		return cty.NilVal, c.fault(0, "the given string contains characters that cannot be represented in %s", name)
	}
	return base64Value(raw), nil
}

func textDecode(c *call) (cty.Value, error) {
	enc, name, err := c.textEncoding()
	if err != nil {
		return cty.NilVal, err
	}
	raw, err := c.base64Bytes(0)
	if err != nil {
		return cty.NilVal, err
	}
	plain, err := enc.NewDecoder().Bytes(raw)
	if err != nil || bytes.ContainsRune(plain, utf8.RuneError) {
		return cty.NilVal, c.fault(0, "the given string contains symbols that are not defined for %s", name)
	}
	return cty.StringVal(string(plain)), nil
}

func urlDecode(c *call) (cty.Value, error) {
	plain, err := url.QueryUnescape(c.str(0))
	if err != nil {
		return cty.NilVal, c.because(0, "not in the form of a URL query", err)
	}
	if !utf8.ValidString(plain) {
		return cty.NilVal, c.fault(0, "the decoded string is not valid UTF-8")
	}
	return cty.StringVal(plain), nil
}
