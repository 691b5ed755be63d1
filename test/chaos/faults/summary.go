//go:build linux

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

// A cell counts trials.
type cell struct {
	injected int
	wrong    map[string]int
}

func (c *cell) add(v *verdict) {
	c.injected++
	for rule := range v.wrong {
		if c.wrong == nil {
			c.wrong = map[string]int{}
		}
		c.wrong[rule]++
	}
}

// rules are the columns of the table.
var rules = []string{"lost", "in clear", "hung", "stuck", "left", "exit code", "panic"}

// A summary counts by command and kind of operation, and by command and error.
type summary struct {
	mu            sync.Mutex
	cells         map[[2]string]*cell
	errors        map[string]*cell
	faults, kills int
	bad           int
}

func (s *summary) add(v *verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !v.fired && len(v.wrong) == 0 {
		return // the command took another way, and didn't come there
	}
	if v.fault.Errno == 0 {
		s.kills++
	} else {
		s.faults++
	}
	op, _, _ := strings.Cut(v.where, " ")
	for _, key := range [][2]string{{v.command.name, op}} {
		if s.cells[key] == nil {
			s.cells[key] = &cell{}
		}
		s.cells[key].add(v)
	}
	key := v.command.name + "\x00" + v.label
	if s.errors[key] == nil {
		s.errors[key] = &cell{}
	}
	s.errors[key].add(v)
	if len(v.wrong) > 0 {
		s.bad++
		kind := v.label
		if v.fault.Lasting {
			kind += ", lasting"
		}
		fmt.Printf("WRONG %s: %s at %s (%s number %d)\n", v.command.name, kind, v.where, v.fault.Op, v.fault.Nth)
		for _, rule := range slices.Sorted(maps.Keys(v.wrong)) {
			fmt.Printf("  %s: %.300s\n", rule, v.wrong[rule])
		}
		fmt.Printf("  %.1200s\n", strings.ReplaceAll(strings.TrimSpace(v.out), "\n", "\n  "))
	}
}

// end prints the sums and writes the table.
func (s *summary) end() error {
	fmt.Printf("%d faults and %d kills, %d of them wrong\n", s.faults, s.kills, s.bad)
	if *table != "" {
		if err := s.write(*table); err != nil {
			return err
		}
	}
	if s.bad > 0 {
		return errors.New("something is lost, in clear, left, stuck or hangs")
	}
	if s.faults+s.kills == 0 {
		return errors.New("no fault happened")
	}
	return nil
}

func (s *summary) write(page string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Commit %s: %d faults and %d kills. Each cell has how many were injected; after a slash, how many broke a rule.\n\n", *commit, s.faults, s.kills)
	var ops, labels []string
	for key := range s.cells {
		if !slices.Contains(ops, key[1]) {
			ops = append(ops, key[1])
		}
	}
	slices.Sort(ops)
	for _, e := range errnos {
		labels = append(labels, e.name)
	}
	labels = append(labels, "kill before", "kill after")
	section := func(columns []string, at func(command, column string) *cell) {
		b.WriteString("| command | " + strings.Join(columns, " | ") + " |\n|---|" + strings.Repeat("---:|", len(columns)) + "\n")
		for _, c := range commands {
			fmt.Fprintf(&b, "| `%s` |", c.name)
			for _, column := range columns {
				x := at(c.name, column)
				switch wrong := 0; {
				case x == nil:
					b.WriteString(" |")
				default:
					for _, n := range x.wrong {
						wrong += n
					}
					if wrong > 0 {
						fmt.Fprintf(&b, " %d/%d |", x.injected, wrong)
					} else {
						fmt.Fprintf(&b, " %d |", x.injected)
					}
				}
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	section(ops, func(c, op string) *cell { return s.cells[[2]string{c, op}] })
	section(labels, func(c, label string) *cell { return s.errors[c+"\x00"+label] })
	b.WriteString("| outcome | trials |\n|---|---:|\n")
	for _, rule := range rules {
		n := 0
		for _, x := range s.errors {
			n += x.wrong[rule]
		}
		fmt.Fprintf(&b, "| %s | %d |\n", rule, n)
	}
	const begin, end = "<!-- faults -->\n", "<!-- end of faults -->\n"
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no marks for the table", page)
	}
	return os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o644)
}
