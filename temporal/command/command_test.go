package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/temporal/rounds"
)

func parsed(name string, environ map[string]string, args ...string) (*settings, error) {
	s := &settings{out: new(bytes.Buffer), err: new(bytes.Buffer), environ: environ}
	for _, l := range lines {
		if l.name == name {
			return s, s.parse("stacks ", l, args)
		}
	}
	return nil, os.ErrNotExist
}

// TestParse has what is rejected, with what is said about it.
func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, args, problem string
	}{
		{"apply", "-on=temporal -auto-approve -deployment=a -deployment=b -var=x=1", ""},
		{"apply", "-on=local", ""},
		{"apply", "-on=moon", `-on is "moon"`},
		{"recover", "-on=local", "-on is"},
		{"apply", "plan.tfplan", "one argument too many"},
		{"apply", "-target=component.a -refresh=false -json", ""},
		{"apply", "-replace=component.a.x.y", "workers don't replace by request"},
		{"list", "-nope", "not defined"},
		{"worker", "-parallelism=x", "parallelism"},
	} {
		s, err := parsed(test.name, nil, strings.Fields(test.args)...)
		if test.problem == "" {
			if err != nil || s.data == "" {
				t.Errorf("%s %s: %v", test.name, test.args, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s %s: %v", test.name, test.args, err)
		}
	}
}

// TestParseRoots has what the commands on root modules reject.
func TestParseRoots(t *testing.T) {
	for args, problem := range map[string]string{
		"-all -on=temporal -auto-approve -json": "", "-root=apps/* -with-upstream": "", "-all -refresh-only": "",
		"-all -target=x.y": "single root", "-all -var=a=b": "weir.roots.hcl", "-all -stack=x": "not defined", "-all plans": `Options of "weir apply"`,
	} {
		s := &settings{out: new(bytes.Buffer), err: new(bytes.Buffer)}
		err := s.parse("", rootLines[0], strings.Fields(args))
		if problem == "" && err != nil || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("%s: %v", args, err)
		}
	}
	for args, problem := range map[string]string{"": "needs -all", "-all -on=local": "Leave -on out"} {
		s := &settings{out: new(bytes.Buffer), err: new(bytes.Buffer)}
		if err := s.parse("", rootLines[0], strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if err := applyRoots(t.Context(), s); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestToken: the environment's counts, and a worker's lasts.
func TestToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, err := parsed("worker", map[string]string{"WEIR_DATA": dir})
	if err != nil {
		t.Fatal(err)
	}
	if none, err := s.token(false); none != "" || err != nil {
		t.Errorf("before there is one: %q, %v", none, err)
	}
	first, err := s.token(true)
	if err != nil || len(first) != 64 {
		t.Fatalf("the token is %q, %v", first, err)
	}
	if again, err := s.token(true); again != first || err != nil {
		t.Errorf("it is %q, %v by now", again, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read it: %v, %v", info, err)
	}
	s.environ["WEIR_STORE_TOKEN"] = "mine"
	if got, _ := s.token(true); got != "mine" {
		t.Errorf("the environment's is %q", got)
	}
}

func TestChoose(t *testing.T) {
	stack := &deploy.Stack{Deployments: []*deploy.Deployment{{Name: "a"}, {Name: "b"}}}
	if got, err := choose(stack, nil, false); err != nil || strings.Join(got, " ") != "a b" {
		t.Errorf("all are %v, %v", got, err)
	}
	if _, err := choose(stack, []string{"c"}, false); err == nil || !strings.Contains(err.Error(), "a, b") {
		t.Errorf("one that isn't there: %v", err)
	}
	if got, err := choose(stack, []string{"c"}, true); err != nil || len(got) != 1 {
		t.Errorf("one that is left is destroyed: %v, %v", got, err)
	}
	if _, err := choose(&deploy.Stack{}, nil, false); err == nil {
		t.Error("there is nothing to apply")
	}
}

// TestTells: each phase of each round is reported once.
func TestTells(t *testing.T) {
	s := &settings{out: new(bytes.Buffer)}
	tell := s.tells(map[string]rounds.Phase{})
	for _, st := range []rounds.Status{
		{Phase: rounds.Planning, Round: 1}, {Phase: rounds.Planning, Round: 1},
		{Phase: rounds.Waiting, Round: 1, Plan: rounds.Planned{Counts: rounds.Counts{Add: 2}}},
		{Phase: rounds.Failed, Round: 1, Problem: "no such thing"},
	} {
		st.Stack, st.Deployment = "net", "one"
		tell(st)
	}
	want := "net/one  round 1  planning\nnet/one  round 1  waits for approval: 2 to add, 0 to change, 0 to destroy\nnet/one  round 1  failed: no such thing\n"
	if got := s.out.(*bytes.Buffer).String(); got != want {
		t.Errorf("told:\n%s", got)
	}
	s = &settings{out: new(bytes.Buffer), json: true}
	s.tells(map[string]rounds.Phase{})(rounds.Status{Stack: "net", Deployment: "one", Request: "r", Phase: rounds.Waiting, Round: 1, Plan: rounds.Planned{Plan: "hash", Counts: rounds.Counts{Add: 2}}})
	s.sum(rounds.Overview{Stack: "net", Request: "r", Over: map[string]rounds.Phase{"one": rounds.Done}})
	want = `{"type":"deployment","stack":"net","deployment":"one","request":"r","phase":"waits for approval","round":1,"plan":"hash","planned":{"add":2,"change":0,"destroy":0},"applied":{"add":0,"change":0,"destroy":0}}
{"type":"stack","stack":"net","request":"r","over":{"one":"done"}}
`
	if got := s.out.(*bytes.Buffer).String(); got != want {
		t.Errorf("told programs:\n%s", got)
	}
}
