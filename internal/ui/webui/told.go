package webui

import (
	"encoding/json"
	"net/http"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/ui/view/graphview"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// counted is how far a run is.
type counted struct {
	looked, known int // objects that were queried, and that the state has
	tally         *event.Tally
	plan          *plan.Plan // that is applied
}

// Planning reports that a plan is made, and why another one if it is. All that was reported
// about an earlier one is over.
func (s *Server) Planning(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.document, s.graph, s.earlier, s.question, s.counted = nil, nil, nil, nil, nil, counted{}
	clear(s.running)
	s.plan++ // answers to the one before come too late
	s.add("planning", map[string]any{"why": sanitize.Line(why)})
}

// Loaded has the page show the configuration by a document, until there is a plan.
func (s *Server) Loaded(document []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.graph = document
	s.add("loaded", map[string]any{"plan": s.plan})
}

// An Earlier is a state of the history, for a page that shows them.
type Earlier struct {
	Serial  uint64 `json:"serial"`
	Now     bool   `json:"now"`
	Until   string `json:"until,omitempty"`
	Objects int    `json:"objects"`
	// Run is the run that wrote it, where one is recorded.
	Run *Run `json:"run,omitempty"`
	// Changes are what that run changed, and Back what going back to it would change in the
	// state: a sign and an address each.
	Changes []string `json:"changes"`
	Back    []string `json:"back"`
	Problem string   `json:"problem,omitempty"`
}

// A Run says who wrote a state, by which command, when, and how many objects it added,
// changed and removed.
type Run struct {
	Who     string `json:"who"`
	Command string `json:"command"`
	At      string `json:"at"`
	Seconds int    `json:"seconds"`
	Added   int    `json:"added"`
	Changed int    `json:"changed"`
	Removed int    `json:"removed"`
}

// Remember offers the history of the state, which list reads when somebody wants to see them.
func (s *Server) Remember(list func() []Earlier) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.earlier = list
	s.add("earlier", nil)
}

// showEarlier sends the history.
func (s *Server) showEarlier(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	list := s.earlier
	s.mu.Unlock()
	all := []Earlier{}
	if list != nil {
		all = append(all, list()...)
	}
	for i := range all {
		for _, list := range [][]string{all[i].Changes, all[i].Back} {
			for k, text := range list {
				list[k] = sanitize.Line(text)
			}
		}
		if r := all[i].Run; r != nil {
			r.Who, r.Command = sanitize.Line(r.Who), sanitize.Line(r.Command)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all)
}

// Planned has the page show a plan by a document, and returns the number by which Ask queries
// it. Without a document none exists to see.
func (s *Server) Planned(heading string, failed bool, document []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.document = document
	s.add("planned", map[string]any{"plan": s.plan, "heading": heading, "failed": failed, "document": document != nil})
	return s.plan
}

// Lived has the page show when the steps of an apply ran.
func (s *Server) Lived(times any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add("lived", map[string]any{"times": times})
}

// Problems shows problems as a text.
func (s *Server) Problems(text string, errors bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != "" {
		s.add("problems", map[string]any{"text": text, "errors": errors})
	}
}

// A Mood is how a run ended. The page colors it.
type Mood string

// The moods of ends. A stopped run may have failures; only a failed one is red.
const (
	Done      Mood = "done"
	Discarded Mood = "discarded"
	Stopped   Mood = "stopped"
	Failed    Mood = "failed"
)

// Result says how a plan or an apply ended that may be repeated.
func (s *Server) Result(heading, text string, mood Mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted.tally = nil
	s.add("result", map[string]any{"heading": heading, "text": text, "mood": mood})
}

// End says how the run ended.
func (s *Server) End(heading, text string, mood Mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted.tally = nil
	s.add("end", map[string]any{"heading": heading, "text": text, "mood": mood})
}

// Event is an event.Sink. It shows no values, ids or output of provisioners, except in the
// reason for a failure, which the caller has to have masked.
func (s *Server) Event(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case event.PlanBegin:
		s.counted.known = e.Count
	case event.RefreshComplete:
		s.counted.looked++
		s.add("looked", map[string]any{"done": s.counted.looked, "of": max(s.counted.known, s.counted.looked)})
	case event.ApplyBegin:
		s.begin(e.Plan)
	case event.StepEnd:
		s.step(e)
	case event.ReadStart:
		s.start(e.Addr.String(), plan.Read)
	case event.ReadComplete:
		s.finish(e.Addr.String(), false)
	case event.ApplyStart:
		if e.Action != plan.NoOp {
			s.start(e.Addr.String(), e.Action)
		}
	case event.ApplyComplete, event.ApplyErrored:
		s.finish(e.Addr.String(), e.Kind == event.ApplyErrored)
	case event.ProvisionStart:
		if list := s.running[e.Addr.String()]; len(list) > 0 {
			s.add("word", map[string]any{"call": list[0], "word": "provisioning"})
		}
	case event.ActionStart:
		s.start(e.Invocation.Label(), plan.NoOp)
	case event.ActionComplete, event.ActionErrored:
		s.finish(e.Invocation.Label(), e.Kind == event.ActionErrored)
	case event.Stopping:
		s.add("stopping", nil)
	}
}

// begin reports that an apply begins.
func (s *Server) begin(p *plan.Plan) {
	s.counted.tally, s.counted.plan = event.Tallied(p), p
	clear(s.running)
	if s.counted.tally.Total > 0 {
		s.add("applying", map[string]any{"of": s.counted.tally.Total, "stoppable": s.stop != nil})
	}
}

func (s *Server) step(e event.Event) {
	c := s.counted.tally
	if c == nil {
		return
	}
	if _, counted := c.End(e.Step, e.Ending); counted {
		s.add("count", map[string]any{"done": c.Done, "failed": c.Failed, "skipped": c.Skipped})
	}
	if e.Text != "" {
		s.add("reason", map[string]any{"name": sanitize.Line(s.stepName(e)), "text": sanitize.Text(e.Text)})
	}
}

// stepName is the name of a step's object, as messages about its calls have it.
func (s *Server) stepName(e event.Event) string {
	p := s.counted.plan
	switch step := &p.Graph.Steps[e.Step]; {
	case step.Object != nil:
		return step.Object.String()
	case step.Invocation > 0:
		return p.Invocations[step.Invocation-1].Label()
	default:
		return step.Label()
	}
}

// start reports that work on an object begins. One object may have several at once.
func (s *Server) start(name string, a plan.Action) {
	s.calls++
	s.running[name] = append(s.running[name], s.calls)
	s.add("start", map[string]any{"call": s.calls, "name": sanitize.Line(name), "class": graphview.Class(a), "word": verb(a), "at": s.now().UnixMilli()})
}

// finish reports that it ended.
func (s *Server) finish(name string, failed bool) {
	list := s.running[name]
	if len(list) == 0 {
		return
	}
	call := list[0]
	if s.running[name] = list[1:]; len(list) == 1 {
		delete(s.running, name)
	}
	s.add("finish", map[string]any{"call": call, "failed": failed, "at": s.now().UnixMilli()})
}

// verb is what is being done.
func verb(a plan.Action) string {
	switch {
	case a == plan.Create:
		return "creating"
	case a == plan.Update:
		return "updating"
	case a == plan.Delete:
		return "destroying"
	case a == plan.Read:
		return "reading"
	case a == plan.Forget:
		return "forgetting"
	case a.IsReplace():
		return "replacing"
	}
	return "running"
}
