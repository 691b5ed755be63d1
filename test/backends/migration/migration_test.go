// Package migration migrates states from every backend to every other one.
package migration

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	_ "github.com/ncruces/go-sqlite3/driver"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wrap, unless nil, is put around servers.
var wrap func(http.Handler) http.Handler

func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// many are servers of one state each, by the path.
type many struct {
	mu  sync.Mutex
	all map[string]*testservers.HTTP
}

func (m *many) at(path string) *testservers.HTTP {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[path] == nil {
		m.all[path] = &testservers.HTTP{Tags: true}
	}
	return m.all[path]
}

func (m *many) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.at(r.URL.Path).ServeHTTP(w, r) }

func TestMatrix(t *testing.T) {
	web := &many{all: map[string]*testservers.HTTP{}}
	address := serve(t, web)
	places := []engines.Place{
		engines.Local(t.TempDir()),
		{
			Kind:      "http",
			Arguments: fmt.Sprintf("    address = \"%[1]s/%%s\"\n    lock_address = \"%[1]s/%%s\"\n    unlock_address = \"%[1]s/%%s\"", address),
			Content:   func(_ *testing.T, name string) []byte { return web.at("/" + name).State() },
		},
		bucket(t), google(t), alibaba(t), oracle(t), agent(t), cluster(t),
	}
	places = append(places, sqlite(t))
	places = append(places, clouds(t)...)
	places = append(places, workspaces(t)...)
	if server, stop, err := testservers.Postgres(); err == nil {
		t.Cleanup(stop)
		places = append(places, postgres(server), rows(server))
	} else {
		t.Logf("without pg: %v", err)
	}
	engines.Matrix(t, places)
}

func bucket(t *testing.T) engines.Place {
	objects := s3mem.New()
	must(t, objects.CreateBucket("states"))
	return engines.Place{
		Kind: "s3",
		Arguments: fmt.Sprintf(`
    bucket = "states"
    key    = "%%s.tfstate"
    region = "eu-central-1"
    endpoints = { s3 = %q }
    use_path_style = true
    use_lockfile   = true
    skip_credentials_validation = true
    skip_requesting_account_id  = true`, serve(t, gofakes3.New(objects).Server())),
		Env: []string{"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true"},
		Content: func(t *testing.T, name string) []byte {
			object, err := objects.GetObject("states", name+".tfstate", nil)
			must(t, err)
			content, err := io.ReadAll(object.Contents)
			must(t, err)
			return content
		},
	}
}

func google(t *testing.T) engines.Place {
	objects := &testservers.Google{}
	return engines.Place{
		Kind:      "gcs",
		Arguments: fmt.Sprintf("    bucket = \"states\"\n    prefix = \"%%s\"\n    access_token = \"token\"\n    storage_custom_endpoint = \"%s/storage/v1/\"", serve(t, objects)),
		Content: func(_ *testing.T, name string) []byte {
			content, _ := objects.Object(name + "/default.tfstate")
			return content
		},
	}
}

// clouds are those whose backends are reported no address: all hosts are intercepted.
func clouds(t *testing.T) []engines.Place {
	blobs, objects := &testservers.Azure{}, testservers.NewTencent()
	environment := engines.Intercept(t, []string{"*.blob.core.windows.net", "*.cos.ap-guangzhou.myqcloud.com", "tag.tencentcloudapi.com"},
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.Host, ".windows.net") {
				blobs.ServeHTTP(w, r)
			} else {
				objects.ServeHTTP(w, r)
			}
		}))
	azure, tencent := azure(blobs), tencent(objects)
	azure.Env, tencent.Env = environment, environment
	return []engines.Place{azure, tencent}
}

func azure(blobs *testservers.Azure) engines.Place {
	return engines.Place{
		Kind: "azurerm",
		Arguments: `
    storage_account_name = "account"
    container_name = "states"
    key = "%s.tfstate"
    access_key = "` + testservers.AzureKey + `"`,
		Content: func(t *testing.T, name string) []byte {
			r := httptest.NewRequest(http.MethodGet, "/states/"+name+".tfstate", nil)
			w := httptest.NewRecorder()
			blobs.ServeHTTP(w, r)
			return w.Body.Bytes()
		},
	}
}

func alibaba(t *testing.T) engines.Place {
	cloud := testservers.NewAlibaba()
	return engines.Place{
		Kind: "oss",
		Arguments: fmt.Sprintf(`
    bucket = "states"
    prefix = "%%s"
    region = "eu-central-1"
    endpoint = %[1]q
    access_key = "key"
    secret_key = "secret"
    tablestore_endpoint = %[1]q
    tablestore_table = "locks"`, serve(t, cloud)),
		Content: func(_ *testing.T, name string) []byte { return cloud.Object(name + "/terraform.tfstate") },
	}
}

func tencent(cloud *testservers.Tencent) engines.Place {
	return engines.Place{
		Kind: "cos",
		Arguments: `
    bucket = "states"
    prefix = "%s"
    region = "ap-guangzhou"
    secret_id = "key"
    secret_key = "secret"`,
		Content: func(_ *testing.T, name string) []byte { return cloud.Object(name + "/terraform.tfstate") },
	}
}

func oracle(t *testing.T) engines.Place {
	cloud := testservers.NewOracle()
	key := filepath.Join(t.TempDir(), "key.pem")
	must(t, os.WriteFile(key, []byte(cloud.Key()), 0o600))
	return engines.Place{
		Kind: "oci",
		Arguments: `
    bucket = "states"
    namespace = "ns"
    key = "%s.tfstate"
    region = "eu-frankfurt-1"
    tenancy_ocid = "tenancy"
    user_ocid = "user"
    fingerprint = "print"
    private_key_path = "` + key + `"`,
		Env:     []string{"CLIENT_HOST_OVERRIDES=oci_object_storage.ObjectStorageClient=" + serve(t, cloud)},
		Content: func(_ *testing.T, name string) []byte { return cloud.Object(name + ".tfstate") },
	}
}

func agent(t *testing.T) engines.Place {
	keys := &testservers.Consul{}
	return engines.Place{
		Kind:      "consul",
		Arguments: fmt.Sprintf("    address = %q\n    path = \"states/%%s\"", strings.TrimPrefix(serve(t, keys), "http://")),
		Content: func(_ *testing.T, name string) []byte {
			value, _ := keys.Value("states/" + name)
			return value
		},
	}
}

func cluster(t *testing.T) engines.Place {
	objects := &testservers.Kubernetes{}
	file := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(file, []byte(`
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "`+serve(t, objects)+`"}}]
users: [{name: u, user: {token: t}}]
`), 0o600))
	return engines.Place{
		Kind:      "kubernetes",
		Arguments: fmt.Sprintf("    config_path = %q\n    secret_suffix = \"%%s\"", file),
		Content: func(t *testing.T, name string) []byte {
			r, err := gzip.NewReader(bytes.NewReader(objects.Data("tfstate-default-"+name, "tfstate")))
			must(t, err)
			content, err := io.ReadAll(r)
			must(t, err)
			return content
		},
	}
}

// workspaces are the remote backend and a cloud block.
func workspaces(t *testing.T) []engines.Place {
	service := &testservers.Remote{}
	remote := engines.Place{
		Kind:      "remote",
		Settings:  fmt.Sprintf("host \"app.example.com\" {\n  services = { \"tfe.v2\" = \"%s/api/v2/\" }\n}\ncredentials \"app.example.com\" {\n  token = \"me-token\"\n}\n", serve(t, service)),
		Arguments: "    hostname = \"app.example.com\"\n    organization = \"org\"\n    workspaces {\n      name = \"%s\"\n    }",
		Content: func(_ *testing.T, name string) []byte {
			state, _ := service.State(name)
			return state
		},
	}
	cloud := remote
	cloud.Kind, cloud.Settings = "cloud", ""
	return []engines.Place{remote, cloud}
}

// sqlite and rows keep a state as rows.
func sqlite(t *testing.T) engines.Place {
	dir := t.TempDir()
	return engines.Place{
		Kind:      "database",
		Arguments: "    url = \"sqlite:" + dir + "/%s.db\"",
		Content: func(t *testing.T, name string) []byte {
			return stored(t, "sqlite3", "file:"+filepath.Join(dir, name+".db"), "")
		},
	}
}

func rows(server string) engines.Place {
	at := "postgres:///postgres?" + strings.NewReplacer(" ", "&", "dbname=postgres", "").Replace(server)
	return engines.Place{
		Kind:      "database",
		Arguments: fmt.Sprintf("    url = %q\n    schema = \"rows-%%s\"", at),
		Content:   func(t *testing.T, name string) []byte { return stored(t, "pgx", at, fmt.Sprintf("%q.", "rows-"+name)) },
	}
}

// stored is what the rows of objects and outputs have.
func stored(t *testing.T, driver, at, schema string) (all []byte) {
	db, err := sql.Open(driver, at)
	must(t, err)
	defer db.Close()
	for _, table := range []string{"objects", "outputs"} {
		list, err := db.QueryContext(t.Context(), "SELECT body FROM "+schema+table)
		must(t, err)
		defer list.Close()
		for list.Next() {
			var body string
			must(t, list.Scan(&body))
			all = append(all, body...)
		}
		must(t, list.Err())
	}
	return all
}

func postgres(server string) engines.Place {
	return engines.Place{
		Kind:      "pg",
		Arguments: fmt.Sprintf("    conn_str = %q\n    schema_name = \"%%s\"", server),
		Content: func(t *testing.T, name string) (content []byte) {
			db, err := sql.Open("pgx", server)
			must(t, err)
			defer db.Close()
			must(t, db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT data FROM %q.states WHERE name = 'default'", name)).Scan(&content))
			return content
		},
	}
}
