// Command notice writes NOTICE: the licenses of all modules in the program. With -check it
// only reports whether the file is up to date.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/tools/licences"
)

const heading = `weir
====

weir is licensed under the Mozilla Public License 2.0, see LICENSE. The program is
built from the modules below too, whose licences follow. This file is written by
"make notice".

`

func main() {
	check := flag.Bool("check", false, "compare, don't write")
	dir := flag.String("dir", "..", "root of the module")
	flag.Parse()
	path := filepath.Join(*dir, "NOTICE")
	want, err := notice(*dir)
	if err == nil && !*check {
		err = os.WriteFile(path, want, 0o644)
	} else if err == nil {
		var got []byte
		if got, err = os.ReadFile(path); err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("NOTICE doesn't have the licences of what the program is built from: run \"make notice\"")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func notice(dir string) ([]byte, error) {
	modules, err := licences.Of(dir, "./cmd/weir")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(heading)
	owners := map[string][]string{} // by text, in order of the texts
	var order []string
	for _, m := range modules {
		ids, err := m.Licences()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "    %s %s: %s\n", m.Path, m.Version, strings.Join(ids, ", "))
		texts, err := m.Texts()
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			text := strings.TrimSpace(texts[name])
			if owners[text] == nil {
				order = append(order, text)
			}
			owners[text] = append(owners[text], m.Path)
		}
	}
	b.WriteString("    Go and its standard library: BSD-3-Clause, as golang.org/x/mod\n")
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), strings.Join(owners[text], "\n"), text)
	}
	return b.Bytes(), nil
}
