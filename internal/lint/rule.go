package lint

import (
	"fmt"
	"strings"
)

// A rule is a row of the table with its groups spelled out.
type rule struct {
	all        bool // it may import everything
	may, never map[string]bool
}

// readTable spells out the rows. It refuses a table that names a package which
// has no row, names one twice, or allows and forbids the same.
func readTable(rows []row) (map[string]rule, error) {
	rules := map[string]rule{}
	for _, r := range rows {
		if _, twice := rules[r.pkg]; twice {
			return nil, fmt.Errorf("the table has two rows for %s", r.pkg)
		}
		rules[r.pkg] = rule{
			all:   r.may == "*",
			may:   spell(strings.TrimSuffix(r.may, "*")),
			never: spell(r.never),
		}
	}
	for _, r := range rows {
		for _, names := range []map[string]bool{rules[r.pkg].may, rules[r.pkg].never} {
			for name := range names {
				if _, ok := rules[name]; !ok {
					return nil, fmt.Errorf("the row of %s names %s, which has no row", r.pkg, name)
				}
			}
		}
		for name := range rules[r.pkg].may {
			if rules[r.pkg].never[name] {
				return nil, fmt.Errorf("the row of %s both allows and forbids %s", r.pkg, name)
			}
		}
	}
	return rules, nil
}

func spell(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		if members, ok := groups[name]; ok {
			name = members
		}
		for _, member := range strings.Fields(name) {
			set[member] = true
		}
	}
	return set
}
