package diff

// A match says that an element of one sequence stands for one of another.
type match struct{ before, after int }

// maxEdits bounds the search for a shortest difference. Sequences that differ in more are
// distinguished without looking further: nobody reads such a difference line by line.
const maxEdits = 1000

// common finds a longest common subsequence, or nearly so where the sequences
// have very little in common. The cost is the length times the number of
// differences.
func common(before, after []string) []match {
	var out []match
	start := 0
	for start < len(before) && start < len(after) && before[start] == after[start] {
		out = append(out, match{start, start})
		start++
	}
	endB, endA := len(before), len(after)
	for endB > start && endA > start && before[endB-1] == after[endA-1] {
		endB--
		endA--
	}
	out = append(out, middle(before[start:endB], after[start:endA], start)...)
	for i := 0; endB+i < len(before); i++ {
		out = append(out, match{endB + i, endA + i})
	}
	return earliest(before, after, out)
}

// earliest moves matches to the first elements that are equal. Of several equal elements the first
// one stays, as in OpenTofu.
func earliest(before, after []string, common []match) []match {
	i, j := 0, 0
	for n, m := range common {
		for before[i] != before[m.before] {
			i++
		}
		for after[j] != after[m.after] {
			j++
		}
		common[n] = match{i, j}
		i, j = i+1, j+1
	}
	return common
}

// middle is Myers' greedy algorithm. It keeps the furthest reaching points of
// every round to walk back on.
func middle(a, b []string, offset int) []match {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return nil
	}
	limit := min(n+m, maxEdits)
	// furthest[limit+k] is the largest x reached on diagonal k = x-y.
	furthest := make([]int, 2*limit+2)
	var rounds [][]int
	for d := 0; d <= limit; d++ {
		rounds = append(rounds, append([]int(nil), furthest[limit-d:limit+d+2]...))
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && furthest[limit+k-1] < furthest[limit+k+1] {
				x = furthest[limit+k+1]
			} else {
				x = furthest[limit+k-1] + 1
			}
			for x < n && x-k < m && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			furthest[limit+k] = x
			if x >= n && x-k >= m {
				return walkBack(a, b, rounds, k, offset)
			}
		}
	}
	return nil
}

// walkBack follows the rounds from the end and collects the matches.
func walkBack(a, b []string, rounds [][]int, k, offset int) []match {
	var out []match
	x, y := len(a), len(b)
	for d := len(rounds) - 1; d >= 0; d-- {
		// A round holds the diagonals -d to d+1.
		at := func(k int) int { return rounds[d][k+d] }
		prev := k - 1
		if d == 0 {
			prev = 0
		} else if k == -d || k != d && at(k-1) < at(k+1) {
			prev = k + 1
		}
		fromX, fromY := 0, 0
		if d > 0 {
			fromX = at(prev)
			fromY = fromX - prev
		}
		for x > fromX && y > fromY {
			x--
			y--
			out = append(out, match{offset + x, offset + y})
		}
		x, y, k = fromX, fromY, prev
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// align walks two sequences along what they have in common. It calls both for
// elements that stand for each other, and otherwise with -1 for the side that
// has none. In a stretch that differs, elements are taken for changed forms of
// each other as long as pair says so; the rest goes away before new ones come.
func align(before, after []string, pair func(i, j int) bool, visit func(i, j int)) {
	i, j := 0, 0
	for _, m := range append(common(before, after), match{len(before), len(after)}) {
		for i < m.before && j < m.after && pair(i, j) {
			visit(i, j)
			i++
			j++
		}
		for ; i < m.before; i++ {
			visit(i, -1)
		}
		for ; j < m.after; j++ {
			visit(-1, j)
		}
		if m.before < len(before) {
			visit(i, j)
			i++
			j++
		}
	}
}

// Lines reports the lines of two texts in order: those that only the first has with a minus,
// those that only the second has with a plus, and those of both with a space.
func Lines(before, after string, visit func(sign byte, line string)) {
	from, to := linesOf(before), linesOf(after)
	align(from, to, func(int, int) bool { return false }, func(i, j int) {
		switch {
		case j < 0:
			visit('-', from[i])
		case i < 0:
			visit('+', to[j])
		default:
			visit(' ', from[i])
		}
	})
}
