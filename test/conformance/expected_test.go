package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var someCases = []string{"cases/a/one.txtar", "cases/a/two.txtar", "cases/b/three.txtar"}

func TestReadExpectation(t *testing.T) {
	for _, test := range []struct {
		name, text, wantErr string
		want                expectation
	}{
		{name: "empty", text: "# nothing\n\n", want: expectation{}},
		{name: "reasons", text: "a/one # slow # cloud\n  b/three\n",
			want: expectation{"a/one": "slow # cloud", "b/three": ""}},
		{name: "unknown case", text: "\na/four\n", wantErr: ":2: there is no case a/four"},
		{name: "twice", text: "a/one\na/one # why\n", wantErr: ":2: a/one is listed twice"},
		{name: "not a name", text: "one\n", wantErr: "is not AREA/NAME"},
		{name: "two names", text: "a/one a/two\n", wantErr: "is not AREA/NAME"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "list")
			if err := os.WriteFile(file, []byte(test.text), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := readExpectation(file, someCases)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("error %v, want %q", err, test.wantErr)
				}
				return
			}
			if err != nil || !maps.Equal(got, test.want) {
				t.Errorf("got %v (%v), want %v", got, err, test.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	run := func(one, two, three status) []result {
		return []result{{Case: "a/one", Status: one}, {Case: "a/two", Status: two}, {Case: "b/three", Status: three}}
	}
	listed := expectation{"a/one": "why"}
	for _, test := range []struct {
		name   string
		expect expectation
		all    []result
		want   verdict
		ok     bool
	}{
		{"nothing listed, all pass", nil, run(passed, passed, skipped), verdict{}, true},
		{"nothing listed, one fails", nil, run(passed, failed, passed), verdict{newFailures: []string{"a/two"}}, false},
		{"listed fails", listed, run(failed, passed, passed), verdict{known: 1}, true},
		{"listed is skipped", listed, run(skipped, passed, passed), verdict{}, true},
		{"listed passes", listed, run(passed, passed, passed), verdict{newPasses: []string{"a/one"}}, false},
		{"another fails", listed, run(failed, passed, failed), verdict{known: 1, newFailures: []string{"b/three"}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.expect.judge(test.all)
			if !reflect.DeepEqual(got, test.want) || got.ok() != test.ok {
				t.Errorf("got %+v ok %v, want %+v ok %v", got, got.ok(), test.want, test.ok)
			}
		})
	}
}

func TestReviseAndWrite(t *testing.T) {
	old := expectation{"a/one": "passes now", "a/two": "kept", "b/three": "not run"}
	revised := old.revise([]result{
		{Case: "a/one", Status: passed}, {Case: "a/two", Status: failed}, {Case: "c/new", Status: failed},
	})
	file := filepath.Join(t.TempDir(), "list")
	if err := revised.write(file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := expectationHeader + "a/two # kept\nb/three # not run\nc/new\n"
	if string(data) != want {
		t.Errorf("got:\n%s\nwant:\n%s", data, want)
	}
	if len(old) != 3 {
		t.Errorf("revise changed its receiver: %v", old)
	}
}
