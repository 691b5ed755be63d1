package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view/sanitize"
)

var stateQueryCommand = &command{
	Name: "state query", Args: "SQL", Min: 1, Max: 1,
	Synopsis: "Query the states of a database in SQL",
	Long:     "Runs one SQL statement that only reads, on the states of the \"database\" backend, and prints the rows. The views are resources, dependencies, output_values, check_results, workspaces, history, earlier_resources and held_locks, each with the workspace. Values are printed even if they are sensitive.",
	JSON:     output.Document,
	Setup: func(e *env, _ *flag.FlagSet) runner {
		return func(ctx context.Context, args []string) int { return e.stateQuery(ctx, args[0]) }
	},
}

func (e *env) stateQuery(ctx context.Context, text string) int {
	b, diags := e.directory.Settings.CurrentBackend()
	if b == nil || diags.HasErrors() {
		return e.Diags(diags)
	}
	e.Diags(diags)
	at, ok := b.Backend.(storage.Queryable)
	if !ok {
		return e.Fail(diag.UnknownBackend.As("States without SQL"), "The %q backend has no SQL. Only the \"database\" backend does: move the states there with \"init -migrate-state\".", b.Kind)
	}
	columns, rows, err := at.Query(ctx, text)
	if err != nil {
		return e.Fail(diag.StateUnreadable.As("Failed to query the states"), "%s.", err)
	}
	return e.Result("the rows", func() ([]byte, error) {
		if rows == nil {
			rows = [][]any{}
		}
		return json.MarshalIndent(map[string]any{"format_version": "1.0", "columns": columns, "rows": rows}, "", "  ")
	}, func() int { return e.Written(e.printRows(columns, rows)) })
}

// printRows prints a table. Nothing stands for NULL.
func (e *env) printRows(columns []string, rows [][]any) error {
	out := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	line := func(cells []string) { fmt.Fprintln(out, strings.TrimRight(strings.Join(cells, "\t"), "\t")) }
	line(columns)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, v := range row {
			if v != nil {
				cells[i] = sanitize.Line(fmt.Sprint(v))
			}
		}
		line(cells)
	}
	return out.Flush()
}
