package work

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/stack/shardedstate"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/approvalpolicy"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/planoptions"
	"weir.dev/weir/temporal/depot"
	"weir.dev/weir/temporal/rounds"
)

// A step is a deployment that was opened and planned.
type step struct {
	*site
	w    *Worker
	work *workspace.Work
	made *plan.Plan
	// found are the problems of planning.
	found diag.List
}

// Asked is what a plan is for.
func Asked(o rounds.Options) (planoptions.Planning, diag.List) {
	asked := planoptions.Plan{Destroy: o.Destroy, RefreshOnly: o.RefreshOnly, SkipRefresh: o.SkipRefresh, Targets: o.Targets, Excludes: o.Excludes}
	return asked.Read()
}

// planning opens a deployment, which folds the journal of a run that was killed into
// its state, and plans.
func (w *Worker) planning(ctx context.Context, r rounds.Request, do func(*step) error) error {
	if err := w.asked(ctx, r); err != nil {
		return err
	}
	return w.at(ctx, r, func(s *site) error {
		p, diags := Asked(r.Options)
		if diags.HasErrors() {
			return failure{diags}
		}
		p.AllowDeferral = true
		if s.one != nil {
			s.one.Replans = r.Replans
		}
		o := workspace.Opening{Operation: "apply"}
		o.Vars = slices.Clone(s.vars)
		for _, v := range r.Vars {
			o.Vars = append(o.Vars, environment.Var{Value: v})
		}
		opened, made, found := workspace.Plan{Dir: s.dir, Subject: s.subject, Opening: o, Options: p}.Run(s.look)
		if opened == nil {
			return failure{found}
		}
		defer opened.Unlock()
		return do(&step{site: s, w: w, work: opened, made: made, found: found})
	})
}

// problem is what the workflow is notified of a failure in a request for a deployment or root, or
// without one in a stack: none for what may go better another time.
func (w *Worker) problem(err error, r rounds.Request) (string, error) {
	if f := (failure{}); errors.As(err, &f) {
		said := commands.ForStacks(w.Program, r.Deployment)
		if r.States != "" {
			said = func(c diag.Command) diag.Command {
				c.Program = cmp.Or(c.Program, w.Program+" -chdir="+r.Deployment)
				return c
			}
		}
		return short(Text(f.diags.As(said))), nil
	}
	if u := unsigned(""); errors.As(err, &u) {
		return u.Error(), nil
	}
	return "", err
}

// most is how long a text is that workflows get to see, in bytes: a history has a limit.
const most = 64 << 10

func short(text string) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "\n\nThere are more problems."
}

// replan names a rule that wants another plan, unless somebody wants it to end.
func (s *step) replan(o approvalpolicy.Outcome) (rule string, diags diag.List) {
	if s.Stack == nil || s.look.Err() != nil {
		return "", nil
	}
	return approvalpolicy.Replan(s.Stack.Stack, s.one, o)
}

// doubts are the objects that may exist.
func (s *step) doubts() []string {
	var list []string
	for _, d := range s.work.Doubts() {
		if len(list) == mostDoubts {
			break // after these the others follow
		}
		list = append(list, d.Object.String())
	}
	return list
}

// mostDoubts is how many objects in doubt workflows get to see at a time.
const mostDoubts = 1000

// Plan implements rounds.Steps.
func (w *Worker) Plan(ctx context.Context, r rounds.Request) (out rounds.Planned, err error) {
	err = w.planning(ctx, r, func(s *step) error {
		out.Doubts = s.doubts()
		if s.made == nil || s.found.HasErrors() || len(out.Doubts) > 0 {
			if len(out.Doubts) > 0 {
				return nil
			}
			var more diag.List
			out.Replan, more = s.replan(approvalpolicy.Outcome{Plan: s.made, Found: s.found})
			return failure{append(s.found, more...)}
		}
		out.Counts, out.Deferred = counts(s.made), len(s.made.Deferred)
		if !s.made.HasChanges() {
			return nil
		}
		if s.Stack != nil {
			verdict, diags := approvalpolicy.Decide(s.Stack.Stack, s.one, s.made, s.found)
			if diags.HasErrors() {
				return failure{diags}
			}
			out.Approved, out.By, out.Against = verdict.Approved, verdict.By, verdict.Against
		}
		var text bytes.Buffer
		if err := view.Plan(&text, s.made, view.Options{Product: w.Dialect.Product(), Automation: true}); err != nil {
			return err
		}
		if out.Text, err = w.Depot.Put(s.ctx, text.Bytes()); err != nil {
			return err
		}
		list, err := json.Marshal(changes(s.made))
		if err != nil {
			return err
		}
		if out.Plan, err = w.Depot.Put(s.ctx, list); err != nil || !out.Approved {
			return err
		}
		out.Approval = &rounds.Decision{Kind: rounds.Approve, Plan: out.Plan, Author: rounds.Author{By: "the rules " + out.By}}
		return SignDecision(s.ctx, w.Depot, r, out.Approval)
	})
	out.Problem, err = w.problem(err, r)
	return out, err
}

func counts(p *plan.Plan) rounds.Counts {
	n := p.Counts()
	return rounds.Counts{Add: n.Add, Change: n.Change, Destroy: n.Destroy}
}

// A change is one thing that a plan does. An approval of a plan covers these.
type change struct {
	// Name and Action say what; Digest also says from what to what. The list is in the
	// depot, as the states are, because a hash of what is secret may be guessed.
	Name, Action, Digest string
}

func changes(p *plan.Plan) []change {
	list := []change{}
	add := func(name, action string, a ...any) {
		sum := sha256.Sum256(fmt.Appendln(nil, a...))
		list = append(list, change{name, action, hex.EncodeToString(sum[:])})
	}
	text := func(v cty.Value) string {
		if v == cty.NilVal {
			return ""
		}
		bare, _ := v.UnmarkDeep()
		return bare.GoString()
	}
	for _, c := range p.Changes {
		if c.Action == plan.NoOp && !c.Moved() && c.Importing == nil {
			continue
		}
		add("object "+c.Addr.String(), c.Action.String(), c.Previous().String(), text(c.Before), text(c.After), c.Importing != nil)
	}
	for _, o := range p.Outputs {
		if o.Action != plan.NoOp {
			add("output "+o.Name, o.Action.String(), text(o.Before), text(o.After))
		}
	}
	slices.SortFunc(list, func(a, b change) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// covered reports whether a plan does nothing but what was approved. Of what is left
// once a part of that is done only objects and actions are compared: values that refer
// to the part that is done are known by now.
func (w *Worker) covered(ctx context.Context, approved string, p *plan.Plan, rest bool) (bool, error) {
	data, err := w.Depot.Get(ctx, approved)
	if err != nil {
		return false, err
	}
	var list []change
	if err := json.Unmarshal(data, &list); err != nil {
		return false, err
	}
	for _, c := range changes(p) {
		if !slices.ContainsFunc(list, func(a change) bool {
			return a.Name == c.Name && a.Action == c.Action && (rest || a.Digest == c.Digest)
		}) {
			return false, nil
		}
	}
	return true, nil
}

// Apply implements rounds.Steps. It plans again in any case, after it has recovered
// what a try before this one has left: the journal says what was done, and what isn't
// done any more isn't in the plan.
func (w *Worker) Apply(ctx context.Context, r rounds.Request, planned rounds.Planned, again bool) (out rounds.Applied, err error) {
	err = w.planning(ctx, r, func(s *step) error {
		if out.Doubts = s.doubts(); len(out.Doubts) > 0 {
			return nil
		}
		if s.made == nil || s.found.HasErrors() {
			return failure{s.found}
		}
		out.Counts, out.Deferred = counts(s.made), len(s.made.Deferred)
		if !s.made.HasChanges() {
			if again {
				out.Counts = planned.Counts // the try before this one has done it all
			}
			return nil
		}
		if !r.AutoApprove {
			if err := w.approved(s.ctx, r, planned); err != nil {
				return err
			}
			ok, err := w.covered(s.ctx, planned.Plan, s.made, again)
			if err != nil {
				return err
			}
			if !ok {
				out.Stale = true
				return nil
			}
		}
		_, diags := s.work.Apply(s.ctx, s.made, s.found, workspace.Limits{Stop: s.stop, Saving: s.ctx})
		out.Doubts = s.doubts()
		if len(out.Doubts) > 0 {
			return nil
		}
		var more diag.List
		out.Replan, more = s.replan(approvalpolicy.Outcome{Plan: s.made, Found: append(s.found, diags...), Applied: true, OK: !diags.HasErrors()})
		if diags.Append(more); diags.HasErrors() {
			return failure{diags}
		}
		return nil
	})
	out.Problem, err = w.problem(err, r)
	return out, err
}

// Settle implements rounds.Steps.
func (w *Worker) Settle(ctx context.Context, r rounds.Request, said rounds.Decision) (told string, err error) {
	err = w.asked(ctx, r)
	if err == nil {
		err = w.signed(ctx, r, said)
	}
	if err != nil {
		return w.problem(err, r)
	}
	err = w.at(ctx, r, func(s *site) error {
		if s.Stack != nil {
			b, diags := s.StackBackend(nil)
			if b == nil {
				return failure{diags}
			}
			s.dir.About, s.dir.Place.Backend, s.dir.Place.Options.Workspace = &s.subject, b, s.one.Name
		}
		objects, err := planoptions.Imports(said.Import, "")
		if err != nil {
			return failure{diag.BadImport.List("%s.", err)}
		}
		for _, o := range objects {
			wanted, diags := planoptions.ReadImport(o[0], o[1])
			if diags.HasErrors() {
				return failure{diags}
			}
			if diags := (workspace.Import{Dir: s.dir, Opening: workspace.Opening{Operation: "import", Loading: workspace.Loading{Vars: s.vars}}, Objects: []planoptions.Import{wanted}}).Run(s.ctx); diags.HasErrors() {
				return failure{diags}
			}
		}
		var forget []addr.Instance
		for _, text := range said.Forget {
			i, err := addr.ParseInstance(text)
			if err != nil {
				return failure{diag.BadAddress.List("%s.", err)}
			}
			forget = append(forget, i)
		}
		_, _, diags := workspace.Recover{Dir: s.dir, Forget: forget, ForgetAll: said.ForgetAll}.Run(s.ctx)
		if diags.HasErrors() {
			return failure{diags}
		}
		return nil
	})
	return w.problem(err, r)
}

// noteLong is how long a lease for a note lasts.
const noteLong = 10 * time.Second

// Names of the files of a stack in the depot, beside its deployments.
const (
	publishedFile = "published.json"
	readersFile   = "readers.json"
	lastFile      = "last.json"
)

// Name is how a stack is called where others refer to it: the last word of its
// directory, or of a source.
func Name(source string) string { return path.Base(path.Clean(filepath.ToSlash(source))) }

// upstreams puts what other stacks have published where the deployments of the one in
// a directory read it.
func (w *Worker) upstreams(ctx context.Context, dir string) (map[string]string, error) {
	d := workspace.New(w.options(dir, nil))
	defer d.Close()
	s, diags := workspace.OpenStack(ctx, d)
	if diags.HasErrors() {
		return nil, failure{diags}
	}
	dirs := map[string]string{}
	for _, u := range s.Upstreams {
		files, err := w.Depot.Files(ctx, Name(u.Source))
		if err != nil {
			return nil, err
		}
		there := filepath.Join(w.Dir, "upstreams", Name(u.Source))
		dirs[u.Source] = there
		if err := os.MkdirAll(filepath.Join(there, shardedstate.Dir), 0o700); err != nil {
			return nil, err
		}
		if data, ok := files[publishedFile]; ok {
			if err := durable.Replace(filepath.Join(there, shardedstate.Dir, publishedFile), data, 0o600); err != nil {
				return nil, err
			}
		}
	}
	return dirs, nil
}

// Publish implements rounds.Steps: it puts together what the deployments publish, as
// their states in the depot are now.
func (w *Worker) Publish(ctx context.Context, whole rounds.Whole) (out rounds.Published, err error) {
	err = w.publish(ctx, whole, &out)
	out.Problem, err = w.problem(err, rounds.Request{})
	return out, err
}

func (w *Worker) publish(ctx context.Context, whole rounds.Whole, out *rounds.Published) error {
	if err := w.askedWhole(ctx, whole); err != nil {
		return err
	}
	b, err := w.bundle(ctx, whole.Bundle, false)
	if err != nil {
		return err
	}
	lease, err := depot.Wait(ctx, w.Depot, whole.Stack, w.Holder, w.Long, nil)
	if err != nil {
		return err
	}
	held, release := depot.Hold(ctx, w.Depot, lease, w.Long)
	defer release()
	folder, err := os.MkdirTemp(w.Dir, "publish-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	// The states are read where nobody is at work on them.
	data, err := w.Depot.Get(held, whole.Bundle)
	if err != nil {
		return err
	}
	dir, err := Unpack(data, folder)
	if err != nil {
		return err
	}
	o := w.options(dir, nil)
	if o.Upstreams, err = w.upstreams(held, b.dir); err != nil {
		return err
	}
	d := workspace.New(o)
	defer d.Close()
	s, diags := workspace.OpenStack(held, d)
	if diags.HasErrors() {
		return failure{diags}
	}
	files, err := w.Depot.Files(held, whole.Stack)
	if err != nil {
		return err
	}
	states := filepath.Join(dir, shardedstate.Dir)
	for _, one := range s.Deployments {
		m := &mirror{ctx: held, depot: w.Depot, lease: depot.Lease{Name: key(whole.Stack, one.Name)}, folder: filepath.Join(states, one.Name)}
		if err := m.fill(); err != nil {
			return err
		}
	}
	if old, ok := files[publishedFile]; ok {
		if err := os.MkdirAll(states, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(states, publishedFile), old, 0o600); err != nil {
			return err
		}
	}
	if _, diags := s.Publish(held); diags.HasErrors() {
		return failure{diags}
	}
	now, err := os.ReadFile(filepath.Join(states, publishedFile))
	if errors.Is(err, os.ErrNotExist) || err == nil && bytes.Equal(now, files[publishedFile]) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := w.Depot.Write(held, lease, publishedFile, 0, now); err != nil {
		return err
	}
	out.Changed = true
	out.Readers, err = readers(files)
	return err
}

func readers(files map[string][]byte) ([]string, error) {
	var list []string
	if data, ok := files[readersFile]; ok {
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", readersFile, err)
		}
	}
	return list, nil
}

// Last implements rounds.Steps.
func (w *Worker) Last(ctx context.Context, stack, id string, via []string) (whole rounds.Whole, err error) {
	files, err := w.Depot.Files(ctx, stack)
	if err != nil {
		return whole, err
	}
	if err := json.Unmarshal(files[lastFile], &whole); err != nil {
		return whole, fmt.Errorf("the last request for the stack %s can't be read: %w", stack, err)
	}
	whole.Options = rounds.Options{Vars: whole.Vars, Unasked: true} // all of it, whatever was asked for then
	whole.ID, whole.Via, whole.By = id, via, "a change of the stack "+via[len(via)-1]
	return whole, Sign(ctx, w.Depot, &whole)
}

// ErrTaken is the error of a name that the store has for something else.
var ErrTaken = errors.New("the store has a stack and a directory of roots of the same name, whose files would mix. Choose another one: for a stack with -stack=NAME, for roots in the addresses of their states")

// Note writes down what was asked for a stack, for those that it reads to find.
func Note(ctx context.Context, d depot.Depot, holder string, whole rounds.Whole, upstreams []string) error {
	put := func(stack string, change func(files map[string][]byte) (file string, data any, err error)) error {
		lease, err := depot.Wait(ctx, d, stack, holder, noteLong, nil)
		if err != nil {
			return err
		}
		_, release := depot.Hold(ctx, d, lease, noteLong)
		defer release()
		files, err := d.Files(ctx, stack)
		if err != nil {
			return err
		}
		file, data, err := change(files)
		if err != nil {
			return err
		}
		text, err := json.Marshal(data)
		if err != nil || bytes.Equal(text, files[file]) {
			return err
		}
		return d.Write(ctx, lease, file, 0, text)
	}
	err := put(whole.Stack, func(files map[string][]byte) (string, any, error) {
		var last rounds.Whole
		if data, ok := files[lastFile]; ok {
			if err := json.Unmarshal(data, &last); err != nil {
				return "", nil, fmt.Errorf("%s: %w", lastFile, err)
			}
			if (last.States == "") != (whole.States == "") {
				return "", nil, ErrTaken
			}
		}
		return lastFile, whole, nil
	})
	for _, up := range upstreams {
		if err != nil {
			break
		}
		err = put(up, func(files map[string][]byte) (string, any, error) {
			list, err := readers(files)
			if !slices.Contains(list, whole.Stack) {
				list = append(list, whole.Stack)
			}
			return readersFile, list, err
		})
	}
	return err
}
