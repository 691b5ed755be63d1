package lsp

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
	"weir.dev/weir/internal/ui/lsp/textdoc"
)

// source names the server beside problems.
const source = "weir"

// bug logs a panic outside of requests.
func (s *server) bug(what string, problem any) {
	fmt.Fprintf(s.options.Log, "weir: a bug in %s: %v\n%s\n", what, problem, debug.Stack())
}

// rangeOf is a range in a text.
func rangeOf(text *textdoc.Text, r hcl.Range) protocol.Range {
	return text.Range(r.Start.Byte, r.End.Byte)
}

// diagnostic is a problem in a text as editors show it.
func (s *server) diagnostic(ctx context.Context, v *project.View, text *textdoc.Text, d diag.Diagnostic) protocol.Diagnostic {
	out := protocol.Diagnostic{Severity: protocol.SeverityError, Code: d.Code, Source: source}
	if d.Severity == diag.Warning {
		out.Severity = protocol.SeverityWarning
	}
	if d.Subject != nil {
		out.Range = rangeOf(text, *d.Subject)
	}
	if d.Deprecation != nil {
		out.Tags = append(out.Tags, protocol.TagDeprecated)
	}
	lines := []string{d.Summary}
	if d.Address != "" {
		lines[0] += " (" + d.Address + ")"
	}
	if d.Detail != "" {
		lines = append(lines, "", d.Detail)
	}
	for _, value := range d.Values {
		lines = append(lines, "  "+value.Traversal+" "+value.Statement)
	}
	out.Message = s.options.Outside.Secrets.Mask(strings.Join(lines, "\n"))
	out.RelatedInformation = s.related(ctx, v, d)
	return out
}

// related are the declarations that the problem has to do with: those that the references in
// it lead to, and others of the same name.
func (s *server) related(ctx context.Context, v *project.View, d diag.Diagnostic) []protocol.Related {
	if d.Subject == nil {
		return nil
	}
	m := v.Module(ctx, filepath.Dir(d.Subject.Filename))
	if m == nil {
		return nil
	}
	var list []protocol.Related
	seen := map[string]bool{}
	add := func(p project.Place, message string) {
		text := v.Text(p.Range.Filename)
		if key := p.Range.String(); text != nil && !seen[key] {
			seen[key] = true
			list = append(list, protocol.Related{Location: protocol.Location{URI: v.URI(p.Range.Filename), Range: rangeOf(text, p.Range)}, Message: message})
		}
	}
	for _, o := range m.Occurrences {
		inside := o.Range.Filename == d.Subject.Filename && o.Range.Start.Byte >= d.Subject.Start.Byte && o.Range.End.Byte <= d.Subject.End.Byte
		switch {
		case !inside:
		case o.Definition && diag.Duplicate.Is(d):
			for _, other := range m.Occurrences {
				if other.Definition && other.Is(o.Target) && other.Range != o.Range {
					add(project.Place{Module: m, Occurrence: other}, o.Name+" is also declared here.")
				}
			}
		case !o.Definition:
			if home, ok := v.Home(ctx, m, o.Target); ok {
				if p, ok := v.Definition(ctx, home); ok {
					add(p, o.Name+" is declared here.")
				}
			}
		}
	}
	return list
}
