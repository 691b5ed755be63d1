package output

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/testing/testkit"
)

const config = `
variable "size" { default = 1 }
resource "sim_object" "node" {
  count = 3
  name  = "node-${count.index}"
  size  = var.size
}
resource "sim_object" "still" { name = "still" }
`

// asked plans a change of three objects and puts the question with these answers, one for
// each time it is asked. It returns the last answer and what was shown.
func asked(t *testing.T, person bool, answers ...string) (answer, shown string) {
	t.Helper()
	bench := testkit.New(t)
	if diags := bench.Apply(config, engine.PlanOptions{}); diags.HasErrors() {
		t.Fatal(testkit.Problems(diags))
	}
	changed := strings.Replace(config, "default = 1", "default = 2", 1)
	loaded, diags := bench.Load(changed)
	if diags.HasErrors() {
		t.Fatal(testkit.Problems(diags))
	}
	var o engine.PlanOptions
	reasons := loaded.Reasons(&o)
	p, diags := engine.Plan(t.Context(), loaded, bench.State, o)
	if diags.HasErrors() {
		t.Fatal(testkit.Problems(diags))
	}
	left := slices.Clone(answers)
	var out bytes.Buffer
	answer, err := Approval{Plan: p, Person: person, Reasons: reasons, Ask: func() (string, error) {
		if len(left) == 0 {
			t.Fatalf("it asks once more; shown so far:\n%s", out.String())
		}
		next := left[0]
		left = left[1:]
		return next, nil
	}}.Put(&Screen{Out: &out, Err: &out})
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("it doesn't ask for %q", left)
	}
	return answer, out.String()
}

// TestAnswers: what is an answer ends the question, and what isn't one is asked again only
// of people.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		person  bool
		answers []string
		want    string
		shown   string // nothing else; all of it
	}{
		{true, []string{"yes"}, "yes", ""},
		{true, []string{"no"}, "no", ""},
		{true, []string{"N"}, "N", ""},
		{true, []string{""}, "", ""},
		{true, []string{"y", "yes"}, "yes", "\"y\" isn't an answer to that: yes, no, details, details ADDRESS or why ADDRESS.\n"},
		{true, []string{"\x1b[2Jyes", "no"}, "no", "\"␛[2Jyes\" isn't an answer to that: yes, no, details, details ADDRESS or why ADDRESS.\n"},
		// A script's answer is taken as it is: it has no other one.
		{false, []string{"y"}, "y", ""},
	} {
		if got, shown := asked(t, c.person, c.answers...); got != c.want || shown != c.shown {
			t.Errorf("%q: %q, shown:\n%s", c.answers, got, shown)
		}
	}
}

// TestShown: all of the plan or a part of it is shown before the answer, and what a change
// comes from.
func TestShown(t *testing.T) {
	for ask, c := range map[string]struct {
		has, hasNot []string
	}{
		"details":                       {[]string{"sim_object.node[0] will be updated", "sim_object.node[2] will be updated"}, []string{"because"}},
		"details sim_object.node[1]":    {[]string{"sim_object.node[1] will be updated", "~ size = 1 -> 2"}, []string{"node[0]", "node[2]"}},
		" details   sim_object.node[*]": {[]string{"sim_object.node[0] will be updated", "sim_object.node[2] will be updated"}, nil},
		"details sim_object.other":      {[]string{"The plan has nothing at sim_object.other.\n"}, []string{"will be"}},
		"details sim_object..x":         {[]string{`"sim_object..x" isn't an address: `, "such as details sim_object.node[0].\n"}, []string{"will be"}},
		"why sim_object.node[1]":        {[]string{"size: 1 -> 2", "var.size"}, []string{"node[0]", "node[2]"}},
		"why sim_object.still":          {[]string{"sim_object.still"}, []string{"node"}},
		"why sim_object.other":          {[]string{"The plan does nothing at sim_object.other.\n"}, nil},
		"why":                           {[]string{`"" isn't an address: `, "Write why and an address as above, such as why sim_object.node[0].\n"}, nil},
	} {
		answer, shown := asked(t, true, ask, "yes")
		if answer != "yes" {
			t.Errorf("%s: %q", ask, answer)
		}
		shown = strings.Join(strings.Fields(shown), " ") + "\n"
		for _, text := range c.has {
			if !strings.Contains(shown, text) {
				t.Errorf("%s doesn't show %q:\n%s", ask, text, shown)
			}
		}
		for _, text := range c.hasNot {
			if strings.Contains(shown, text) {
				t.Errorf("%s shows %q:\n%s", ask, text, shown)
			}
		}
	}
}

// TestUnread: an answer that can't be read is an error, and so is a terminal that nothing
// can be shown on.
func TestUnread(t *testing.T) {
	gone := errors.New("gone")
	var out bytes.Buffer
	on := &Screen{Out: &out, Err: &out}
	if answer, err := (Approval{Plan: &plan.Plan{}, Ask: func() (string, error) { return "yes", gone }}).Put(on); answer != "" || !errors.Is(err, gone) {
		t.Errorf("%q, %v", answer, err)
	}
	on.Out = broken{}
	on.Sources = func() map[string][]byte { return nil }
	p := &plan.Plan{Changes: []*plan.Change{{Addr: object(t, "sim_object.x"), Provider: &addr.ProviderConfig{}, Action: plan.Forget}}}
	answer, err := Approval{Plan: p, Ask: func() (string, error) { return "details", nil }}.Put(on)
	if answer != "" || err != nil || !strings.Contains(out.String(), "Failed to write output") {
		t.Errorf("%q, %v: %s", answer, err, out.String())
	}
}

// broken is a terminal that can't be written to.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func object(t *testing.T, address string) addr.Object {
	t.Helper()
	at, err := addr.ParseInstance(address)
	if err != nil {
		t.Fatal(err)
	}
	return addr.Object{Instance: at}
}
