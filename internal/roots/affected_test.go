package roots_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/fsfuncs"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/planoptions"
)

// reading are expressions that read files, with %d for a number.
var reading = []string{
	`file("${path.module}/data/a%d.txt")`,
	`templatefile("${path.module}/data/t%d.tftpl", { n = 1 })`,
	`[for f in fileset("${path.module}/data", "*.txt") : filesha256("${path.module}/data/${f}")]`,
	`fileset("${path.module}", "data/**")`,
	`try(file("${path.module}/data/maybe%d.txt"), "none")`,
	`fileexists("${path.module}/data/maybe%d.txt")`,
	`file(local.name)`,
	`{ for k in ["a0", "a1"] : k => filemd5("${path.module}/data/${k}.txt") }`,
	`jsondecode(file(format("%%s/data/j%%d.json", path.module, %d)))`,
}

func (e *edited) module(r *mathrand.Rand, dir string, calls []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "locals {\n  name = \"${path.module}/data/a%d.txt\"\n  reads = [\n", r.IntN(2))
	for range 1 + r.IntN(3) {
		text := reading[r.IntN(len(reading))]
		if strings.Contains(strings.ReplaceAll(text, "%%", ""), "%d") {
			text = fmt.Sprintf(text, r.IntN(2))
		}
		fmt.Fprintf(&b, "    %s,\n", text)
	}
	b.WriteString("  ]\n}\nresource \"terraform_data\" \"a\" { input = jsonencode(local.reads) }\noutput \"out\" { value = terraform_data.a.input }\n")
	for i, c := range calls {
		fmt.Fprintf(&b, "module \"c%d\" { source = \"%s\" }\noutput \"c%d\" { value = module.c%d.out }\n", i, c, i, i)
	}
	for n := range 2 {
		write(e.t, filepath.Join(dir, "data", fmt.Sprintf("a%d.txt", n)), fmt.Sprint(r.IntN(100)))
		write(e.t, filepath.Join(dir, "data", fmt.Sprintf("t%d.tftpl", n)), "n ${n}")
		write(e.t, filepath.Join(dir, "data", fmt.Sprintf("j%d.json", n)), fmt.Sprintf(`{"a":%d}`, n))
	}
	write(e.t, filepath.Join(dir, "README.md"), "about")
	return b.String()
}

// edited is an estate that random edits change.
type edited struct {
	t   *testing.T
	dir string
}

func newEdited(t *testing.T, r *mathrand.Rand) *edited {
	e := &edited{t, t.TempDir()}
	const modules, count = 3, 5
	for n := range modules {
		var calls []string
		if n+1 < modules && r.IntN(2) == 0 {
			calls = append(calls, fmt.Sprintf("../m%d", n+1))
		}
		dir := filepath.Join(e.dir, "shared", fmt.Sprintf("m%d", n))
		write(t, filepath.Join(dir, "main.tf"), e.module(r, dir, calls))
	}
	settings := "root \"live/*\" {}\n"
	for n := range count {
		var calls []string
		for m := range modules {
			if r.IntN(3) == 0 {
				calls = append(calls, fmt.Sprintf("../../shared/m%d", m))
			}
		}
		dir := filepath.Join(e.dir, "live", fmt.Sprintf("r%d", n))
		if r.IntN(2) == 0 {
			inner := filepath.Join(dir, "inner")
			write(t, filepath.Join(inner, "main.tf"), e.module(r, inner, nil))
			calls = append(calls, "./inner")
		}
		text := e.module(r, dir, calls)
		if n > 0 && r.IntN(2) == 0 {
			up := r.IntN(n)
			text += fmt.Sprintf("data \"terraform_remote_state\" \"up\" {\n  backend = \"local\"\n  config = { path = \"../r%d/terraform.tfstate\" }\n}\noutput \"up\" { value = data.terraform_remote_state.up.outputs.out }\n", up)
		}
		text += "variable \"v\" { default = \"\" }\noutput \"v\" { value = var.v }\n"
		write(t, filepath.Join(dir, "main.tf"), text)
		if r.IntN(2) == 0 {
			write(t, filepath.Join(dir, "terraform.tfvars"), "v = 1\n")
		}
		if r.IntN(3) == 0 {
			write(t, filepath.Join(e.dir, "common", fmt.Sprintf("v%d.tfvars", n)), "v = 2\n")
			settings += fmt.Sprintf("root \"live/r%d\" { var_files = [\"../../common/v%d.tfvars\"] }\n", n, n)
		}
	}
	write(t, filepath.Join(e.dir, roots.SettingsFile), settings)
	e.git("init", "-q", "-b", "main")
	e.commit()
	return e
}

func (e *edited) git(args ...string) {
	e.t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"}, args...)...)
	c.Dir = e.dir
	if out, err := c.CombinedOutput(); err != nil {
		e.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (e *edited) commit() { e.git("add", "-A"); e.git("commit", "-q", "--allow-empty", "-m", "edit") }

// files lists all files, with slashes.
func (e *edited) files() (list []string) {
	_ = filepath.WalkDir(e.dir, func(path string, d os.DirEntry, _ error) error {
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			rel, _ := filepath.Rel(e.dir, path)
			list = append(list, filepath.ToSlash(rel))
		}
		return nil
	})
	return list
}

// edit changes, adds or removes a random file, and says which.
func (e *edited) edit(r *mathrand.Rand) string {
	list := e.files()
	name := list[r.IntN(len(list))]
	path := filepath.Join(e.dir, name)
	switch r.IntN(5) {
	case 0: // a new file beside one that exists, perhaps one that something reads when it exists
		names := []string{"data/maybe0.txt", "data/maybe1.txt", "data/b.txt", "extra.tf", "z.auto.tfvars", "terraform.tfvars", "notes.txt", "data/deep/c.json", "other.tfvars"}
		add := names[r.IntN(len(names))]
		dir := filepath.Dir(strings.TrimSuffix(filepath.Dir(path), string(filepath.Separator)+"data") + "/x")
		text := fmt.Sprint(r.IntN(1000))
		switch {
		case strings.HasSuffix(add, ".tf"):
			text = fmt.Sprintf("locals { extra = %d }\n", r.IntN(1000))
		case strings.HasSuffix(add, ".tfvars"):
			text = fmt.Sprintf("v = %d\n", r.IntN(1000))
		}
		write(e.t, filepath.Join(dir, add), text)
		rel, _ := filepath.Rel(e.dir, filepath.Join(dir, add))
		return "write " + rel
	case 1:
		base := filepath.Base(name)
		if base != "main.tf" && base != roots.SettingsFile {
			if err := os.Remove(path); err != nil {
				e.t.Fatal(err)
			}
			return "remove " + name
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		e.t.Fatal(err)
	}
	switch filepath.Ext(name) {
	case ".tf":
		if r.IntN(3) == 0 {
			write(e.t, path, string(text)+fmt.Sprintf("# %d\n", r.IntN(1000)))
		} else {
			write(e.t, path, string(text)+fmt.Sprintf("output \"o%d\" { value = %d }\n", r.IntN(1e9), r.IntN(1000)))
		}
	case ".tfvars":
		write(e.t, path, fmt.Sprintf("v = %d\n", r.IntN(1000)))
	case ".hcl":
		write(e.t, path, string(text)+fmt.Sprintf("# %d\n", r.IntN(1000)))
	case ".json":
		write(e.t, path, fmt.Sprintf(`{"a":%d}`, r.IntN(1000)))
	default:
		write(e.t, path, fmt.Sprint(r.IntN(1000)))
	}
	return "change " + name
}

// A compiled root is all that its plan came from, as planning it found out, and what the plan has.
type compiled struct{ inputs, plan string }

// compile plans all roots and keeps what each has read.
func (e *edited) compile() (map[string]compiled, *roots.Estate) {
	e.t.Helper()
	estate, diags := roots.Find(e.t.Context(), directory(e.t, e.dir), environment.Reports{})
	if diags.HasErrors() {
		e.t.Fatal(diags)
	}
	list, diags := estate.Choose(e.t.Context(), roots.Choice{})
	if diags.HasErrors() {
		e.t.Fatal(diags)
	}
	run := roots.NewRun(estate, list, false)
	all := map[string]compiled{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, root := range list {
		wait.Go(func() {
			run.Begin()
			d := root.Dir.With(environment.Reports{})
			defer d.Close()
			one := e.compileOne(run, root, d)
			mu.Lock()
			all[root.Name] = one
			mu.Unlock()
		})
	}
	wait.Wait()
	return all, estate
}

func (e *edited) compileOne(run *roots.Run, root *roots.Root, d *workspace.Directory) (c compiled) {
	done := false
	defer func() { run.End(root, done) }()
	subject := run.Subject(root, d)
	w, diags := d.Open(e.t.Context(), subject, workspace.Opening{Operation: "plan", Loading: workspace.Loading{Vars: root.Vars, Record: true, InPlace: true}})
	if w == nil {
		return compiled{plan: problems(diags)}
	}
	defer w.Unlock()
	made, diags := w.Plan(e.t.Context(), planoptions.Planning{AllowDeferral: true})
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.Config.Sources)) {
		fmt.Fprintf(&b, "%s %x\n", name, sha256.Sum256(w.Config.Sources[name]))
	}
	record, err := json.Marshal(w.Config.World.Files.(*fsfuncs.Recorder).Record())
	if err != nil {
		e.t.Fatal(err)
	}
	fmt.Fprintf(&b, "%s\n", record)
	for _, name := range slices.Sorted(maps.Keys(w.Config.Inputs)) {
		fmt.Fprintf(&b, "%s = %#v\n", name, w.Config.Inputs[name].Value)
	}
	c.inputs = b.String()
	if made == nil || diags.HasErrors() {
		c.plan = problems(diags)
		return c
	}
	run.Planned(root, w, made)
	done = true
	for _, change := range made.Changes {
		c.plan += fmt.Sprintf("%s %s %#v\n", change.Addr, change.Action, change.After)
	}
	for _, o := range made.Outputs {
		c.plan += fmt.Sprintf("%s %#v\n", o.Name, o.After)
	}
	return c
}

func problems(l diag.List) string {
	var lines []string
	for _, d := range l.Only(diag.Error) {
		lines = append(lines, d.Summary+" "+d.Detail)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestAffected compares -affected with brute force: the roots whose inputs or plans differ before and
// after random edits, and those downstream of them. None is missed. EDITS is how many are made.
func TestAffected(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	edits, _ := strconv.Atoi(os.Getenv("EDITS"))
	if edits == 0 {
		edits = 40
	}
	const each = 20 // edits of one estate
	var named, differ, more int
	for n := 0; n < edits; n += each {
		r := mathrand.New(mathrand.NewPCG(uint64(n), 2)) // #nosec G404 -- a test is repeated by its seed
		e := newEdited(t, r)
		before, _ := e.compile()
		for k := range each {
			what := fmt.Sprintf("estate %d, edit %d: %s", n, k, e.edit(r))
			after, estate := e.compile()
			differs := map[string]bool{}
			for name := range after {
				differs[name] = after[name] != before[name]
			}
			for again := true; again; {
				again = false
				for _, root := range estate.Roots {
					for _, up := range root.Upstreams() {
						if differs[up.Name] && !differs[root.Name] {
							differs[root.Name], again = true, true
						}
					}
				}
			}
			list, diags := estate.Choose(t.Context(), roots.Choice{Affected: "HEAD"})
			if diags.HasErrors() {
				t.Fatal(what, diags)
			}
			affected := roots.Names(list)
			for name, is := range differs {
				switch found := slices.Contains(affected, name); {
				case is && !found:
					t.Errorf("%s: %s is missed; affected are %v\nbefore %s\nafter %s", what, name, affected, before[name], after[name])
				case is:
					named, differ = named+1, differ+1
				case found:
					named, more = named+1, more+1
					unread := strings.Contains(what, "README.md") || strings.Contains(what, "notes.txt")
					// A root that can't be read may have read it, and any root may read the state of that one.
					torn := func(r *roots.Root) bool { return r.Problems.HasErrors() }
					root := estate.Roots[slices.Index(roots.Names(estate.Roots), name)]
					if unread && !torn(root) && !(len(root.AffectedBy.Files) == 0 && slices.ContainsFunc(estate.Roots, torn)) {
						t.Errorf("%s: %s reads nothing of it", what, name)
					}
				}
			}
			if t.Failed() {
				return
			}
			before = after
			e.commit()
		}
	}
	t.Logf("%d edits: %d roots differ, %d are named, %d of them read as before", edits, differ, named, more)
}
