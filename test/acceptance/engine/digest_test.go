package engine

import (
	"encoding/json"
	"strings"
	"testing"
)

// A digest reports where two plans differ, and not whose they are or in which order they list
// things.
func TestDigest(t *testing.T) {
	const plan = `{
		"terraform_version": "1", "variables": {"v": {"value": 1}},
		"resource_changes": [
			{"address": "a.x", "change": {"actions": ["delete", "create"], "after": {"n": 1}}},
			{"address": "a.y", "deposed": "0123", "change": {"actions": ["delete"]}}],
		"planned_values": {"root_module": {"resources": [{"address": "a.x", "values": {"n": 1}}],
			"child_modules": [{"address": "module.m", "resources": [{"address": "module.m.a.z", "values": {}}]}]}},
		"prior_state": {"terraform_version": "1", "values": {"root_module": {"resources": [{"address": "a.x", "values": {"n": 0}}]}}},
		"relevant_attributes": [{"resource": "a.x"}, {"resource": "a.y"}]
	}`
	of := func(plan string) string {
		p, err := normal([]byte(plan))
		if err != nil {
			t.Fatal(err)
		}
		return digest(p)
	}
	recorded := of(plan)
	for _, line := range []string{"a.x delete,create ", "a.y deposed delete ", "module.m.a.z - - - "} {
		if !strings.Contains(recorded, "\n"+line) {
			t.Errorf("no line %q in\n%s", line, recorded)
		}
	}
	same := strings.NewReplacer(`"terraform_version": "1"`, `"terraform_version": "2"`, `"variables"`, `"timestamp": "now", "variables"`,
		`{"resource": "a.x"}, {"resource": "a.y"}`, `{"resource": "a.y"}, {"resource": "a.x"}`).Replace(plan)
	if got := of(same); got != recorded {
		t.Errorf("the same plan by another engine:\n%s", difference(recorded, got))
	}
	for old, other := range map[string]string{
		`"after": {"n": 1}`:                              `"after": {"n": 2}`,
		`"values": {"n": 0}`:                             `"values": {"n": 2}`,
		`"address": "a.x", "values": {"n": 1}`:           `"address": "a.x", "values": {"n": 2}`,
		`"variables": {"v": {"value": 1}}`:               `"variables": {"v": {"value": 2}}`,
		`{"resource": "a.x"}, {"resource": "a.y"}`:       `{"resource": "a.x"}`,
		`"address": "module.m", "resources": [{`:         `"address": "module.n", "resources": [{`,
		`"a.y", "deposed": "0123", "change": {"actions"`: `"a.y", "change": {"actions"`,
	} {
		changed := strings.Replace(plan, old, other, 1)
		if !json.Valid([]byte(changed)) || changed == plan {
			t.Fatalf("%s is no change", other)
		}
		if got := of(changed); got == recorded {
			t.Errorf("%s makes no difference", other)
		}
	}
}
