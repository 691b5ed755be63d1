package moduletest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest/quickcheck"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
)

const (
	defaultSamples = 100
	maxRefused     = 10  // tries for each sample that validations may reject
	maxSimpler     = 300 // tries to make values simpler that a run fails with
)

// sampling is a run that is carried out again and again with made-up values. Each
// time it begins with the state that the run began with, and what it makes is
// forgotten.
type sampling struct {
	w         *work
	run       *testresult.Run
	from      entry
	variables []*program.Variable
	counting  map[string]bool // those that may say how many instances something has
	outputs   map[string]cty.Value
}

// An attempt is what came of one set of values.
type attempt struct {
	run *testresult.Run
	// refused: the values are none that the module takes.
	refused bool
}

// sample carries out a run that has passed with made-up values.
func (w *work) sample(ctx context.Context, r *testresult.Run, from entry) {
	s := &sampling{w: w, run: r, from: from, outputs: w.sofar()}
	delete(s.outputs, r.Name)
	if diags := s.find(ctx); diags.HasErrors() {
		r.Diags.Append(diags)
		r.Worsen(testresult.Error)
		return
	}
	if w.entry(key(r)).kept != nil {
		_, diags := nothingReal{}.Begin(ctx, testresult.Label{})
		r.Diags.Append(diags)
		r.Worsen(testresult.Error)
		return
	}
	want := r.Generate.Samples
	if want == 0 {
		want = defaultSamples
	}
	var generators []*quickcheck.Generator
	for _, v := range s.variables {
		g := quickcheck.New(v, w.Seed, w.file.Name+"/"+r.Name)
		g.Counts = s.counting[v.Name]
		generators = append(generators, g)
	}
	for tries := 0; r.Samples < want && tries < want*maxRefused && ctx.Err() == nil && !w.stopped(); tries++ {
		values := map[string]cty.Value{}
		for i, v := range s.variables {
			values[v.Name] = generators[i].Next()
		}
		a := s.try(ctx, values)
		if a.refused {
			continue
		}
		if r.Samples++; a.run.Status > testresult.Pass {
			s.failed(ctx, values, a)
			return
		}
	}
	if r.Samples == 0 && ctx.Err() == nil && !w.stopped() {
		r.Diags.Add(MadeUp.As("No values found").Error(r.Generate.Range, "None of the %d values that were made up for %s is one that the validations take.", want*maxRefused, strings.Join(r.Generate.Variables, ", ")))
		r.Worsen(testresult.Error)
	}
}

// find looks up the variables.
func (s *sampling) find(ctx context.Context) diag.List {
	config, _, diags := s.w.configure(ctx, s.run)
	if diags.HasErrors() {
		return diags
	}
	s.counting = quickcheck.Counting(config.Tree)
	for _, name := range s.run.Generate.Variables {
		v := config.Tree.Program.VariableByName[name]
		if v == nil {
			diags.Add(diag.BadReference.As("Unknown variable").Error(s.run.Generate.Range, "The module declares no variable %q that values could be made up for.%s", name, eval.Suggestion(name, slices.Collect(maps.Keys(config.Tree.Program.VariableByName)))))
			continue
		}
		s.variables = append(s.variables, v)
	}
	for _, x := range s.run.Expected {
		if x.Kind == "input_variable" {
			diags.Add(testfile.BadDirective.Error(s.run.Generate.Range, "The values that are made up are those that validations take, so no variable can be expected to fail."))
		}
	}
	return diags
}

// try carries out the run with the given values.
func (s *sampling) try(ctx context.Context, values map[string]cty.Value) attempt {
	r := &testresult.Run{Run: s.run.Run}
	for _, v := range s.variables {
		if _, diags := eval.PrepareVariable(v, values[v.Name], s.run.Generate.Range); diags.HasErrors() {
			return attempt{r, true}
		}
	}
	alone := *s.w.session
	alone.Shelf, alone.Judge, alone.Keep = nothingReal{}, nil, false
	from := entry{snapshot: s.from.snapshot, last: s.from.last}
	w := &work{session: &alone, file: s.w.file, given: values, states: map[string]*entry{key(s.run): &from}, outputs: maps.Clone(s.outputs)}
	w.carryOut(ctx, r, &from)
	refused := slices.ContainsFunc(r.Diags, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && d.Unmet != nil && d.Unmet.Kind == "input_variable"
	})
	return attempt{r, refused}
}

// failed makes the values simpler with which the run doesn't pass, and reports.
func (s *sampling) failed(ctx context.Context, values map[string]cty.Value, a attempt) {
	left := maxSimpler
	for again := true; again; {
		again = false
		for _, v := range s.variables {
			for _, simple := range quickcheck.Simpler(values[v.Name]) {
				if left--; left < 0 || ctx.Err() != nil || s.w.stopped() {
					break
				}
				simpler := maps.Clone(values)
				simpler[v.Name] = simple
				if next := s.try(ctx, simpler); !next.refused && next.run.Status > testresult.Pass {
					values, a, again = simpler, next, true
					break
				}
			}
		}
	}
	var b strings.Builder
	for _, v := range s.variables {
		fmt.Fprintf(&b, "    %s = %s\n", v.Name, shown(v, values[v.Name]))
	}
	s.run.Diags.Add(MadeUp.Error(s.run.Generate.Range, "With these values, the simplest that were found, the run doesn't pass:\n\n%s\nThe first was sample %d of -seed=%d. The problems are listed too.", b.String(), s.run.Samples, s.w.Seed))
	s.run.Diags.Append(a.run.Diags)
	s.run.Worsen(a.run.Status)
}

// shown is a value as configurations have it.
func shown(v *program.Variable, value cty.Value) string {
	if v.Sensitive {
		return "(sensitive value)"
	}
	if prepared, diags := eval.PrepareVariable(v, value, v.Range); !diags.HasErrors() {
		value, _ = prepared.UnmarkDeep()
	}
	return string(hclwrite.TokensForValue(value).Bytes())
}
