// Package pluginlog relays the output of plugins: log records, and their last lines after a
// crash.
//
// It owns how records are read and how they look in a log of ours. It doesn't know processes
// and connections.
package pluginlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Level is how much a record matters.
type Level int

// The levels, from the one with most records.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
)

var names = []string{"trace", "debug", "info", "warn", "error"}

// level reads a level's name, in capitals or not.
func level(name string) (Level, bool) {
	name = strings.ToLower(name)
	if name == "err" {
		return Error, true
	}
	i := slices.Index(names, name)
	return Level(max(i, 0)), i >= 0
}

// stamp is the time of records.
const stamp = "2006-01-02T15:04:05.000Z0700"

// A Relay writes records of a plugin to a log, as lines "TIME [LEVEL] NAME: MESSAGE:
// key=value …" or as objects of JSON with "@level", "@message", "@module" and "@timestamp".
type Relay struct {
	to    io.Writer
	least Level
	json  bool
	now   func() time.Time

	mu sync.Mutex // a record is written whole
}

// NewRelay makes a relay of records from a level on: "TRACE" to "ERROR", or "JSON" for all
// of them as JSON. Other levels are for all.
func NewRelay(to io.Writer, least string) *Relay {
	from, _ := level(least)
	return &Relay{to: to, least: from, json: strings.EqualFold(least, "JSON"), now: time.Now}
}

// A pair is a name and a value of a record.
type pair struct {
	name  string
	value any
}

// Say writes a record with pairs of names and values.
func (r *Relay) Say(l Level, name, message string, about ...string) {
	var pairs []pair
	for p := range slices.Chunk(about, 2) {
		pairs = append(pairs, pair{p[0], p[len(p)-1]})
	}
	r.write(l, name, message, pairs)
}

func (r *Relay) write(l Level, name, message string, pairs []pair) {
	if r == nil || l < r.least {
		return
	}
	var line []byte
	if r.json {
		line = r.object(l, name, message, pairs)
	} else {
		line = r.text(l, name, message, pairs)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.to.Write(line) // there is nobody else to tell
}

func (r *Relay) object(l Level, name, message string, pairs []pair) []byte {
	record := map[string]any{}
	for _, p := range pairs {
		record[p.name] = p.value
	}
	record["@level"], record["@message"], record["@module"] = names[l], message, name
	record["@timestamp"] = r.now().Format("2006-01-02T15:04:05.000000Z07:00")
	line, err := json.Marshal(record)
	if err != nil {
		line = fmt.Appendf(nil, "%q", message) // values of JSON can be written as JSON
	}
	return append(line, '\n')
}

func (r *Relay) text(l Level, name, message string, pairs []pair) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %-7s %s: %s", r.now().Format(stamp), "["+strings.ToUpper(names[l])+"]", name, message)
	if len(pairs) > 0 {
		b.WriteByte(':')
	}
	for _, p := range pairs {
		text := shown(p.value)
		switch {
		case strings.Contains(text, "\n"):
			fmt.Fprintf(&b, "\n  %s=", p.name)
			for line := range strings.Lines(text) {
				fmt.Fprintf(&b, "\n  | %s", strings.TrimRight(line, "\n"))
			}
			b.WriteString("\n ")
		case text == "" || strings.ContainsAny(text, " \t\"="):
			fmt.Fprintf(&b, " %s=%s", p.name, strconv.Quote(text))
		default:
			fmt.Fprintf(&b, " %s=%s", p.name, text)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// shown is a value of JSON as it stands in a line.
func shown(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// Records is for a plugin's standard error: records in JSON, and lines of other kinds,
// which are records of debugging where they don't begin with a level, as "[WARN] …".
func (r *Relay) Records(name string) io.Writer {
	crashing := false
	return &lines{each: func(line string) {
		if l, message, pairs, ok := parse(line); ok {
			r.write(l, name, message, pairs)
			return
		}
		crashing = crashing || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
		l, ok := prefix(line)
		switch {
		case crashing:
			l = Error
		case !ok:
			l = Debug
		}
		r.write(l, name, line, nil)
	}}
}

// Printed is for what a plugin prints beside its log, of which each line is a record.
func (r *Relay) Printed(name string) io.Writer {
	return &lines{each: func(line string) {
		l, ok := prefix(line)
		if !ok {
			l = Info
		} else {
			line = strings.TrimSpace(line[strings.IndexByte(line, ']')+1:])
		}
		r.write(l, name, line, nil)
	}}
}

// prefix is the level that a line begins with, in brackets.
func prefix(line string) (Level, bool) {
	rest, found := strings.CutPrefix(line, "[")
	name, _, ended := strings.Cut(rest, "]")
	if !found || !ended {
		return 0, false
	}
	return level(name)
}

// parse reads a record in JSON. Its time is a pair of the new record, which has a time of
// its own.
func parse(line string) (Level, string, []pair, bool) {
	if !strings.HasPrefix(line, "{") {
		return 0, "", nil, false
	}
	var record map[string]any
	if json.Unmarshal([]byte(line), &record) != nil {
		return 0, "", nil, false
	}
	message, _ := record["@message"].(string)
	name, _ := record["@level"].(string)
	l, ok := level(name)
	if !ok {
		l = Debug
	}
	var pairs []pair
	for key, v := range record {
		switch key {
		case "@message", "@level", "@timestamp":
		default:
			pairs = append(pairs, pair{key, v})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	if at, ok := record["@timestamp"].(string); ok {
		pairs = append(pairs, pair{"timestamp", at})
	}
	return l, message, pairs, true
}

// maxLine is how much of a line is kept until its end comes; the rest is a line of its own.
const maxLine = 64 << 10

// lines is a writer that cuts what it gets into lines.
type lines struct {
	part []byte
	each func(string)
}

func (w *lines) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		if room := maxLine - len(w.part); !ended && len(line) > room {
			line, after = rest[:room], rest[room:]
			ended = true
		}
		rest = after
		w.part = append(w.part, line...)
		if !ended {
			continue
		}
		if text := strings.TrimRight(string(w.part), "\r"); text != "" {
			w.each(strings.ToValidUTF8(text, "\uFFFD"))
		}
		w.part = w.part[:0]
	}
	return len(b), nil
}
