package cli

// commands are all commands in the order of the help text. It is filled in
// init because commands refer to the table themselves.
var commands []*command

func init() {
	commands = []*command{
		initCommand, validateCommand, planCommand, applyCommand, destroyCommand,
		analyzeCommand, consoleCommand, explainCommand, fmtCommand, unlockCommand, getCommand, graphCommand, importCommand, loginCommand, logoutCommand,
		modulesCommand, outputCommand, recoverCommand, refreshCommand, showCommand,
		taintCommand, testCommand, untaintCommand, versionCommand, whyCommand,
	}
	for _, group := range [][]*command{metadataCommands, providersCommands, stacksCommands, stateCommands, workspaceCommands} {
		commands = append(commands, group...)
	}
}
