package s3

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
)

// shelf is a bucket without conditions.
func shelf() http.Handler {
	var objects sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"tag"`)
		switch content, there := objects.Load(r.URL.Path); {
		case r.Method == http.MethodPut:
			content, _ := io.ReadAll(r.Body)
			objects.Store(r.URL.Path, content)
		case !there:
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `<Error><Code>NoSuchKey</Code></Error>`)
		default:
			w.Write(content.([]byte))
		}
	})
}

// TestSilent has a service that stops answering, in each request.
func TestSilent(t *testing.T) {
	server := httptest.NewServer(shelf())
	defer server.Close()
	for name, v := range map[string]string{"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none", "AWS_PROFILE": ""} {
		t.Setenv(name, v)
	}
	storagetest.Silent(t, "tcp", strings.TrimPrefix(server.URL, "http://"), func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		b, said := made(nil, map[string]cty.Value{
			"access_key": cty.StringVal("a"), "secret_key": cty.StringVal("s"), "use_lockfile": cty.True, "use_path_style": cty.True,
			"endpoint":                    cty.StringVal("http://" + address),
			"skip_credentials_validation": cty.True, "skip_requesting_account_id": cty.True, "skip_region_validation": cty.True,
		})
		if b == nil {
			t.Fatal(said)
		}
		return b, func(d time.Duration) {
			b.access.patience = d
			if b.opened != nil {
				b.opened.bucket.patience = d
			}
		}
	})
}
