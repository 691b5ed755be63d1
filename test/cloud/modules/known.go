package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed known.txt
var knownText string

// A Known difference is one that is meant, or whose cause isn't the engine.
type Known struct {
	example, path, value *regexp.Regexp
	reason               string
}

// readKnown reads the list: paragraphs of a reason, and lines that begin with
// "- " and hold a regular expression for the kind of path, and after "  in " and
// "  with " ones for the example's name and for either value.
func readKnown() ([]Known, error) { return parseKnown(knownText) }

func parseKnown(text string) ([]Known, error) {
	var all []Known
	reason := ""
	for n, line := range strings.Split(text, "\n") {
		rule, ok := strings.CutPrefix(line, "- ")
		switch {
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
		case !ok:
			reason = strings.TrimSpace(line)
		default:
			rule, value, _ := strings.Cut(rule, "  with ")
			path, example, _ := strings.Cut(rule, "  in ")
			k := Known{reason: reason}
			for _, part := range []struct {
				to   **regexp.Regexp
				text string
			}{{&k.path, "^(" + path + ")$"}, {&k.example, example}, {&k.value, value}} {
				var err error
				if *part.to, err = regexp.Compile(part.text); err != nil {
					return nil, fmt.Errorf("line %d: %v", n+1, err)
				}
			}
			all = append(all, k)
		}
	}
	return all, nil
}

// explain returns the reason for a difference, empty without one.
func explain(known []Known, example string, d Difference) string {
	kind := d.Kind()
	for _, k := range known {
		if k.path.MatchString(kind) && k.example.MatchString(example) && (k.value.MatchString(d.Peer) || k.value.MatchString(d.Engine)) {
			return k.reason
		}
	}
	return ""
}
