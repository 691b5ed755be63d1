// Package engine runs the stages in order: load, validate, plan, apply.
//
// Each function takes the artifact of the one before and makes the next. The
// package decides nothing itself; it knows no flags, terminals or backends.
package engine

import (
	"io"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/lang/fsfuncs"
	"weir.dev/weir/internal/lang/lint"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/planner"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/provisioner"
	"weir.dev/weir/internal/resource/listrefresh"
	"weir.dev/weir/internal/resource/ratelimit"
)

// World is what a run takes from outside: time, directories, providers.
type World struct {
	Dialect dialect.Dialect
	Catalog provider.Catalog
	// WorkDir is path.root's directory as configuration sees it, normally
	// "."; OriginalDir is path.cwd.
	WorkDir, OriginalDir string
	DataDir              string // .terraform or TF_DATA_DIR
	Workspace            string
	// Files answers what expressions query files; nil means the disk. Configurations of
	// providers always ask the disk: what they read is often secret, and theirs only.
	Files fsfuncs.Source
	Disk  fsfuncs.Disk
	// Commands is where commands of provisioners are run.
	Commands    provisioner.Place
	Now         func() time.Time
	Parallelism int // calls of providers at once; 0 means 10, and more reads where that pays
	// Calls are the limits of calls where stages and others share them; nil where nobody
	// does.
	Calls *ratelimit.Limiter
	// Lists says which lists of objects are trusted in place of reading each.
	Lists  listrefresh.Trust
	Random io.Reader // nil for that of the system
	// TemplateDepth is how deep templates may render templates; 0 means the
	// default.
	TemplateDepth int
	Sink          event.Sink
	// Lint are the rules that validation also applies; nil for none.
	Lint *lint.Rules
	// Secrets learns which values must not be shown; nil for nobody.
	Secrets *secret.Known
}

// A Config is a loaded configuration: everything that was parsed and
// compiled, and the inputs it was loaded with.
type Config struct {
	Tree   *program.Tree
	Inputs map[string]module.VariableInput
	World  World
	// Sources are the files read, by the name that ranges have.
	Sources map[string][]byte

	// Override, unless nil, says what a module instance has in place of the
	// program that was loaded for it.
	Override func(at addr.Module, loaded *program.Program) *program.Program

	// Installed are the keys of the modules that are used, as modules.json has
	// them.
	Installed []string

	// Compiled counts the sources that were parsed and compiled.
	Compiled int

	modules *modules
	// watched is the disk that functions ask where World.Files is nil.
	watched *fsfuncs.Watched
}

// With is the configuration with other inputs, and in another world, where nothing that is
// loaded depends on values: see program.Tree.Varies.
func (c *Config) With(w World, inputs map[string]module.VariableInput) *Config {
	other := *c
	other.World, other.Inputs, other.watched = w, inputs, fsfuncs.NewWatched(w.Disk)
	return &other
}

// MeaningIn is what configurations mean in a dialect.
func MeaningIn(d dialect.Dialect) planner.Meaning {
	terraform := d == dialect.Terraform
	return planner.Meaning{RemovedDestroys: terraform, UnreadOutputs: terraform, ForgottenUnread: terraform, CreationsDontTrigger: terraform, ProvidersGenerate: terraform}
}

// PlanOptions choose what a plan is for.
type PlanOptions = planner.Options
