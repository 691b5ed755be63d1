package near

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
