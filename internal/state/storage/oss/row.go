package oss

import (
	"encoding/binary"
	"errors"
)

// Rows are in the encoding that Tablestore calls plain buffer: tags of one byte, numbers in
// little-endian order, and a CRC-8 of each cell and of the row.

// The names of columns.
const (
	key      = "LockID"
	infoCell = "Info"
)

// A cell is a column of a row.
type cell struct{ name, text string }

// A row is one with its key. One that is gone is only named.
type row struct {
	id    string
	cells []cell
	gone  bool
}

const (
	tagKey = iota + 1
	tagData
	tagCell
	tagName
	tagValue
	tagType
	tagTime
	tagGone
	tagRowSum
	tagCellSum
)

const (
	rowHeader = 0x75
	isText    = 3 // kind of a value
)

// sum is the CRC-8 with the polynomial x⁸+x²+x+1 of bytes after others.
func sum(crc byte, content ...byte) byte {
	for _, c := range content {
		crc ^= c
		for range 8 {
			if crc&0x80 != 0 {
				crc = crc<<1 ^ 7
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

// variant is a text as it is in conditions and, with its length before it, in cells.
func variant(text string) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{isText}, uint32(len(text))), text...) // #nosec G115 -- names and locks
}

func appendCell(to []byte, c cell) (_ []byte, crc byte) {
	v := variant(c.text)
	to = append(to, tagCell, tagName)
	to = append(binary.LittleEndian.AppendUint32(to, uint32(len(c.name))), c.name...)         // #nosec G115
	to = append(binary.LittleEndian.AppendUint32(append(to, tagValue), uint32(len(v))), v...) // #nosec G115
	crc = sum(sum(0, []byte(c.name)...), v...)
	return append(to, tagCellSum, crc), crc
}

func encodeRow(r row) []byte {
	out := binary.LittleEndian.AppendUint32(nil, rowHeader)
	out = append(out, tagKey)
	out, crc := appendCell(out, cell{key, r.id})
	all := sum(0, crc)
	if len(r.cells) > 0 {
		out = append(out, tagData)
		for _, c := range r.cells {
			out, crc = appendCell(out, c)
			all = sum(all, crc)
		}
	}
	gone := byte(0)
	if r.gone {
		out = append(out, tagGone)
		gone = 1
	}
	return append(out, tagRowSum, sum(all, gone))
}

var errRow = errors.New("a row of Tablestore can't be read")

// A reader takes from the front of a row; once it doesn't exist enough, nothing is left.
type reader struct{ left []byte }

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.left) {
		r.left = nil
		return nil
	}
	out := r.left[:n]
	r.left = r.left[n:]
	return out
}

func (r *reader) number() int {
	if b := r.take(4); b != nil {
		return int(binary.LittleEndian.Uint32(b))
	}
	return -1
}

// decodeRow reads the texts of a row by their columns. Cells of other kinds are left out.
func decodeRow(content []byte) (map[string]string, error) {
	r := &reader{content}
	if r.number() != rowHeader {
		return nil, errRow
	}
	texts := map[string]string{}
	name := ""
	for len(r.left) > 0 {
		switch tag := r.take(1)[0]; tag {
		case tagKey, tagData, tagCell, tagGone:
		case tagName:
			name = string(r.take(r.number()))
		case tagValue:
			if v := r.take(r.number()); len(v) >= 5 && v[0] == isText {
				texts[name] = string(v[5:])
			}
		case tagType, tagCellSum:
			r.take(1)
		case tagTime:
			r.take(8)
		case tagRowSum:
			if r.take(1) == nil {
				return nil, errRow
			}
			return texts, nil
		default:
			return nil, errRow
		}
	}
	return nil, errRow
}
