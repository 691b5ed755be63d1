package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Rules are the rules that somebody chose. The nil Rules has none.
type Rules struct{ wanted, unwanted []string }

// All names every rule, and with a namespace every rule of it.
const all = "all"

// Parse reads a list such as "all,!core:quotedref": names of rules and groups, those after an
// exclamation mark left out. A name that no rule has is allowed, so that one list fits several
// versions. The form is that of OpenTofu's RFC 20260406.
func Parse(text string) (*Rules, error) {
	r := &Rules{}
	for _, item := range strings.Split(text, ",") {
		name, unwanted := strings.CutPrefix(strings.TrimSpace(item), "!")
		if err := checkName(name); err != nil {
			return nil, err
		}
		if unwanted {
			r.unwanted = append(r.unwanted, name)
		} else {
			r.wanted = append(r.wanted, name)
		}
	}
	if len(r.wanted) == 0 {
		return nil, fmt.Errorf("%q chooses no rule. Name at least one without an exclamation mark, as in \"all,%s\"", text, text)
	}
	return r, nil
}

func checkName(name string) error {
	if name == all {
		return nil
	}
	space, rule, ok := strings.Cut(name, ":")
	valid := ok && space != "" && rule != ""
	for i, c := range space {
		valid = valid && (i > 0 || unicode.IsLetter(c) || unicode.IsDigit(c)) && unicode.IsPrint(c)
	}
	for i, c := range rule {
		valid = valid && (unicode.IsLetter(c) && !unicode.IsUpper(c) || i > 0 && (unicode.IsDigit(c) || c == '_' || c == '-'))
	}
	if !valid {
		return fmt.Errorf("%q isn't the name of a rule. Names are \"all\", or a namespace and a name in lowercase, as in \"core:unuseddeps\" and \"core:all\"", name)
	}
	return nil
}

// want reports whether a rule was chosen by its name, or by a group.
func (r *Rules) want(c check) bool {
	if r == nil {
		return false
	}
	space, _, _ := strings.Cut(c.code.Name, ":")
	names := append([]string{c.code.Name, space + ":" + all, all}, c.groups...)
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(name string) bool { return slices.Contains(names, name) })
	}
	return has(r.wanted) && !has(r.unwanted)
}
