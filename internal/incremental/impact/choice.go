package impact

import (
	"bytes"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/incremental/sourceblocks"
	"weir.dev/weir/internal/lang/module"
)

// A Choice is what of a root module is planned, because the rest results in what it came to
// before: what a plan may affect, and what that refers to.
type Choice struct {
	record *Record
	chosen map[*unit]bool
	gone   map[*unit]bool // aren't in the files any more
	edited map[*unit]bool // are chosen because of what was edited
	texts  map[string][]byte
	// written are the files that have something of what is chosen.
	written []pieced
}

// A pieced is a file with its pieces.
type pieced struct {
	file  *File
	parts []part
}

// A part is a piece where it is in a file.
type part struct {
	*unit
	cut int
}

// Choose says what may give another result than in the record, where the objects of the given
// names are to be inspected, and calls have sources behind them. It is nil where nothing, or
// too little, can be left out.
func (r *Record) Choose(files []*File, sources map[string]*Source, due map[string]bool) *Choice {
	if r == nil {
		return nil
	}
	s := &sifting{
		Choice: &Choice{record: r, chosen: map[*unit]bool{}, gone: map[*unit]bool{}, edited: map[*unit]bool{}, texts: map[string][]byte{}},
		index:  r.index(), nowDeclared: map[string]*unit{}, nowReaders: map[string][]*unit{}, parts: map[string][]part{},
	}
	s.number = s.units
	if !s.compare(files) {
		return nil
	}
	s.follow(sources, due)
	if len(s.chosen)*2 > s.number {
		return nil
	}
	s.write(files)
	return s.Choice
}

// A sifting is making a choice.
type sifting struct {
	*Choice
	*index
	parts       map[string][]part  // of the files that aren't as they were
	fresh       []*unit            // that the record doesn't have
	nowDeclared map[string]*unit   // in these files
	nowReaders  map[string][]*unit // of fresh ones
	changed     []string           // names that may give another result, to be followed
	number      int                // of pieces
}

// mostFresh is how many pieces are read to find out what they may affect. With more of them
// it is no edit.
const mostFresh = 1000

// compare finds what the files have that the record hasn't, and what is gone, unless it makes
// everything doubtful.
func (s *sifting) compare(files []*File) bool {
	now := make(map[string]*File, len(files))
	for _, f := range files {
		now[f.Name] = f
	}
	same := map[string]bool{}
	seen := map[*unit]bool{}
	for i := range s.record.files {
		was := &s.record.files[i]
		if f := now[was.name]; f != nil && f.sum == was.sum {
			same[was.name] = true
			continue
		}
		s.number -= len(was.units)
	}
	for _, f := range files {
		if same[f.Name] {
			continue
		}
		if !s.record.each(f, func(cut int, u *unit, known bool) bool {
			s.parts[f.Name] = append(s.parts[f.Name], part{u, cut})
			s.number++
			seen[u] = true
			return s.take(u, known, same)
		}) {
			return false
		}
	}
	for i := range s.record.files {
		if same[s.record.files[i].name] {
			continue
		}
		for _, u := range s.record.files[i].units {
			if seen[u] || same[s.in[u]] {
				continue
			}
			if u.Settings {
				return false
			}
			s.gone[u] = true
			s.changed = append(s.changed, u.Declares...)
		}
	}
	return true
}

// take takes a piece of a file that isn't as it was.
func (s *sifting) take(u *unit, known bool, same map[string]bool) bool {
	for _, name := range u.Declares {
		other := s.declared[name]
		if s.nowDeclared[name] != nil || other != nil && same[s.in[other]] {
			return false // twice
		}
		s.nowDeclared[name] = u
	}
	if known {
		return true
	}
	for _, name := range u.Refers {
		s.nowReaders[name] = append(s.nowReaders[name], u)
	}
	s.fresh = append(s.fresh, u)
	return !u.Settings && len(s.fresh) <= mostFresh
}

// of is what declares a name, nil where nothing does.
func (s *sifting) of(name string) *unit {
	if u := s.nowDeclared[name]; u != nil {
		return u
	}
	if u := s.declared[name]; !s.gone[u] {
		return u
	}
	return nil
}

// follow chooses what may give another result, what depends on that, and then all that these
// refer to.
func (s *sifting) follow(sources map[string]*Source, due map[string]bool) {
	s.affect(s.fresh)
	s.affect(s.open)
	for _, u := range s.calls {
		if name, _ := u.call(); sources[name] == nil || sources[name].sum != u.inside {
			s.affect([]*unit{u})
		}
	}
	s.spread()
	for u := range s.chosen {
		s.edited[u] = true
	}
	for name := range due {
		if u := s.of(name); u != nil {
			s.affect([]*unit{u})
		}
	}
	s.spread()
	needed := s.need(s.base, nil)
	for u := range s.chosen {
		needed = append(needed, u)
	}
	for len(needed) > 0 {
		u := needed[len(needed)-1]
		needed = needed[:len(needed)-1]
		for _, name := range u.Refers {
			if other := s.of(name); other != nil {
				needed = s.need([]*unit{other}, needed)
			}
		}
	}
}

// spread follows the names that may give another result.
func (s *sifting) spread() {
	for len(s.changed) > 0 {
		name := s.changed[len(s.changed)-1]
		s.changed = s.changed[:len(s.changed)-1]
		s.affect(s.nowReaders[name])
		s.affect(s.readers[name])
		if strings.HasPrefix(name, "provider.") && name != sourceblocks.AnyProvider {
			s.changed = append(s.changed, sourceblocks.AnyProvider)
		}
	}
}

// affect chooses what may give another result.
func (s *sifting) affect(units []*unit) {
	for _, u := range units {
		if !s.gone[u] && !s.chosen[u] {
			s.chosen[u] = true
			s.changed = append(s.changed, u.Declares...)
		}
	}
}

// need chooses what others refer to, and adds it to a list if it wasn't chosen before.
func (s *sifting) need(units, to []*unit) []*unit {
	for _, u := range units {
		if !s.gone[u] && !s.chosen[u] {
			s.chosen[u] = true
			to = append(to, u)
		}
	}
	return to
}

// write makes the texts of the files, with every piece that is chosen on its lines.
func (s *sifting) write(files []*File) {
	with := map[string]bool{}
	for u := range s.chosen {
		with[s.in[u]] = true
	}
	was := make(map[string][]*unit, len(with))
	for i := range s.record.files {
		if f := &s.record.files[i]; with[f.name] {
			was[f.name] = f.units
		}
	}
	for _, f := range files {
		parts, edited := s.parts[f.Name]
		s.texts[filepath.Clean(f.Name)] = nil
		if !edited && !with[f.Name] {
			continue
		}
		if !edited {
			cut := 0
			for _, u := range was[f.Name] {
				parts, cut = append(parts, part{u, cut}), cut+u.cuts
			}
		}
		w := pieced{f, parts}
		s.written = append(s.written, w)
		s.texts[filepath.Clean(f.Name)] = w.text(s.chosen)
	}
}

// text is that of a file without what isn't chosen of it.
func (w pieced) text(chosen map[*unit]bool) (all []byte) {
	w.file.cut()
	for _, p := range w.parts {
		text := w.piece(p)
		if !chosen[p.unit] {
			text = bytes.Repeat([]byte{'\n'}, bytes.Count(text, []byte{'\n'}))
		}
		all = append(all, text...)
	}
	return all
}

func (w pieced) piece(p part) []byte { return sourceblocks.Join(w.file.cuts[p.cut : p.cut+p.cuts]) }

// each gives the pieces with the lines that they begin on and end before.
func (w pieced) each(use func(u *unit, begin, end int)) {
	w.file.cut()
	line := 1
	for i, p := range w.parts {
		begin := line
		line += bytes.Count(w.piece(p), []byte{'\n'})
		end := line
		if i == len(w.parts)-1 {
			end++ // it needn't end with its line
		}
		use(p.unit, begin, end)
	}
}

// leaves is the unit that declares a name and is left out; nil for none.
func (c *Choice) leaves(name string) *unit {
	u := c.record.index().declared[name]
	if u == nil || c.chosen[u] || c.gone[u] {
		return nil
	}
	return u
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
