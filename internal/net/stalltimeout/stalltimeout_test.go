package stalltimeout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch: only a pause that is too long counts, however long it takes in all.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pulse
		ctx, end := p.Watch(t.Context(), "host", time.Minute)
		defer end()
		for range 10 {
			time.Sleep(59 * time.Second)
			if ctx.Err() != nil {
				t.Fatal("given up while something moved")
			}
			p.Beat()
		}
		begun := time.Now()
		<-ctx.Done()
		if d := time.Since(begun); d != time.Minute {
			t.Errorf("after %s", d)
		}
		err := Because(ctx, ctx.Err())
		if !Is(err) || !strings.Contains(err.Error(), "host") || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%v", err)
		}
	})
}

// TestOthers: other failures stay what they are.
func TestOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pulse
		parent, cancel := context.WithCancel(t.Context())
		ctx, end := p.Watch(parent, "host", time.Minute)
		cancel()
		other := errors.New("other")
		if err := Because(ctx, other); err != other {
			t.Errorf("%v", err)
		}
		if err := Because(ctx, nil); err != nil {
			t.Errorf("%v", err)
		}
		end()
		free, end := p.Watch(t.Context(), "host", 0)
		time.Sleep(time.Hour)
		if free.Err() != nil {
			t.Error("a limit that nobody asked for")
		}
		end()
	})
}

func TestLimit(t *testing.T) {
	for text, want := range map[string]time.Duration{"": time.Minute, "90s": 90 * time.Second, "0": 0} {
		if d, err := Limit(func(string) string { return text }); d != want || err != nil {
			t.Errorf("%q: %s %v", text, d, err)
		}
	}
	for _, text := range []string{"60", "-1s", "soon"} {
		if _, err := Limit(func(string) string { return text }); err == nil {
			t.Errorf("%q is fine", text)
		}
	}
	if d, err := Limit(nil); d != Usual || err != nil {
		t.Errorf("%s %v", d, err)
	}
}
