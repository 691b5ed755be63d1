package progress

import (
	"strings"
	"testing"
	"time"
)

// TestDownloads: each has its line while it runs, and what is written stays above them.
func TestDownloads(t *testing.T) {
	s := newScreen(t, 60, 24)
	size := func() (int, int) { return 60, 24 }
	now := time.Unix(0, 0)
	area := NewArea(s, size)
	d := NewDownloads(area, Options{Size: size, Now: func() time.Time { now = now.Add(every); return now }})
	above := area.Over(s)
	shown := func(want string) {
		t.Helper()
		if got := strings.TrimSpace(s.shown()); got != want {
			t.Errorf("shown:\n%s\nwant:\n%s", got, want)
		}
	}
	write := func(text string) {
		if _, err := above.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("Installing a...\n")
	d.Take("a v1.0.0", 512, 3<<20, false)
	d.Take("b v2.0.0", 5<<20, 0, false)
	shown("Installing a...\n  a v1.0.0  1 KiB of 3.0 MiB, 0 %\n  b v2.0.0  5.0 MiB")
	d.Take("a v1.0.0", 3<<19, 3<<20, false)
	write("Installing c...\n")
	shown("Installing a...\nInstalling c...\n  a v1.0.0  1.5 MiB of 3.0 MiB, 50 %\n  b v2.0.0  5.0 MiB")
	d.Take("a v1.0.0", 3<<20, 3<<20, true)
	d.Take("b v2.0.0", 6<<20, 0, true)
	d.Take("b v2.0.0", 6<<20, 0, true)
	shown("Installing a...\nInstalling c...")
}
