package function

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Parameter describes a parameter for tools.
type Parameter struct {
	Name       string          `json:"name"`
	IsNullable bool            `json:"is_nullable,omitempty"`
	Type       json.RawMessage `json:"type"`
}

// Signature describes a function for tools. Its JSON form is that of an entry
// of `metadata functions -json`.
type Signature struct {
	Description string          `json:"description,omitempty"`
	ReturnType  json.RawMessage `json:"return_type"`
	Parameters  []Parameter     `json:"parameters,omitempty"`
	Variadic    *Parameter      `json:"variadic_parameter,omitempty"`
}

// Signatures describes every function under both of its names.
func Signatures() map[string]Signature {
	all := make(map[string]Signature, 2*len(signatures))
	for name, s := range signatures {
		described := s.describe()
		all[name], all[namespace+name] = described, described
	}
	return all
}

// MetadataJSON is what `metadata functions -json` prints.
func MetadataJSON() ([]byte, error) {
	return json.Marshal(struct {
		FormatVersion string               `json:"format_version"`
		Signatures    map[string]Signature `json:"function_signatures"`
	}{"1.0", Signatures()})
}

// describe reads a shape. Shapes are written in this package, so a mistake in
// one is a mistake of ours that the tests find.
func (s signature) describe() Signature {
	// Types have parentheses too: the parameters end where the first is closed.
	end, depth := 0, 0
	for i, r := range s.shape {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			end = i
			break
		}
	}
	ret := Signature{Description: s.about, ReturnType: typeJSON(strings.TrimSpace(s.shape[end+1:]))}
	inside := s.shape[1:end]
	if inside == "" {
		return ret
	}
	for _, text := range strings.Split(inside, ", ") {
		name, ty, ok := strings.Cut(text, " ")
		if !ok {
			panic(fmt.Sprintf("parameter %q has no type", text))
		}
		ty, variadic := strings.CutPrefix(ty, "...")
		ty, nullable := strings.CutSuffix(ty, "?")
		p := Parameter{Name: name, IsNullable: nullable, Type: typeJSON(ty)}
		if variadic {
			ret.Variadic = &p
			continue
		}
		ret.Parameters = append(ret.Parameters, p)
	}
	return ret
}

// typeJSON turns list(string) into ["list","string"]. Types as arguments have
// no type of their own.
func typeJSON(ty string) json.RawMessage {
	if ty == "type" {
		ty = "dynamic"
	}
	kind, inner, ok := strings.Cut(ty, "(")
	if !ok {
		return json.RawMessage(`"` + ty + `"`)
	}
	return json.RawMessage(fmt.Sprintf(`["%s",%s]`, kind, typeJSON(strings.TrimSuffix(inner, ")"))))
}

// Text is a function as people read it: its parameters with their types and the type of the
// result, such as "(str string) string", and a sentence about it.
func Text(name string) (shape, about string, ok bool) {
	plain, _ := Plain(name)
	s, ok := signatures[plain]
	return s.shape, s.about, ok
}
