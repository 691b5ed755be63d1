package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/sys/durable"
)

type (
	ctyValue    = cty.Value
	diagnostics = diag.List
)

// A history is a script that is played.
type history struct {
	script   *script
	machines []*machine
	place    store
	cloud    *cloud
	config   []wanted
	lives    []*life
	runs     map[*life]*run
	onTheWay []*message
	// secrets counts how often credentials were replaced.
	secrets int
	// quiet: nothing goes wrong any more.
	quiet bool

	mu      sync.Mutex
	pending []*pending

	last  []byte // the state when it was inspected last
	trace []string
	wrong *violation
}

// A violation is what must never happen.
type violation struct{ rule, text string }

func (v *violation) Error() string { return v.rule + ": " + v.text }

func (h *history) fail(rule, format string, args ...any) {
	if h.wrong == nil {
		h.wrong = &violation{rule, fmt.Sprintf(format, args...)}
		h.note("VIOLATED: %v", h.wrong)
	}
}

func (h *history) note(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

// play plays a script in folders below dir, and returns how it went.
func play(t *testing.T, dir string, s *script) *history {
	t.Helper()
	h := &history{script: s, cloud: &cloud{objects: map[string]*object{}}, runs: map[*life]*run{}}
	synctest.Test(t, func(*testing.T) {
		hosts := []*host{{name: "m1"}, {name: "m2"}}
		for n, o := range []*host{hosts[0], hosts[1], hosts[0]} {
			at := filepath.Join(dir, fmt.Sprint("m", n+1))
			if err := os.MkdirAll(at, 0o755); err != nil {
				panic(err)
			}
			m := &machine{host: o, h: h, dir: at, disk: newDisk(at)}
			o.machines, o.excluded = append(o.machines, m), map[string]chan struct{}{}
			h.machines = append(h.machines, m)
		}
		if h.place = h.placeOf(s.store); h.place == nil {
			h.fail("script", "no store %q", s.store)
			return
		}
		h.all()
		for _, l := range h.lives {
			l.kill()
		}
		for _, l := range h.lives {
			<-h.runs[l].done
		}
	})
	return h
}

// all plays the lines, and then has everything resolved.
func (h *history) all() {
	for i := 0; i < len(h.script.lines) && h.wrong == nil; i++ {
		l := h.script.lines[i]
		if !l.command() {
			h.note("%s", l)
			h.do(l)
			continue
		}
		runs := []*run{h.run(l)}
		if i+1 < len(h.script.lines) && h.script.lines[i+1].beside > 0 {
			i++
			runs = append(runs, h.run(h.script.lines[i]))
		}
		h.together(runs...)
		for _, r := range runs {
			h.tidy(r)
		}
	}
	h.end()
}

// machine is that with a number: the third one is another folder on the first one's
// host. Files are on one machine.
func (h *history) machine(n int) *machine {
	if h.script.store == "local" {
		n = 1
	}
	return h.machines[max(0, n-1)]
}

// do is what somebody does who is no process of this engine.
func (h *history) do(l line) {
	switch l.do {
	case "config":
		h.config = l.config
	case "data":
		m := h.machine(l.machine)
		_ = os.RemoveAll(filepath.Join(m.dir, ".terraform"))
		m.disk.gone(".terraform")
	case "restart":
		h.machine(l.machine).fail(uint64(len(h.trace)))
	case "clock":
		o := h.machine(l.machine).host
		o.skew -= time.Duration(1+len(h.trace)%48) * time.Hour
	case "rotate":
		h.secrets++
		if p, ok := h.place.(*httpPlace); ok {
			p.server.Change(h.secret())
		}
	case "make", "drop":
		h.peer(l.do, l.about)
	}
	h.look()
}

// secret is the password, or the key, that opens the store now.
func (h *history) secret() string { return fmt.Sprint("secret", h.secrets) }

// A run is a command that is under way, or has been.
type run struct {
	line
	life  *life
	done  chan struct{}
	ended bool
	picks int
	// killed: it was ended from outside.
	killed bool
	outcome
}

func (h *history) run(l line) *run { return &run{line: l, done: make(chan struct{})} }

// start begins a command.
func (h *history) start(r *run) {
	m := h.machine(r.machine)
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{h: h, machine: m, number: len(h.lives) + 1, boot: m.boot, killed: make(chan struct{}), cancel: cancel}
	r.life = l
	h.lives, m.host.lives = append(h.lives, l), append(m.host.lives, l)
	h.runs[l] = r
	h.note("%s begins %s", l.This(), r.do)
	go func() {
		defer close(r.done)
		l.command(ctx, r)
	}()
}

// limits of what a command may take; more is a hang.
const (
	maxPicks = 4000
	maxIdle  = 48 * time.Hour
)

// together plays commands until all have ended.
func (h *history) together(runs ...*run) {
	random := rand.New(rand.NewPCG(runs[0].mix, 77))
	picks := 0
	idle := time.Millisecond
	h.start(runs[0])
	for h.wrong == nil {
		synctest.Wait()
		h.look()
		open := 0
		for _, r := range runs {
			if r.life == nil {
				continue
			}
			if !r.ended && r.over() {
				r.ended = true
				r.life.ended.Store(true)
				h.note("%s ends: %s", r.life.This(), r.outcome)
				h.ended(r)
			}
			if !r.ended {
				open++
			}
		}
		if len(runs) > 1 && runs[1].life == nil && (open == 0 || picks >= runs[1].beside) {
			h.start(runs[1])
			continue
		}
		if open == 0 {
			return
		}
		list := h.ready()
		switch {
		case len(list) == 0:
			if idle > maxIdle {
				h.fail("hang", "nothing happens any more")
				return
			}
			time.Sleep(idle)
			idle *= 2
			continue
		case random.IntN(8) == 0:
			d := []time.Duration{time.Millisecond, 6 * time.Millisecond, 25 * time.Millisecond, 300 * time.Millisecond}[random.IntN(4)]
			time.Sleep(d)
			continue
		}
		idle = time.Millisecond
		if picks++; picks > maxPicks {
			h.fail("hang", "no end after %d steps", picks)
			return
		}
		if n := random.IntN(len(list) + len(h.onTheWay)); n < len(list) {
			h.pick(list[n], random.Uint64())
		} else if random.IntN(4) == 0 {
			h.deliver(n - len(list))
		}
	}
}

// over reports whether a command has ended.
func (r *run) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return r.killed
	}
}

// ready is what could be next, in an order that doesn't depend on chance.
func (h *history) ready() []*pending {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []*pending
	for _, p := range h.pending {
		if !p.stuck && !p.life.dead() && p.life.machine.awake() {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b *pending) int {
		if a.life != b.life {
			return a.life.number - b.life.number
		}
		return strings.Compare(a.label, b.label)
	})
	return list
}

// pick has one thing happen.
func (h *history) pick(p *pending, seed uint64) {
	r := h.runs[p.life]
	r.picks++
	fault := r.faults[r.picks]
	if h.quiet || !p.may(fault, h.place) {
		fault = now
	}
	h.note("%d %s: %s %s", p.life.number, p.label, fault, map[bool]string{true: "", false: fmt.Sprint(r.picks)}[h.quiet])
	switch fault {
	case ends, fails:
		h.crash(p.life, fault, seed)
	case hanging:
		p.stuck = true
	case sleeps:
		p.life.machine.asleep = time.Now().Add(time.Duration(1+seed%1800) * time.Minute)
	default:
		p.turn <- fault
	}
}

// may reports whether something can go wrong in that way.
func (p *pending) may(fault moment, at store) bool {
	switch fault {
	case ends, fails, sleeps:
		return true
	case refused:
		return p.kind != answering
	case silent:
		return p.kind == requesting || p.kind == asking || p.kind == disking && p.renames()
	case partly:
		return p.kind == asking
	case hanging:
		return p.kind == requesting
	case doubled, later:
		// Where nothing holds uploads to what was there, no engine can do better.
		return p.kind == requesting && (at.fenced() || !strings.HasPrefix(p.label, "POST"))
	}
	return false
}

// renames reports whether a change of a disk is one of names.
func (p *pending) renames() bool {
	kind, _, _ := strings.Cut(p.label, " ")
	return slices.Contains([]durable.Kind{durable.Move, durable.Link, durable.Remove}, durable.Kind(kind))
}

// crash ends a process, or the machine with all of them. Anything that was asked of the cloud
// may still be done.
func (h *history) crash(l *life, how moment, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 5))
	dying := []*life{l}
	if how == fails {
		dying = l.machine.lives
	}
	h.mu.Lock()
	waiting := slices.Clone(h.pending)
	h.mu.Unlock()
	slices.SortStableFunc(waiting, func(a, b *pending) int { return strings.Compare(a.label, b.label) })
	for _, p := range waiting {
		if p.effect == nil || p.life.dead() || !slices.Contains(dying, p.life) || p.stuck {
			continue
		}
		if h.place.fenced() || p.kind == asking || !strings.HasPrefix(p.label, "POST") {
			if random.IntN(2) == 0 {
				h.note("%d %s: arrives", p.life.number, p.label)
				p.effect()
			}
		}
	}
	for _, d := range dying {
		if r := h.runs[d]; !r.over() {
			r.killed = true
		}
	}
	if how == fails {
		l.machine.fail(seed)
	} else {
		l.kill()
	}
}

// deliver has a request arrive that the network has kept.
func (h *history) deliver(n int) {
	m := h.onTheWay[n]
	h.onTheWay = slices.Delete(h.onTheWay, n, n+1)
	h.note("%d %s: arrives late", m.from.number, m.label)
	m.do()
}

// look checks that the state can be read whole by anybody.
func (h *history) look() {
	text := h.place.state()
	if bytes.Equal(text, h.last) {
		return
	}
	h.last = slices.Clone(text)
	if _, err := idsOf(text); err != nil {
		h.fail("torn", "the state can't be read: %v\n%s", err, text)
	}
}

type stored struct {
	Serial    uint64
	Lineage   string
	Resources []struct {
		Type, Name string
		Instances  []struct {
			Deposed    string
			Attributes struct{ ID, Of, Value string }
		}
	}
}

// idsOf are the objects of a state: names by id.
func idsOf(text []byte) (map[string]string, error) {
	ids := map[string]string{}
	if text == nil {
		return ids, nil
	}
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			if r.Type != "sim_object" {
				continue
			}
			ids[i.Attributes.ID] = r.Name
		}
	}
	return ids, nil
}

// notes reads the objects that exist in the state only. The result has the content of each note by
// the name of the object that it describes.
func (h *history) notes() map[string]string {
	notes := map[string]string{}
	var s stored
	if err := json.Unmarshal(h.place.state(), &s); err != nil {
		h.fail("torn", "the state can't be read: %v", err)
	}
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			if r.Type == "note_text" {
				notes[strings.TrimSuffix(r.Name, "_note")+i.Deposed] = i.Attributes.Of + " " + i.Attributes.Value
			}
		}
	}
	return notes
}

func (h *history) ids() map[string]string {
	ids, err := idsOf(h.place.state())
	if err != nil {
		h.fail("torn", "the state can't be read: %v", err)
	}
	return ids
}

// checkCreation is asked before the cloud makes an object.
func (h *history) checkCreation(l *life, name string) {
	ids := h.ids()
	for _, o := range h.cloud.named(name) {
		_, conflicts, _ := strings.Cut(h.said(l), "were left out")
		if o.by != l && ids[o.id] == "" && !mentions(conflicts, name) {
			h.fail("twice", "%s makes %s, which exists as %s, and the state doesn't have that", l.This(), name, o.id)
		}
	}
}

// said is what a process has said so far.
func (h *history) said(l *life) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[l].said.text()
}

// ended checks what a command leaves that wasn't killed.
func (h *history) ended(r *run) {
	if r.killed {
		return
	}
	if text := r.said.text(); strings.Contains(text, "Damaged") || strings.Contains(text, "Unreadable") || strings.Contains(text, "internal error") || strings.Contains(text, "panic") {
		h.fail("damage", "%s says: %s", r.life.This(), text)
	}
	if !r.ok || r.do == "plan" || r.do == "force-unlock" || r.do == "import" {
		return // who has only looked, or not even that
	}
	if len(r.left) > 0 && r.do != "recover" {
		h.fail("success", "%s %s succeeds beside doubts", r.life.This(), r.do)
	}
	ids := h.ids()
	text := r.said.text()
	for _, left := range r.left {
		text += " " + left + " "
	}
	for id, o := range h.cloud.objects {
		if by := h.runs[o.by]; by != nil && (!by.ended || by.life.number > r.life.number) {
			continue // made beside this command or after it, by one that answers for it
		}
		if ids[id] == "" && !mentions(text, o.name) {
			h.fail("lost", "%s (%s) exists, %s succeeds, and neither the state nor what it says has it", o.name, id, r.life.This())
			return
		}
	}
}

// mentions reports whether a text has the address of an object.
func mentions(text, name string) bool {
	at := instance(name)
	for {
		_, after, ok := strings.Cut(text, at)
		if !ok {
			return false
		}
		if after == "" || !strings.ContainsAny(after[:1], "abcdefghijklmnopqrstuvwxyz0123456789_") {
			return true
		}
		text = after
	}
}

// hash distinguishes histories where something has to be unique in each.
func hash(parts ...any) [32]byte {
	f := fnv.New128()
	fmt.Fprint(f, parts...)
	var out [32]byte
	copy(out[:], f.Sum(nil))
	return out
}
