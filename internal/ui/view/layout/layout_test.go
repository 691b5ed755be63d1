package layout

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// made is a graph by chance, with circles, loops and repetition.
func made(r *rand.Rand) Graph {
	var g Graph
	for i := range r.IntN(60) {
		g.Nodes = append(g.Nodes, Node{Label: strings.Repeat("x", r.IntN(60)), Title: fmt.Sprint(i), Group: fmt.Sprint(r.IntN(3))})
	}
	if len(g.Nodes) > 0 {
		for range r.IntN(120) {
			g.Edges = append(g.Edges, Edge{From: r.IntN(len(g.Nodes)), To: r.IntN(len(g.Nodes))})
		}
	}
	return g
}

// reach says what leads to what.
func reach(n int, edges []Edge) [][]bool {
	way := make([][]bool, n)
	for i := range way {
		way[i] = make([]bool, n)
	}
	for _, e := range edges {
		way[e.From][e.To] = true
	}
	for k := range n {
		for i := range n {
			for j := range n {
				way[i][j] = way[i][j] || way[i][k] && way[k][j]
			}
		}
	}
	return way
}

// TestLayout: whatever the graph is, no box covers another or stands outside, what is needed
// stands left of what needs it, and without circles the lines say all that the edges do.
func TestLayout(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 400 {
		g := made(r)
		circle := round%2 == 0
		if !circle {
			for i, e := range g.Edges {
				g.Edges[i] = Edge{From: max(e.From, e.To), To: min(e.From, e.To)}
			}
		}
		d := layout(g)
		for i, a := range d.boxes {
			if a.x < 0 || a.y < 0 || a.x+a.width > d.width || a.y+boxHeight > d.height {
				t.Fatalf("round %d: a box stands outside: %+v of %v by %v", round, a, d.width, d.height)
			}
			for _, b := range d.boxes[:i] {
				if a.x < b.x+b.width && b.x < a.x+a.width && a.y < b.y+boxHeight && b.y < a.y+boxHeight {
					t.Fatalf("round %d: boxes cover each other: %+v %+v", round, a, b)
				}
			}
		}
		for _, e := range d.edges {
			if from, to := d.boxes[e.From], d.boxes[e.To]; to.x+to.width > from.x {
				t.Fatalf("round %d: %+v is needed by %+v, and isn't left of it", round, to, from)
			}
		}
		want, got := reach(len(g.Nodes), g.Edges), reach(len(g.Nodes), d.edges)
		for i := range want {
			for j := range want {
				if got[i][j] && !want[i][j] || !circle && i != j && want[i][j] != got[i][j] {
					t.Fatalf("round %d: a way from %d to %d is %v, drawn %v", round, i, j, want[i][j], got[i][j])
				}
			}
		}
		if again := layout(g); !slices.Equal(again.boxes, d.boxes) || !slices.Equal(again.edges, d.edges) {
			t.Fatalf("round %d: it is drawn in two ways", round)
		}
	}
}

// TestXML: names can't break out of the drawing, and it is XML whatever they are.
func TestXML(t *testing.T) {
	label := "</text><script>alert(1)</script>\x00\xff\"'&\uFFFE"
	for _, text := range []string{SVG(Graph{Nodes: []Node{{Label: label, Title: label, Class: label}}}, label), File(Graph{}, "")} {
		if strings.Contains(text, "<script") {
			t.Errorf("a name is markup: %s", text)
		}
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v: %s", err, text)
			}
		}
	}
}

// TestCrossings: lines that needn't cross don't.
func TestCrossings(t *testing.T) {
	g := Graph{Nodes: []Node{{Label: "a"}, {Label: "b"}, {Label: "c"}, {Label: "x"}, {Label: "y"}, {Label: "z"}}, Edges: []Edge{{From: 3, To: 2}, {From: 4, To: 1}, {From: 5, To: 0}}}
	d := layout(g)
	for _, e := range d.edges {
		if d.boxes[e.From].y != d.boxes[e.To].y {
			t.Errorf("%s isn't beside %s", g.Nodes[e.From].Label, g.Nodes[e.To].Label)
		}
	}
}
