package view

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// Listings writes what a query has found: a line for each object with the address of the
// list resource, the identity, and the name that the provider has for it. Lists without objects are named last.
func Listings(w io.Writer, all []*plan.Listing, o Options) error {
	p := printer{o: o}
	var empty []string
	for _, l := range all {
		if len(l.Found) == 0 {
			empty = append(empty, sanitize.Line(l.Addr.String()))
			continue
		}
		identities, width := make([]string, len(l.Found)), 0
		for n, f := range l.Found {
			identities[n] = identity(f.Identity)
			width = max(width, utf8.RuneCountInString(identities[n]))
		}
		for n, f := range l.Found {
			fill := strings.Repeat(" ", width-utf8.RuneCountInString(identities[n]))
			p.printf("%s   %s%s   %s\n", sanitize.Line(l.Addr.String()), identities[n], fill, sanitize.Line(f.Name))
		}
		p.printf("\n")
	}
	if len(empty) > 0 {
		p.printf("%s Nothing was found by %s.\n", o.Pen.Paint("Warning:", ansi.Bold, ansi.Yellow), strings.Join(empty, ", "))
	}
	return p.flush(w)
}

// identity is an identity in one line.
func identity(v cty.Value) string {
	var parts []string
	for it := v.ElementIterator(); it.Next(); {
		name, inner := it.Element()
		text := "<null>"
		if !inner.IsNull() {
			text = Value(inner, 0)
			if s, err := convert.Convert(inner, cty.String); err == nil {
				text = s.AsString()
			}
		}
		parts = append(parts, sanitize.Line(name.AsString()+"="+text))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
