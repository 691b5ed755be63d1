package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A script is a history before it is played: a line for each thing that somebody does.
//
//	store gcs
//	config a b:a c!#2=3:a,b     b refers to a; c is made before it is destroyed, in its
//	                            second generation, with the value 3
//	m1 apply ~17                a command on the first machine; ~17 says how things mix
//	m1 apply ~3; lost at 5; process ends at 9
//	m2 apply ~4 beside 12       started when the one before it has done 12 things
//	peer make p                 another program, which has the lock for that long
//	m1 loses its data
//	m3 push ~5                  in a second folder on the first machine: the state that a
//	                            run there couldn't save, if there is one
//	m2 sets its clock back      by hours
//	m1 apply ~8; machine sleeps at 20; lost at 31
//	secrets rotate              other credentials open the store from now on
//
// Things that are done have numbers of their own in each command.
type script struct {
	store string
	lines []line
}

type line struct {
	machine int      // from 1, 0 for nobody
	do      string   // apply, destroy, refresh, plan, recover, push; config, make, drop, data, restart, clock, rotate
	about   string   // the object that a peer makes or drops, or that is imported
	id      string   // of import and force-unlock
	forget  []string // of recover
	imports []found  // of recover, which imports first
	config  []wanted
	mix     uint64
	beside  int // 0: after the one before
	faults  map[int]moment
}

// found is an object that exists, and is of no state.
type found struct{ name, id string }

// Faults of processes and machines.
const (
	ends   moment = "process ends"
	fails  moment = "machine fails"
	sleeps moment = "machine sleeps" // for minutes to a day
)

// A wanted object.
type wanted struct {
	name              string
	first             bool // create_before_destroy
	noted             bool // the state has a note of it, by which others refer to it
	generation, value int
	refs              []string
}

func (w wanted) String() string {
	text := w.name
	if w.first {
		text += "!"
	}
	if w.noted {
		text += "+"
	}
	if w.generation > 0 {
		text += "#" + strconv.Itoa(w.generation)
	}
	if w.value > 0 {
		text += "=" + strconv.Itoa(w.value)
	}
	if len(w.refs) > 0 {
		text += ":" + strings.Join(w.refs, ",")
	}
	return text
}

func (s *script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "store %s\n", s.store)
	for _, l := range s.lines {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

func (l line) String() string {
	switch l.do {
	case "config":
		text := "config"
		for _, w := range l.config {
			text += " " + w.String()
		}
		return text
	case "make", "drop":
		return "peer " + l.do + " " + l.about
	case "data":
		return fmt.Sprintf("m%d loses its data", l.machine)
	case "restart":
		return fmt.Sprintf("m%d restarts", l.machine)
	case "clock":
		return fmt.Sprintf("m%d sets its clock back", l.machine)
	case "rotate":
		return "secrets rotate"
	}
	text := fmt.Sprintf("m%d %s ~%d", l.machine, l.do, l.mix)
	if l.beside > 0 {
		text += fmt.Sprintf(" beside %d", l.beside)
	}
	for _, at := range slices.Sorted(maps.Keys(l.faults)) {
		text += fmt.Sprintf("; %s at %d", l.faults[at], at)
	}
	return text
}

// parse reads a script.
func parse(text string) (*script, error) {
	s := &script{}
	for n, row := range strings.Split(text, "\n") {
		row = strings.TrimSpace(row)
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(row, "store "); ok {
			s.store = name
			continue
		}
		l, err := parseLine(row)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		s.lines = append(s.lines, l)
	}
	return s, nil
}

func parseLine(row string) (l line, err error) {
	parts := strings.Split(row, ";")
	words := strings.Fields(parts[0])
	switch {
	case words[0] == "config":
		l.do = "config"
		for _, w := range words[1:] {
			one, err := parseWanted(w)
			if err != nil {
				return l, err
			}
			l.config = append(l.config, one)
		}
		return l, nil
	case words[0] == "peer" && len(words) == 3:
		l.do, l.about = words[1], words[2]
		return l, nil
	case row == "secrets rotate":
		l.do = "rotate"
		return l, nil
	}
	if _, err := fmt.Sscanf(words[0], "m%d", &l.machine); err != nil || len(words) < 2 {
		return l, fmt.Errorf("%q: who does what?", row)
	}
	switch words[1] {
	case "loses":
		l.do = "data"
		return l, nil
	case "restarts":
		l.do = "restart"
		return l, nil
	case "sets":
		l.do = "clock"
		return l, nil
	}
	l.do = words[1]
	for i := 2; i < len(words); i++ {
		switch {
		case strings.HasPrefix(words[i], "~"):
			l.mix, err = strconv.ParseUint(words[i][1:], 10, 64)
		case words[i] == "beside" && i+1 < len(words):
			i++
			l.beside, err = strconv.Atoi(words[i])
		default:
			err = fmt.Errorf("%q: what is %q?", row, words[i])
		}
		if err != nil {
			return l, err
		}
	}
	l.faults = map[int]moment{}
	for _, p := range parts[1:] {
		what, at, ok := strings.Cut(strings.TrimSpace(p), " at ")
		n, err := strconv.Atoi(at)
		if !ok || err != nil {
			return l, fmt.Errorf("%q: when?", p)
		}
		l.faults[n] = moment(what)
	}
	return l, nil
}

func parseWanted(text string) (w wanted, err error) {
	head, refs, ok := strings.Cut(text, ":")
	if ok {
		w.refs = strings.Split(refs, ",")
	}
	head, value, ok := strings.Cut(head, "=")
	if ok {
		if w.value, err = strconv.Atoi(value); err != nil {
			return w, err
		}
	}
	head, generation, ok := strings.Cut(head, "#")
	if ok {
		if w.generation, err = strconv.Atoi(generation); err != nil {
			return w, err
		}
	}
	head, w.noted = strings.CutSuffix(head, "+")
	w.name, w.first = strings.CutSuffix(head, "!")
	return w, nil
}

// random is the script of a seed.
func random(seed uint64) *script {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	s := &script{store: placeNames[r.IntN(len(placeNames))]}
	var config []wanted
	for range 1 + r.IntN(4) {
		config = grown(r, config)
	}
	s.lines = append(s.lines, line{do: "config", config: config})
	for range 2 + r.IntN(6) {
		switch n := r.IntN(20); {
		case n < 3:
			config = changed(r, config)
			s.lines = append(s.lines, line{do: "config", config: config})
		case n == 3:
			s.lines = append(s.lines, line{do: "make", about: fmt.Sprintf("p%d", r.IntN(3))})
		case n == 4 && len(config) > 0:
			s.lines = append(s.lines, line{do: []string{"make", "drop"}[r.IntN(2)], about: config[r.IntN(len(config))].name})
		case n == 5:
			s.lines = append(s.lines, line{do: []string{"data", "restart", "rotate", "clock"}[r.IntN(4)], machine: randomMachine(r)})
		default:
			s.lines = append(s.lines, randomCommand(r, s))
		}
	}
	return s
}

func randomMachine(r *rand.Rand) int { return []int{1, 1, 2, 2, 3}[r.IntN(5)] }

func randomCommand(r *rand.Rand, s *script) line {
	l := line{machine: randomMachine(r), mix: r.Uint64N(1000), faults: map[int]moment{}}
	l.do = []string{"apply", "apply", "apply", "apply", "apply", "apply", "destroy", "refresh", "plan", "recover", "push"}[r.IntN(11)]
	if last := s.lines[len(s.lines)-1]; last.command() && last.beside == 0 && r.IntN(4) == 0 {
		l.beside = 1 + r.IntN(60)
	}
	if l.do == "recover" {
		return l
	}
	at := func() int { return 1 + r.IntN(1+r.IntN(90)) }
	for range r.IntN(3) {
		l.faults[at()] = []moment{refused, silent, partly, doubled, later, hanging}[r.IntN(6)]
	}
	if r.IntN(5) < 3 {
		l.faults[at()] = []moment{ends, fails}[r.IntN(2)]
	}
	if r.IntN(8) == 0 {
		l.faults[at()] = sleeps
	}
	return l
}

func (l line) command() bool { return l.mix > 0 || l.faults != nil }

// grown adds an object to a configuration.
func grown(r *rand.Rand, config []wanted) []wanted {
	w := wanted{first: r.IntN(4) == 0, noted: r.IntN(3) == 0}
	for i := range 26 {
		w.name = string(rune('a' + i))
		if !slices.ContainsFunc(config, func(o wanted) bool { return o.name == w.name }) {
			break
		}
	}
	for _, o := range config {
		if r.IntN(3) == 0 {
			w.refs = append(w.refs, o.name)
		}
	}
	return append(slices.Clone(config), w)
}

// changed is another configuration.
func changed(r *rand.Rand, config []wanted) []wanted {
	next := slices.Clone(config)
	if len(next) == 0 || r.IntN(3) == 0 {
		return grown(r, next)
	}
	i := r.IntN(len(next))
	switch r.IntN(4) {
	case 0:
		return without(next, next[i].name)
	case 1:
		next[i].value++
	default:
		next[i].generation++
	}
	return next
}

// without removes an object, and what refers to it doesn't any more.
func without(config []wanted, name string) (next []wanted) {
	for _, w := range config {
		if w.name == name {
			continue
		}
		w.refs = slices.DeleteFunc(slices.Clone(w.refs), func(ref string) bool { return ref == name })
		next = append(next, w)
	}
	return next
}

// source is a configuration as text.
func source(config []wanted) string {
	var b strings.Builder
	noted := map[string]bool{}
	if slices.ContainsFunc(config, func(w wanted) bool { return w.noted }) {
		b.WriteString("terraform {\n  required_providers {\n    note = {\n      source = \"terraform.io/builtin/note\"\n    }\n  }\n}\n")
	}
	for _, w := range config {
		noted[w.name] = w.noted
		fmt.Fprintf(&b, "resource \"sim_object\" %q {\n  name = %q\n  generation = \"%d\"\n  value = \"%d\"\n  refs = [", w.name, w.name, w.generation, w.value)
		for i, ref := range w.refs {
			if i > 0 {
				b.WriteString(", ")
			}
			if noted[ref] {
				b.WriteString("note_text." + ref + "_note.of")
			} else {
				b.WriteString("sim_object." + ref + ".id")
			}
		}
		b.WriteString("]\n")
		if w.first {
			b.WriteString("  lifecycle {\n    create_before_destroy = true\n  }\n")
		}
		b.WriteString("}\n")
		if w.noted {
			fmt.Fprintf(&b, "resource \"note_text\" \"%[1]s_note\" {\n  of = sim_object.%[1]s.id\n  value = \"%[2]d\"\n}\n", w.name, w.value)
		}
	}
	return b.String()
}
