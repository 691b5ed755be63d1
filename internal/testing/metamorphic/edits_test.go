package metamorphic

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/incremental/parsecache"
	"weir.dev/weir/internal/ui/cli"
	"weir.dev/weir/internal/ui/daemonserver"
	"weir.dev/weir/internal/workspace/providersource"
)

// estateSize is how many resources there may be.
const estateSize = 36

// A folder is where a configuration is worked on.
type folder struct {
	t *testing.T
	r *rand.Rand
	// run does a command: it gives all that is said, with lines in no order, with the exit code
	// at the end, and how many objects weren't planned.
	run     func(f *folder, args ...string) (string, int64)
	typ     func(n int) string // the type of the n-th resource
	now     func() time.Time
	more    func(f *folder, n int) // edits something that only some configurations have
	blocks  map[string]string      // by name
	narrow  int                    // plans that left something out
	changes int
	failed  int
	kept    *daemonserver.Task // what plans go on with, as a daemon's do; nil for nothing
}

// name is the address of the n-th resource.
func (f *folder) name(n int) string { return fmt.Sprintf("%s.r%02d", f.typ(n), n) }

// line runs the command line.
func line(f *folder, args ...string) (string, int64) {
	f.t.Helper()
	out, err := os.CreateTemp(f.t.TempDir(), "")
	if err != nil {
		f.t.Fatal(err)
	}
	defer out.Close()
	none, err := os.Open(os.DevNull)
	if err != nil {
		f.t.Fatal(err)
	}
	defer none.Close()
	var kept *daemonserver.Task
	if args[0] == "plan" {
		kept = f.kept
	}
	code := 0
	counts := metrics.Count(func() {
		code = cli.Run(cli.Process{
			Context: context.Background(), Args: append([]string{"weir"}, args...),
			Environ: []string{"WEIR_DAEMON=off", "NO_COLOR=1", "TF_CLI_CONFIG_FILE=/dev/null"},
			In:      none, Out: out, Err: out, Getwd: os.Getwd, Chdir: os.Chdir, Home: f.t.TempDir(), Task: kept,
		})
	})
	text, err := os.ReadFile(out.Name())
	if err != nil {
		f.t.Fatal(err)
	}
	return fmt.Sprintf("%s\nexit code %d\n", inNoOrder(string(unplanned.ReplaceAll(text, []byte("$1")))), code), counts["unplanned"]
}

// unplanned is what only plans of a part say.
var unplanned = regexp.MustCompile(`(\(-refresh=auto\)\.)(?s: +.*?edited\.)`)

// inNoOrder sorts the lines that objects are read by.
func inNoOrder(text string) string {
	var reads, rest []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, ": Refreshing state...") || strings.Contains(line, ": Reading...") || strings.Contains(line, ": Read complete") {
			reads = append(reads, line)
		} else {
			rest = append(rest, line)
		}
	}
	slices.Sort(reads)
	return strings.Join(append(reads, rest...), "")
}

// files are what the data directory has, by path.
func files() map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(".terraform", func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			data, _ := os.ReadFile(path)
			all[path] = string(data)
		}
		return nil
	})
	return all
}

func (f *folder) restore(all map[string]string) {
	if err := os.RemoveAll(".terraform"); err != nil {
		f.t.Fatal(err)
	}
	for path, data := range all {
		f.write(path, data)
	}
}

func (f *folder) write(path, data string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

var times = regexp.MustCompile(`"at":"[^"]*"`)

// lookedAt is the record of looks but for the times, each object with what it was.
func lookedAt(all map[string]string) string {
	objects := map[string]string{}
	for path, data := range all {
		if !strings.Contains(path, "looks") {
			continue
		}
		for line := range strings.Lines(data) {
			var record struct {
				Looks []struct{ Objects map[string]string }
			}
			if json.Unmarshal([]byte(line), &record) != nil {
				return "damaged: " + line
			}
			for _, g := range record.Looks {
				maps.Copy(objects, g.Objects)
			}
		}
	}
	maps.DeleteFunc(objects, func(_, what string) bool { return what == "" })
	return fmt.Sprint(objects)
}

// same plans what an edit may affect, and then everything, and holds what is said and kept of
// both to one another.
func (f *folder) same(args ...string) {
	f.t.Helper()
	before := files()
	part, left := f.run(f, args...)
	after := files()
	all := maps.Clone(before)
	maps.DeleteFunc(all, func(path, _ string) bool { return strings.Contains(path, "affected") })
	f.restore(all)
	cold := *f
	cold.kept = nil
	whole, none := cold.run(&cold, args...)
	if part != whole || none != 0 {
		f.t.Fatalf("%v, %d unplanned:\n%s\nof everything:\n%s\n%s", args, left, part, whole, f.text())
	}
	if p, w := lookedAt(after), lookedAt(files()); p != w {
		f.t.Fatalf("looked at %s\nand of everything: %s", p, w)
	}
	if left > 0 {
		f.narrow++
		if !strings.Contains(part, "exit code 0") {
			f.changes++
		}
		if strings.Contains(part, "exit code 1") {
			f.failed++
		}
	}
	if f.r.IntN(3) > 0 {
		f.restore(after)
	}
}

func (f *folder) text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f.blocks)) {
		b.WriteString(f.blocks[name])
	}
	return b.String()
}

// save writes the blocks into a few files.
func (f *folder) save() {
	texts := []string{"", "", ""}
	for _, name := range slices.Sorted(maps.Keys(f.blocks)) {
		texts[int(name[len(name)-1])%3] += f.blocks[name] + []string{"", "\n", "# nothing\n"}[max(0, f.r.IntN(60)-57)]
	}
	for i, text := range texts {
		f.write(fmt.Sprintf("f%d.tf", i), text)
	}
}

// edit changes, adds or removes a few blocks.
func (f *folder) edit() {
	for range 1 + f.r.IntN(3) {
		n := f.r.IntN(estateSize)
		name := fmt.Sprintf("r%02d", n)
		switch f.r.IntN(14) {
		case 12, 13:
			if f.more != nil {
				f.more(f, n)
			}
		case 0:
			delete(f.blocks, name)
		case 1:
			f.blocks["v1"] = fmt.Sprintf("variable \"v\" {\n  default = %d\n}\n", f.r.IntN(3))
		case 2:
			f.blocks["l1"] = fmt.Sprintf("locals {\n  a = %s\n  b = local.a\n}\n", f.value(5))
		case 3:
			f.blocks[fmt.Sprintf("o%d", n)] = fmt.Sprintf("output \"o%d\" {\n  value = %s\n}\n", n, f.value(estateSize))
		case 4:
			f.blocks["m2"] = f.moved(n)
		case 5:
			delete(f.blocks, []string{"m2", "m3", "d1", "l1"}[f.r.IntN(4)])
		case 6:
			f.blocks["m3"] = fmt.Sprintf("module \"m\" {\n  source = \"./m\"\n  in = %s\n}\n", f.value(estateSize))
		case 7:
			f.blocks["c1"] = fmt.Sprintf("check \"c\" {\n  assert {\n    condition = length(%s) < 60\n    error_message = \"Long.\"\n  }\n}\n", "jsonencode("+f.value(estateSize)+")")
		default:
			f.blocks[name] = f.resource(name, n)
		}
	}
}

// moved is a block for the n-th resource, which was another of its type.
func (f *folder) moved(n int) string {
	from := f.r.IntN(estateSize)
	for f.typ(from) != f.typ(n) {
		from = f.r.IntN(estateSize)
	}
	return fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}\n", f.name(from), f.name(n))
}

func (f *folder) resource(name string, n int) string {
	text := fmt.Sprintf("resource %q %q {\n", f.typ(n), name)
	switch n % 6 {
	case 0:
		text += fmt.Sprintf("  count = %d\n", 1+f.r.IntN(3))
	case 1:
		text += fmt.Sprintf("  for_each = toset([\"a\", %q])\n", string(rune('a'+f.r.IntN(3))))
	}
	switch f.r.IntN(5) {
	case 0:
		text += "  input = <<E\n{\n}\n${" + f.value(n) + " == 1}\nE\n"
	case 1:
		text += "  triggers_replace = " + f.value(n) + "\n"
	default:
		text += "  input = " + f.value(n) + "\n"
	}
	switch f.r.IntN(6) {
	case 0:
		text += "  lifecycle {\n    create_before_destroy = true\n  }\n"
	case 1:
		text += "  lifecycle {\n    ignore_changes = [input]\n  }\n"
	case 2:
		if n > 0 {
			text += fmt.Sprintf("  lifecycle {\n    replace_triggered_by = [%s]\n  }\n", f.name(f.r.IntN(n)))
		}
	case 3:
		text += "  lifecycle {\n    precondition {\n      condition = var.v < 2\n      error_message = \"Much.\"\n    }\n  }\n"
	}
	return text + "}\n"
}

// value is an expression that may refer to the first n resources, which may not exist.
func (f *folder) value(n int) string {
	if n == 0 || f.r.IntN(4) > 0 {
		return []string{"1", "\"x\"", "var.v", "upper(terraform.workspace)", "\"y\"", "{ k = var.v }", "fileexists(\"f0.tf\")"}[f.r.IntN(13)%7]
	}
	i := f.r.IntN(n)
	if f.r.IntN(30) > 0 { // one that there is
		for range estateSize {
			if f.blocks[fmt.Sprintf("r%02d", i)] != "" {
				break
			}
			i = (i + 1) % n
		}
	}
	if f.blocks[fmt.Sprintf("r%02d", i)] == "" && f.r.IntN(20) > 0 {
		return "1"
	}
	form := []string{"R[*]", "jsonencode(R)", "try(R.id, \"none\")", "try(R.output, local.b, 1)"}[f.r.IntN(min(4, 2+2*(i%6/2)))]
	return strings.ReplaceAll(form, "R", f.name(i))
}

// age has some objects, or all, looked at long ago.
func (f *folder) age() {
	all := files()
	long := fmt.Sprintf(`"at":%q`, f.now().Add(-time.Hour).UTC().Format(time.RFC3339Nano))
	for path, data := range all {
		if strings.Contains(path, "looks") {
			n, which := strings.Count(data, `"at"`), 0
			if n > 0 {
				which = f.r.IntN(n)
			}
			i := -1
			all[path] = times.ReplaceAllStringFunc(data, func(at string) string {
				if i++; i == which {
					return long
				}
				return at
			})
		}
	}
	f.restore(all)
}

// TestEdits: over histories of edits, applies, other workspaces' values and lost records, a
// plan of what an edit may affect says what a plan of everything does, also where it continues
// with what earlier ones have kept.
func TestEdits(t *testing.T) {
	histories(t, 12, 5, func(seed uint64, f *folder) {
		f.run, f.typ, f.now = line, func(int) string { return "terraform_data" }, time.Now
		if seed%2 == 1 {
			f.kept = &daemonserver.Task{Programs: new(engine.Programs), Kept: new(providersource.Kept), Memo: new(parsecache.Memo)}
			f.kept.Typed.Reader = strings.NewReader("")
		}
	})
}

// histories goes through histories in folders that begin prepares. At least so many plans of
// each have to leave something out.
func histories(t *testing.T, seeds uint64, least int, begin func(seed uint64, f *folder)) {
	if testing.Short() {
		seeds /= 4
	}
	narrow, changes, failed := 0, 0, 0
	for seed := range seeds {
		t.Chdir(t.TempDir())
		f := &folder{t: t, r: rand.New(rand.NewPCG(seed, 7)), blocks: map[string]string{}}
		begin(seed, f)
		f.module()
		f.write(".terraform/modules/modules.json", `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"./m","Dir":"m"}]}`)
		f.blocks["v1"] = "variable \"v\" {\n  default = 1\n}\n"
		f.blocks["l1"] = "locals {\n  a = 1\n  b = local.a\n}\n"
		for n := range estateSize {
			name := fmt.Sprintf("r%02d", n)
			f.blocks[name] = f.resource(name, n)
		}
		f.history()
		narrow, changes, failed = narrow+f.narrow, changes+f.changes, failed+f.failed
	}
	t.Logf("%d plans left something out, %d of them with changes or errors, %d with errors", narrow, changes, failed)
	if narrow < least*int(seeds) || changes < 2*int(seeds) {
		t.Errorf("only %d plans left something out, %d of them with changes", narrow, changes)
	}
}

// module writes the module that may be called.
func (f *folder) module() {
	f.write("m/m.tf", fmt.Sprintf("variable \"in\" {}\nresource %q \"r\" {\n  input = [var.in, %d]\n}\noutput \"x\" {\n  value = %s.r.output\n}\n", f.typ(0), f.r.IntN(2), f.typ(0)))
}

// history edits, plans and applies for a while.
func (f *folder) history() {
	good := maps.Clone(f.blocks)
	for range 8 {
		f.save()
		if said, _ := f.run(f, "apply", "-auto-approve", "-refresh=auto"); strings.HasSuffix(said, "exit code 0\n") {
			good = maps.Clone(f.blocks)
		} else if f.r.IntN(4) > 0 {
			f.blocks = maps.Clone(good)
			f.save()
		}
		f.run(f, "plan", "-refresh=auto") // refreshes every object
		f.run(f, "plan", "-refresh=auto") // is remembered
		for range 3 {
			f.edit()
			f.save()
			args := []string{"plan", "-refresh=auto", "-detailed-exitcode"}
			switch f.r.IntN(12) {
			case 0:
				args = append(args, "-var=v=2")
			case 1:
				f.age()
			case 2:
				f.module()
			}
			f.same(args...)
		}
	}
}
