// Package backends lists the backend types. It is separate from package storage, which they
// all import.
package backends

import (
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/azurerm"
	"weir.dev/weir/internal/state/storage/consul"
	"weir.dev/weir/internal/state/storage/cos"
	"weir.dev/weir/internal/state/storage/gcs"
	"weir.dev/weir/internal/state/storage/http"
	"weir.dev/weir/internal/state/storage/inmem"
	"weir.dev/weir/internal/state/storage/kubernetes"
	"weir.dev/weir/internal/state/storage/local"
	"weir.dev/weir/internal/state/storage/oci"
	"weir.dev/weir/internal/state/storage/oss"
	"weir.dev/weir/internal/state/storage/pg"
	"weir.dev/weir/internal/state/storage/remote"
	"weir.dev/weir/internal/state/storage/s3"
)

// All returns the registry of all types.
func All() storage.Registry {
	return storage.Registry{
		"azurerm":    azurerm.Type,
		"cloud":      remote.Cloud,
		"consul":     consul.Type,
		"cos":        cos.Type,
		"gcs":        gcs.Type,
		"http":       http.Type,
		"inmem":      inmem.Type,
		"kubernetes": kubernetes.Type,
		"local":      local.Type,
		"oci":        oci.Type,
		"oss":        oss.Type,
		"pg":         pg.Type,
		"remote":     remote.Type,
		"s3":         s3.Type,
	}
}
