package main

import (
	"regexp"
	"slices"
	"strings"

	"weir.dev/weir/internal/testing/simtest"
)

// A known difference is deliberate, or one where the reference is wrong. A difference that
// fits it in everything is explained.
type known struct {
	Entry  string // its heading in docs/where-weir-differs.md
	Reason string // in a few words

	Where, Path string // regexps that have to match as a whole; empty fits all
	Peer, Weir  string
	When        func(finding) bool // nil for always
}

// A finding is a difference with what both engines made of the step.
type finding struct {
	difference
	step       simtest.Step
	before     world // what weir began with
	peer, weir outcome
}

// knowns are all known differences, by what they are about. The first one that fits counts.
var knowns = slices.Concat(ofDestruction, ofFailures, ofOrder, ofDependencies, ofScope, ofDocuments, ofGrids, ofDiagnostics)

// none is what a side has that lacks something.
const none = "-"

func (k *known) fits(d finding) bool {
	for _, part := range [][2]string{{k.Where, d.Where}, {k.Path, d.Path}, {k.Peer, d.Peer}, {k.Weir, d.Weir}} {
		if part[0] == none && part[1] != "" {
			return false
		}
		if part[0] != "" && part[0] != none && !regexp.MustCompile(`(?s)^(?:`+part[0]+`)$`).MatchString(part[1]) {
			return false
		}
	}
	return k.When == nil || k.When(d)
}

// explain finds the known differences among those of a step and of what the engines made of
// it. Anything that is said beside another exit follows from the exit.
func explain(list []difference, step simtest.Step, before world, peer, weir outcome) {
	ended := map[string]*known{}
	for i, d := range list {
		f := finding{difference: d, step: step, before: before, peer: peer, weir: weir}
		for _, k := range knowns {
			if k.fits(f) {
				list[i].Known = k
				break
			}
		}
		if list[i].Known == nil {
			command, ok := strings.CutPrefix(d.Where, "diags ")
			if ok {
				list[i].Known = ended[command]
			}
		}
		if command, ok := strings.CutPrefix(d.Where, "exit "); ok {
			ended[command] = list[i].Known
		}
	}
}
