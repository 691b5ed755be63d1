package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/actiontrigger"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

var triggerSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "events", Required: true}, {Name: "condition"}, {Name: "actions", Required: true}, {Name: "on_failure"},
}}

// trigger reads an action_trigger block: which actions run around changes of a resource. in is
// the scope of the resource.
func (c *compiler) trigger(b *hcl.Block, in *scope) *program.Trigger {
	content, problems := b.Body.Content(triggerSchema)
	c.diags.Append(diag.FromHCL(syntax.Invalid, problems))
	t := &program.Trigger{Range: b.DefRange}
	if attr := content.Attributes["events"]; attr != nil {
		before := len(c.diags)
		t.Events = c.triggerEvents(attr)
		if len(t.Events) == 0 && len(c.diags) == before {
			c.diags.Add(BadTrigger.As("No events specified").Error(b.DefRange, "An action_trigger block names at least one event: %s.", strings.Join(actiontrigger.Events(), ", ")))
		}
	}
	t.Condition = c.attribute(content.Attributes["condition"], in)
	if t.Condition != nil && slices.ContainsFunc(t.Events, actiontrigger.Event.Ends) {
		c.diags.Add(BadTrigger.As("Condition on destroy action").Error(t.Condition.Range(), "Actions for a destruction have no condition, because its references may be gone by then. Put before_destroy and after_destroy in an action_trigger block of their own."))
	}
	if attr := content.Attributes["actions"]; attr != nil {
		before := len(c.diags)
		t.Actions = c.triggerActions(attr, in)
		if len(t.Actions) == 0 && len(c.diags) == before {
			c.diags.Add(BadTrigger.As("No actions specified").Error(b.DefRange, "An action_trigger block names at least one action of the module, as action.TYPE.NAME."))
		}
	}
	if attr := content.Attributes["on_failure"]; attr != nil {
		var ok bool
		if t.Failure, ok = actiontrigger.ParseFailure(c.literal().Keyword(attr)); !ok {
			c.diags.Add(BadTrigger.As(`Invalid "on_failure" keyword`).Error(attr.Expr.Range(), `The "on_failure" argument requires one of the following keywords: halt, taint or continue.`))
		}
	}
	return t
}

func (c *compiler) triggerEvents(attr *hcl.Attribute) []actiontrigger.Event {
	exprs, diags := hcl.ExprList(attr.Expr)
	c.diags.Append(diag.FromHCL(syntax.Invalid, diags))
	var list []actiontrigger.Event
	for _, e := range exprs {
		word := hcl.ExprAsKeyword(c.literal().Unquote(e, "keywords"))
		event, ok := actiontrigger.ParseEvent(word)
		switch {
		case !ok:
			c.diags.Add(BadTrigger.As(fmt.Sprintf("Invalid \"event\" value %s", word)).Error(e.Range(), "Events are written as keywords, without quotes: %s.%s", strings.Join(actiontrigger.Events(), ", "), syntax.Suggest(word, actiontrigger.Events())))
		case slices.Contains(list, event):
			c.diags.Add(BadTrigger.As(fmt.Sprintf("Duplicate %q event", word)).Error(e.Range(), "This action_trigger block names the event already."))
		default:
			list = append(list, event)
		}
	}
	return list
}

// triggerActions reads references to actions of the module.
func (c *compiler) triggerActions(attr *hcl.Attribute, in *scope) []*program.Ref {
	at := *in
	at.actions = true
	elements, diags := syntax.Elements(attr)
	c.diags.Append(diags)
	var refs []*program.Ref
	for _, e := range elements {
		before := len(c.diags)
		ref := c.triggerAction(e, &at)
		switch {
		case len(c.diags) > before:
		case ref == nil || ref.Kind != program.RefResource || ref.Resource.Name.Mode != addr.Action || len(ref.Rest) > 0:
			c.diags.Add(BadTrigger.As("Invalid action argument inside action_triggers").Error(e.Range(), "Each element of actions is a reference to an action of the same module: action.TYPE.NAME, with a key where the action has count or for_each."))
		case ref.Key == nil && !ref.Resource.Repeat.IsSingle():
			c.diags.Add(BadTrigger.As("Missing index").Error(e.Range(), "%s has several instances. Say which one is invoked, as in %s[each.key].", ref.Resource.Name, ref.Resource.Name))
		default:
			refs = append(refs, ref)
		}
	}
	return refs
}

// triggerAction is the reference of an element of actions; nil for what isn't one.
func (c *compiler) triggerAction(e hclsyntax.Expression, in *scope) *program.Ref {
	r := rewriter{c: c, in: in}
	node, ok := r.expr(e).(*program.RefExpr)
	if r.finish(); !ok {
		return nil
	}
	return node.Ref
}
