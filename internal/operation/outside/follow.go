package outside

import (
	"context"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/operation/place"
	"weir.dev/weir/internal/system/agent"
	"weir.dev/weir/internal/word/diag"
)

// New reads by the settings of the user of a place.
func New(ctx context.Context, p *place.Place) (*Reader, diag.List) {
	config, _, diags := p.UserSettings()
	if diags.HasErrors() {
		return nil, diags
	}
	settings := config.Stacks
	if len(p.Upstreams) > 0 {
		settings.Upstreams = maps.Clone(settings.Upstreams)
		if settings.Upstreams == nil {
			settings.Upstreams = map[string]string{}
		}
		maps.Copy(settings.Upstreams, p.Upstreams)
	}
	return &Reader{
		Context: ctx, Settings: settings, Environ: p.Environ, Path: p.Path, Subscriber: p.Path("."),
		TokenDir: filepath.Join(p.DataDir(), "tokens"), HTTP: agent.Default(p.Getenv), Secrets: p.Secrets,
	}, nil
}

// followed has the directories of stacks that follow one another, so that none follows
// itself.
const followed = "WEIR_STACKS_FOLLOWED"

// Follow applies a stack that reads what the one in the place has published, as far as
// its own rules allow, and warns where that isn't all of it. Shown is what its directory
// is called.
func Follow(ctx context.Context, p *place.Place, dir, shown string, out io.Writer) diag.List {
	here, err := filepath.Abs(p.Path("."))
	if err != nil {
		return diag.Unreadable.As("Failed to find the stacks that follow").List("%s.", err)
	}
	there := filepath.Join(here, dir)
	before := append(strings.Split(p.Environ[followed], "\n"), here)
	if slices.Contains(before, there) {
		return diag.Cycle.As("Stacks that follow each other").List("The stack in %s was applied already because of this change. Nothing is applied twice: look which outputs go in a circle.", shown)
	}
	cmd := exec.CommandContext(ctx, p.Executable, "-chdir="+there, "stacks", "apply", "-input=false")
	for name, v := range p.Environ {
		if name != followed {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Env = append(cmd.Env, followed+"="+strings.Join(before, "\n"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.ProcessDir(), out, out
	if cmd.Run() == nil {
		return nil
	}
	return Behind.Warnings("The stack in %s reads outputs that have changed, and wasn't applied as a whole. To see what is left, run:\n    %s -chdir=%s stacks apply", shown, p.Program, shown)
}
