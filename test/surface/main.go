// Program parity compares the commands, flags, backends, key providers, provisioners and
// module sources that a weir binary accepts with those of OpenTofu and Terraform. It writes
// the result as a page.
//
//	go run ./test/surface -bin bin/weir -page docs/parity.md
//	go run ./test/surface -peer tofu=PATH -peer terraform=PATH    records what these accept
//
// What OpenTofu and Terraform accept is in peers.json, which flags they are asked for in
// flags.txt. Flags of the presentation, such as -no-color, are those of all commands and
// aren't counted, but where a command of a peer parses one by itself. Anything that is left
// out on purpose, and why, is in scope.json.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed peers.json
var recorded []byte

//go:embed scope.json
var reasons []byte

// candidates has a line for each command: "COMMAND: NAME NAME..." with the flags that are
// asked for, which are those that any of the engines has or is known to have had.
//
//go:embed flags.txt
var candidates string

// A peer is an engine with what it accepts: flags by command.
type peer struct {
	Version  string              `json:"version"`
	Commands map[string][]string `json:"commands"`
}

func main() {
	bin := flag.String("bin", "bin/weir", "the weir `BINARY`")
	page := flag.String("page", "docs/parity.md", "the `FILE` that is written")
	peers := map[string]string{}
	flag.Func("peer", "record what `NAME=BINARY` accepts", func(s string) error {
		name, path, _ := strings.Cut(s, "=")
		peers[name] = path
		return nil
	})
	flag.Parse()
	if err := run(*bin, *page, peers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(bin, page string, peers map[string]string) error {
	if len(peers) > 0 {
		return record(peers)
	}
	text, err := Table(bin)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

// record asks OpenTofu and Terraform again.
func record(peers map[string]string) error {
	all := map[string]*peer{}
	if err := json.Unmarshal(recorded, &all); err != nil {
		return err
	}
	for name, path := range peers {
		p := &peer{Commands: map[string][]string{}}
		a, err := newAsker(path)
		if err != nil {
			return err
		}
		p.Version = a.version()
		accepted := a.flags(wanted(slices.Sorted(maps.Keys(all[name].Commands))))
		for c := range all[name].Commands {
			p.Commands[c] = accepted[c]
		}
		a.close()
		all[name] = p
		if err := os.WriteFile(filepath.Join("parity", "peers.json"), encode(all), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// encode is JSON with a line for each command.
func encode(all map[string]*peer) []byte {
	var b bytes.Buffer
	between := "{"
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s\n%q: {\n  \"version\": %q,\n  \"commands\": {", between, name, all[name].Version)
		comma := ""
		for _, c := range slices.Sorted(maps.Keys(all[name].Commands)) {
			flags, _ := json.Marshal(append([]string{}, all[name].Commands[c]...)) // texts
			fmt.Fprintf(&b, "%s\n    %q: %s", comma, c, flags)
			comma = ","
		}
		b.WriteString("\n  }\n}")
		between = ","
	}
	b.WriteString("\n}\n")
	return b.Bytes()
}

// wanted are the flags to ask for, by command.
func wanted(commands []string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(candidates) {
		c, names, _ := strings.Cut(line, ":")
		if slices.Contains(commands, c) {
			all[c] = strings.Fields(names)
		}
	}
	return all
}

// Table is the page about a binary.
func Table(bin string) (string, error) {
	all, why := map[string]*peer{}, map[string]string{}
	if err := json.Unmarshal(recorded, &all); err != nil {
		return "", err
	}
	if err := json.Unmarshal(reasons, &why); err != nil {
		return "", err
	}
	a, err := newAsker(bin)
	if err != nil {
		return "", err
	}
	defer a.close()
	var b bytes.Buffer
	b.WriteString("# What weir accepts\n\nCommands, flags, backends and other names of OpenTofu and Terraform that weir accepts. `make parity`\ntries each one with the binary and writes this page; `go test ./parity` compares. The flags include\nthose that OpenTofu and Terraform accept but don't document.\n\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		compare(&b, a, name, all[name], why)
	}
	for _, k := range kinds {
		k.write(&b, a)
	}
	return b.String(), nil
}

// compare writes which commands and flags of a peer the binary has.
func compare(b *bytes.Buffer, a *asker, name string, p *peer, why map[string]string) {
	title := map[string]string{"tofu": "OpenTofu", "terraform": "Terraform"}[name]
	a.compat = map[string]string{"tofu": "opentofu", "terraform": "terraform"}[name]
	commands := slices.Sorted(maps.Keys(p.Commands))
	has, flags, mine, left := 0, 0, 0, 0
	var rows []string
	for _, c := range commands {
		_, there := a.command(c)
		if there {
			has++
		} else {
			rows = append(rows, fmt.Sprintf("| `%s` | the command | %s |", c, reason(why, c)))
		}
		for _, f := range p.Commands[c] {
			flags++
			switch {
			case there && a.accepts(c, f):
				mine++
			case why[c+" -"+f] != "" || why["-"+f] != "" || why[c] != "":
				left++
				fallthrough
			default:
				rows = append(rows, fmt.Sprintf("| `%s` | `-%s` | %s |", c, f, reason(why, c+" -"+f, "-"+f, c)))
			}
		}
	}
	fmt.Fprintf(b, "## %s %s\n\n%d of %d commands, %d of %d flags", title, p.Version, has, len(commands), mine, flags)
	if left > 0 {
		fmt.Fprintf(b, "; %d are missing for a reason", left)
	}
	b.WriteString("." + counted[name] + "\n\n")
	if len(rows) > 0 {
		b.WriteString("| command | missing | reason |\n| --- | --- | --- |\n" + strings.Join(rows, "\n") + "\n\n")
	}
}

// counted says how others count what a peer has.
var counted = map[string]string{
	"terraform": " The commands `cloud` and `stacks`, which start\nplugins, are two of these. Without them, weir has 40.",
}

func reason(why map[string]string, keys ...string) string {
	for _, k := range keys {
		if why[k] != "" {
			return why[k]
		}
	}
	return "not yet"
}
