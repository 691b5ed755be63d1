// Package azurerm tests weir and OpenTofu with states in the same Azure Storage container.
package azurerm

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/azurerm"
	"weir.dev/weir/internal/state/storage/storagetest"
	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

const account = "account"

// service is Azurite where AZURITE says its address, which has to know the account
// with testservers.AzureKey; and a server of the calls that backends make otherwise.
func service(t *testing.T) http.Handler {
	address := os.Getenv("AZURITE")
	if address == "" {
		return &testservers.Azure{}
	}
	to, err := url.Parse(address)
	must(t, err)
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
}

// direct is a client for which every host is the handler.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RequestURI, r.Host = r.URL.RequestURI(), r.URL.Host
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

// client is one of the SDK for the container.
func client(t *testing.T, h http.Handler) *container.Client {
	t.Helper()
	key, err := container.NewSharedKeyCredential(account, testservers.AzureKey)
	must(t, err)
	c, err := container.NewClientWithSharedKeyCredential("https://"+account+".blob.core.windows.net/states", key,
		&container.ClientOptions{ClientOptions: policy.ClientOptions{Transport: &http.Client{Transport: direct{h}}}})
	must(t, err)
	return c
}

// renew makes the container again.
func renew(t *testing.T, h http.Handler) {
	t.Helper()
	if _, own := h.(*testservers.Azure); own {
		return
	}
	c := client(t, h)
	_, _ = c.Delete(t.Context(), nil)
	_, err := c.Create(t.Context(), nil)
	must(t, err)
}

func TestContract(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		h := service(t)
		renew(t, h)
		return storagetest.Subject{New: func(t *testing.T) storage.Backend {
			config := azurerm.Schema().EmptyValue().AsValueMap()
			for name, v := range map[string]string{"storage_account_name": account, "container_name": "states", "key": "a b/app.tfstate", "access_key": testservers.AzureKey} {
				config[name] = cty.StringVal(v)
			}
			b, diags := azurerm.New(cty.ObjectVal(config), storage.Env{})
			if b == nil {
				t.Fatal(diags)
			}
			b.HTTP = &http.Client{Transport: direct{h}}
			return b
		}}
	})
}

func TestEngines(t *testing.T) {
	h := service(t)
	renew(t, h)
	engines.Run(t, engines.Place{
		Kind: "azurerm",
		Arguments: `
    storage_account_name = "` + account + `"
    container_name = "states"
    key = "%s/app.tfstate"
    access_key = "` + testservers.AzureKey + `"`,
		Env: engines.Intercept(t, []string{"*.blob.core.windows.net"}, h),
		Content: func(t *testing.T, name string) []byte {
			response, err := client(t, h).NewBlobClient(name+"/app.tfstate").DownloadStream(t.Context(), nil)
			must(t, err)
			content, err := io.ReadAll(response.Body)
			must(t, err)
			return content
		},
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
