package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Comparison is what two engines made of one example.
type Comparison struct {
	Example      Example
	Peer, Engine Result
	// Validate and Plan are diagnostics that only one of the two has.
	Validate, Plan []Difference
	// Values are differences of what is planned, Rest those of everything else
	// that the plan's JSON says.
	Values, Rest []Difference
	Changes      int
}

// A Difference is one place where two documents differ.
type Difference struct {
	Path         string // with indexes and addresses
	Peer, Engine string
	Known        string // the reason, if it is listed
}

// Kind is the path without indexes and addresses.
func (d Difference) Kind() string { return kindOf(d.Path) }

// kindOf leaves out what stands in brackets.
func kindOf(path string) string {
	var b strings.Builder
	depth := 0
	for _, c := range path {
		switch {
		case c == '⟦':
			if depth == 0 {
				b.WriteString("[]")
			}
			depth++
		case c == '⟧':
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return nested.ReplaceAllString(b.String(), "$1")
}

// nested are steps into modules in modules, whose number doesn't matter.
var nested = regexp.MustCompile(`(\.module_calls\[\]\.module|\.child_modules\[\])+`)

// unknown are the differences that no line of the list explains.
func unknown(list []Difference) int {
	n := 0
	for _, d := range list {
		if d.Known == "" {
			n++
		}
	}
	return n
}

// valueParts are the members of the plan's JSON that say what is planned.
var valueParts = []string{"planned_values", "resource_changes", "resource_drift", "output_changes", "prior_state", "errored", "applyable", "complete"}

func compareExample(x Example, peer, engine *Engine, known []Known) (Comparison, bool) {
	c := Comparison{Example: x}
	var ok bool
	if c.Peer, ok = peer.load(x); !ok || c.Peer.Tag != x.Tag {
		return c, false
	}
	if c.Engine, ok = engine.load(x); !ok || c.Engine.Tag != x.Tag {
		return c, false
	}
	both := func(step string) bool {
		_, a := c.Peer.Steps[step]
		_, b := c.Engine.Steps[step]
		return a && b
	}
	if both("validate") {
		c.Validate = compareLists("validate", problems(peer.output(x, "validate")), problems(engine.output(x, "validate")))
	}
	if both("plan") {
		c.Plan = compareLists("plan", problems(peer.output(x, "plan")), problems(engine.output(x, "plan")))
	}
	if both("show") {
		a, b := document(peer.output(x, "show")), document(engine.output(x, "show"))
		c.Changes = len(list(a["resource_changes"]))
		for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
			var found []Difference
			diff(name, a[name], b[name], &found)
			if slices.Contains(valueParts, name) {
				c.Values = append(c.Values, found...)
			} else {
				c.Rest = append(c.Rest, found...)
			}
		}
	}
	for _, part := range [][]Difference{c.Validate, c.Plan, c.Values, c.Rest} {
		for i := range part {
			part[i].Known = explain(known, x.Name(), part[i])
		}
	}
	return c, true
}

func document(b []byte) map[string]any {
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	_ = d.Decode(&doc) // what can't be read differs from everything
	return doc
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func union[V any](a, b map[string]V) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

// absent stands for a member that isn't there, which is not the same as null.
type absent struct{}

// diff appends where two documents differ. Lists of objects with addresses are
// compared by these, and then their order.
func diff(path string, a, b any, found *[]Difference) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		for _, k := range slices.Sorted(maps.Keys(union(x, y))) {
			name := path + "." + k
			if keyed(path) {
				name = path + "⟦" + k + "⟧"
			}
			diff(name, member(x, k), member(y, k), found)
		}
		return
	case []any:
		y, ok := b.([]any)
		if !ok {
			break
		}
		if ka, kb := addresses(x), addresses(y); ka != nil && kb != nil {
			diff(path, byAddress(x, ka), byAddress(y, kb), found)
			if len(ka) == len(kb) && !slices.Equal(ka, kb) && slices.Equal(slices.Sorted(slices.Values(ka)), slices.Sorted(slices.Values(kb))) {
				*found = append(*found, Difference{Path: path + "#order", Peer: strings.Join(ka, " "), Engine: strings.Join(kb, " ")})
			}
			return
		}
		if strings.HasSuffix(path, ".references") || strings.HasSuffix(path, "relevant_attributes") {
			*found = append(*found, compareLists(path, texts(x), texts(y))...)
			return
		}
		if len(x) != len(y) {
			break
		}
		for i := range x {
			diff(fmt.Sprintf("%s⟦%d⟧", path, i), x[i], y[i], found)
		}
		return
	case json.Number:
		if y, ok := b.(json.Number); ok && x == y {
			return
		}
	default:
		if a == b {
			return
		}
	}
	*found = append(*found, Difference{Path: path, Peer: text(a), Engine: text(b)})
}

// keyed reports the objects whose members have names of the configuration's.
func keyed(path string) bool {
	for _, end := range []string{".module_calls", ".outputs", ".variables", ".provider_config", "⟧.child_modules", "resources", "resource_changes", "output_changes", "checks", "resource_drift", "child_modules"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return path == "variables"
}

func member(m map[string]any, k string) any {
	if v, ok := m[k]; ok {
		return v
	}
	return absent{}
}

// addresses are those of all elements, nil if one has none or two share one.
func addresses(l []any) []string {
	keys := make([]string, 0, len(l))
	seen := map[string]bool{}
	for _, v := range l {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		k := m["address"]
		if object, ok := k.(map[string]any); ok { // of checks
			k = object["to_display"]
		}
		s, ok := k.(string)
		if d, ok := m["deposed"].(string); ok {
			s += " " + d
		}
		if !ok || seen[s] {
			return nil
		}
		seen[s] = true
		keys = append(keys, s)
	}
	return keys
}

func byAddress(l []any, keys []string) map[string]any {
	m := make(map[string]any, len(l))
	for i, v := range l {
		m[keys[i]] = v
	}
	return m
}

func text(v any) string {
	if v == (absent{}) {
		return "(absent)"
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func texts(l []any) []string {
	var all []string
	for _, v := range l {
		all = append(all, text(v))
	}
	return all
}

// compareLists reports which elements only one side has, counting how often.
func compareLists(path string, a, b []string) []Difference {
	count := map[string]int{}
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	var found []Difference
	for _, s := range slices.Sorted(maps.Keys(count)) {
		for ; count[s] > 0; count[s]-- {
			found = append(found, Difference{Path: path, Peer: s, Engine: "(absent)"})
		}
		for ; count[s] < 0; count[s]++ {
			found = append(found, Difference{Path: path, Peer: "(absent)", Engine: s})
		}
	}
	return found
}

// problems lists the severities and summaries of diagnostics in the output of
// validate -json or plan -json.
func problems(b []byte) []string {
	type diagnostic struct{ Severity, Summary string }
	var all []string
	add := func(d *diagnostic) {
		if d != nil {
			all = append(all, d.Severity+": "+d.Summary)
		}
	}
	var whole struct{ Diagnostics []*diagnostic }
	if json.Unmarshal(b, &whole) == nil {
		for _, d := range whole.Diagnostics {
			add(d)
		}
		return all
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct{ Diagnostic *diagnostic }
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			add(line.Diagnostic)
		}
	}
	return all
}

// write keeps all differences where they can be read, unexplained ones first.
func (c Comparison) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "peer:   %s\nengine: %s\n", c.Peer.summary(), c.Engine.summary())
	for _, known := range []bool{false, true} {
		for _, part := range [][]Difference{c.Validate, c.Plan, c.Values, c.Rest} {
			for _, d := range part {
				if (d.Known != "") == known {
					fmt.Fprintf(&b, "\n%s\n", d.Path)
					if known {
						fmt.Fprintf(&b, "  known:  %s\n", d.Known)
					}
					fmt.Fprintf(&b, "  peer:   %s\n  engine: %s\n", short(d.Peer), short(d.Engine))
				}
			}
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func short(s string) string {
	const limit = 600
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}
