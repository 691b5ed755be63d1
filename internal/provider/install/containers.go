package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/net/ociregistry"
	"weir.dev/weir/internal/provider/version"
)

// The media types in manifests of providers, as OpenTofu wants it.
const (
	imageIndex      = "application/vnd.oci.image.index.v1+json"
	imageManifest   = "application/vnd.oci.image.manifest.v1+json"
	providerAll     = "application/vnd.opentofu.provider"
	providerPackage = "application/vnd.opentofu.provider-target"
	zipLayer        = "archive/zip"
)

// containers is a mirror in registries of the OCI: a repository for each provider, with a
// tag for each version, whose index has a package for each platform.
type containers struct {
	client   *ociregistry.Client
	method   *cliconfig.Method
	platform string
	limits   cliconfig.Registry
}

func (c *containers) String() string { return c.method.Location }

// tag is the name of a version: a tag can't have a plus sign.
func tag(v version.Version) string { return strings.ReplaceAll(v.String(), "+", "_") }

func (c *containers) versions(ctx context.Context, p addr.Provider) ([]version.Version, []string, error) {
	from, err := c.method.Repository(p)
	if err != nil {
		return nil, nil, err
	}
	var tags []string
	err = repeat(ctx, c.limits.Retries, func() (err error) {
		tags, err = c.client.Tags(ctx, from)
		return err
	})
	if err != nil {
		return nil, nil, c.unknown(err)
	}
	var out []version.Version
	for _, name := range tags {
		if v, err := version.Parse(strings.ReplaceAll(name, "_", "+")); err == nil {
			out = append(out, v) // other tags are for people
		}
	}
	return out, nil, nil
}

func (c *containers) unknown(err error) error {
	var refusal *ociregistry.Refusal
	if errors.As(err, &refusal) && refusal.Unknown() {
		return errUnknown
	}
	return err
}

// A descriptor is what manifests say of others and of blobs.
type descriptor struct {
	MediaType    string `json:"mediaType"`
	ArtifactType string `json:"artifactType"`
	Digest       string `json:"digest"`
	Size         int64  `json:"size"`
	Platform     *struct {
		System       string `json:"os"`
		Architecture string `json:"architecture"`
		Version      string `json:"os.version"`
	} `json:"platform"`
}

func (d descriptor) isFor(platform string) bool {
	return d.Platform != nil && d.Platform.Version == "" && d.Platform.System+"_"+d.Platform.Architecture == platform
}

// manifest reads an index or a manifest, which has to be of the type, and whose parts are
// those of the further type.
func (c *containers) manifest(ctx context.Context, from ociregistry.Repository, reference, mediaType, artifactType string) (parts []descriptor, err error) {
	var content []byte
	err = repeat(ctx, c.limits.Retries, func() (err error) {
		content, _, err = c.client.Manifest(ctx, from, reference, mediaType)
		return err
	})
	if err != nil {
		return nil, err
	}
	var read struct {
		ArtifactType string       `json:"artifactType"`
		Manifests    []descriptor `json:"manifests"`
		Layers       []descriptor `json:"layers"`
	}
	if err := json.Unmarshal(content, &read); err != nil {
		return nil, fmt.Errorf("the manifest %s of %s can't be read: %w", reference, from, err)
	}
	if read.ArtifactType != artifactType {
		return nil, fmt.Errorf("%s of %s isn't a provider for all platforms or one of them: its artifact type is %q instead of %q", reference, from, read.ArtifactType, artifactType)
	}
	return append(read.Manifests, read.Layers...), nil
}

// single is the one of the parts that is wanted.
func single(parts []descriptor, from ociregistry.Repository, what string, wanted func(descriptor) bool) (one descriptor, err error) {
	n := 0
	for _, d := range parts {
		if wanted(d) {
			one = d
			n++
		}
	}
	if n != 1 {
		return one, fmt.Errorf("%s has %d %s instead of one", from, n, what)
	}
	return one, nil
}

func (c *containers) find(ctx context.Context, p addr.Provider, v version.Version) (*found, error) {
	from, err := c.method.Repository(p)
	if err != nil {
		return nil, err
	}
	packages, err := c.manifest(ctx, from, tag(v), imageIndex, providerAll)
	if refusal := (*ociregistry.Refusal)(nil); errors.As(err, &refusal) && (refusal.Status == http.StatusNotFound || refusal.Unknown()) {
		return nil, errUnknown
	}
	if err != nil {
		return nil, err
	}
	fits := func(d descriptor) bool {
		return d.ArtifactType == providerPackage && d.MediaType == imageManifest && d.isFor(c.platform)
	}
	if !slices.ContainsFunc(packages, fits) {
		return nil, unsuitable{fmt.Sprintf("the repository %s has this version, but no package for %s", from, c.platform)}
	}
	image, err := single(packages, from, "packages for "+c.platform, fits)
	if err != nil {
		return nil, err
	}
	layers, err := c.manifest(ctx, from, image.Digest, imageManifest, providerPackage)
	if err != nil {
		return nil, err
	}
	layer, err := single(layers, from, "layers of the type "+zipLayer, func(d descriptor) bool { return d.MediaType == zipLayer })
	if err != nil {
		return nil, err
	}
	sum, known := strings.CutPrefix(layer.Digest, "sha256:")
	switch {
	case !known:
		return nil, fmt.Errorf("the package in %s has the digest %q, and lock files have those of sha256", from, layer.Digest)
	case layer.Size < 0 || layer.Size > mostBytes:
		return nil, errTooLarge
	}
	return &found{
		blob: func(ctx context.Context, to io.Writer) error {
			return c.client.Blob(ctx, from, layer.Digest, layer.Size, to)
		},
		retries:        c.limits.DownloadRetries,
		size:           layer.Size,
		authorized:     []string{"zh:" + sum},
		authentication: Checked,
	}, nil
}
