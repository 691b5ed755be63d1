package screen_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"weir.dev/weir/internal/front/screen"
)

// TestTurns: whatever order parts write and end in, they are shown one after the other.
func TestTurns(t *testing.T) {
	var out bytes.Buffer
	turns := (&screen.Screen{Out: &out, Err: &out}).Turns(3)
	var ends []func()
	var parts []*screen.Screen
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
	turns := (&screen.Screen{Out: &out, Err: &out}).Turns(n)
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
