package jsonstate

import (
	"cmp"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

// A CheckResult is the outcome of the checks of one object of the
// configuration.
type CheckResult struct {
	Address   map[string]any `json:"address"`
	Status    string         `json:"status"`
	Instances []CheckObject  `json:"instances,omitempty"`
}

// A CheckObject is the outcome for one instance.
type CheckObject struct {
	Address  map[string]any `json:"address"`
	Status   string         `json:"status"`
	Problems []Problem      `json:"problems,omitempty"`
}

// A Problem is the message of a failed condition.
type Problem struct {
	Message string `json:"message"`
}

// Checks converts results of checks, ordered by address.
func Checks(all []state.CheckResult) []CheckResult {
	var out []CheckResult
	for _, c := range all {
		result := CheckResult{Address: staticAddress(c), Status: c.Status}
		for _, o := range c.Objects {
			object := CheckObject{Address: instanceAddress(c, o.Address), Status: o.Status}
			for _, message := range slices.Sorted(slices.Values(o.Messages)) {
				object.Problems = append(object.Problems, Problem{message})
			}
			result.Instances = append(result.Instances, object)
		}
		slices.SortFunc(result.Instances, func(a, b CheckObject) int { return compareShown(a.Address, b.Address) })
		out = append(out, result)
	}
	slices.SortFunc(out, func(a, b CheckResult) int { return compareShown(a.Address, b.Address) })
	return out
}

func compareShown(a, b map[string]any) int {
	return cmp.Compare(a["to_display"].(string), b["to_display"].(string))
}

func staticAddress(c state.CheckResult) map[string]any {
	out := map[string]any{"to_display": c.Address, "kind": c.Kind}
	if c.Kind == "input_variable" || c.Kind == "var" {
		out["kind"] = "var"
	}
	if c.Kind == "resource" {
		if i, err := addr.ParseInstance(c.Address); err == nil {
			out["mode"], out["type"], out["name"] = i.Name.Mode.String(), i.Name.Type, i.Name.Name
			setModule(out, i.Module)
		}
		return out
	}
	if module, _, name, err := addr.ParseMember(c.Address); err == nil {
		out["name"] = name
		setModule(out, module)
	}
	return out
}

func instanceAddress(c state.CheckResult, address string) map[string]any {
	out := map[string]any{"to_display": address}
	if c.Kind != "resource" {
		if module, _, _, err := addr.ParseMember(address); err == nil {
			setModule(out, module)
		}
		return out
	}
	i, err := addr.ParseInstance(address)
	if err != nil {
		return out
	}
	setModule(out, i.Module)
	if n, ok := i.Key.Int(); ok {
		out["instance_key"] = n
	} else if s, ok := i.Key.Str(); ok {
		out["instance_key"] = s
	}
	return out
}

func setModule(out map[string]any, m addr.Module) {
	if !m.IsRoot() {
		out["module"] = m.String()
	}
}
