// Package cliconfig reads the settings of a user: the CLI configuration file, the directory of
// further ones, and the environment.
//
// It owns the syntax (that of HCL 1) and where the files are. It doesn't act on the settings.
// Files and environment are read once, by Load; the results are plain values. The only thing
// it writes is tokens, for login.
package cliconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/sys/readlimit"
)

// Config is all settings together.
type Config struct {
	// PluginCacheDir is where packages are kept for all working directories,
	// or empty.
	PluginCacheDir string
	// CacheMayBreakLocks allows packages from the cache whose hash isn't in
	// the lock file.
	CacheMayBreakLocks bool

	// Hosts replace service discovery, by host name and service name.
	Hosts map[string]map[string]any
	// Tokens are the credentials that are written down, by host name. See
	// Credentials for those that a helper has.
	Tokens map[string]string
	Helper *Helper

	// Installation is nil without a provider_installation block.
	Installation *Installation
	Registry     Registry
	Containers   Containers
	Stacks       Stacks
	Budgets      map[BudgetOf]Budget
	Looks        map[BudgetOf]Look

	// Files are the files that were read.
	Files []string
}

// A Helper is the credentials helper: a program terraform-credentials-NAME.
type Helper struct {
	Name string
	Args []string
}

// Registry has limits for requests to registries.
type Registry struct {
	Retries         int
	Timeout         time.Duration
	DownloadRetries int
	// RequireSignatures holds OpenTofu's registry to signed packages too.
	RequireSignatures bool
	// RequireUnexpired rejects signatures by keys that have expired since.
	RequireUnexpired bool
}

// Installation says where providers come from.
type Installation struct {
	// Overrides are directories with providers under development.
	Overrides map[addr.Provider]string
	Methods   []Method
}

// Kind is the kind of an installation method.
type Kind string

const (
	Direct           Kind = "direct"
	FilesystemMirror Kind = "filesystem_mirror"
	NetworkMirror    Kind = "network_mirror"
	OCIMirror        Kind = "oci_mirror"
)

// A Method is one place that providers may come from.
type Method struct {
	Kind Kind
	// Location is the directory, URL or repository template, by kind.
	Location         string
	Include, Exclude []Pattern
	// DownloadRetries is -1 where the general setting counts.
	DownloadRetries int
	TrustAllHashes  bool
	Range           hcl.Range
}

// Allows reports whether the method may be asked for the provider.
func (m *Method) Allows(p addr.Provider) bool {
	matches := func(pattern Pattern) bool { return pattern.Matches(p) }
	if slices.ContainsFunc(m.Exclude, matches) {
		return false
	}
	return len(m.Include) == 0 || slices.ContainsFunc(m.Include, matches)
}

// A Pattern is a provider address whose parts may be "*".
type Pattern addr.Provider

// Matches reports whether the address fits.
func (p Pattern) Matches(a addr.Provider) bool {
	return (p.Host == "*" || p.Host == a.Host) &&
		(p.Namespace == "*" || p.Namespace == a.Namespace) &&
		(p.Type == "*" || p.Type == a.Type)
}

// ParsePattern reads NAMESPACE/TYPE, which is in the given registry, or
// HOST/NAMESPACE/TYPE.
func ParsePattern(text string, registry addr.Registry) (Pattern, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return Pattern{}, fmt.Errorf("%q must have two or three parts with slashes in between", text)
	}
	// A name stands in for the wildcards, so that the rest can be parsed.
	plain := slices.Clone(parts)
	for i := range plain {
		if plain[i] == "*" {
			plain[i] = "any"
		}
	}
	p, err := registry.ParseProvider(strings.Join(plain, "/"))
	if err != nil {
		return Pattern{}, err
	}
	out := Pattern(p)
	n := len(parts)
	if parts[n-1] == "*" {
		out.Type = "*"
	}
	if parts[n-2] == "*" {
		out.Namespace = "*"
	}
	if n == 3 && parts[0] == "*" {
		out.Host = "*"
	}
	if out.Host == "*" && out.Namespace != "*" || out.Namespace == "*" && out.Type != "*" {
		return Pattern{}, fmt.Errorf("%q has a wildcard before a part without: only what follows a wildcard can be left open too", text)
	}
	return out, nil
}

// An Environment is what the settings depend on beside files.
type Environment struct {
	// Getenv reads a variable; All lists them as NAME=VALUE.
	Getenv func(name string) string
	All    []string
	Home   string
	// Dialect is the engine whose files these are, and whose registry patterns
	// without a host mean.
	Dialect dialect.Dialect
	// Interrupted is closed when nobody waits any longer for who writes to a pipe; nil
	// is never.
	Interrupted <-chan struct{}
}

func empty() *Config {
	return &Config{
		Hosts:    make(map[string]map[string]any),
		Tokens:   make(map[string]string),
		Registry: Registry{Retries: 1, Timeout: 10 * time.Second, DownloadRetries: 2},
	}
}

// Load reads all settings. Anything that is wrong in one file is left out.
func Load(env Environment) (*Config, diag.List) {
	var diags diag.List
	config := empty()
	for _, path := range env.files(&diags) {
		src, err := readlimit.Any(path, env.Interrupted)
		if err != nil {
			diags.Add(diag.Unreadable.As("Failed to read CLI configuration").New(diag.Error, "%s.", err))
			continue
		}
		config.Files = append(config.Files, path)
		diags.Append(config.Read(path, src, env.Getenv, env.Dialect.Registry()))
	}
	config.environment(env)
	if dir := config.PluginCacheDir; dir != "" {
		// Where none exists yet, the first package makes it.
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			diags.Add(Bad.As("Invalid plugin cache directory").New(diag.Error, "The specified plugin cache dir %s cannot be opened: it is no directory. Change plugin_cache_dir or TF_PLUGIN_CACHE_DIR.", dir))
		}
	}
	return config, diags
}

// files lists the files to read, later ones add to earlier ones.
func (env Environment) files(diags *diag.List) []string {
	for _, name := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"} {
		if path := env.Getenv(name); path != "" {
			// Anyone who names a file wants that one only.
			if _, err := os.Stat(path); err != nil {
				diags.Add(diag.Diagnostic{Severity: diag.Warning, Code: diag.Unreadable.Name, Summary: "Unable to open CLI configuration file",
					Detail: fmt.Sprintf("The CLI configuration file at %q, which %s names, does not exist.", path, name)})
				return nil
			}
			return []string{path}
		}
	}
	var files []string
	if path := env.mainFile(); path != "" && exists(path) {
		files = append(files, path)
	}
	dir := env.Dir()
	entries, err := os.ReadDir(dir)
	if dir == "" || err != nil {
		return files
	}
	for _, e := range entries {
		if !e.IsDir() && (strings.HasSuffix(e.Name(), ".tfrc") || strings.HasSuffix(e.Name(), ".tfrc.json")) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

func (env Environment) mainFile() string {
	if env.Dialect == dialect.Terraform {
		if runtime.GOOS == "windows" {
			return filepath.Join(env.Getenv("APPDATA"), "terraform.rc")
		}
		return filepath.Join(env.Home, ".terraformrc")
	}
	if runtime.GOOS == "windows" {
		return firstExisting(filepath.Join(env.Getenv("APPDATA"), "tofu.rc"), filepath.Join(env.Getenv("APPDATA"), "terraform.rc"))
	}
	candidates := []string{filepath.Join(env.Home, ".tofurc"), filepath.Join(env.Home, ".terraformrc")}
	if xdg := env.Getenv("XDG_CONFIG_HOME"); xdg != "" {
		candidates = append(candidates, filepath.Join(xdg, "opentofu", "tofurc"))
	}
	return firstExisting(candidates...)
}

// Dir is the directory of further files, and of credentials.tfrc.json.
func (env Environment) Dir() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(env.Getenv("APPDATA"), "terraform.d")
	}
	dir := filepath.Join(env.Home, ".terraform.d")
	if xdg := env.Getenv("XDG_CONFIG_HOME"); xdg != "" && !exists(dir) && env.Dialect == dialect.OpenTofu {
		return filepath.Join(xdg, "opentofu")
	}
	return dir
}

// PluginDirs lists the directories that are mirrors of providers without being reported so,
// below the directory where the engine was started.
func (env Environment) PluginDirs(workDir string) []string {
	dirs := []string{filepath.Join(workDir, "terraform.d", "plugins")}
	if runtime.GOOS == "windows" {
		return append(dirs, filepath.Join(env.Dir(), "plugins"))
	}
	dirs = append(dirs, filepath.Join(env.Home, ".terraform.d", "plugins"))
	data := env.Getenv("XDG_DATA_HOME")
	if data != "" {
		dirs = append(dirs, filepath.Join(data, "opentofu", "plugins"))
	} else {
		data = filepath.Join(env.Home, ".local", "share")
	}
	if runtime.GOOS == "darwin" {
		return append(dirs, filepath.Join(env.Home, "Library", "Application Support", "io.terraform", "plugins"),
			"/Library/Application Support/io.terraform/plugins")
	}
	search := []string{data}
	system := env.Getenv("XDG_DATA_DIRS")
	if system == "" {
		system = "/usr/local/share:/usr/share"
	}
	for _, dir := range append(search, filepath.SplitList(system)...) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, filepath.Join(dir, "terraform", "plugins"), filepath.Join(dir, "opentofu", "plugins"))
		}
	}
	seen := make(map[string]bool)
	return slices.DeleteFunc(dirs, func(dir string) bool {
		again := seen[dir]
		seen[dir] = true
		return again
	})
}

// environment applies variables, which go before files.
func (c *Config) environment(env Environment) {
	if dir := env.Getenv("TF_PLUGIN_CACHE_DIR"); dir != "" {
		c.PluginCacheDir = dir
	}
	if v := env.Getenv("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"); v != "" && v != "0" {
		c.CacheMayBreakLocks = true
	}
	c.Registry.RequireSignatures = env.Getenv("OPENTOFU_ENFORCE_GPG_VALIDATION") == "true"
	c.Registry.RequireUnexpired = env.Getenv("OPENTOFU_ENFORCE_GPG_EXPIRATION") == "true"
	positive := func(name string, set func(n int)) {
		if n, err := strconv.Atoi(env.Getenv(name)); err == nil && n > 0 {
			set(n)
		}
	}
	positive("TF_REGISTRY_DISCOVERY_RETRY", func(n int) { c.Registry.Retries = n })
	positive("TF_REGISTRY_CLIENT_TIMEOUT", func(n int) { c.Registry.Timeout = time.Duration(n) * time.Second })
	positive("TF_PROVIDER_DOWNLOAD_RETRY", func(n int) { c.Registry.DownloadRetries = n })
	for _, entry := range env.All {
		name, token, _ := strings.Cut(entry, "=")
		if host, ok := strings.CutPrefix(name, "TF_TOKEN_"); ok {
			// Neither dots nor hyphens can be written in most shells.
			host = strings.ReplaceAll(strings.ReplaceAll(host, "__", "-"), "_", ".")
			if host, err := hostName(host); err == nil {
				c.Tokens[host] = token
			}
		}
	}
}

func firstExisting(paths ...string) string {
	for _, path := range paths {
		if exists(path) {
			return path
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
