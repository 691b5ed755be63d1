// Package coverage records test coverage: resources with an instance, evaluated outputs and
// locals, taken branches, and conditions with their results.
//
// It owns what counts as covered. It doesn't know why something is evaluated, and how results
// are shown.
package coverage

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// Kind is what a point is.
type Kind string

// The kinds. A failure is that a condition doesn't hold, which shows that it can
// notice anything.
const (
	Resource  Kind = "resource"
	Output    Kind = "output"
	Local     Kind = "local"
	Branch    Kind = "branch"
	Condition Kind = "condition"
	Failure   Kind = "failure"
)

// Kinds are all kinds, in the order in which they are shown.
var Kinds = []Kind{Resource, Output, Local, Branch, Condition, Failure}

// A Point is something that tests can come to.
type Point struct {
	Kind    Kind
	Name    string // as people name it
	Range   hcl.Range
	Covered bool
}

// A File has the points of one source in the order of their places.
type File struct {
	Name   string
	Source []byte
	Points []Point
}

// A Report is what came of all evaluations.
type Report struct{ Files []File }

// Count says how many points of a kind there are in some files, and how many of
// them are covered.
func Count(files []File, k Kind) (covered, all int) {
	for _, f := range files {
		for _, p := range f.Points {
			if p.Kind == k {
				all++
				if p.Covered {
					covered++
				}
			}
		}
	}
	return covered, all
}

// A Recorder gathers what evaluations come to.
type Recorder struct {
	mu     sync.Mutex
	points map[place]*point
}

type place struct {
	kind  Kind
	rng   hcl.Range
	falsy bool
}

type point struct {
	name    string
	covered atomic.Bool
}

// New is a recorder that has seen nothing.
func New() *Recorder { return &Recorder{points: map[place]*point{}} }

func (r *Recorder) point(at place, name string) *point {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.points[at]
	if p == nil {
		p = &point{name: name}
		r.points[at] = p
	}
	return p
}

// Prepare makes a program that was just compiled tell what its conditionals and
// conditions come to, and lists what else it has.
func (r *Recorder) Prepare(p *program.Program) {
	for _, res := range p.Resources {
		r.point(place{Resource, res.Range, false}, res.Name.String())
	}
	for _, o := range p.Outputs {
		r.point(place{Output, o.Range, false}, "output."+o.Name)
	}
	for _, l := range p.Locals {
		r.point(place{Local, l.Range, false}, "local."+l.Name)
	}
	p.Edit(func(at program.Place, e hclsyntax.Expression) hclsyntax.Expression {
		e = program.EditParts(e, func(e hclsyntax.Expression) hclsyntax.Expression {
			if cond, ok := e.(*hclsyntax.ConditionalExpr); ok {
				r.conditional(at.Owner, cond)
			}
			return e
		})
		if at.Role.IsCondition() {
			name := string(at.Role) + " of " + at.Owner
			return program.NewProbeExpr(e, r.outcome(
				r.point(place{Condition, e.Range(), false}, name),
				r.point(place{Failure, e.Range(), false}, name),
			))
		}
		return e
	})
}

// conditional reports the two branches of a conditional apart. Both are evaluated always, so
// its condition reports.
func (r *Recorder) conditional(owner string, e *hclsyntax.ConditionalExpr) {
	if _, already := e.Condition.(*program.ProbeExpr); already {
		return
	}
	yes := r.point(place{Branch, e.TrueResult.Range(), false}, "branch where the condition is true, in "+owner)
	no := r.point(place{Branch, e.FalseResult.Range(), true}, "branch where the condition is false, in "+owner)
	e.Condition = program.NewProbeExpr(e.Condition, func(ctx *hcl.EvalContext, v cty.Value) {
		if is, known := truth(ctx, v); known && is {
			yes.covered.Store(true)
		} else if known {
			no.covered.Store(true)
		}
	})
}

func (*Recorder) outcome(held, failed *point) func(*hcl.EvalContext, cty.Value) {
	return func(ctx *hcl.EvalContext, v cty.Value) {
		is, known := truth(ctx, v)
		if known {
			held.covered.Store(true)
		}
		if known && !is {
			failed.covered.Store(true)
		}
	}
}

// truth is what a condition results in in a module that there is.
func truth(ctx *hcl.EvalContext, v cty.Value) (is, known bool) {
	if eval.Modular(ctx) {
		return false, false
	}
	v, _ = v.Unmark()
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return false, false
	}
	switch v.Type() {
	case cty.Bool:
		return v.True(), true
	case cty.String: // what becomes a truth value
		return v.AsString() == "true", v.AsString() == "true" || v.AsString() == "false"
	}
	return false, false
}

// Observe notes what an evaluation that is over has come to.
func (r *Recorder) Observe(root *eval.Frame) {
	for _, f := range root.Frames() {
		for _, res := range f.Program.Resources {
			if _, _, known := f.Lookup(res, addr.NoKey); known && len(f.Expanded(res)) > 0 {
				r.note(place{Resource, res.Range, false})
			}
		}
		for _, o := range f.Program.Outputs {
			if _, _, ok := f.OutputValue(o); ok {
				r.note(place{Output, o.Range, false})
			}
		}
		for _, l := range f.Program.Locals {
			if _, ok := f.LocalValue(l); ok {
				r.note(place{Local, l.Range, false})
			}
		}
	}
}

// note covers a point that Prepare has listed; what stands in for an overridden
// module has none.
func (r *Recorder) note(at place) {
	r.mu.Lock()
	p := r.points[at]
	r.mu.Unlock()
	if p != nil {
		p.covered.Store(true)
	}
}

// Report lists the points of the files that include selects.
func (r *Recorder) Report(sources map[string][]byte, include func(file string) bool) *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	files := map[string]*File{}
	for at, p := range r.points {
		name := at.rng.Filename
		if !include(name) {
			continue
		}
		if files[name] == nil {
			files[name] = &File{Name: name, Source: sources[name]}
		}
		files[name].Points = append(files[name].Points, Point{at.kind, p.name, at.rng, p.covered.Load()})
	}
	report := &Report{}
	for _, f := range files {
		slices.SortFunc(f.Points, func(a, b Point) int {
			return cmp.Or(syntax.CompareRanges(&a.Range, &b.Range), slices.Index(Kinds, a.Kind)-slices.Index(Kinds, b.Kind))
		})
		report.Files = append(report.Files, *f)
	}
	slices.SortFunc(report.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return report
}
