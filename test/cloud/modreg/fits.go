package modreg

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A version is a release: major, minor, patch.
type version [3]int

func parse(text string) (version, bool) {
	var v version
	parts := strings.Split(strings.TrimPrefix(text, "v"), ".")
	if len(parts) > 3 {
		return v, false
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

func (v version) compare(w version) int { return slices.Compare(v[:], w[:]) }

var (
	release    = regexp.MustCompile(`^v?\d+\.\d+\.\d+$`)
	constraint = regexp.MustCompile(`^\s*(>=|<=|~>|!=|=|>|<)?\s*v?(\d+(?:\.\d+)*)\s*$`)
)

// admits reports whether constraints admit a release. Anything that can't be read admits all.
func admits(constraints string, v version) bool {
	for part := range strings.SplitSeq(constraints, ",") {
		m := constraint.FindStringSubmatch(part)
		if m == nil {
			continue
		}
		w, ok := parse(m[2])
		if !ok {
			continue
		}
		c := v.compare(w)
		switch m[1] {
		case ">=":
			ok = c >= 0
		case "<=":
			ok = c <= 0
		case ">":
			ok = c > 0
		case "<":
			ok = c < 0
		case "!=":
			ok = c != 0
		case "~>": // all but the last part that is written stay
			fixed := max(strings.Count(m[2], "."), 1)
			ok = c >= 0 && slices.Equal(v[:fixed], w[:fixed])
		default:
			ok = c == 0
		}
		if !ok {
			return false
		}
	}
	return true
}

// required finds the constraint of a provider in a file of requirements; "" if it
// has none.
func required(text, provider string) string {
	for _, form := range []string{`\b%s\s*=\s*\{[^}]*?version\s*=\s*"([^"]+)"`, `(?m)^\s*%s\s*=\s*"([^"]+)"`} {
		if m := regexp.MustCompile(fmt.Sprintf(form, regexp.QuoteMeta(provider))).FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	return ""
}

// most is how many tags of a repository are inspected, from the newest.
const most = 400

// usable are the tags of a repository, newest first, that hold a release whose
// root, modules and examples all admit a release of a provider.
func usable(repo, provider string, v version) ([]string, error) {
	out, err := git(repo, "tag")
	if err != nil {
		return nil, err
	}
	tags := slices.DeleteFunc(strings.Fields(out), func(t string) bool { return !release.MatchString(t) })
	slices.SortFunc(tags, func(a, b string) int {
		va, _ := parse(a)
		vb, _ := parse(b)
		return cmp.Or(vb.compare(va), cmp.Compare(a, b))
	})
	if len(tags) > most {
		tags = tags[:most]
	}
	fits := map[string]bool{} // by file content
	var fine []string
tags:
	for _, tag := range tags {
		files, err := git(repo, "ls-tree", "-r", tag, "--", "versions.tf", "modules", "wrappers", "examples")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(files) {
			fields := strings.Fields(line) // mode, type, identifier, path
			if len(fields) != 4 || !strings.HasSuffix(fields[3], "versions.tf") {
				continue
			}
			blob := fields[2]
			if _, seen := fits[blob]; !seen {
				text, err := git(repo, "cat-file", "blob", blob)
				if err != nil {
					return nil, err
				}
				fits[blob] = admits(required(text, provider), v)
			}
			if !fits[blob] {
				continue tags
			}
		}
		fine = append(fine, tag)
	}
	return fine, nil
}
