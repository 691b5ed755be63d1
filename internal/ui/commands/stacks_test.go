package commands

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/output"
)

func TestForStacks(t *testing.T) {
	for _, test := range []struct {
		program, deployment string
		is                  diag.Command
		want                string
	}{
		{"weir", "dev", diag.Run("recover", "-import='a=ID'"), "weir stacks recover -deployment=dev -import='a=ID'"},
		{"weir", "dev", diag.Run("init", "-upgrade"), "weir stacks init -upgrade"},
		{"weir", "dev", diag.Run("providers lock", "-platform=x"), "weir stacks providers lock -platform=x"},
		{"weir", "dev", diag.Run("state rm", "'a'"), "weir stacks state rm -deployment=dev 'a'"},
		{"weir", "", diag.Run("plan", ""), "weir stacks plan"},
		{"weir-1.2", "dev", diag.Run("init", ""), "weir-1.2 stacks init"},
		{"weir", "dev", diag.Command{Program: "weir -chdir=../app", Name: "recover"}, "weir -chdir=../app stacks recover -deployment=dev"},
		{"weir", "dev", diag.Run("workspace new", "NAME"), "weir workspace new NAME"},
	} {
		if got := ForStacks(test.program, test.deployment)(test.is).String(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// TestLeaves: which commands another program does.
func TestLeaves(t *testing.T) {
	for _, test := range []struct {
		name, arg string
		want      bool
	}{
		{"stacks worker", "", true}, {"stacks list", "-help", true}, {"stacks apply", "", false}, {"stacks apply", "-on=temporal", true},
		{"stacks destroy", "--on=local", true}, {"stacks recover", "-on", true}, {"stacks plan", "-on=temporal", false},
		{"stacks apply", "-only=x", false}, {"stacks apply", "on", false}, {"worker", "", false}, {"apply", "-on=temporal", true}, {"apply", "-all", false},
		{"destroy", "-on=temporal", true}, {"plan", "-on=temporal", false},
	} {
		if got := leaves(test.name, []string{test.arg}); got != test.want {
			t.Errorf("%s %s: %t", test.name, test.arg, got)
		}
	}
	left := ""
	table := Table[int]{All: Durable[int](), Screen: &output.Screen{}, Leave: func(args []string) (int, diag.List) { left = strings.Join(args, " "); return 7, nil }}
	if code := table.Run(t.Context(), []string{"stacks", "approve", "-deployment=a"}); code != 7 || left != "stacks approve -deployment=a" {
		t.Errorf("it came to %d with %q", code, left)
	}
}
