package cliconfig

import (
	"fmt"
	"os"
	"strings"
	"time"

	hcl1 "github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/parser"
	"github.com/hashicorp/hcl/hcl/token"
	"github.com/hashicorp/hcl/v2"
	"golang.org/x/net/idna"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
)

// A reader reads one file into a configuration.
type reader struct {
	config *Config
	file   string
	getenv func(string) string
	// registry is where addresses without a host are.
	registry addr.Registry
	// budgetAt is where budgets are in this file.
	budgetAt map[BudgetOf]token.Pos
	diags    diag.List
}

// An item is an argument or block. JSON and HCL blocks with labels look alike
// in the tree; labels of JSON are the names of nested objects.
type item struct {
	name   string
	labels []string
	value  ast.Node
	pos    token.Pos
	json   bool
	assign bool
}

// Settings are the names of all arguments and blocks that a file may have.
var Settings = []string{"plugin_cache_dir", "plugin_cache_may_break_dependency_lock_file", "host", "credentials", "credentials_helper", "provider_installation",
	"registry_protocols", "provider_budget", "stacks", "oci_default_credentials", "oci_credentials", "disable_checkpoint", "disable_checkpoint_signature"}

// Check reports what is wrong with one file.
func Check(file string, src []byte, registry addr.Registry) diag.List {
	return empty().Read(file, src, func(string) string { return "" }, registry)
}

// Read adds the settings of one file. Settings of files that were read before
// give way, but for blocks that may only be there once. Paths may refer to
// environment variables; addresses of providers without a host are in the given
// registry.
func (c *Config) Read(file string, src []byte, getenv func(string) string, registry addr.Registry) diag.List {
	r := &reader{config: c, file: file, getenv: getenv, registry: registry, budgetAt: map[BudgetOf]token.Pos{}}
	root, err := parse(src)
	if err != nil {
		at := token.Pos{Line: 1, Column: 1}
		if p, ok := err.(*parser.PosError); ok {
			at, err = p.Pos, p.Err
		}
		r.fail(at, "Invalid CLI configuration", "The file can't be read: %s.", err)
		return r.diags
	}
	for _, it := range items(root) {
		r.setting(it)
	}
	return r.diags
}

// parse never panics, unlike the library on some broken input.
func parse(src []byte) (list *ast.ObjectList, err error) {
	defer func() {
		if p := recover(); p != nil {
			list, err = nil, fmt.Errorf("invalid syntax")
		}
	}()
	file, err := hcl1.ParseBytes(src)
	if err != nil {
		return nil, err
	}
	list, ok := file.Node.(*ast.ObjectList)
	if !ok {
		return nil, fmt.Errorf("it must be a list of settings")
	}
	return list, nil
}

func items(list *ast.ObjectList) []item {
	var out []item
	for _, o := range list.Items {
		if len(o.Keys) == 0 {
			continue
		}
		it := item{value: o.Val, pos: o.Pos(), json: o.Keys[0].Token.JSON, assign: o.Assign.IsValid()}
		for i, key := range o.Keys {
			name, _ := key.Token.Value().(string)
			if i == 0 {
				it.name = name
			} else {
				it.labels = append(it.labels, name)
			}
		}
		out = append(out, it)
	}
	return out
}

// children lists what is in a block. Labels of JSON are one child each.
func (it item) children() []item {
	if len(it.labels) > 0 {
		child := it
		child.name, child.labels = it.labels[0], it.labels[1:]
		return []item{child}
	}
	switch v := it.value.(type) {
	case *ast.ObjectType:
		return items(v.List)
	case *ast.ListType: // JSON: several blocks
		var out []item
		for _, e := range v.List {
			if o, ok := e.(*ast.ObjectType); ok {
				out = append(out, items(o.List)...)
			}
		}
		return out
	}
	return nil
}

func (it item) isBlock() bool {
	_, ok := it.value.(*ast.ObjectType)
	return ok && (it.json || !it.assign)
}

// decode reads a value into a Go variable, by the rules of the HCL 1 library.
func decode(n ast.Node, into any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it has another form")
		}
	}()
	return hcl1.DecodeObject(into, n)
}

func (r *reader) rangeOf(p token.Pos) *hcl.Range {
	at := hcl.Pos{Line: max(p.Line, 1), Column: max(p.Column, 1), Byte: p.Offset}
	return &hcl.Range{Filename: r.file, Start: at, End: at}
}

func (r *reader) fail(p token.Pos, summary, format string, args ...any) {
	r.diags.Add(diag.Diagnostic{Code: Bad.Name, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: r.rangeOf(p)})
}

func (r *reader) warn(p token.Pos, summary, format string, args ...any) {
	r.diags.Add(diag.Diagnostic{Severity: diag.Warning, Code: Bad.Name, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: r.rangeOf(p)})
}

// value decodes an argument, or reports that it has the wrong type.
func (r *reader) value(it item, into any) bool {
	if err := decode(it.value, into); err != nil {
		r.fail(it.pos, "Invalid CLI configuration", "The value of %s doesn't fit: %s.", it.name, wanted(into, err))
		return false
	}
	return true
}

// wanted is what a value should have been; where the library knows better, what it says.
func wanted(into any, err error) string {
	switch into.(type) {
	case *int:
		return "it has to be a whole number"
	case *float64:
		return "it has to be a number"
	case *bool:
		return "it has to be true or false"
	}
	return err.Error()
}

func (r *reader) setting(it item) {
	c := r.config
	switch it.name {
	case "plugin_cache_dir":
		if r.value(it, &c.PluginCacheDir) {
			c.PluginCacheDir = os.Expand(c.PluginCacheDir, r.getenv)
		}
	case "plugin_cache_may_break_dependency_lock_file":
		on := false
		if r.value(it, &on) && on {
			c.CacheMayBreakLocks = true // no file can take it back
		}
	case "host":
		r.perHost(it, func(host string, at item) {
			for _, arg := range at.children() {
				services := make(map[string]any)
				if arg.name == "services" {
					for _, s := range arg.children() {
						var v any
						if r.value(s, &v) {
							services[s.name] = v
						}
					}
					c.Hosts[host] = services
				} else {
					r.unknown(arg, "a host block")
				}
			}
		})
	case "credentials":
		r.perHost(it, func(host string, at item) {
			for _, arg := range at.children() {
				token := ""
				if arg.name == "token" && r.value(arg, &token) {
					c.Tokens[host] = token
				}
			}
		})
	case "credentials_helper":
		r.helper(it)
	case "provider_installation":
		r.installation(it)
	case "registry_protocols":
		for _, arg := range it.children() {
			n := 0
			switch arg.name {
			case "retry_count":
				if r.value(arg, &n) {
					c.Registry.Retries = n
				}
			case "request_timeout_seconds":
				if r.value(arg, &n) {
					c.Registry.Timeout = time.Duration(n) * time.Second
				}
			default:
				r.unknown(arg, "registry_protocols")
			}
		}
	case "provider_budget":
		r.budgets(it)
	case "stacks":
		r.stacks(it)
	case "oci_default_credentials":
		r.containers(it)
	case "oci_credentials":
		r.containerLogins(it)
	case "disable_checkpoint", "disable_checkpoint_signature":
		// Known, and without a meaning here.
	default:
		r.unknown(it, "the CLI configuration")
	}
}

func (r *reader) unknown(it item, where string) {
	r.warn(it.pos, "Unknown setting in CLI configuration", "There is no setting %q in %s. It is ignored.", it.name, where)
}

// perHost goes through blocks with a host name as their label.
func (r *reader) perHost(it item, each func(host string, at item)) {
	for _, at := range it.children() {
		if !it.json && len(it.labels) == 0 && !it.assign {
			r.fail(it.pos, "Invalid CLI configuration", "A %s block needs a host name: %s \"example.com\" { ... }.", it.name, it.name)
			return
		}
		host, err := hostName(at.name)
		if err != nil {
			r.fail(at.pos, "Invalid CLI configuration", "The %s %q block has an invalid hostname: %s.", it.name, at.name, err)
			continue
		}
		each(host, at)
	}
}

func (r *reader) helper(it item) {
	for _, at := range it.children() {
		if !it.json && len(it.labels) == 0 {
			r.fail(it.pos, "Invalid CLI configuration", "A credentials_helper block needs a name: credentials_helper \"name\" { ... }.")
			return
		}
		helper := &Helper{Name: at.name}
		for _, arg := range at.children() {
			if arg.name == "args" {
				r.value(arg, &helper.Args)
			} else {
				r.unknown(arg, "credentials_helper")
			}
		}
		if r.config.Helper != nil && r.config.Helper.Name != helper.Name {
			r.fail(it.pos, "Invalid CLI configuration", "No more than one credentials_helper block may be specified.")
			continue
		}
		r.config.Helper = helper
	}
}

func (r *reader) installation(it item) {
	const summary = "Invalid provider_installation block"
	if !it.json && it.assign {
		r.fail(it.pos, summary, "The provider_installation block must not be introduced with an equals sign.")
		return
	}
	if !it.json && len(it.labels) > 0 {
		r.fail(it.pos, summary, "The provider_installation block must not have any labels.")
		return
	}
	in := r.config.Installation
	if in != nil && !it.json { // JSON has one item for each nested block
		r.fail(it.pos, summary, "No more than one provider_installation block may be specified.")
		return
	}
	if in == nil {
		in = &Installation{Overrides: make(map[addr.Provider]string)}
		r.config.Installation = in
	}
	for _, method := range it.children() {
		switch {
		case !method.isBlock() || !method.json && len(method.labels) > 0:
			r.fail(method.pos, "Invalid provider_installation method block", "%q must be a block without labels: %s { ... }.", method.name, method.name)
		case method.name == "dev_overrides":
			r.overrides(in, method)
		default:
			r.method(in, method)
		}
	}
}

func (r *reader) overrides(in *Installation, it item) {
	if len(in.Methods) > 0 {
		r.fail(it.pos, "Invalid provider_installation method block",
			"The dev_overrides block must appear before all other installation methods, because development overrides always have the highest priority.")
		return
	}
	for _, arg := range it.children() {
		p, err := r.registry.ParseProvider(arg.name)
		if err != nil {
			r.fail(arg.pos, "Invalid provider installation dev overrides", "The entry %q is not a valid provider source string: %s.", arg.name, err)
			continue
		}
		dir := ""
		if r.value(arg, &dir) {
			in.Overrides[p] = dir
		}
	}
}

// locations has the argument that says where, by method.
var locations = map[Kind]string{
	Direct: "", FilesystemMirror: "path", NetworkMirror: "url", OCIMirror: "repository_template",
}

func (r *reader) method(in *Installation, it item) {
	m := Method{Kind: Kind(it.name), DownloadRetries: -1, Range: *r.rangeOf(it.pos)}
	location, ok := locations[m.Kind]
	if !ok {
		r.fail(it.pos, "Invalid provider_installation method block",
			"Unknown provider installation method %q: there are direct, filesystem_mirror, network_mirror, oci_mirror and dev_overrides.", it.name)
		return
	}
	for _, arg := range it.children() {
		switch arg.name {
		case "include":
			m.Include = r.patterns(arg)
		case "exclude":
			m.Exclude = r.patterns(arg)
		case "download_retry_count":
			r.value(arg, &m.DownloadRetries)
		case "trust_all_hashes":
			r.value(arg, &m.TrustAllHashes)
		case location:
			r.value(arg, &m.Location)
		default:
			r.unknown(arg, it.name)
		}
	}
	if location != "" && m.Location == "" {
		r.fail(it.pos, "Invalid provider_installation method block", "The %s block needs the argument %q.", it.name, location)
		return
	}
	if m.Kind == OCIMirror {
		for _, wrong := range m.CheckTemplate() {
			r.fail(it.pos, "Invalid oci_mirror repository template", "%s", wrong)
		}
	}
	in.Methods = append(in.Methods, m)
}

func (r *reader) patterns(it item) []Pattern {
	var texts []string
	if !r.value(it, &texts) {
		return nil
	}
	var out []Pattern
	for _, text := range texts {
		p, err := ParsePattern(text, r.registry)
		if err != nil {
			summary := map[string]string{"include": "Invalid provider source inclusion patterns", "exclude": "Invalid provider source exclusion patterns"}
			r.fail(it.pos, summary[it.name], "Invalid provider matching pattern: %s.", err)
			continue
		}
		out = append(out, p)
	}
	return out
}

// hostName is the name as it is compared: in ASCII and lower case, with the
// port where one is written.
func hostName(text string) (string, error) {
	host, port, hasPort := strings.Cut(text, ":")
	ascii, err := idna.Lookup.ToASCII(strings.ToLower(host))
	if err != nil || ascii == "" {
		return "", fmt.Errorf("%q isn't a host name", text)
	}
	if hasPort && port != "443" {
		ascii += ":" + port
	}
	return ascii, nil
}
