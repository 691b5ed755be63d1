// Package analysis formats an outline of a configuration as text and as JSON.
//
// It owns both forms, which are weir's own. It doesn't decide what is in an outline.
package analysis

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/symbols"
)

// FormatVersion is that of the JSON document.
const FormatVersion = "1.0"

type document struct {
	Format       string        `json:"format_version"`
	Declarations []declaration `json:"declarations"`
}

type declaration struct {
	Address    string      `json:"address"`
	Module     string      `json:"module,omitempty"`
	Kind       string      `json:"kind"`
	Range      *place      `json:"range,omitempty"`
	Repeat     string      `json:"repeated_by,omitempty"`
	Provider   *service    `json:"provider,omitempty"`
	References []reference `json:"references"`
	ReferredBy []string    `json:"referred_by"`
	DependsOn  []string    `json:"depends_on,omitempty"`
}

// A service is the provider configuration that serves a block.
type service struct {
	Address string `json:"address"`
	// Range is where the block or a call names it; missing where none does.
	Range *place `json:"named_at,omitempty"`
}

type reference struct {
	To       string `json:"to"`
	Argument string `json:"argument"`
	Text     string `json:"text,omitempty"`
	Range    *place `json:"range,omitempty"`
}

type place struct {
	Filename string   `json:"filename"`
	Start    position `json:"start"`
	End      position `json:"end"`
}

type position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

func placeOf(r hcl.Range) *place {
	if r.Filename == "" {
		return nil
	}
	return &place{r.Filename, position(r.Start), position(r.End)}
}

// users lists by declaration who refers to it.
func users(all []*symbols.Declaration) map[*symbols.Declaration][]string {
	sets := map[*symbols.Declaration]map[string]bool{}
	for _, d := range all {
		for _, r := range d.Refers {
			if sets[r.To] == nil {
				sets[r.To] = map[string]bool{}
			}
			sets[r.To][d.Address()] = true
		}
	}
	out := map[*symbols.Declaration][]string{}
	for d, set := range sets {
		out[d] = slices.Sorted(maps.Keys(set))
	}
	return out
}

// JSON makes the document of some declarations among all.
func JSON(list, all []*symbols.Declaration) ([]byte, error) {
	by := users(all)
	doc := document{Format: FormatVersion, Declarations: []declaration{}}
	for _, d := range list {
		out := declaration{
			Address: d.Address(), Module: d.Module.String(), Kind: string(d.Kind), Range: placeOf(d.Range), Repeat: d.Repeat,
			References: []reference{}, ReferredBy: append([]string{}, by[d]...), DependsOn: d.DependsOn,
		}
		if d.ResourceName() != (addr.Name{}) {
			out.Provider = &service{d.Provider.String(), placeOf(d.ServedAt)}
		}
		for _, r := range d.Refers {
			out.References = append(out.References, reference{r.To.Address(), r.Argument, r.Text, placeOf(r.Range)})
		}
		doc.Declarations = append(doc.Declarations, out)
	}
	return json.Marshal(doc)
}

// Text writes some declarations among all for people.
func Text(w io.Writer, list, all []*symbols.Declaration) error {
	by := users(all)
	var b strings.Builder
	for i, d := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(d.Address() + where(d.Range))
		if d.Repeat != "" {
			b.WriteString(", repeated by " + d.Repeat)
		}
		b.WriteByte('\n')
		if d.ResourceName() != (addr.Name{}) {
			fmt.Fprintf(&b, "  is served by %s%s\n", d.Provider, where(d.ServedAt))
		}
		for _, r := range d.Refers {
			fmt.Fprintf(&b, "  refers in %s to %s%s\n", r.Argument, r.To.Address(), where(r.Range))
		}
		for _, name := range by[d] {
			fmt.Fprintf(&b, "  is referred to by %s\n", name)
		}
		for _, name := range d.DependsOn {
			fmt.Fprintf(&b, "  depends on %s\n", name)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// where is a place as text, empty for none.
func where(r hcl.Range) string {
	if r.Filename == "" {
		return ""
	}
	return fmt.Sprintf(" (%s:%d,%d)", r.Filename, r.Start.Line, r.Start.Column)
}
