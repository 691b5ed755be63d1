package modreg

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAdmits(t *testing.T) {
	v := version{5, 100, 0}
	for constraints, want := range map[string]bool{
		"":                  true,
		">= 5.0":            true,
		">= 5.0, < 6.0":     true,
		">= 6.0":            false,
		"~> 5.0":            true,
		"~> 5":              true,
		"~> 4.0":            false,
		"~> 5.100.0":        true,
		"~> 5.99.0":         false,
		"!= 5.100.0":        false,
		"5.100.0":           true,
		"= 5.100":           true,
		"< 5.100.1, > 5.99": true,
		"<= 5.99":           false,
		"whatever":          true,
	} {
		if got := admits(constraints, v); got != want {
			t.Errorf("%q admits 5.100.0: %v", constraints, got)
		}
	}
}

func TestRequired(t *testing.T) {
	for text, want := range map[string]string{
		"required_providers {\n aws = {\n  source = \"hashicorp/aws\"\n  version = \">= 4\"\n }\n}": ">= 4",
		"required_providers {\n  aws = \"~> 3.0\"\n}":                                               "~> 3.0",
		"required_providers {\n  random = { version = \"3\" }\n}":                                   "",
	} {
		if got := required(text, "aws"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// repository makes a clone with releases of the module acme/net/aws.
func repository(t *testing.T, requirements map[string]string) (repos string) {
	t.Helper()
	repos = t.TempDir()
	dir := filepath.Join(repos, "acme+terraform-aws-net")
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "modules", "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	run("init", "-q")
	for _, tag := range sortedKeys(requirements) {
		text := "terraform {\n required_providers {\n  aws = { source = \"hashicorp/aws\", version = \"" + requirements[tag] + "\" }\n }\n}\n"
		for _, file := range []string{"versions.tf", "modules/sub/versions.tf"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "release"), []byte(tag), 0o666); err != nil {
			t.Fatal(err)
		}
		run("add", ".")
		run("commit", "-q", "-m", tag)
		run("tag", tag)
	}
	return repos
}

func sortedKeys(m map[string]string) []string {
	var out []string
	for _, k := range []string{"v1.0.0", "v1.9.0", "v1.10.0", "v2.0.0", "nightly"} {
		if _, ok := m[k]; ok {
			out = append(out, k)
		}
	}
	return out
}

func TestRegistry(t *testing.T) {
	repos := repository(t, map[string]string{"v1.0.0": ">= 4.0", "v1.9.0": "~> 4.0", "v1.10.0": ">= 5.0", "v2.0.0": ">= 6.0", "nightly": ""})
	var log bytes.Buffer
	g, err := New(repos, t.TempDir(), "/modreg/", "aws", "5.100.0", &log)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g)
	defer server.Close()
	get := func(url string) (*http.Response, []byte) {
		t.Helper()
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, body
	}

	_, body := get(server.URL + "/modreg/acme/net/aws/versions")
	const want = `{"modules":[{"source":"acme/net/aws","versions":[{"version":"1.10.0"},{"version":"1.0.0"}]}]}`
	if strings.TrimSpace(string(body)) != want {
		t.Errorf("versions: %s\nwant %s", body, want)
	}

	response, _ := get(server.URL + "/modreg/acme/net/aws/1.10.0/download")
	place := response.Header.Get("X-Terraform-Get")
	if response.StatusCode != http.StatusNoContent || !strings.HasPrefix(place, server.URL+"/modreg/archive/") {
		t.Fatalf("download: %d %q", response.StatusCode, place)
	}
	_, body = get(place)
	unzipped, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(archive)
		files[header.Name] = string(text)
	}
	if files["release"] != "v1.10.0" || files["modules/sub/versions.tf"] == "" {
		t.Errorf("the archive has %v", files)
	}

	for _, none := range []string{"acme/net/aws/2.0.0/download", "acme/none/aws/versions"} {
		if response, _ := get(server.URL + "/modreg/" + none); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", none, response.StatusCode)
		}
	}
	if !strings.Contains(log.String(), "no module acme/none/aws: ") {
		t.Errorf("the log is %s", log.String())
	}
}
