package providersource

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/storage/backends"
)

// Sources are where providers come from beside installed packages.
type Sources struct {
	reattach  map[addr.Provider]plugin.Reattach
	overrides map[addr.Provider]string
	External  map[addr.Provider]bool // both of them
}

// ProviderSources are where providers come from by the user's settings and the
// environment. A warning reminds of those that aren't released ones.
func (d *Supplier) ProviderSources(config *cliconfig.Config) (Sources, diag.List) {
	var s Sources
	var diags diag.List
	var err error
	if s.reattach, err = plugin.ParseReattach(d.place.Environ[plugin.ReattachEnv], d.place.Dialect.Registry()); err != nil {
		diags.Add(diag.BadOption.As("Invalid "+plugin.ReattachEnv).New(diag.Error, "%s.", err))
	}
	if config.Installation != nil {
		var more diag.List
		s.overrides, more = install.Overrides(config.Installation.Overrides)
		diags.Append(more)
	}
	if len(d.place.Attached) > 0 {
		all := maps.Clone(d.place.Attached)
		maps.Copy(all, s.reattach)
		s.reattach = all
	}
	s.External = map[addr.Provider]bool{}
	for p := range d.place.Inside {
		s.External[p] = true
	}
	for p := range s.reattach {
		s.External[p] = true
	}
	for p := range s.overrides {
		s.External[p] = true
	}
	diags.Append(overrideWarning(s))
	return s, diags
}

// overrideWarning reminds that results aren't those of released providers.
func overrideWarning(s Sources) diag.List {
	if len(s.overrides) == 0 {
		return nil
	}
	var list []string
	for p, path := range s.overrides {
		list = append(list, "\n - "+p.ForDisplay()+" in "+filepath.Dir(path))
	}
	slices.Sort(list)
	return Overrides.Warnings("The following provider development overrides are set in the CLI configuration:%s\n\nThe behavior may therefore not match any released version of the provider and applying changes may cause the state to become incompatible with published releases.", strings.Join(list, ""))
}

// attachedWarning reminds init of providers that run already, which it doesn't install.
func attachedWarning(s Sources) diag.List {
	if len(s.reattach) == 0 {
		return nil
	}
	var list []string
	for p := range s.reattach {
		list = append(list, "\n - "+p.ForDisplay())
	}
	slices.Sort(list)
	return Overrides.As("Unmanaged providers are in effect").Warnings("The variable %s has these providers:%s\n\nThey run already, so that init and init -upgrade neither install them nor change their entries in the lock file. To install them, unset the variable.", plugin.ReattachEnv, strings.Join(list, ""))
}

// Requirements lists the providers that a configuration and a state need.
func Requirements(tree *program.Tree, s *state.Snapshot) install.Requirements {
	reqs := install.Requirements{}
	var walk func(*program.Tree)
	walk = func(t *program.Tree) {
		if t == nil || t.Program == nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(t.Program.Requirements)) {
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

// RequirementsOf are those of providers in any version.
func RequirementsOf(list []addr.Provider) install.Requirements {
	reqs := install.Requirements{}
	for _, p := range list {
		reqs[p] = nil
	}
	return reqs
}

// A Late catalog is a catalog whose sources are known only once the
// configuration is loaded.
type Late struct {
	mu    sync.Mutex
	inner provider.Catalog
	// early gives what was prepared while the configuration was loaded, once
	// it is complete; nil where nothing was.
	early func() *supply
	// guard is how processes are guarded; nil where they aren't.
	guard *plugin.Guard
}

// Guard has the processes of providers guarded, before it is known which ones there
// are.
func (c *Late) Guard(g *plugin.Guard) { c.guard = g }

func (c *Late) get() (provider.Catalog, diag.List) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		return nil, install.Needed.As("Providers are not available").List("A provider is needed before it is known which ones there are.")
	}
	return c.inner, nil
}

func (c *Late) set(inner provider.Catalog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inner = inner
}

func (c *Late) Schemas(ctx context.Context, p addr.Provider) (*provider.Schemas, diag.List) {
	inner, diags := c.get()
	if inner == nil {
		return nil, diags
	}
	return inner.Schemas(ctx, p)
}

func (c *Late) Start(ctx context.Context, p addr.Provider) (provider.Provider, diag.List) {
	inner, diags := c.get()
	if inner == nil {
		return nil, diags
	}
	return inner.Start(ctx, p)
}

// inside are the providers that run within this process.
func (d *Supplier) inside() map[addr.Provider]plugin.Builtin {
	all := map[addr.Provider]plugin.Builtin{builtin.Address: d.builtin}
	maps.Copy(all, d.place.Inside)
	return all
}

func (d *Supplier) builtin() (provider.Provider, *provider.Schemas) {
	remote := d.place.RemoteStates
	if remote == nil {
		remote = backends.All()
	}
	o := builtin.Options{
		Backends: remote,
		Decrypt:  d.settings.DecryptRemote,
		Env:      d.place.StorageEnv(),
		Store:    d.place.Dialect == dialect.Terraform,
	}
	return builtin.New(o), builtin.Schemas(o)
}

// pluginCommand is how plugins are run.
func (d *Supplier) pluginCommand() plugin.Command {
	log, level := d.pluginLog()
	timeout, _, _ := d.place.CallLimits() // an apply reports what is wrong with the variables
	return plugin.Command{CallTimeout: timeout, Env: d.place.Environment(), Dir: d.place.ProcessDir(), Log: log, LogLevel: level, EngineVersion: d.place.Dialect.Version()}
}

// pluginLog is where plugins log to: nowhere unless TF_LOG asks for it.
func (d *Supplier) pluginLog() (io.Writer, string) {
	level := strings.ToUpper(d.place.Environ["TF_LOG"])
	if v := d.place.Environ["TF_LOG_PROVIDER"]; v != "" {
		level = strings.ToUpper(v)
	}
	switch level {
	case "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "JSON":
	case "", "OFF":
		return nil, ""
	default:
		d.place.Problem(diag.BadOption.As("Invalid log level").Warnings("%q is none of the levels that TF_LOG and TF_LOG_PROVIDER take: TRACE, DEBUG, INFO, WARN, ERROR, JSON and OFF. Everything is logged.", level))
		level = "TRACE"
	}
	path := d.place.Environ["TF_LOG_PATH"]
	if path == "" {
		return d.hiding(d.place.Log), level
	}
	file, err := os.OpenFile(d.place.Path(path), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.place.Problem(diag.BadOption.As("Failed to open the log").Warnings("TF_LOG_PATH names %q, which can't be opened: %s. The log goes to standard error.", path, diag.Cause(err)))
		return d.hiding(d.place.Log), level
	}
	d.place.OnClose(func() { file.Close() })
	return d.hiding(file), level
}

// hiding keeps secrets out of a log.
func (d *Supplier) hiding(log io.Writer) io.Writer {
	if log == nil {
		return nil
	}
	return &secret.Lines{Known: d.place.Secrets, To: log}
}

// Providers lists the providers that a configuration needs.
func Providers(tree *program.Tree) []addr.Provider {
	return slices.SortedFunc(maps.Keys(Requirements(tree, nil)), addr.Provider.Compare)
}

// Schemas fetches the schemas of providers. Those that are missing are reported
// beside the others.
func Schemas(ctx context.Context, c provider.Catalog, providers []addr.Provider) (map[addr.Provider]*provider.Schemas, diag.List) {
	all := map[addr.Provider]*provider.Schemas{}
	var diags diag.List
	for _, p := range providers {
		s, more := c.Schemas(ctx, p)
		diags.Append(more)
		if s != nil {
			all[p] = s
		}
	}
	return all, diags
}

// StateSchemas are the schemas of the providers that a state has objects of.
func (d *Supplier) StateSchemas(ctx context.Context, s *state.Snapshot) (map[addr.Provider]*provider.Schemas, diag.List) {
	catalog := &Late{}
	diags := d.Fill(catalog, Requirements(nil, s))
	schemas, more := Schemas(ctx, catalog, s.Providers())
	if !diags.HasErrors() {
		diags.Append(more)
	}
	return schemas, diags
}

// Restrict leaves only the providers that arguments name, if there are any.
func Restrict(reqs install.Requirements, names []string, registry addr.Registry) diag.List {
	var diags diag.List
	chosen := map[addr.Provider]bool{}
	for _, name := range names {
		p, err := registry.ParseProvider(name)
		if err != nil {
			diags.Add(diag.BadOption.As("Invalid provider argument").New(diag.Error, "%q isn't the address of a provider: %s.", name, err))
			continue
		}
		if _, ok := reqs[p]; !ok {
			diags.Add(diag.BadOption.As("Invalid provider argument").New(diag.Error, "The provider %s is not required by the current configuration.", p))
		}
		chosen[p] = true
	}
	for p := range reqs {
		if len(names) > 0 && !chosen[p] {
			delete(reqs, p)
		}
	}
	return diags
}
