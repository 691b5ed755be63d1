package ways

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

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/front/cli"
	"weir.dev/weir/internal/front/resident"
	"weir.dev/weir/internal/operation/supply"
	"weir.dev/weir/internal/word/memo"
	"weir.dev/weir/internal/word/work"
)

// estateSize is how many resources there may be.
const estateSize = 36

// A folder is where the command line works on a configuration of built-in resources.
type folder struct {
	t       *testing.T
	r       *rand.Rand
	blocks  map[string]string // by name
	narrow  int               // plans that left something out
	changes int
	failed  int
	kept    *resident.Task // what plans go on with, as a daemon's do; nil for nothing
}

// weir runs a command and gives what it says, with lines in no order, its exit code and how
// many objects weren't planned.
func (f *folder) weir(args ...string) (string, int64) {
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
	var kept *resident.Task
	if args[0] == "plan" {
		kept = f.kept
	}
	code := 0
	counts := work.Count(func() {
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
	return fmt.Sprintf("%s\nexit code %d\n", inNoOrder(string(text)), code), counts["unplanned"]
}

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
		var record struct {
			Looks []struct{ Objects map[string]string }
		}
		if strings.Contains(path, "looks") && json.Unmarshal([]byte(data), &record) == nil {
			for _, g := range record.Looks {
				maps.Copy(objects, g.Objects)
			}
		}
	}
	return fmt.Sprint(objects)
}

// same plans what an edit may affect, and then everything, and holds what is said and kept of
// both to one another.
func (f *folder) same(args ...string) {
	f.t.Helper()
	before := files()
	part, unplanned := f.weir(args...)
	after := files()
	all := maps.Clone(before)
	maps.DeleteFunc(all, func(path, _ string) bool { return strings.Contains(path, "affected") })
	f.restore(all)
	cold := *f
	cold.kept = nil
	whole, none := cold.weir(args...)
	if part != whole || none != 0 {
		f.t.Fatalf("%v, %d unplanned:\n%s\nof everything:\n%s\n%s", args, unplanned, part, whole, f.text())
	}
	if p, w := lookedAt(after), lookedAt(files()); p != w {
		f.t.Fatalf("looked at %s\nand of everything: %s", p, w)
	}
	if unplanned > 0 {
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
		switch f.r.IntN(12) {
		case 0:
			delete(f.blocks, name)
		case 1:
			f.blocks["v1"] = fmt.Sprintf("variable \"v\" {\n  default = %d\n}\n", f.r.IntN(3))
		case 2:
			f.blocks["l1"] = fmt.Sprintf("locals {\n  a = %s\n  b = local.a\n}\n", f.value(5))
		case 3:
			f.blocks[fmt.Sprintf("o%d", n)] = fmt.Sprintf("output \"o%d\" {\n  value = %s\n}\n", n, f.value(estateSize))
		case 4:
			f.blocks["m2"] = fmt.Sprintf("moved {\n  from = terraform_data.r%02d\n  to   = terraform_data.%s\n}\n", f.r.IntN(estateSize), name)
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

func (f *folder) resource(name string, n int) string {
	text := fmt.Sprintf("resource \"terraform_data\" %q {\n", name)
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
			text += fmt.Sprintf("  lifecycle {\n    replace_triggered_by = [terraform_data.r%02d]\n  }\n", f.r.IntN(n))
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
	return strings.ReplaceAll(form, "R", fmt.Sprintf("terraform_data.r%02d", i))
}

// age has some objects, or all, looked at long ago.
func (f *folder) age() {
	all := files()
	long := fmt.Sprintf(`"at":%q`, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano))
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
// plan of what an edit may affect says what a plan of everything does, also where it goes on
// with what earlier ones have kept.
func TestEdits(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	narrow, changes, failed := 0, 0, 0
	for seed := range seeds {
		t.Chdir(t.TempDir())
		f := &folder{t: t, r: rand.New(rand.NewPCG(seed, 7)), blocks: map[string]string{}}
		if seed%2 == 1 {
			f.kept = &resident.Task{Programs: new(engine.Programs), Kept: new(supply.Kept), Memo: new(memo.Memo)}
			f.kept.Typed.Reader = strings.NewReader("")
		}
		f.write("m/m.tf", "variable \"in\" {}\nresource \"terraform_data\" \"r\" {\n  input = var.in\n}\noutput \"x\" {\n  value = terraform_data.r.output\n}\n")
		f.write(".terraform/modules/modules.json", `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"./m","Dir":"m"}]}`)
		f.blocks["v1"] = "variable \"v\" {\n  default = 1\n}\n"
		f.blocks["l1"] = "locals {\n  a = 1\n  b = local.a\n}\n"
		for n := range estateSize {
			name := fmt.Sprintf("r%02d", n)
			f.blocks[name] = f.resource(name, n)
		}
		good := maps.Clone(f.blocks)
		for range 8 {
			f.save()
			if said, _ := f.weir("apply", "-auto-approve", "-refresh=auto"); strings.HasSuffix(said, "exit code 0\n") {
				good = maps.Clone(f.blocks)
			} else if f.r.IntN(4) > 0 {
				f.blocks = maps.Clone(good)
				f.save()
			}
			f.weir("plan", "-refresh=auto") // looks at what there is
			f.weir("plan", "-refresh=auto") // is remembered
			for range 3 {
				f.edit()
				f.save()
				args := []string{"plan", "-refresh=auto", "-detailed-exitcode"}
				switch f.r.IntN(12) {
				case 0:
					args = append(args, "-var=v=2")
				case 1:
					f.age()
				}
				f.same(args...)
			}
		}
		narrow, changes, failed = narrow+f.narrow, changes+f.changes, failed+f.failed
	}
	t.Logf("%d plans left something out, %d of them with changes or errors, %d with errors", narrow, changes, failed)
	if narrow < 5*int(seeds) || changes < 2*int(seeds) {
		t.Errorf("only %d plans left something out, %d of them with changes", narrow, changes)
	}
}
