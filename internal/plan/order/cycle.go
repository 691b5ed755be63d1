package order

import "slices"

// components orders the nodes of a graph so that what a node leads to comes
// first, and finds its circles: the strongly connected components of more
// than one node, and nodes that lead to themselves. Within a circle the order
// is any.
func components(edges [][]int) (sorted []int, circles [][]int) {
	type visit struct{ node, next int }
	n := len(edges)
	index := make([]int, n) // 1 for the first node reached
	low := make([]int, n)
	open := make([]bool, n)
	sorted = make([]int, 0, n)
	var path []int
	var work []visit
	reached := 0
	for start := range n {
		if index[start] != 0 {
			continue
		}
		work = append(work, visit{start, 0})
		for len(work) > 0 {
			v := &work[len(work)-1]
			node := v.node
			if v.next == 0 {
				reached++
				index[node], low[node] = reached, reached
				path = append(path, node)
				open[node] = true
			} else if to := edges[node][v.next-1]; open[to] {
				low[node] = min(low[node], low[to])
			}
			if v.next < len(edges[node]) {
				to := edges[node][v.next]
				v.next++
				if index[to] == 0 {
					work = append(work, visit{to, 0})
				}
				continue
			}
			work = work[:len(work)-1]
			if low[node] != index[node] {
				continue
			}
			from := len(path) - 1
			for path[from] != node {
				from--
			}
			circle := path[from:]
			path = path[:from]
			for _, c := range circle {
				open[c] = false
			}
			sorted = append(sorted, circle...)
			if len(circle) > 1 || slices.Contains(edges[node], node) {
				circle = slices.Clone(circle)
				slices.Sort(circle)
				circles = append(circles, circle)
			}
		}
	}
	return sorted, circles
}

// Circles finds the nodes of a graph that lead back to themselves: one list for
// all that lead to one another.
func Circles(edges [][]int) [][]int {
	_, circles := components(edges)
	return circles
}

// shortest finds a shortest circle. In a very large circle it looks from some
// of the nodes only.
func shortest(edges [][]int, circles [][]int) []int {
	const starts = 256
	var best []int
	slices.SortFunc(circles, func(a, b []int) int { return len(a) - len(b) })
	for _, circle := range circles {
		member := make(map[int]bool, len(circle))
		for _, c := range circle {
			member[c] = true
		}
		for i, start := range circle {
			if i == starts {
				break
			}
			if found := back(edges, member, start); best == nil || len(found) < len(best) {
				best = found
			}
		}
	}
	return best
}

// back is a shortest way from a node to itself among the members.
func back(edges [][]int, member map[int]bool, start int) []int {
	from := map[int]int{}
	queue := []int{start}
	for len(queue) > 0 {
		node := queue[0]
		queue = queue[1:]
		for _, to := range edges[node] {
			if to == start {
				way := []int{node}
				for node != start {
					node = from[node]
					way = append(way, node)
				}
				slices.Reverse(way)
				return way
			}
			if _, seen := from[to]; member[to] && !seen {
				from[to] = node
				queue = append(queue, to)
			}
		}
	}
	panic("order: a circle without a way back")
}
