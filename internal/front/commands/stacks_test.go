package commands

import "testing"

func TestForStacks(t *testing.T) {
	for _, test := range []struct{ deployment, text, want string }{
		{"dev", "For one that exists:\n    weir recover -import='a=ID'", "For one that exists:\n    weir stacks recover -deployment=dev -import='a=ID'"},
		{"dev", "Run \"weir init\" to install", "Run \"weir stacks init\" to install"},
		{"dev", "weir providers lock -platform=x", "weir stacks providers lock -platform=x"},
		{"dev", "with: weir state rm 'a'", "with: weir stacks state rm -deployment=dev 'a'"},
		{"", "weir plan", "weir stacks plan"},
		{"dev", "run weir -chdir=../app recover", "run weir -chdir=../app stacks recover -deployment=dev"},
		{"dev", "already: weir stacks plan, and weir planning", "already: weir stacks plan, and weir planning"},
	} {
		if got := ForStacks(test.deployment)(test.text); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
