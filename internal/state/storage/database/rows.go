package database

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/state/statefile"
)

// A row is an object, an output or a check result.
type row struct {
	address string
	columns []any // those of its table
	text    string
	sealed  bool // where it is stored
	stale   bool // it isn't encrypted as it should be
	version int64
}

// same reports whether a stored row has what another one says.
func (r *row) same(o *row) bool {
	return !r.stale && r.text == o.text && slices.Equal(r.columns, o.columns)
}

// A table has rows of one kind. A table with the same columns and "until" has those that were
// replaced.
type table struct {
	name    string
	columns []string
}

var tables = []table{
	{"objects", []string{"module", "mode", "type", "name", "instance", "deposed", "resource", "dependencies"}},
	{"outputs", []string{"place"}},
	{"checks", []string{"place"}},
}

// Indexes of tables.
const (
	objects = iota
	outputs
	checks
)

// all are the columns of a table in their order.
func (t table) all() string {
	return "state, address, " + strings.Join(t.columns, ", ") + ", body, sealed, version"
}

// content are the rows of a state by address, a map for each table.
type content [checks + 1]map[string]*row

// contentOf are the rows of a state file. It reports false where two have the same address.
func contentOf(p *statefile.Parts) (content, bool) {
	var c content
	add := func(table int, r *row) {
		if c[table] == nil {
			c[table] = map[string]*row{}
		}
		c[table][r.address] = r
	}
	for _, o := range p.Objects {
		add(objects, &row{
			address: addressOf(o), text: o.Text,
			columns: []any{o.Module, o.Mode, o.Type, o.Name, o.Key, o.Deposed, o.Resource, o.Dependencies},
		})
	}
	for i, o := range p.Outputs {
		add(outputs, &row{address: o.Name, text: o.Text, columns: []any{int64(i)}})
	}
	for i, o := range p.Checks {
		add(checks, &row{address: o.Name, text: o.Text, columns: []any{int64(i)}})
	}
	return c, len(c[objects])+len(c[outputs])+len(c[checks]) == len(p.Objects)+len(p.Outputs)+len(p.Checks)
}

// addressOf is the address of an object as messages have it.
func addressOf(o statefile.ObjectPart) string {
	var b strings.Builder
	for _, part := range []string{o.Module, strings.TrimPrefix(o.Mode, "managed"), o.Type, o.Name} {
		if part != "" {
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(part)
		}
	}
	if o.Key != "" {
		b.WriteString("[" + o.Key + "]")
	}
	if o.Deposed != "" {
		b.WriteString(" (deposed object " + o.Deposed + ")")
	}
	return b.String()
}

// parts fills in a state file from its rows.
func (c content) parts(p *statefile.Parts) {
	for _, r := range c[objects] {
		t := make([]string, len(r.columns))
		for i, v := range r.columns {
			t[i], _ = v.(string)
		}
		p.Objects = append(p.Objects, statefile.ObjectPart{
			Module: t[0], Mode: t[1], Type: t[2], Name: t[3], Key: t[4], Deposed: t[5], Resource: t[6], Dependencies: t[7], Text: r.text,
		})
	}
	list := func(rows map[string]*row) []statefile.Part {
		all := make([]statefile.Part, 0, len(rows))
		for _, r := range inOrder(rows) {
			all = append(all, statefile.Part{Name: r.address, Text: r.text})
		}
		return all
	}
	p.Outputs, p.Checks = list(c[outputs]), list(c[checks])
}

// inOrder are rows by their place.
func inOrder(rows map[string]*row) []*row {
	all := make([]*row, 0, len(rows))
	for _, r := range rows {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *row) int { // runs beside each other may use a place twice
		return cmp.Or(cmp.Compare(a.columns[0].(int64), b.columns[0].(int64)), strings.Compare(a.address, b.address))
	})
	return all
}

// load reads the rows of a state: those of now, or those that a version had.
func (s *store) load(ctx context.Context, tx *sql.Tx, state, version int64) (content, error) {
	var c content
	open, err := s.opener()
	if err != nil {
		return c, err
	}
	for i, t := range tables {
		text := "SELECT " + t.all() + " FROM " + t.name + " WHERE state = $1"
		args := []any{state}
		if version > 0 {
			text += " AND version <= $2 UNION ALL SELECT " + t.all() + " FROM " + t.name + "_history WHERE state = $1 AND version <= $2 AND until > $2"
			args = append(args, version)
		}
		rows, err := query(ctx, tx, func(r *sql.Rows) (*row, error) { return scan(r, t) }, text, args...)
		if err != nil {
			return c, err
		}
		c[i] = make(map[string]*row, len(rows))
		for _, r := range rows {
			if err := open(t, r); err != nil {
				return c, fmt.Errorf("%s: %w", r.address, err)
			}
			c[i][r.address] = r
		}
	}
	return c, nil
}

func scan(r *sql.Rows, t table) (*row, error) {
	var state, sealed, place int64
	one := &row{columns: make([]any, len(t.columns))}
	texts := make([]string, len(t.columns))
	into := []any{&state, &one.address}
	if len(texts) == 1 {
		into = append(into, &place)
	} else {
		for i := range texts {
			into = append(into, &texts[i])
		}
	}
	err := r.Scan(append(into, &one.text, &sealed, &one.version)...)
	one.sealed = sealed != 0
	for i := range texts {
		if one.columns[i] = texts[i]; len(texts) == 1 {
			one.columns[i] = place
		}
	}
	return one, err
}

// A sealedRow is what is encrypted of a row. Its address keeps it from being put in the place of
// another one. With a version it is taken for a state, which may not be in clear everywhere.
type sealedRow struct {
	Address string `json:"address"`
}

// bound is a row with its address, as text to encrypt.
func bound(t table, r *row) []byte {
	address, _ := json.Marshal(t.name + " " + r.address) // texts can't fail
	return []byte(`{"version":4,"address":` + string(address) + `,"body":` + r.text + "}")
}

// unbound is the text of a row that was encrypted.
func unbound(t table, address string, text []byte) (string, error) {
	var head sealedRow
	if err := json.Unmarshal(text, &head); err != nil {
		return "", err
	}
	empty := bound(t, &row{address: address})
	front := empty[:len(empty)-1]
	if head.Address != t.name+" "+address || !strings.HasPrefix(string(text), string(front)) {
		return "", errors.New("it was encrypted as another row")
	}
	return string(text[len(front) : len(text)-1]), nil
}

var errSealed = errors.New("it is encrypted and can not be read without an encryption configuration")

// opener decrypts rows. Those in clear are only taken where states may be.
func (s *store) opener() (func(table, *row) error, error) {
	if s.b.crypt == nil {
		return func(_ table, r *row) error {
			if r.sealed {
				return errSealed
			}
			return nil
		}, nil
	}
	_, clear, clearErr := s.b.crypt.Open([]byte(`{"version":4}`))
	return func(t table, r *row) error {
		if !r.sealed {
			r.stale = clear || s.b.crypt.Encrypts()
			return clearErr
		}
		text, migrating, err := s.b.crypt.Open([]byte(r.text))
		if err != nil {
			return err
		}
		if string(text) == r.text {
			return errSealed
		}
		r.stale = migrating || !s.b.crypt.Encrypts()
		r.text, err = unbound(t, r.address, text)
		return err
	}, nil
}

// stored is the text of a row as the table has it.
func (s *store) stored(t table, r *row) (body string, sealed int64, err error) {
	if s.b.crypt == nil || !s.b.crypt.Encrypts() {
		return r.text, 0, nil
	}
	text, err := s.b.crypt.Seal(bound(t, r))
	return string(text), 1, err
}

// batch is how many rows a query writes.
const batch = 200

// save makes the rows of a table those of next; before has those that are there, nil where that
// isn't known. Rows that the last kept version has are kept with it.
func (s *store) save(ctx context.Context, tx *sql.Tx, t table, at position, before, next map[string]*row) error {
	var changed []*row
	var replaced, gone []any
	for address, r := range next {
		old, there := before[address]
		if there && old.same(r) {
			r.version = old.version
			continue
		}
		r.version = at.version
		changed = append(changed, r)
		if there {
			replaced = append(replaced, address)
		}
	}
	for address := range before {
		if next[address] == nil {
			gone = append(gone, address)
		}
	}
	slices.SortFunc(changed, func(a, b *row) int { return strings.Compare(a.address, b.address) })
	for list := range slices.Chunk(slices.Concat(replaced, gone), batch) {
		_, err := exec(ctx, tx, "INSERT INTO "+t.name+"_history ("+t.all()+", until) SELECT "+t.all()+", $1 FROM "+t.name+
			" WHERE state = $2 AND version <= $3 AND address IN ("+marks(4, len(list))+")", append([]any{at.version, at.state, at.kept}, list...)...)
		if err != nil {
			return err
		}
	}
	for list := range slices.Chunk(gone, batch) {
		if _, err := exec(ctx, tx, "DELETE FROM "+t.name+" WHERE state = $1 AND address IN ("+marks(2, len(list))+")", append([]any{at.state}, list...)...); err != nil {
			return err
		}
	}
	for list := range slices.Chunk(changed, batch) {
		if err := s.put(ctx, tx, t, at, list); err != nil {
			return err
		}
	}
	return nil
}

// put writes rows in place of those with their addresses.
func (s *store) put(ctx context.Context, tx *sql.Tx, t table, at position, list []*row) error {
	width := len(t.columns) + 5
	values := make([]string, len(list))
	args := make([]any, 0, width*len(list))
	for i, r := range list {
		body, sealed, err := s.stored(t, r)
		if err != nil {
			return err
		}
		values[i] = "(" + marks(i*width+1, width) + ")"
		args = append(args, at.state, r.address)
		args = append(args, r.columns...)
		args = append(args, body, sealed, at.version)
	}
	var set []string
	for _, c := range append(slices.Clone(t.columns), "body", "sealed", "version") {
		set = append(set, c+" = excluded."+c)
	}
	_, err := exec(ctx, tx, "INSERT INTO "+t.name+" ("+t.all()+") VALUES "+strings.Join(values, ", ")+
		" ON CONFLICT (state, address) DO UPDATE SET "+strings.Join(set, ", "), args...)
	return err
}

// marks are placeholders of a query, from a number on.
func marks(from, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(list, ", ")
}
