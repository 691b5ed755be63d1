package affected

import (
	"bytes"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/pieces"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/looks"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/word/addr"
)

// A Choice is what of a root module is planned, because the rest comes to what it came to
// before: what a plan may affect, and what that refers to.
type Choice struct {
	files []File
	texts map[string][]byte // what is chosen of each file
	// left are the resources that are left out by their names within their type, and what
	// else is by its name.
	left    map[string]*left
	outputs map[string]bool
}

// A left is what is left out, with how its objects were looked at.
type left struct {
	*unit
	seen sum
}

// A part is a piece where it is in the files.
type part struct {
	*unit
	file, cut int
	known     bool
	chosen    bool
}

// Choose says what may come to something else than in the record, where the objects of the
// given names are to be looked at. It is nil where nothing, or too little, can be left out.
func (r *Record) Choose(files []File, due map[string]bool) *Choice {
	s := &sifting{due: due, seen: map[sum]bool{}, declared: map[string]int{}}
	if r == nil || !r.each(files, s.take) {
		return nil
	}
	for _, u := range r.units {
		if !s.seen[u.sum] {
			if u.Settings {
				return nil
			}
			s.changed = append(s.changed, u.Declares...)
		}
	}
	s.follow()
	return s.choice(files)
}

// A sifting is making a choice.
type sifting struct {
	due      map[string]bool
	parts    []part
	seen     map[sum]bool
	declared map[string]int // parts by what they declare
	changed  []string       // names that may come to something else, to be followed
	number   int            // of chosen parts
	fresh    int
}

// take takes the next piece, unless it makes everything doubtful.
func (s *sifting) take(file, cut int, u *unit, known bool) bool {
	n := len(s.parts)
	s.parts = append(s.parts, part{unit: u, file: file, cut: cut, known: known})
	s.seen[u.sum] = true
	for _, name := range u.Declares {
		if _, twice := s.declared[name]; twice {
			return false
		}
		s.declared[name] = n
	}
	if !known {
		s.fresh++
	}
	return known || !u.Settings && s.fresh <= mostFresh
}

// mostFresh is how many pieces are read to find out what they may affect. With more of them
// it is no edit.
const mostFresh = 1000

// follow chooses what may come to something else, what depends on that, and then all that
// these refer to.
func (s *sifting) follow() {
	readers := map[string][]int{}
	for i := range s.parts {
		p := &s.parts[i]
		for _, names := range [][]string{p.Refers, p.depends} {
			for _, name := range names {
				readers[name] = append(readers[name], i)
			}
		}
		if !p.known || !p.settled || p.Open || s.isDue(p) {
			s.affect(i)
		}
	}
	for len(s.changed) > 0 {
		name := s.changed[len(s.changed)-1]
		s.changed = s.changed[:len(s.changed)-1]
		for _, i := range readers[name] {
			s.affect(i)
		}
	}
	var needed []int
	for i := range s.parts {
		if s.parts[i].Base {
			s.choose(i)
		}
		if s.parts[i].chosen {
			needed = append(needed, i)
		}
	}
	for len(needed) > 0 {
		p := &s.parts[needed[len(needed)-1]]
		needed = needed[:len(needed)-1]
		for _, name := range p.Refers {
			if i, ok := s.declared[name]; ok && s.choose(i) {
				needed = append(needed, i)
			}
		}
	}
}

func (s *sifting) isDue(p *part) bool {
	for _, name := range p.Declares {
		if s.due[name] {
			return true
		}
	}
	return false
}

// affect chooses a part that may come to something else.
func (s *sifting) affect(i int) {
	if s.choose(i) {
		s.changed = append(s.changed, s.parts[i].Declares...)
	}
}

func (s *sifting) choose(i int) bool {
	if s.parts[i].chosen {
		return false
	}
	s.parts[i].chosen = true
	s.number++
	return true
}

func (s *sifting) choice(files []File) *Choice {
	if s.number*2 > len(s.parts) {
		return nil
	}
	c := &Choice{files: files, texts: map[string][]byte{}, left: make(map[string]*left, len(s.parts)), outputs: map[string]bool{}}
	some := make([]bool, len(files))
	for i := range s.parts {
		some[s.parts[i].file] = some[s.parts[i].file] || s.parts[i].chosen
	}
	for i := range files {
		c.texts[filepath.Clean(files[i].Name)] = nil
	}
	for i := range s.parts {
		p := &s.parts[i]
		if !p.chosen {
			c.leave(p.unit)
		}
		if !some[p.file] {
			continue
		}
		f := &files[p.file]
		text := pieces.Join(f.Cuts[p.cut : p.cut+p.cuts])
		if !p.chosen {
			text = bytes.Repeat([]byte{'\n'}, bytes.Count(text, []byte{'\n'}))
		}
		path := filepath.Clean(f.Name)
		c.texts[path] = append(c.texts[path], text...)
	}
	return c
}

func (c *Choice) leave(u *unit) {
	for _, name := range u.Declares {
		if resource, ok := strings.CutPrefix(name, own+"."); ok {
			c.left[resource] = &left{unit: u}
		}
		if output, ok := strings.CutPrefix(name, "output."); ok {
			c.outputs[output] = true
		}
	}
}

// Of has the files of the root module with what is chosen of them, every piece on its lines.
func (c *Choice) Of(all module.Files) module.Files { return chosen{all, c.texts} }

type chosen struct {
	module.Files
	texts map[string][]byte
}

// ReadFile implements module.Files.
func (c chosen) ReadFile(path string) ([]byte, error) {
	if text, ok := c.texts[filepath.Clean(path)]; ok {
		return text, nil
	}
	return c.Files.ReadFile(path)
}

// A Part is the part of a state that a plan of what was chosen is about.
type Part struct {
	State *state.Snapshot
	// LeftOut are the objects that aren't in it, nil without.
	LeftOut *plan.LeftOut
	// Due are the names of those that are to be looked at: without any, the part is that
	// of the choice.
	Due map[string]bool
}

// Part is what is chosen of a state, after Begin was told of looks.
func (c *Choice) Part(s *state.Snapshot, l *looks.Looks) Part {
	part := *s
	part.Objects, part.Outputs = map[addr.Object]*state.Object{}, map[string]state.Output{}
	p := Part{State: &part, Due: map[string]bool{}}
	for _, u := range c.left {
		u.seen = sum{}
	}
	for at, o := range s.Objects {
		u := c.left[at.Name.Name]
		if u == nil || !isOwn(at) {
			part.Objects[at] = o
			continue
		}
		when, what, may := l.Seen(at, o)
		if !may {
			p.Due[name(at.Resource)] = true
		}
		u.seen.add(at, what)
		p.LeftOut = p.LeftOut.With(1, when)
	}
	for called, u := range c.left {
		if u.seen != u.looked {
			p.Due[own+"."+called] = true
		}
	}
	for name, o := range s.Outputs {
		if !c.outputs[name] {
			part.Outputs[name] = o
		}
	}
	return p
}
