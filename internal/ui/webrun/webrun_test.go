package webrun

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view/stream"
	"weir.dev/weir/internal/ui/webui"
	"weir.dev/weir/internal/workspace/statehistory"
)

type (
	work    struct{}
	outcome struct{ ok bool }
)

func (work) Stored() (uint64, bool)      { return 4, true }
func (work) Doubts() []journal.Operation { return nil }

// terminal is the approver that a run stands before.
type terminal struct {
	decide func(*plan.Plan, diag.List) (approved, refused bool)
	told   []string
}

func (a *terminal) note(what string, l diag.List) {
	for _, d := range l {
		what += " " + d.Summary
	}
	a.told = append(a.told, what)
}

func (a *terminal) Opened(l diag.List)  { a.note("opened", l) }
func (a *terminal) Problem(l diag.List) { a.note("problem", l) }
func (a *terminal) Again(int)           {}
func (a *terminal) Limits() (int, func()) {
	return 0, func() {}
}

func (a *terminal) Applied(_ *plan.Plan, _ outcome, l diag.List) { a.note("applied", l) }

func (a *terminal) Planned(_ context.Context, _ work, p *plan.Plan, l diag.List) (diag.List, bool) {
	a.note("planned", l)
	if p == nil || l.HasErrors() {
		return nil, false
	}
	if !p.HasChanges() {
		return nil, true
	}
	approved, _ := a.decide(p, l)
	return nil, approved
}

const sensitive = "hunter2hunter2"

// changing is a plan that creates something with a secret, which the provider repeats.
func changing(t *testing.T) *plan.Plan {
	t.Helper()
	i, err := addr.ParseInstance("sim_node.a")
	if err != nil {
		t.Fatal(err)
	}
	c := &plan.Change{Addr: addr.Object{Instance: i}, Provider: &addr.ProviderConfig{}, Action: plan.Create, Before: cty.NullVal(cty.DynamicPseudoType), After: cty.ObjectVal(map[string]cty.Value{
		"password": cty.StringVal(sensitive).Mark(value.Sensitive), "url": cty.StringVal("https://me:" + sensitive + "@db"),
	})}
	return &plan.Plan{Changes: []*plan.Change{c}, Resources: []addr.Resource{i.Resource.Erase()}, Graph: &execgraph.Graph{Steps: []execgraph.Step{{Kind: execgraph.Apply, Object: &c.Addr, Change: 1}}}}
}

// A round is what one plan and apply of a test come to.
type round struct {
	opened  diag.List
	plan    *plan.Plan
	found   diag.List
	applied diag.List
	stopped bool
}

// before are the serials of earlier states.
type before []uint64

func (b before) Any() bool         { return len(b) > 0 }
func (b before) Serials() []uint64 { return b }
func (b before) List() []statehistory.State {
	i, err := addr.ParseInstance("sim.gone")
	if err != nil {
		panic(err)
	}
	return []statehistory.State{{Serial: 3, Differences: []edit.Difference{{Sign: '+', Object: addr.Object{Instance: i}}}}}
}

type stand struct {
	t        *testing.T
	handler  http.Handler
	server   *webui.Server
	terminal *terminal
	code     chan int
	cancel   context.CancelFunc
	rounds   int
	serials  []uint64 // of earlier states
	back     []uint64 // those that were gone back to
	restarts int
}

// start begins a run in a directory of its own.
func start(t *testing.T, rounds ...round) *stand { return startWith(t, nil, rounds...) }

// startWith is start where there are earlier states.
func startWith(t *testing.T, serials []uint64, rounds ...round) *stand {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "main.tf", "")
	server := webui.New("NOBODYGUESSESTHISONE234567", time.Now)
	s := &stand{t: t, handler: server.Handler(80), server: server, terminal: &terminal{}, code: make(chan int, 1), serials: serials}
	out := &output.Screen{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Sources: func() map[string][]byte { return nil }, Counter: &stream.Counter{}}
	out.Progress = out.Counter
	r := &Run[work, outcome, int]{Approver: s.terminal, Screen: out, Server: server, Program: "weir"}
	s.terminal.decide = r.Decide
	r.Tree = func(work) *program.Tree { return nil }
	r.Restart = func() { s.restarts++ }
	r.Note = func(_ work, p *plan.Plan) {
		for _, c := range p.Changes {
			c.Causes = []string{"var.a (default)"}
		}
	}
	r.Past = func(work) Past { return before(s.serials) }
	r.GoBack = func(_ context.Context, serial uint64) diag.List {
		if s.back = append(s.back, serial); serial == 2 {
			return failure("No such state.")
		}
		return nil
	}
	r.Came = func(o outcome) (bool, bool, diag.List) { return o.ok, false, nil }
	r.Apply = func(ctx context.Context, sink event.Sink, by Approver[work, outcome, int]) bool {
		now := rounds[min(s.rounds, len(rounds)-1)]
		s.rounds++
		if now.opened.HasErrors() {
			by.Problem(now.opened)
			return false
		}
		by.Opened(now.opened)
		if _, approved := by.Planned(ctx, work{}, now.plan, now.found); !approved {
			return false
		}
		sink(event.Event{Kind: event.ApplyBegin, Plan: now.plan})
		if now.stopped {
			sink(event.Event{Kind: event.Stopping})
		}
		for i := range now.plan.Graph.Steps {
			ending := event.Done
			if now.applied.HasErrors() {
				ending = event.Failed
			}
			sink(event.Event{Kind: event.StepEnd, Step: execgraph.ID(i), Ending: ending, Text: now.applied.Reason()})
		}
		by.Applied(now.plan, outcome{!now.applied.HasErrors()}, now.applied)
		return !now.applied.HasErrors()
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		code := r.Run(ctx)
		server.Close()
		s.code <- code
	}()
	synctest.Wait()
	return s
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Clean(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *stand) answer(number int, choice string) int {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:80"+s.server.Path()+"answer", strings.NewReader(fmt.Sprintf(`{"plan":%d,"choice":%q}`, number, choice)))
	r.Header.Set("Origin", "http://127.0.0.1:80")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	synctest.Wait()
	return w.Code
}

func (s *stand) get(path string) string {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // all events by now
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:80"+s.server.Path()+path, nil)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Body.String()
}

// kinds are those of the messages that a page gets now.
func (s *stand) kinds() string {
	var all []string
	for _, m := range regexp.MustCompile(`"type":"([a-z]+)"`).FindAllStringSubmatch(s.get("events"), -1) {
		all = append(all, m[1])
	}
	return strings.Join(all, " ")
}

func (s *stand) want(kinds string) {
	s.t.Helper()
	if got := s.kinds(); got != kinds {
		s.t.Errorf("the page is told %s, want %s", got, kinds)
	}
}

func (s *stand) ends(code int, heading string) {
	s.t.Helper()
	synctest.Wait()
	select {
	case got := <-s.code:
		if got != code {
			s.t.Errorf("exit code %d, want %d", got, code)
		}
	default:
		s.t.Fatal("it goes on")
	}
	if text := s.get("events"); !strings.Contains(text, `"heading":"`+heading) {
		s.t.Errorf("no heading %q in %s", heading, text)
	}
}

func failure(text string) diag.List {
	return diag.List{diag.Unwritable.New(diag.Error, "%s", text)}
}

func TestApprove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, round{plan: changing(t)})
		s.want("planning planned ask")
		if text := s.get("plan/1"); !strings.Contains(text, "sim_node.a") || !strings.Contains(text, "because of var.a (default)") || strings.Contains(text, sensitive) {
			t.Errorf("the plan is %s", text)
		}
		if code := s.answer(1, "approve"); code != http.StatusNoContent {
			t.Error(code)
		}
		s.ends(0, "Apply complete!")
		s.want("planning planned ask answered applying count lived end")
		if text := s.get("events"); !strings.Contains(text, `"what":"create sim_node.a"`) || !strings.Contains(text, `"critical":true`) {
			t.Errorf("no timeline is in %s", text)
		}
	})
}

func TestRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, round{plan: changing(t)})
		s.answer(1, "refuse")
		s.want("planning planned ask answered result ask")
		// It is planned again without another start.
		s.answer(1, "again")
		if s.want("planning planned ask"); s.rounds != 2 {
			t.Errorf("%d rounds", s.rounds)
		}
		s.answer(2, "refuse")
		s.answer(2, "end")
		s.ends(1, "Discarded")
	})
}

func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, round{plan: changing(t)})
		s.cancel()
		s.ends(1, "Closed")
		s.want("planning planned ask withdrawn end")
	})
}

// TestFailure: what failed and why is reported once, without what is sensitive.
func TestFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		warning := diag.Unwritable.Warnings("A warning.")
		s := start(t, round{plan: changing(t), found: warning, applied: append(failure("No such user me:"+sensitive+"."), warning...)})
		s.answer(1, "approve")
		s.want("planning planned problems ask answered applying count reason problems lived result ask")
		text := s.get("events")
		for _, part := range []string{"No such user me:(sensitive", "0 of 1 done, 1 failed", "The state is saved, serial 4.", "next       weir apply"} {
			if !strings.Contains(text, part) {
				t.Errorf("nothing of %q in %s", part, text)
			}
		}
		if strings.Contains(text, sensitive) {
			t.Errorf("a secret in %s", text)
		}
		s.answer(1, "end")
		s.ends(1, "Apply failed")
	})
}

// TestStopped: an apply that was stopped didn't fail, even if what ran was cut short. The next
// plan isn't stopped by it, whether the page or an edit causes that plan.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := failure("signal: interrupt.")
		s := start(t, round{plan: changing(t), applied: cut, stopped: true}, round{plan: changing(t), applied: cut}, round{plan: changing(t)})
		s.answer(1, "approve")
		if text := s.get("events"); !strings.Contains(text, `"heading":"Apply stopped","mood":"stopped"`) || s.restarts != 0 {
			t.Errorf("%d restarts, %s", s.restarts, text)
		}
		write(t, "main.tf", "a")
		time.Sleep(time.Minute)
		synctest.Wait()
		s.want("planning planned ask")
		s.answer(2, "approve")
		if text := s.get("events"); !strings.Contains(text, `"heading":"Apply failed","mood":"failed"`) || s.restarts != 1 {
			t.Errorf("%d restarts, %s", s.restarts, text)
		}
		if s.answer(2, "again"); s.restarts != 2 {
			t.Errorf("%d restarts", s.restarts)
		}
		s.answer(3, "approve")
		s.ends(0, "Apply complete!")
	})
}

// TestEdits: a plan whose files change is replaced, and so is one that failed; other files
// change nothing.
func TestEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, round{plan: changing(t)}, round{opened: failure("Broken.")}, round{plan: changing(t)}, round{plan: &plan.Plan{Graph: &execgraph.Graph{}}})
		write(t, "notes.txt", "x")
		write(t, "terraform.tfstate", "x")
		time.Sleep(time.Minute)
		synctest.Wait()
		s.want("planning planned ask")
		write(t, "main.tf", "a")
		time.Sleep(time.Minute)
		synctest.Wait()
		s.want("planning problems planned ask")
		if code := s.answer(1, "approve"); code != http.StatusConflict {
			t.Errorf("the earlier plan was approved: %d", code)
		}
		if code := s.answer(2, "approve"); code != http.StatusConflict {
			t.Errorf("a plan that failed was approved: %d", code)
		}
		write(t, "x.auto.tfvars", "a")
		time.Sleep(time.Minute)
		synctest.Wait()
		s.want("planning planned ask")
		write(t, "main.tf", "none")
		time.Sleep(time.Minute)
		synctest.Wait()
		if text := s.get("events"); !strings.Contains(text, `"why":"main.tf changed."`) || !strings.Contains(text, "No changes") {
			t.Error(text)
		}
		if s.rounds != 4 {
			t.Errorf("%d plans", s.rounds)
		}
		s.answer(4, "end")
		s.ends(0, "Apply complete! Resources: 0 added")
	})
}

// TestJustNow: an edit that nobody has noticed yet when the plan is approved.
func TestJustNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, round{plan: changing(t)})
		write(t, "main.tf", "a")
		if code := s.answer(1, "approve"); code != http.StatusConflict {
			t.Errorf("a plan of a file that has changed was approved: %d", code)
		}
		s.want("planning planned ask")
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.rounds != 2 || !strings.Contains(s.get("events"), `"why":"main.tf changed."`) {
			t.Errorf("%d plans", s.rounds)
		}
		s.answer(2, "approve")
		s.ends(0, "Apply complete!")
	})
}

// TestRefusedEdited: what has changed is no matter where nothing is done.
func TestRefusedEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, round{plan: changing(t)})
		write(t, "main.tf", "a")
		s.answer(1, "refuse")
		time.Sleep(2 * interval)
		synctest.Wait()
		if s.rounds != 2 {
			t.Errorf("what was edited isn't planned: %d rounds", s.rounds)
		}
		s.answer(2, "refuse")
		s.answer(2, "end")
		s.ends(1, "Discarded")
	})
}

// TestGoBack: the page goes back to an earlier state, and what comes of that is planned.
func TestGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startWith(t, []uint64{3, 2}, round{plan: changing(t)})
		s.want("planning earlier planned ask")
		if text := s.get("earlier"); !strings.Contains(text, "+ sim.gone") {
			t.Error(text)
		}
		if code := s.answer(1, "back 4"); code != http.StatusConflict {
			t.Errorf("a state that there isn't: %d", code)
		}
		s.answer(1, "back 3")
		if text := s.get("events"); s.rounds != 2 || !strings.Contains(text, "The state has the content of serial 3 again.") {
			t.Error(text)
		}
		s.answer(2, "back 2")
		s.want("planning problems earlier planned ask")
		if text := s.get("events"); fmt.Sprint(s.back) != "[3 2]" || !strings.Contains(text, "No such state.") {
			t.Error(text)
		}
		s.answer(3, "approve")
		s.ends(0, "Apply complete!")
	})
}

func TestFailedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, round{found: failure("Broken.")})
		s.want("planning problems planned ask")
		s.answer(1, "end")
		s.ends(1, "Closed")
	})
}
