package simtest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
)

// TestKeptPrograms loads random configurations, edits of them and what they were before again,
// each with what is kept of earlier loads and without: both have the same problems and give
// the same result plan.
func TestKeptPrograms(t *testing.T) {
	compared := 0
	for seed := range uint64(60) {
		c := Random(seed)
		kept, w := new(engine.Programs), NewWorld()
		chance := rand.New(rand.NewPCG(seed, 3))
		var last []module.Memory
		for _, step := range c {
			last = append(last, step.Files(), spoilt(chance, step.Files()))
			for range 4 {
				files := last[chance.IntN(len(last))]
				o, err := step.options()
				if err != nil {
					t.Fatal(err)
				}
				fresh, warm := planned(w, files, nil, o), planned(w, files, kept, o)
				if fresh.text != warm.text {
					t.Fatalf("seed %d:\n%s", seed, difference(fresh.text, warm.text))
				}
				compared++
				if fresh.plan != nil && warm.plan != nil && chance.IntN(3) == 0 {
					w.Apply(warm.config, warm.plan, How{Parallelism: 1})
				}
			}
		}
	}
	if compared < 400 {
		t.Errorf("only %d loads were compared", compared)
	}
}

// spoilt are files with mistakes in some.
func spoilt(chance *rand.Rand, files module.Memory) module.Memory {
	files = maps.Clone(files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		mistakes := []string{"", "resource {", "locals {\n  a = var.nothing\n}\n", "variable \"v\" {}\nvariable \"v\" {}\n"}
		files[name] = slices.Concat(files[name], []byte(mistakes[chance.IntN(len(mistakes))]))
	}
	return files
}

// An outcome is what came of a load and a plan.
type outcome struct {
	config *engine.Config
	plan   *plan.Plan // nil after an error
	text   string
}

// planned loads and plans.
func planned(w *World, files module.Memory, kept *engine.Programs, o engine.PlanOptions) outcome {
	config, diags := loadBy(files, kept)
	config.World.Random = rand.NewChaCha8([32]byte{})
	if diags.HasErrors() {
		return outcome{config: config, text: told(diags)}
	}
	p, more := w.Clone().Plan(config, o)
	out := outcome{config: config, text: told(append(diags, more...))}
	if !more.HasErrors() {
		out.plan = p
		out.text += printed(p)
	}
	return out
}

// told is everything about problems that people see.
func told(l diag.List) string {
	text := ""
	for _, d := range l {
		text += d.Code + " " + d.Summary + " " + d.Detail + " " + d.Address
		if d.Subject != nil {
			text += " " + d.Subject.String()
		}
		text += "\n"
	}
	return text
}
