package cli

import (
	"archive/zip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestModuleScripts runs the scripts below testdata/modules beside a web server
// for the files in www, which is the module registry registry.example.com and
// the provider registry in place of the default one, and has www/NAME.zip for each directory zip/NAME.
func TestModuleScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/modules",
		UpdateScripts:       slices.Contains(os.Args, "-update"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			www := filepath.Join(env.WorkDir, "www")
			server := httptest.NewServer(http.FileServer(http.Dir(www)))
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
