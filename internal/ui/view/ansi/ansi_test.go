package ansi

import "testing"

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		in    string
		width int
		want  string
	}{
		{"one two three", 0, "one two three"},
		{"one two three", 7, "one two\nthree"},
		{"one two three", 8, "one two\nthree"},
		{"extraordinarily long", 5, "extraordinarily\nlong"},
		{"  code stays as it is\nprose is wrapped\n", 9, "  code stays as it is\nprose is\nwrapped\n"},
		{"ääää öööö", 9, "ääää öööö"},
		{"", 5, ""},
	} {
		if got := Wrap(test.in, test.width); got != test.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", test.in, test.width, got, test.want)
		}
	}
}

func TestFold(t *testing.T) {
	on := Pen{On: true}
	for _, test := range []struct {
		in    string
		width int
		want  string
	}{
		{"one two three", 0, "one two three"},
		{"one two three", 13, "one two three"},
		{"one two three", 9, "one two\n  three"},
		{"    code that goes on", 12, "    code\n  that goes\n  on"},
		{"a.b.c.d.e.f.g.h", 8, "a.b.c.d.\n  e.f.g.\n  h"},
		{"日本語のなまえ", 6, "日本語\n  のな\n  まえ"},
		{"ab " + on.Paint("cd ef", Bold, Red) + " gh", 6, "ab \x1b[1m\x1b[31mcd\x1b[0m\n  \x1b[1m\x1b[31mef\x1b[0m\n  gh"},
		{"one two", 2, "one two"},
	} {
		if got := Fold(test.in, test.width, "  "); got != test.want {
			t.Errorf("Fold(%q, %d) = %q, want %q", test.in, test.width, got, test.want)
		}
	}
}

func TestPaint(t *testing.T) {
	if got := (Pen{}).Paint("x", Red); got != "x" {
		t.Errorf("a pen that is off wrote %q", got)
	}
	if got, want := (Pen{On: true}).Paint("x", Bold, Red), "\x1b[1m\x1b[31mx\x1b[0m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "plain": 5, "ä": 1, "e\u0301": 1, "日本語": 6, "ｶﾅ": 2, "한글": 4, "🚀": 2, "👩\u200d👩\u200d👧": 2, "👍🏽": 2, "❤": 1, "❤\ufe0f": 2,
		"🇩🇪": 2, "a\u200bb": 2, "a🚀b": 4, "👩\u200d💻x": 3,
	} {
		if got := Width(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}
