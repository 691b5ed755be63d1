package planoptions

import (
	"fmt"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/sys/readlimit"
)

// An Import names an existing object and where it belongs.
type Import struct {
	Target addr.Target
	ID     string // what its provider knows it by
}

// Object is the address of the object in the state.
func (i Import) Object() addr.Object { return addr.Object{Instance: i.Target.Instance()} }

// ReadImport reads where an object belongs.
func ReadImport(address, id string) (Import, diag.List) {
	target, err := addr.ParseTarget(address)
	switch {
	case err != nil:
		return Import{}, diag.BadAddress.List("%s.", err)
	case target.IsModule() || target.Name.Mode != addr.Managed:
		return Import{}, diag.BadAddress.As("A managed resource address is required").List("The import command needs the address of an instance of a managed resource, such as aws_instance.example or module.a.aws_instance.example[0].")
	}
	return Import{target, id}, nil
}

// Imports are addresses with what providers know the objects by, from texts of the
// form ADDRESS=ID and from the lines of a file, if one is named.
func Imports(texts []string, file string) ([][2]string, error) {
	var objects [][2]string
	add := func(text, where string) error {
		address, id := cutAddress(text)
		if address == "" || id == "" {
			return fmt.Errorf("%s%q isn't of the form ADDRESS=ID", where, text)
		}
		objects = append(objects, [2]string{address, id})
		return nil
	}
	for _, text := range texts {
		if err := add(text, ""); err != nil {
			return nil, err
		}
	}
	if file == "" {
		return objects, nil
	}
	list, err := readlimit.Any(file, nil)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %s", file, diag.Cause(err))
	}
	for line, where := range items(file, list) {
		if err := add(line, where); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// cutAddress splits ADDRESS=ID at the first sign that isn't part of an
// instance key.
func cutAddress(text string) (address, id string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '=' && !quoted:
			return text[:i], text[i+1:]
		}
	}
	return "", ""
}
