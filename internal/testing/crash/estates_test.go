//go:build unix

package crash

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A part is written as a root, which reads the states of others, and as a module of one large root.
type part struct {
	count, version int
	upstream       []int
}

// text is a part with references to the parts that it reads. Some names have ids of upstream objects,
// which are known only after those are created.
func (p *part) text(n int, refer func(up int) string) string {
	words := []string{fmt.Sprintf("v%d", p.version)}
	for _, up := range p.upstream {
		words = append(words, "${"+refer(up)+".word}")
	}
	text := fmt.Sprintf(`terraform {
  required_providers {
    world = { source = %q }
  }
}
resource "world_object" "o" {
  count = %d
  name  = "r%[3]d-${count.index}-%s"
}
output "word" { value = "w%[3]d%[5]d" }
output "id" { value = world_object.o[0].id }
`, source, p.count, n, strings.Join(words, "+"), p.version)
	for _, up := range p.upstream {
		text += fmt.Sprintf("resource \"world_object\" \"d%[2]d\" { name = \"d%[1]d-%[2]d of ${%[3]s.id}\" }\n", n, up, refer(up))
	}
	return text
}

// An estates is both forms of the same parts, each with a cloud of its own.
type estates struct {
	t             *testing.T
	r             *rand.Rand
	parts         []*part
	cut, whole    *world
	all, large    *run
	killed, doubt int
}

func newEstates(t *testing.T, seed uint64) *estates {
	e := &estates{t: t, r: rand.New(rand.NewPCG(seed, 5))} // #nosec G404 -- a test is repeated by its seed
	for n := range 2 + e.r.IntN(3) {
		p := &part{count: 1 + e.r.IntN(4), version: 1}
		for up := range n {
			if e.r.IntN(2) == 0 {
				p.upstream = append(p.upstream, up)
			}
		}
		e.parts = append(e.parts, p)
	}
	var reattach string
	e.cut, reattach = serve(t)
	e.all = &run{t: t, dir: t.TempDir(), reattach: reattach}
	e.whole, reattach = serve(t)
	e.large = &run{t: t, dir: t.TempDir(), reattach: reattach}
	return e
}

func (e *estates) file(path, text string) {
	e.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		e.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

func (e *estates) write() {
	e.t.Helper()
	var calls strings.Builder
	for n, p := range e.parts {
		root := "terraform {\n  backend \"local\" {}\n}\n" + p.text(n, func(up int) string { return fmt.Sprintf("data.terraform_remote_state.m%d.outputs", up) })
		module := p.text(n, func(up int) string { return fmt.Sprintf("var.m%d", up) })
		fmt.Fprintf(&calls, "module \"m%d\" {\n  source = \"./m%[1]d\"\n", n)
		for _, up := range p.upstream {
			root += fmt.Sprintf("data \"terraform_remote_state\" \"m%d\" {\n  backend = \"local\"\n  config = { path = \"../m%[1]d/terraform.tfstate\" }\n}\n", up)
			module += fmt.Sprintf("variable \"m%d\" {}\n", up)
			fmt.Fprintf(&calls, "  m%d = module.m%[1]d\n", up)
		}
		calls.WriteString("}\n")
		e.file(filepath.Join(e.all.dir, fmt.Sprintf("m%d", n), "main.tf"), root)
		e.file(filepath.Join(e.large.dir, fmt.Sprintf("m%d", n), "main.tf"), module)
	}
	e.file(filepath.Join(e.large.dir, "main.tf"), calls.String())
}

// weir runs the program without a data directory that all roots would share.
func (e *estates) weir(r *run, env []string, args ...string) (string, bool) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = r.dir
	cmd.Env = append(append(os.Environ(), roleEnv+"=1", "TF_REATTACH_PROVIDERS="+r.reattach, "TF_IN_AUTOMATION=1", "TF_DATA_DIR=", "NO_COLOR=1"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func (e *estates) must(r *run, args ...string) string {
	e.t.Helper()
	out, ok := e.weir(r, nil, args...)
	if !ok {
		e.t.Fatalf("%v failed:\n%s", args, out)
	}
	return out
}

var doubted = regexp.MustCompile(`(?m)^  (world_object\.(o|d\d+)(?:\[(\d+)\])?)$`)

// resolve answers what is in doubt in each root by what exists.
func (e *estates) resolve() {
	e.t.Helper()
	e.cut.quiet(e.t)
	live := e.cut.live()
	known := map[string]bool{}
	for n := range e.parts {
		text, err := os.ReadFile(filepath.Join(e.all.dir, fmt.Sprintf("m%d", n), "terraform.tfstate"))
		if err != nil {
			continue
		}
		var s struct {
			Resources []struct {
				Instances []struct{ Attributes struct{ ID string } }
			}
		}
		if err := json.Unmarshal(text, &s); err != nil {
			e.t.Fatalf("the state of m%d is torn: %v", n, err)
		}
		for _, r := range s.Resources {
			for _, i := range r.Instances {
				known[i.Attributes.ID] = true
			}
		}
	}
	for n := range e.parts {
		chdir := fmt.Sprintf("-chdir=m%d", n)
		out, ok := e.weir(e.all, nil, chdir, "recover")
		if !ok {
			e.t.Fatalf("recover in m%d:\n%s", n, out)
		}
		found := doubted.FindAllStringSubmatch(out, -1)
		if found == nil {
			continue
		}
		args := []string{chdir, "recover", "-forget-all"}
		for _, m := range found {
			e.doubt++
			begin := fmt.Sprintf("r%d-%s-", n, m[3])
			if m[3] == "" {
				begin = fmt.Sprintf("d%d-%s of", n, m[2][1:])
			}
			for id, name := range live {
				if !known[id] && strings.HasPrefix(name, begin) {
					args = append(args, "-import="+m[1]+"="+id)
				}
			}
		}
		e.must(e.all, args...)
	}
}

// content are the names of what exists, in which ids stand for the names of their objects.
func content(w *world) []string {
	live := w.live()
	var names []string
	for _, name := range live {
		if i := strings.LastIndex(name, "id-"); i >= 0 {
			name = name[:i] + "(" + live[name[i:]] + ")"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// edit changes one part.
func (e *estates) edit() {
	p := e.parts[e.r.IntN(len(e.parts))]
	if e.r.IntN(2) == 0 {
		p.count = 1 + e.r.IntN(4)
	} else {
		p.version++
	}
}

// TestEstates applies all roots of random estates together and kills the program again and again. In the
// end exactly the objects exist that one large root makes. HISTORIES is how many estates there are.
func TestEstates(t *testing.T) {
	histories, _ := strconv.Atoi(os.Getenv("HISTORIES"))
	if histories == 0 {
		histories = 3
		if testing.Short() {
			histories = 1
		}
	}
	first, _ := strconv.ParseUint(os.Getenv("FIRST"), 10, 64)
	killed, doubts := 0, 0
	for seed := first; seed < first+uint64(histories); seed++ {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			e := newEstates(t, seed)
			e.write()
			e.must(e.all, "init", "-all")
			e.must(e.large, "init")
			for range 2 {
				e.write()
				for range 1 + e.r.IntN(3) {
					if _, done := e.weir(e.all, []string{fmt.Sprintf("%s=%d", pointEnv, 1+e.r.IntN(30*len(e.parts)))}, "apply", "-all", "-auto-approve"); !done {
						e.killed++
						e.resolve()
					}
				}
				e.must(e.all, "apply", "-all", "-auto-approve")
				e.must(e.large, "apply", "-auto-approve")
				got, want := content(e.cut), content(e.whole)
				if !slices.Equal(got, want) {
					t.Fatalf("got %s\nwant %s", strings.Join(got, "\n    "), strings.Join(want, "\n     "))
				}
				e.must(e.all, "plan", "-all", "-detailed-exitcode")
				e.edit()
			}
			killed, doubts = killed+e.killed, doubts+e.doubt
		})
		if !ok {
			break
		}
	}
	t.Logf("histories %d to %d: %d runs killed, %d objects in doubt", first, first+uint64(histories)-1, killed, doubts)
}
