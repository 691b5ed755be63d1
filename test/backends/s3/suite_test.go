// Package s3 tests the s3 backend with real servers: the contract of all backends, and
// OpenTofu on the same bucket.
package s3

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/s3"
	"weir.dev/weir/internal/state/storage/storagetest"
)

// gateway starts an S3 with a bucket named states.
func gateway(t *testing.T) (address string, objects *s3mem.Backend) {
	t.Helper()
	objects = s3mem.New()
	if err := objects.CreateBucket("states"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(objects).Server())
	t.Cleanup(server.Close)
	return server.URL, objects
}

// settings are arguments for the servers of the tests.
func settings(address string, more map[string]cty.Value) map[string]cty.Value {
	values := map[string]cty.Value{
		"bucket":                      cty.StringVal("states"),
		"key":                         cty.StringVal("team/app.tfstate"),
		"region":                      cty.StringVal("eu-central-1"),
		"access_key":                  cty.StringVal("key"),
		"secret_key":                  cty.StringVal("secret"),
		"use_path_style":              cty.True,
		"skip_credentials_validation": cty.True,
		"skip_requesting_account_id":  cty.True,
		"endpoints":                   endpoints(map[string]string{"s3": address}),
	}
	for name, v := range more {
		values[name] = v
	}
	return values
}

func endpoints(of map[string]string) cty.Value {
	values := map[string]cty.Value{}
	for name := range s3.Schema().Attributes["endpoints"].Nested.Attributes {
		values[name] = cty.NullVal(cty.String)
		if of[name] != "" {
			values[name] = cty.StringVal(of[name])
		}
	}
	return cty.ObjectVal(values)
}

func open(t *testing.T, values map[string]cty.Value) *s3.Backend {
	t.Helper()
	config := s3.Schema().EmptyValue().AsValueMap()
	for name, v := range values {
		config[name] = v
	}
	b, diags := s3.New(cty.ObjectVal(config), storage.Env{Getenv: os.Getenv})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

var places atomic.Int32

func TestContract(t *testing.T) {
	table := tables(t)
	for name, more := range map[string]map[string]cty.Value{
		"lock file": {"use_lockfile": cty.True},
		"table":     {"dynamodb_table": cty.StringVal("locks")},
		"both":      {"use_lockfile": cty.True, "dynamodb_table": cty.StringVal("locks")},
		"no lock":   {},
		"no prefix": {"use_lockfile": cty.True, "workspace_key_prefix": cty.StringVal("")},
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Subject {
				address, _ := gateway(t)
				values := settings(address, more)
				values["key"] = cty.StringVal(fmt.Sprintf("app%d.tfstate", places.Add(1)))
				values["endpoints"] = endpoints(map[string]string{"s3": address, "dynamodb": table})
				return storagetest.Subject{
					New:    func(t *testing.T) storage.Backend { return open(t, values) },
					NoLock: name == "no lock",
				}
			})
		})
	}
}

func state(t *testing.T, b storage.Backend, workspace string) storage.Store {
	t.Helper()
	s, err := b.State(workspace)
	do(t, err)
	return s
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func lock(t *testing.T, s storage.Store, operation string) string {
	t.Helper()
	id, err := s.Lock(context.Background(), storage.NewLockInfo(operation, "someone@somewhere", "1"))
	do(t, err)
	return id
}
