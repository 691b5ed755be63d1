package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// A Place is a package in a bucket: an archive, or what has a key as its directory.
type Place struct {
	Kind     string // s3 or gcs
	Bucket   string
	Key      string
	Region   string // of s3
	Endpoint string // of a server with the interface of s3, "" for Amazon's
	Version  string // of the object, "" for the latest
	// The credentials in the address; mostly empty.
	Profile, AccessKey, SecretKey, Token string
}

// Objects are those of a bucket.
type Objects interface {
	// List has the keys that begin with a prefix.
	List(ctx context.Context, prefix string) ([]string, error)
	// Get reads an object, in a version if that isn't "".
	Get(ctx context.Context, key, version string) ([]byte, error)
}

// bucket fetches an archive from a bucket, or all that is below a key.
func (f *Fetcher) bucket(ctx context.Context, kind, address, to string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%q isn't the address of a bucket, such as %s", address, addressOf()[kind])
	}
	settings, err := takeSettings(u)
	if err != nil {
		return err
	}
	read := readAmazon
	if kind == "gcs" {
		read = readGoogle
	}
	p, err := read(u)
	if err != nil {
		return err
	}
	if f.Buckets == nil {
		return errors.New("nothing is known of buckets here")
	}
	objects, err := f.Buckets(p)
	if err != nil {
		return err
	}
	if archive := settings.kind(p.Key); archive != "" {
		content, err := objects.Get(ctx, p.Key, p.Version)
		if err != nil {
			return err
		}
		file := filepath.Join(filepath.Dir(to), "archive")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
		defer os.Remove(file)
		if err := settings.verify(file, nil); err != nil {
			return err
		}
		return f.unpack(file, archive, to)
	}
	if settings.checksum != "" {
		return errors.New("a checksum needs an archive. Tell its kind with archive=, for example archive=zip")
	}
	return f.below(ctx, objects, p, to)
}

func addressOf() map[string]string {
	return map[string]string{
		"s3":  "s3::https://s3-eu-west-1.amazonaws.com/bucket/module.zip",
		"gcs": "gcs::https://www.googleapis.com/storage/v1/bucket/module.zip",
	}
}

// below fetches all objects with keys below one.
func (f *Fetcher) below(ctx context.Context, objects Objects, p Place, to string) error {
	prefix := strings.TrimSuffix(p.Key, "/") + "/"
	keys, err := objects.List(ctx, prefix)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	left, some := f.limits, false
	for _, key := range keys {
		name := strings.TrimPrefix(key, prefix)
		if name == "" || strings.HasSuffix(name, "/") { // stands for a directory
			continue
		}
		local, err := localName(name)
		if err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
		content, err := objects.Get(ctx, key, "")
		if err != nil {
			return err
		}
		left.bytes -= int64(len(content))
		if left.files--; left.files < 0 || left.bytes < 0 {
			return fmt.Errorf("there is too much for a module below %s in the bucket %s", prefix, p.Bucket)
		}
		if err := root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(local, content, 0o644); err != nil {
			return err
		}
		some = true
	}
	if !some {
		return fmt.Errorf("the bucket %s has nothing below %s. If it is an archive, tell its kind with ?archive=, for example archive=zip", p.Bucket, prefix)
	}
	return nil
}

// readAmazon reads an address of Amazon's, with the bucket in the path or in the host, or
// of a server with the same interface, with the bucket in the path.
func readAmazon(u *url.URL) (Place, error) {
	query := u.Query()
	p := Place{
		Kind: "s3", Version: query.Get("version"), Profile: query.Get("aws_profile"),
		AccessKey: query.Get("aws_access_key_id"), SecretKey: query.Get("aws_access_key_secret"), Token: query.Get("aws_access_token"),
	}
	path := strings.TrimPrefix(u.Path, "/")
	host, amazon := strings.CutSuffix(u.Hostname(), ".amazonaws.com")
	if !amazon {
		p.Endpoint, p.Region = u.Scheme+"://"+u.Host, query.Get("region")
		if p.Region == "" {
			p.Region = "us-east-1"
		}
		p.Bucket, p.Key, _ = strings.Cut(path, "/")
		return p.checked(u)
	}
	// The forms are s3, s3-REGION, s3.REGION, and those after a bucket.
	parts := strings.Split(host, ".")
	at := len(parts) - 1
	if at > 0 && parts[at-1] == "s3" {
		at--
	}
	region, dashed := strings.CutPrefix(parts[at], "s3-")
	switch {
	case dashed:
		p.Region = region
	case parts[at] != "s3":
		return Place{}, fmt.Errorf("%q isn't an address of S3, such as %s", u.Redacted(), addressOf()["s3"])
	case at == len(parts)-2:
		p.Region = parts[at+1]
	default:
		p.Region = "us-east-1"
	}
	if p.Bucket, p.Key = strings.Join(parts[:at], "."), path; at == 0 {
		p.Bucket, p.Key, _ = strings.Cut(path, "/")
	}
	return p.checked(u)
}

// readGoogle reads an address of the JSON interface.
func readGoogle(u *url.URL) (Place, error) {
	parts := strings.SplitN(u.Path, "/", 5)
	if !strings.HasSuffix(u.Hostname(), ".googleapis.com") || len(parts) != 5 || parts[1] != "storage" {
		return Place{}, fmt.Errorf("%q isn't an address of Cloud Storage, such as %s", u.Redacted(), addressOf()["gcs"])
	}
	return Place{Kind: "gcs", Bucket: parts[3], Key: parts[4], Version: u.Fragment}.checked(u)
}

func (p Place) checked(u *url.URL) (Place, error) {
	if p.Bucket == "" || strings.Trim(p.Key, "/") == "" {
		return Place{}, fmt.Errorf("%q names no bucket with a key in it, such as %s", u.Redacted(), addressOf()[p.Kind])
	}
	return p, nil
}
