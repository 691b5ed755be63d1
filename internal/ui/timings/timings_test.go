package timings

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/ui/view/ansi"
)

var update = flag.Bool("update", false, "write the golden files")

// A clock continues on request.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) on(ms int)               { c.now = c.now.Add(time.Duration(ms) * time.Millisecond) }
func newClock() *clock                   { return &clock{time.Unix(1e9, 0)} }
func set(s *trace.Span, facts ...string) { pairs(facts, func(k, v string) { s.Set(k, v) }) }
func about(address, typ, method string) []string {
	return []string{trace.Address, address, trace.Type, typ, trace.Method, method}
}

func pairs(list []string, do func(k, v string)) {
	for i := 0; i+1 < len(list); i += 2 {
		do(list[i], list[i+1])
	}
}

// golden compares with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is\n%s\nand not\n%s", name, got, want)
	}
}

func check(t *testing.T, name string, r Report) {
	t.Helper()
	golden(t, name+".txt", r.Text(ansi.Pen{}))
	data, err := json.MarshalIndent(r.JSON(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, name+".json", string(data)+"\n")
}

const net = "terraform-provider-net_v1.2.3_x5"

// TestPlan: a provider starts while the configuration is loaded; two objects are read at
// the same time, and a third has to wait for its turn.
func TestPlan(t *testing.T) {
	c := newClock()
	ctx, w := Begin(context.Background(), c.Now)
	loading, load := trace.Begin(ctx, trace.Stage, "load")
	inStart, start := trace.Begin(loading, trace.Start, "start provider")
	start.Set(trace.Provider, net)
	c.on(30)
	load.End(false)
	_, state := trace.Begin(ctx, trace.State, "read state")
	c.on(20)
	state.End(false)
	_, declared := trace.Begin(inStart, trace.Call, "GetProviderSchema")
	c.on(50)
	declared.End(false)
	start.End(false)
	planning, plan := trace.Begin(ctx, trace.Stage, "plan")
	c.on(5)
	read := func(address, typ string) *trace.Span {
		_, s := trace.Begin(planning, trace.Call, "ReadResource")
		set(s, append(about(address, typ, "/x/ReadResource"), trace.Provider, net)...)
		return s
	}
	a, b := read("net_vpc.a", "net_vpc"), read("net_port.b[0]", "net_port")
	_, wait := trace.Begin(planning, trace.Wait, "wait for a turn")
	set(wait, trace.Address, "net_port.b[1]", trace.Type, "net_port", trace.Provider, "net")
	c.on(100)
	a.End(false)
	wait.End(false)
	last := read("net_port.b[1]", "net_port")
	c.on(200)
	b.End(false)
	c.on(700)
	last.End(true)
	c.on(10)
	plan.End(false)
	c.on(2)
	r := w.End()
	late := read("net_vpc.late", "net_vpc") // as the ends of processes are
	late.End(false)
	check(t, "plan", r)
}

// TestNothing: a command that ended at once.
func TestNothing(t *testing.T) {
	_, w := Begin(context.Background(), newClock().Now)
	check(t, "nothing", w.End())
}

// TestMany: of many types and long chains most is summed up, and foreign text doesn't
// steer a terminal.
func TestMany(t *testing.T) {
	c := newClock()
	ctx, w := Begin(context.Background(), c.Now)
	applying, apply := trace.Begin(ctx, trace.Stage, "apply")
	for i := range 40 {
		_, s := trace.Begin(applying, trace.Call, "ApplyResourceChange")
		typ := "net_" + string(rune('a'+i%20))
		set(s, append(about(typ+".x[\"\x1b[31m"+strings.Repeat("y", i)+"\"]", typ, ""), trace.Provider, "net")...)
		c.on(10 + i)
		s.End(i == 7)
		c.on(1)
	}
	_, program := trace.Begin(applying, trace.Program, "provisioner local-exec")
	program.Set(trace.Address, "net_a.x[0]")
	c.on(120_000)
	program.End(false)
	apply.End(false)
	check(t, "many", w.End())
}

// TestBeside: the caller that looks already still sees everything, and the spans are the same.
func TestBeside(t *testing.T) {
	c := newClock()
	var seen []string
	ids := byte(0)
	first := &trace.Run{Now: c.Now, NewID: func() trace.SpanID { ids++; return trace.SpanID{ids} }, Ended: func(s *trace.Span) { seen = append(seen, s.Name) }}
	ctx, root := first.Begin(context.Background(), trace.SpanID{}, "weir")
	ctx, w := Begin(ctx, c.Now)
	_, stage := trace.Begin(ctx, trace.Stage, "plan")
	c.on(7)
	stage.End(false)
	if stage.Parent != root.ID {
		t.Errorf("below %v", stage.Parent)
	}
	root.End(false)
	if got := strings.Join(seen, " "); got != "plan weir" {
		t.Errorf("others saw %s", got)
	}
	if r := w.End(); len(r.Stages) != 2 || r.Stages[0].Engine != 7*time.Millisecond {
		t.Errorf("%+v", r)
	}
}

// TestSums: the columns of stages add up, and the pieces of the path, however spans lie.
func TestSums(t *testing.T) {
	ms := func(from, to int) (time.Duration, time.Duration) {
		return time.Duration(from) * time.Millisecond, time.Duration(to) * time.Millisecond
	}
	seed := uint32(1)
	random := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	kinds := []trace.Kind{trace.Call, trace.Start, trace.State, trace.Wait, trace.Program, trace.Stage}
	for range 500 {
		var marks []mark
		for range random(30) {
			m := mark{kind: kinds[random(len(kinds))], name: "x", id: trace.SpanID{byte(random(9))}}
			at := random(100)
			m.from, m.to = ms(at, at+random(30))
			marks = append(marks, m)
		}
		whole := 110 * time.Millisecond
		r := report(marks, whole, nil)
		var sum time.Duration
		for _, s := range r.Stages {
			if s.Took != s.Providers+s.States+s.Waits+s.Engine {
				t.Fatalf("%+v", s)
			}
			sum += s.Took
		}
		var along time.Duration
		for _, p := range r.Path {
			if p.From != along {
				t.Fatalf("a piece at %s and not %s", p.From, along)
			}
			along += p.Took
		}
		if along != whole {
			t.Fatalf("the path takes %s of %s", along, whole)
		}
	}
}
