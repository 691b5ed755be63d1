package commands

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/front/screen"
	"weir.dev/weir/internal/word/diag"
)

func TestForStacks(t *testing.T) {
	for _, test := range []struct{ program, deployment, text, want string }{
		{"weir", "dev", "For one that exists:\n    weir recover -import='a=ID'", "For one that exists:\n    weir stacks recover -deployment=dev -import='a=ID'"},
		{"weir", "dev", "Run \"weir init\" to install", "Run \"weir stacks init\" to install"},
		{"weir", "dev", "weir providers lock -platform=x", "weir stacks providers lock -platform=x"},
		{"weir", "dev", "with: weir state rm 'a'", "with: weir stacks state rm -deployment=dev 'a'"},
		{"weir", "", "weir plan", "weir stacks plan"},
		{"weir-1.2", "dev", "with:\n    weir-1.2 recover, or \"weir init\"", "with:\n    weir-1.2 stacks recover -deployment=dev, or \"weir stacks init\""},
		{"w", "dev", "a new recover; new init", "a new recover; new init"},
		{"weir -chdir=../app", "dev", "run weir -chdir=../app recover", "run weir -chdir=../app stacks recover -deployment=dev"},
		{"weir", "dev", "already: weir stacks plan, and weir planning", "already: weir stacks plan, and weir planning"},
	} {
		if got := ForStacks(test.program, test.deployment)(test.text); got != test.want {
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
		{"stacks apply", "-only=x", false}, {"stacks apply", "on", false}, {"worker", "", false}, {"apply", "-on=temporal", false},
	} {
		if got := leaves(test.name, []string{test.arg}); got != test.want {
			t.Errorf("%s %s: %t", test.name, test.arg, got)
		}
	}
	left := ""
	table := Table[int]{All: Durable[int](), Screen: &screen.Screen{}, Leave: func(args []string) (int, diag.List) { left = strings.Join(args, " "); return 7, nil }}
	if code := table.Run(t.Context(), []string{"stacks", "approve", "-deployment=a"}); code != 7 || left != "stacks approve -deployment=a" {
		t.Errorf("it came to %d with %q", code, left)
	}
}
