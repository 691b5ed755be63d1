package s3

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/net/httpcall"
)

// A bucket is S3's, or another server's of that protocol.
type bucket struct {
	service
}

func openBucket(ctx context.Context, config aws.Config, name, address string, pathStyle bool) (*bucket, error) {
	point, isPoint := accessPoint(name)
	to, err := at(ctx, config, "S3", "S3", address, func(fips, dual bool) string {
		kind := "s3"
		if isPoint {
			kind = "s3-accesspoint"
		}
		if fips {
			kind += "-fips"
		}
		if dual {
			kind += ".dualstack"
		}
		plain, _ := domain(config.Region)
		return "https://" + kind + "." + config.Region + "." + plain
	})
	if err != nil {
		return nil, err
	}
	switch {
	case isPoint:
		to.Host = point + "." + to.Host
	case pathStyle || !hostable(name, to):
		to = to.JoinPath(url.PathEscape(name))
	default:
		to.Host = name + "." + to.Host
	}
	return &bucket{service{config: config, name: "s3", address: to, decode: decodeXML}}, nil
}

// accessPoint is what the hosts of an access point begin with.
func accessPoint(name string) (string, bool) {
	parsed, err := arn.Parse(name)
	point, found := strings.CutPrefix(parsed.Resource, "accesspoint/")
	if err != nil || !found {
		return "", false
	}
	return point + "-" + parsed.AccountID, true
}

var hostName = lazyregexp.New(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// hostable reports whether a bucket can be in the name of the host: certificates are
// for names without further dots.
func hostable(name string, to *url.URL) bool {
	return hostName.Get().MatchString(name) && net.ParseIP(name) == nil && net.ParseIP(to.Hostname()) == nil &&
		!(to.Scheme == "https" && strings.Contains(name, "."))
}

func decodeXML(answer httpcall.Answer) *failure {
	var told struct {
		Code, Message, RequestID string
	}
	_ = xml.Unmarshal(answer.Body, &told) // answers to HEAD and those of proxies aren't XML
	f := &failure{status: answer.Status, code: told.Code, message: told.Message, request: answer.Header.Get("X-Amz-Request-Id")}
	if f.code == "" {
		f.code, f.message = strings.ReplaceAll(http.StatusText(answer.Status), " ", ""), fmt.Sprintf("%d %s", answer.Status, http.StatusText(answer.Status))
	}
	return f
}

// key is the address of an object.
func (b *bucket) key(key string) *url.URL {
	to := *b.address
	to.Path = strings.TrimSuffix(to.Path, "/") + "/" + key
	to.RawPath = escapePath(to.Path)
	return &to
}

// escapePath escapes all that signatures want escaped.
func escapePath(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c == '/' || c == '-' || c == '.' || c == '_' || c == '~' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// call sends a request, which errors have the name of.
func (b *bucket) call(ctx context.Context, name, method string, to *url.URL, header http.Header, body []byte) (httpcall.Answer, error) {
	a, err := b.do(ctx, method, to, header, body)
	if err != nil {
		err = fmt.Errorf("operation error S3: %s, %w", name, err)
	}
	return a, err
}

// get reads an object and its tag.
func (b *bucket) get(ctx context.Context, key string, header http.Header) (content []byte, tag string, err error) {
	a, err := b.call(ctx, "GetObject", http.MethodGet, b.key(key), header, nil)
	if err != nil {
		return nil, "", err
	}
	return a.Body, a.Header.Get("ETag"), nil
}

// put puts an object and returns its tag.
func (b *bucket) put(ctx context.Context, key string, content []byte, header http.Header) (tag string, err error) {
	a, err := b.call(ctx, "PutObject", http.MethodPut, b.key(key), header, content)
	if err != nil {
		return "", err
	}
	return a.Header.Get("ETag"), nil
}

func (b *bucket) remove(ctx context.Context, key string) error {
	_, err := b.call(ctx, "DeleteObject", http.MethodDelete, b.key(key), nil, nil)
	return err
}

// list has each of the keys that begin with a prefix.
func (b *bucket) list(ctx context.Context, prefix string, each func(key string)) error {
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}, "max-keys": {"1000"}}
	for {
		to := *b.address
		to.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
		if to.Path == "" {
			to.Path = "/"
		}
		a, err := b.call(ctx, "ListObjectsV2", http.MethodGet, &to, nil, nil)
		if err != nil {
			return err
		}
		var page struct {
			Contents []struct{ Key string }

			IsTruncated           bool
			NextContinuationToken string
		}
		if err := xml.Unmarshal(a.Body, &page); err != nil {
			return fmt.Errorf("the list of objects can't be read: %w", err)
		}
		for _, object := range page.Contents {
			each(object.Key)
		}
		if !page.IsTruncated || page.NextContinuationToken == "" {
			return nil
		}
		query.Set("continuation-token", page.NextContinuationToken)
	}
}

// sealing is how the server encrypts objects. The zero value leaves it to the
// bucket.
type sealing struct {
	on       bool
	kmsKey   string
	customer []byte // the key, nil without
}

// put adds what an upload says about it, get what a download does.
func (s sealing) put(h http.Header) {
	const kind = "X-Amz-Server-Side-Encryption"
	switch {
	case !s.on:
	case s.kmsKey != "":
		h.Set(kind, "aws:kms")
		h.Set(kind+"-Aws-Kms-Key-Id", s.kmsKey)
	case s.customer == nil:
		h.Set(kind, "AES256")
	}
	s.get(h)
}

func (s sealing) get(h http.Header) {
	if !s.on || s.kmsKey != "" || s.customer == nil {
		return
	}
	const customer = "X-Amz-Server-Side-Encryption-Customer-"
	sum := md5.Sum(s.customer)
	h.Set(customer+"Algorithm", "AES256")
	h.Set(customer+"Key", base64.StdEncoding.EncodeToString(s.customer))
	h.Set(customer+"Key-Md5", base64.StdEncoding.EncodeToString(sum[:]))
}

// checksum adds that of an upload.
func checksum(h http.Header, content []byte) {
	sum := sha256.Sum256(content)
	h.Set("X-Amz-Sdk-Checksum-Algorithm", "SHA256")
	h.Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
}
