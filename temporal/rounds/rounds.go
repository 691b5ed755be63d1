// Package rounds runs a deployment through its rounds: plan, approval by rules or people,
// apply, and again while changes are deferred. Around them it publishes a stack's outputs and
// starts the stacks that read them.
//
// It owns the order, the caller that carries the steps out. The same code is run as a
// workflow, which is reported its past again after a crash, and within one process; so it asks
// no clock, no disk and no chance. It doesn't know how a step is done.
package rounds

import (
	"fmt"
	"slices"
	"time"
)

// most is how often a deployment continues with what was deferred, or with a plan that became
// another one.
const most = 10

// A Request asks for one deployment.
type Request struct {
	ID         string // of what was asked for as a whole
	Stack      string
	Deployment string
	Bundle     string // the hash of the stack's files
	// States is how the addresses of the states of root modules begin. With it the deployment is a root
	// module, without it one of a stack.
	States string `json:",omitempty"`
	Options
	// Parent is who learns that it is done.
	Parent string `json:",omitempty"`
	// Replans is how often rules have had it planned again.
	Replans int `json:",omitempty"`
	Author
}

// An Author is who has asked for something or decided it, and when. The store signs this
// with what was asked for, and workers check it: who reaches Temporal alone can't act.
type Author struct {
	By        string    `json:",omitempty"`
	At        time.Time `json:",omitzero"`
	Signature string    `json:",omitempty"`
}

// Options are what people ask for beside what is in the files.
type Options struct {
	Destroy     bool     `json:",omitempty"`
	AutoApprove bool     `json:",omitempty"`
	Vars        []string `json:",omitempty"` // NAME=VALUE
	// RefreshOnly, SkipRefresh, Targets and Excludes are what a plan is to be about.
	RefreshOnly bool     `json:",omitempty"`
	SkipRefresh bool     `json:",omitempty"`
	Targets     []string `json:",omitempty"`
	Excludes    []string `json:",omitempty"`
	// Unasked: nobody has asked for it but a change upstream, so rules only approve.
	Unasked bool `json:",omitempty"`
}

// A Planned is what planning has come to.
type Planned struct {
	Plan     string // the hash of what was planned, empty without changes
	Text     string // the hash of the plan as people read it
	Counts   Counts
	Deferred int      // what is deferred until the next round
	Approved bool     // by rules
	By       string   // which
	Against  []string // why others don't
	Doubts   []string // objects that may exist
	Problem  string   // why there is no plan
	Replan   string   `json:",omitempty"` // a rule that wants another one after a failure
	// Approval is that of rules or of a person. Workers apply nothing without one, but for
	// requests that say so.
	Approval *Decision `json:",omitempty"`
}

// Counts are numbers of objects.
type Counts struct{ Add, Change, Destroy int }

// An Applied is what applying has come to.
type Applied struct {
	Counts   Counts // what the plan that was applied had
	Deferred int
	// Stale: what would be done isn't what was approved any more.
	Stale   bool
	Doubts  []string
	Problem string
	Replan  string `json:",omitempty"` // a rule that wants another plan
}

// A Phase is where a deployment is.
type Phase string

// Phases; those from Done on are the last of a request.
const (
	Planning  Phase = "planning"
	Waiting   Phase = "waits for approval"
	Doubtful  Phase = "waits for recover"
	Applying  Phase = "applying"
	Done      Phase = "done"
	Failed    Phase = "failed"
	Rejected  Phase = "rejected"
	Cancelled Phase = "cancelled"
	Skipped   Phase = "skipped" // because of what comes before it
)

// Over reports whether nothing more is done for the request.
func (p Phase) Over() bool {
	return slices.Contains([]Phase{Done, Failed, Rejected, Cancelled, Skipped}, p)
}

// A Status is where a deployment is, and what is to be known of it.
type Status struct {
	Stack      string
	Deployment string
	Request    string
	Phase      Phase
	Round      int
	Plan       Planned
	Applied    Counts // of all rounds
	Changed    bool   // something was applied
	Problem    string `json:",omitempty"`
	By         string `json:",omitempty"` // who decided last
	Lines      []string

	replans  int
	approval *Decision // of a person, until its plan is applied or has become another one
}

// Asked is the request that a status is of, as far as decisions are about it.
func (s *Status) Asked() Request {
	return Request{ID: s.Request, Stack: s.Stack, Deployment: s.Deployment}
}

// say adds a line of what happened. Only the last ones are kept.
func (s *Status) say(format string, a ...any) {
	s.Lines = append(s.Lines, fmt.Sprintf(format, a...))
	if more := len(s.Lines) - 50; more > 0 {
		s.Lines = s.Lines[more:]
	}
}

// Decisions of people.
const (
	Approve = "approve"
	Reject  = "reject"
	Cancel  = "cancel"
	Recover = "recover"
)

// A Decision is what somebody says of a deployment that waits.
type Decision struct {
	Kind string
	Plan string // the hash of the plan that is approved
	Settlement
	Author
}

// A Settlement says of objects in doubt whether they exist.
type Settlement struct {
	Import    []string `json:",omitempty"` // ADDRESS=ID
	Forget    []string `json:",omitempty"` // ADDRESS
	ForgetAll bool     `json:",omitempty"`
}

// Versions of what rounds do, as workflows remember them.
const (
	// Signed: decisions are checked, and approvals last until their plan is applied.
	Signed = 1
	// Version is the present one.
	Version = Signed
)

// A Host carries out the steps. An error is that a step couldn't be made, in spite of
// being tried again; what is wrong with a configuration isn't one.
type Host interface {
	Plan(Request) (Planned, error)
	// Apply plans again, and applies what comes out if it is what was planned.
	Apply(r Request, planned Planned) (Applied, error)
	Settle(Request, Decision) (problem string, err error)
	// Decision waits for the next decision. Its error ends the request.
	Decision() (Decision, error)
	// Check says why a decision doesn't count: it isn't signed by the store, or not for
	// this request.
	Check(Request, Decision) (problem string, err error)
	// Version is that of this package which started the request. A workflow repeats its
	// history as it was then.
	Version() int
	// Cancelled reports whether somebody has said so meanwhile.
	Cancelled() bool
	// Tell is given the status whenever it changes.
	Tell(Status)
}

// Deploy does what is requested one deployment.
func Deploy(h Host, r Request) Status {
	s := &Status{Stack: r.Stack, Deployment: r.Deployment, Request: r.ID}
	for s.Round = 1; ; s.Round++ {
		if s.Round > most {
			return s.end(h, Failed, fmt.Sprintf("After %d rounds some changes are still deferred. Apply again to continue.", most))
		}
		if h.Cancelled() {
			return s.end(h, Cancelled, "")
		}
		if over := s.round(h, r); over {
			return *s
		}
		r.Replans = s.replans
	}
}

// to changes the phase.
func (s *Status) to(h Host, p Phase) {
	s.Phase = p
	h.Tell(*s)
}

func (s *Status) end(h Host, p Phase, problem string) Status {
	s.Problem = problem
	line := string(p)
	if problem != "" {
		line += ": " + problem
	}
	s.say("%s", line)
	s.to(h, p)
	return *s
}

// round is one round; it reports whether it was the last.
func (s *Status) round(h Host, r Request) (over bool) {
	s.Plan = Planned{}
	s.to(h, Planning)
	p, err := h.Plan(r)
	s.Plan = p
	switch {
	case h.Cancelled():
		s.end(h, Cancelled, "")
		return true
	case err != nil:
		s.end(h, Failed, err.Error())
		return true
	case len(p.Doubts) > 0:
		return s.settle(h, r)
	case p.Problem != "":
		return s.settled(h, Failed, p.Problem, p.Replan)
	case p.Plan == "" && p.Deferred > 0:
		s.end(h, Failed, "Some objects are deferred because their number isn't known yet, and nothing else in the plan would change that. Check the for_each arguments of the components.")
		return true
	case p.Plan == "":
		s.say("round %d: nothing to do", s.Round)
		s.end(h, Done, "")
		return true
	}
	s.say("round %d: planned %d to add, %d to change, %d to destroy, %d deferred", s.Round, p.Counts.Add, p.Counts.Change, p.Counts.Destroy, p.Deferred)
	if !s.approved(h, r) {
		return true
	}
	s.to(h, Applying)
	a, err := h.Apply(r, s.Plan)
	switch {
	case err != nil && h.Cancelled():
		s.end(h, Cancelled, "")
		return true
	case err != nil:
		s.end(h, Failed, err.Error())
		return true
	case a.Stale:
		s.approval = nil
		s.say("round %d: the plan has become another one", s.Round)
		return false
	case len(a.Doubts) > 0:
		s.Changed = true
		return false // planning again reports them
	}
	s.Changed, s.approval = true, nil
	if a.Problem != "" {
		if h.Cancelled() {
			s.end(h, Cancelled, a.Problem)
			return true
		}
		return s.settled(h, Failed, a.Problem, a.Replan)
	}
	s.Applied.Add += a.Counts.Add
	s.Applied.Change += a.Counts.Change
	s.Applied.Destroy += a.Counts.Destroy
	s.say("round %d: applied %d added, %d changed, %d destroyed", s.Round, a.Counts.Add, a.Counts.Change, a.Counts.Destroy)
	if a.Deferred > 0 {
		return false
	}
	return s.settled(h, Done, "", a.Replan)
}

// settled ends the request, unless a rule has it planned again and there is a round left.
func (s *Status) settled(h Host, p Phase, problem, rule string) (over bool) {
	if rule == "" || s.Round >= most {
		s.end(h, p, problem)
		return true
	}
	if problem != "" {
		s.say("round %d: %s", s.Round, problem)
	}
	s.replans++
	s.say("round %d: planned again by the rule %s", s.Round, rule)
	return false
}

// approved waits until a plan is approved, or ends the request.
func (s *Status) approved(h Host, r Request) bool {
	switch {
	case r.AutoApprove:
		s.By = "-auto-approve"
		return true
	case s.Plan.Approved:
		s.By = s.Plan.By
		s.say("round %d: approved by the rules %s", s.Round, s.Plan.By)
		return true
	}
	for _, why := range s.Plan.Against {
		s.say("round %d: not approved by %s", s.Round, why)
	}
	if s.approval != nil && s.approval.Plan == s.Plan.Plan && h.Version() >= Signed {
		s.Plan.Approval, s.By = s.approval, s.approval.By
		s.say("round %d: plan %s again, approved by %s", s.Round, short(s.approval.Plan), s.approval)
		return true
	}
	for {
		s.to(h, Waiting)
		d, ok := s.decision(h, r)
		switch {
		case !ok:
			return false
		case d.Kind == Approve && d.Plan == s.Plan.Plan:
			s.By, s.approval, s.Plan.Approval = d.By, &d, &d
			s.say("round %d: plan %s approved by %s", s.Round, short(d.Plan), &d)
			return true
		case d.Kind == Reject:
			s.By = d.By
			s.end(h, Rejected, "by "+d.String())
			return false
		case d.Kind == Cancel:
			s.By = d.By
			s.end(h, Cancelled, "by "+d.String())
			return false
		}
		s.say("round %d: %s of %s by %s is about another plan", s.Round, d.Kind, d.Plan, &d)
	}
}

// decision waits for the next decision that counts, or ends the request.
func (s *Status) decision(h Host, r Request) (d Decision, ok bool) {
	for {
		d, err := h.Decision()
		problem := ""
		if err == nil && h.Version() >= Signed {
			problem, err = h.Check(r, d)
		}
		switch {
		case err != nil:
			s.end(h, Failed, err.Error())
			return d, false
		case problem == "":
			return d, true
		}
		s.say("%s by %s was ignored: %s", d.Kind, d.By, problem)
		h.Tell(*s)
	}
}

// short is the part of a hash that people see.
func short(hash string) string { return hash[:min(12, len(hash))] }

// String says who decided, and when.
func (d *Decision) String() string {
	if d.At.IsZero() {
		return d.By
	}
	return d.By + " at " + d.At.UTC().Format(time.RFC3339)
}

// settle waits until somebody says what became of objects in doubt.
func (s *Status) settle(h Host, r Request) (over bool) {
	s.say("round %d: %d objects may exist: %v", s.Round, len(s.Plan.Doubts), s.Plan.Doubts)
	s.Round-- // it didn't come to one
	for {
		s.to(h, Doubtful)
		d, ok := s.decision(h, r)
		switch {
		case !ok:
			return true
		case d.Kind == Cancel || d.Kind == Reject:
			s.end(h, Cancelled, "by "+d.String())
			return true
		case d.Kind != Recover:
			continue
		}
		problem, err := h.Settle(r, d)
		if err != nil {
			problem = err.Error()
		}
		if problem == "" {
			s.say("round %d: %s said what exists", s.Round+1, &d)
			return false
		}
		s.Problem = problem
		s.say("recover: %s", problem)
	}
}

// A Whole asks for a stack: deployments of it, and what follows.
type Whole struct {
	ID          string
	Stack       string
	Bundle      string
	Deployments []string
	// States is that of the requests: the deployments are root modules. After are those that have to
	// be done before one.
	States string              `json:",omitempty"`
	After  map[string][]string `json:",omitempty"`
	Options
	// Publishes: the stack has outputs for others.
	Publishes bool
	// Via are the stacks whose changes have led to this.
	Via []string `json:",omitempty"`
	// Alone leaves the stacks that read it.
	Alone bool `json:",omitempty"`
	Author
	// Signatures are those of the requests for the deployments, in the same order.
	Signatures []string `json:",omitempty"`
}

// Each are the requests for the deployments.
func (w Whole) Each() []Request {
	var list []Request
	for i, name := range w.Deployments {
		r := Request{ID: w.ID, Stack: w.Stack, Deployment: name, Bundle: w.Bundle, States: w.States, Options: w.Options, Author: Author{By: w.By, At: w.At}}
		if i < len(w.Signatures) {
			r.Signature = w.Signatures[i]
		}
		list = append(list, r)
	}
	return list
}

// A Published is what publishing has come to.
type Published struct {
	Changed bool
	Readers []string // stacks that read what has changed
	Problem string
}

// A Conductor carries out what is around the deployments.
type Conductor interface {
	// Begin has deployments done.
	Begin([]Request) error
	// Next waits for the next one that is over.
	Next() (Status, error)
	Publish(Whole) (Published, error)
	// Follow has a stack done that reads what was published; via leads to it.
	Follow(stack string, via []string) (problem string, err error)
	Tell(Overview)
}

// An Overview is where a stack is.
type Overview struct {
	Stack   string
	Request string
	Pending []string
	Over    map[string]Phase
	Lines   []string
	Problem string `json:",omitempty"`
	Ended   bool
}

// OK reports whether all was done.
func (o Overview) OK() bool {
	for _, p := range o.Over {
		if p != Done {
			return false
		}
	}
	return len(o.Pending) == 0 && o.Problem == ""
}

// Conduct does what is requested a stack. Once all deployments are over, outputs are published
// if any was applied.
func Conduct(c Conductor, w Whole) Overview {
	o := conduct(c, w)
	o.Ended = true
	c.Tell(o)
	return o
}

func conduct(c Conductor, w Whole) Overview {
	o := Overview{Stack: w.Stack, Request: w.ID, Pending: slices.Clone(w.Deployments), Over: map[string]Phase{}}
	left := w.Each()
	if err := c.Begin(o.ready(w, &left)); err != nil {
		o.Problem = err.Error()
		return o
	}
	c.Tell(o)
	changed := false
	for len(o.Pending) > 0 {
		s, err := c.Next()
		if err != nil {
			o.Problem = err.Error()
			return o
		}
		i := slices.Index(o.Pending, s.Deployment)
		if s.Request != w.ID || i < 0 {
			continue // an answer that came twice
		}
		o.over(s.Deployment, s.Phase)
		changed = changed || s.Changed
		if more := o.ready(w, &left); len(more) > 0 {
			if err := c.Begin(more); err != nil {
				o.Problem = err.Error()
				return o
			}
		}
		c.Tell(o)
	}
	if w.Publishes && changed {
		o.share(c, w)
	}
	return o
}

// over notes what became of a deployment.
func (o *Overview) over(name string, p Phase) {
	o.Pending = slices.DeleteFunc(o.Pending, func(pending string) bool { return pending == name })
	o.Over[name] = p
}

// ready takes from the requests that are left those that can begin, and skips those that can't any
// more because something before them wasn't done.
func (o *Overview) ready(w Whole, left *[]Request) (list []Request) {
	for again := true; again; {
		again = false
		*left = slices.DeleteFunc(*left, func(r Request) bool {
			for _, name := range w.After[r.Deployment] {
				switch p, over := o.Over[name]; {
				case !over:
					return false
				case p != Done:
					o.over(r.Deployment, Skipped)
					o.Lines = append(o.Lines, fmt.Sprintf("skipped %s, which comes after %s (%s)", r.Deployment, name, p))
					again = true
					return true
				}
			}
			list = append(list, r)
			return true
		})
	}
	return list
}

// share publishes, and has those stacks follow that read it.
func (o *Overview) share(c Conductor, w Whole) {
	p, err := c.Publish(w)
	switch {
	case err != nil:
		o.Problem = err.Error()
		return
	case p.Problem != "":
		o.Problem = p.Problem
		return
	case !p.Changed:
		return
	}
	o.Lines = append(o.Lines, "published what has changed")
	if w.Alone {
		return
	}
	via := append(slices.Clone(w.Via), w.Stack)
	for _, reader := range p.Readers {
		if slices.Contains(via, reader) {
			o.Problem = fmt.Sprintf("The stack %s was applied already because of this change. Nothing is applied twice: look which outputs go in a circle.", reader)
			continue
		}
		problem, err := c.Follow(reader, via)
		if err != nil {
			problem = err.Error()
		}
		if problem != "" {
			o.Problem = fmt.Sprintf("The stack %s reads what has changed: %s", reader, problem)
			continue
		}
		o.Lines = append(o.Lines, "had the stack "+reader+" follow")
	}
}
