package suggest

import "testing"

func TestAsk(t *testing.T) {
	names := []string{"default", "production", "staging", "a", "vpc_id"}
	for given, want := range map[string]string{
		"defualt": " Did you mean default?", "prodcution": " Did you mean production?", "vpcid": " Did you mean vpc_id?",
		"else": "", "b": "", "": "",
	} {
		if got := Ask(given, names); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
	if got := Ask("defualt", make([]string, 2000)); got != "" {
		t.Errorf("of thousands: %q", got)
	}
}

func TestName(t *testing.T) {
	names := []string{"get", "test", "state", "größe", "name", "names"}
	for given, want := range map[string]string{
		"tset": "test", "sttae": "state", "gte": "get", "grösse": "größe", "größ": "größe", "nmae": "name", "nmaes": "names",
		"tezt": "test", "nothing": "",
	} {
		if got := Name(given, names); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

// TestDistance: letters that have changed places count once also beside other edits, and
// a distance is the same in both directions.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"tset", "test", 1}, {"tset", "get", 2}, {"autp-aprove", "auto-approve", 2},
		{"auto-aprpove", "auto-approve", 1}, {"atuo-aprove", "auto-approve", 2}, {"abc", "xyz", 3}, {"x", "xabc", 3},
	} {
		if got := distance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance([]rune(c.b), []rune(c.a)); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
