package statefile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/core/addr"
)

// Parts is a state file taken apart, for backends that store each object on its own. Each part
// is the very text of the file, so that members of OpenTofu and Terraform survive that weir doesn't know.
type Parts struct {
	Serial  uint64
	Lineage string
	Version string // of the engine that wrote it
	// Head is the file with nothing in its resources, outputs and check results.
	Head    string
	Objects []ObjectPart // in the order of the format
	Outputs []Part
	Checks  []Part
}

// A Part is an output or the result of a check.
type Part struct{ Name, Text string }

// An ObjectPart is an object, with what stands in front of the instances of its resource.
type ObjectPart struct {
	Module, Mode, Type, Name string
	Key                      string // as JSON, empty for none
	Deposed                  string
	Resource, Text           string
	Dependencies             string // as JSON, empty for none
}

// Split takes a state file of the present version apart. It reports false for a file that
// Join wouldn't give back byte for byte.
func Split(src []byte) (*Parts, bool) {
	s := splitter{scanner: scanner{src: src}, source: string(src)}
	if s.file() != nil || s.end() != nil || s.version != strconv.Itoa(formatVersion) {
		return nil, false
	}
	s.out.sort()
	return &s.out, bytes.Equal(s.out.join(len(src)), src)
}

// Join is the file that has these parts. The objects may be in any order.
func (p *Parts) Join() []byte {
	p.sort()
	size := len(p.Head)
	for _, o := range p.Objects {
		size += len(o.Text) + len(o.Resource) + 40
	}
	return p.join(size)
}

// sort puts the objects in the order of byText.
func (p *Parts) sort() {
	type keyed struct {
		ObjectPart
		key addr.Key
	}
	all := make([]keyed, len(p.Objects))
	for i, o := range p.Objects {
		all[i] = keyed{o, keyOf(o.Key)}
	}
	order := func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Name, b.Name), a.key.Compare(b.key), cmp.Compare(a.Deposed, b.Deposed))
	}
	if slices.IsSortedFunc(all, order) {
		return
	}
	slices.SortStableFunc(all, order)
	for i := range all {
		p.Objects[i] = all[i].ObjectPart
	}
}

func keyOf(text string) addr.Key {
	if strings.HasPrefix(text, `"`) {
		key, _ := unquote([]byte(text)) // it was read before
		return addr.StringKey(key)
	}
	if n, err := strconv.Atoi(text); err == nil {
		return addr.IntKey(n)
	}
	return addr.NoKey
}

type splitter struct {
	scanner
	source  string // src
	version string
	out     Parts
}

var errNoParts = errors.New("it can't be taken apart")

func (s *splitter) file() error {
	var head strings.Builder
	from := 0
	err := s.object(func(member string) (err error) {
		s.peek()
		start := s.pos
		empty, before := "", len(s.out.Objects)+len(s.out.Outputs)+len(s.out.Checks)
		switch member {
		case "version":
			var raw []byte
			raw, err = s.value()
			s.version = string(raw)
		case "serial":
			s.out.Serial, err = s.whole()
		case "lineage":
			s.out.Lineage, err = s.text()
		case "terraform_version":
			s.out.Version, err = s.text()
		case "resources":
			empty, err = "[]", s.array(s.resource)
		case "outputs":
			empty, err = "{}", s.object(func(name string) error {
				text, err := s.slice()
				s.out.Outputs = append(s.out.Outputs, Part{name, text})
				return err
			})
		case "check_results":
			empty, err = "[]", s.array(func() error {
				text, err := s.slice()
				s.out.Checks = append(s.out.Checks, Part{checkName(text), text})
				return err
			})
		default:
			err = s.skip()
		}
		if len(s.out.Objects)+len(s.out.Outputs)+len(s.out.Checks) > before {
			head.WriteString(s.source[from:start])
			head.WriteString(empty)
			from = s.pos
		}
		return err
	})
	head.WriteString(s.source[from:])
	s.out.Head = head.String()
	return err
}

// slice is the text of the next value.
func (s *splitter) slice() (string, error) {
	s.peek()
	start := s.pos
	err := s.skip()
	return s.source[start:s.pos], err
}

// checkName names the checkable object of a result.
func checkName(text string) string {
	var names struct {
		Kind    string `json:"object_kind"`
		Address string `json:"config_addr"`
	}
	_ = json.Unmarshal([]byte(text), &names) // without names it isn't the only one
	return names.Kind + " " + names.Address
}

func (s *splitter) resource() error {
	s.peek()
	start, first := s.pos, len(s.out.Objects)
	var o ObjectPart
	err := s.object(func(member string) (err error) {
		switch member {
		case "module":
			o.Module, err = s.text()
		case "mode":
			o.Mode, err = s.known()
		case "type":
			o.Type, err = s.known()
		case "name":
			o.Name, err = s.known()
		case "instances":
			s.peek()
			o.Resource = s.source[start:min(s.pos+1, len(s.source))]
			err = s.array(s.instance)
		default:
			err = s.skip()
		}
		return err
	})
	if err == nil && len(s.out.Objects) == first {
		return errNoParts // only an object can be a part
	}
	for i := first; i < len(s.out.Objects); i++ {
		one := &s.out.Objects[i]
		one.Module, one.Mode, one.Type, one.Name, one.Resource = o.Module, o.Mode, o.Type, o.Name, o.Resource
	}
	return err
}

func (s *splitter) instance() error {
	s.peek()
	start := s.pos
	var o ObjectPart
	err := s.object(func(member string) (err error) {
		switch member {
		case "index_key":
			o.Key, err = s.slice()
		case "deposed":
			o.Deposed, err = s.text()
		case "dependencies":
			var raw []byte
			if raw, err = s.value(); err == nil {
				var line bytes.Buffer
				err = json.Compact(&line, raw)
				o.Dependencies = line.String()
			}
		default:
			err = s.skip()
		}
		return err
	})
	o.Text = s.source[start:s.pos]
	s.out.Objects = append(s.out.Objects, o)
	return err
}

func (p *Parts) join(size int) []byte {
	out := &printer{}
	out.out.Grow(size)
	s := scanner{src: []byte(p.Head)}
	from := 0
	_ = s.object(func(member string) error { // Head was read before
		s.peek()
		start := s.pos
		err := s.skip()
		var write func(*printer)
		switch {
		case member == "resources" && len(p.Objects) > 0:
			write = p.writeObjects
		case member == "outputs" && len(p.Outputs) > 0:
			write = p.writeOutputs
		case member == "check_results" && len(p.Checks) > 0:
			write = p.writeChecks
		default:
			return err
		}
		out.raw(p.Head[from:start])
		out.depth, out.some = 1, false
		write(out)
		from = s.pos
		return err
	})
	out.raw(p.Head[from:])
	return out.out.Bytes()
}

func (p *Parts) writeObjects(out *printer) {
	out.open('[')
	for rest := p.Objects; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Resource == rest[0].Resource {
			n++
		}
		out.element()
		out.raw(rest[0].Resource)
		out.depth += 2
		out.some = false
		for _, o := range rest[:n] {
			out.element()
			out.raw(o.Text)
		}
		out.close(']')
		out.close('}')
		rest = rest[n:]
	}
	out.close(']')
}

func (p *Parts) writeOutputs(out *printer) {
	out.open('{')
	for _, o := range p.Outputs {
		out.member(o.Name)
		out.raw(o.Text)
	}
	out.close('}')
}

func (p *Parts) writeChecks(out *printer) {
	out.open('[')
	for _, c := range p.Checks {
		out.element()
		out.raw(c.Text)
	}
	out.close(']')
}
