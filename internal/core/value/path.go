package value

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// PathString writes a path the way an expression would continue after the
// value it starts from: `.a.b[0]["k"]`. The empty path gives "".
func PathString(path cty.Path) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case cty.GetAttrStep:
			b.WriteByte('.')
			b.WriteString(step.Name)
		case cty.IndexStep:
			b.WriteByte('[')
			b.WriteString(keyString(step.Key))
			b.WriteByte(']')
		}
	}
	return b.String()
}

// PathName is PathString without the leading dot, for a path that stands on
// its own: `a.b[0]["k"]`.
func PathName(path cty.Path) string {
	return strings.TrimPrefix(PathString(path), ".")
}

// ErrorString writes err with the path it carries, if it is a cty.PathError,
// after the given name of the value the path starts from. The name may be "".
func ErrorString(name string, err error) string {
	if perr, ok := err.(cty.PathError); ok && len(perr.Path) > 0 {
		name += PathString(perr.Path)
	}
	name = strings.TrimPrefix(name, ".")
	if name == "" {
		return err.Error()
	}
	return name + ": " + err.Error()
}

func keyString(key cty.Value) string {
	key, _ = key.Unmark()
	switch {
	case key.IsNull():
		return "null"
	case !key.IsKnown():
		return "(not yet known)"
	case key.Type() == cty.Number:
		return key.AsBigFloat().Text('f', -1)
	case key.Type() == cty.String:
		return strconv.Quote(key.AsString())
	}
	return "..."
}

type jsonStep struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// PathsToJSON writes paths as a state's sensitive_attributes does: an array of
// arrays of steps, `[]` for none. It fails on keys that are unknown.
func PathsToJSON(paths []cty.Path) (json.RawMessage, error) {
	all := make([][]jsonStep, 0, len(paths))
	for _, path := range paths {
		steps := make([]jsonStep, 0, len(path))
		for _, step := range path {
			switch step := step.(type) {
			case cty.GetAttrStep:
				name, err := json.Marshal(step.Name)
				if err != nil {
					return nil, err
				}
				steps = append(steps, jsonStep{"get_attr", name})
			case cty.IndexStep:
				key, err := ctyjson.Marshal(step.Key, cty.DynamicPseudoType)
				if err != nil {
					return nil, fmt.Errorf("path %s has a key that can't be written: %w", PathName(path), err)
				}
				steps = append(steps, jsonStep{"index", key})
			default:
				return nil, fmt.Errorf("path has a step of unknown kind %T", step)
			}
		}
		all = append(all, steps)
	}
	return json.Marshal(all)
}

// PathsFromJSON reads what PathsToJSON writes. Absent and null mean no paths.
func PathsFromJSON(raw json.RawMessage) ([]cty.Path, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var all [][]jsonStep
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("not a list of paths: %w", err)
	}
	paths := make([]cty.Path, 0, len(all))
	for i, steps := range all {
		path := make(cty.Path, 0, len(steps))
		for _, step := range steps {
			switch step.Type {
			case "get_attr":
				var name *string
				if err := json.Unmarshal(step.Value, &name); err != nil || name == nil {
					return nil, fmt.Errorf("path %d: the value of a get_attr step must be a string", i)
				}
				path = append(path, cty.GetAttrStep{Name: *name})
			case "index":
				key, err := ctyjson.Unmarshal(step.Value, cty.DynamicPseudoType)
				if err != nil {
					return nil, fmt.Errorf("path %d: bad key of an index step: %w", i, err)
				}
				path = append(path, cty.IndexStep{Key: key})
			default:
				return nil, fmt.Errorf("path %d: unsupported kind of step %q", i, step.Type)
			}
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// PathSteps gives a path in the plain form of plan JSON (replace_paths,
// relevant_attributes): names and string keys as strings, numbers as numbers.
func PathSteps(path cty.Path) (json.RawMessage, error) {
	steps := make([]json.RawMessage, 0, len(path))
	for _, step := range path {
		var raw []byte
		var err error
		switch step := step.(type) {
		case cty.GetAttrStep:
			raw, err = json.Marshal(step.Name)
		case cty.IndexStep:
			raw, err = ctyjson.Marshal(step.Key, step.Key.Type())
		default:
			err = fmt.Errorf("path has a step of unknown kind %T", step)
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, raw)
	}
	return json.Marshal(steps)
}

// ComparePaths orders paths step by step: a prefix before what it is a prefix
// of, attributes by name before index keys, numbers by size before strings,
// other keys last by their written form.
func ComparePaths(a, b cty.Path) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if c := compareSteps(a[i], b[i]); c != 0 {
			return c
		}
	}
	return len(a) - len(b)
}

func compareSteps(a, b cty.PathStep) int {
	an, aIsAttr := a.(cty.GetAttrStep)
	bn, bIsAttr := b.(cty.GetAttrStep)
	switch {
	case aIsAttr && bIsAttr:
		return strings.Compare(an.Name, bn.Name)
	case aIsAttr:
		return -1
	case bIsAttr:
		return 1
	}
	aIndex, aok := a.(cty.IndexStep)
	bIndex, bok := b.(cty.IndexStep)
	if !aok || !bok {
		return 0
	}
	ak, bk := keyRank(aIndex.Key), keyRank(bIndex.Key)
	if ak != bk {
		return ak - bk
	}
	switch ak {
	case 0:
		return aIndex.Key.AsBigFloat().Cmp(bIndex.Key.AsBigFloat())
	case 1:
		return strings.Compare(aIndex.Key.AsString(), bIndex.Key.AsString())
	}
	return strings.Compare(aIndex.Key.GoString(), bIndex.Key.GoString())
}

func keyRank(key cty.Value) int {
	switch {
	case key.IsMarked() || key.IsNull() || !key.IsKnown():
		return 2
	case key.Type() == cty.Number:
		return 0
	case key.Type() == cty.String:
		return 1
	}
	return 2
}

// SortPaths puts paths in the order of ComparePaths, in place.
func SortPaths(paths []cty.Path) { slices.SortStableFunc(paths, ComparePaths) }

// SortPathMarks puts marked paths in the order of ComparePaths, in place.
func SortPathMarks(pvms []cty.PathValueMarks) {
	slices.SortStableFunc(pvms, func(a, b cty.PathValueMarks) int { return ComparePaths(a.Path, b.Path) })
}

// PathsMarked returns the sorted paths that carry the mark.
func PathsMarked(pvms []cty.PathValueMarks, mark any) []cty.Path {
	var paths []cty.Path
	for _, pvm := range pvms {
		if pvm.Marks.Has(mark) {
			paths = append(paths, pvm.Path)
		}
	}
	SortPaths(paths)
	return slices.CompactFunc(paths, func(a, b cty.Path) bool { return ComparePaths(a, b) == 0 })
}

// UnmarkDeepPaths takes every mark off v and returns where they were, sorted.
// Marks inside a set are reported on the set.
func UnmarkDeepPaths(v cty.Value) (cty.Value, []cty.PathValueMarks) {
	if !ContainsMarked(v) {
		return v, nil
	}
	v, pvms := v.UnmarkDeepWithPaths()
	SortPathMarks(pvms)
	return v, pvms
}

// MarkPaths puts marks on the parts of v that the paths name. A path that
// leads nowhere in v, because the part is absent, null or unknown, is ignored;
// one that leads into a set marks the set. The cost is that of the containers
// on the way to marked parts, however many paths there are.
func MarkPaths(v cty.Value, pvms []cty.PathValueMarks) cty.Value {
	if len(pvms) == 0 {
		return v
	}
	sorted := slices.Clone(pvms)
	SortPathMarks(sorted)
	return markSorted(v, sorted, 0)
}

// markSorted applies marks whose first depth steps led to v.
func markSorted(v cty.Value, pvms []cty.PathValueMarks, depth int) cty.Value {
	var own []cty.ValueMarks
	for len(pvms) > 0 && len(pvms[0].Path) == depth {
		own = append(own, pvms[0].Marks)
		pvms = pvms[1:]
	}
	if len(pvms) == 0 {
		return v.WithMarks(own...)
	}
	bare, before := v.Unmark()
	own = append(own, before)
	ty := bare.Type()
	switch {
	case bare.IsNull() || !bare.IsKnown():
	case ty.IsSetType():
		for _, pvm := range pvms {
			own = append(own, pvm.Marks)
		}
	case ty.IsObjectType() || ty.IsMapType():
		bare = markKeyed(bare, pvms, depth)
	case ty.IsListType() || ty.IsTupleType():
		bare = markIndexed(bare, pvms, depth)
	}
	return bare.WithMarks(own...)
}

// eachGroup calls f for each run of paths that agree in the step at depth.
func eachGroup(pvms []cty.PathValueMarks, depth int, f func(cty.PathStep, []cty.PathValueMarks)) {
	for len(pvms) > 0 {
		step, n := pvms[0].Path[depth], 1
		for n < len(pvms) && compareSteps(step, pvms[n].Path[depth]) == 0 {
			n++
		}
		f(step, pvms[:n])
		pvms = pvms[n:]
	}
}

func markKeyed(v cty.Value, pvms []cty.PathValueMarks, depth int) cty.Value {
	elems := v.AsValueMap()
	isObject := v.Type().IsObjectType()
	changed := false
	eachGroup(pvms, depth, func(step cty.PathStep, group []cty.PathValueMarks) {
		name, ok := "", false
		switch step := step.(type) {
		case cty.GetAttrStep:
			name, ok = step.Name, isObject
		case cty.IndexStep:
			if keyRank(step.Key) == 1 {
				name, ok = step.Key.AsString(), true
			}
		}
		if elem, has := elems[name]; ok && has {
			elems[name] = markSorted(elem, group, depth+1)
			changed = true
		}
	})
	switch {
	case !changed:
		return v
	case isObject:
		return cty.ObjectVal(elems)
	}
	return cty.MapVal(elems)
}

func markIndexed(v cty.Value, pvms []cty.PathValueMarks, depth int) cty.Value {
	elems := v.AsValueSlice()
	changed := false
	eachGroup(pvms, depth, func(step cty.PathStep, group []cty.PathValueMarks) {
		index, ok := step.(cty.IndexStep)
		if !ok || keyRank(index.Key) != 0 {
			return
		}
		i, acc := index.Key.AsBigFloat().Int64()
		if acc != 0 || i < 0 || i >= int64(len(elems)) {
			return
		}
		elems[i] = markSorted(elems[i], group, depth+1)
		changed = true
	})
	switch {
	case !changed:
		return v
	case v.Type().IsTupleType():
		return cty.TupleVal(elems)
	}
	return cty.ListVal(elems)
}
