package view

import (
	"io"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/sanitize"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Outputs writes root outputs, one below the other.
func Outputs(w io.Writer, all map[string]state.Output, o Options) error {
	p := printer{o: o}
	for _, name := range sortedKeys(all) {
		if all[name].Sensitive && !o.ShowSensitive {
			p.printf("%s = <sensitive>\n", sanitize.Line(name))
			continue
		}
		p.printf("%s = %s\n", sanitize.Line(name), Value(all[name].Value, 0))
	}
	return p.flush(w)
}

// OutputsAfterApply writes the outputs under a heading, or nothing.
func OutputsAfterApply(w io.Writer, all map[string]state.Output, o Options) error {
	if len(all) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, o.Pen.Paint("\nOutputs:\n\n", ansi.Bold, ansi.Green)); err != nil {
		return err
	}
	return Outputs(w, all, o)
}

// RawOutput is the text of one output as `output -raw` prints it.
func RawOutput(name string, v cty.Value) (string, diag.List) {
	const summary = "Unsupported value for raw output"
	var diags diag.List
	v, _ = v.UnmarkDeep()
	text, err := convert.Convert(v, cty.String)
	switch {
	case err != nil:
		diags.Add(diag.Unsuitable.As(summary).New(diag.Error, "The -raw option only supports strings, numbers, and boolean values, but output value %q is %s.\n\nUse the -json option for values of complex types.", name, v.Type().FriendlyName()))
	case text.IsNull():
		diags.Add(diag.Unsuitable.As(summary).New(diag.Error, "The value for output value %q is null, so -raw mode cannot print it.", name))
	case !text.IsKnown():
		diags.Add(diag.Unsuitable.As(summary).New(diag.Error, "The value for output value %q isn't known before a successful apply, so -raw mode cannot print it.", name))
	default:
		return text.AsString(), nil
	}
	return "", diags
}
