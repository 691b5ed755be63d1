package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan/planfile"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/review"
)

// A rootPlan is the saved plan of a root.
type rootPlan struct {
	root    *roots.Root
	content planfile.Content
}

// showSaved shows the saved plans of roots in a folder, upstream roots first.
func (e *env) showSaved(ctx context.Context, o showOptions) int {
	if o.Format == "html" || len(o.Addresses) > 0 || o.WantsSteps() {
		return e.Fail(diag.Incompatible.As("Plans of several roots"), "A page, addresses and steps are of one plan. Name the file of a root in the folder %s.", o.Path)
	}
	plans, diags := e.savedPlans(ctx, o.Path)
	if e.Diags(diags) != 0 {
		return 1
	}
	if o.Format == "markdown" {
		return e.Written(e.markdown(plans))
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

// markdown prints the plans as one comment: the totals of all roots, then each plan with changes. They
// share the room of a comment.
func (e *env) markdown(plans []rootPlan) error {
	var b strings.Builder
	b.WriteString("## " + view.Count(len(plans), "root") + "\n\n| root | add | change | destroy |\n|---|---:|---:|---:|\n")
	var changing []rootPlan
	for _, p := range plans {
		c := p.content.Plan.Counts()
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", review.Escape(p.root.Name), c.Add, c.Change, c.Destroy)
		if p.content.Plan.HasChanges() || len(p.content.Plan.Deferred)+len(p.content.Plan.Drift) > 0 {
			changing = append(changing, p)
		}
	}
	for i, p := range changing {
		var one strings.Builder
		heading := "\n## " + review.Escape(p.root.Name) + "\n\n"
		if err := review.Markdown(&one, p.content.Plan, (review.Limit-b.Len())/(len(changing)-i)-len(heading)); err != nil {
			return err
		}
		b.WriteString(heading + one.String())
	}
	_, err := fmt.Fprint(e.Out, b.String())
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
