// Package backendconfig reads the arguments of backends and their environment variables, and
// reports mistakes.
//
// It doesn't know any backend.
package backendconfig

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/state/storage"
)

// A Reader reads a configuration, wholly known and without marks, and collects
// what is wrong with it.
type Reader struct {
	Config cty.Value
	Env    storage.Env
	Diags  diag.List

	within cty.Path // of Config in the whole configuration
}

// Optional is an argument that may be left out.
func Optional(t cty.Type, description string) *schema.Attribute {
	return &schema.Attribute{Type: t, Optional: true, Description: description}
}

// Object is an argument with arguments of its own.
func Object(description string, attributes map[string]*schema.Attribute) *schema.Attribute {
	return &schema.Attribute{Nested: &schema.Object{Attributes: attributes, Nesting: schema.Single}, Optional: true, Description: description}
}

// Path is that of an argument in the whole configuration.
func (r *Reader) Path(name string) cty.Path { return r.within.Copy().GetAttr(name) }

// Patience is how long a server may do nothing.
func (r *Reader) Patience() time.Duration {
	d, err := stalltimeout.Limit(r.Env.Getenv)
	if err != nil {
		r.Problem("", "Invalid duration", "%s.", err)
	}
	return d
}

// Problem adds an error about an argument, "" for the configuration as a whole.
func (r *Reader) Problem(name, summary, format string, args ...any) {
	r.Diags.Add(r.about(name, diag.Error, summary, format, args...))
}

// Warn adds a warning.
func (r *Reader) Warn(name, summary, format string, args ...any) {
	r.Diags.Add(r.about(name, diag.Warning, summary, format, args...))
}

func (r *Reader) about(name string, severity diag.Severity, summary, format string, args ...any) diag.Diagnostic {
	d := diag.Diagnostic{Severity: severity, Code: diag.BadBackend.Name, Summary: summary, Detail: fmt.Sprintf(format, args...)}
	if name != "" {
		d.Path = r.Path(name)
	}
	return d
}

// Set reports whether an argument is there.
func (r *Reader) Set(name string) bool { return !r.Config.GetAttr(name).IsNull() }

// Getenv is an environment variable.
func (r *Reader) Getenv(name string) string {
	if r.Env.Getenv == nil {
		return ""
	}
	return r.Env.Getenv(name)
}

// Text is an argument, or else the first of the variables that isn't empty.
func (r *Reader) Text(name string, variables ...string) string {
	if r.Set(name) {
		return r.Config.GetAttr(name).AsString()
	}
	return r.variable(variables)
}

// TextOr is the same, with what it is where neither is set.
func (r *Reader) TextOr(without, name string, variables ...string) string {
	if text := r.Text(name, variables...); text != "" || r.Set(name) {
		return text
	}
	return without
}

func (r *Reader) variable(names []string) string {
	for _, name := range names {
		if text := r.Getenv(name); text != "" {
			return text
		}
	}
	return ""
}

// Bool is an argument, or else the first of the variables that isn't empty.
func (r *Reader) Bool(name string, variables ...string) bool {
	return r.BoolOr(false, name, variables...)
}

// BoolOr is the same, with what it is where neither is set.
func (r *Reader) BoolOr(without bool, name string, variables ...string) bool {
	if r.Set(name) {
		return r.Config.GetAttr(name).True()
	}
	text := r.variable(variables)
	if text == "" {
		return without
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		r.Problem(name, "Invalid backend configuration", "%q stands for %s in the environment and must be true or false.", text, name)
	}
	return b
}

// Int is an argument that is a whole number, or else the first of the variables that
// isn't empty, or else without.
func (r *Reader) Int(name string, without int, variables ...string) int {
	text := r.variable(variables)
	if r.Set(name) {
		text = r.Config.GetAttr(name).AsBigFloat().Text('f', -1)
	}
	if text == "" {
		return without
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		r.Problem(name, "Invalid backend configuration", "%q must be a whole number that isn't negative.", name)
		return without
	}
	return n
}

// Texts are the elements of an argument.
func (r *Reader) Texts(name string) []string {
	var texts []string
	if r.Set(name) {
		for _, v := range r.Config.GetAttr(name).AsValueSlice() {
			if !v.IsNull() {
				texts = append(texts, v.AsString())
			}
		}
	}
	return texts
}

// Map is an argument of texts by name, nil where it isn't set.
func (r *Reader) Map(name string) map[string]string {
	if !r.Set(name) {
		return nil
	}
	texts := map[string]string{}
	for key, v := range r.Config.GetAttr(name).AsValueMap() {
		if !v.IsNull() {
			texts[key] = v.AsString()
		}
	}
	return texts
}

// Object reads the arguments of an argument, nil where it isn't set. Anything that is wrong
// with them has to be taken over with Took.
func (r *Reader) Object(name string) *Reader {
	if !r.Set(name) {
		return nil
	}
	return &Reader{Config: r.Config.GetAttr(name), Env: r.Env, within: r.Path(name)}
}

// Took takes over what was found wrong with an Object.
func (r *Reader) Took(of *Reader) { r.Diags.Append(of.Diags) }

// Exclude rejects arguments that can't be set together.
func (r *Reader) Exclude(names ...string) {
	if n := len(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !r.Set(name) })); n > 1 {
		r.Problem("", "Invalid Attribute Combination", "Only one of %s can be set.", r.names(names))
	}
}

func (r *Reader) names(names []string) string {
	var full []string
	for _, name := range names {
		text := ""
		for _, step := range r.Path(name) {
			text += "." + step.(cty.GetAttrStep).Name
		}
		full = append(full, text[1:])
	}
	return strings.Join(full, ", ")
}

// Replaced lists the arguments that are set and have a new name, a line each.
func (r *Reader) Replaced(by map[string]string) string {
	width := 0
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(by)), func(name string) bool { return !r.Set(name) })
	for _, name := range names {
		width = max(width, len(name))
	}
	var lines strings.Builder
	for _, name := range names {
		fmt.Fprintf(&lines, "  * %-*s -> %s\n", width, name, by[name])
	}
	return lines.String()
}

// Block reads the arguments of a block that is there once at most, nil where it isn't.
// Anything that is wrong with them has to be taken over with Took.
func (r *Reader) Block(name string) *Reader {
	if !r.Set(name) || r.Config.GetAttr(name).LengthInt() == 0 {
		return nil
	}
	return &Reader{Config: r.Config.GetAttr(name).AsValueSlice()[0], Env: r.Env, within: r.Path(name)}
}
