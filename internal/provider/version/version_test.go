package version

import "testing"

func TestConstraintsNormalForm(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"1.0":                        "1.0.0",
		"= 1.2.3":                    "1.2.3",
		"~> 2":                       "~> 2.0",
		"~>2.1":                      "~> 2.1",
		"~> 2.1.0":                   "~> 2.1.0",
		"< 3, >= 2.0, >=2.0.0":       ">= 2.0.0, < 3.0.0",
		"!= 1.5.0,>1, <= 1.5":        "> 1.0.0, <= 1.5.0, != 1.5.0",
		"2.0.0-beta1":                "2.0.0-beta1",
		">= 1.0.0, ~> 1.0, ~> 1.0.0": ">= 1.0.0, ~> 1.0.0, ~> 1.0",
	} {
		c, err := ParseConstraints(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := c.String(); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		again, err := ParseConstraints(c.String())
		if err != nil || again.String() != want {
			t.Errorf("the normal form of %q isn't stable: %q, %v", text, again, err)
		}
	}
	for _, bad := range []string{"x", ">", "1.0 2.0", "~> 1.*.2", ">= v1"} {
		if c, err := ParseConstraints(bad); err == nil {
			t.Errorf("%q is accepted as %q", bad, c)
		}
	}
}

func TestNewest(t *testing.T) {
	available := []Version{}
	for _, text := range []string{"1.0.0", "2.0.0-beta1", "1.10.0", "1.9.0"} {
		v, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		available = append(available, v)
	}
	for text, want := range map[string]string{
		"": "1.10.0", "< 1.10": "1.9.0", "2.0.0-beta1": "2.0.0-beta1", ">= 1.0": "1.10.0", "~> 3.0": "", ">= 2.0.0-alpha": "",
	} {
		c, err := ParseConstraints(text)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := Newest(available, c.Allowed())
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q: %s, want %q", text, got, want)
		}
	}
}

func FuzzConstraints(f *testing.F) {
	f.Add(">= 1.0, ~> 2.1.0, != 3.0.0-rc1+x")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConstraints(text)
		if err != nil {
			return
		}
		c.Allowed()
		again, err := ParseConstraints(c.String())
		if err != nil || again.String() != c.String() {
			t.Errorf("%q: %q, %q, %v", text, c, again, err)
		}
	})
}
