// Package backends lists the backend types. It is separate from package storage, which they
// all import.
package backends

import (
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/azurerm"
	"weir.dev/weir/internal/state/storage/consul"
	"weir.dev/weir/internal/state/storage/cos"
	"weir.dev/weir/internal/state/storage/database"
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
		"azurerm":    storage.TypeOf(azurerm.Schema, azurerm.New),
		"cloud":      remote.Cloud(),
		"consul":     storage.TypeOf(consul.Schema, consul.New),
		"cos":        storage.TypeOf(cos.Schema, cos.New),
		"database":   database.Type,
		"gcs":        storage.TypeOf(gcs.Schema, gcs.New),
		"http":       storage.TypeOf(http.Schema, http.New),
		"inmem":      inmem.Type,
		"kubernetes": storage.TypeOf(kubernetes.Schema, kubernetes.New),
		"local":      storage.TypeOf(local.Schema, local.New),
		"oci":        storage.TypeOf(oci.Schema, oci.New),
		"oss":        storage.TypeOf(oss.Schema, oss.New),
		"pg":         storage.TypeOf(pg.Schema, pg.New),
		"remote":     remote.Type(),
		"s3":         storage.TypeOf(s3.Schema, s3.New),
	}
}
