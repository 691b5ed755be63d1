package plugin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// An exchange is one call about an object of one schema: it encodes the
// request, decodes the response and gathers what goes wrong.
type exchange struct {
	c      *client
	call   string
	schema *schema.Schema
	diags  diag.List
}

// begin finds the schema; without one the exchange has an error.
func (c *client) begin(call string, mode addr.Mode, typ string) *exchange {
	x := &exchange{c: c, call: call, schema: c.schemas.Resource(mode, typ)}
	if x.schema == nil {
		x.diags.Add(provider.Lacking.As("Unsupported resource type").New(diag.Error, "Provider %s has no %s type %q.", c.name, mode, typ))
	}
	return x
}

func (x *exchange) failed() bool { return x.diags.HasErrors() }

// encode writes an object of the schema.
func (x *exchange) encode(v cty.Value) *tfplugin6.DynamicValue {
	if x.schema == nil {
		return nil
	}
	return x.encodeAs(v, x.schema.Block.ImpliedType())
}

func (x *exchange) encodeAs(v cty.Value, t cty.Type) *tfplugin6.DynamicValue {
	d, err := encode(v, t)
	if err != nil {
		x.diags.Add(BadAnswer.As("Invalid value for provider").New(diag.Error, "The value for the %s call doesn't fit the provider's schema: %s.", x.call, describe(err)))
	}
	return d
}

func (x *exchange) encodeIdentity(v cty.Value) *tfplugin6.ResourceIdentityData {
	if v == cty.NilVal || v.IsNull() || x.schema == nil || x.schema.Identity == nil {
		return nil
	}
	return &tfplugin6.ResourceIdentityData{IdentityData: x.encodeAs(v, x.schema.Identity.ElementType())}
}

// encodeMeta writes provider_meta, for providers that take it.
func (x *exchange) encodeMeta(v cty.Value) *tfplugin6.DynamicValue {
	meta := x.c.schemas.Meta
	if meta == nil {
		return nil
	}
	t := meta.Block.ImpliedType()
	if v == cty.NilVal {
		v = cty.NullVal(t)
	}
	return x.encodeAs(v, t)
}

// answered takes the outcome of the call; false means there is no response.
func (x *exchange) answered(err error, ds []*tfplugin6.Diagnostic) bool {
	if err != nil {
		x.diags.Append(x.c.callFailed(x.call, err))
		return false
	}
	x.diags.Append(diagnostics(ds))
	return true
}

func (x *exchange) decode(d *tfplugin6.DynamicValue) cty.Value {
	return x.decodeAs(d, x.schema.Block.ImpliedType())
}

func (x *exchange) decodeAs(d *tfplugin6.DynamicValue, t cty.Type) cty.Value {
	v, err := decode(d, t)
	if err != nil {
		x.diags.Add(diag.Diagnostic{
			Severity: diag.Error,
			Code:     BadAnswer.Name, Summary: "Provider produced invalid object",
			Detail: fmt.Sprintf("Provider %s answered the %s call with a value that doesn't fit its own schema: %s. "+
				"This is a bug in the provider, which should be reported in the provider's own issue tracker.", x.c.name, x.call, describe(err)),
		})
		return cty.NilVal
	}
	return v
}

// decodeIdentity gives NilVal when the provider sent no identity.
func (x *exchange) decodeIdentity(d *tfplugin6.ResourceIdentityData) cty.Value {
	if d.GetIdentityData() == nil || x.schema.Identity == nil {
		return cty.NilVal
	}
	return x.decodeAs(d.IdentityData, x.schema.Identity.ElementType())
}

// callFailed is for calls that didn't come back with a response.
func (c *client) callFailed(call string, err error) diag.List {
	var ended *crash
	var refused *refusal
	switch {
	case errors.As(err, &ended):
		return c.diedDuring(call, ended)
	case errors.As(err, &refused):
		return c.refused(call, refused)
	}
	var diags diag.List
	switch status.Code(err) {
	case codes.Unavailable:
		diags.Add(BadAnswer.New(diag.Error, "%s", c.failedToRespond(call)))
	case codes.DeadlineExceeded:
		diags.Add(BadAnswer.New(diag.Error, "Provider %s didn't answer the %s call in time. WEIR_CALL_TIMEOUT is how long one call may take.", c.name, call))
	case codes.Canceled:
		diags.Add(c.cancelled(call))
	case codes.Unimplemented:
		diags.Add(provider.Lacking.As("Unsupported plugin method").New(diag.Error, "The %s method is not supported by provider %s.", call, c.name))
	default:
		if errors.Is(err, context.Canceled) {
			diags.Add(c.cancelled(call))
			break
		}
		diags.Add(BadAnswer.As("Plugin error").New(diag.Error, "Provider %s returned an unexpected error from %s: %s", c.name, call, shortened(err.Error())))
	}
	return diags
}

func (c *client) cancelled(call string) diag.Diagnostic {
	return diag.Interrupted.As("Request cancelled").New(diag.Error, "The %s request to %s was cancelled.", call, c.name)
}

// shortened cuts the text of an error that nobody reads to its end.
func shortened(text string) string {
	const most = 4 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "... (" + strconv.Itoa(len(text)) + " bytes)"
}

func (c *client) failedToRespond(call string) string {
	return fmt.Sprintf("The plugin of %s encountered an error, and failed to respond to the %s call. The plugin logs may contain more details.", c.name, call)
}

// diedDuring is for a call during which the process ended. All such calls say
// how it ended; the stack trace is shown once.
func (c *client) diedDuring(call string, d *crash) diag.List {
	var diags diag.List
	how := fmt.Sprintf("The process of %s ended by itself: %s.", c.name, d.how)
	if d.trace != "" {
		first, _, _ := strings.Cut(d.trace, "\n")
		how += "\n\n  " + first
	} else if d.tail != "" {
		how += " The last that it wrote to its standard error:\n\n  " + strings.ReplaceAll(d.tail, "\n", "\n  ")
	}
	diags.Add(BadAnswer.New(diag.Error, "%s\n\n%s", c.failedToRespond(call), how))
	if d.trace != "" {
		diags.Add(diag.Diagnostic{
			Code: Unavailable.Name, Summary: "Provider crashed", Once: true,
			Detail: fmt.Sprintf("Stack trace from the %s plugin:\n\n  %s\n\nThis is a bug in the provider, which should be reported in the provider's own issue tracker.", c.name, strings.ReplaceAll(d.trace, "\n", "\n  ")),
		})
	}
	return diags
}

// refused is for a call that there was no process for.
func (c *client) refused(call string, r *refusal) diag.List {
	var diags diag.List
	if !r.final {
		diags.Add(diag.Interrupted.As("Request cancelled").New(diag.Error, "The %s request to %s was cancelled. %s", call, c.name, r.why))
		return diags
	}
	diags.Add(diag.Diagnostic{
		Code: Unavailable.Name, Summary: Unavailable.Summary, Once: true,
		Detail: fmt.Sprintf("Other dependents of %s were skipped. %s This is a bug in the provider, which should be reported in the provider's own issue tracker. "+
			"Run the operation again to do the rest, with another version of the provider if there is one.", c.name, r.why),
	})
	return diags
}

// encode writes a value as msgpack; NilVal is null.
func encode(v cty.Value, t cty.Type) (*tfplugin6.DynamicValue, error) {
	if v == cty.NilVal {
		v = cty.NullVal(t)
	}
	b, err := msgpack.Marshal(v, t)
	if err != nil {
		return nil, err
	}
	return &tfplugin6.DynamicValue{Msgpack: b}, nil
}

// decode reads a value in whichever form it has; without any it is null.
func decode(d *tfplugin6.DynamicValue, t cty.Type) (cty.Value, error) {
	switch {
	case len(d.GetMsgpack()) > 0:
		return msgpack.Unmarshal(d.Msgpack, t)
	case len(d.GetJson()) > 0:
		return ctyjson.Unmarshal(d.Json, t)
	}
	return cty.NullVal(t), nil
}

// describe is the error with the path to what it is about.
func describe(err error) string {
	var at cty.PathError
	if errors.As(err, &at) && len(at.Path) > 0 {
		return pathText(at.Path) + ": " + err.Error()
	}
	return err.Error()
}

func pathText(p cty.Path) string {
	var text string
	for _, step := range p {
		switch step := step.(type) {
		case cty.GetAttrStep:
			text += "." + step.Name
		case cty.IndexStep:
			if step.Key.Type() == cty.String {
				text += "[" + addr.Quote(step.Key.AsString()) + "]"
			} else if step.Key.Type() == cty.Number {
				text += "[" + step.Key.AsBigFloat().String() + "]"
			} else {
				text += "[...]"
			}
		}
	}
	return text
}

func diagnostics(ds []*tfplugin6.Diagnostic) diag.List {
	var diags diag.List
	for _, d := range ds {
		severity := diag.Error
		if d.Severity == tfplugin6.Diagnostic_WARNING {
			severity = diag.Warning
		}
		diags.Add(diag.Diagnostic{Severity: severity, Code: provider.Reported.Name, Summary: d.Summary, Detail: d.Detail, Path: path(d.Attribute)})
	}
	return diags
}

func path(p *tfplugin6.AttributePath) cty.Path {
	var out cty.Path
	for _, step := range p.GetSteps() {
		switch s := step.GetSelector().(type) {
		case *tfplugin6.AttributePath_Step_AttributeName:
			out = append(out, cty.GetAttrStep{Name: s.AttributeName})
		case *tfplugin6.AttributePath_Step_ElementKeyString:
			out = append(out, cty.IndexStep{Key: cty.StringVal(s.ElementKeyString)})
		case *tfplugin6.AttributePath_Step_ElementKeyInt:
			out = append(out, cty.IndexStep{Key: cty.NumberIntVal(s.ElementKeyInt)})
		}
	}
	return out
}

func deferred(d *tfplugin6.Deferred) provider.DeferredReason {
	if d == nil {
		return ""
	}
	switch d.Reason {
	case tfplugin6.Deferred_PROVIDER_CONFIG_UNKNOWN:
		return provider.ProviderConfigUnknown
	case tfplugin6.Deferred_ABSENT_PREREQ:
		return provider.AbsentPrerequisite
	}
	return provider.ResourceConfigUnknown
}
