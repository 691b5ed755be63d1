package commands

import "testing"

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
