package live

import (
	"weir.dev/weir/internal/front/view/chart"
	"weir.dev/weir/internal/front/view/clean"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
)

// counted is how far a run is.
type counted struct {
	looked, known int // objects that were asked about, and that the state has
	tally         *event.Tally
}

// Planning tells that a plan is made, because of files that changed if there are any.
// All that was told of an earlier one is over.
func (s *Server) Planning(changed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.document, s.question, s.counted = nil, nil, nil, counted{}
	clear(s.running)
	s.plan++ // answers to the one before come too late
	names := make([]string, len(changed))
	for i, name := range changed {
		names[i] = clean.Line(name)
	}
	s.add("planning", map[string]any{"changed": names})
}

// Planned has the page show a plan by a document, and returns the number by which Ask
// asks about it. Without a document there is none to see.
func (s *Server) Planned(heading string, failed bool, document []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.document = document
	s.add("planned", map[string]any{"plan": s.plan, "heading": heading, "failed": failed, "document": document != nil})
	return s.plan
}

// Lived has the page show the plan by another document, with what became of it.
func (s *Server) Lived(document []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.document = document
	s.add("lived", map[string]any{"plan": s.plan})
}

// Problems shows problems as a text.
func (s *Server) Problems(text string, errors bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != "" {
		s.add("problems", map[string]any{"text": text, "errors": errors})
	}
}

// End says how the run ended.
func (s *Server) End(heading, text string, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add("end", map[string]any{"heading": heading, "text": text, "failed": failed})
}

// Event is an event.Sink. Of values, ids and what provisioners say nothing is told.
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
	case event.ActionStart:
		s.start(e.Invocation.Label(), plan.NoOp)
	case event.ActionComplete, event.ActionErrored:
		s.finish(e.Invocation.Label(), e.Kind == event.ActionErrored)
	case event.Stopping:
		s.add("stopping", nil)
	}
}

// begin tells that an apply begins.
func (s *Server) begin(p *plan.Plan) {
	s.counted.tally = event.Tallied(p)
	clear(s.running)
	s.add("applying", map[string]any{"of": s.counted.tally.Total})
}

func (s *Server) step(e event.Event) {
	c := s.counted.tally
	if c == nil {
		return
	}
	if _, counted := c.End(e.Step, e.Ending); counted {
		s.add("count", map[string]any{"done": c.Done, "failed": c.Failed, "skipped": c.Skipped})
	}
}

// start tells that work on an object begins. One object may have several at once.
func (s *Server) start(name string, a plan.Action) {
	s.calls++
	s.running[name] = append(s.running[name], s.calls)
	s.add("start", map[string]any{"call": s.calls, "name": clean.Line(name), "class": chart.Class(a), "word": verb(a), "at": s.now().UnixMilli()})
}

// finish tells that it ended.
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
