package commands

import (
	"flag"
	"regexp"
)

// Within makes commands of a group of commands that are there by themselves, with what
// sets each of them up.
func Within[E any](group string, list []*Command[E], setup func(*Command[E], E, *flag.FlagSet) Runner) (all []*Command[E]) {
	for _, c := range list {
		one := *c
		one.Name, one.Aliases, one.Main = group+" "+c.Name, nil, false
		if c.Setup != nil {
			one.Setup = func(e E, fs *flag.FlagSet) Runner { return setup(c, e, fs) }
		}
		all = append(all, &one)
	}
	return all
}

// ForStacks corrects the commands of a program in a text for who works on a deployment of
// a stack, or without a name on the stack: "weir recover" is "weir stacks recover" there,
// with the deployment where it has one. The program is what texts call it: it may have
// another name than its own, and an option.
func ForStacks(program, deployment string) func(text string) string {
	mention := regexp.MustCompile(`(^|[^\w-])(` + regexp.QuoteMeta(program) + `|weir) (init|validate|providers lock|plan|apply|destroy|show|recover|force-unlock|console|state [a-z-]+)\b( -allow-deferral)?`)
	return func(text string) string {
		return mention.ReplaceAllStringFunc(text, func(found string) string {
			part := mention.FindStringSubmatch(found)
			command := part[1] + part[2] + " stacks " + part[3]
			switch part[3] {
			case "init", "validate", "providers lock":
				return command
			}
			if deployment != "" {
				command += " -deployment=" + deployment
			}
			return command
		})
	}
}
