package diff

import (
	"slices"
	"strings"

	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/plan"
)

// asYAML sets a text that changes as the values it holds before and after, where both
// sides are mappings or lists and nothing of them is lost by that. It answers false where
// lines say more.
func asYAML(n *Node, before, after *string, indent int, o Options) (string, bool) {
	if !o.Fold || n.Action != plan.Update || before == nil || after == nil {
		return "", false
	}
	from, to, ok := YAML(*before, *after)
	if !ok {
		return "", false
	}
	return structure("yamlencode", Of(from, to), n, indent, o), true
}

// YAML are the values that two texts hold which differ in these; false where one holds
// none, or where they differ in something else, too.
func YAML(before, after string) (from, to cty.Value, ok bool) {
	if from, ok = decodeYAML(before); !ok {
		return from, to, false
	}
	if to, ok = decodeYAML(after); !ok || !slices.Equal(comments(before), comments(after)) {
		return from, to, false
	}
	return from, to, Of(from, to).Action != plan.NoOp // else it is how they are written
}

// longestYAML is the size above which a text isn't taken for anything but lines.
const longestYAML = 1 << 20

// decodeYAML reads a text of several lines that holds a mapping or list, and that says
// nothing beside the values: anchors, tags and several documents do.
func decodeYAML(text string) (cty.Value, bool) {
	if strings.Count(strings.TrimSpace(text), "\n") < 1 || len(text) > longestYAML || special.Get().MatchString(text) {
		return cty.NilVal, false
	}
	raw := []byte(text)
	ty, err := ctyyaml.Standard.ImpliedType(raw)
	if err != nil || !ty.IsObjectType() && !ty.IsTupleType() {
		return cty.NilVal, false
	}
	v, err := ctyyaml.Standard.Unmarshal(raw, ty)
	if err != nil || !faithful(text, v) || len(colons.Get().FindAllString(text, -1)) != written(v)+colonsIn(comments(text)...) {
		return cty.NilVal, false
	}
	return v, true
}

// special finds what isn't a plain value: anchors, aliases, tags, merged and explicit keys,
// directives and further documents. Anything that only looks like these is shown by lines,
// too.
var special = lazyregexp.New(`(?m)(^|[\s\[{,:-])[&*!][^\s,]|<<\s*:|^\s*(-\s+)*\?\s|^%|^\.\.\.|\n---`)

// comments are the parts of lines that may be comments.
func comments(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if at := strings.Index(line, "#"); at >= 0 {
			all = append(all, strings.TrimSpace(line[at:]))
		}
	}
	return all
}

// token finds plain texts that may be read as numbers, booleans or null: behind a key, in a
// list or among its parts. Anything that stands within a longer text, as in "arn:aws:1" or
// ami-01, isn't one.
var token = lazyregexp.New(`(?m)(?:^|[,\[{]|[:\-,\[{]\s+)[ \t]*([-+.]?[0-9.][^\s,\]}#:"']*(?::[^\s,\]}#"']+)*|~|[A-Za-z]{1,5})[ \t]*(?:$|[,\]}]|[ \t]#|:[ \t\n])`)

// faithful reports whether numbers and the like are shown as they are written: 1.10 is a
// version, and would be shown as 1.1.
func faithful(text string, v cty.Value) bool {
	var texts map[string]bool
	for rest := text; ; {
		at := token.Get().FindStringSubmatchIndex(rest)
		if at == nil {
			return true
		}
		word := rest[at[2]:at[3]]
		rest = rest[at[3]:] // what ends one may begin the next
		switch strings.ToLower(word) {
		case "true", "false", "null":
			if word == strings.ToLower(word) {
				continue
			}
		case "yes", "no", "on", "off", "y", "n", "~":
		default:
			if c := word[0]; 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || isDecimal(word) {
				continue
			}
		}
		if texts == nil {
			texts = map[string]bool{}
			collect(v, texts)
		}
		if !texts[word] {
			return false
		}
	}
}

// colons find what ends a name, and the same within texts.
var colons = lazyregexp.New(`:(\s|$)`)

func colonsIn(texts ...string) int {
	n := 0
	for _, t := range texts {
		n += len(colons.Get().FindAllString(t, -1))
	}
	return n
}

// written is how many colons a value has as a text: fewer than there are where a name is
// given twice.
func written(v cty.Value) int {
	n := 0
	switch {
	case v.IsNull() || !v.IsKnown():
	case v.Type() == cty.String:
		n = colonsIn(v.AsString())
	case v.CanIterateElements():
		for key, element := range v.Elements() {
			if n += written(element); key.Type() == cty.String {
				n += 1 + colonsIn(key.AsString())
			}
		}
	}
	return n
}

// isDecimal reports whether a number is written as one that is shown.
func isDecimal(word string) bool {
	if strings.Trim(word, "-0123456789.") != "" {
		return false
	}
	v, err := cty.ParseNumberVal(word)
	return err == nil && scalarText(v) == word
}

// collect puts all texts within a value, names of members included, into a set.
func collect(v cty.Value, into map[string]bool) {
	switch {
	case v.IsNull() || !v.IsKnown():
	case v.Type() == cty.String:
		into[v.AsString()] = true
	case v.CanIterateElements():
		for key, element := range v.Elements() {
			if key.Type() == cty.String {
				into[key.AsString()] = true
			}
			collect(element, into)
		}
	}
}
