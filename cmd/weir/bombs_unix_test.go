//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// roleEnv has the test binary be the program.
const roleEnv = "WEIR_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "weir" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// doubled is a chain of locals, each made of the one before it.
func doubled(first, next string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  a0 = %s\n", first)
	for i := range 60 {
		fmt.Fprintf(&b, "  a%d = %s\n", i+1, strings.ReplaceAll(next, "LAST", fmt.Sprintf("local.a%d", i)))
	}
	return "locals {\n" + b.String() + "}\noutput \"x\" {\n  value = local.a60\n}\n"
}

// mostMemory is what a plan may take that is requested more than any machine has.
const mostMemory = 1 << 30

// TestBombs plans configurations of a few lines that ask for more than any machine has:
// each ends with a diagnostic that names the place, in little memory.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("some 20 seconds")
	}
	value := func(text string) string { return "output \"x\" {\n  value = " + text + "\n}\n" }
	bombs := map[string]struct{ text, want string }{
		"setproduct":          {value(`setproduct(range(1000), range(1000), range(1000))`), "more than 128 MiB"},
		"format":              {value(`format("%2147483647s", "x")`), "more than 128 MiB"},
		"indent":              {value(`indent(1000000000, "a\nb")`), "more than 128 MiB"},
		"range":               {value(`range(1000000000000)`), "1024"},
		"digits":              {value(`"${1e100000000}"`), "digits"},
		"small digits":        {value(`1e-100000000 * 3`), "digits"},
		"aliases":             {value(`yamldecode(join("\n", concat(["a0: &a0 [x,x,x,x]"], [for i in range(30) : "a${i + 1}: &a${i + 1} [*a${i},*a${i},*a${i}]"])))`), "more than 128 MiB"},
		"rounds":              {value(`[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c]]]`), "more than 1048576 rounds"},
		"attributes":          {value(`{ for a in range(1000) : a => { for b in range(1000) : b => { for c in range(1000) : c => c } } }`), "more than 1048576 rounds"},
		"template rounds":     {value(`templatestring("%%{ for a in l }%%{ for b in l }%%{ for c in l }x%%{ endfor }%%{ endfor }%%{ endfor }", { l = range(1000) })`), "more than 1048576 rounds"},
		"transpose":           {value(`transpose({ (join("", [for i in range(1000) : "0123456789"])) = flatten([for i in range(1000) : [for j in range(100) : "${i}-${j}"]]) })`), "more than 128 MiB"},
		"device":              {value(`file("/dev/zero")`), "more than 128 MiB"},
		"pipe":                {value(`file("pipe")`), "pipe"},
		"texts doubled":       {doubled(`"0123456789"`, `"${LAST}${LAST}"`), "more than 128 MiB"},
		"formatlist doubled":  {doubled(`["0123456789"]`, `formatlist("%s%s", LAST, LAST)`), "more than 128 MiB"},
		"concat doubled":      {doubled(`["x"]`, `concat(LAST, LAST)`), "more than 128 MiB"},
		"flatten doubled":     {doubled(`["x"]`, `flatten([LAST, LAST])`), "more than 128 MiB"},
		"tuples doubled":      {doubled(`"x"`, `[LAST, LAST]`), "more than 128 MiB"},
		"objects doubled":     {doubled(`"x"`, `{ l = LAST, r = LAST }`), "more than 128 MiB"},
		"longer than sources": {"", "may have 64"},
	}
	for name, bomb := range bombs {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "main.tf")
			if err := os.WriteFile(path, []byte(bomb.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if bomb.text == "" {
				if err := os.Truncate(path, 3<<29); err != nil { // no block of it is on the disk
					t.Fatal(err)
				}
			}
			if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "plan", "-no-color", "-input=false")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), roleEnv+"=weir", "HOME="+dir, "TF_CLI_CONFIG_FILE=")
			out, err := cmd.CombinedOutput()
			said := strings.Join(strings.Fields(string(out)), " ")
			if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said, bomb.want) || !strings.Contains(said, "main.tf") || strings.Contains(said, "goroutine ") {
				t.Errorf("%v\n%s", err, out)
			}
			usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			memory := usage.Maxrss // bytes on macOS, else KiB
			if runtime.GOOS != "darwin" {
				memory <<= 10
			}
			if memory > mostMemory {
				t.Errorf("%d MiB", memory>>20)
			}
			t.Logf("%d MiB, %s", memory>>20, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		})
	}
}
