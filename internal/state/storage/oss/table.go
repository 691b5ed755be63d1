package oss

import (
	"context"
	"crypto/hmac"
	"crypto/md5"  // #nosec G501 -- what the service wants
	"crypto/sha1" // #nosec G505 -- what the service wants
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"weir.dev/weir/internal/net/httpcall"
)

// A table is one of Tablestore, whose rows are texts by the key LockID. Its three calls are
// made here: the SDK for them takes 9 ms to initialize, as long as all else together.
type table struct {
	name, instance string
	address        *url.URL
	access         *access
	http           *http.Client
	patience       time.Duration
}

// A refusal is an answer of Tablestore that means no.
type refusal struct {
	status        int
	code, message string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("Tablestore answered %d, %s: %s", r.status, r.code, r.message)
}

// conditionFailed reports whether an error is that a row was, or wasn't, there.
func conditionFailed(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == "OTSConditionCheckFail"
}

// passing are the codes of what another try may bring.
var passing = []string{
	"OTSRowOperationConflict", "OTSNotEnoughCapacityUnit", "OTSTableNotReady", "OTSPartitionUnavailable",
	"OTSServerBusy", "OTSStorageServerBusy", "OTSTimeout", "OTSServerUnavailable", "OTSInternalServerError",
}

// The conditions for rows.
const (
	anyRow = 0
	noRow  = 2
)

// condition is what has to hold for the row, in the encoding of the service; beside whether
// it is there, a column may have to have a value.
func condition(existence uint64, column, value string) []byte {
	c := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), existence)
	if column == "" {
		return c
	}
	const equal, single = 1, 1
	f := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), equal)
	f = appendText(f, 2, []byte(column))
	f = appendText(f, 3, variant(value))
	f = protowire.AppendVarint(protowire.AppendTag(f, 4, protowire.VarintType), 1) // also where it is missing
	f = protowire.AppendVarint(protowire.AppendTag(f, 5, protowire.VarintType), 1) // the newest version
	filter := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), single)
	return appendText(c, 2, appendText(filter, 2, f))
}

func appendText(to []byte, field protowire.Number, text []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), text)
}

// get reads texts of a row, nil without one.
func (t *table) get(ctx context.Context, id string, names ...string) (map[string]string, error) {
	body := appendText(nil, 1, []byte(t.name))
	body = appendText(body, 2, encodeRow(row{id: id}))
	for _, name := range append([]string{key}, names...) {
		body = appendText(body, 3, []byte(name))
	}
	body = protowire.AppendVarint(protowire.AppendTag(body, 5, protowire.VarintType), 1) // version
	answer, err := t.call(ctx, "/GetRow", body)
	if err != nil {
		return nil, err
	}
	encoded, err := field(answer, 2)
	if err != nil || len(encoded) == 0 {
		return nil, err
	}
	return decodeRow(encoded)
}

// put replaces a row, where existence holds.
func (t *table) put(ctx context.Context, id string, existence uint64, cells ...cell) error {
	body := appendText(nil, 1, []byte(t.name))
	body = appendText(body, 2, encodeRow(row{id: id, cells: cells}))
	body = appendText(body, 3, condition(existence, "", ""))
	_, err := t.call(ctx, "/PutRow", body)
	return err
}

// remove removes a row, with info only as long as it has that.
func (t *table) remove(ctx context.Context, id, info string) error {
	body := appendText(nil, 1, []byte(t.name))
	body = appendText(body, 2, encodeRow(row{id: id, gone: true}))
	c := condition(anyRow, "", "")
	if info != "" {
		c = condition(anyRow, infoCell, info)
	}
	_, err := t.call(ctx, "/DeleteRow", appendText(body, 3, c))
	return err
}

// call makes a call until the service answers it.
func (t *table) call(ctx context.Context, name string, body []byte) ([]byte, error) {
	c := httpcall.Client{
		HTTP: t.http, Stall: t.patience, Limit: 64 << 20,
		Sign: func(ctx context.Context, r *http.Request) error { return t.sign(ctx, r, name, body) },
		Again: func(a httpcall.Answer, err error) bool {
			var no *refusal
			return !errors.As(err, &no) || no.status >= 500 || slices.Contains(passing, no.code)
		},
	}
	to, err := url.Parse(t.address.String() + name)
	if err != nil {
		return nil, err
	}
	a, err := c.Do(ctx, httpcall.Request{Method: http.MethodPost, URL: to, Body: body}, func(a httpcall.Answer) error {
		if a.Status/100 == 2 {
			return nil
		}
		code, _ := field(a.Body, 1) // those of proxies have none
		message, _ := field(a.Body, 2)
		return &refusal{a.Status, string(code), string(message)}
	})
	if err != nil {
		return nil, err
	}
	return a.Body, nil
}

// sign makes a request one of who asks.
func (t *table) sign(ctx context.Context, r *http.Request, name string, body []byte) error {
	k, err := t.access.get(ctx)
	if err != nil {
		return err
	}
	sum := md5.Sum(body)
	headers := [][2]string{ // in the order of their names
		{"x-ots-accesskeyid", k.ID},
		{"x-ots-apiversion", "2015-12-31"},
		{"x-ots-contentmd5", base64.StdEncoding.EncodeToString(sum[:])},
		{"x-ots-date", time.Now().UTC().Format("2006-01-02T15:04:05.000Z")},
		{"x-ots-instancename", t.instance},
		{"x-ots-ststoken", k.Token},
	}
	text := strings.Builder{}
	text.WriteString(name + "\nPOST\n\n")
	for _, h := range headers {
		if h[1] != "" {
			r.Header.Set(h[0], h[1])
			text.WriteString(h[0] + ":" + h[1] + "\n")
		}
	}
	mac := hmac.New(sha1.New, []byte(k.Secret))
	mac.Write([]byte(text.String()))
	r.Header.Set("x-ots-signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return nil
}

// field finds the bytes of a field in a message.
func field(message []byte, wanted protowire.Number) ([]byte, error) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, fmt.Errorf("the answer of Tablestore can't be read: %w", protowire.ParseError(n))
		}
		message = message[n:]
		if number == wanted && kind == protowire.BytesType {
			value, n := protowire.ConsumeBytes(message)
			return value, protowire.ParseError(n)
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil, fmt.Errorf("the answer of Tablestore can't be read: %w", protowire.ParseError(n))
		}
		message = message[n:]
	}
	return nil, nil
}
