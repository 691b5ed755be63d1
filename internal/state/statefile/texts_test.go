package statefile

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestQuote: texts are written as the library for JSON writes them.
func TestQuote(t *testing.T) {
	texts := []string{"", "plain text_1", "\u2028", "é", "a\xffb"}
	for c := range 256 {
		texts = append(texts, "a"+string([]byte{byte(c)})+"b")
	}
	for _, text := range texts {
		var p printer
		p.quote(text)
		if want, _ := json.Marshal(text); !bytes.Equal(p.out.Bytes(), want) {
			t.Errorf("%q is written as %s, want %s", text, p.out.Bytes(), want)
		}
	}
}

// TestValidName: a name begins with a letter or an underscore.
func TestValidName(t *testing.T) {
	for text, want := range map[string]bool{
		"a": true, "A_b-9": true, "_": true, "é": true, "aé": true, "": false, "1a": false, "-a": false, "a b": false, "a.b": false, "a[0]": false, "@": false, "a`": false, "a{": false,
	} {
		if validName(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// TestOther: a value of the wrong kind is named; a text that isn't JSON is an error of its syntax.
func TestOther(t *testing.T) {
	for text, syntax := range map[string]bool{`"text"`: false, `[1]`: false, `{"a": tru}`: true, `"open`: true} {
		s := &scanner{src: []byte(text)}
		err := s.other("a number")
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		if shape := (&scanner{src: []byte(text)}).shape("a number"); (err.Error() == shape.Error()) == syntax {
			t.Errorf("%s: %v", text, err)
		}
	}
}
