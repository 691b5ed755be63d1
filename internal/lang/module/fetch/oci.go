package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/net/ociregistry"
)

// The media types in the manifest of a module package, as OpenTofu
// wants it.
const (
	imageManifest = "application/vnd.oci.image.manifest.v1+json"
	modulePackage = "application/vnd.opentofu.modulepkg"
	zipLayer      = "archive/zip"
)

// oci fetches a package from a registry of the OCI.
func (f *Fetcher) oci(ctx context.Context, address, to string) error {
	from, reference, err := readReference(address)
	if err != nil {
		return err
	}
	var manifest struct {
		MediaType    string `json:"mediaType"`
		ArtifactType string `json:"artifactType"`
		Layers       []struct {
			MediaType string `json:"mediaType"`
			Digest    string `json:"digest"`
			Size      int64  `json:"size"`
		} `json:"layers"`
	}
	var content []byte
	err = f.repeat(ctx, func() (err error) {
		content, _, err = f.containers.Manifest(ctx, from, reference, imageManifest)
		return asStatus(err)
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, &manifest); err != nil {
		return fmt.Errorf("the manifest of %s can't be read: %w", from, err)
	}
	if manifest.ArtifactType != modulePackage {
		return fmt.Errorf("%s isn't a module package: its artifact type is %q instead of %q", from, manifest.ArtifactType, modulePackage)
	}
	found := -1
	for i, layer := range manifest.Layers {
		switch {
		case layer.MediaType != zipLayer:
		case found >= 0:
			return fmt.Errorf("%s has several layers of the type %s", from, zipLayer)
		default:
			found = i
		}
	}
	if found < 0 {
		return fmt.Errorf("%s has no layer of the type %s", from, zipLayer)
	}
	layer := manifest.Layers[found]
	if layer.Size < 0 || layer.Size > f.limits.bytes {
		return fmt.Errorf("%s is too large for a module", from)
	}
	file := filepath.Join(filepath.Dir(to), "archive")
	defer os.Remove(file)
	err = f.repeat(ctx, func() error {
		out, err := os.Create(file)
		if err != nil {
			return err
		}
		return errors.Join(asStatus(f.containers.Blob(ctx, from, layer.Digest, layer.Size, out)), out.Close())
	})
	if err != nil {
		return err
	}
	return f.unpack(file, "zip", to)
}

// readReference reads an address: the repository, and a tag or a digest.
func readReference(address string) (from ociregistry.Repository, reference string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "oci" || u.User != nil {
		return from, "", fmt.Errorf("%q isn't an address of the form oci://registry.example.com/repository", address)
	}
	from = ociregistry.Repository{Registry: u.Host, Name: strings.TrimPrefix(u.Path, "/")}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return from, "", fmt.Errorf("the parameters %q can't be read: %w", u.RawQuery, err)
	}
	if err := from.Check(); err != nil {
		return from, "", err
	}
	for name, values := range query {
		switch {
		case name == "archive":
			return from, "", errors.New("the \"archive\" argument is not allowed for OCI sources: the manifest says what kind of archive it is")
		case name != "tag" && name != "digest":
			return from, "", fmt.Errorf("unsupported argument %q: there are tag and digest", name)
		case len(values) > 1:
			return from, "", fmt.Errorf("too many %q arguments", name)
		}
	}
	switch tagged, fixed := query.Has("tag"), query.Has("digest"); {
	case tagged && fixed:
		return from, "", errors.New("cannot set both \"tag\" and \"digest\" arguments")
	case fixed:
		return from, query.Get("digest"), ociregistry.CheckDigest(query.Get("digest"))
	case tagged:
		return from, query.Get("tag"), ociregistry.CheckTag(query.Get("tag"))
	}
	return from, "latest", nil
}

// asStatus has a refusal tried again as others are.
func asStatus(err error) error {
	var no *ociregistry.Refusal
	if errors.As(err, &no) && (no.Status < 500 && no.Status != 429) {
		return final{err}
	}
	return err
}

// final is an error that nothing is tried again for.
type final struct{ error }

func (f final) Unwrap() error { return f.error }
