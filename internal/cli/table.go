package cli

// commands are all commands in the order of the help text. It is filled in
// init because commands refer to the table themselves.
var commands []*command

func init() {
	commands = []*command{
		outputCommand, fmtCommand,
		taintCommand, untaintCommand, unlockCommand,
		versionCommand,
	}
	commands = append(commands, stateCommands...)
	commands = append(commands, workspaceCommands...)
	commands = append(commands, metadataCommands...)
}
