// Package layout lays out graphs in layers, with dependencies on the left and few crossing
// lines.
//
// It owns where boxes and lines go, and the SVG that they are written in. It doesn't know what
// the boxes stand for.
package layout

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

// A Node is a box.
type Node struct {
	Label string
	// Title is shown when somebody points at the box, and read out.
	Title string
	// Class says how the box is coloured: see style.css.
	Class string
	// Group names what boxes belong to that stand together within a layer.
	Group string
}

// An Edge leads from a node to one that it needs, by their places in the list. Title is
// shown when somebody points at the line; it is empty for none.
type Edge struct {
	From, To int
	Title    string
}

// A Graph is nodes and edges.
type Graph struct {
	Nodes []Node
	Edges []Edge
}

// Anything that is drawn how large, in pixels.
const (
	boxHeight  = 26
	rowHeight  = 36
	letter     = 7.3 // of the monospaced font
	padding    = 10
	gap        = 70 // between layers
	narrowGap  = 14 // between the columns of one layer
	margin     = 16
	maxLabel   = 44
	minColumn  = 14 // boxes of a layer that are always one column
	rounds     = 8  // of sorting by neighbours
	mostImpled = 4000
)

// A box is where a node is drawn.
type box struct {
	x, y, width float64
}

// A drawing is a graph with a place for everything.
type drawing struct {
	graph         Graph
	boxes         []box
	edges         []Edge // those that are drawn
	width, height float64
}

// layout finds a place for everything.
func layout(g Graph) *drawing {
	d := &drawing{graph: g, boxes: make([]box, len(g.Nodes))}
	needs, titles := acyclic(g), titlesOf(g)
	needs = direct(needs)
	for from, all := range needs {
		for _, to := range all {
			d.edges = append(d.edges, Edge{from, to, titles[[2]int{from, to}]})
		}
	}
	d.place(sorted(g, layers(needs), needs))
	return d
}

// titlesOf are the titles of edges by their ends.
func titlesOf(g Graph) map[[2]int]string {
	titles := map[[2]int]string{}
	for _, e := range g.Edges {
		if e.Title != "" {
			titles[[2]int{e.From, e.To}] = e.Title
		}
	}
	return titles
}

// acyclic lists what each node needs, without what would close a circle and without
// repetition.
func acyclic(g Graph) [][]int {
	all := make([][]int, len(g.Nodes))
	for _, e := range g.Edges {
		if e.From != e.To {
			all[e.From] = append(all[e.From], e.To)
		}
	}
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(all))
	type frame struct{ node, next int }
	for start := range all {
		slices.Sort(all[start])
		all[start] = slices.Compact(all[start])
	}
	kept := make([][]int, len(all))
	for start := range all {
		if state[start] != unseen {
			continue
		}
		stack := []frame{{start, 0}}
		state[start] = open
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.next == len(all[top.node]) {
				state[top.node] = done
				stack = stack[:len(stack)-1]
				continue
			}
			to := all[top.node][top.next]
			top.next++
			if state[to] == open {
				continue
			}
			kept[top.node] = append(kept[top.node], to)
			if state[to] == unseen {
				state[to] = open
				stack = append(stack, frame{to, 0})
			}
		}
	}
	return kept
}

// upward lists all nodes with those before that they need.
func upward(needs [][]int) []int {
	order := make([]int, 0, len(needs))
	waits := make([]int, len(needs))
	by := reversed(needs)
	for n, all := range needs {
		if waits[n] = len(all); waits[n] == 0 {
			order = append(order, n)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, n := range by[order[i]] {
			if waits[n]--; waits[n] == 0 {
				order = append(order, n)
			}
		}
	}
	return order
}

func reversed(needs [][]int) [][]int {
	by := make([][]int, len(needs))
	for n, all := range needs {
		for _, to := range all {
			by[to] = append(by[to], n)
		}
	}
	return by
}

// direct leaves out what follows from other edges. Of huge graphs all is kept.
func direct(needs [][]int) [][]int {
	if len(needs) > mostImpled {
		return needs
	}
	words := (len(needs) + 63) / 64
	reach := make([][]uint64, len(needs))
	kept := make([][]int, len(needs))
	for _, n := range upward(needs) {
		through := make([]uint64, words)
		for _, to := range needs[n] {
			for w, bits := range reach[to] {
				through[w] |= bits
			}
		}
		for _, to := range needs[n] {
			if through[to/64]&(1<<(to%64)) == 0 {
				kept[n] = append(kept[n], to)
			}
		}
		for _, to := range needs[n] {
			through[to/64] |= 1 << (to % 64)
		}
		reach[n] = through
	}
	return kept
}

// layers gives each node the layer right of all that it needs. Anything that nothing needs and
// that needs something stands where that leaves it; what only others need moves next to the
// first of these.
func layers(needs [][]int) []int {
	at, order, by := make([]int, len(needs)), upward(needs), reversed(needs)
	for _, n := range order {
		for _, to := range needs[n] {
			at[n] = max(at[n], at[to]+1)
		}
	}
	for _, n := range slices.Backward(order) {
		if len(by[n]) == 0 || len(needs[n]) > 0 {
			continue
		}
		nearest := math.MaxInt
		for _, user := range by[n] {
			nearest = min(nearest, at[user])
		}
		at[n] = nearest - 1
	}
	return at
}

// sorted puts the nodes of each layer in an order in which lines cross seldom: each
// near the mean place of its neighbours.
func sorted(g Graph, at []int, needs [][]int) [][]int {
	var rows [][]int
	for n, layer := range at {
		for len(rows) <= layer {
			rows = append(rows, nil)
		}
		rows[layer] = append(rows[layer], n)
	}
	place, by := make([]float64, len(at)), reversed(needs)
	number := func(row []int) {
		for i, n := range row {
			place[n] = (float64(i) + 0.5) / float64(len(row))
		}
	}
	for _, row := range rows {
		slices.SortStableFunc(row, func(a, b int) int {
			return cmp.Or(cmp.Compare(g.Nodes[a].Group, g.Nodes[b].Group), cmp.Compare(g.Nodes[a].Label, g.Nodes[b].Label))
		})
		number(row)
	}
	sortBy := func(row []int, neighbours [][]int) {
		mean := map[int]float64{}
		for _, n := range row {
			mean[n] = place[n]
			if all := neighbours[n]; len(all) > 0 {
				sum := 0.0
				for _, m := range all {
					sum += place[m]
				}
				mean[n] = sum / float64(len(all))
			}
		}
		slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
		number(row)
	}
	for range rounds {
		for _, row := range rows {
			sortBy(row, needs)
		}
		for _, row := range slices.Backward(rows) {
			sortBy(row, by)
		}
	}
	return rows
}

// place sets the layers side by side. One with many boxes has several columns, so
// that the drawing isn't a strip.
func (d *drawing) place(rows [][]int) {
	tallest := max(minColumn, int(math.Ceil(math.Sqrt(float64(len(d.boxes))*2.2))))
	x := float64(margin)
	for i, row := range rows {
		if i > 0 {
			x += gap
		}
		columns := (len(row) + tallest - 1) / tallest
		per := (len(row) + columns - 1) / columns
		for c, column := range slices.Collect(slices.Chunk(row, per)) {
			if c > 0 {
				x += narrowGap
			}
			widest := 0.0
			for k, n := range column {
				width := float64(utf8.RuneCountInString(shortened(d.graph.Nodes[n].Label)))*letter + 2*padding
				widest = max(widest, width)
				d.boxes[n] = box{x, float64(k * rowHeight), width}
			}
			x += widest
		}
		d.height = max(d.height, float64(min(per, len(row))*rowHeight))
	}
	for _, row := range rows { // each in the middle
		columns := (len(row) + tallest - 1) / tallest
		per := (len(row) + columns - 1) / columns
		shift := (d.height-float64(per*rowHeight))/2 + margin
		for _, n := range row {
			d.boxes[n].y += shift
		}
	}
	d.width, d.height = x+margin, d.height+2*margin-(rowHeight-boxHeight)
}

// shortened is a label that fits a box: its end reports most.
func shortened(label string) string {
	runes := []rune(label)
	if len(runes) <= maxLabel {
		return label
	}
	return string(runes[:12]) + "…" + string(runes[len(runes)-(maxLabel-13):])
}
