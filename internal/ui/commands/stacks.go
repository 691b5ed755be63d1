package commands

import (
	"cmp"
	"context"
	"flag"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/externalcmd"
)

// Within makes commands of a group of commands that are there by themselves, with what
// sets each of them up.
func Within[E any](group string, list []*Command[E], setup func(*Command[E], E, *flag.FlagSet) Runner) (all []*Command[E]) {
	for _, c := range list {
		one := *c
		one.Name, one.Aliases = group+" "+c.Name, nil
		if c.Setup != nil {
			one.Setup = func(e E, fs *flag.FlagSet) Runner { return setup(c, e, fs) }
		}
		all = append(all, &one)
	}
	return all
}

// inStacks are the commands that stacks have by the same names, whole those of them that
// are about all deployments in any case.
var (
	inStacks = []string{"plan", "apply", "destroy", "show", "output", "graph", "why", "console", "recover", "force-unlock"}
	whole    = []string{"init", "validate", "providers lock", "ui"}
)

// ForStacks is how commands are run by who works on a deployment of a stack, or without a
// name on the stack: "weir recover" is "weir stacks recover" there, with the deployment
// where it has one. The program is what the user calls it.
func ForStacks(program, deployment string) func(diag.Command) diag.Command {
	return func(c diag.Command) diag.Command {
		c.Program = cmp.Or(c.Program, program)
		about := slices.Contains(inStacks, c.Name) || strings.HasPrefix(c.Name, "state ")
		if !about && !slices.Contains(whole, c.Name) {
			return c
		}
		c.Name = "stacks " + c.Name
		if about && deployment != "" {
			c.Name += " -deployment=" + deployment
		}
		return c
	}
}

// durable are the commands for durable deployments only, all of which another program does.
var durable = [][2]string{
	{"worker", "Run a worker for durable deployments"},
	{"list", "List durable deployments with their stages"},
	{"follow", "Print the progress of durable deployments"},
	{"approve", "Approve plans of durable deployments that wait"},
	{"reject", "Reject plans of durable deployments that wait"},
	{"cancel", "Cancel the runs of durable deployments"},
}

// Durable are the entries of the commands for durable deployments.
func Durable[E any]() (all []*Command[E]) {
	for _, c := range durable {
		all = append(all, &Command[E]{Name: "stacks " + c[0], Synopsis: c[1], Max: -1, Setup: func(E, *flag.FlagSet) Runner {
			return func(context.Context, []string) int { return 1 } // it never results in that
		}})
	}
	return all
}

// Leave has the program for durable deployments do commands. Beside is the file of this
// one, path where programs are, as the environment has it.
func Leave(beside, path string, env []string) func(args []string) (int, diag.List) {
	return func(args []string) (int, diag.List) {
		return externalcmd.Run(externalcmd.Call{Name: "weir-temporal", For: "Durable deployments", Args: args, Env: env, Beside: beside, Path: path})
	}
}

// leaves reports whether another program does a command: those for durable deployments, and with -on
// some that weir does otherwise.
func leaves(name string, args []string) bool {
	word, ok := strings.CutPrefix(name, "stacks ")
	on := slices.ContainsFunc(args, func(arg string) bool {
		flag := "-" + strings.TrimLeft(arg, "-")
		return strings.HasPrefix(arg, "-") && (flag == "-on" || strings.HasPrefix(flag, "-on="))
	})
	if !ok {
		return on && (name == "apply" || name == "destroy")
	}
	return slices.ContainsFunc(durable, func(c [2]string) bool { return c[0] == word }) || on && slices.Contains([]string{"apply", "destroy", "recover"}, word)
}
