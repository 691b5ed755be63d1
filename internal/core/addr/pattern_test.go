package addr

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func instance(t *testing.T, text string) Instance {
	t.Helper()
	i, err := ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func pattern(t *testing.T, text string) Target {
	t.Helper()
	p, err := ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var estate = []string{
	"aws_vpc.x", "aws_instance.x[0]", "aws_instance.x[10]", "aws_instance.web_a", "data.aws_vpc.x",
	`aws_key.k["*"]`, `aws_key.k["eu-1"]`, `aws_key.k["us-1"]`, "module.net.aws_vpc.x", "module.net.module.sub.aws_vpc.x",
	`module.region["eu-1"].aws_vpc.x`, `module.region["us-1"].aws_vpc.y`, "module.netting.aws_vpc.x",
}

func TestPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"aws_*.x":                       "aws_vpc.x aws_instance.x[0] aws_instance.x[10]",
		"*.x":                           "aws_vpc.x aws_instance.x[0] aws_instance.x[10]",
		"*.*":                           `aws_vpc.x aws_instance.x[0] aws_instance.x[10] aws_instance.web_a aws_key.k["*"] aws_key.k["eu-1"] aws_key.k["us-1"]`,
		"data.*.*":                      "data.aws_vpc.x",
		"aws_*.x[0]":                    "aws_instance.x[0]",
		"aws_instance.x[*]":             "aws_instance.x[0] aws_instance.x[10]",
		"aws_instance.x[1*]":            "aws_instance.x[10]",
		`aws_key.k["*"]`:                `aws_key.k["*"]`,
		"aws_key.k[eu-*]":               `aws_key.k["eu-1"]`,
		"aws_key.k[*-1]":                `aws_key.k["eu-1"] aws_key.k["us-1"]`,
		"module.net*":                   "module.net.aws_vpc.x module.net.module.sub.aws_vpc.x module.netting.aws_vpc.x",
		"module.net[*]":                 "module.net.aws_vpc.x module.net.module.sub.aws_vpc.x",
		"module.net[*].*.*":             "module.net.aws_vpc.x",
		"module.region[eu-*]":           `module.region["eu-1"].aws_vpc.x`,
		"module.*.aws_vpc.x":            `module.net.aws_vpc.x module.region["eu-1"].aws_vpc.x module.netting.aws_vpc.x`,
		"**.aws_vpc.x":                  `aws_vpc.x module.net.aws_vpc.x module.net.module.sub.aws_vpc.x module.region["eu-1"].aws_vpc.x module.netting.aws_vpc.x`,
		"**.module.sub":                 "module.net.module.sub.aws_vpc.x",
		`module.*["us-1"].**.aws_vpc.*`: `module.region["us-1"].aws_vpc.y`,
		"resource.aws_*.x":              "aws_vpc.x aws_instance.x[0] aws_instance.x[10]",
		"gcp_*.x":                       "",
		"module.net":                    "module.net.aws_vpc.x module.net.module.sub.aws_vpc.x",
	} {
		p := pattern(t, text)
		var got []string
		for _, at := range estate {
			i := instance(t, at)
			if p.Matches(i) {
				got = append(got, at)
				if !p.Names(i.Resource) || !p.Reaches(i.Module) {
					t.Errorf("%s names %s and not its resource or module", text, at)
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %s", text, got)
		}
		again := pattern(t, p.String())
		for _, at := range estate {
			if again.Matches(instance(t, at)) != p.Matches(instance(t, at)) {
				t.Errorf("%s prints as %s, which is something else", text, p)
			}
		}
	}
	for text, want := range map[string]string{
		"aws_*":            "TYPE.NAME",
		"**.**.a.b":        "any number of modules already",
		"a.b*.c":           "unexpected text",
		"module.*[x":       "a closing bracket is missing",
		"module.a[*]b":     "a dot is expected",
		"*.-x":             "a name is expected",
		"module.*.a.b[-1]": "an instance key must be",
		"":                 "an address is missing",
	} {
		if p, err := ParsePattern(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v; want %s", text, p, err, want)
		}
	}
}

// TestPatternKeys: what isn't known yet may be meant, and a resource isn't left out as a
// whole for some of its instances.
func TestPatternKeys(t *testing.T) {
	unknown := Resource{Root.Child(Mod("region"), AnyKey), Name{Managed, "aws_vpc", "x"}}
	for text, want := range map[string][2]bool{ // matches unknown keys; matches all instances
		"module.region[eu-*].aws_vpc.*":    {true, false},
		`module.region["eu-1"].aws_vpc.*`:  {true, false},
		"module.region[*].aws_vpc.x":       {true, true},
		"module.*":                         {true, true},
		"module.other*.aws_vpc.x":          {false, false},
		"module.region.module.*.aws_vpc.x": {false, false},
	} {
		p := pattern(t, text)
		if got := p.Matches(unknown.Instance(AnyKey)); got != want[0] {
			t.Errorf("%s matches unknown keys: %v", text, got)
		}
		if got := !p.HasKey && p.Matches(unknown.Erase().Instance(NoKey)); got != want[1] {
			t.Errorf("%s matches all: %v", text, got)
		}
	}
	if p := pattern(t, "**.a.b"); !p.Reaches("module.x.module.y") || p.HasKey || !p.IsPattern() {
		t.Error("modules below aren't reached")
	}
	if p := pattern(t, "module.*.a.b"); p.Reaches("module.x.module.y") || !p.Reaches("module.x") {
		t.Error("modules below a resource are reached")
	}
	if p := pattern(t, "module.a[x*].a.b"); p.Reaches(`module.a["y"]`) || !p.Reaches("module.a[*]") {
		t.Error("other instances are reached")
	}
}

// TestWild holds what fits a pattern to a regular expression for it.
func TestWild(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, n int) string {
		var b strings.Builder
		for range random.IntN(n) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	fitting := 0
	for range 20000 {
		p, s := word("aab*", 6), word("ab", 8)
		want := regexp.MustCompile("^" + strings.ReplaceAll(p, "*", ".*") + "$").MatchString(s)
		found, got := wild(p, s)
		if got != want {
			t.Fatalf("%q fits %q: %v", s, p, got)
		}
		if got {
			fitting++
			f := filler{stars(found, NoKey)}
			if filled := f.text(p); filled != s {
				t.Fatalf("%q with %q is %q, not %q", p, found, filled, s)
			}
		}
	}
	if fitting < 1000 {
		t.Error("few fit:", fitting)
	}
}

func TestRenaming(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"aws_*.x", "aws_*.y", "aws_vpc.x>aws_vpc.y aws_instance.x[0]>aws_instance.y[0] aws_instance.x[10]>aws_instance.y[10]"},
		{"aws_*.x", "module.m", "aws_vpc.x>module.m.aws_vpc.x aws_instance.x[0]>module.m.aws_instance.x[0] aws_instance.x[10]>module.m.aws_instance.x[10]"},
		{"aws_instance.web_*", "aws_instance.web[*]", `aws_instance.web_a>aws_instance.web["a"]`},
		{"aws_instance.x[*]", "aws_instance.x_*", "aws_instance.x[0]>aws_instance.x_0 aws_instance.x[10]>aws_instance.x_10"},
		{"aws_key.k[*-1]", "aws_key.k[*-2]", `aws_key.k["eu-1"]>aws_key.k["eu-2"] aws_key.k["us-1"]>aws_key.k["us-2"]`},
		{"aws_instance.x[1*]", "aws_instance.x[2*]", "aws_instance.x[10]>aws_instance.x[20]"},
		{"aws_instance.x[1*]", "aws_instance.x[*]", `aws_instance.x[10]>aws_instance.x["0"]`},
		{"module.region[*]", "module.zone[*]", `module.region["eu-1"].aws_vpc.x>module.zone["eu-1"].aws_vpc.x module.region["us-1"].aws_vpc.y>module.zone["us-1"].aws_vpc.y`},
		{"module.net*", "module.vpc*", "module.net.aws_vpc.x>module.vpc.aws_vpc.x module.net.module.sub.aws_vpc.x>module.vpc.module.sub.aws_vpc.x module.netting.aws_vpc.x>module.vpcting.aws_vpc.x"},
		{"**.aws_vpc.x", "**.aws_vpc.main", `aws_vpc.x>aws_vpc.main module.net.aws_vpc.x>module.net.aws_vpc.main module.net.module.sub.aws_vpc.x>module.net.module.sub.aws_vpc.main module.region["eu-1"].aws_vpc.x>module.region["eu-1"].aws_vpc.main module.netting.aws_vpc.x>module.netting.aws_vpc.main`},
		{"module.region.aws_*.x", "aws_*.x", ""}, // none of its instances
		{"*.web_a", "-*.x", "a name is expected"},
		{"aws_*.x", "aws_*.y_*", "both need the same number"},
		{"aws_*.x", "**.x.y", "both need the same number"},
		{"aws_*.x", "aws_vpc.y", "write a star where each"},
		{"module.net*", "aws_*.x", "both have to be modules"},
		{"aws_vpc.x", "aws_*.x", "only a pattern can become"},
		{"aws_key.k[*]", "aws_key.k*", `invalid address "aws_key.k*"`},
	} {
		got := renamed(t, c.from, c.to)
		if got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%s to %s: got %s", c.from, c.to, got)
		}
	}
}

func renamed(t *testing.T, from, to string) string {
	dst, err := ParsePattern(to)
	if err != nil {
		return err.Error()
	}
	r, err := NewRenaming(pattern(t, from), dst)
	if err != nil {
		return err.Error()
	}
	var got []string
	for _, at := range estate {
		i, ok, err := r.Of(instance(t, at))
		if err != nil {
			return err.Error()
		}
		if ok {
			got = append(got, at+">"+i.String())
		}
	}
	return strings.Join(got, " ")
}

func TestChoices(t *testing.T) {
	var of []Resource
	for _, at := range estate {
		of = append(of, instance(t, at).Resource)
	}
	slices.Reverse(of)
	for text, want := range map[string]string{
		"gcp_*.x":   "There are aws_instance.x, aws_vpc.x, module.net.aws_vpc.x, module.netting.aws_vpc.x, module.region.aws_vpc.x, module.net.module.sub.aws_vpc.x, data.aws_vpc.x, aws_instance.web_a, aws_key.k, module.region.aws_vpc.y.",
		"module.x*": "There are module.net, module.netting, module.region, module.net.module.sub.",
	} {
		if got := pattern(t, text).Choices(of); got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
	for range 30 {
		of = append(of, Resource{Name: Name{Type: "sim", Name: "n" + strings.Repeat("x", len(of))}})
	}
	if got := pattern(t, "*.nothing").Choices(of); !strings.HasSuffix(got, " and 30 more.") {
		t.Error(got)
	}
	if got := pattern(t, "*.x").Choices(nil) + pattern(t, "module.*").Choices(nil); got != "There are no resources.There are no modules." {
		t.Error(got)
	}
}

// TestPatternsOfAddresses: an address with any of its parts replaced by stars names what
// it named before, and renaming it to itself changes nothing.
func TestPatternsOfAddresses(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	part := regexp.MustCompile(`\["?[^\]]*"?\]|[a-z_]+`)
	keywords := []string{"module", "data"}
	tried := 0
	for range 5000 {
		at := estate[random.IntN(len(estate))]
		text := part.ReplaceAllStringFunc(at, func(word string) string {
			switch n := random.IntN(4); {
			case n == 0 || slices.Contains(keywords, word):
				return word
			case word[0] == '[':
				bare := strings.Trim(word, `["]`)
				return []string{word, "[*]", "[*" + bare[len(bare)/2:] + "]"}[n-1]
			default:
				return []string{"*", word[:1] + "*", "*" + word[len(word)-1:]}[n-1]
			}
		})
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatalf("%s of %s: %v", text, at, err)
		}
		i := instance(t, at)
		if !p.Matches(i) || !p.Names(i.Resource) || !p.Reaches(i.Module) {
			t.Fatalf("%s doesn't name %s", text, at)
		}
		if !p.IsPattern() {
			continue
		}
		tried++
		r, err := NewRenaming(p, p)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok, err := r.Of(i); err != nil || !ok || got != i {
			t.Fatalf("%s renames %s to %s, %v, %v", text, at, got, ok, err)
		}
	}
	if tried < 1000 {
		t.Error(tried, "patterns")
	}
}
