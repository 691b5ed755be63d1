package dot

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
)

// A resource is a node that a summary shows.
type resource struct {
	module addr.Module
	name   addr.Name
}

// Resources writes the summary that Terraform's users know: resources only, by module, with an
// edge to each one that is needed directly or through anything that isn't shown, unless
// another edge implies it.
func Resources(w io.Writer, l Language, tree *program.Tree) error {
	_, err := io.WriteString(w, l.summary(newSummary(configuration(symbols.Of(tree)))))
	return err
}

func (dot) summary(s *summary) string {
	var b strings.Builder
	b.WriteString("digraph G {\n  rankdir = \"RL\";\n  node [shape = rect, fontname = \"sans-serif\"];\n")
	if len(s.order) == 0 {
		b.WriteString("  /* There are no resources; graph -type=plan shows the rest. */\n")
	}
	module, indent := addr.Root, "  "
	for _, n := range s.order {
		r := s.resources[n]
		if r.module != module {
			if !module.IsRoot() {
				b.WriteString("  }\n")
			}
			module, indent = r.module, "    "
			fmt.Fprintf(&b, "  subgraph %s {\n    label = %s\n    fontname = \"sans-serif\"\n", quote("cluster_"+module.String()), quote(module.String()))
		}
		fmt.Fprintf(&b, "%s%s [label=%s];\n", indent, quote(s.address(n)), quote(r.name.String()))
	}
	if !module.IsRoot() {
		b.WriteString("  }\n")
	}
	for _, n := range s.order {
		for _, to := range s.needed(n) {
			fmt.Fprintf(&b, "  %s -> %s;\n", quote(s.address(n)), quote(s.address(to)))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// summary names the nodes by their addresses.
func (mermaid) summary(s *summary) string {
	var b strings.Builder
	b.WriteString(flowchart)
	if len(s.order) == 0 {
		b.WriteString("  %% There are no resources; graph -type=plan shows the rest.\n")
	}
	module, indent := addr.Root, "  "
	for _, n := range s.order {
		r := s.resources[n]
		if r.module != module {
			if !module.IsRoot() {
				b.WriteString("  end\n")
			}
			module, indent = r.module, "    "
			fmt.Fprintf(&b, "  subgraph %s\n", module)
		}
		fmt.Fprintf(&b, "%s%s[%s]\n", indent, s.address(n), labelled(r.name.String()))
	}
	if !module.IsRoot() {
		b.WriteString("  end\n")
	}
	for _, n := range s.order {
		for _, to := range s.needed(n) {
			fmt.Fprintf(&b, "  %s --> %s\n", s.address(n), s.address(to))
		}
	}
	return b.String()
}

// A summary is a graph with its resources only.
type summary struct {
	resources map[string]resource
	next      map[string][]string // of the whole graph
	order     []string
	direct    map[string][]string // the resources next to one
}

func newSummary(g *graph) *summary {
	s := &summary{resources: g.resources, next: map[string][]string{}, direct: map[string][]string{}}
	for e := range g.edges {
		s.next[e[0]] = append(s.next[e[0]], e[1])
	}
	s.order = slices.SortedFunc(maps.Keys(s.resources), func(x, y string) int {
		a, b := s.resources[x], s.resources[y]
		return cmp.Or(cmp.Compare(a.module.String(), b.module.String()),
			-cmp.Compare(a.name.Mode, b.name.Mode), cmp.Compare(a.name.Type, b.name.Type), cmp.Compare(a.name.Name, b.name.Name))
	})
	for _, n := range s.order {
		s.direct[n] = s.nearest(n)
	}
	return s
}

// address is that of a resource without keys.
func (s *summary) address(n string) string {
	r := s.resources[n]
	if r.module.IsRoot() {
		return r.name.String()
	}
	return r.module.String() + "." + r.name.String()
}

// nearest are the resources that can be reached without passing another one.
func (s *summary) nearest(from string) []string {
	seen := map[string]bool{from: true}
	var found []string
	var visit func(n string)
	visit = func(n string) {
		for _, to := range s.next[n] {
			if seen[to] {
				continue
			}
			seen[to] = true
			if _, ok := s.resources[to]; ok {
				found = append(found, to)
			} else {
				visit(to)
			}
		}
	}
	visit(from)
	return found
}

// reach are the resources that one needs, however indirectly.
func (s *summary) reach(from string) map[string]bool {
	seen := map[string]bool{}
	var visit func(n string)
	visit = func(n string) {
		for _, to := range s.direct[n] {
			if !seen[to] {
				seen[to] = true
				visit(to)
			}
		}
	}
	visit(from)
	return seen
}

// needed are the resources next to one that no other of them leads to, in order.
// Those of a circle stay.
func (s *summary) needed(n string) []string {
	reach := map[string]map[string]bool{}
	for _, to := range s.direct[n] {
		reach[to] = s.reach(to)
	}
	var kept []string
	for _, to := range s.order {
		if reach[to] == nil {
			continue
		}
		implied := false
		for other, from := range reach {
			implied = implied || other != to && from[to] && !reach[to][other]
		}
		if !implied {
			kept = append(kept, to)
		}
	}
	return kept
}
