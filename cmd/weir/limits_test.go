package main

import (
	"testing"
	"time"

	"weir.dev/weir/internal/lang/program"
)

func TestLimit(t *testing.T) {
	for text, want := range map[string]int{"": 128, "1": 1, "4096": 4096, "0": 0, "-1": 0, "x": 0, "1e3": 0, "99999999999999": 0} {
		t.Setenv("WEIR_TEST_LIMIT", text)
		if got, err := limit("WEIR_TEST_LIMIT", 128); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestMaxTime(t *testing.T) {
	defer func(d time.Duration) { program.MaxTime = d }(program.MaxTime)
	for text, want := range map[string]time.Duration{"": 10 * time.Minute, "90s": 90 * time.Second, "0": 0, "soon": -1, "-1s": -1, "5": -1} {
		program.MaxTime = 10 * time.Minute
		t.Setenv("WEIR_MAX_TIME", text)
		if err := limitEvaluation(); (err == nil) != (want >= 0) || err == nil && program.MaxTime != want {
			t.Errorf("%q: %s, %v", text, program.MaxTime, err)
		}
	}
}
