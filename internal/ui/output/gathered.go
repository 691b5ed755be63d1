package output

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/core/diag"
)

// gathered are the problems of several parts of a command's work, each printed once with
// the parts that have it.
type gathered struct {
	kind string // what the parts are
	of   int    // how many there are
	// urgent: errors are reported when they come up.
	urgent bool

	mu   sync.Mutex
	list []*problem
	// files are those that the problems may be about.
	files map[string][]byte
}

type problem struct {
	diag.Diagnostic
	parts []string
	told  bool
}

// take keeps the problems of a part, and the files that they may be about. It returns those to
// tell now, and of errors that were reported already a line each.
func (g *gathered) take(part string, l diag.List, files map[string][]byte) (now diag.List, again string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.Copy(g.files, files)
	for _, d := range l {
		i := slices.IndexFunc(g.list, func(p *problem) bool { return p.Same(d) })
		if i < 0 {
			i = len(g.list)
			g.list = append(g.list, &problem{Diagnostic: d})
			if g.urgent && d.Severity == diag.Error {
				g.list[i].told = true
				now.Add(d)
			}
		} else if p := g.list[i]; p.told && !slices.Contains(p.parts, part) {
			again += fmt.Sprintf("\nError: %s: as in the %s %s\n", d.Summary, g.kind, p.parts[0])
		}
		p := g.list[i]
		if !slices.Contains(p.parts, part) {
			p.parts = append(p.parts, part)
		}
		if !slices.Equal(p.Values, d.Values) {
			p.Values = nil // they are those of one part
		}
	}
	return now, again
}

// rest are the problems that weren't reported, with the parts that have them.
func (g *gathered) rest() diag.List {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out diag.List
	for _, p := range g.list {
		if p.told {
			continue
		}
		d := p.Diagnostic
		d.Detail = strings.TrimRight(d.Detail, "\n") + "\n\n" + g.within(p.parts)
		out.Add(d)
	}
	return out
}

// within says which parts have a problem.
func (g *gathered) within(parts []string) string {
	slices.Sort(parts)
	const shown = 5
	switch n := len(parts); {
	case n == g.of && n > 2:
		return fmt.Sprintf("In all %d %ss.", n, g.kind)
	case n == 1:
		return fmt.Sprintf("In the %s %s.", g.kind, parts[0])
	case n > shown+1:
		return fmt.Sprintf("In the %ss %s and %d others.", g.kind, strings.Join(parts[:shown], ", "), n-shown)
	default:
		return fmt.Sprintf("In the %ss %s and %s.", g.kind, strings.Join(parts[:n-1], ", "), parts[n-1])
	}
}
