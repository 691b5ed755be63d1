package analysis

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/ui/view/naturalsort"
)

type impacts struct {
	Format string   `json:"format_version"`
	Of     []string `json:"of"`
	// Reached are the declarations that what changes may come to, nearest first.
	Reached []impact `json:"reached"`
}

type impact struct {
	Address string `json:"address"`
	Kind    string `json:"kind"`
	Way     []hop  `json:"way"`
}

// A hop is a reference of one declaration to the one before it on a way.
type hop struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Argument string `json:"argument"`
	Range    *place `json:"range,omitempty"`
}

// ImpactJSON makes the document of what some declarations among all may come to.
func ImpactJSON(list, all []*symbols.Declaration) ([]byte, error) {
	doc := impacts{Format: FormatVersion, Of: []string{}, Reached: []impact{}}
	for _, d := range list {
		doc.Of = append(doc.Of, d.Address())
	}
	for _, way := range symbols.Impact(all, list) {
		out := impact{Address: way.To().Address(), Kind: string(way.To().Kind)}
		for _, h := range way {
			out.Way = append(out.Way, hop{h.From.Address(), h.To.Address(), h.Argument, placeOf(h.Range)})
		}
		doc.Reached = append(doc.Reached, out)
	}
	return json.Marshal(doc)
}

// ImpactText writes what some declarations among all may come to for people: a tree below
// each of them, in which everything stands below what it refers to.
func ImpactText(w io.Writer, list, all []*symbols.Declaration) error {
	below := map[string][]symbols.Hop{} // by what they refer to
	ways := symbols.Impact(all, list)
	for _, way := range ways {
		last := way[len(way)-1]
		below[last.From.Address()] = append(below[last.From.Address()], last)
	}
	var b strings.Builder
	for _, d := range list {
		if len(below[d.Address()]) > 0 {
			b.WriteString(d.Address() + "\n")
			branches(&b, d.Address(), below, "")
		}
	}
	if len(ways) == 0 {
		b.WriteString("Nothing in the configuration refers to that.\n")
	} else {
		fmt.Fprintf(&b, "\nReached: %d.\n", len(ways))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// branches writes what stands below an address.
func branches(b *strings.Builder, of string, below map[string][]symbols.Hop, indent string) {
	hops := below[of]
	slices.SortFunc(hops, func(x, y symbols.Hop) int { return naturalsort.Compare(x.To.Address(), y.To.Address()) })
	for i, h := range hops {
		branch, next := "├── ", "│   "
		if i == len(hops)-1 {
			branch, next = "└── ", "    "
		}
		said := "  by " + h.Argument + where(h.Range)
		switch h.Argument {
		case "module":
			said = "  in the module"
		case "provider":
			said = "  served by it" + where(h.Range)
		}
		b.WriteString(indent + branch + h.To.Address() + said + "\n")
		branches(b, h.To.Address(), below, indent+next)
	}
}
