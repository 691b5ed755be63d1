package format

import (
	"bytes"
	"fmt"
)

// contextLines surround each change of a diff.
const contextLines = 3

// maxSteps bounds the search for the smallest diff. Beyond it, what is left is
// shown as one change.
const maxSteps = 2000

// Diff shows how b differs from a as a unified diff, like `diff -u` with these
// names. It gives nil if they are equal.
func Diff(nameA, nameB string, a, b []byte) []byte {
	if bytes.Equal(a, b) {
		return nil
	}
	linesA, linesB := splitLines(a), splitLines(b)
	var out bytes.Buffer
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameA, nameB)
	for _, h := range hunks(changes(linesA, linesB)) {
		h.write(&out, linesA, linesB)
	}
	return out.Bytes()
}

func splitLines(src []byte) [][]byte {
	if len(src) == 0 {
		return nil
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	if last := len(lines) - 1; len(lines[last]) == 0 {
		lines = lines[:last]
	}
	return lines
}

// A change replaces lines a1 to a2 of one text by lines b1 to b2 of the other.
type change struct{ a1, a2, b1, b2 int }

// changes finds a short list of changes, in order and apart from each other.
func changes(a, b [][]byte) []change {
	start := 0
	for start < len(a) && start < len(b) && bytes.Equal(a[start], b[start]) {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && bytes.Equal(a[endA-1], b[endB-1]) {
		endA--
		endB--
	}
	found := search(a[start:endA], b[start:endB])
	for i := range found {
		found[i].a1 += start
		found[i].a2 += start
		found[i].b1 += start
		found[i].b2 += start
	}
	return found
}

// search is the greedy algorithm of Myers: after d single insertions and
// deletions, reach[k] is how far into a the diagonal k = x - y was followed.
func search(a, b [][]byte) []change {
	n, m := len(a), len(b)
	limit := min(n+m, maxSteps)
	reach := make([]int, 2*limit+3)
	mid := limit + 1
	var history [][]int
	for d := 0; d <= limit; d++ {
		history = append(history, append([]int(nil), reach[mid-d-1:mid+d+2]...))
		for k := -d; k <= d; k += 2 {
			x := reach[mid+k-1] + 1
			if k == -d || k != d && reach[mid+k-1] < reach[mid+k+1] {
				x = reach[mid+k+1]
			}
			for x < n && x-k < m && bytes.Equal(a[x], b[x-k]) {
				x++
			}
			reach[mid+k] = x
			if x >= n && x-k >= m {
				return backtrack(history, n, m)
			}
		}
	}
	return []change{{0, n, 0, m}}
}

// backtrack follows the way found by search from its end to its start.
func backtrack(history [][]int, x, y int) []change {
	var found []change
	for d := len(history) - 1; d > 0; d-- {
		reach := func(k int) int { return history[d][k+d+1] }
		k := x - y
		from := k - 1
		if k == -d || k != d && reach(k-1) < reach(k+1) {
			from = k + 1
		}
		fromX := reach(from)
		fromY := fromX - from
		step := change{fromX, fromX, fromY, fromY}
		if from < k {
			step.a2++
		} else {
			step.b2++
		}
		// Steps come last first; one that touches the next joins it.
		if last := len(found) - 1; last >= 0 && found[last].a1 == step.a2 && found[last].b1 == step.b2 {
			found[last].a1, found[last].b1 = step.a1, step.b1
		} else {
			found = append(found, step)
		}
		x, y = fromX, fromY
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found
}

// A hunk is a run of changes that share context.
type hunk []change

func hunks(all []change) []hunk {
	var ret []hunk
	for i, c := range all {
		if i == 0 || c.a1-all[i-1].a2 > 2*contextLines {
			ret = append(ret, nil)
		}
		last := len(ret) - 1
		ret[last] = append(ret[last], c)
	}
	return ret
}

func (h hunk) write(out *bytes.Buffer, a, b [][]byte) {
	first, last := h[0], h[len(h)-1]
	before := min(contextLines, first.a1)
	after := min(contextLines, len(a)-last.a2)
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		span(first.a1-before, last.a2+after), span(first.b1-before, last.b2+after))
	at := first.a1 - before
	for _, c := range h {
		writeLines(out, ' ', a[at:c.a1])
		writeLines(out, '-', a[c.a1:c.a2])
		writeLines(out, '+', b[c.b1:c.b2])
		at = c.a2
	}
	writeLines(out, ' ', a[at:at+after])
}

// span writes a range of lines, counted from 1; an empty one by the line
// before it.
func span(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(to)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *bytes.Buffer, sign byte, lines [][]byte) {
	for _, line := range lines {
		out.WriteByte(sign)
		out.Write(line)
		if !bytes.HasSuffix(line, []byte("\n")) {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
