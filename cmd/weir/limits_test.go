package main

import "testing"

func TestLimit(t *testing.T) {
	for text, want := range map[string]int{"": 128, "1": 1, "4096": 4096, "0": 0, "-1": 0, "x": 0, "1e3": 0, "99999999999999": 0} {
		t.Setenv("WEIR_TEST_LIMIT", text)
		if got, err := limit("WEIR_TEST_LIMIT", 128); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
