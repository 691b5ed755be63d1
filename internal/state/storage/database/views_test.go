package database

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
)

// checked adds a check that fails, and dependencies, to a sample.
func checked(text []byte) string {
	return strings.NewReplacer(
		`"sensitive_attributes": []`, "\"sensitive_attributes\": [],\n          \"dependencies\": [\n            \"aws_instance.web\"\n          ]",
		`"check_results": null`, "\"check_results\": [\n    {\n      \"object_kind\": \"check\",\n      \"config_addr\": \"check.health\",\n      \"status\": \"fail\",\n      \"objects\": null\n    }\n  ]",
	).Replace(string(text))
}

// TestQueries runs the queries of the page, which have something to find.
func TestQueries(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/database.md")
	storagetest.Do(t, err)
	_, rest, _ := strings.Cut(string(page), "```sql\n")
	block, _, _ := strings.Cut(rest, "```")
	queries := strings.Split(strings.TrimSuffix(strings.TrimSpace(block), ";"), ";\n")
	if len(queries) < 10 {
		t.Fatalf("%d queries", len(queries))
	}
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		at := fresh(t)
		b := at.backend(t)
		for _, name := range []string{"default", "dev"} {
			s := storagetest.State(t, b, name).(*store)
			text := checked(sample(t, 1, "a", "b"))
			storagetest.Do(t, s.Write(t.Context(), []byte(text)))
			storagetest.Do(t, s.Record(t.Context(), 1, []byte(`{"serial":1,"who":"me","command":"apply","ended":"2026-11-29T10:00:00Z","added":2,"changed":0,"removed":0}`)))
			storagetest.Do(t, s.Write(t.Context(), []byte(strings.Replace(strings.Replace(text, `"serial": 1`, `"serial": 2`, 1), `"id": "b"`, `"id": "c"`, 1))))
			id, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
			storagetest.Do(t, err)
			defer func() { storagetest.Do(t, s.Unlock(t.Context(), id)) }()
		}
		for _, q := range queries {
			columns, rows, err := b.Query(t.Context(), q)
			if err != nil || len(columns) == 0 || len(rows) == 0 {
				t.Errorf("%s\n%v: %v %v", q, err, columns, rows)
			}
		}
		for query, want := range map[string]string{
			"SELECT workspace, value, NULL, serial FROM output_values JOIN history USING (workspace) WHERE workspace = 'dev'": `[[dev "x" <nil> 1]]`,
			"SELECT address, provider, status FROM resources WHERE workspace = 'dev' ORDER BY address LIMIT 1":                `[[aws_instance.web[0] provider["registry.opentofu.org/hashicorp/aws"] <nil>]]`,
			"SELECT kind, address, status FROM check_results WHERE workspace = 'dev'":                                         `[[check check.health fail]]`,
			"SELECT workspace, serial, lineage, written_by FROM workspaces WHERE workspace = 'dev'":                           `[[dev 2 lineage 1.12.6]]`,
			"SELECT workspace, author, operation FROM held_locks ORDER BY workspace":                                          `[[default me apply] [dev me apply]]`,
		} {
			if _, rows, err := b.Query(t.Context(), query); err != nil || fmt.Sprint(rows) != want {
				t.Errorf("%s: %v %v, want %s", query, err, rows, want)
			}
		}
		for _, bad := range []string{"DELETE FROM objects", "SELECT 1; DELETE FROM objects", "SELEC", "DROP VIEW resources"} {
			if _, _, err := b.Query(t.Context(), bad); err == nil {
				t.Errorf("%s: done", bad)
			}
		}
		if got := versions(t, b, "objects"); len(got) != 4 {
			t.Errorf("%q", got)
		}
	})
}

// TestViews holds the table of the page to the views, in the order of their columns.
func TestViews(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/database.md")
	storagetest.Do(t, err)
	documented := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (`workspace`.*) \\|$").FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = strings.NewReplacer("`", "", ", ", " ").Replace(m[2])
	}
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		b := fresh(t).backend(t)
		storagetest.Do(t, b.Check(t.Context()))
		var views []string
		for _, text := range migrations {
			for _, m := range regexp.MustCompile(`CREATE VIEW (\w+)`).FindAllStringSubmatch(text, -1) {
				views = append(views, m[1])
			}
		}
		slices.Sort(views)
		views = slices.Compact(views)
		if len(views) != len(documented) {
			t.Errorf("views %q, documented %d", views, len(documented))
		}
		for _, view := range views {
			columns, _, err := b.Query(t.Context(), "SELECT * FROM "+view)
			if got := strings.Join(columns, " "); err != nil || got != documented[view] {
				t.Errorf("%s has %v %q, the page says %q", view, err, got, documented[view])
			}
		}
	})
}
