// Package statefile reads and writes states in the JSON of format version 4, which OpenTofu
// and Terraform share, and reads versions 1 to 3.
//
// It owns the format: the order of everything in it, what may be missing, and the messages for
// files that aren't states. It rejects locks, paths and bytes at rest (package storage),
// encryption, and what the attributes of an object mean: those stay in the JSON they were
// found in.
package statefile

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/persisted"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/state"
)

// formatVersion is the version of the format that this package speaks; earlier
// ones it reads.
const formatVersion = 4

// Summaries that tools match on.
const (
	unsupportedFormat = "Unsupported state file format"
	invalidFormat     = "Invalid state file format"
	invalidInstance   = "Invalid resource instance metadata in state"
	duplicateInstance = "Duplicate resource instance in state"
	invalidMode       = "Invalid resource mode in state"
	missingProvider   = "Provider field missing state"
	invalidOutputType = "Invalid output value type in state"
	invalidOutput     = "Invalid output value saved in state"
	upgradeFailed     = "State format upgrade failed"
	lostTainted       = "Tainted object left out"
)

// Read reads a state. name says in messages where src comes from. The
// snapshot is nil when src is empty, which means that there is no state yet,
// and when there are errors.
//
// The snapshot keeps slices of src: the caller must not change it afterwards.
// Members that this version doesn't know are skipped.
func Read(src []byte, name string) (*state.Snapshot, diag.List) {
	return newReader(src, name).read()
}

// Outline is Read for callers that need no more of the objects than their addresses and
// providers. All objects of a provider configuration are one, without attributes. It rejects
// what Read rejects. States of earlier versions are read in full.
func Outline(src []byte, name string) (*state.Snapshot, diag.List) {
	r := newReader(src, name)
	r.outlined = map[addr.ProviderConfig]*state.Object{}
	return r.read()
}

// IsCurrent reports whether the text of a state has the version of the format that Bytes
// writes.
func IsCurrent(src []byte) bool {
	s := scanner{src: src}
	var version []byte
	_ = s.object(func(member string) error {
		text, err := s.value()
		if err == nil && member == "version" {
			version, err = text, errVersion // the rest needn't be read
		}
		return err
	})
	return string(version) == "4"
}

func (r *reader) read() (*state.Snapshot, diag.List) {
	src := r.src
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, nil
	}
	// Nearly every object has its member of that name.
	r.out.Objects = make(map[addr.Object]*state.Object, bytes.Count(src, []byte(`"schema_version"`)))
	err := r.file()
	if err == nil && !r.versioned {
		err = errVersion
	}
	switch {
	case err != nil && !r.old(err):
		r.failed(err)
	case err == nil && !r.listed:
		r.diags.Add(Invalid.As(invalidFormat).New(diag.Error, "%s has no \"resources\". Every engine writes that list, even an empty one, so the file was damaged or edited.\n\nPut an intact copy in its place, such as the backup beside it or an earlier version from the storage. If the state really has no resources, add \"resources\": [] to the file.", r.name))
	}
	if r.diags.HasErrors() {
		return nil, r.diags
	}
	return r.out, r.diags
}

// errVersion says that the version isn't ours; versionProblem finds words.
var errVersion = errors.New("version")

type reader struct {
	scanner
	name      string
	out       *state.Snapshot
	diags     diag.List
	versioned bool
	listed    bool // it has its list of resources
	// outlined are the objects of an outline, nil for objects with all that they have. Each
	// instance is read to scratch then.
	outlined map[addr.ProviderConfig]*state.Object
	scratch  state.Object

	// The same few texts occur in every object, so each is parsed once.
	modules   map[string]addr.Module
	providers map[string]addr.ProviderConfig
	resources map[string]addr.Resource
	narrowed  struct { // the last object that narrows its dependencies
		keys []byte
		deps []addr.Resource
		uses []state.Uses
	}
}

func newReader(src []byte, name string) *reader {
	return &reader{
		scanner:   scanner{src: src},
		name:      name,
		out:       state.Empty(),
		modules:   map[string]addr.Module{"": addr.Root},
		providers: map[string]addr.ProviderConfig{},
		resources: map[string]addr.Resource{},
	}
}

// failed reports why reading stopped.
func (r *reader) failed(err error) {
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		before := r.src[:min(syntax.offset, len(r.src))]
		line := 1 + bytes.Count(before, []byte("\n"))
		r.diags.Add(Invalid.As(unsupportedFormat).New(diag.Error, "%s could not be parsed as JSON: syntax error at byte offset %d (line %d): %s.\n\nThe file was cut off or changed by something else. Put an intact copy in its place, such as the backup beside it or an earlier version from the storage, or move it away to start without a state.",
			r.name, syntax.offset, line, syntax.what))
		return
	}
	if r.versionProblem() {
		return
	}
	r.diags.Add(Invalid.As(invalidFormat).New(diag.Error, "%s is not a valid state: %s. Put an intact copy in its place, such as the backup beside it.", r.name, err))
}

// old reads a file of an earlier version of the format, which is why reading
// stopped with err. It reports whether the file is one.
func (r *reader) old(err error) bool {
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		return false
	}
	version, _, _, err := r.versions()
	if errors.As(err, &syntax) {
		r.failed(err) // behind the version, where nothing was read yet
		return true
	}
	if err != nil || len(version) != 1 || version[0] < '1' || version[0] >= '0'+formatVersion {
		return false
	}
	oldReader{r, int(version[0] - '0')}.file()
	return true
}

// versions finds the version of the format and what wrote it, both as JSON and nil
// where they are missing, and whether it is encrypted.
func (r *reader) versions() (version, writer []byte, encrypted bool, err error) {
	s := scanner{src: r.src}
	err = s.object(func(member string) error {
		text, err := s.value()
		switch member {
		case "version":
			version = text
		case "terraform_version":
			writer = text
		case "encrypted_data":
			encrypted = true
		}
		return err
	})
	return version, writer, encrypted, err
}

// versionProblem reports a version of the format that isn't ours: a file of
// another version may have any shape, so this goes before other problems.
func (r *reader) versionProblem() bool {
	version, writer, encrypted, err := r.versions()
	switch {
	case err != nil:
		r.diags.Add(Invalid.As(unsupportedFormat).New(diag.Error, "%s is not a state: a JSON object is expected.", r.name))
	case encrypted && version == nil:
		r.diags.Add(Invalid.As(unsupportedFormat).New(diag.Error, "%s is encrypted and can not be read without an encryption configuration. Add the encryption block it was written with.", r.name))
	case version == nil:
		r.diags.Add(Invalid.As(unsupportedFormat).New(diag.Error, "%s does not have a \"version\" attribute, which is required to identify the format version. Check that it is a state and not some other file.", r.name))
	case string(version) == "4":
		return false
	case !plainNumber(version):
		r.diags.Add(Invalid.As(unsupportedFormat).New(diag.Error, "The version in %s is %s. A positive whole number is required.", r.name, version[:min(len(version), 40)]))
	default:
		by := ""
		if len(writer) > 2 && writer[0] == '"' {
			by = fmt.Sprintf(" It was created by version %s.", writer[1:len(writer)-1])
		}
		r.diags.Add(Invalid.As(unsupportedFormat).New(diag.Error, "%s uses format version %s, which is not supported; version %d is.%s Use the newer version that wrote it, or an earlier copy of the state.", r.name, version, formatVersion, by))
	}
	return true
}

func plainNumber(text []byte) bool {
	return len(text) > 0 && !slices.ContainsFunc(text, func(c byte) bool { return c < '0' || c > '9' })
}

// file reads the outermost object.
func (r *reader) file() error {
	if r.peek() != '{' {
		return r.other("an object")
	}
	if err := r.object(r.topMember); err != nil {
		return err
	}
	return r.end()
}

func (r *reader) topMember(name string) (err error) {
	switch name {
	case "version":
		var version []byte
		if version, err = r.value(); err == nil && string(version) != "4" {
			return errVersion
		}
		r.versioned = true
	case "terraform_version":
		r.out.Version, err = r.text()
	case "serial":
		r.out.Serial, err = r.whole()
	case "lineage":
		r.out.Lineage, err = r.text()
	case "outputs":
		err = r.object(r.output)
	case "resources":
		r.listed = true
		err = r.list(r.resource)
	case "check_results":
		r.out.Checks = nil
		err = r.array(r.check)
	case "stack":
		r.out.Memory, err = r.value()
	case "transfer":
		var text []byte
		if text, err = r.value(); err == nil {
			r.out.Transfer, err = parseTransfer(text)
		}
	default:
		err = r.skip()
	}
	return err
}

func (r *reader) output(name string) error {
	var out state.Output
	var content, typ []byte
	err := r.object(func(member string) (err error) {
		switch member {
		case "value":
			content, err = r.value()
		case "type":
			typ, err = r.value()
		case "sensitive":
			out.Sensitive, err = r.flag()
		case "deprecated":
			out.Deprecated, err = r.text()
		default:
			err = r.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	t, err := ctyjson.UnmarshalType(typ)
	if err != nil {
		r.diags.Add(Invalid.As(invalidOutputType).New(diag.Error, "%s has an invalid type specification for output %q: %s.", r.name, name, err))
		return nil
	}
	out.Value, err = value.FromJSON(content, t)
	if err != nil {
		r.diags.Add(Invalid.As(invalidOutput).New(diag.Error, "%s has an invalid value for output %q: %s.", r.name, name, err))
		return nil
	}
	r.out.Outputs[name] = out
	return nil
}

// list reads an array of objects. Unlike other arrays, it may not be null, and neither may
// its elements: what they would stand for is lost, and would be created again.
func (r *reader) list(f func() error) error {
	if r.peek() != '[' {
		return r.other("an array")
	}
	return r.array(func() error {
		if r.peek() != '{' {
			return r.other("an object")
		}
		return f()
	})
}

// An entry is an element of resources. Its members may come in any order.
type entry struct {
	module, mode, provider string

	resource  addr.Resource
	config    addr.ProviderConfig
	hasConfig bool
	at        int  // where the instances start in the source
	done      bool // the instances were read
}

func (r *reader) resource() error {
	e := entry{at: -1}
	if err := r.object(func(member string) error { return r.resourceMember(&e, member) }); err != nil {
		return err
	}
	if e.done {
		return nil
	}
	if e.at < 0 {
		if r.start(&e) {
			r.diags.Add(Invalid.As(invalidFormat).New(diag.Error, "%s has resource %s without \"instances\". Every engine writes that list, even an empty one, so the file was damaged or edited.\n\nPut an intact copy in its place, such as the backup beside it or an earlier version from the storage.", r.name, e.resource))
		}
		return nil
	}
	end, outer := r.pos, r.member
	r.pos, r.member = e.at, "instances"
	err := r.instances(&e)
	if err == nil {
		r.pos, r.member = end, outer
	}
	return err
}

func (r *reader) resourceMember(e *entry, member string) (err error) {
	switch member {
	case "module":
		e.module, err = r.text()
	case "mode":
		e.mode, err = r.known()
	case "type":
		e.resource.Name.Type, err = r.known()
	case "name":
		e.resource.Name.Name, err = r.text()
	case "provider":
		e.provider, err = r.known()
	case "instances":
		r.peek()
		e.at = r.pos
		// Writers put the instances last. Then everything about the resource
		// is known by now and one pass is enough; without a provider, it may
		// still follow.
		if e.mode != "" && e.resource.Name.Name != "" && e.provider != "" {
			return r.instances(e)
		}
		err = r.skip()
	default:
		err = r.skip()
	}
	return err
}

// instances reads the instances of a resource whose other members are known.
func (r *reader) instances(e *entry) error {
	e.done = true
	if !r.start(e) {
		return r.skip()
	}
	return r.list(func() error { return r.instance(e) })
}

// start resolves the addresses of a resource and reports those that are bad.
func (r *reader) start(e *entry) bool {
	switch e.mode {
	case "managed":
		e.resource.Name.Mode = addr.Managed
	case "data":
		e.resource.Name.Mode = addr.Data
	default:
		r.diags.Add(Invalid.As(invalidMode).New(diag.Error, "%s has a resource with mode %q (%q %q), which is not supported.", r.name, e.mode, e.resource.Name.Type, e.resource.Name.Name))
		return false
	}
	m, err := r.parseModule(e.module)
	if err != nil {
		r.diags.Add(Invalid.As(invalidFormat).New(diag.Error, "%s has a resource in a module that can't be understood: %s.", r.name, err))
		return false
	}
	e.resource.Module = m
	if !validName(e.resource.Name.Type) || !validName(e.resource.Name.Name) {
		r.diags.Add(Invalid.As(invalidFormat).New(diag.Error, "%s has a resource with the type %q and the name %q; both have to be identifiers.", r.name, e.resource.Name.Type, e.resource.Name.Name))
		return false
	}
	if e.provider == "" {
		return true
	}
	e.hasConfig = true
	if e.config, err = r.parseProvider(e.provider); err != nil {
		r.diags.Add(Invalid.As(invalidFormat).New(diag.Error, "%s has resource %s with a provider that can't be understood: %s.", r.name, e.resource, err))
		return false
	}
	return true
}

// validName reports whether text can be part of an address.
func validName(text string) bool {
	for i := range len(text) {
		switch c := text[i] | 0x20; {
		case 'a' <= c && c <= 'z', text[i] == '_':
		case i > 0 && ('0' <= c && c <= '9' || text[i] == '-'):
		default:
			return validAddress(text)
		}
	}
	return text != ""
}

// validAddress is validName for any name; most have ASCII letters only.
func validAddress(text string) bool {
	t, err := addr.ParseTarget("x." + text)
	return err == nil && t.Name.Name == text
}

func (r *reader) parseModule(text string) (addr.Module, error) {
	m, ok := r.modules[text]
	if ok {
		return m, nil
	}
	m, err := addr.ParseModule(text)
	if err == nil {
		r.modules[text] = m
	}
	return m, err
}

func (r *reader) parseProvider(text string) (addr.ProviderConfig, error) {
	p, ok := r.providers[text]
	if ok {
		return p, nil
	}
	p, err := addr.ParseProviderConfig(text)
	if err == nil {
		r.providers[text] = p
	}
	return p, err
}

// instance reads one element of instances.
func (r *reader) instance(e *entry) error {
	o := &r.scratch
	if r.outlined == nil {
		o = &state.Object{}
	} else {
		*o = state.Object{Dependencies: o.Dependencies[:0]}
	}
	i := instanceText{Object: o}
	if err := r.object(func(member string) error { return r.instanceMember(&i, member) }); err != nil {
		return err
	}
	at := addr.Object{Instance: e.resource.Instance(i.key), Deposed: i.deposed}
	if problem := r.finish(e, &i); problem != "" {
		r.diags.Add(Invalid.As(invalidInstance).New(diag.Error, "%s has instance %s %s.", r.name, at.Instance, problem))
		return nil
	}
	if i.provider == "" && !e.hasConfig {
		r.diags.Add(Invalid.As(missingProvider).New(diag.Error, "%s has resource %s without a provider address, both on the resource and on its instances.", r.name, e.resource))
		return nil
	}
	if r.out.Objects[at] != nil {
		r.diags.Add(Invalid.As(duplicateInstance).New(diag.Error, "%s has %s more than once. Remove all but one of the copies.", r.name, at))
		return nil
	}
	r.out.Objects[at] = r.kept(o)
	return nil
}

// kept is what the state keeps of an object.
func (r *reader) kept(o *state.Object) *state.Object {
	if r.outlined == nil {
		return o
	}
	shared := r.outlined[o.Provider]
	if shared == nil {
		shared = &state.Object{Provider: o.Provider}
		r.outlined[o.Provider] = shared
	}
	return shared
}

// instanceText is an instance with the members that need a second look.
type instanceText struct {
	*state.Object
	key      addr.Key
	deposed  string
	status   string
	provider string
	private  string
	badKey   bool

	dependencyKeys []byte
}

func (r *reader) instanceMember(i *instanceText, member string) (err error) {
	switch member {
	case "index_key":
		return r.indexKey(i)
	case "status":
		i.status, err = r.text()
	case "deposed":
		i.deposed, err = r.text()
	case "provider":
		i.provider, err = r.known()
	case "schema_version":
		i.SchemaVersion, err = r.version()
	case "attributes":
		i.JSON, err = r.objectText()
	case "attributes_flat":
		i.Flat = map[string]string{}
		err = r.object(func(name string) (err error) {
			i.Flat[name], err = r.text()
			return err
		})
	case "sensitive_attributes":
		i.Sensitive, err = r.paths()
	case "private":
		i.private, err = r.text()
	case "dependencies":
		i.Dependencies = i.Dependencies[:0]
		err = r.array(func() error { return r.dependency(i.Object) })
	case dependencyKeysMember:
		i.dependencyKeys, err = r.value()
	case "identity":
		i.IdentityJSON, err = r.objectText()
	case "identity_schema_version":
		i.IdentityVersion, err = r.version()
	default:
		flags := i.Flags()
		if n := slices.IndexFunc(flags, func(f persisted.Flag) bool { return f.Name == member }); n >= 0 {
			*flags[n].Set, err = r.flag()
		} else {
			err = r.skip()
		}
	}
	return err
}

// objectText returns the text of an object, nil for null.
func (r *reader) objectText() ([]byte, error) {
	switch r.peek() {
	case 'n':
		_, err := r.value()
		return nil, err
	case '{':
		return r.value()
	}
	return nil, r.other("an object")
}

// version reads the version of a schema.
func (r *reader) version() (int64, error) {
	n, err := r.whole()
	if err == nil && n > math.MaxInt64 {
		return 0, r.shape("a whole number")
	}
	return int64(n), err // #nosec G115 -- just compared
}

// indexKey reads the key of an instance.
func (r *reader) indexKey(i *instanceText) error {
	switch c := r.peek(); {
	case c == '"':
		text, err := r.text()
		i.key = addr.StringKey(text)
		return err
	case c >= '0' && c <= '9':
		n, err := r.whole()
		i.key = addr.IntKey(int(n)) // #nosec G115 -- bad where it is too large
		i.badKey = n > 1<<53
		return err
	case r.null():
		return nil
	}
	i.badKey = true
	return r.skip()
}

func (r *reader) dependency(o *state.Object) error {
	text, err := r.text()
	if err != nil {
		return err
	}
	dep, ok := r.resources[text]
	if !ok {
		t, err := addr.ParseTarget(text)
		if err != nil || t.IsModule() {
			r.diags.Add(Invalid.As(invalidFormat).New(diag.Error, "%s has %q as a dependency, which is not the address of a resource.", r.name, text))
			return nil
		}
		dep = addr.Resource{Module: t.Module, Name: t.Name}.Erase()
		r.resources[text] = dep
	}
	o.Dependencies = append(o.Dependencies, dep)
	return nil
}

// finish fills in what depends on several members and returns what is wrong
// with the instance, or nothing.
func (r *reader) finish(e *entry, i *instanceText) (problem string) {
	var err error
	switch {
	case i.badKey:
		return "whose index_key is neither a text nor a whole number"
	case i.deposed != "" && len(i.deposed) != 8:
		return fmt.Sprintf("with the deposed key %q, which has to have 8 characters", i.deposed)
	case i.status != "" && i.status != "tainted":
		return fmt.Sprintf("with the status %q, which is not known", i.status)
	}
	i.Tainted = i.status == "tainted"
	i.Provider = e.config
	if i.provider != "" {
		if i.Provider, err = r.parseProvider(i.provider); err != nil {
			return "with a provider that can't be understood: " + err.Error()
		}
	}
	if i.private != "" {
		if i.Private, err = base64.StdEncoding.DecodeString(i.private); err != nil {
			return "with private data that isn't base64"
		}
	}
	switch {
	case i.JSON != nil:
		i.Flat = nil
	case len(i.Flat) == 0:
		i.JSON, i.Flat = []byte("{}"), nil
	}
	if i.IdentityJSON == nil {
		i.IdentityVersion = 0
	}
	if i.dependencyKeys != nil {
		i.Uses = r.uses(i.dependencyKeys, i.Dependencies)
	}
	slices.SortFunc(i.Dependencies, func(a, b addr.Resource) int { return cmp.Compare(a.String(), b.String()) })
	i.Dependencies = slices.Compact(i.Dependencies)
	return ""
}

// paths reads the paths of the sensitive attributes.
func (r *reader) paths() ([]cty.Path, error) {
	r.peek()
	at := r.pos
	raw, err := r.value()
	if err != nil || string(raw) == "[]" {
		return nil, err
	}
	paths, err := value.PathsFromJSON(raw)
	if err != nil {
		return nil, &shapeError{at, "a list of paths", r.member}
	}
	return paths, nil
}
