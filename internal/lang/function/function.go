// Package function implements the functions of the configuration language: those of OpenTofu
// and Terraform, under their plain names and as `core::name`.
//
// It owns what a function computes, what it does with unknown and marked arguments, and what
// it says when it fails. It doesn't know where a call stands: time, directory and whether
// impure functions may answer come in through Env. Functions of providers are not here.
//
// Rules for all functions: the cost is linear in the arguments (lookup,
// element and length don't even walk their first one); a result carries the
// marks of what it was made of; a message never shows a sensitive or ephemeral
// value; an error names the argument it is about where one is to blame.
//
// The functions are made to be called by expressions. Some take an argument as
// an expression and can't be called directly with a value.
package function

import (
	"crypto/rand"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/lang/fsfuncs"
)

// Env is what functions need to know of the world.
type Env struct {
	// Files answers for the file system; nil means the disk.
	Files fsfuncs.Source
	// BaseDir is where relative paths start; "" means the working directory.
	BaseDir string
	// HomeDir replaces a leading "~"; "" means the user's.
	HomeDir string
	// PlanTimestamp is the time of the plan; it may be nil or answer false while none exists,
	// which makes plantimestamp unknown.
	PlanTimestamp func() (time.Time, bool)
	// Pure makes functions that answer differently each time (bcrypt,
	// timestamp, uuid) return unknown values.
	Pure bool
	// Now is the clock; nil means the real one.
	Now func() time.Time
	// Random is the source of uuid; nil means the system's.
	Random io.Reader
	// TemplateDepth is how deep templates may render templates; 0 means 1024.
	TemplateDepth int
}

const defaultTemplateDepth = 1024

// namespace qualifies the functions of the language itself.
const namespace = "core::"

// impure names what Env.Pure turns off.
var impure = []string{"bcrypt", "timestamp", "uuid"}

// Context is one in which all functions of the language can be called, under both of their
// names. Those that depend on nothing but their arguments are the same for all.
func Context(env Env) *hcl.EvalContext {
	env = env.withDefaults()
	own := map[string]function.Function{}
	env.addFiles(own)
	env.addTime(own)
	own["uuid"] = uuidFunc(env.Random)
	if env.Pure {
		for _, name := range impure {
			fn, ok := own[name]
			if !ok {
				fn = fixedTable()[name]
			}
			own[name] = function.Unpredictable(fn)
		}
	}
	ctx := fixedContext().NewChild()
	ctx.Functions = make(map[string]function.Function, 2*len(own)+4)
	for name, fn := range own {
		ctx.Functions[name], ctx.Functions[namespace+name] = fn, fn
	}
	// Templates see the finished context, themselves included.
	env.addTemplates(ctx)
	return ctx
}

// ConsoleContext is Context for the console, which has `type` and no plan.
func ConsoleContext(env Env) *hcl.EvalContext {
	ctx := Context(env)
	for _, prefix := range []string{"", namespace} {
		ctx.Functions[prefix+"type"] = typeFunc
		delete(ctx.Functions, prefix+"plantimestamp")
	}
	return ctx
}

func (env Env) withDefaults() Env {
	if env.Files == nil {
		env.Files = fsfuncs.Disk{}
	}
	if env.Now == nil {
		env.Now = time.Now
	}
	if env.Random == nil {
		env.Random = rand.Reader
	}
	if env.TemplateDepth == 0 {
		env.TemplateDepth = defaultTemplateDepth
	}
	return env
}

// fixedContext has the functions of fixedTable.
var fixedContext = sync.OnceValue(func() *hcl.EvalContext { return &hcl.EvalContext{Functions: fixedTable()} })

// fixedTable holds the functions that depend on nothing but their arguments, under
// both of their names.
var fixedTable = sync.OnceValue(func() map[string]function.Function {
	table := map[string]function.Function{}
	for _, add := range []func(map[string]function.Function){
		addAssumptions, addCIDR, addCollections, addConversions, addCrypto,
		addEncodings, addLibrary, addMarks, addRetired, addStrings, addTries,
	} {
		add(table)
	}
	for name, fn := range table {
		table[name] = withLinearConversion(fn)
	}
	for _, name := range slices.Collect(maps.Keys(table)) {
		table[namespace+name] = table[name]
	}
	return table
})

// Names lists all functions by their plain names, sorted, without those that
// only exist to say that they are gone and without `type`.
func Names() []string {
	names := make([]string, 0, len(signatures))
	for name := range signatures {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Plain gives the plain name of a function of the language, and whether it is
// one: "core::max" and "max" are "max", "provider::a::b" is not.
func Plain(name string) (string, bool) {
	name = strings.TrimPrefix(name, namespace)
	if _, ok := signatures[name]; ok {
		return name, true
	}
	return "", false
}

// IsFixed reports whether calls with the same arguments give the same result wherever and
// whenever they are made. Templates don't: they may call anything.
func IsFixed(name string) bool {
	_, ok := fixedTable()[name]
	return ok && !IsImpure(name)
}

// IsImpure reports whether calls with the same arguments may give different results, so that a
// plan has to freeze or deferred the call.
func IsImpure(name string) bool {
	return slices.Contains(impure, strings.TrimPrefix(name, namespace))
}
