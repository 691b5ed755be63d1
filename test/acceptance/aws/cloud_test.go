package aws

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"weir.dev/aws/cloud"
	"weir.dev/weir/test/acceptance/engine"
)

const release = "5.100.0"

// plugin finds the provider.
func plugin(t *testing.T) string {
	if path := os.Getenv("WEIR_AWS_PROVIDER"); path != "" {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("WEIR_AWS_PROVIDER: %v", err)
		}
		return path
	}
	file := filepath.Join("registry.*.org", "hashicorp", "aws", release, engine.Platform, "terraform-provider-aws_v"+release+"*")
	home, _ := os.UserHomeDir()
	places := []string{
		"../../../.cache/mirror", // of this project
		filepath.Join(home, ".terraform.d", "plugins"),
		filepath.Join(home, ".terraform.d", "plugin-cache"),
		"/usr/local/share/terraform/plugins",
		"/usr/share/terraform/plugins",
		"/opt/*",
	}
	for _, place := range places {
		for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
			found, _ := filepath.Glob(filepath.Join(place, strings.Replace(file, "registry.*.org", host, 1)))
			if len(found) > 0 {
				return found[0]
			}
		}
	}
	t.Skipf("the provider hashicorp/aws %s isn't on this machine: set WEIR_AWS_PROVIDER to its plugin, terraform-provider-aws_v%s_x5, or keep it as\nHOST/hashicorp/aws/%s/%s/ below one of %s",
		release, release, release, engine.Platform, strings.Join(places, ", "))
	return ""
}

// A world is a cloud and an engine that works on it.
type world struct {
	*engine.Engine
	t   *testing.T
	url string
	log *logbook
}

func start(t *testing.T, name string) *world {
	e := engine.Start(t, name, engine.Provider{Source: "hashicorp/aws", Version: release, Plugin: plugin(t)})
	w := &world{Engine: e, t: t, log: &logbook{}}
	server := httptest.NewServer(cloud.New(w.log))
	t.Cleanup(server.Close)
	w.url = server.URL
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the cloud's log:\n%s", w.log)
		}
	})
	none := filepath.Join(t.TempDir(), "none") // instead of the settings of the caller that runs this
	if err := os.WriteFile(none, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	e.Setenv("AWS_ENDPOINT_URL="+w.url, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION=us-east-1",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_MAX_ATTEMPTS=2", "AWS_CONFIG_FILE="+none, "AWS_SHARED_CREDENTIALS_FILE="+none)
	return w
}

// A thing is what the cloud gets behind the engine's back: a request as the SDKs
// make it.
type thing struct {
	service, region string
	method, target  string // of REST
	call            string // of the others
	params          string // of queries "A=1&B=2", else a body
}

func (w *world) behind(things ...thing) {
	w.t.Helper()
	for _, x := range things {
		w.ask(x)
	}
}

func (w *world) ask(x thing) string {
	w.t.Helper()
	if x.method == "" {
		x.method, x.target = http.MethodPost, "/"
	}
	header := http.Header{"Authorization": {"AWS4-HMAC-SHA256 Credential=test/20240101/" + x.region + "/" + x.service + "/aws4_request"}}
	body := x.params
	switch {
	case x.call != "" && strings.HasPrefix(x.params, "{"):
		header.Set("X-Amz-Target", "Service."+x.call)
	case x.call != "":
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		form, err := url.ParseQuery(x.params)
		if err != nil {
			w.t.Fatal(err)
		}
		form.Set("Action", x.call)
		body = form.Encode()
	}
	r, err := http.NewRequest(x.method, w.url+x.target, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if response.StatusCode >= 300 {
		w.t.Fatalf("%+v: %d %s", x, response.StatusCode, text)
	}
	return string(text)
}

// A logbook keeps the cloud's log.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logbook) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// unanswered fails the test if the cloud was asked for what it doesn't know.
func (w *world) unanswered() {
	w.t.Helper()
	for line := range strings.Lines(w.log.String()) {
		if strings.HasPrefix(line, "unanswered ") {
			w.t.Errorf("the cloud doesn't know %s", strings.TrimPrefix(line, "unanswered "))
		}
	}
}
