package stream

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
)

type listStart struct {
	Address   string                     `json:"address"`
	Type      string                     `json:"resource_type"`
	Config    map[string]json.RawMessage `json:"input_config,omitempty"`
	Sensitive []string                   `json:"sensitive_attribute_paths,omitempty"`
}

type listFound struct {
	Address         string                     `json:"address"`
	Name            string                     `json:"display_name"`
	Identity        map[string]json.RawMessage `json:"identity"`
	IdentityVersion int64                      `json:"identity_version"`
	Type            string                     `json:"resource_type"`
	Object          map[string]json.RawMessage `json:"resource_object,omitempty"`
	Sensitive       []string                   `json:"sensitive_attribute_paths,omitempty"`
	Config          string                     `json:"config,omitempty"`
	Import          string                     `json:"import_config,omitempty"`
}

type listComplete struct {
	Address string `json:"address"`
	Type    string `json:"resource_type"`
	Total   int    `json:"total"`
}

// listing writes what a list resource is requested, and what it finds.
func (j *JSON) listing(e event.Event) {
	address, typ := e.Listing.Addr.String(), e.Listing.Addr.Name.Type
	switch e.Kind {
	case event.ListStart:
		out := listStart{Address: address, Type: typ}
		if configures(e.Listing) {
			out.Config, out.Sensitive = attributes(e.Listing.Config)
		}
		j.write("info", address+": Starting query...", "list_start", map[string]any{"list_start": out})
	case event.ListFound:
		f := e.Found
		out := listFound{Address: address, Name: f.Name, IdentityVersion: f.IdentityVersion, Type: typ, Config: f.Resource, Import: f.Import}
		out.Identity, _ = attributes(f.Identity)
		out.Object, out.Sensitive = attributes(f.Object)
		j.write("info", address+": Result found", "list_resource_found", map[string]any{"list_resource_found": out})
	case event.ListComplete:
		j.write("info", address+": List complete", "list_complete", map[string]any{"list_complete": listComplete{address, typ, len(e.Listing.Found)}})
	}
}

// configures reports whether a listing is notified of anything.
func configures(l *plan.Listing) bool {
	for it := l.Config.ElementIterator(); it.Next(); {
		if _, v := it.Element(); v.IsMarked() || !v.IsNull() {
			return true
		}
	}
	return false
}

// attributes are those of an object, with null for what is sensitive, and the paths of
// that.
func attributes(v cty.Value) (map[string]json.RawMessage, []string) {
	v, marked := value.UnmarkDeepPaths(v)
	if v.IsNull() {
		return nil, nil
	}
	var hidden []string
	paths := value.PathsMarked(marked, value.Sensitive)
	value.SortPaths(paths)
	for _, p := range paths {
		hidden = append(hidden, value.PathString(p))
	}
	v, _ = cty.Transform(v, func(at cty.Path, inner cty.Value) (cty.Value, error) {
		for _, p := range paths {
			if p.Equals(at) {
				return cty.NullVal(inner.Type()), nil
			}
		}
		return inner, nil
	})
	out := map[string]json.RawMessage{}
	for it := v.ElementIterator(); it.Next(); {
		name, inner := it.Element()
		text, err := ctyjson.Marshal(inner, inner.Type())
		if err == nil {
			out[name.AsString()] = text
		}
	}
	return out, hidden
}
