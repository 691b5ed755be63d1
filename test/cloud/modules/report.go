package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reportText is the result as Markdown.
func reportText(all []Comparison, known []Known) string {
	var b strings.Builder
	repos := map[string]bool{}
	counts := map[string]int{}
	cpu := map[string]map[string]float64{"peer": {}, "engine": {}}
	changes := 0
	kinds := map[string]map[string][]string{}
	note := func(part string, c Comparison, list []Difference) {
		for _, d := range list {
			if d.Known != "" {
				continue
			}
			kind := d.Kind()
			if part == "validate" || part == "plan" {
				kind = "only peer: " + d.Peer
				if d.Peer == "(absent)" {
					kind = "only weir: " + d.Engine
				}
			}
			if kinds[part] == nil {
				kinds[part] = map[string][]string{}
			}
			if names := kinds[part][kind]; len(names) == 0 || names[len(names)-1] != c.Example.Name() {
				kinds[part][kind] = append(names, c.Example.Name())
			}
		}
	}
	var rows []string
	for _, c := range all {
		repos[c.Example.Repo] = true
		p, e := c.Peer, c.Engine
		switch {
		case p.ok("init") && e.ok("init"):
			counts["init both"]++
		case p.ok("init"):
			counts["init only peer"]++
		case e.ok("init"):
			counts["init only weir"]++
		default:
			counts["init neither"]++
		}
		if p.ok("fmt") == e.ok("fmt") {
			counts["fmt same"]++
		} else {
			counts["fmt different"]++
		}
		if p.ok("init") && e.ok("init") {
			counts[which("validate", p.ok("validate"), e.ok("validate"))]++
			counts[which("plan", p.ok("plan"), e.ok("plan"))]++
			if unknown(c.Validate) == 0 {
				counts["validate same diagnostics"]++
			}
			if unknown(c.Plan) == 0 {
				counts["plan same diagnostics"]++
			}
		}
		if p.ok("show") && e.ok("show") {
			changes += c.Changes
			if unknown(c.Values) == 0 {
				counts["values equal"]++
			} else {
				counts["values different"]++
			}
			if unknown(c.Rest) == 0 {
				counts["rest equal"]++
			} else {
				counts["rest different"]++
			}
			for _, step := range steps {
				cpu["peer"][step] += p.Steps[step].CPU
				cpu["engine"][step] += e.Steps[step].CPU
			}
		}
		note("validate", c, c.Validate)
		note("plan", c, c.Plan)
		note("values", c, c.Values)
		note("rest", c, c.Rest)
		if n := unknown(c.Validate) + unknown(c.Plan) + unknown(c.Values) + unknown(c.Rest); n > 0 || outcome(p) != outcome(e) {
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %d | %d | %d | %d |", c.Example.Name(), outcome(p), outcome(e), unknown(c.Validate), unknown(c.Plan), unknown(c.Values), unknown(c.Rest)))
		}
	}
	fmt.Fprintf(&b, "%d examples and roots out of %d repositories.\n\n", len(all), len(repos))
	b.WriteString("| | count |\n|---|---:|\n")
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "| %s | %d |\n", k, counts[k])
	}
	fmt.Fprintf(&b, "| resource changes in plans of both | %d |\n", changes)
	b.WriteString("\nCPU seconds where both plan, plugins included:\n\n| | peer | weir |\n|---|---:|---:|\n")
	for _, step := range steps {
		fmt.Fprintf(&b, "| %s | %.0f | %.0f |\n", step, cpu["peer"][step], cpu["engine"][step])
	}
	for _, part := range []string{"validate", "plan", "values", "rest"} {
		if len(kinds[part]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## Unexplained: %s\n\n| what | examples | such as |\n|---|---:|---|\n", part)
		for _, k := range slices.SortedFunc(maps.Keys(kinds[part]), func(x, y string) int {
			return cmp.Or(cmp.Compare(len(kinds[part][y]), len(kinds[part][x])), strings.Compare(x, y))
		}) {
			fmt.Fprintf(&b, "| %s | %d | %s |\n", strings.ReplaceAll(short(k), "|", "\\|"), len(kinds[part][k]), kinds[part][k][0])
		}
	}
	if len(rows) > 0 {
		b.WriteString("\n## Examples with unexplained differences\n\n| example | peer | weir | validate | plan | values | rest |\n|---|---|---|---:|---:|---:|---:|\n")
		b.WriteString(strings.Join(rows, "\n") + "\n")
	}
	b.WriteString("\n## Known differences\n\n")
	last := ""
	for _, k := range known {
		if k.reason != last {
			fmt.Fprintf(&b, "- %s\n", k.reason)
			last = k.reason
		}
	}
	return b.String()
}

func which(step string, peer, engine bool) string {
	switch {
	case peer && engine:
		return step + " both"
	case peer:
		return step + " only peer"
	case engine:
		return step + " only weir"
	}
	return step + " neither"
}

// outcome is how far an engine came.
func outcome(r Result) string {
	words := []string{}
	for _, step := range steps {
		if s, ran := r.Steps[step]; ran && s.Exit != 0 {
			if s.Exit < 0 {
				words = append(words, step+" too slow")
			} else {
				words = append(words, step+" failed")
			}
		}
	}
	if len(words) == 0 {
		return "ok"
	}
	return strings.Join(words, ", ")
}
