package program

import (
	"reflect"
	"strings"
	"testing"
)

// notParts are fields with references that Parts leaves out, with the reason.
var notParts = map[string]string{
	"Call.Reads":                  "references to the call in other declarations",
	"Call.EachReads":              "references to the call in other declarations",
	"Resource.Provisioners.Outer": "the same body as Connection",
	"Resource.Repeat.ForEach":     "at most one field of Repeat is set",
	"Resource.Repeat.Enabled":     "at most one field of Repeat is set",
	"Call.Repeat.ForEach":         "at most one field of Repeat is set",
	"Call.Repeat.Enabled":         "at most one field of Repeat is set",
}

// TestParts: Parts gives every expression, body and reference that a declaration has a field for.
// Targets, incremental plans and analyze follow only what Parts gives, so they would miss the
// references of a forgotten field without any error.
func TestParts(t *testing.T) {
	for _, d := range []Declaration{&Variable{}, &Local{}, &Output{}, &Resource{}, &Call{}, &Provider{}, &Check{}} {
		v := reflect.ValueOf(d).Elem()
		fields := map[*Ref]string{}
		fill(v, v.Type().Name(), fields)
		if len(fields) == 0 {
			t.Errorf("%s has no field with references", v.Type().Name())
		}
		d.Parts(func(p Part) {
			for _, ref := range p.References() {
				delete(fields, ref)
			}
		})
		for _, field := range fields {
			if notParts[field] == "" {
				t.Errorf("Parts doesn't give %s: add it in declaration.go", field)
			}
		}
	}
}

// fill sets each field that has references to one reference of its own. Lists get one element.
func fill(v reflect.Value, path string, fields map[*Ref]string) {
	ref := &Ref{Text: path}
	switch v.Interface().(type) {
	case *Expr:
		v.Set(reflect.ValueOf(&Expr{Refs: []*Ref{ref}}))
	case *Body:
		v.Set(reflect.ValueOf(&Body{Refs: []*Ref{ref}}))
	case []*Ref:
		v.Set(reflect.ValueOf([]*Ref{ref}))
	default:
		descend(v, path, fields)
		return
	}
	fields[ref] = path
}

func descend(v reflect.Value, path string, fields map[*Ref]string) {
	ours := func(t reflect.Type) bool {
		return t.Kind() == reflect.Struct && strings.HasSuffix(t.PkgPath(), "lang/program")
	}
	switch t := v.Type(); {
	case ours(t):
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Name != "Range" {
				fill(v.Field(i), path+"."+f.Name, fields)
			}
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Pointer && ours(t.Elem().Elem()):
		element := reflect.New(t.Elem().Elem())
		descend(element.Elem(), path, fields)
		v.Set(reflect.Append(v, element))
	case t.Kind() == reflect.Slice && ours(t.Elem()):
		element := reflect.New(t.Elem()).Elem()
		descend(element, path, fields)
		v.Set(reflect.Append(v, element))
	}
}
