package completion

import (
	"strings"
	"testing"
)

// TestScripts: each names the program and nothing that stands for it.
func TestScripts(t *testing.T) {
	for _, shell := range Shells {
		text, err := Script(shell, "weir-1.2")
		if err != nil || !strings.Contains(text, "weir-1.2 "+Ask) && !strings.Contains(text, "'weir-1.2' "+Ask) && !strings.Contains(text, `COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" weir-1.2`) || strings.Contains(text, "PROGRAM") || strings.Contains(text, "NAME") {
			t.Errorf("%s: %v\n%s", shell, err, text)
		}
	}
	if _, err := Script("tcsh", "weir"); err == nil {
		t.Error("there is one for tcsh")
	}
}

// TestInstalled: what shells have stays as it was, and installing again has the newest.
func TestInstalled(t *testing.T) {
	for _, text := range []string{"", "a\n", "a\nb"} {
		got := Installed("zsh", "weir", Installed("zsh", "weir", text))
		if !strings.HasPrefix(got, text) || strings.Count(got, "compdef _weir weir") != 1 {
			t.Errorf("after installing:\n%s", got)
		}
		got = Installed("zsh", "weir", strings.Replace(got, "compdef", "older", 1)+"later\n")
		if strings.Contains(got, "older") {
			t.Errorf("after installing again:\n%s", got)
		}
		got = Uninstalled("zsh", "weir", got)
		if strings.TrimSuffix(strings.Replace(got, "later\n", "", 1), "\n") != strings.TrimSuffix(text, "\n") {
			t.Errorf("after all that:\n%s", got)
		}
	}
	if got := Installed("tcsh", "weir", "a"); got != "a" {
		t.Error(got)
	}
}
