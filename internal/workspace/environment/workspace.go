package environment

import (
	"weir.dev/weir/internal/core/diag"
)

// Workspace is the name of the selected workspace.
func (d *Place) Workspace() (string, diag.List) {
	if d.Options.Workspace != "" {
		if !ValidWorkspace(d.Options.Workspace) {
			return "", diag.BadWorkspace.List("The name %q is not allowed: %s", d.Options.Workspace, WorkspaceNames)
		}
		return d.Options.Workspace, nil
	}
	if name := d.Environ["TF_WORKSPACE"]; name != "" {
		if !ValidWorkspace(name) {
			return "", diag.BadWorkspace.List("The name %q in TF_WORKSPACE is not allowed: %s", name, WorkspaceNames)
		}
		return name, nil
	}
	name, err := d.Memory().Workspace()
	if err != nil {
		return "", diag.BadWorkspace.As("Failed to read the selected workspace").List("%s.", err)
	}
	if !ValidWorkspace(name) { // it becomes part of paths
		return "", diag.BadWorkspace.List("The name %q of the selected workspace is not allowed: %s Another program wrote it. To select a workspace, run \"%s workspace select\".", name, WorkspaceNames, d.Program)
	}
	return name, nil
}

// WorkspaceNames says what names workspaces can have.
const WorkspaceNames = "it must contain only URL safe characters, and no path separators."

// ValidWorkspace reports whether a workspace can have that name.
func ValidWorkspace(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case r == '-', r == '_', r == '.', r == '~':
		default:
			return false
		}
	}
	return true
}
