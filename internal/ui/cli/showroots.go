package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan/planfile"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/page"
	"weir.dev/weir/internal/ui/view/review"
	"weir.dev/weir/internal/ui/view/steptimes"
)

// A rootPlan is the saved plan of a root.
type rootPlan struct {
	root    *roots.Root
	content planfile.Content
}

// showSaved shows the saved plans of roots in a folder, upstream roots first.
func (e *env) showSaved(ctx context.Context, o showOptions) int {
	if len(o.Addresses) > 0 || o.WantsSteps() {
		return e.Fail(diag.Incompatible.As("Plans of several roots"), "Addresses and steps are of one plan. Name the file of a root in the folder %s.", o.Path)
	}
	plans, diags := e.savedPlans(ctx, o.Path)
	if e.Diags(diags) != 0 {
		return 1
	}
	switch o.Format {
	case "markdown":
		return e.Written(e.markdown(plans))
	case "html":
		return e.Written(page.Roots(e.Out, pages(ctx, plans)))
	}
	return e.Result("plans", func() ([]byte, error) { return e.plansJSON(ctx, plans) }, func() int {
		code := 0
		for _, p := range plans {
			e.Say("\nRoot %s:\n", p.root.Name)
			code = max(code, e.Written(e.Plan(p.content.Plan)))
		}
		return code
	})
}

func (e *env) savedPlans(ctx context.Context, path string) ([]rootPlan, diag.List) {
	saved, diags := roots.ReadSaved(e.directory, path)
	if diags.HasErrors() {
		return nil, diags
	}
	estate, more := roots.Find(ctx, e.directory, e.reports())
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	list, more := saved.Choose(estate)
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	var plans []rootPlan
	for _, root := range list {
		content, more := root.Dir.ReadPlan(saved.Path(root))
		if diags.Append(more); more.HasErrors() {
			return nil, diags
		}
		plans = append(plans, rootPlan{root, content})
	}
	return plans, diags
}

// pages are the plans with what their pages show beside them.
func pages(ctx context.Context, plans []rootPlan) []page.Root {
	list := make([]page.Root, len(plans))
	for i, p := range plans {
		list[i] = page.Root{Name: p.root.Name, Upstream: roots.Names(p.root.Upstreams()), Plan: p.content.Plan}
		memory := p.root.Dir.Place.Memory()
		list[i].Beside = page.Beside{Durations: memory.Durations(), Took: steptimes.Read(memory.LastApply(), p.content.Plan)}
		if config, _ := p.root.Dir.LoadSaved(ctx, p.content); config != nil && config.Tree != nil { // a page goes without
			list[i].Beside.Tree, list[i].Beside.Edges = config.Tree, engine.Edges(config, p.content.Plan)
		}
	}
	return list
}

// markdown prints the plans as one comment: the totals of all roots, then each plan with changes. They
// share the room of a comment.
func (e *env) markdown(plans []rootPlan) error {
	c := comment{columns: []string{"add", "change", "destroy"}}
	for _, p := range plans {
		made := p.content.Plan
		n := made.Counts()
		c.row(p.root.Name, fmt.Sprint(n.Add), fmt.Sprint(n.Change), fmt.Sprint(n.Destroy))
		if made.HasChanges() || len(made.Deferred)+len(made.Drift) > 0 {
			c.part(p.root.Name, func(limit int) error { return review.Markdown(&c.text, made, limit) })
		}
	}
	return c.write(e.Out)
}

// A comment has a table with a row for each root, and then parts of some roots.
type comment struct {
	columns []string
	rows    []string
	parts   []commentPart
	text    strings.Builder
}

type commentPart struct {
	root  string
	write func(limit int) error // to the text of the comment
}

func (c *comment) row(root string, cells ...string) {
	c.rows = append(c.rows, "| "+review.Escape(root)+" | "+strings.Join(cells, " | ")+" |\n")
}

func (c *comment) part(root string, write func(limit int) error) {
	c.parts = append(c.parts, commentPart{root, write})
}

// write shares the room of a comment between the parts.
func (c *comment) write(w io.Writer) error {
	c.text.WriteString("## " + view.Count(len(c.rows), "root") + "\n\n| root | " + strings.Join(c.columns, " | ") + " |\n|---|" + strings.Repeat("---:|", len(c.columns)) + "\n")
	for _, row := range c.rows {
		c.text.WriteString(row)
	}
	for i, p := range c.parts {
		c.text.WriteString("\n## " + review.Escape(p.root) + "\n\n")
		if err := p.write((review.Limit - c.text.Len()) / (len(c.parts) - i)); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, c.text.String())
	return err
}

// plansJSON is a document with the plan of each root in the form of show -json.
func (e *env) plansJSON(ctx context.Context, plans []rootPlan) ([]byte, error) {
	type one struct {
		Root     string          `json:"root"`
		Upstream []string        `json:"upstream"`
		Plan     json.RawMessage `json:"plan"`
	}
	out := struct {
		Version string `json:"format_version"`
		Roots   []one  `json:"roots"`
	}{Version: "1.0"}
	for _, p := range plans {
		config, diags := p.root.Dir.LoadSaved(ctx, p.content)
		if config == nil || config.Tree == nil {
			return nil, diags.Err()
		}
		text, err := jsonplan.Marshal(p.content.Plan, config.Tree, engine.Edges(config, p.content.Plan), e.Dialect)
		if err != nil {
			return nil, err
		}
		out.Roots = append(out.Roots, one{p.root.Name, append([]string{}, roots.Names(p.root.Upstreams())...), text})
	}
	return json.Marshal(out)
}
