// Program changelog compares the changelogs of OpenTofu and Terraform with the list of their
// entries, docs/proofs/changelog.txt. The list has a verdict for each entry: the tests that
// show it in weir, a reason why it doesn't concern weir, or that weir doesn't have it yet.
//
//	go run ./test/changelog CHECKOUT...    print the entries that the list lacks
//	go run ./test/changelog -page FILE     write the table of verdicts
//
// A CHECKOUT is a clone of either repository. Its release branches are read, too.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	list := flag.String("list", "docs/proofs/changelog.txt", "the `FILE` with the list")
	page := flag.String("page", "", "write the table of verdicts into the page `FILE`")
	flag.Parse()
	lacking, err := run(*list, *page, flag.Args())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case lacking > 0:
		os.Exit(1)
	}
}

// run does what the flags say. It returns how many entries the list lacks.
func run(list, page string, checkouts []string) (int, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return 0, err
	}
	lines, err := parseList(string(text))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", list, err)
	}
	if page != "" {
		if err := writeTable(page, lines); err != nil {
			return 0, err
		}
	}
	lacking := 0
	for _, dir := range checkouts {
		entries, err := readCheckout(dir)
		if err != nil {
			return lacking, err
		}
		for _, e := range missing(lines, entries) {
			lacking++
			fmt.Printf("%s %s %s, %s: unjudged\n", e.Engine, e.Version, e.ID, e.Text)
		}
	}
	return lacking, nil
}
