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

var mention = regexp.MustCompile(`\b((?:weir|tofu|terraform|iac)(?: -chdir=\S+)?) (init|validate|providers lock|plan|apply|destroy|show|recover|force-unlock|console|state [a-z-]+)\b( -allow-deferral)?`)

// ForStacks corrects the commands in a text for who works on a deployment of a stack,
// or without a name on the stack: "weir recover" is "weir stacks recover" there, with
// the deployment where it has one.
func ForStacks(deployment string) func(text string) string {
	return func(text string) string {
		return mention.ReplaceAllStringFunc(text, func(found string) string {
			part := mention.FindStringSubmatch(found)
			command := part[1] + " stacks " + part[2]
			switch part[2] {
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
