// Package triggers decodes action_trigger blocks: which actions run around changes of a
// resource, and their configuration.
//
// It owns what such a block may say. It doesn't know what expressions refer to, which it is
// reported.
package triggers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/actiontrigger"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/compiler/literal"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// Bad is what is wrong with a block.
var Bad = diag.Code{Name: "invalid-action-trigger", Summary: "Invalid action_trigger block"}

// Schema is what an action_trigger block may have.
var Schema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "events", Required: true}, {Name: "condition"}, {Name: "actions", Required: true}, {Name: "on_failure"},
}}

// A Reader reads blocks and adds the problems it finds to a list.
type Reader struct {
	literal.Reader
	// Condition compiles the condition, nil for none.
	Condition func(*hcl.Attribute) *program.Expr
	// Action compiles an element of actions; nil for what isn't a reference.
	Action func(hclsyntax.Expression) *program.Ref
}

// Read reads a block.
func (r Reader) Read(b *hcl.Block) *program.Trigger {
	content, problems := b.Body.Content(Schema)
	r.Diags.Append(diag.FromHCL(syntax.Invalid, problems))
	t := &program.Trigger{Range: b.DefRange}
	if attr := content.Attributes["events"]; attr != nil {
		before := len(*r.Diags)
		t.Events = r.events(attr)
		if len(t.Events) == 0 && len(*r.Diags) == before {
			r.Diags.Add(Bad.As("No events specified").Error(b.DefRange, "An action_trigger block names at least one event: %s.", strings.Join(actiontrigger.Events(), ", ")))
		}
	}
	t.Condition = r.Condition(content.Attributes["condition"])
	if t.Condition != nil && slices.ContainsFunc(t.Events, actiontrigger.Event.Ends) {
		r.Diags.Add(Bad.As("Condition on destroy action").Error(t.Condition.Range(), "Actions for a destruction have no condition, because its references may be gone by then. Put before_destroy and after_destroy in an action_trigger block of their own."))
	}
	if attr := content.Attributes["actions"]; attr != nil {
		before := len(*r.Diags)
		t.Actions = r.actions(attr)
		if len(t.Actions) == 0 && len(*r.Diags) == before {
			r.Diags.Add(Bad.As("No actions specified").Error(b.DefRange, "An action_trigger block names at least one action of the module, as action.TYPE.NAME."))
		}
	}
	if attr := content.Attributes["on_failure"]; attr != nil {
		var ok bool
		if t.Failure, ok = actiontrigger.ParseFailure(r.Keyword(attr)); !ok {
			r.Diags.Add(Bad.As(`Invalid "on_failure" keyword`).Error(attr.Expr.Range(), `The "on_failure" argument requires one of the following keywords: halt, taint or continue.`))
		}
	}
	return t
}

func (r Reader) events(attr *hcl.Attribute) []actiontrigger.Event {
	exprs, diags := hcl.ExprList(attr.Expr)
	r.Diags.Append(diag.FromHCL(syntax.Invalid, diags))
	var list []actiontrigger.Event
	for _, e := range exprs {
		word := hcl.ExprAsKeyword(r.Unquote(e, "keywords"))
		event, ok := actiontrigger.ParseEvent(word)
		switch {
		case !ok:
			r.Diags.Add(Bad.As(fmt.Sprintf("Invalid \"event\" value %s", word)).Error(e.Range(), "Events are written as keywords, without quotes: %s.%s", strings.Join(actiontrigger.Events(), ", "), syntax.Suggest(word, actiontrigger.Events())))
		case slices.Contains(list, event):
			r.Diags.Add(Bad.As(fmt.Sprintf("Duplicate %q event", word)).Error(e.Range(), "This action_trigger block names the event already."))
		default:
			list = append(list, event)
		}
	}
	return list
}

// actions reads references to actions of the module.
func (r Reader) actions(attr *hcl.Attribute) []*program.Ref {
	elements, diags := syntax.Elements(attr)
	r.Diags.Append(diags)
	var refs []*program.Ref
	for _, e := range elements {
		before := len(*r.Diags)
		ref := r.Action(e)
		switch {
		case len(*r.Diags) > before:
		case ref == nil || ref.Kind != program.RefResource || ref.Resource.Name.Mode != addr.Action || len(ref.Rest) > 0:
			r.Diags.Add(Bad.As("Invalid action argument inside action_triggers").Error(e.Range(), "Each element of actions is a reference to an action of the same module: action.TYPE.NAME, with a key where the action has count or for_each."))
		case ref.Key == nil && !ref.Resource.Repeat.IsSingle():
			r.Diags.Add(Bad.As("Missing index").Error(e.Range(), "%s has several instances. Say which one is invoked, as in %s[each.key].", ref.Resource.Name, ref.Resource.Name))
		default:
			refs = append(refs, ref)
		}
	}
	return refs
}

// Config is the body of the one config block that an action may have among its blocks, an
// empty one without.
func Config(blocks hcl.Blocks, diags *diag.List) hcl.Body {
	if len(blocks) == 0 {
		return hcl.EmptyBody()
	}
	if len(blocks) > 1 {
		diags.Add(diag.Duplicate.As("Duplicate config block").Error(blocks[1].DefRange, "There is one config block in a block at most, and this one's is at %s.", blocks[0].DefRange))
	}
	return blocks[0].Body
}
