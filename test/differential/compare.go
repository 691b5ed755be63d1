package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A difference is one thing that the engines do not agree on.
type difference struct {
	Step  int
	Where string // what was compared: "exit plan", "diags apply", "plan", "state", ...
	Path  string // within it
	Peer  string // what the reference has there, empty for nothing
	Weir  string
	Known *known // what explains it
}

func (d difference) describe() string {
	text := fmt.Sprintf("step %d, %s %s\n  peer: %s\n  weir: %s", d.Step+1, d.Where, d.Path, short(d.Peer), short(d.Weir))
	if d.Known != nil {
		text += "\n  known: " + d.Known.Entry
	}
	return text
}

func short(text string) string {
	if len(text) > 400 {
		return text[:400] + "..."
	}
	return text
}

var (
	quoted  = regexp.MustCompile(`"[^"]*"`)
	numbers = regexp.MustCompile(`\d+`)
)

// kind distinguishes differences, also between larger and smaller histories.
func (d difference) kind() string {
	path := numbers.ReplaceAllString(quoted.ReplaceAllString(d.Path, "*"), "N")
	side := ""
	switch {
	case strings.HasPrefix(d.Where, "diags"):
		path = numbers.ReplaceAllString(strings.Split(d.Path, " @ ")[0], "N")
		side = fmt.Sprintf(" %s/%s", d.Peer, d.Weir)
	case d.Peer == "":
		side = " (more)"
	case d.Weir == "":
		side = " (missing)"
	}
	return d.Where + " " + path + side
}

func unexplained(found []difference) []difference {
	return slices.DeleteFunc(slices.Clone(found), func(d difference) bool { return d.Known != nil })
}

// A collector gathers the differences of one document.
type collector struct {
	where string
	list  []difference
}

func (c *collector) add(path, peer, weir string) {
	c.list = append(c.list, difference{Where: c.where, Path: path, Peer: peer, Weir: weir})
}

// compare holds the outcome of a step to the reference's. before is what the reference began
// with.
func compare(before world, want, got outcome) []difference {
	var all []difference
	in := func(where string, do func(*collector)) {
		c := &collector{where: where}
		do(c)
		all = append(all, c.list...)
	}
	parted := false // what follows is another story
	for i, w := range want.Results {
		if i >= len(got.Results) || got.Results[i].Command != w.Command {
			break // the exit of the command before differs
		}
		g := got.Results[i]
		name := strings.Fields(w.Command)[0]
		in("exit "+name, func(c *collector) {
			if w.Exit != g.Exit {
				c.add(w.Command+failures(w.Diags, g.Diags), fmt.Sprint(w.Exit), fmt.Sprint(g.Exit))
			}
		})
		parted = parted || w.Exit != g.Exit
		in("diags "+name, func(c *collector) { c.diags(w.Diags, g.Diags) })
		if parted {
			break
		}
		if w.Exit != 0 && name == "plan" {
			break // what was read before the error is a matter of speed
		}
		in("events "+name, func(c *collector) { c.counts(operations(w.Events), operations(g.Events)) })
		in("order "+name, func(c *collector) { c.order(w.Events, g.Events, dependencies(before, want.After, got.After)) })
		if w.Plan != nil && g.Plan != nil {
			in("plan", func(c *collector) { c.documents(w.Plan, g.Plan) })
		}
	}
	if parted {
		return all
	}
	in("state", func(c *collector) { c.documents(want.After[stateFile], got.After[stateFile]) })
	in("cloud", func(c *collector) {
		for _, name := range union(want.After, got.After) {
			if strings.HasPrefix(name, cloudDir+"/objects/") {
				c.values(filepath.Base(name), decode(want.After[name]), decode(got.After[name]))
			}
		}
	})
	return all
}

func union[V any](maps ...map[string]V) []string {
	seen := map[string]bool{}
	for _, m := range maps {
		for k := range m {
			seen[k] = true
		}
	}
	return sortedKeys(seen)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (c *collector) counts(want, got map[string]int) {
	for _, name := range union(want, got) {
		if want[name] != got[name] {
			c.add(name, fmt.Sprint(want[name]), fmt.Sprint(got[name]))
		}
	}
}

// A diagnostic is what an engine says, in JSON or as text.
type diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
	Range    *struct {
		Filename string `json:"filename"`
		Start    struct {
			Line int `json:"line"`
		} `json:"start"`
	} `json:"range"`
}

var plainDiag = regexp.MustCompile(`(?m)^(?:│ )?(Error|Warning): (.*)$`)

// readDiags takes the diagnostics from messages, from what validate prints, or
// from text.
func readDiags(out []byte) (list []diagnostic) {
	var validation struct {
		Diagnostics []diagnostic `json:"diagnostics"`
	}
	if json.Unmarshal(out, &validation) == nil && validation.Diagnostics != nil {
		return validation.Diagnostics
	}
	messages := false
	for line := range bytes.Lines(out) {
		var message struct {
			Diagnostic *diagnostic `json:"diagnostic"`
		}
		if bytes.HasPrefix(line, []byte("{\"@")) && json.Unmarshal(line, &message) == nil {
			messages = true
			if message.Diagnostic != nil {
				list = append(list, *message.Diagnostic)
			}
		}
	}
	if messages {
		return list
	}
	for _, found := range plainDiag.FindAllSubmatch(out, -1) {
		list = append(list, diagnostic{Severity: strings.ToLower(string(found[1])), Summary: string(found[2])})
	}
	return list
}

// diags compares diagnostics by severity and summary, and by place. Anything that only one of
// the engines knows a place of is one difference.
func (c *collector) diags(want, got []diagnostic) {
	right, left := summaries(want), summaries(got)
	for _, name := range sortedKeys(right) {
		bare, ok := strings.CutSuffix(name, " @ -")
		for _, other := range sortedKeys(left) {
			if placed := strings.HasPrefix(other, bare+" @ ") && other != name; ok && placed && right[name] > left[name] && left[other] > right[other] {
				c.add(bare, "-", strings.TrimPrefix(other, bare+" @ "))
				n := min(right[name]-left[name], left[other]-right[other])
				right[name], left[other] = right[name]-n, left[other]-n
			}
		}
	}
	c.counts(right, left)
}

// summaries counts diagnostics by severity, summary and place.
func summaries(list []diagnostic) map[string]int {
	counts := map[string]int{}
	for _, d := range list {
		place := "-"
		if d.Range != nil {
			place = fmt.Sprintf("%s:%d", filepath.ToSlash(d.Range.Filename), d.Range.Start.Line)
		}
		counts[fmt.Sprintf("%s %s @ %s", d.Severity, mask(d.Summary), place)]++
	}
	return counts
}

// failures are the summaries of the errors that two commands ended with.
func failures(lists ...[]diagnostic) string {
	text := ""
	for _, list := range lists {
		for _, d := range list {
			if d.Severity == "error" {
				text += "; " + d.Summary
			}
		}
	}
	return text
}

// operations counts what was done to the cloud. How often providers are opened, configured and
// asked for what is it doesn't exist counted.
func operations(events []event) map[string]int {
	counts := map[string]int{}
	for _, e := range events {
		if e.Phase != "end" || e.Op == "configure" {
			continue
		}
		name := mask(e.Op + " " + strings.TrimPrefix(e.Type, "sim_") + " " + e.Name)
		if e.Error != "" {
			name += " failed"
		}
		if counts[name]++; e.Op == "read" || e.Op == "open" || e.Op == "close" {
			counts[name] = 1
		}
	}
	return counts
}

// order finds what both did, but the other way round, where it may matter: two
// operations on objects of one name, or on objects of which one depends on the
// other in every state.
func (c *collector) order(want, got []event, depends map[[2]string]bool) {
	right, left := spans(want), spans(got)
	for _, a := range sortedKeys(right) {
		for _, b := range sortedKeys(right) {
			x, y := right[a], right[b]
			if x.end >= y.begin || left[a].name == "" || left[b].name == "" || left[b].end >= left[a].begin {
				continue
			}
			if x.name == y.name || depends[[2]string{x.name, y.name}] || depends[[2]string{y.name, x.name}] {
				c.add("operations", a+" before "+b, b+" before "+a)
			}
		}
	}
}

type span struct {
	name       string
	begin, end int
}

func spans(events []event) map[string]span {
	all, name := map[string]span{}, map[int]string{}
	for _, e := range events {
		if e.Op != "create" && e.Op != "update" && e.Op != "delete" {
			continue
		}
		what := e.Op + " " + e.Type + " " + e.Name
		if e.Phase == "begin" {
			name[e.Span] = what
			all[what] = span{name: e.Type + " " + e.Name, begin: e.Seq}
			continue
		}
		s := all[name[e.Span]]
		s.end = e.Seq
		all[name[e.Span]] = s
	}
	return all
}

// dependencies are pairs of names of objects, the first of which depends on the
// second as all of the states that know the first have it. States name resources; what
// stands in other instances of the modules that both are in isn't meant.
func dependencies(worlds ...world) map[[2]string]bool {
	all, never := map[[2]string]bool{}, map[[2]string]bool{}
	for _, w := range worlds {
		type object struct{ name, module string }
		named := map[string][]object{} // by address without keys
		resources := w.stored()
		for _, r := range resources {
			for _, i := range r.Instances {
				if name, _ := i.Attributes.Name.(string); r.Mode == "managed" && name != "" {
					named[r.address()] = append(named[r.address()], object{r.Type + " " + name, r.Module})
				}
			}
		}
		for _, r := range resources {
			for _, i := range r.Instances {
				name, _ := i.Attributes.Name.(string)
				for address, others := range named {
					for _, other := range others {
						pair := [2]string{r.Type + " " + name, other.name}
						if slices.Contains(i.Dependencies, address) && !apart(r.Module, other.module) {
							all[pair] = true
						} else {
							never[pair] = true
						}
					}
				}
			}
		}
	}
	maps.DeleteFunc(all, func(pair [2]string, _ bool) bool { return never[pair] })
	return all
}

// apart reports whether two modules are in different instances of one module.
func apart(a, b string) bool {
	x, y := moduleSteps.FindAllStringSubmatch(a, -1), moduleSteps.FindAllStringSubmatch(b, -1)
	for i := range min(len(x), len(y)) {
		if x[i][1] != y[i][1] {
			return false
		}
		if x[i][2] != y[i][2] {
			return true
		}
	}
	return false
}

var moduleSteps = regexp.MustCompile(`module\.(\w+)(\[[^\]]*\])?`)

var keys = regexp.MustCompile(`\[(?:\d+|"[^"]*")\]`)

// documents compares plans or states.
func (c *collector) documents(want, got []byte) {
	c.values("", decode(want), decode(got))
}

func decode(data []byte) any {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "not JSON: " + err.Error()
	}
	return canon("", v)
}

// leftOut are members that differ from run to run and from engine to engine.
var leftOut = []string{"timestamp", "terraform_version", "format_version", "lineage", "serial", "private"}

// identifying are the members that tell elements of lists apart, by the list's
// name, where the order of a list means nothing.
var identifying = map[string][]string{
	"resources": {"address", "module", "mode", "type", "name"}, "resource_changes": {"address", "deposed"},
	"resource_drift": {"address", "deposed"}, "child_modules": {"address"}, "deferred_changes": {"address"},
	"checks": {"address"}, "instances": {"address", "index_key", "deposed"}, "check_results": {"config_addr"}, "objects": {"object_addr"},
	"relevant_attributes": {"resource", "attribute"}, "replace_paths": nil, "dependencies": nil, "sensitive_attributes": nil,
	"depends_on": nil,
}

// canon turns lists without an order into maps and hides what differs from run
// to run.
func canon(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if !slices.Contains(leftOut, k) || name == "attributes" || name == "values" {
				out[mask(k)] = canon(k, e)
			}
		}
		return out
	case []any:
		members, unordered := identifying[name]
		if unordered && len(v) > 0 && members != nil {
			_, isMap := v[0].(map[string]any)
			unordered = isMap
		}
		out := make([]any, 0, len(v))
		for _, e := range v {
			if !emptied(e) {
				out = append(out, canon("", e))
			}
		}
		if !unordered {
			return out
		}
		keyed := map[string]any{}
		for _, e := range out {
			key := ""
			for _, member := range members {
				if part, ok := e.(map[string]any)[member]; ok {
					key += " " + compact(part)
				}
			}
			if members == nil {
				key = " " + compact(e)
			}
			key += deposedID(e)
			key = strings.TrimPrefix(key, " ")
			for keyed[key] != nil {
				key += "'"
			}
			keyed[key] = e
		}
		return keyed
	case string:
		if name == "deposed" || name == "deposed_key" {
			return "<deposed>"
		}
		return mask(v)
	}
	return v
}

// deposedID reports deposed objects of one instance apart, whose keys are random.
func deposedID(v any) string {
	m, _ := v.(map[string]any)
	if m["deposed"] == nil && m["deposed_key"] == nil {
		return ""
	}
	for _, values := range []string{"attributes", "values"} {
		if all, ok := m[values].(map[string]any); ok {
			return " deposed " + compact(all["id"])
		}
	}
	return ""
}

// emptied reports whether v is a resource of a state whose instances are gone.
func emptied(v any) bool {
	m, _ := v.(map[string]any)
	list, ok := m["instances"].([]any)
	return ok && len(list) == 0 && m["mode"] != nil
}

var (
	uuid       = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	deposedKey = regexp.MustCompile(`\(deposed object [0-9a-f]{8}\)`)
	sourceHost = regexp.MustCompile(`registry\.(opentofu\.org|terraform\.io)/`)
)

func mask(text string) string {
	text = deposedKey.ReplaceAllString(text, "(deposed object)")
	return sourceHost.ReplaceAllString(uuid.ReplaceAllString(text, "<uuid>"), "")
}

// values compares two values at a path.
func (c *collector) values(path string, want, got any) {
	if w, ok := want.(map[string]any); ok {
		if g, ok := got.(map[string]any); ok {
			for _, k := range union(w, g) {
				a, inW := w[k]
				b, inG := g[k]
				at := path + step(k)
				switch {
				case !inW:
					c.add(at, "", compact(b))
				case !inG:
					c.add(at, compact(a), "")
				default:
					c.values(at, a, b)
				}
			}
			return
		}
	}
	if w, ok := want.([]any); ok {
		if g, ok := got.([]any); ok && len(g) == len(w) {
			for i := range w {
				c.values(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])
			}
			return
		}
	}
	if a, b := compact(want), compact(got); a != b {
		c.add(path, a, b)
	}
}

var word = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// step is a member in a path.
func step(name string) string {
	if word.MatchString(name) {
		return "." + name
	}
	return "[\"" + strings.ReplaceAll(name, "\"", "'") + "\"]"
}

func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}
