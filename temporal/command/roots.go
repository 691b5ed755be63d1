package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"weir.dev/weir/internal/roots"
	"weir.dev/weir/temporal/rounds"
	"weir.dev/weir/temporal/work"
)

// rootLines are the commands on root modules, which stand without a group.
var rootLines = []line{
	{"apply", "", "Have the root modules below this directory applied by workers, upstream roots first, and follow that.", rootFlags, applyRoots},
	{"destroy", "", "Have the objects of the root modules below this directory destroyed by workers, downstream roots first, and follow that.", rootFlags, destroyRoots},
}

// choosing has the flags that choose roots.
type choosing struct {
	all bool
	roots.Choice
}

func rootFlags(f *flag.FlagSet, s *settings) {
	f.BoolVar(&s.roots.all, "all", false, "Work on all root modules below the directory.")
	f.Var((*texts)(&s.roots.Patterns), "root", "Select the roots that match `PATTERN`, such as 'apps/*'; repeatable.")
	f.StringVar(&s.roots.Affected, "affected", "", "Select the roots that changes since the Git `REVISION` may affect.")
	f.BoolVar(&s.roots.WithUpstream, "with-upstream", false, "Also select the roots that the selected ones read.")
	f.BoolVar(&s.roots.WithDownstream, "with-downstream", false, "Also select the roots that read the selected ones.")
	requestFlags(f, s)
	for _, name := range []string{"target", "exclude", "replace", "var", "var-file"} {
		f.Func(name, "", func(string) error {
			return fmt.Errorf("the option means a single root, and workers get several. Values of variables for roots are in %s", roots.SettingsFile)
		})
	}
}

func destroyRoots(ctx context.Context, s *settings) error {
	s.options.Destroy = true
	return applyRoots(ctx, s)
}

func applyRoots(ctx context.Context, s *settings) error {
	c := s.roots
	switch {
	case s.on != "temporal":
		return errors.New("root modules have -on=temporal only. Leave -on out to run them in this process")
	case !c.all && c.Everything() && !c.WithUpstream && !c.WithDownstream:
		return errors.New("-on=temporal needs -all, or -root=PATTERN to select roots. Leave -on out to work on this directory")
	}
	d, err := s.depot()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	like, err := s.dialect()
	if err != nil {
		return err
	}
	found, err := work.Select(ctx, dir, c.Choice, s.options.Destroy, like, s.environ, s.home())
	if err != nil {
		return err
	}
	if len(found.Stacks) > 0 {
		fmt.Fprintf(s.err, "Deployments of stacks are left out. Use the commands of stacks for them:\n  - %s\n", strings.Join(found.Stacks, "\n  - "))
	}
	w := rounds.Whole{ID: uuid.NewString(), Stack: found.Name, Deployments: found.Roots, States: found.States, After: found.After, Options: s.options}
	if w.Bundle, err = s.upload(ctx, d, dir, found.Outside); err != nil {
		return err
	}
	return s.request(ctx, d, w, nil)
}
