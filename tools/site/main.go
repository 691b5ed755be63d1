// Command site makes a site of the pages in the repository, and looks whether what they
// link to is there. It knows Markdown and files; what the pages say is not its business.
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
	flag.Parse()
	if err := run(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	book, err := Read(os.DirFS(root))
	if err != nil {
		return err
	}
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
