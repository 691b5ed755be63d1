// Command site builds the documentation site from the Markdown pages of the repository, and
// checks their links.
//
//	site -root=DIR           check
//	site -root=DIR -out=DIR  check and write
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the repository `DIR`")
	out := flag.String("out", "", "the `DIR` that the site is written to")
	version := flag.String("version", "", "the `VERSION` that pages show")
	flag.Parse()
	if err := run(*root, *out, *version); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root, out, version string) error {
	book, err := Read(os.DirFS(root))
	if err != nil {
		return err
	}
	book.version = version
	faults := book.Check()
	for _, fault := range faults {
		fmt.Fprintln(os.Stderr, fault)
	}
	if len(faults) > 0 {
		return fmt.Errorf("%d faults", len(faults))
	}
	if out == "" {
		return nil
	}
	if err := book.Write(out); err != nil {
		return err
	}
	fmt.Printf("%d pages in %s\n", len(book.pages), out)
	return nil
}
