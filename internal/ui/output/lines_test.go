package output

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A recorder notes each write by itself.
type recorder struct {
	mu     sync.Mutex
	writes []string
}

func (r *recorder) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = append(r.writes, string(text))
	return len(text), nil
}

func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(recorder)
		s := &Screen{Out: r, Err: r}
		l := s.lines()
		for _, line := range []string{"a\n", "b\n"} {
			fmt.Fprint(l, line)
		}
		time.Sleep(longestHeld - 1)
		synctest.Wait()
		if len(r.writes) != 0 {
			t.Errorf("%q is written early", r.writes)
		}
		time.Sleep(1 * time.Nanosecond)
		synctest.Wait()
		fmt.Fprint(l, "c\n")
		fmt.Fprint(s.Err, "problem\n") // comes after what is held
		fmt.Fprint(s.Out, "end\n")
		fmt.Fprint(l, strings.Repeat("x", mostHeld)+"\n")
		fmt.Fprint(l, "d\n")
		fmt.Fprint(l, "e\n")
		s.Close()
		want := []string{"a\nb\n", "c\n", "problem\n", "end\n", strings.Repeat("x", mostHeld) + "\nd\n", "e\n"}
		if fmt.Sprintf("%q", r.writes) != fmt.Sprintf("%q", want) {
			t.Errorf("%.200q", r.writes)
		}
	})
}

// TestTerminalLines: who looks at a terminal sees each line at once.
func TestTerminalLines(t *testing.T) {
	var out bytes.Buffer
	s := &Screen{Out: &out, Terminal: true}
	fmt.Fprint(s.lines(), "a\n")
	if out.String() != "a\n" {
		t.Errorf("%q", out.String())
	}
}
