package lint

import (
	"fmt"
	"slices"
	"strings"
)

// A rule is what the rows of a package and of the folders around it say together.
type rule struct {
	ruled      bool // there is a row
	all        bool // it may import everything
	may, never names
}

// names are packages; one that ends in a slash is a folder, with the package in the
// folder itself.
type names []string

// has reports whether a package is among the names.
func (n names) has(pkg string) bool {
	return slices.ContainsFunc(n, func(name string) bool {
		return name == pkg || strings.HasSuffix(name, "/") && strings.HasPrefix(pkg+"/", name)
	})
}

// ruleOf puts the rows together that are about a package, the outermost folder's first.
// Anything that is never allowed stays so; what is allowed is added up, but from "only" on
// again.
func ruleOf(rows []row, pkg string) (r rule) {
	for end := 0; end < len(pkg); {
		if next := strings.IndexByte(pkg[end:], '/'); next >= 0 {
			end += next + 1
		} else {
			end = len(pkg)
		}
		about := []string{pkg[:end]}
		if end == len(pkg) {
			about = []string{pkg + "/", pkg}
		}
		for _, name := range about {
			if i := slices.IndexFunc(rows, func(r row) bool { return r.pkg == name }); i >= 0 {
				r.add(rows[i])
			}
		}
	}
	return r
}

func (r *rule) add(w row) {
	r.ruled = true
	may := strings.Fields(w.may)
	if len(may) > 0 && may[0] == only {
		r.may, may = nil, may[1:]
	}
	if w.may == "*" {
		r.all, may = true, nil
	}
	r.may = append(r.may, may...)
	r.never = append(r.never, strings.Fields(w.never)...)
}

// checkRows rejects a table that has two rows for one name, or allows and forbids the same in
// one row.
func checkRows(rows []row) error {
	seen := names{}
	for _, r := range rows {
		if slices.Contains(seen, r.pkg) {
			return fmt.Errorf("the table has two rows for %s", r.pkg)
		}
		seen = append(seen, r.pkg)
		for _, name := range strings.Fields(r.never) {
			if slices.Contains(strings.Fields(r.may), name) {
				return fmt.Errorf("the row of %s both allows and forbids %s", r.pkg, name)
			}
		}
	}
	return nil
}

// named are all packages and folders that the rows name.
func named(rows []row) (all []string) {
	for _, r := range rows {
		all = append(all, r.pkg)
		for _, name := range slices.Concat(strings.Fields(r.may), strings.Fields(r.never)) {
			if name != only && name != "*" {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
