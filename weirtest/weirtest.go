// Package weirtest provides states and a cloud in memory, for tests of programs that embed
// package weir. Tests can pause, inspect and fail operations, without disk and processes.
//
//	cloud := weirtest.NewCloud()
//	cloud.Type("sim_server", "name string required", "zone string replace")
//	ws, err := weir.OpenFS(files, weir.Options{
//		Store:     weirtest.NewStore(),
//		Providers: []weir.ProviderSource{cloud.Source("example/sim")},
//	})
package weirtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"weir.dev/weir"
)

// A Store keeps states in memory. Its zero value isn't ready, see [NewStore].
type Store struct {
	mu     sync.Mutex
	states map[string]*kept
	before func(call, workspace string) error
}

type kept struct {
	content []byte
	version int
	lock    *weir.LockInfo
}

// NewStore is a store without states.
func NewStore() *Store { return &Store{states: map[string]*kept{}} }

// Before has f called before each call, with the name of the method. Its result is the call's error, and the call then does nothing.
func (s *Store) Before(f func(call, workspace string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// begin calls what is to be called before, without the lock, and takes the lock.
func (s *Store) begin(call, workspace string) (*kept, error) {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	var err error
	if before != nil {
		err = before(call, workspace)
	}
	s.mu.Lock()
	k := s.states[workspace]
	if k == nil {
		k = &kept{}
		s.states[workspace] = k
	}
	return k, err
}

// Read implements [weir.Store].
func (s *Store) Read(_ context.Context, workspace string) ([]byte, string, error) {
	k, err := s.begin("Read", workspace)
	defer s.mu.Unlock()
	if err != nil || k.version == 0 {
		return nil, "", err
	}
	return slices.Clone(k.content), strconv.Itoa(k.version), nil
}

// Write implements [weir.Store].
func (s *Store) Write(_ context.Context, workspace string, state []byte, replaces string) (string, error) {
	k, err := s.begin("Write", workspace)
	defer s.mu.Unlock()
	if err != nil {
		return "", err
	}
	if now := strconv.Itoa(k.version); replaces != now && (replaces != "" || k.version != 0) {
		return "", weir.ErrChanged
	}
	k.content = slices.Clone(state)
	k.version++
	return strconv.Itoa(k.version), nil
}

// Lock implements [weir.Store].
func (s *Store) Lock(_ context.Context, workspace string, info weir.LockInfo) error {
	k, err := s.begin("Lock", workspace)
	defer s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case k.lock != nil:
		return &weir.LockedError{Holder: *k.lock}
	}
	k.lock = &info
	return nil
}

// Unlock implements [weir.Store].
func (s *Store) Unlock(_ context.Context, workspace, id string) error {
	k, err := s.begin("Unlock", workspace)
	defer s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case k.lock == nil:
		return fmt.Errorf("the workspace %q isn't locked", workspace)
	case k.lock.ID != id:
		return &weir.LockedError{Holder: *k.lock}
	}
	k.lock = nil
	return nil
}

// Workspaces implements [weir.Store].
func (s *Store) Workspaces(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Sorted(maps.Keys(s.states))
	return slices.DeleteFunc(names, func(name string) bool { return s.states[name].version == 0 }), nil
}

// A Cloud is objects in memory, with a provider for them. Each object gets an id,
// TYPE-N for the N-th of its type.
type Cloud struct {
	mu            sync.Mutex
	types         map[string]map[string]weir.Attribute
	objects       map[string]weir.Object // by id
	kinds         map[string]string      // types of objects, by id
	made          map[string]int         // by type
	calls         []string
	before, after func(ctx context.Context, c Call) error
}

// A Call is one call of the cloud's provider: Create, Read, Update, Delete or Import,
// and the object that it is about.
type Call struct {
	Method, Type string
	Object       weir.Object
}

// NewCloud is a cloud without types.
func NewCloud() *Cloud {
	return &Cloud{types: map[string]map[string]weir.Attribute{}, objects: map[string]weir.Object{}, kinds: map[string]string{}, made: map[string]int{}}
}

// Type adds a type of objects, before the cloud is used. Each line is an attribute:
// its name, its type as in a variable block, and any of the words required, optional,
// computed, sensitive and replace. There is always the computed attribute id. A bad
// line panics when the provider is used.
func (c *Cloud) Type(name string, attributes ...string) *Cloud {
	all := map[string]weir.Attribute{"id": {Type: "string", Computed: true}}
	for _, line := range attributes {
		words := strings.Fields(line)
		var a weir.Attribute
		rest := words[1:]
		for len(rest) > 1 && flag(&a, rest[len(rest)-1]) {
			rest = rest[:len(rest)-1]
		}
		a.Type = strings.Join(rest, " ")
		all[words[0]] = a
	}
	c.types[name] = all
	return c
}

func flag(a *weir.Attribute, word string) bool {
	switch word {
	case "required":
		a.Required = true
	case "optional":
		a.Optional = true
	case "computed":
		a.Computed = true
	case "sensitive":
		a.Sensitive = true
	case "replace":
		a.Replace = true
	default:
		return false
	}
	return true
}

// Before has f called before each call. Its result is the call's error, and the call then does nothing.
func (c *Cloud) Before(f func(ctx context.Context, call Call) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = f
}

// After has f called after each call that has had its effect. Its error takes the
// place of the answer: with [weir.ErrUnanswered] nobody learns of the effect.
func (c *Cloud) After(f func(ctx context.Context, call Call) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after = f
}

// Calls lists the calls so far, as "METHOD TYPE", in the order in which they came.
func (c *Cloud) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// Objects are those that exist, by id.
func (c *Cloud) Objects() map[string]weir.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]weir.Object{}
	for id, o := range c.objects {
		out[id] = maps.Clone(o)
	}
	return out
}

// Change changes attributes of an object, as somebody else does.
func (c *Cloud) Change(id string, attributes weir.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.objects[id], attributes)
}

// Remove removes an object, as somebody else does.
func (c *Cloud) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, id)
}

// Source is the cloud as the provider of that address.
func (c *Cloud) Source(address string) weir.ProviderSource {
	return weir.InProcess(address, c.Provider())
}

// Provider is the provider for the cloud's objects.
func (c *Cloud) Provider() *weir.Provider {
	p := &weir.Provider{Resources: map[string]weir.ResourceType{}}
	for name, attributes := range c.types {
		p.Resources[name] = weir.ResourceType{
			Attributes: attributes,
			Create: func(ctx context.Context, desired weir.Object) (weir.Object, error) {
				return c.call(ctx, Call{"Create", name, desired})
			},
			Read: func(ctx context.Context, current weir.Object) (weir.Object, error) {
				return c.call(ctx, Call{"Read", name, current})
			},
			Update: func(ctx context.Context, current, desired weir.Object) (weir.Object, error) {
				return c.call(ctx, Call{"Update", name, desired})
			},
			Delete: func(ctx context.Context, current weir.Object) error {
				_, err := c.call(ctx, Call{"Delete", name, current})
				return err
			},
			Import: func(ctx context.Context, id string) (weir.Object, error) {
				return c.call(ctx, Call{"Import", name, weir.Object{"id": id}})
			},
		}
	}
	return p
}

func (c *Cloud) call(ctx context.Context, call Call) (weir.Object, error) {
	c.mu.Lock()
	before, after := c.before, c.after
	c.calls = append(c.calls, call.Method+" "+call.Type)
	c.mu.Unlock()
	if before != nil {
		if err := before(ctx, call); err != nil {
			return nil, err
		}
	}
	result, err := c.perform(call)
	if err == nil && after != nil {
		err = after(ctx, Call{call.Method, call.Type, maps.Clone(result)})
	}
	return result, err
}

func (c *Cloud) perform(call Call) (weir.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, _ := call.Object["id"].(string)
	switch call.Method {
	case "Create":
		c.made[call.Type]++
		id = fmt.Sprintf("%s-%d", call.Type, c.made[call.Type])
		o := maps.Clone(call.Object)
		o["id"] = id
		c.objects[id], c.kinds[id] = o, call.Type
	case "Update":
		if c.objects[id] == nil {
			return nil, fmt.Errorf("there is no object %q", id)
		}
		c.objects[id] = maps.Clone(call.Object)
	case "Delete":
		delete(c.objects, id)
	}
	if c.kinds[id] != call.Type {
		return nil, nil
	}
	return maps.Clone(c.objects[id]), nil
}

// A T reports failures, as [testing.T] does.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// ExpectChanges fails the test unless the plan changes exactly these objects. Each is an action and an
// address, such as "create sim_server.web", in any order.
func ExpectChanges(t T, p *weir.Plan, want ...string) {
	t.Helper()
	var got []string
	for _, c := range p.Changes() {
		got = append(got, string(c.Action)+" "+c.Address)
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	for _, c := range want {
		if !slices.Contains(got, c) {
			t.Errorf("the plan lacks %q", c)
		}
	}
	for _, c := range got {
		if !slices.Contains(want, c) {
			t.Errorf("the plan has %q, which isn't expected", c)
		}
	}
}

// ExpectOrder fails the test unless each step comes before the next one in every order in which the
// plan can be applied. A step is its kind and its address, such as "apply sim_server.web".
func ExpectOrder(t T, p *weir.Plan, steps ...string) {
	t.Helper()
	all := p.Steps()
	place := func(step string) int {
		return slices.IndexFunc(all, func(s weir.Step) bool { return s.Kind+" "+s.Address == step })
	}
	for i, step := range steps {
		if place(step) < 0 {
			t.Errorf("the plan has no step %q", step)
		} else if i > 0 && place(steps[i-1]) >= 0 && !waits(all, place(step), place(steps[i-1])) {
			t.Errorf("%q doesn't wait for %q", step, steps[i-1])
		}
	}
}

// waits reports whether a step waits for another one, directly or not.
func waits(all []weir.Step, step, other int) bool {
	seen := map[int]bool{}
	next := []int{step}
	for len(next) > 0 {
		s := next[len(next)-1]
		next = next[:len(next)-1]
		for _, after := range all[s].After {
			if after == other {
				return true
			}
			if !seen[after] {
				seen[after] = true
				next = append(next, after)
			}
		}
	}
	return false
}
