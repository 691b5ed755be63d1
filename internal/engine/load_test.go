package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
)

// counted are files in memory that count how often each is read.
type counted struct {
	files map[string]string
	mu    sync.Mutex
	reads map[string]int
}

func (c *counted) List(dir string) ([]string, error) {
	var names []string
	for path := range c.files {
		if filepath.Dir(path) == filepath.Clean(dir) {
			names = append(names, filepath.Base(path))
		}
	}
	return names, nil
}

func (c *counted) ReadFile(path string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads[path]++
	return []byte(c.files[path]), nil
}

// load loads a configuration whose modules are all local.
func load(t *testing.T, files map[string]string) (*Config, *counted, int, diag.List) {
	t.Helper()
	c := &counted{files: files, reads: map[string]int{}}
	requests := 0
	config, diags := Load(context.Background(), LoadOptions{Dir: ".", Files: c, Resolve: func(_ context.Context, r module.Request) (string, diag.List) {
		requests++
		return filepath.Join(r.ParentDir, r.Source), nil
	}})
	return config, c, requests, diags
}

func TestSourcesAreLoadedOnce(t *testing.T) {
	files := map[string]string{"main.tf": `module "m" {
  count  = 200
  source = "./m${count.index % 5}"
}`}
	for i := range 5 {
		files[fmt.Sprintf("m%d/main.tf", i)] = `output "v" { value = 1 }`
	}
	config, c, requests, diags := load(t, files)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for path, n := range c.reads {
		if n != 1 {
			t.Errorf("%s was read %d times", path, n)
		}
	}
	if len(c.reads) != 6 || config.Compiled != 6 {
		t.Errorf("%d files were read and %d programs compiled, want 6: the root's and 5 modules'", len(c.reads), config.Compiled)
	}
	if requests != 200 || len(config.Installed) != 200 {
		t.Errorf("%d requests and %d keys, want one for each of 200 instances", requests, len(config.Installed))
	}
	if n := len(config.Tree.Variants[addr.Mod("m")]); n != 5 {
		t.Errorf("the tree has %d variants, want 5", n)
	}
	if config.Tree.At(`module.m[3]`).Program.Dir != "m3" || config.Tree.At(`module.m[200]`) != nil {
		t.Error("the tree finds other programs for instances than they load")
	}
}

func TestKeysOfInstalledModules(t *testing.T) {
	tests := []struct {
		name, main, outer string
		want              string
	}{
		{"constant", `module "m" {
  for_each = toset(["a", "b"])
  source   = "./x"
}`, "", "m"},
		{"agreeing", `module "m" {
  for_each = { a = "x", b = "x" }
  source   = "./${each.value}"
}`, "", "m"},
		{"varying", `module "m" {
  for_each = { a = "x", b = "y" }
  source   = "./${each.value}"
}`, "", `m["a"] m["b"]`},
		{"below", `module "o" {
  for_each = { a = "x", b = "y" }
  source   = "./o"
  dir      = each.value
}`, `variable "dir" {}
module "m" { source = "../${var.dir}" }
module "n" { source = "../x" }`, `o o.n o["a"].m o["b"].m`},
		{"agreeing below", `module "o" {
  count  = 2
  source = "./o"
  dir    = count.index > 5 ? "x" : "y"
}`, `variable "dir" {}
module "m" { source = "../${var.dir}" }`, `o o.m`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, _, _, diags := load(t, map[string]string{
				"main.tf": test.main, "o/main.tf": test.outer, "x/main.tf": `output "x" { value = 1 }`, "y/main.tf": `output "y" { value = 1 }`,
			})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if got := strings.Join(config.Installed, " "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestTooManyModules: a tree of modules that doubles at each level ends with one problem.
func TestTooManyModules(t *testing.T) {
	before := program.MaxModules
	defer func() { program.MaxModules = before }()
	program.MaxModules = 1000
	files := map[string]string{"main.tf": "module \"a\" {\n  source = \"./m1\"\n}\n"}
	for i := 1; i < 40; i++ {
		files[fmt.Sprintf("m%d/main.tf", i)] = fmt.Sprintf("module \"a\" {\n  source = \"../m%d\"\n}\nmodule \"b\" {\n  source = \"../m%d\"\n}\n", i+1, i+1)
	}
	files["m40/main.tf"] = ""
	_, _, requests, diags := load(t, files)
	if requests > program.MaxModules || len(diags) != 1 || !diag.TooLarge.Is(diags[0]) || !strings.Contains(diags[0].Detail, "WEIR_MAX_MODULES") {
		t.Errorf("%d requests, %v", requests, diags)
	}
	// As many as are allowed are fine, also one by one.
	for _, config := range []string{"module \"a\" {\n  count  = 1000\n  source = \"./m40\"\n}\n", "module \"a\" {\n  count  = 999\n  source = \"./m${40 + 0 * count.index}\"\n}\n"} {
		if _, _, _, diags := load(t, map[string]string{"main.tf": config, "m40/main.tf": "output \"a\" { value = 1 }"}); diags.HasErrors() {
			t.Error(diags)
		}
	}
}

// TestFailedLoad: a module that can't be fetched fails the span of the load.
func TestFailedLoad(t *testing.T) {
	for _, fails := range []bool{false, true} {
		var spans []*trace.Span
		run := &trace.Run{Now: time.Now, NewID: func() trace.SpanID { return trace.SpanID{1} }, Ended: func(s *trace.Span) { spans = append(spans, s) }}
		ctx, command := run.Begin(t.Context(), trace.SpanID{}, "init")
		files := &counted{files: map[string]string{"main.tf": `module "m" { source = "./m" }`, "m/main.tf": ""}, reads: map[string]int{}}
		_, diags := Load(ctx, LoadOptions{Dir: ".", Files: files, Resolve: func(context.Context, module.Request) (string, diag.List) {
			if fails {
				return "", diag.BadSource.List("The server doesn't answer.")
			}
			return "m", nil
		}})
		command.End(diags.HasErrors())
		if len(spans) != 2 || spans[0].Name != "load" || spans[0].Failed != fails || diags.HasErrors() != fails {
			t.Errorf("fails %v: %+v, %v", fails, spans, diags)
		}
	}
}
