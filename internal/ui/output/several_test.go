package output_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/output"
)

// TestTurns: whatever order parts write and end in, they are shown one after the other.
func TestTurns(t *testing.T) {
	var out bytes.Buffer
	turns := (&output.Screen{Out: &out, Err: &out}).Turns(3)
	var ends []func()
	var parts []*output.Screen
	for i := range 3 {
		part, ended := turns.Part(i)
		parts, ends = append(parts, part), append(ends, ended)
	}
	parts[2].Say("2a ")
	parts[1].Say("1a ")
	parts[0].Say("0a ")
	ends[1]()
	fmt.Fprint(parts[2].Err, "2b ")
	parts[0].Say("0b ")
	if got := out.String(); got != "0a 0b " {
		t.Error(got)
	}
	ends[0]()
	parts[2].Say("2c ")
	if got := out.String(); got != "0a 0b 1a 2a 2b 2c " {
		t.Error(got)
	}
	ends[2]()
}

// TestTurnsAtOnce: nothing is lost where all write at the same time.
func TestTurnsAtOnce(t *testing.T) {
	var out bytes.Buffer
	const n = 20
	turns := (&output.Screen{Out: &out, Err: &out}).Turns(n)
	var all sync.WaitGroup
	want := ""
	for i := range n {
		want += fmt.Sprintf("%d,%d;", i, i)
		all.Go(func() {
			part, ended := turns.Part(i)
			defer ended()
			part.Say("%d,", i)
			part.Say("%d;", i)
		})
	}
	all.Wait()
	if got := out.String(); got != want {
		t.Error(got)
	}
}

// several has parts that report what problems says they have, one after the other.
func several(problems [][]diag.Diagnostic, inTurns bool) string {
	var out bytes.Buffer
	files := func() map[string][]byte { return map[string][]byte{"f": []byte("x = var.n\n")} }
	names := []string{"a", "b", "c", "d"}[:len(problems)]
	next := make([]chan struct{}, len(problems)+1)
	for i := range next {
		next[i] = make(chan struct{})
	}
	close(next[0])
	s := &output.Screen{Out: &out, Err: &out, Sources: files}
	s.Several("deployment", names, len(names), inTurns, func(i int, part *output.Screen) {
		<-next[i]
		part.Say("(%s)", names[i])
		part.Diags(problems[i])
		close(next[i+1])
	})
	return strings.Join(strings.Fields(out.String()), " ")
}

// TestGatheredJSON: programs get each problem once, with the parts that have it, and what
// isn't a problem at once.
func TestGatheredJSON(t *testing.T) {
	code := diag.Code{Name: "n", Summary: "S"}
	var out bytes.Buffer
	s := &output.Screen{Out: &out, Err: &out, Options: output.Options{}, JSON: true, Sources: func() map[string][]byte { return nil }}
	var mu sync.Mutex
	s.Several("deployment", []string{"a", "b"}, 1, false, func(i int, part *output.Screen) {
		one := part.Named("deployment", []string{"a", "b"}[i], &mu)
		one.Start()
		defer one.Close()
		if one.Diags(diag.List{code.New(diag.Error, "One.")}) != 1 {
			t.Error("no error")
		}
		one.Log("done")
	})
	var lines []string
	for line := range strings.Lines(out.String()) {
		var m struct {
			Type, Deployment string
			Deployments      []string
			Diagnostic       struct{ Detail string }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(m.Type, " ", m.Deployment, m.Deployments, " ", m.Diagnostic.Detail))
	}
	want := []string{"diagnostic [a b] One.", "log a[] ", "log b[] ", "version a[] ", "version b[] "}
	if slices.Sort(lines); !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}

// TestGathered: a problem that several parts have is reported once, with those that have it.
func TestGathered(t *testing.T) {
	code := diag.Code{Name: "n", Summary: "S"}
	one, other, warning := code.New(diag.Error, "One."), code.New(diag.Error, "Other."), code.New(diag.Warning, "Care.")
	if got := several([][]diag.Diagnostic{{one, one, warning}, {other}, {one, warning}, {one}}, true); got !=
		"(a)(b)(c)(d) Warning: S Care. In the deployments a and c. Error: S One. In the deployments a, c and d. Error: S Other. In the deployment b." {
		t.Error(got)
	}
	if got := several([][]diag.Diagnostic{{one}, {one}, {one}}, true); got != "(a)(b)(c) Error: S One. In all 3 deployments." {
		t.Error(got)
	}
	// A caller that is reported as it comes hears of errors at once, and of each once.
	if got := several([][]diag.Diagnostic{{one, warning}, {one, other}}, false); got !=
		"(a) Error: S One. (b) Error: S: as in the deployment a Error: S Other. Warning: S Care. In the deployment a." {
		t.Error(got)
	}
	// Values that are those of one part aren't shown for others.
	with, without := one, one
	at := hcl.Range{Filename: "f", Start: hcl.Pos{Line: 1, Column: 5, Byte: 4}, End: hcl.Pos{Line: 1, Column: 10, Byte: 9}}
	with.Subject, without.Subject = &at, &at
	with.Values = []diag.Value{{Traversal: "var.n", Statement: "is 1"}}
	if got := several([][]diag.Diagnostic{{with}}, true); !strings.Contains(got, "var.n is 1") {
		t.Error(got)
	}
	if got := several([][]diag.Diagnostic{{with}, {without}}, true); strings.Contains(got, "var.n is 1") {
		t.Error(got)
	}
	// One part alone is like none.
	if got := several([][]diag.Diagnostic{{one}}, true); got != "(a) Error: S One." {
		t.Error(got)
	}
}
