// Package local stores states in files, in the layout of OpenTofu and Terraform: the default
// workspace beside the configuration, the others in a folder each.
//
// It owns paths, the replacement of files without a moment in which they are incomplete,
// backups, and the lock that works together with those that OpenTofu and Terraform take. It
// doesn't look into the files.
//
// # The lock
//
// A run that holds the lock has a POSIX record lock on the state file and
// describes itself in .NAME.lock.info beside it, as the incumbents do. They
// write the state through the descriptor that they locked. Replacing the file
// by rename alone would break the lock in two ways. A run that comes while we
// hold the lock would open the new file, which isn't locked. And a run of
// OpenTofu that waits for the lock (-lock-timeout) keeps the file open that it
// found first; as soon as we release the lock it would read an outdated state
// from a file without a name and write its own results to nowhere.
//
// So the file that was locked always comes back: a Write puts a complete new
// file, locked too, in the place of the old one, then gives the old file the
// same content under a second name, and renames it back. At every moment the
// path leads to a complete and locked file, and when Write returns it is the
// file that others wait for. This also keeps its owner, permissions and links.
// The remaining gap is a run that begins to wait in the few milliseconds while the
// new file is in place, or in that moment reads without the lock what it had
// opened before (our own Read notices); and file systems without hard links,
// where the new file stays.
//
// Where there is no state yet, the file that is locked comes into being with the content that
// storage.Placeholder was reported and with its lock, at once: a run that is killed leaves a
// state without anything in it, never an empty file, which could as well be a state that was
// lost.
//
// Where the system has them, the locks belong to the open file (OFD), as a
// POSIX lock is lost when the process closes any descriptor of the file.
package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/durable"
)

// Names of files where nothing else is configured.
const (
	StateFile    = "terraform.tfstate"
	WorkspaceDir = "terraform.tfstate.d"
	BackupSuffix = ".backup"
)

// Schema is the shape of the configuration.
func Schema() *schema.Block {
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"path":          {Type: cty.String, Optional: true},
		"workspace_dir": {Type: cty.String, Optional: true},
	}}
}

// A Backend is a set of state files.
type Backend struct {
	dir          string // relative paths start here
	disk         *durable.Disk
	path         string // of the default workspace
	workspaceDir string
	override     storage.Override
}

// New makes a backend from a configuration of the type of Schema.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	var diags diag.List
	b := &Backend{dir: env.Dir, disk: env.Disk, path: StateFile, workspaceDir: WorkspaceDir}
	read := func(name string, to *string, summary string) {
		v := config.GetAttr(name)
		if v.IsNull() {
			return
		}
		if *to = v.AsString(); *to == "" {
			diags.Add(diag.Diagnostic{
				Code: diag.BadBackend.Name, Summary: summary,
				Detail: fmt.Sprintf("The %q attribute value must not be empty. Leave it out for the default.", name),
				Path:   cty.GetAttrPath(name),
			})
		}
	}
	read("path", &b.path, "Invalid local state file path")
	read("workspace_dir", &b.workspaceDir, "Invalid local workspace directory path")
	if diags.HasErrors() {
		return nil, diags
	}
	return b, diags
}

// WithFiles implements storage.Filed.
func (b *Backend) WithFiles(o storage.Override) storage.Backend {
	c := *b
	c.override = o
	return &c
}

// Paths implements storage.Filed.
func (b *Backend) Paths(workspace string) storage.Paths {
	p := storage.Paths{In: b.override.State, Out: b.override.StateOut, Backup: b.override.Backup}
	if p.In == "" && workspace == storage.DefaultWorkspace {
		p.In = b.path
	}
	if p.In == "" {
		p.In = filepath.Join(b.workspaceDir, workspace, StateFile)
	}
	if p.Out == "" {
		p.Out = p.In
	}
	switch p.Backup {
	case "":
		p.Backup = p.Out + BackupSuffix
	case "-":
		p.Backup = ""
	}
	return p
}

// Place is the file that is written.
func (b *Backend) Place(workspace string) string { return b.Paths(workspace).Out }

// JournalPath implements storage.Journaled.
func (b *Backend) JournalPath(workspace string) string {
	return b.abs(b.Paths(workspace).Out) + ".journal"
}

// abs is where a path is for the process.
func (b *Backend) abs(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(b.dir, path)
}

// Workspaces lists the default workspace and one for each folder.
func (b *Backend) Workspaces(context.Context) ([]string, error) {
	entries, err := os.ReadDir(b.abs(b.workspaceDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	names := []string{storage.DefaultWorkspace}
	for _, e := range entries {
		if e.IsDir() && e.Name() != storage.DefaultWorkspace {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names[1:])
	return names, nil
}

// folder is the folder of a workspace other than the default one.
func (b *Backend) folder(name string) (string, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("%q can't be the name of a workspace", name)
	}
	return filepath.Join(b.abs(b.workspaceDir), name), nil
}

// CreateWorkspace makes the folder of the workspace.
func (b *Backend) CreateWorkspace(_ context.Context, name string) error {
	if name == storage.DefaultWorkspace {
		return nil
	}
	folder, err := b.folder(name)
	if err != nil {
		return err
	}
	return b.disk.MakeFolders(folder, 0o755)
}

// DeleteWorkspace removes the folder of the workspace.
func (b *Backend) DeleteWorkspace(_ context.Context, name string) error {
	if name == storage.DefaultWorkspace {
		return errors.New("cannot delete default state")
	}
	folder, err := b.folder(name)
	if err != nil {
		return err
	}
	return os.RemoveAll(folder)
}

// State opens the file of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if name != storage.DefaultWorkspace {
		if _, err := b.folder(name); err != nil {
			return nil, err
		}
	}
	p := b.Paths(name)
	return &Store{disk: b.disk, in: b.abs(p.In), out: b.abs(p.Out), backup: b.abs(p.Backup), shown: p.In, recode: b.override.Recode}, nil
}
