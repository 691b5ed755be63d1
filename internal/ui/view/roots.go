package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"weir.dev/weir/internal/ui/view/sanitize"
)

// RootsVersion is that of the JSON document.
const RootsVersion = "1.1"

// A Root is a root module or a deployment of several, as lists and the JSON document have it.
type Root struct {
	Name      string `json:"name"`
	Path      string `json:"path"`
	Workspace string `json:"workspace,omitempty"`
	// Deployment is that of a stack at the path; empty for root modules.
	Deployment string `json:"deployment,omitempty"`
	Backend    string `json:"backend,omitempty"`
	State      string `json:"state,omitempty"`
	Upstream   []Near `json:"upstream"`
	Downstream []Near `json:"downstream"`
	// Unresolved are reads of states whose settings aren't known before a plan.
	Unresolved []Reference `json:"unresolved,omitempty"`
	// Affected is why the plan may have changed since a revision; nil where nobody asked.
	Affected *Affected `json:"affected,omitempty"`
}

// Affected are the changed files that a root reads, and its affected upstream roots.
type Affected struct {
	Files    []string `json:"files"`
	Upstream []string `json:"upstream"`
}

// A Near is another root that a root needs or is needed by.
type Near struct {
	Root string `json:"root"`
	Reference
}

// A Reference is what makes roots depend on each other, and where it is.
type Reference struct {
	Address string `json:"address"`
	File    string `json:"file"`
	Line    int    `json:"line"`
}

// RootsJSON is the document of a list of roots.
func RootsJSON(list []Root) ([]byte, error) {
	return json.MarshalIndent(struct {
		Version string `json:"format_version"`
		Roots   []Root `json:"roots"`
	}{RootsVersion, list}, "", "  ")
}

// Roots writes a list of roots, each with what it reads.
func Roots(w io.Writer, list []Root, o Options) error {
	p := printer{o: o}
	for _, r := range list {
		p.printf("%s", sanitize.Line(r.Name))
		what := r.Backend
		if r.Deployment != "" {
			what = strings.TrimSuffix("deployment, "+what, ", ")
		}
		if what != "" {
			p.printf("  (%s)", sanitize.Line(what))
		}
		p.printf("\n")
		if r.Affected != nil {
			for _, f := range r.Affected.Files {
				p.printf("    affected by %s\n", sanitize.Line(f))
			}
			for _, up := range r.Affected.Upstream {
				p.printf("    affected by the root %s\n", sanitize.Line(up))
			}
		}
		for _, n := range r.Upstream {
			p.printf("    after %s: %s (%s:%d)\n", sanitize.Line(n.Root), sanitize.Line(n.Address), sanitize.Line(n.File), n.Line)
		}
		for _, n := range r.Unresolved {
			p.printf("    after a root that isn't known before a plan: %s (%s:%d)\n", sanitize.Line(n.Address), sanitize.Line(n.File), n.Line)
		}
	}
	return p.flush(w)
}

// RootSums sums up what became of several roots, a line for each.
func RootSums(all []Sum) string {
	var b strings.Builder
	b.WriteString("\nRoots:\n")
	width := 0
	for _, s := range all {
		width = max(width, len(s.Name))
	}
	for _, s := range all {
		what := "done"
		switch {
		case s.Skipped != "":
			what = "skipped: " + s.Skipped
		case s.Code == 1:
			what = "not done: see above"
		case s.Drift && s.Drifted == 0:
			what = "no drift"
		case s.Drifted == 1:
			what = "1 object was changed outside"
		case s.Drifted > 1:
			what = fmt.Sprintf("%d objects were changed outside", s.Drifted)
		case s.Code == 2 || s.Planned && s.changes() != "":
			what = "has changes"
		case s.Planned:
			what = "no changes"
		}
		if changes := s.changes(); changes != "" {
			what += ": " + changes
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", width, sanitize.Line(s.Name), what)
	}
	return b.String()
}
