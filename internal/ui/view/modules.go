package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
)

// A Module is one that a configuration calls.
type Module struct {
	Key     string `json:"key"` // the names of the calls, with dots between
	Source  string `json:"source"`
	Version string `json:"version"`
}

// Modules lists the modules that are called, those above before those below.
func Modules(root *program.Tree) []Module {
	list := []Module{}
	var walk func(t *program.Tree, at addr.Module)
	walk = func(t *program.Tree, at addr.Module) {
		for _, call := range t.CallNames() {
			for _, child := range t.Of(call) {
				below := at.Child(call, addr.NoKey)
				list = append(list, Module{below.CallPath(), child.Source, child.Version})
				walk(child, below)
			}
		}
	}
	walk(root, addr.Root)
	return list
}

// WriteModules shows a list of modules.
func WriteModules(w io.Writer, list []Module) error {
	var b strings.Builder
	if len(list) == 0 {
		b.WriteString("No modules found in configuration.\n")
	} else {
		b.WriteString("Modules declared by configuration:\n\n")
	}
	for _, m := range list {
		fmt.Fprintf(&b, ".\n└── %q[%s] %s\n", m.Key, m.Source, m.Version)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A branch is a module or a provider that it requires.
type branch struct {
	text     string
	children []branch
}

// WriteProviders shows the tree of modules with the providers that each requires.
func WriteProviders(w io.Writer, root *program.Tree) error {
	var b strings.Builder
	b.WriteString(".\n")
	requirements(root, ".").write(&b, "")
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func requirements(t *program.Tree, text string) branch {
	b := branch{text: text}
	constraints := map[addr.Provider]string{}
	var list []addr.Provider
	for _, r := range t.Program.Requirements {
		if _, twice := constraints[r.Provider]; !twice {
			list = append(list, r.Provider)
		}
		constraints[r.Provider] = strings.TrimSpace(r.Constraints)
	}
	slices.SortFunc(list, addr.Provider.Compare)
	for _, p := range list {
		text := "provider[" + p.String() + "]"
		if constraints[p] != "" {
			text += " " + constraints[p]
		}
		b.children = append(b.children, branch{text: text})
	}
	for _, call := range t.CallNames() {
		for _, child := range t.Of(call) {
			b.children = append(b.children, requirements(child, call.String()))
		}
	}
	return b
}

func (b branch) write(to *strings.Builder, indent string) {
	for i, child := range b.children {
		branch, next := "├── ", "│   "
		if i == len(b.children)-1 {
			branch, next = "└── ", "    "
		}
		fmt.Fprintf(to, "%s%s%s\n", indent, branch, child.text)
		child.write(to, indent+next)
	}
}
