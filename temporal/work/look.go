package work

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
)

// A Found is the stack in a directory.
type Found struct {
	Stack *workspace.Stack
	// Outside are the directories beside that of the stack that it has modules in.
	Outside []string
}

// Look reads the stack in a directory.
func Look(ctx context.Context, dir string, like dialect.Dialect, environ map[string]string, home string) (Found, error) {
	d := workspace.New(environment.Options{
		Dir: dir, OriginalDir: dir, Environ: environ, Home: home, Dialect: like, Program: "weir",
		Now: time.Now, Random: rand.Reader, Who: func() string { return "" }, Reports: environment.Reports{Log: io.Discard},
	})
	defer d.Close()
	s, diags := workspace.OpenStack(ctx, d)
	if diags.HasErrors() {
		return Found{}, failure{diags}
	}
	if prog, _ := d.Settings.RootSettings(); prog != nil && prog.Backend != nil {
		return Found{}, fmt.Errorf("the settings of the stack keep its states in a %q backend (%s), and workers keep them in their store. Take the block out to have them there, or apply without -on", prog.Backend.Type, prog.Backend.Range)
	}
	// Which modules there are may hang on inputs; those of all deployments are inspected.
	outside := map[string]bool{}
	list := s.Deployments
	if len(list) == 0 {
		list = []*deploy.Deployment{{Name: deploy.Default, Inputs: map[string]deploy.Input{}}}
	}
	_ = s.Stack.Evaluate(list, nil)
	config, diags := s.Load(ctx, list[0], workspace.Loading{})
	if config == nil || config.Tree == nil {
		return Found{}, failure{diags}
	}
	for name := range config.Sources {
		if name = filepath.ToSlash(name); strings.HasPrefix(name, "../") {
			outside[filepath.Dir(name)] = true
		}
	}
	return Found{s, slices.Sorted(maps.Keys(outside))}, nil
}
