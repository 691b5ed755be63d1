package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/storage"
	"weir.dev/weir/internal/storage/backends"
)

// settings are the user's own settings. Warnings about them are told once, on
// standard error, whatever the command.
func (e *env) settings() (*cliconfig.Config, cliconfig.Environment, diag.List) {
	environment := cliconfig.Environment{Getenv: e.getenv, Home: e.vars["HOME"], Dialect: e.dialect}
	for _, name := range sortedKeys(e.vars) {
		environment.All = append(environment.All, name+"="+e.vars[name])
	}
	if environment.Home == "" {
		environment.Home, _ = os.UserHomeDir()
	}
	config, diags := cliconfig.Load(environment)
	if warnings := only(diags, diag.Warning); len(warnings) > 0 && !e.warnedOfSettings {
		e.warnedOfSettings = true
		fmt.Fprint(e.err, "There are some problems with the CLI configuration:\n"+e.diagText(warnings)+"\n")
	}
	return config, environment, only(diags, diag.Error)
}

// providerSources is where providers come from beside installed packages.
type providerSources struct {
	reattach  map[addr.Provider]plugin.Reattach
	overrides map[addr.Provider]string
	external  map[addr.Provider]bool // both of them
}

func (e *env) providerSources(config *cliconfig.Config) (providerSources, diag.List) {
	var s providerSources
	var diags diag.List
	var err error
	if s.reattach, err = plugin.ParseReattach(e.vars[plugin.ReattachEnv], e.dialect.Registry()); err != nil {
		diags.Errorf("Invalid "+plugin.ReattachEnv, "%s.", err)
	}
	if config.Installation != nil {
		var more diag.List
		s.overrides, more = install.Overrides(config.Installation.Overrides)
		diags.Append(more)
	}
	s.external = map[addr.Provider]bool{}
	for p := range s.reattach {
		s.external[p] = true
	}
	for p := range s.overrides {
		s.external[p] = true
	}
	return s, diags
}

// overrideWarning reminds that results aren't those of released providers.
func overrideWarning(s providerSources) diag.List {
	if len(s.overrides) == 0 {
		return nil
	}
	var list strings.Builder
	for p, path := range s.overrides {
		list.WriteString("\n - " + p.ForDisplay() + " in " + filepath.Dir(path))
	}
	return warning("Provider development overrides are in effect", "The following provider development overrides are set in the CLI configuration:%s\n\nThe behavior may therefore not match any released version of the provider and applying changes may cause the state to become incompatible with published releases.", list.String())
}

// requirements lists the providers that a configuration and a state need.
func requirements(tree *program.Tree, s *state.Snapshot) install.Requirements {
	reqs := install.Requirements{}
	var walk func(*program.Tree)
	walk = func(t *program.Tree) {
		if t == nil || t.Program == nil {
			return
		}
		for _, name := range sortedKeys(t.Program.Requirements) {
			r := t.Program.Requirements[name]
			at := r.Range
			reqs[r.Provider] = append(reqs[r.Provider], install.Requirement{Constraint: r.Constraints, Range: &at})
		}
		for _, p := range t.Program.Providers {
			if p.Version != "" {
				at := p.Range
				reqs[p.Provider] = append(reqs[p.Provider], install.Requirement{Constraint: p.Version, Range: &at})
			}
		}
		for _, child := range t.Calls() {
			walk(child)
		}
	}
	walk(tree)
	if s != nil {
		for _, p := range s.Providers() {
			if _, ok := reqs[p]; !ok {
				reqs[p] = nil
			}
		}
	}
	return reqs
}

// A lateCatalog is a catalog whose sources are known only once the
// configuration is loaded.
type lateCatalog struct {
	mu    sync.Mutex
	inner *plugin.Catalog
	// early gives what was prepared while the configuration was loaded, once
	// it is complete; nil where nothing was.
	early func() *supply
}

func (c *lateCatalog) get() (*plugin.Catalog, diag.List) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		return nil, oneError("Providers are not available", "A provider is needed before it is known which ones there are.")
	}
	return c.inner, nil
}

func (c *lateCatalog) Schemas(ctx context.Context, p addr.Provider) (*provider.Schemas, diag.List) {
	inner, diags := c.get()
	if inner == nil {
		return nil, diags
	}
	return inner.Schemas(ctx, p)
}

func (c *lateCatalog) Start(ctx context.Context, p addr.Provider) (provider.Provider, diag.List) {
	inner, diags := c.get()
	if inner == nil {
		return nil, diags
	}
	return inner.Start(ctx, p)
}

func (e *env) builtin() (provider.Provider, *provider.Schemas) {
	return builtin.New(builtin.Options{
		Backends: backends.All(),
		Decrypt:  e.decryptRemote,
		Env:      storage.Env{Dir: ".", Getenv: e.getenv},
	}), builtin.Schemas()
}

// pluginCommand is how plugins are run.
func (e *env) pluginCommand() plugin.Command {
	log, level := e.pluginLog()
	return plugin.Command{Log: log, LogLevel: level, EngineVersion: e.dialect.Version()}
}

// pluginLog is where plugins log to: nowhere unless TF_LOG asks for it.
func (e *env) pluginLog() (io.Writer, string) {
	level := strings.ToUpper(e.vars["TF_LOG"])
	if v := e.vars["TF_LOG_PROVIDER"]; v != "" {
		level = strings.ToUpper(v)
	}
	switch level {
	case "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "JSON":
	case "", "OFF":
		return nil, ""
	default:
		level = "TRACE"
	}
	path := e.vars["TF_LOG_PATH"]
	if path == "" {
		return e.err, level
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		e.diags(warning("Failed to open the log", "TF_LOG_PATH names %q, which can't be opened: %s. The log goes to standard error.", path, cause(err)))
		return e.err, level
	}
	e.onClose(func() { file.Close() })
	return file, level
}
