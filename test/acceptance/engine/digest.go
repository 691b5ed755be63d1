package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// compare holds a plan, as JSON, to the recorded one of that name. Anything that is recorded
// is a digest: for each resource its action and sums of what the plan says of it in each of
// its parts, and a sum for each of the parts that are of no resource.
func (e *Engine) compare(name string, plan []byte) {
	e.t.Helper()
	p, err := normal(plan)
	if err != nil {
		e.t.Fatalf("%s: %v", name, err)
	}
	name = e.name + "-" + name
	if *whole != "" {
		text, _ := json.MarshalIndent(p, "", " ")
		if err := os.WriteFile(filepath.Join(*whole, name+".json"), text, 0o666); err != nil {
			e.t.Fatal(err)
		}
	}
	got := digest(p)
	golden := filepath.Join("testdata", "plans", name+".txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			e.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		e.t.Fatal(err)
	}
	wanted := string(want)
	if strings.HasSuffix(name, "-destroy") {
		got, wanted = behind.ReplaceAllString(got, ""), behind.ReplaceAllString(wanted, "")
	}
	if got != wanted {
		e.t.Errorf("%s: the plan is not as recorded (-whole DIR leaves whole plans to look at):\n%s", name, difference(wanted, got))
	}
}

// behind is the line of a plan to destroy that is recorded but not compared yet:
// which attributes of others the configuration refers to.
var behind = regexp.MustCompile(`(?m)^relevant_attributes .*\n`)

// normal is a plan without what says whose it is and when it was made, and without
// what only some engines say of a plan.
func normal(plan []byte) (map[string]any, error) {
	var p map[string]any
	if err := json.Unmarshal(unique.ReplaceAll(plan, []byte("UNIQUE")), &p); err != nil {
		return nil, err
	}
	for _, own := range []string{"terraform_version", "timestamp", "applyable", "complete"} {
		delete(p, own)
	}
	if prior, ok := p["prior_state"].(map[string]any); ok {
		delete(prior, "terraform_version")
	}
	return p, nil
}

// unique are identifiers that the provider makes up: a time and a counter.
var unique = regexp.MustCompile(`\b20\d{16}[0-9a-f]{8}\b`)

// A row is what a plan says of one resource, in its parts.
type row struct {
	action string
	parts  map[string]any
}

// parts are the columns of a digest.
var parts = []string{"change", "drift", "planned", "prior"}

func digest(p map[string]any) string {
	rows := map[string]*row{}
	at := func(address string) *row {
		if rows[address] == nil {
			rows[address] = &row{action: "-", parts: map[string]any{}}
		}
		return rows[address]
	}
	for _, part := range []struct{ key, name string }{{"resource_changes", "change"}, {"resource_drift", "drift"}} {
		changes, _ := p[part.key].([]any)
		for _, c := range changes {
			c := c.(map[string]any)
			r := at(c["address"].(string) + deposed(c))
			if part.name == "change" {
				r.action = actions(c)
			}
			r.parts[part.name] = c
		}
		delete(p, part.key)
	}
	planned, _ := p["planned_values"].(map[string]any)
	take(planned, func(address string, resource any) { at(address).parts["planned"] = resource })
	if prior, ok := p["prior_state"].(map[string]any); ok {
		values, _ := prior["values"].(map[string]any)
		take(values, func(address string, resource any) { at(address).parts["prior"] = resource })
	}
	if relevant, ok := p["relevant_attributes"].([]any); ok { // in no order
		slices.SortFunc(relevant, func(a, b any) int { return strings.Compare(sum(a), sum(b)) })
	}

	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n", strings.Join(parts, " "))
	for _, address := range slices.Sorted(keys(rows)) {
		r := rows[address]
		fmt.Fprintf(&out, "%s %s", address, r.action)
		for _, part := range parts {
			if v, ok := r.parts[part]; ok {
				out.WriteString(" " + sum(v))
			} else {
				out.WriteString(" -")
			}
		}
		out.WriteByte('\n')
	}
	out.WriteString("\n# the rest\n")
	for _, key := range slices.Sorted(keys(p)) {
		fmt.Fprintf(&out, "%s %s\n", key, sum(p[key]))
	}
	return out.String()
}

func deposed(change map[string]any) string {
	if change["deposed"] != nil {
		return " deposed"
	}
	return ""
}

func actions(change map[string]any) string {
	var names []string
	for _, a := range change["change"].(map[string]any)["actions"].([]any) {
		names = append(names, a.(string))
	}
	return strings.Join(names, ",")
}

// take takes the resources out of a tree of modules' values.
func take(values map[string]any, each func(address string, resource any)) {
	var walk func(module map[string]any)
	walk = func(module map[string]any) {
		resources, _ := module["resources"].([]any)
		for _, r := range resources {
			r := r.(map[string]any)
			each(r["address"].(string)+deposed(map[string]any{"deposed": r["deposed_key"]}), r)
		}
		delete(module, "resources")
		children, _ := module["child_modules"].([]any)
		for _, c := range children {
			walk(c.(map[string]any))
		}
	}
	if root, ok := values["root_module"].(map[string]any); ok {
		walk(root)
	}
}

func sum(v any) string {
	text, err := json.Marshal(v) // with sorted keys
	if err != nil {
		panic(err)
	}
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:4])
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// difference lists the lines that are in one text only.
func difference(want, got string) string {
	in := func(text string) map[string]bool {
		lines := map[string]bool{}
		for line := range strings.Lines(text) {
			lines[line] = true
		}
		return lines
	}
	var out bytes.Buffer
	for _, side := range []struct {
		sign       string
		text, from string
	}{{"-", want, got}, {"+", got, want}} {
		other := in(side.from)
		for line := range strings.Lines(side.text) {
			if !other[line] {
				out.WriteString(side.sign + line)
			}
		}
	}
	return out.String()
}
