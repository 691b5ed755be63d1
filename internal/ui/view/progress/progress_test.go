package progress

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/stream"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A screen is a terminal: it knows the control sequences that an area writes.
type screen struct {
	t             *testing.T
	width, height int
	rows          [][]rune
	row, col      int
	writes        int
}

func newScreen(t *testing.T, width, height int) *screen {
	return &screen{t: t, width: width, height: height, rows: [][]rune{nil}}
}

func (s *screen) Write(text []byte) (int, error) {
	s.writes++
	rest := string(text)
	for rest != "" {
		if sequence, ok := strings.CutPrefix(rest, csi); ok {
			end := strings.IndexAny(sequence, "ABCDHJKm")
			arg, what := sequence[:end], sequence[end]
			rest = sequence[end+1:]
			switch what {
			case 'A':
				n := 0
				fmt.Sscan(arg, &n)
				if s.row -= n; s.row < 0 || len(s.rows)-s.row > s.height {
					s.t.Errorf("up by %d leaves the screen", n)
					s.row = max(s.row, 0)
				}
			case 'K':
				s.rows[s.row] = s.rows[s.row][:min(s.col, len(s.rows[s.row]))]
			case 'J':
				s.rows[s.row] = s.rows[s.row][:min(s.col, len(s.rows[s.row]))]
				s.rows = s.rows[:s.row+1]
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		switch r {
		case '\r':
			s.col = 0
		case '\n':
			s.down()
			s.col = 0 // as the terminal's driver has it
		default:
			if s.col+ansi.Width(string(r)) > s.width {
				s.down()
				s.col = 0
			}
			line := s.rows[s.row]
			for len(line) <= s.col {
				line = append(line, ' ')
			}
			line[s.col] = r
			s.rows[s.row] = line
			s.col += ansi.Width(string(r))
		}
	}
	return len(text), nil
}

func (s *screen) down() {
	if s.row++; s.row == len(s.rows) {
		s.rows = append(s.rows, nil)
	}
}

// all is everything that was on the screen, what has left it on top as well.
func (s *screen) all() string {
	var b strings.Builder
	for _, r := range s.rows {
		b.WriteString(strings.TrimRight(string(r), " ") + "\n")
	}
	return b.String()
}

// shown is what is on it.
func (s *screen) shown() string {
	lines := strings.Split(strings.TrimRight(s.all(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-s.height):], "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", name, got)
	}
}

// creations is a plan of so many objects that are made; those of the second block wait
// for the first object of the first one.
func creations(t *testing.T, first, second int) *plan.Plan {
	return made(t, block{"sim_first.x", first}, block{"sim_second.x", second})
}

// A block makes so many objects.
type block struct {
	name string
	n    int
}

// made is a plan that makes the objects of blocks; those of the last one wait for the first
// object of the first one.
func made(t *testing.T, blocks ...block) *plan.Plan {
	p := &plan.Plan{Graph: &execgraph.Graph{}}
	for i, b := range blocks {
		var after []execgraph.ID
		if i == len(blocks)-1 {
			after = []execgraph.ID{0}
		}
		for i := range b.n {
			at, err := addr.ParseInstance(fmt.Sprintf("module.net[\"b\"].%s[%d]", b.name, i))
			if err != nil {
				t.Fatal(err)
			}
			o := addr.Object{Instance: at}
			p.Changes = append(p.Changes, &plan.Change{Addr: o, Action: plan.Create})
			p.Graph.Steps = append(p.Graph.Steps, execgraph.Step{Kind: execgraph.Apply, Object: &o, Change: len(p.Changes), After: after})
		}
	}
	return p
}

// perform does the steps of a plan, so many at once, each for as long as is said, and
// calls at each end.
func perform(d stream.Progress, p *plan.Plan, atOnce int, takes func(execgraph.ID) time.Duration, each func(ended int)) {
	type running struct {
		id  execgraph.ID
		end time.Time
	}
	tell := func(kind event.Kind, id execgraph.ID) {
		c := p.Changes[id]
		d.Event(event.Event{Kind: kind, Step: id, Addr: c.Addr, Action: c.Action})
	}
	d.Event(event.Event{Kind: event.ApplyBegin, Plan: p, Count: atOnce})
	ended := map[execgraph.ID]bool{}
	begun := map[execgraph.ID]bool{}
	var now []running
	for len(ended) < len(p.Changes) {
		for id := range p.Graph.Steps {
			id := execgraph.ID(id)
			free := true
			for _, a := range p.Graph.Steps[id].After {
				free = free && ended[a]
			}
			if len(now) < atOnce && free && !begun[id] {
				begun[id] = true
				tell(event.ApplyStart, id)
				now = append(now, running{id, time.Now().Add(takes(id))})
			}
		}
		next := 0
		for i := range now {
			if now[i].end.Before(now[next].end) {
				next = i
			}
		}
		r := now[next]
		time.Sleep(time.Until(r.end))
		synctest.Wait()
		now = append(now[:next], now[next+1:]...)
		ended[r.id] = true
		tell(event.ApplyComplete, r.id)
		d.Event(event.Event{Kind: event.StepEnd, Step: r.id})
		each(len(ended))
	}
	d.Event(event.Event{Kind: event.ApplyEnd})
}

// TestScreens looks at terminals of several widths in the middle of an apply, with one
// object that takes long and that others wait for.
func TestScreens(t *testing.T) {
	for _, width := range []int{40, 80, 200} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScreen(t, width, 24)
				area := NewArea(s, func() (int, int) { return width, 24 })
				d := New(area, area.Over(s), Options{
					Size:   func() (int, int) { return width, 24 },
					Before: Durations{"sim_first create": {45, 3}},
				})
				p := creations(t, 30, 12)
				var seen strings.Builder
				perform(d, p, 4, func(id execgraph.ID) time.Duration {
					if id == 0 {
						return 42 * time.Second
					}
					return time.Duration(2+id%3) * time.Second
				}, func(ended int) {
					if ended != 16 {
						return
					}
					time.Sleep(600 * time.Millisecond)
					synctest.Wait()
					seen.WriteString(s.shown())
					d.Event(event.Event{Kind: event.Stopping})
					time.Sleep(time.Second)
					synctest.Wait()
					seen.WriteString(strings.Repeat("=", width) + "\n" + s.shown())
				})
				d.Close()
				golden(t, fmt.Sprintf("apply-%d.txt", width), seen.String())
				if left := s.all(); strings.Contains(left, "running") || strings.Count(strings.Join(strings.Fields(left), " "), "Creation complete") != 42 {
					t.Errorf("at the end there is:\n%s", left)
				}
			})
		})
	}
}

// TestLeft: after a tenth of an apply of 300 objects what is said of the time that is
// left is right within a quarter, whether or not anything is known from before.
func TestLeft(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		plan  *plan.Plan
		takes func(execgraph.ID) time.Duration
	}{
		"alike":  {creations(t, 200, 100), func(execgraph.ID) time.Duration { return 4 * time.Second }},
		"varied": {creations(t, 200, 100), func(execgraph.ID) time.Duration { return time.Duration(1000+random.IntN(9000)) * time.Millisecond }},
		"one takes long": {creations(t, 200, 100), func(id execgraph.ID) time.Duration {
			if id == 0 {
				return 45 * time.Second
			}
			return 5 * time.Second
		}},
		// Six begin first and take long; of those that wait for one of them none has started.
		"what waits is quick": {made(t, block{"sim_object.db", 6}, block{"sim_object.web", 200}, block{"sim_object.app", 94}), func(id execgraph.ID) time.Duration {
			switch {
			case id < 6:
				return 30 * time.Second
			case id >= 206:
				return 1800 * time.Millisecond
			}
			return time.Duration(800+id*7919%17*200) * time.Millisecond
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScreen(t, 80, 24)
				area := NewArea(s, func() (int, int) { return 80, 24 })
				d := New(area, area.Over(s), Options{Size: func() (int, int) { return 80, 24 }})
				var said time.Duration
				var at time.Time
				perform(d, c.plan, 10, c.takes, func(ended int) {
					if ended != 30 {
						return
					}
					time.Sleep(time.Second)
					synctest.Wait()
					for _, line := range strings.Split(s.shown(), "\n") {
						if _, after, ok := strings.Cut(line, "about "); ok {
							text, _, _ := strings.Cut(after, " left")
							said, _ = time.ParseDuration(text)
							at = time.Now()
						}
					}
				})
				d.Close()
				if left := time.Since(at); said == 0 || said < left*3/4 || said > left*5/4 {
					t.Errorf("%s were left, it said %s", left, said)
				}
			})
		})
	}
}

// TestFrames records a terminal of 80×24 during an apply of 300 objects: the counts are
// right, nothing flickers, and at the end every object has its line.
func TestFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(t, 80, 24)
		size := func() (int, int) { return 80, 24 }
		area := NewArea(s, size)
		d := New(area, area.Over(s), Options{Size: size, Before: Durations{"sim_first create": {5, 3}, "sim_second create": {9, 3}}})
		p := creations(t, 200, 100)
		random := rand.New(rand.NewPCG(3, 4))
		var frames strings.Builder
		var said time.Duration
		var at time.Time
		perform(d, p, 10, func(id execgraph.ID) time.Duration {
			if id >= 200 {
				return time.Duration(7000+random.IntN(4000)) * time.Millisecond
			}
			return time.Duration(3000+random.IntN(4000)) * time.Millisecond
		}, func(ended int) {
			if ended == 1 || ended == 30 || ended == 150 || ended == 299 {
				time.Sleep(300 * time.Millisecond)
				synctest.Wait()
				fmt.Fprintf(&frames, "%s\n%s", strings.Repeat("=", 80), s.shown())
				head := s.head()
				if !strings.Contains(head, fmt.Sprintf("  %d/300 ", ended)) {
					t.Errorf("when %d have ended, the screen says %q", ended, head)
				}
				if _, after, ok := strings.Cut(head, "about "); ok && ended == 30 {
					text, _, _ := strings.Cut(after, " left")
					said, _ = time.ParseDuration(text)
					at = time.Now()
				}
			}
		})
		if left := time.Since(at); said < left*3/4 || said > left*5/4 {
			t.Errorf("%s were left, it said %s", left, said)
		}
		d.Close()
		fmt.Fprintf(&frames, "%s\n%s", strings.Repeat("=", 80), s.shown())
		golden(t, "frames-80.txt", frames.String())
		if n := strings.Count(s.all(), "Creation complete"); n != 300 || strings.Contains(s.all(), "Applying") {
			t.Errorf("%d lines at the end:\n%s", n, s.all())
		}
		// It draws four times a second at most, and once for each line above it.
		if most := 4*int(time.Since(d.begun)/time.Second) + 2*300; s.writes > 2*most {
			t.Errorf("it was written to %d times", s.writes)
		}
	})
}

// head is the line that says how far an apply is, empty without one.
func (s *screen) head() string {
	for line := range strings.Lines(s.shown()) {
		if strings.HasPrefix(line, "Applying  ") {
			return line
		}
	}
	return ""
}

// TestPiped: where the output isn't a terminal, no line of 300 objects is lost, and the
// counts between them are those of the lines before.
func TestPiped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		h := stream.Human(&out, stream.Options{})
		perform(h, creations(t, 200, 100), 10, func(id execgraph.ID) time.Duration { return time.Duration(3+id%9) * time.Second }, func(int) {})
		h.Close()
		complete, counts := map[string]bool{}, 0
		for line := range strings.Lines(out.String()) {
			if at, _, ok := strings.Cut(line, ": Creation complete"); ok {
				complete[at] = true
			}
			if before, _, ok := strings.Cut(line, " of 300 done"); ok {
				counts++
				if n := strings.TrimSpace(before); n != fmt.Sprint(len(complete)) {
					t.Errorf("after %d lines: %s", len(complete), line)
				}
			}
		}
		if len(complete) != 300 || counts == 0 {
			t.Errorf("%d lines, %d counts:\n%s", len(complete), counts, out.String())
		}
	})
}

// TestHalf: lines above the area replace it in one go, so that a terminal which shows half
// of a writing, as fast ones do, is never empty for a moment.
func TestHalf(t *testing.T) {
	var out strings.Builder
	a := NewArea(&out, func() (int, int) { return 40, 10 })
	over := a.Over(&out)
	var head, row Line
	head.add(39, ansi.Pen{}, "Applying  1/9")
	row.add(39, ansi.Pen{}, "  a  creating")
	a.Draw([]Line{head, row})
	before := out.String()
	fmt.Fprint(over, "b: Creation complete\n")
	last := strings.TrimPrefix(out.String(), before)
	for n := range last {
		s := newScreen(t, 40, 10)
		fmt.Fprint(s, before)
		if i := strings.LastIndexByte(last[:n], '\x1b'); i >= 0 && !strings.ContainsAny(last[i:n], "ABCDHJKm") {
			continue // within a sequence
		}
		fmt.Fprint(s, last[:n])
		if rows := strings.Split(strings.TrimSpace(s.shown()), "\n"); len(rows) < 2 {
			t.Errorf("after %d bytes of %q the screen shows:\n%s", n, last, s.shown())
		}
	}
}

// TestOver: whatever is written while there are lines at the bottom stays above them, as
// it was written, and the lines don't get in its way.
func TestOver(t *testing.T) {
	s := newScreen(t, 20, 10)
	a := NewArea(s, func() (int, int) { return 20, 10 })
	out := a.Over(s)
	line := func(text string) (l Line) {
		l.add(19, ansi.Pen{}, text)
		return l
	}
	fmt.Fprint(out, "one\n")
	a.Draw([]Line{line("1/3"), line("a row that is too long for it")})
	fmt.Fprint(out, "two\nEnter a value: ")
	a.Draw([]Line{line("2/3")}) // not while a line is open
	if got, want := s.all(), "one\ntwo\nEnter a value:\n"; got != want {
		t.Errorf("beside a question:\n%s", got)
	}
	fmt.Fprint(out, "\n")
	a.Draw([]Line{line("2/3"), line("row")})
	before := s.writes
	a.Draw([]Line{line("2/3"), line("row")})
	if s.writes != before {
		t.Error("the same is drawn again")
	}
	fmt.Fprint(out, "three\n")
	if got, want := s.all(), "one\ntwo\nEnter a value:\nthree\n2/3\nrow\n"; got != want {
		t.Errorf("got:\n%s", got)
	}
	a.Draw(nil)
	if got, want := s.all(), "one\ntwo\nEnter a value:\nthree\n\n"; got != want {
		t.Errorf("at the end:\n%s", got)
	}
}

// TestDurations: what was learned is read again; a damaged file is nothing.
func TestDurations(t *testing.T) {
	d := Durations{}
	for range 50 {
		d.add("a create", 10*time.Second, remembered)
	}
	d.add("a create", 31*time.Second, remembered)
	if got := d["a create"]; got.Runs != remembered || got.Seconds < 11 || got.Seconds > 11.1 {
		t.Errorf("%+v", got)
	}
	text := d.Text()
	if again := ReadDurations(text); fmt.Sprint(again) != fmt.Sprint(d) {
		t.Errorf("%v", again)
	}
	for n := range text {
		ReadDurations(text[:n])
	}
	if got := ReadDurations([]byte(`{"version":1,"durations":{"x":{"seconds":-1,"runs":2}}}`)); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
