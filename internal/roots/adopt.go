package roots

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/format"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/sys/readlimit"
)

const (
	// MovesFile is the file in the folder of a stack with the moves of what it has taken over.
	MovesFile = "adopted.hcl"
	// inputsFile declares what a component gets from the stack.
	inputsFile = "stack_inputs.tf"
	// theDeployment is the deployment of roots that have no workspaces of their own.
	theDeployment = "default"
)

// An Adoption is a stack that takes over roots: each directory is a component, and each workspace a
// deployment.
type Adoption struct {
	Files map[string][]byte // by path in the folder of the stack, with slashes
	Moves []Moves
}

// adopting makes an adoption.
type adopting struct {
	estate     *Estate
	dir        string // the folder of the stack, as the paths of roots are
	states     map[*Root]*state.Snapshot
	components []*component
	of         map[string]*component // by path
	workspaces []string
	required   map[string]*required // by local name in the stack
	out        Adoption
	diags      diag.List
}

// required is a provider that the stack requires.
type required struct {
	provider addr.Provider
	versions []string
}

// A component is a directory of roots.
type component struct {
	name, path string
	roots      []*Root
	prog       *program.Program
	files      []*source
	providers  map[string]*hclsyntax.Block // by local name
	// needs are all providers of the module and those below, by local name. Those in missing are
	// only in modules below.
	needs   map[string]addr.Provider
	missing []string
	reads   map[string]*component // by the names of the data sources
	inputs  map[string]string     // expressions in the stack, by variable
	added   map[string]bool       // variables that the module gets
}

// A source is a file of a component.
type source struct {
	name  string // below the component, with slashes
	text  []byte
	body  *hclsyntax.Body // nil where it isn't a configuration
	edits []edit
}

// An edit replaces bytes.
type edit struct {
	from, to int
	text     string
}

// Adopt makes a stack of roots in a folder, as seen from the estate. States are those of the roots, nil
// for roots without one. Nothing is written.
func (e *Estate) Adopt(ctx context.Context, list []*Root, dir string, states map[*Root]*state.Snapshot) (*Adoption, diag.List) {
	a := &adopting{
		estate: e, dir: clean(filepath.ToSlash(dir)), states: states, of: map[string]*component{}, required: map[string]*required{},
		out: Adoption{Files: map[string][]byte{}},
	}
	for _, r := range list {
		a.add(ctx, r)
	}
	a.chooseWorkspaces()
	if a.diags.HasErrors() {
		return nil, a.diags
	}
	for _, c := range a.components {
		a.read(c)
	}
	for _, c := range a.components {
		a.edit(c)
	}
	if a.diags.HasErrors() {
		return nil, a.diags
	}
	for _, c := range a.components {
		a.module(c)
	}
	a.stack()
	a.locks()
	a.moves(list)
	return &a.out, a.diags
}

func (a *adopting) fail(at hcl.Range, format string, args ...any) {
	a.diags.Add(NotAdopted.Error(at, format, args...))
}

// add adds a root to the component of its directory.
func (a *adopting) add(ctx context.Context, r *Root) {
	c := a.of[r.Path]
	if c == nil {
		config := r.load(ctx)
		if config == nil || config.Tree == nil || config.Tree.Program == nil || r.Problems.HasErrors() {
			a.diags.Append(NotAdopted.List("The root %s could be read only in part, so it can't become a component. Validate it first.", r.Name))
			return
		}
		c = &component{
			name: a.newName(r.Path), path: r.Path, prog: config.Tree.Program, providers: map[string]*hclsyntax.Block{}, needs: map[string]addr.Provider{},
			reads: map[string]*component{}, inputs: map[string]string{}, added: map[string]bool{},
		}
		c.require(config.Tree, true)
		a.components, a.of[r.Path] = append(a.components, c), c
	}
	c.roots = append(c.roots, r)
}

// newName is the name of a component for a path.
func (a *adopting) newName(path string) string {
	name := strings.Map(func(c rune) rune {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, path)
	if path == "." {
		name = "root"
	}
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	for slices.ContainsFunc(a.components, func(c *component) bool { return c.name == name }) {
		name += "_"
	}
	return name
}

// require finds the providers of a module and the modules below.
func (c *component) require(t *program.Tree, root bool) {
	if t == nil || t.Program == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(t.Program.Requirements)) {
		r := t.Program.Requirements[name]
		if r.Provider.IsBuiltin() || slices.Contains(slices.Collect(maps.Values(c.needs)), r.Provider) {
			continue
		}
		for c.needs[name] != (addr.Provider{}) {
			name += "_"
		}
		if c.needs[name] = r.Provider; !root {
			c.missing = append(c.missing, name)
		}
	}
	for _, child := range t.Calls() {
		c.require(child, false)
	}
}

// chooseWorkspaces finds the deployments: the workspaces that all roots have.
func (a *adopting) chooseWorkspaces() {
	for i, c := range a.components {
		var names []string
		for _, r := range c.roots {
			names = append(names, r.Workspace)
		}
		slices.Sort(names)
		if i > 0 && !slices.Equal(names, a.workspaces) {
			a.diags.Append(NotAdopted.List("Each workspace becomes a deployment, which has all components. The roots in %s and %s have different workspaces in %s. Adopt them into different stacks, with -root and -to.", a.components[0].path, c.path, SettingsFile))
			return
		}
		a.workspaces = names
	}
}

// deployment is the name of the deployment for a workspace.
func deployment(workspace string) string {
	if workspace == "" {
		return theDeployment
	}
	return workspace
}

// read reads the files of a component.
func (a *adopting) read(c *component) {
	top := c.roots[0].Dir.Place.Dir
	err := filepath.WalkDir(top, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, at)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		seen := path.Join(c.path, rel)
		if entry.IsDir() {
			if rel != "." && (strings.HasPrefix(entry.Name(), ".") || seen == a.dir || entry.Name() == "terraform.tfstate.d" || a.isRoot(seen)) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || left(entry.Name()) {
			return nil
		}
		text, err := readlimit.File(at)
		if err != nil {
			return err
		}
		f := &source{name: rel, text: text}
		c.files = append(c.files, f)
		if !isConfiguration(entry.Name()) {
			return nil
		}
		parsed, problems := syntax.Parse(seen, text)
		a.diags.Append(problems)
		f.body, _ = parsed.Body.(*hclsyntax.Body)
		if f.body == nil && !strings.Contains(rel, "/") {
			a.diags.Append(NotAdopted.List("The file %s is in JSON syntax, which weir can't edit. Write it in the native syntax first.", seen))
		}
		return nil
	})
	if err != nil {
		a.diags.Append(diag.Unreadable.List("The files of the root %s can't be read: %s.", c.path, diag.Cause(err)))
	}
}

func (a *adopting) isRoot(path string) bool {
	return slices.ContainsFunc(a.estate.Roots, func(r *Root) bool { return r.Path == path })
}

// left reports whether a file isn't part of the module: states, values of variables, what
// programs keep.
func left(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, ".tfstate") || strings.HasSuffix(name, ".tfvars") || strings.HasSuffix(name, ".tfvars.json") || strings.HasSuffix(name, ".tfplan") || name == SettingsFile
}

// edit finds what changes in the files of a component: the stack has its backend, its provider
// configurations and the values of other components.
func (a *adopting) edit(c *component) {
	a.upstreams(c)
	for _, f := range c.files {
		if f.body == nil {
			continue
		}
		inRoot := !strings.Contains(f.name, "/")
		for _, b := range f.body.Blocks {
			a.moduleSource(c, f, b)
			if !inRoot {
				continue
			}
			switch {
			case b.Type == "terraform":
				for _, inner := range b.Body.Blocks {
					switch inner.Type {
					case "backend", "cloud", "encryption":
						f.drop(inner)
					case "required_providers":
						f.edits = append(f.edits, edit{inner.CloseBraceRange.Start.Byte, inner.CloseBraceRange.Start.Byte, requirements(c, c.missing)})
						c.missing = nil
					}
				}
			case b.Type == "provider" && len(b.Labels) == 1:
				for _, name := range []string{"alias", "for_each"} {
					if attr := b.Body.Attributes[name]; attr != nil {
						a.fail(attr.NameRange, "Configurations of providers with %s can't be adopted yet. Keep this root as it is, or write the component by hand.", name)
					}
				}
				c.providers[b.Labels[0]] = b
				f.drop(b)
			case b.Type == "data" && len(b.Labels) == 2 && b.Labels[0] == "terraform_remote_state" && c.reads[b.Labels[1]] != nil:
				for _, name := range []string{"count", "for_each"} {
					if attr := b.Body.Attributes[name]; attr != nil {
						a.fail(attr.NameRange, "Reads of states with %s can't be adopted. Write one data source for each root.", name)
					}
				}
				f.drop(b)
			}
		}
		if inRoot {
			a.references(c, f)
		}
	}
}

// upstreams finds the components that data sources of a component read.
func (a *adopting) upstreams(c *component) {
	for _, r := range c.roots {
		for _, up := range r.Upstream {
			to := a.of[up.To.Path]
			at, err := addr.ParseInstance(up.Address)
			if to == nil || err != nil { // not one of the stack, or of the settings file
				continue
			}
			if at.Module != addr.Root {
				a.fail(up.Range, "The module %s reads the state of %s. Read it in the root module, and pass the values to this one.", at.Module, up.To.Name)
				continue
			}
			name := at.Name.Name
			if !slices.Contains(to.roots, up.To) || up.To.Workspace != r.Workspace || c.reads[name] != nil && c.reads[name] != to {
				a.fail(up.Range, "%s reads the state of %s, which becomes another deployment. A component only reads components of its own deployment.", r.Name, up.To.Name)
			}
			c.reads[name] = to
		}
	}
}

// moduleSource has a call lead to the same module from the new place.
func (a *adopting) moduleSource(c *component, f *source, b *hclsyntax.Block) {
	if b.Type != "module" || b.Body.Attributes["source"] == nil {
		return
	}
	expr := b.Body.Attributes["source"].Expr
	v, problems := expr.Value(nil)
	if problems.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return
	}
	text := v.AsString()
	if !strings.HasPrefix(text, "./") && !strings.HasPrefix(text, "../") {
		return
	}
	target := path.Join(c.path, path.Dir(f.name), text)
	if inside := c.path == "." || target == c.path || strings.HasPrefix(target, c.path+"/"); inside && !a.isRoot(target) {
		return // it is copied too
	}
	rel, err := filepath.Rel(filepath.FromSlash(path.Join(a.dir, c.name, path.Dir(f.name))), filepath.FromSlash(target))
	if err != nil {
		a.fail(expr.Range(), "The way from the stack to this module can't be named: %s.", err)
		return
	}
	if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, ".") {
		rel = "./" + rel
	}
	f.replace(expr.Range(), hclText(cty.StringVal(rel)))
}

// references has expressions read variables in place of states and the workspace.
func (a *adopting) references(c *component, f *source) {
	_ = hclsyntax.VisitAll(f.body, func(n hclsyntax.Node) hcl.Diagnostics {
		expr, ok := n.(*hclsyntax.ScopeTraversalExpr)
		if !ok || f.dropped(expr.Range()) {
			return nil
		}
		t := expr.Traversal
		switch {
		case t.RootName() == "terraform" && step(t, 1) == "workspace":
			name := c.variable("workspace")
			c.inputs[name] = "var.workspace"
			f.replace(span(t, 2), "var."+name)
		case t.RootName() == "data" && step(t, 1) == "terraform_remote_state" && c.reads[step(t, 2)] != nil:
			if step(t, 3) != "outputs" || step(t, 4) == "" {
				a.fail(expr.Range(), "This refers to all outputs of another root. A component gets single outputs of others, so refer to each as data.terraform_remote_state.%s.outputs.NAME.", step(t, 2))
				return nil
			}
			name := c.variable(step(t, 2) + "_" + step(t, 4))
			c.inputs[name] = c.reads[step(t, 2)].output(step(t, 4))
			f.replace(span(t, 5), "var."+name)
		}
		return nil
	})
}

// output refers to an output in the stack. Reads of states aren't sensitive, and a value that becomes
// sensitive is a change.
func (c *component) output(name string) string {
	text := "component." + c.name + "." + name
	if o := c.prog.OutputByName[name]; o != nil && o.Sensitive {
		return "nonsensitive(" + text + ")"
	}
	return text
}

// variable is a name for a variable that the module doesn't declare.
func (c *component) variable(name string) string {
	for c.prog.VariableByName[name] != nil {
		name += "_"
	}
	c.added[name] = true
	return name
}

// step is the name of a step of a traversal, "" for none.
func step(t hcl.Traversal, i int) string {
	if i >= len(t) {
		return ""
	}
	switch s := t[i].(type) {
	case hcl.TraverseAttr:
		return s.Name
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String && hclsyntax.ValidIdentifier(s.Key.AsString()) {
			return s.Key.AsString()
		}
	}
	return ""
}

// span is where the first steps of a traversal are.
func span(t hcl.Traversal, steps int) hcl.Range {
	return hcl.RangeBetween(t[0].SourceRange(), t[steps-1].SourceRange())
}

func (f *source) replace(at hcl.Range, text string) {
	f.edits = append(f.edits, edit{at.Start.Byte, at.End.Byte, text})
}

// drop removes a block with its line.
func (f *source) drop(b *hclsyntax.Block) {
	at := b.Range()
	from, to := at.Start.Byte, b.CloseBraceRange.End.Byte
	for from > 0 && (f.text[from-1] == ' ' || f.text[from-1] == '\t') {
		from--
	}
	if to < len(f.text) && f.text[to] == '\n' {
		to++
	}
	if blank := string(f.text[max(from-2, 0):from]); to < len(f.text) && f.text[to] == '\n' && (blank == "" || blank == "\n\n") {
		to++ // of the empty lines around it one is left
	}
	f.edits = append(f.edits, edit{from, to, ""})
}

func (f *source) dropped(at hcl.Range) bool {
	return slices.ContainsFunc(f.edits, func(e edit) bool { return e.text == "" && e.from <= at.Start.Byte && at.End.Byte <= e.to })
}

// edited is a part of a text with the edits that are in it.
func edited(text []byte, from, to int, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var out []byte
	for _, e := range edits {
		if e.from >= from && e.to <= to {
			out = append(append(out, text[from:e.from]...), e.text...)
			from = e.to
		}
	}
	return append(out, text[from:to]...)
}

// hclText is a value as text.
func hclText(v cty.Value) string { return string(hclwrite.TokensForValue(v).Bytes()) }

// requirements are entries of required_providers.
func requirements(c *component, names []string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%s = {\nsource = %q\n}\n", name, c.needs[name].ForDisplay())
	}
	return b.String()
}

// module writes the files of a component.
func (a *adopting) module(c *component) {
	for _, f := range c.files {
		text := f.text
		if len(f.edits) > 0 {
			text = format.Source(edited(text, 0, len(text), f.edits), f.name)
		}
		a.out.Files[path.Join(c.name, f.name)] = text
	}
	var b strings.Builder
	if len(c.missing) > 0 {
		fmt.Fprintf(&b, "terraform {\nrequired_providers {\n%s}\n}\n", requirements(c, c.missing))
	}
	for _, name := range slices.Sorted(maps.Keys(c.added)) {
		fmt.Fprintf(&b, "variable %q {}\n", name)
	}
	if b.Len() > 0 {
		a.out.Files[path.Join(c.name, inputsFile)] = format.Source([]byte(b.String()), inputsFile)
	}
}

// stack writes the files of the stack.
func (a *adopting) stack() {
	var components, providers, variables strings.Builder
	given := map[string]map[string]string{} // by deployment and variable of the stack
	for _, w := range a.workspaces {
		given[w] = map[string]string{}
	}
	usesWorkspace := false
	for _, c := range a.components {
		a.values(c, given, &variables)
		fmt.Fprintf(&components, "\ncomponent %q {\nsource = %q\n", c.name, "./"+c.name)
		if len(c.inputs) > 0 {
			components.WriteString("inputs = {\n")
			for _, name := range slices.Sorted(maps.Keys(c.inputs)) {
				fmt.Fprintf(&components, "%s = %s\n", name, c.inputs[name])
				usesWorkspace = usesWorkspace || c.inputs[name] == "var.workspace"
			}
			components.WriteString("}\n")
		}
		if len(c.needs) > 0 {
			components.WriteString("providers = {\n")
			for _, name := range slices.Sorted(maps.Keys(c.needs)) {
				local := a.require(c, name)
				fmt.Fprintf(&components, "%s = provider.%s.%s\n", name, local, c.name)
				fmt.Fprintf(&providers, "\nprovider %q %q {%s}\n", local, c.name, a.configuration(c, name))
			}
			components.WriteString("}\n")
		}
		a.after(c, &components)
		components.WriteString("}\n")
	}
	if usesWorkspace {
		variables.WriteString("\nvariable \"workspace\" {\ntype = string\n}\n")
		for _, w := range a.workspaces {
			given[w]["workspace"] = hclText(cty.StringVal(deployment(w)))
		}
	}
	var text strings.Builder
	if len(a.required) > 0 {
		text.WriteString("required_providers {\n")
		for _, name := range slices.Sorted(maps.Keys(a.required)) {
			r := a.required[name]
			fmt.Fprintf(&text, "%s = {\nsource = %q\n", name, r.provider.ForDisplay())
			if len(r.versions) > 0 {
				fmt.Fprintf(&text, "version = %q\n", strings.Join(r.versions, ", "))
			}
			text.WriteString("}\n")
		}
		text.WriteString("}\n")
	}
	text.WriteString(providers.String() + variables.String() + components.String())
	a.out.Files["stack.tfcomponent.hcl"] = format.Source([]byte(strings.TrimLeft(text.String(), "\n")), "stack.tfcomponent.hcl")

	text.Reset()
	for i, w := range a.workspaces {
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "deployment %q {\ninputs = {\n", deployment(w))
		for _, name := range slices.Sorted(maps.Keys(given[w])) {
			fmt.Fprintf(&text, "%s = %s\n", name, given[w][name])
		}
		text.WriteString("}\n}\n")
	}
	a.out.Files["deployments.tfdeploy.hcl"] = format.Source([]byte(text.String()), "deployments.tfdeploy.hcl")
}

// require is the local name of a component's provider in the stack.
func (a *adopting) require(c *component, name string) string {
	p := c.needs[name]
	local := name
	for a.required[local] != nil && a.required[local].provider != p {
		local += "_"
	}
	if a.required[local] == nil {
		a.required[local] = &required{provider: p}
	}
	if r := c.prog.Requirements[name]; r != nil && r.Constraints != "" && !slices.Contains(a.required[local].versions, r.Constraints) {
		a.required[local].versions = append(a.required[local].versions, r.Constraints)
	}
	return local
}

// configuration is that of a component's provider. It may refer to variables, which the stack has under
// the component's name.
func (a *adopting) configuration(c *component, name string) string {
	b := c.providers[name]
	if b == nil {
		return ""
	}
	var edits []edit
	for _, attr := range b.Body.Attributes {
		if attr.Name == "version" {
			edits = append(edits, edit{attr.SrcRange.Start.Byte, attr.SrcRange.End.Byte, ""})
		}
	}
	_ = hclsyntax.VisitAll(b.Body, func(n hclsyntax.Node) hcl.Diagnostics {
		expr, ok := n.(*hclsyntax.ScopeTraversalExpr)
		switch {
		case !ok:
		case expr.Traversal.RootName() == "var" && a.ofStack(c, step(expr.Traversal, 1)) != "":
			edits = append(edits, edit{span(expr.Traversal, 2).Start.Byte, span(expr.Traversal, 2).End.Byte, "var." + a.ofStack(c, step(expr.Traversal, 1))})
		case step(expr.Traversal, 1) == "terraform_remote_state" && c.reads[step(expr.Traversal, 2)] != nil && step(expr.Traversal, 4) != "":
			edits = append(edits, edit{span(expr.Traversal, 5).Start.Byte, span(expr.Traversal, 5).End.Byte, c.reads[step(expr.Traversal, 2)].output(step(expr.Traversal, 4))})
		default:
			a.fail(expr.Range(), "In a stack the configuration of a provider can only refer to outputs of other roots, and to variables that have values. Replace %s by such a variable, or by its value.", traversal(expr.Traversal))
		}
		return nil
	})
	for _, f := range c.files {
		if f.body != nil && slices.Contains(f.body.Blocks, b) {
			text := strings.TrimSpace(string(edited(f.text, b.OpenBraceRange.End.Byte, b.CloseBraceRange.Start.Byte, edits)))
			if text == "" {
				return ""
			}
			return "\nconfig {\n" + text + "\n}\n"
		}
	}
	return ""
}

func traversal(t hcl.Traversal) string {
	text := t.RootName()
	for i := 1; i < len(t) && step(t, i) != ""; i++ {
		text += "." + step(t, i)
	}
	return text
}

// ofStack is the variable of the stack for one of a component, "" for none.
func (a *adopting) ofStack(c *component, name string) string {
	text, _ := strings.CutPrefix(c.inputs[name], "var.")
	return text
}

// values finds the values of a component's variables, and declares them in the stack.
func (a *adopting) values(c *component, given map[string]map[string]string, out *strings.Builder) {
	for _, v := range c.prog.Variables {
		name, found := c.name+"_"+v.Name, 0
		for _, r := range c.roots {
			inputs, diags := r.Dir.Place.Inputs(r.Vars)
			a.diags.Append(diags)
			in, ok := inputs[v.Name]
			switch {
			case !ok:
				continue
			case in.Value == cty.NilVal:
				a.diags.Append(NotAdopted.List("The variable %s of the root %s has its value from the environment, which the files of a stack don't have. Write the value to terraform.tfvars, or to %s.", v.Name, r.Name, SettingsFile))
				continue
			}
			found++
			given[r.Workspace][name] = hclText(in.Value)
		}
		if found == 0 {
			continue
		}
		c.inputs[v.Name] = "var." + name
		typ, initial := c.text(v.Name, "type"), c.text(v.Name, "default")
		if typ == "" {
			typ = "any"
		}
		fmt.Fprintf(out, "\nvariable %q {\ntype = %s\n", name, typ)
		if found < len(c.roots) && initial != "" {
			fmt.Fprintf(out, "default = %s\n", initial)
		}
		if v.Sensitive {
			out.WriteString("sensitive = true\n")
		}
		if v.Ephemeral {
			out.WriteString("ephemeral = true\n")
		}
		out.WriteString("}\n")
	}
}

// text is an argument of a variable as it is written.
func (c *component) text(variable, name string) string {
	for _, f := range c.files {
		if f.body == nil || strings.Contains(f.name, "/") {
			continue
		}
		for _, b := range f.body.Blocks {
			if b.Type == "variable" && slices.Equal(b.Labels, []string{variable}) && b.Body.Attributes[name] != nil {
				at := b.Body.Attributes[name].Expr.Range()
				return string(f.text[at.Start.Byte:at.End.Byte])
			}
		}
	}
	return ""
}

// after writes the edges that no value shows.
func (a *adopting) after(c *component, out *strings.Builder) {
	var names []string
	for _, r := range c.roots {
		for _, up := range r.Upstream {
			to := a.of[up.To.Path]
			if to == nil || to == c || slices.Contains(names, "component."+to.name) || slices.ContainsFunc(slices.Collect(maps.Values(c.inputs)), func(text string) bool { return strings.Contains(text, "component."+to.name+".") }) {
				continue
			}
			names = append(names, "component."+to.name)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(out, "depends_on = [%s]\n", strings.Join(names, ", "))
	}
}

// locks writes the versions of providers that all roots have locked alike.
func (a *adopting) locks() {
	all, differ := &lockfile.Locks{}, map[addr.Provider]bool{}
	for _, c := range a.components {
		locks, diags := c.roots[0].Dir.Place.Locks()
		if diags.HasErrors() {
			continue // init reports it
		}
		for _, lock := range locks.All() {
			if before, ok := all.Get(lock.Provider); ok && before.Version.String() != lock.Version.String() {
				differ[lock.Provider] = true
			}
			all.Set(lock)
		}
	}
	for p := range differ {
		all.Remove(p)
	}
	if !all.Empty() {
		a.out.Files[lockfile.Name] = all.Bytes(a.estate.Dir.Place.Program)
	}
}

// moves writes which objects move where.
func (a *adopting) moves(list []*Root) {
	var b strings.Builder
	b.WriteString("# The objects that this stack has taken over from roots. \"stacks adopt -undo\" gives them back.\n")
	for _, r := range list {
		one := Moves{From: r.Name, To: a.dir + "@" + deployment(r.Workspace)}
		if s := a.states[r]; s != nil {
			for _, at := range s.Addresses() {
				pair := [2]string{at.Resource.String(), "component." + a.of[r.Path].name + "." + at.Resource.String()}
				if at.Name.Mode == addr.Managed && !slices.Contains(one.Pairs, pair) {
					one.Pairs = append(one.Pairs, pair)
				}
			}
		}
		if len(one.Pairs) == 0 {
			continue
		}
		a.out.Moves = append(a.out.Moves, one)
		fmt.Fprintf(&b, "\nmove {\nfrom = %s\nto = %s\naddresses = [\n", hclText(cty.StringVal(one.From)), hclText(cty.StringVal(one.To)))
		for _, p := range one.Pairs {
			fmt.Fprintf(&b, "%s,\n", hclText(cty.StringVal(p[0]+"="+p[1])))
		}
		b.WriteString("]\n}\n")
	}
	a.out.Files[MovesFile] = format.Source([]byte(b.String()), MovesFile)
}
