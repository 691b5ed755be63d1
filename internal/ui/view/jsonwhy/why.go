// Package jsonwhy writes explanations of a plan as JSON.
//
// It owns the document's form, which is weir's own. Sensitive values are left
// out.
package jsonwhy

import (
	"encoding/json"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/why"
)

// FormatVersion is that of the document.
const FormatVersion = "1.0"

type document struct {
	Format       string        `json:"format_version"`
	Explanations []explanation `json:"explanations"`
}

type explanation struct {
	Address  string   `json:"address"`
	Deposed  string   `json:"deposed,omitempty"`
	Previous string   `json:"previous_address,omitempty"`
	Action   string   `json:"action"`
	Reason   string   `json:"action_reason,omitempty"`
	Deferred string   `json:"deferred_reason,omitempty"`
	Causes   [][]link `json:"causes"`
	Waits    []wait   `json:"waits,omitempty"`
}

type link struct {
	Kind    why.Kind        `json:"kind"`
	Subject string          `json:"subject,omitempty"`
	Name    string          `json:"name,omitempty"`
	Path    json.RawMessage `json:"path,omitempty"`
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
	Action  string          `json:"action,omitempty"`
	Reason  string          `json:"action_reason,omitempty"`
	Forces  bool            `json:"forces_replacement,omitempty"`
	Maybe   bool            `json:"maybe,omitempty"`
	Again   bool            `json:"again,omitempty"`
	Range   *textRange      `json:"range,omitempty"`
}

type wait struct {
	Step  string `json:"step"`
	For   string `json:"waits_for"`
	Rule  string `json:"rule"`
	Value string `json:"value,omitempty"`
	Chain []link `json:"references,omitempty"`
}

type textRange struct {
	Filename string   `json:"filename"`
	Start    position `json:"start"`
	End      position `json:"end"`
}

type position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Marshal makes the document.
func Marshal(list []why.Explanation) ([]byte, error) {
	doc := document{Format: FormatVersion, Explanations: []explanation{}}
	for _, x := range list {
		out := explanation{
			Address: x.Object.Instance.String(), Deposed: x.Object.Deposed, Action: x.Action.String(),
			Reason: string(x.Reason), Deferred: x.Deferred, Causes: [][]link{},
		}
		if x.Previous != x.Object.Instance {
			out.Previous = x.Previous.String()
		}
		for _, chain := range x.Chains {
			converted, err := convert(chain)
			if err != nil {
				return nil, err
			}
			out.Causes = append(out.Causes, converted)
		}
		for _, w := range x.Waits {
			chain, err := convert(w.Chain)
			if err != nil {
				return nil, err
			}
			out.Waits = append(out.Waits, wait{w.Own, w.For, w.Rule, w.Value, chain})
		}
		doc.Explanations = append(doc.Explanations, out)
	}
	return json.Marshal(doc)
}

func convert(chain why.Chain) ([]link, error) {
	var out []link
	for _, l := range chain {
		c := link{Kind: l.Kind, Subject: l.Subject, Name: l.Name, Reason: string(l.Reason), Forces: l.Forces, Maybe: l.Maybe, Again: l.Again}
		if l.Kind == why.Change && l.Action != plan.NoOp {
			c.Action = l.Action.String()
		}
		if len(l.Path) > 0 {
			path, err := value.PathSteps(l.Path)
			if err != nil {
				return nil, err
			}
			c.Path = path
			c.Before, c.After = known(l.Before), known(l.After)
		}
		if l.Kind == why.Given || l.Kind == why.Default {
			c.After = known(l.After)
		}
		if r := l.Range; r != nil && r.Filename != "" {
			c.Range = &textRange{r.Filename, at(r.Start), at(r.End)}
		}
		out = append(out, c)
	}
	return out, nil
}

// known is a value that can be shown, or nothing.
func known(v cty.Value) json.RawMessage {
	if v == cty.NilVal || value.Hidden(v) {
		return nil
	}
	v, _ = v.UnmarkDeep()
	if !v.IsWhollyKnown() {
		return nil
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return nil
	}
	return text
}

func at(p hcl.Pos) position { return position{p.Line, p.Column, p.Byte} }
