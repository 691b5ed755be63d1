package cli

import (
	"flag"
	"slices"
	"strings"

	"weir.dev/weir/docs"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/daemonserver"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
)

type (
	command = commands.Command[*env]
	runner  = commands.Runner
)

// table has all commands in the order of the help text.
var table = slices.Concat([]*command{
	initCommand, validateCommand, planCommand, applyCommand, destroyCommand,
	analyzeCommand, commands.Completion(spoken), consoleCommand, doctorCommand, driftCommand, commands.Explain(spoken, docs.Kinds), fmtCommand, unlockCommand, getCommand, graphCommand, impactCommand, importCommand, loginCommand, logoutCommand, lspCommand,
	modulesCommand, moveCommand, outputCommand, queryCommand, recoverCommand, refreshCommand, rootsCommand, showCommand,
	taintCommand, testCommand, testCleanupCommand, uiCommand, untaintCommand, versionCommand, whyCommand,
}, daemonserver.Commands((*env).host), metadataCommands, providersCommands, stacksCommands, stateCommands, []*command{stateServeCommand}, workspaceCommands)

func spoken(e *env) (*output.Screen, string) { return e.Screen, e.program }

func (e *env) table() *commands.Table[*env] {
	return &commands.Table[*env]{Program: e.program, Screen: e.Screen, Env: e, All: table, Examples: docs.Examples}
}

func init() {
	for _, c := range table {
		group, _, _ := strings.Cut(c.Name, " ")
		if slices.Contains([]string{"state", "workspace", "taint", "untaint", "output", "force-unlock", "login"}, group) && c.Setup != nil {
			c.Setup = withVariables(c.Setup)
		}
	}
}

// withVariables adds -var and -var-file to a command that needs a backend and no
// more of the configuration: settings of the backend may refer to variables.
func withVariables(setup func(*env, *flag.FlagSet) runner) func(*env, *flag.FlagSet) runner {
	return func(e *env, fs *flag.FlagSet) runner {
		(*flags.Vars)(&e.directory.Place.SettingsVars).Register(fs)
		return setup(e, fs)
	}
}
