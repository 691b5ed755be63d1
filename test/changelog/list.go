package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A line of the list judges one entry.
type line struct {
	Engine   string
	Versions []string // the releases that have the entry, newest first
	ID       string
	About    string // the entry in our words
	Verdict  string // case, reason, not yet, unjudged
}

// verdicts are the columns of the table, by the words that begin a verdict in the list.
var verdicts = []struct{ name, title string }{
	{"case", "shown by tests"},
	{"reason", "no concern of weir"},
	{"not yet", "not there yet"},
	{"unjudged", "unjudged"},
}

// parseList reads docs/proofs/changelog.txt. A line is
// "ENGINE VERSION,VERSION ID, ABOUT: VERDICT".
func parseList(text string) ([]line, error) {
	var list []line
	number := 0
	for row := range strings.Lines(text) {
		number++
		row = strings.TrimSpace(row)
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		head, verdict, ok := cutLast(row, ": ")
		identity, about, named := strings.Cut(head, ", ")
		fields := strings.Fields(identity)
		if !ok || !named || len(fields) != 3 {
			return nil, fmt.Errorf("line %d isn't \"ENGINE VERSION,VERSION ID, ABOUT: VERDICT\"", number)
		}
		l := line{Engine: fields[0], Versions: strings.Split(fields[1], ","), ID: fields[2], About: about}
		switch first, _, _ := strings.Cut(verdict, " "); {
		case first == "case" || first == "script" || first == "go" || first == "file" || first == "chaos":
			l.Verdict = "case"
		case first == "reason" || first == "unjudged":
			l.Verdict = first
		case strings.HasPrefix(verdict, "not yet "):
			l.Verdict = "not yet"
		default:
			return nil, fmt.Errorf("line %d: unknown verdict %q", number, verdict)
		}
		list = append(list, l)
	}
	return list, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	at := strings.LastIndex(s, sep)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(sep):], true
}

// series returns the minor version, such as 1.12 of 1.12.3.
func series(version string) string {
	series, _, _ := cutLast(version, ".")
	return series
}

// number returns the minor version as a number, to sort by.
func number(series string) int {
	_, minor, _ := cutLast(series, ".")
	n, _ := strconv.Atoi(minor)
	return n
}

// An identity is what the list and a changelog have in common. Patch releases of one series
// repeat entries, and an entry of an unreleased version may move to another one.
type identity struct{ engine, series, id string }

// missing returns the entries that no line has, of the series that the list covers and newer
// ones. Where entries of one series share an ID, the list has as many lines.
func missing(lines []line, entries []entry) []entry {
	have := map[identity]int{}
	oldest := map[string]int{}
	for _, l := range lines {
		inSeries := map[string]bool{}
		for _, v := range l.Versions {
			if s := series(v); !inSeries[s] {
				inSeries[s] = true
				have[identity{l.Engine, s, l.ID}]++
				if n := number(s); oldest[l.Engine] == 0 || n < oldest[l.Engine] {
					oldest[l.Engine] = n
				}
			}
		}
	}
	// The same entry appears in several releases of a series, and in several branches. Other
	// words for it in another release are the same entry, too.
	byRelease := map[identity]map[string][]entry{}
	for _, e := range entries {
		if number(series(e.Version)) < oldest[e.Engine] {
			continue
		}
		id := identity{e.Engine, series(e.Version), e.ID}
		if byRelease[id] == nil {
			byRelease[id] = map[string][]entry{}
		}
		same := func(other entry) bool { return other.Text == e.Text }
		if !slices.ContainsFunc(byRelease[id][e.Version], same) {
			byRelease[id][e.Version] = append(byRelease[id][e.Version], e)
		}
	}
	var lacking []entry
	for id, releases := range byRelease {
		most := slices.MaxFunc(slices.Collect(maps.Values(releases)), func(a, b []entry) int { return cmp.Compare(len(a), len(b)) })
		if len(most) > have[id] {
			lacking = append(lacking, most...)
		}
	}
	slices.SortFunc(lacking, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Engine, b.Engine), cmp.Compare(number(series(b.Version)), number(series(a.Version))),
			cmp.Compare(b.Version, a.Version), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Text, b.Text))
	})
	return lacking
}

// The marks around the table in the page.
const (
	begin = "<!-- table -->\n"
	end   = "<!-- end -->\n"
)

// writeTable writes the table between its marks in the page.
func writeTable(page string, lines []line) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return fmt.Errorf("%s has no table between %q and %q", page, begin, end)
	}
	return os.WriteFile(page, []byte(before+begin+table(lines)+end+after), 0o644)
}

// table counts the lines by series and verdict. A line counts in the newest series that has
// its entry, so that the sums are numbers of entries.
func table(lines []line) string {
	type row struct {
		engine string
		minor  int
	}
	counts := map[row]map[string]int{}
	for _, l := range lines {
		at := row{l.Engine, 0}
		for _, v := range l.Versions {
			at.minor = max(at.minor, number(series(v)))
		}
		if counts[at] == nil {
			counts[at] = map[string]int{}
		}
		counts[at][l.Verdict]++
	}
	var out strings.Builder
	out.WriteString("\n| version | entries |")
	for _, v := range verdicts {
		fmt.Fprintf(&out, " %s |", v.title)
	}
	out.WriteString("\n| --- | ---: |" + strings.Repeat(" ---: |", len(verdicts)) + "\n")
	names := map[string]string{"opentofu": "OpenTofu", "terraform": "Terraform"}
	print := func(title string, of map[string]int) {
		sum := 0
		for _, n := range of {
			sum += n
		}
		fmt.Fprintf(&out, "| %s | %d |", title, sum)
		for _, v := range verdicts {
			fmt.Fprintf(&out, " %d |", of[v.name])
		}
		out.WriteString("\n")
	}
	rows := slices.SortedFunc(maps.Keys(counts), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.engine, b.engine), cmp.Compare(b.minor, a.minor))
	})
	total := map[string]int{}
	for _, r := range rows {
		print(fmt.Sprintf("%s 1.%d", names[r.engine], r.minor), counts[r])
		for verdict, n := range counts[r] {
			total[verdict] += n
		}
	}
	print("all", total)
	out.WriteString("\n")
	return out.String()
}
