package cliconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/core/addr"
)

const everything = `
plugin_cache_dir = "$HOME/cache"
plugin_cache_may_break_dependency_lock_file = true
disable_checkpoint = true

host "Registry.Example.com" {
  services = {
    "providers.v1" = "https://example.com/p/"
    "login.v1"     = { client = "x" }
  }
}
credentials "app.terraform.io" { token = "t1" }
credentials_helper "vault" { args = ["-a", "b"] }
registry_protocols {
  retry_count             = 5
  request_timeout_seconds = 7
}
provider_installation {
  dev_overrides {
    "a/b" = "/dev/b"
  }
  filesystem_mirror {
    path    = "/mirror"
    include = ["example.com/*/*", "hashicorp/null"]
  }
  network_mirror {
    url                  = "https://m.example.com/"
    exclude              = ["*/*/*"]
    download_retry_count = 9
    trust_all_hashes     = true
  }
  oci_mirror { repository_template = "x/${hostname}/${namespace}/${type}" }
  direct {}
}
provider_budget "hashicorp/aws" {
  at_once    = 50
  per_second = 12.5
  type "aws_route53_record" { per_second = 5 }
  type "aws_instance" { at_once = 3 }
}
provider_budget "example.com/a/b" { type "b_x" { at_once = 1 } }
`

func read(t *testing.T, name, text string) (*Config, string) {
	t.Helper()
	c := &Config{Hosts: map[string]map[string]any{}, Tokens: map[string]string{}}
	var lines []string
	for _, d := range c.Read(name, []byte(text), os.Getenv, addr.OpenTofu) {
		lines = append(lines, d.String())
	}
	return c, strings.Join(lines, "\n")
}

func TestReadEverything(t *testing.T) {
	t.Setenv("HOME", "/h")
	c, problems := read(t, "rc", everything)
	if problems != "" {
		t.Fatal(problems)
	}
	if c.PluginCacheDir != "/h/cache" || !c.CacheMayBreakLocks || c.Tokens["app.terraform.io"] != "t1" ||
		c.Registry.Retries != 5 || c.Registry.Timeout != 7*time.Second {
		t.Errorf("%+v", c)
	}
	if c.Hosts["registry.example.com"]["providers.v1"] != "https://example.com/p/" {
		t.Errorf("hosts %v", c.Hosts)
	}
	if !reflect.DeepEqual(c.Helper, &Helper{"vault", []string{"-a", "b"}}) {
		t.Errorf("helper %+v", c.Helper)
	}
	aws, other := addr.OpenTofu.Provider("aws"), addr.Provider{Host: "example.com", Namespace: "a", Type: "b"}
	if want := (map[BudgetOf]Budget{
		{Provider: aws}: {50, 12.5}, {aws, "aws_route53_record"}: {0, 5}, {aws, "aws_instance"}: {3, 0}, {Provider: other}: {}, {other, "b_x"}: {1, 0},
	}); !reflect.DeepEqual(c.Budgets, want) {
		t.Errorf("budgets %v", c.Budgets)
	}
	in := c.Installation
	b := addr.Provider{Host: string(addr.OpenTofu), Namespace: "a", Type: "b"}
	if in == nil || in.Overrides[b] != "/dev/b" || len(in.Methods) != 4 {
		t.Fatalf("%+v", in)
	}
	null := addr.OpenTofu.Provider("null")
	mirror, network, oci, direct := &in.Methods[0], &in.Methods[1], &in.Methods[2], &in.Methods[3]
	if mirror.Kind != FilesystemMirror || mirror.Location != "/mirror" || !mirror.Allows(null) || mirror.Allows(b) ||
		!mirror.Allows(addr.Provider{Host: "example.com", Namespace: "x", Type: "y"}) || mirror.Range.Start.Line != 22 {
		t.Errorf("mirror %+v", mirror)
	}
	if network.Allows(null) || network.DownloadRetries != 9 || !network.TrustAllHashes || network.Location != "https://m.example.com/" {
		t.Errorf("network %+v", network)
	}
	if oci.Location != "x/${hostname}/${namespace}/${type}" || direct.Kind != Direct || !direct.Allows(b) || direct.DownloadRetries != -1 {
		t.Errorf("%+v %+v", oci, direct)
	}
}

func TestReadJSON(t *testing.T) {
	c, problems := read(t, "rc.tfrc.json", `{"provider_budget":{"a/b":{"at_once":7,"type":{"b_x":{"per_second":2}}}}}`)
	b := addr.Provider{Host: string(addr.OpenTofu), Namespace: "a", Type: "b"}
	if problems != "" || !reflect.DeepEqual(c.Budgets, map[BudgetOf]Budget{{Provider: b}: {7, 0}, {b, "b_x"}: {0, 2}}) {
		t.Errorf("%v %s", c.Budgets, problems)
	}
	c, problems = read(t, "credentials.tfrc.json", `{"credentials":{"a.example.com":{"token":"x"},"b.example.com":{"token":"y"}},
		"provider_installation":{"direct":{"exclude":["a/b"]},"filesystem_mirror":{"path":"/m"}}}`)
	if problems != "" || c.Tokens["a.example.com"] != "x" || c.Tokens["b.example.com"] != "y" {
		t.Errorf("%+v %s", c, problems)
	}
	if c.Installation == nil || len(c.Installation.Methods) != 2 || len(c.Installation.Methods[0].Exclude) != 1 || c.Installation.Methods[1].Location != "/m" {
		t.Errorf("%+v", c.Installation)
	}
}

// TestBudgetsOfFiles: a later file adds to what an earlier one says of a provider, and counts where
// both say something.
func TestBudgetsOfFiles(t *testing.T) {
	c := &Config{}
	for i, text := range []string{"provider_budget \"a\" {\n  at_once = 1\n  per_second = 2\n}\n", "provider_budget \"a\" {\n  at_once = 3\n  refresh_after = \"1h\"\n}\n"} {
		if diags := c.Read(fmt.Sprint(i), []byte(text), os.Getenv, addr.OpenTofu); len(diags) > 0 {
			t.Fatal(diags)
		}
	}
	of := BudgetOf{Provider: addr.OpenTofu.Provider("a")}
	if c.Budgets[of] != (Budget{3, 2}) || *c.Looks[of].After != time.Hour {
		t.Errorf("%+v %+v", c.Budgets, c.Looks)
	}
}

// TestReadLooks: how objects are inspected is said by type.
func TestReadLooks(t *testing.T) {
	c, problems := read(t, "rc", "provider_budget \"aws\" {\n  type \"aws_a\" {\n    by_list = true\n    by_list_from = 30\n    at_once = 2\n  }\n  refresh_after = \"1h\"\n  type \"aws_b\" {\n    by_list = false\n    refresh_after = \"0s\"\n  }\n}\n")
	hour, never := time.Hour, time.Duration(0)
	aws := addr.OpenTofu.Provider("aws")
	if want := (map[BudgetOf]Look{{aws, "aws_a"}: {ByList: true, From: 30}, {aws, "aws_b"}: {After: &never}, {Provider: aws}: {After: &hour}}); problems != "" || !reflect.DeepEqual(c.Looks, want) || c.Budgets[BudgetOf{aws, "aws_a"}].AtOnce != 2 {
		t.Errorf("%+v %s", c.Looks, problems)
	}
}

func TestReadProblems(t *testing.T) {
	for text, want := range map[string]string{
		"x = 1":                             "rc:1,1-1: warning: Unknown setting",
		"a = [":                             "error: Invalid CLI configuration; The file can't be read",
		`plugin_cache_dir = ["a"]`:          "rc:1,1-1: error: Invalid CLI configuration; The value of plugin_cache_dir",
		`credentials "a b" { token = "x" }`: "invalid hostname",
		`host { services = {} }`:            "needs a host name",
		`credentials_helper { args = [] }`:  "needs a name",
		`provider_installation = {}`:        "equals sign",
		`provider_installation "a" {}`:      "must not have any labels",
		"provider_installation {}\nprovider_installation {}":                     "rc:2,1-1: error: Invalid provider_installation block; No more than one",
		"provider_installation { magic {} }":                                     `Unknown provider installation method "magic"`,
		"provider_installation { direct = 1 }":                                   "must be a block",
		`provider_installation { direct "x" {} }`:                                "must be a block",
		"provider_installation { filesystem_mirror {} }":                         `needs the argument "path"`,
		"provider_installation { network_mirror {} }":                            `needs the argument "url"`,
		"provider_installation { direct { path = 1 } }":                          `no setting "path" in direct`,
		`provider_installation { direct { include = ["a"] } }`:                   "Invalid provider source inclusion patterns",
		`provider_installation { direct { exclude = ["*/x"] } }`:                 "Invalid provider source exclusion patterns",
		`provider_installation { direct { exclude = ["*/a/b"] } }`:               "wildcard",
		"provider_installation {\n direct {}\n dev_overrides {\n }\n}":           "rc:3,2-2: error: Invalid provider_installation method block; The dev_overrides block must appear before",
		"provider_installation {\n dev_overrides {\n \"a/b/c/d\" = \"x\"\n }\n}": "rc:3,2-2: error: Invalid provider installation dev overrides",
		"credentials_helper \"a\" {\n}\ncredentials_helper \"b\" {\n}":           "rc:3,1-1: error: Invalid CLI configuration; No more than one",
		"provider_budget {\n}":                                                   "rc:1,1-1: error: Invalid CLI configuration; A provider_budget block needs the address",
		`provider_budget "a/b/c/d" {}`:                                           `block "a/b/c/d" isn't for the address of a provider`,
		"provider_budget \"a\" {\n at_once = 0\n}":                               "rc:2,2-2: error: Invalid CLI configuration; at_once in a provider_budget block has to be more than 0",
		"provider_budget \"a\" {\n per_second = -1\n}":                           "rc:2,2-2: error: Invalid CLI configuration; per_second in a provider_budget block",
		"provider_budget \"a\" {\n per_second = \"fast\"\n}":                     "The value of per_second doesn't fit",
		"provider_budget \"a\" {\n type {}\n}":                                   "rc:2,2-2: error: Invalid CLI configuration; A type block in provider_budget needs the name",
		"provider_budget \"a\" {\n often = 1\n}":                                 `no setting "often" in a provider_budget block`,
		"provider_budget \"a\" {\n by_list = true\n}":                            "rc:2,2-2: error: Invalid CLI configuration; by_list in a provider_budget block has to be in a type block",
		"provider_budget \"a\" {\n type \"b\" { by_list_from = 0 }\n}":           "by_list_from in a provider_budget block has to be more than 0",
		"provider_budget \"a\" {\n type \"b\" { by_list = \"some\" }\n}":         "The value of by_list doesn't fit",
		"provider_budget \"a\" {\n refresh_after = \"soon\"\n}":                  `rc:2,2-2: error: Invalid CLI configuration; refresh_after in a provider_budget block has to be a duration such as "90s", "15m" or "12h", and it is "soon"`,
		"provider_budget \"a\" {\n type \"b\" { refresh_after = \"-1s\" }\n}":    "refresh_after in a provider_budget block has to be a duration",
		"provider_budget \"a\" {\n}\nprovider_budget \"hashicorp/a\" {\n}":       "rc:3,1-1: error: Duplicate provider budget; There is a budget for this provider on line 1 already",
		"provider_budget \"a\" {\n type \"b\" {}\n type \"b\" {}\n}":             "rc:3,2-2: error: Duplicate provider budget; There is a budget for b on line 2 already",
		"registry_protocols { retry_count = \"x\" }":                             "value of retry_count",
	} {
		if _, got := read(t, "rc", text); !strings.Contains(got, want) {
			t.Errorf("%s\ngives %q\nwithout %q", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(everything)
	f.Add(`{"credentials":{"a":{"token":1}}}`)
	f.Add(`provider_installation "" { = }`)
	f.Fuzz(func(t *testing.T, text string) {
		read(t, "rc", text)
	})
}

// env makes an environment with files below a new home directory.
func env(t *testing.T, vars map[string]string, files map[string]string) Environment {
	home := t.TempDir()
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e := Environment{Home: home, Getenv: func(name string) string { return strings.ReplaceAll(vars[name], "~", home) }}
	for name, value := range vars {
		e.All = append(e.All, name+"="+value)
	}
	return e
}

func TestLoadFindsFiles(t *testing.T) {
	credential := func(token string) string { return `credentials "example.com" { token = "` + token + `" }` }
	for name, test := range map[string]struct {
		vars, files map[string]string
		want        string // the token
		problem     string
	}{
		"tofurc first":         {nil, map[string]string{".tofurc": credential("a"), ".terraformrc": credential("b")}, "a", ""},
		"terraformrc":          {nil, map[string]string{".terraformrc": credential("b")}, "b", ""},
		"xdg":                  {map[string]string{"XDG_CONFIG_HOME": "~/xdg"}, map[string]string{"xdg/opentofu/tofurc": credential("c")}, "c", ""},
		"xdg comes last":       {map[string]string{"XDG_CONFIG_HOME": "~/xdg"}, map[string]string{"xdg/opentofu/tofurc": credential("c"), ".tofurc": credential("a")}, "a", ""},
		"directory adds":       {nil, map[string]string{".tofurc": credential("a"), ".terraform.d/x.tfrc": credential("d"), ".terraform.d/x.txt": "?"}, "d", ""},
		"json in directory":    {nil, map[string]string{".terraform.d/credentials.tfrc.json": `{"credentials":{"example.com":{"token":"j"}}}`}, "j", ""},
		"named file only":      {map[string]string{"TF_CLI_CONFIG_FILE": "~/rc"}, map[string]string{"rc": credential("e"), ".tofurc": credential("a"), ".terraform.d/x.tfrc": "x = 1"}, "e", ""},
		"old variable":         {map[string]string{"TERRAFORM_CONFIG": "~/rc"}, map[string]string{"rc": credential("e")}, "e", ""},
		"named file missing":   {map[string]string{"TF_CLI_CONFIG_FILE": "~/rc"}, nil, "", "Unable to open CLI configuration file"},
		"token in environment": {map[string]string{"TF_TOKEN_example_com": "v"}, map[string]string{".tofurc": credential("a")}, "v", ""},
		"cache dir missing":    {map[string]string{"TF_PLUGIN_CACHE_DIR": "~/none"}, map[string]string{".tofurc": credential("a")}, "a", ""},
		"cache dir a file":     {map[string]string{"TF_PLUGIN_CACHE_DIR": "~/rc"}, map[string]string{"rc": "x"}, "", "plugin cache dir"},
	} {
		t.Run(name, func(t *testing.T) {
			e := env(t, test.vars, test.files)
			c, diags := Load(e)
			token, err := NewCredentials(c, nil).Token(t.Context(), "Example.com")
			if err != nil || token != test.want {
				t.Errorf("token %q, %v", token, err)
			}
			var text string
			for _, d := range diags {
				text += d.String()
			}
			if test.problem == "" && text != "" || !strings.Contains(text, test.problem) {
				t.Errorf("problems %q", text)
			}
		})
	}
}

func TestHelper(t *testing.T) {
	e := env(t, nil, map[string]string{"plugins/terraform-credentials-x": "#!/bin/sh\necho \"$@\" >> \"$0.log\"\necho '{\"token\":\"from-helper\"}'\n"})
	dir := filepath.Join(e.Home, "plugins")
	helper := filepath.Join(dir, "terraform-credentials-x")
	if err := os.Chmod(helper, 0o755); err != nil {
		t.Fatal(err)
	}
	creds := NewCredentials(&Config{Helper: &Helper{Name: "x", Args: []string{"--flag"}}}, []string{dir})
	for range 2 {
		if token, err := creds.Token(t.Context(), "example.com"); err != nil || token != "from-helper" {
			t.Errorf("%q, %v", token, err)
		}
	}
	log, _ := os.ReadFile(helper + ".log")
	if string(log) != "--flag get example.com\n" {
		t.Errorf("the helper was called with %q", log)
	}
	if _, err := NewCredentials(&Config{Helper: &Helper{Name: "gone"}}, nil).Token(t.Context(), "example.com"); err == nil {
		t.Error("a helper that isn't there gives a token")
	}
}

func TestPluginDirs(t *testing.T) {
	e := env(t, map[string]string{"XDG_DATA_HOME": "/data", "XDG_DATA_DIRS": "/usr/share:relative"}, nil)
	got := e.PluginDirs("/srv")
	want := []string{"/srv/terraform.d/plugins", e.Home + "/.terraform.d/plugins", "/data/opentofu/plugins",
		"/data/terraform/plugins", "/usr/share/terraform/plugins", "/usr/share/opentofu/plugins"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}

func TestRequireSignatures(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false, "": false} {
		c, diags := Load(env(t, map[string]string{"OPENTOFU_ENFORCE_GPG_VALIDATION": value, "OPENTOFU_ENFORCE_GPG_EXPIRATION": value}, nil))
		if diags.HasErrors() || c.Registry.RequireSignatures != want || c.Registry.RequireUnexpired != want {
			t.Errorf("%q: required %+v, problems %v", value, c.Registry, diags)
		}
	}
}

// TestCheck: every listed setting is known, and others aren't.
func TestCheck(t *testing.T) {
	for _, name := range Settings {
		for _, d := range Check("tofurc", []byte(name+" {}\n"), addr.OpenTofu) {
			if strings.HasPrefix(d.Summary, "Unknown setting") {
				t.Errorf("%s: %s", name, d.Detail)
			}
		}
	}
	if diags := Check("tofurc", []byte("plugin_cache = 1\n"), addr.OpenTofu); len(diags) != 1 || diags[0].Subject == nil || diags[0].Subject.Filename != "tofurc" {
		t.Errorf("%v", diags)
	}
}
