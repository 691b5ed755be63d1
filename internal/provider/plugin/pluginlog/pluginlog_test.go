package pluginlog

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func relay(least string) (*Relay, *bytes.Buffer) {
	var b bytes.Buffer
	r := NewRelay(&b, least)
	r.now = func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 678e6, time.UTC) }
	return r, &b
}

// TestRecords: what a plugin writes is in the log with its level and its pairs, or isn't
// there because its level is too low.
func TestRecords(t *testing.T) {
	const written = `{"@level":"warn","@message":"slow","@module":"sdk","@timestamp":"2029-01-01T00:00:00.000000Z","n":1,"why":"no cheese","body":"a\nb"}
{"@level":"trace","@message":"quiet"}
[ERROR] no more
[odd] x
{"broken
nothing
panic: out of cheese

goroutine 1
`
	const want = `2030-01-02T03:04:05.678Z [WARN]  provider.x: slow: @module=sdk
  body=
  | a
  | b
  n=1 why="no cheese" timestamp=2029-01-01T00:00:00.000000Z
2030-01-02T03:04:05.678Z [ERROR] provider.x: [ERROR] no more
2030-01-02T03:04:05.678Z [DEBUG] provider.x: [odd] x
2030-01-02T03:04:05.678Z [DEBUG] provider.x: {"broken
2030-01-02T03:04:05.678Z [DEBUG] provider.x: nothing
2030-01-02T03:04:05.678Z [ERROR] provider.x: panic: out of cheese
2030-01-02T03:04:05.678Z [ERROR] provider.x: goroutine 1
`
	for size := 1; size < 80; size += 13 { // pieces may end anywhere
		r, b := relay("debug")
		w := r.Records("provider.x")
		for rest := written; rest != ""; {
			n := min(size, len(rest))
			w.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if b.String() != want {
			t.Errorf("in pieces of %d:\n%s", size, b.String())
		}
	}
	r, b := relay("ERROR")
	r.Records("x").Write([]byte(written))
	if n := strings.Count(b.String(), "\n"); n != 3 {
		t.Errorf("%d lines of errors:\n%s", n, b.String())
	}
	var none *Relay
	none.Say(Error, "x", "nobody listens")
}

// TestJSON: records are objects, whatever their pairs are called.
func TestJSON(t *testing.T) {
	r, b := relay("JSON")
	r.Records("x").Write([]byte(`{"@level":"trace","@message":"a","@module":"sdk","k":[1]}` + "\n"))
	r.Say(Info, "x", "started", "pid", "7")
	r.Printed("x").Write([]byte("[DEBUG] low\nplain\n"))
	const want = `{"@level":"trace","@message":"a","@module":"x","@timestamp":"2030-01-02T03:04:05.678000Z","k":[1]}
{"@level":"info","@message":"started","@module":"x","@timestamp":"2030-01-02T03:04:05.678000Z","pid":"7"}
{"@level":"debug","@message":"low","@module":"x","@timestamp":"2030-01-02T03:04:05.678000Z"}
{"@level":"info","@message":"plain","@module":"x","@timestamp":"2030-01-02T03:04:05.678000Z"}
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}

// TestLongLines: a line without an end isn't kept.
func TestLongLines(t *testing.T) {
	r, b := relay("TRACE")
	w := r.Records("x")
	for range 100 {
		w.Write(bytes.Repeat([]byte{'y'}, 10_000))
	}
	w.Write([]byte("\nz\n"))
	if kept := strings.Count(b.String(), "y"); kept != 1_000_000 || strings.Count(b.String(), "\n") != 1_000_000/maxLine+2 {
		t.Errorf("%d bytes in %d lines", kept, strings.Count(b.String(), "\n"))
	}
}
