package analysis

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"weir.dev/weir/internal/lang/outline"
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
func ImpactJSON(list, all []*outline.Declaration) ([]byte, error) {
	doc := impacts{Format: FormatVersion, Of: []string{}, Reached: []impact{}}
	for _, d := range list {
		doc.Of = append(doc.Of, d.Address())
	}
	for _, way := range outline.Impact(all, list) {
		out := impact{Address: way.To().Address(), Kind: string(way.To().Kind)}
		for _, h := range way {
			out.Way = append(out.Way, hop{h.From.Address(), h.To.Address(), h.Argument, placeOf(h.Range)})
		}
		doc.Reached = append(doc.Reached, out)
	}
	return json.Marshal(doc)
}

// ImpactText writes what some declarations among all may come to for people.
func ImpactText(w io.Writer, list, all []*outline.Declaration) error {
	var b strings.Builder
	ways := outline.Impact(all, list)
	for _, way := range ways {
		last := way[len(way)-1]
		switch last.Argument {
		case "module":
			fmt.Fprintf(&b, "%s\n  stands in %s", last.To.Address(), last.From.Address())
		case "provider":
			fmt.Fprintf(&b, "%s\n  is served by %s%s", last.To.Address(), last.From.Address(), where(last.Range))
		default:
			fmt.Fprintf(&b, "%s\n  refers in %s to %s%s", last.To.Address(), last.Argument, last.From.Address(), where(last.Range))
		}
		for _, h := range slices.Backward(way[:len(way)-1]) {
			b.WriteString(", which follows " + h.From.Address())
		}
		b.WriteByte('\n')
	}
	if len(ways) == 0 {
		b.WriteString("Nothing in the configuration refers to that.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
