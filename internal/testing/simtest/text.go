package simtest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/testing/txtar"
)

// Text is the case as a txtar archive: the files of each step in a folder of
// their own, with what else happens in a file named options.
func (c Case) Text(comment string) []byte {
	a := &txtar.Archive{Comment: []byte(comment + "\n\n")}
	for i, step := range c {
		folder := fmt.Sprintf("%d/", i+1)
		options := step.words()
		if options != nil {
			a.Files = append(a.Files, txtar.File{Name: folder + "options", Data: []byte(strings.Join(options, "\n") + "\n")})
		}
		files := step.Files()
		for _, name := range slices.Sorted(maps.Keys(files)) {
			a.Files = append(a.Files, txtar.File{Name: folder + name, Data: files[name]})
		}
	}
	return txtar.Format(a)
}

// Parse reads what Text has written.
func Parse(text []byte) Case {
	var c Case
	for _, f := range txtar.Parse(text).Files {
		folder, name, _ := strings.Cut(f.Name, "/")
		n, err := strconv.Atoi(folder)
		if err != nil {
			continue // not of a step
		}
		for len(c) < n {
			c = append(c, Step{Text: module.Memory{}})
		}
		step := &c[len(c)-1]
		if name != "options" {
			step.Text[name] = f.Data
			continue
		}
		for line := range strings.Lines(string(bytes.TrimSpace(f.Data))) {
			if kind, what, _ := strings.Cut(strings.TrimSpace(line), " "); step.lists()[kind] != nil {
				list := step.lists()[kind]
				*list = append(*list, what)
			} else if flag := step.flags()[kind]; flag != nil {
				*flag = true
			}
		}
	}
	return c
}

// lists and flags are the options of a step by the words for them.
func (s *Step) lists() map[string]*[]string {
	return map[string]*[]string{"replace": &s.Replace, "fail": &s.Fail, "drift": &s.Drift, "target": &s.Targets, "exclude": &s.Excludes, "command": &s.Commands}
}

func (s *Step) flags() map[string]*bool {
	return map[string]*bool{
		"skip-refresh": &s.SkipRefresh, "defer": &s.Defer, "refresh-only": &s.RefreshOnly, "errors": &s.Errors, "destroy": &s.Destroy,
	}
}

// words are the options of a step, a line each.
func (s *Step) words() []string {
	var list []string
	for word, values := range s.lists() {
		for _, v := range *values {
			list = append(list, word+" "+v)
		}
	}
	for word, flag := range s.flags() {
		if *flag {
			list = append(list, word)
		}
	}
	slices.Sort(list)
	return list
}
