package cli_test

import (
	"archive/zip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestModuleScripts runs the scripts in the folder modules beside a web server for the files
// in www, which is the module registry registry.example.com and the provider registry in place
// of the default one, and has www/NAME.zip for each directory zip/NAME. A caller that opens
// /authorize is logged in.
func TestModuleScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 scripts + "modules",
		UpdateScripts:       slices.Contains(os.Args, "-update"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			www := filepath.Join(env.WorkDir, "www")
			mux := http.NewServeMux()
			mux.Handle("/", http.FileServer(http.Dir(www)))
			mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				http.Redirect(w, r, q.Get("redirect_uri")+"?code=x&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
			})
			server := httptest.NewServer(mux)
			env.Defer(server.Close)
			home := filepath.Join(env.WorkDir, ".home")
			if err := os.Mkdir(home, 0o755); err != nil {
				return err
			}
			for name, value := range map[string]string{
				"HOME": home, "TF_IN_AUTOMATION": "1", "URL": server.URL,
				"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@example.com", "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@example.com",
			} {
				env.Setenv(name, value)
			}
			settings := fmt.Sprintf("host \"registry.example.com\" {\n  services = { \"modules.v1\" = %q }\n}\nhost \"registry.opentofu.org\" {\n  services = { \"providers.v1\" = %q }\n}\n", server.URL+"/v1/", server.URL+"/p/")
			settings += fmt.Sprintf("host \"login.example.com\" {\n  services = {\n    \"login.v1\" = { client = \"weir\", authz = \"%s/authorize\", token = \"%[1]s/token\" }\n  }\n}\n", server.URL)
			settings += "credentials \"written.example.com\" {\n  token = \"x\"\n}\n"
			if err := os.WriteFile(filepath.Join(home, ".terraformrc"), []byte(settings), 0o644); err != nil {
				return err
			}
			packages, err := filepath.Glob(filepath.Join(env.WorkDir, "zip", "*"))
			if err != nil {
				return err
			}
			for _, dir := range packages {
				if err := pack(dir, filepath.Join(www, filepath.Base(dir)+".zip")); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func pack(dir, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	w := zip.NewWriter(f)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return w.Close()
}
