package diag

import (
	"errors"
	"fmt"
	"testing"
)

// TestCommands: what is instructed to be run is known of a problem, however it got into its
// text, and is shown in other words without touching anything else.
func TestCommands(t *testing.T) {
	kind := Code{"kind", "Summary"}
	within := fmt.Errorf("not here: %w", Say("see \"%s\"", Run("state list", "")))
	all := kind.List("run %s, then %s, or %s push; %s; a weir initiative", Run("init", "-upgrade"), Run("init", ""), Command{Program: "w -chdir=x", Name: "state"}, within)
	all = append(all, kind.List("weir init stands in a file, %s", errors.New("weir init"))...)
	got := all.As(func(c Command) Command {
		c.Name = "stacks " + c.Name
		return c
	})
	const want = "run weir stacks init -upgrade, then weir stacks init, or w -chdir=x stacks state push; not here: see \"weir stacks state list\"; a weir initiative"
	if got[0].Detail != want {
		t.Errorf("got %q", got[0].Detail)
	}
	if len(got[0].Commands) != 4 || got[0].Commands[1].String() != "weir stacks init" {
		t.Errorf("commands: %v", got[0].Commands)
	}
	if got[1].Detail != all[1].Detail || got[1].Commands != nil {
		t.Errorf("nobody said that it is a command: %q", got[1].Detail)
	}
	if all[0].Commands[1].Name != "init" {
		t.Error("the list that was given has changed")
	}
	if text := (Command{Program: "w", Name: "recover", Args: "-forget='a'"}).String(); text != "w recover -forget='a'" {
		t.Errorf("got %q", text)
	}
}
