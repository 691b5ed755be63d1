package fetch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A shelf has objects by key.
type shelf map[string]string

func (s shelf) List(_ context.Context, prefix string) (keys []string, err error) {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func (s shelf) Get(_ context.Context, key, version string) ([]byte, error) {
	if text, ok := s[key+version]; ok {
		return []byte(text), nil
	}
	return nil, errors.New("there is no object " + key)
}

func TestBuckets(t *testing.T) {
	archive := string(zipOf(t, map[string]string{"main.tf": "# zip", "sub/main.tf": "# sub"}))
	objects := shelf{
		"m/x.zip": archive, "m/plain": archive, "dir/main.tf": "# dir", "dir/inner/main.tf": "# inner", "dir/": "", "directory/main.tf": "# another",
		"out/../../main.tf": "# out", "m/x.zip7": string(zipOf(t, map[string]string{"main.tf": "# seventh"})),
	}
	var asked []Place
	f := New(Options{Buckets: func(p Place) (Objects, error) { asked = append(asked, p); return objects, nil }})
	for source, want := range map[string]string{
		"s3::https://s3.amazonaws.com/b/m/x.zip":                                "# zip",
		"s3::https://s3.amazonaws.com/b/m/x.zip//sub":                           "# sub",
		"s3::https://s3.amazonaws.com/b/m/x.zip?version=7":                      "# seventh",
		"s3::https://b.s3.eu-west-1.amazonaws.com/m/plain?archive=zip":          "# zip",
		"s3::https://s3.amazonaws.com/b/dir":                                    "# dir",
		"s3::https://s3.amazonaws.com/b/dir//inner":                             "# inner",
		"gcs::https://www.googleapis.com/storage/v1/b/dir/":                     "# dir",
		"gcs::https://www.googleapis.com/storage/v1/b/m/x.zip":                  "# zip",
		"s3::https://s3.amazonaws.com/b/none":                                   "! nothing below none/",
		"s3::https://s3.amazonaws.com/b/none.zip":                               "! there is no object",
		"s3::https://s3.amazonaws.com/b/out":                                    "! leads out of the package",
		"s3::https://s3.amazonaws.com/b/m/x.zip?checksum=md5:00000000000000000": "! isn't made of hexadecimal digits",
		"s3::https://s3.amazonaws.com/b/dir?checksum=md5:00":                    "! needs an archive",
	} {
		got, _, err := f.Fetch(t.Context(), source, "", filepath.Join(t.TempDir(), "m"))
		if problem, bad := strings.CutPrefix(want, "! "); bad {
			wantError(t, err, problem)
		} else if err != nil {
			t.Errorf("%s: %v", source, err)
		} else if text := read(t, got, "main.tf"); text != want {
			t.Errorf("%s: %q", source, text)
		}
	}
	if asked[0].Bucket != "b" {
		t.Errorf("asked for %+v", asked[0])
	}
}

func TestPlaces(t *testing.T) {
	for address, want := range map[string]string{
		"https://s3.amazonaws.com/b/k/x.zip":             "b k/x.zip us-east-1 ",
		"https://s3-eu-west-1.amazonaws.com/b/k":         "b k eu-west-1 ",
		"https://s3.eu-west-1.amazonaws.com/b/k":         "b k eu-west-1 ",
		"https://b.s3.amazonaws.com/k":                   "b k us-east-1 ",
		"https://b.s3-eu-west-1.amazonaws.com/k":         "b k eu-west-1 ",
		"https://b.c.s3.eu-west-1.amazonaws.com/k/x.zip": "b.c k/x.zip eu-west-1 ",
		"http://127.0.0.1:9000/b/k?region=r":             "b k r http://127.0.0.1:9000",
		"https://minio.example.com/b/k":                  "b k us-east-1 https://minio.example.com",
		"https://sqs.amazonaws.com/b/k":                  "! isn't an address of S3",
		"https://b.s3.amazonaws.com/":                    "! names no bucket with a key",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		p, err := readAmazon(u)
		got := fmt.Sprintf("%s %s %s %s", p.Bucket, p.Key, p.Region, p.Endpoint)
		if err != nil {
			got = "! " + err.Error()
		}
		if problem, bad := strings.CutPrefix(want, "! "); got != want && !(bad && strings.Contains(got, problem)) {
			t.Errorf("%s: %s", address, got)
		}
	}
}
