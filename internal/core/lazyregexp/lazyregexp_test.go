package lazyregexp

import "testing"

var (
	digits  = New(`^[0-9]+$`)
	invalid = New(`(`)
)

func TestGet(t *testing.T) {
	if !digits.Get().MatchString("12") || digits.Get().MatchString("1a") {
		t.Error("the expression isn't the given one")
	}
	if first := digits.Get(); digits.Get() != first {
		t.Error("the expression is compiled twice")
	}
	defer func() {
		if recover() == nil {
			t.Error("an invalid expression doesn't panic")
		}
	}()
	invalid.Get()
}
