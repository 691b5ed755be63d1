package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"weir.dev/weir/internal/testing/simtest"
)

// script writes a history as a case of the conformance kit, whose results are
// to be recorded. The files of its steps are where simtest.Parse finds them.
func script(c simtest.Case, comment string) []byte {
	var b strings.Builder
	b.WriteString("# " + strings.ReplaceAll(comment, "\n", "\n# ") + "\n")
	var there []string
	results := []string{}
	record := func(command, name string) {
		fmt.Fprintf(&b, "%s\ncmp stdout %s\n", command, name)
		results = append(results, name)
	}
	for i, step := range c {
		fmt.Fprintf(&b, "\n# Step %d\n", i+1)
		files := step.Files()
		for _, name := range there {
			if files[name] == nil {
				b.WriteString("rm " + name + "\n")
			}
		}
		there = slices.Sorted(maps.Keys(files))
		for _, name := range there {
			if dir := path.Dir(name); dir != "." {
				b.WriteString("mkdir " + dir + "\n")
			}
			fmt.Fprintf(&b, "cp %d/%s %s\n", i+1, name, name)
		}
		b.WriteString("iac init\n")
		for _, d := range step.Drift {
			kind, name, _ := strings.Cut(d, " ")
			switch kind {
			case "make":
				b.WriteString("cloud add sim_object " + name + "\n")
			case "drop":
				b.WriteString("cloud rm object-" + name + "-1\n")
			case "set":
				b.WriteString("cloud set object-" + name + "-1 value='\"drifted\"'\n")
			}
		}
		for _, command := range step.Commands {
			if command == "validate" {
				command += " -json"
			}
			b.WriteString("iac " + quote(strings.Fields(command)) + "\n")
		}
		for _, f := range step.Fail {
			b.WriteString("cloud break " + f + "\n")
		}
		b.WriteString("cloud forget\niac " + quote(append([]string{"plan"}, planFlags(step)...)) + "\n")
		record("digest diags", fmt.Sprintf("plan-diags-%d", i+1))
		record("digest plan", fmt.Sprintf("plan-%d", i+1))
		b.WriteString("iac apply -json tfplan\n")
		record("digest diags", fmt.Sprintf("apply-diags-%d", i+1))
		record("digest events", fmt.Sprintf("events-%d", i+1))
		record("digest state", fmt.Sprintf("state-%d", i+1))
		for _, f := range step.Fail {
			b.WriteString("cloud heal " + f + "\n")
		}
	}
	text := c.Text(strings.TrimSuffix(b.String(), "\n"))
	for _, name := range results {
		text = append(text, "-- "+name+" --\n"...)
	}
	return text
}

func quote(args []string) string {
	for i, arg := range args {
		if strings.ContainsAny(arg, "\"[ ") {
			args[i] = "'" + arg + "'"
		}
	}
	return strings.Join(args, " ")
}
