package simulation

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"

	"weir.dev/weir/internal/workspace/lockedstate"
)

// The actions of a person who reads messages, checks, and answers truthfully.

// untracked are objects that exist and aren't in the state, by id in order.
func (h *history) untracked() (list []*object) {
	ids := h.ids()
	for _, id := range slices.Sorted(maps.Keys(h.cloud.objects)) {
		if ids[id] == "" {
			list = append(list, h.cloud.objects[id])
		}
	}
	return list
}

// tidy deletes what a command has found in the place of another object.
func (h *history) tidy(r *run) {
	if r.killed || h.wrong != nil {
		return
	}
	text := r.said.text()
	if _, list, ok := strings.Cut(text, "were left out"); ok {
		for _, o := range h.untracked() {
			if mentions(list, o.name) {
				h.note("somebody deletes %s (%s)", o.name, o.id)
				delete(h.cloud.objects, o.id)
			}
		}
	}
}

func (h *history) quietly(l line) *run {
	was := h.quiet
	h.quiet = true
	defer func() { h.quiet = was }()
	if l.mix == 0 {
		l.mix = uint64(len(h.trace))
	}
	r := h.run(l)
	h.together(r)
	h.tidy(r)
	return r
}

// arrived has everything arrive that is on its way.
func (h *history) arrived() {
	for len(h.onTheWay) > 0 {
		h.deliver(0)
	}
}

// settle has everything that is in doubt resolved on a machine.
func (h *history) settle(machine int) {
	h.arrived()
	for range 20 {
		if h.wrong != nil {
			return
		}
		r := h.quietly(line{machine: machine, do: "recover"})
		switch {
		case h.wrong != nil:
			return
		case r.ok && len(r.left) == 0:
			return
		case r.ok:
			h.answer(machine, r.left)
		case r.said.has(lockedstate.Locked):
			h.unlock(machine, r)
		case strings.Contains(r.said.text(), "Journal of another state"):
			h.moveAway(machine, r)
		default:
			h.fail("stuck", "recover on m%d fails: %s", machine, r.said.text())
		}
	}
	h.fail("stuck", "m%d can't be settled", machine)
}

// answer says of what is in doubt what is so: of several things with one command. Then
// one sees what still is.
func (h *history) answer(machine int, left []string) {
	if len(left) == 0 {
		return
	}
	said := line{machine: machine, do: "recover"}
	for _, address := range left {
		name := strings.TrimPrefix(address, "sim_object.")
		var untracked []*object
		for _, o := range h.untracked() {
			if o.name == name {
				untracked = append(untracked, o)
			}
		}
		taken := slices.Contains(slices.Collect(maps.Values(h.ids())), name)
		wanted := slices.ContainsFunc(h.config, func(w wanted) bool { return w.name == name })
		if len(untracked) > 0 && !taken && wanted {
			said.imports = append(said.imports, found{name, untracked[0].id})
			continue
		}
		for _, o := range untracked {
			h.note("somebody deletes %s (%s)", o.name, o.id)
			delete(h.cloud.objects, o.id)
		}
		said.forget = append(said.forget, name)
	}
	if len(left) == 1 && len(said.imports) == 1 {
		said = line{machine: machine, do: "import", about: said.imports[0].name, id: said.imports[0].id}
	}
	if r := h.quietly(said); !r.ok {
		h.fail("stuck", "what is said on m%d of what is in doubt fails (imports %v, forgets %v): %s", machine, said.imports, said.forget, r.said.text())
	}
}

// unlock removes a lock whose holder is gone. Where nothing is noted beside the state
// that takes a look at what exists.
func (h *history) unlock(machine int, r *run) {
	holder := h.place.holder()
	if holder == nil {
		h.fail("stuck", "m%d can't take a lock that nobody has: %s", machine, r.said.text())
		return
	}
	m, here := h.machine(machine), false
	for _, l := range h.lives {
		if l.This() == holder.Info && !l.ended.Load() {
			h.fail("stuck", "%s has the lock and goes on", holder.Info)
			return
		}
		here = here || l.This() == holder.Info && l.machine == m
		if l.This() == holder.Info && l.machine == m && l.boot == m.boot && (h.place.notes() || len(m.journals()) > 0) {
			h.fail("stuck", "the lock of %s isn't taken over: %s", holder.Info, r.said.text())
			return
		}
	}
	if r := h.quietly(line{machine: machine, do: "force-unlock", id: holder.ID}); !r.ok {
		h.fail("stuck", "force-unlock on m%d fails: %s", machine, r.said.text())
		return
	}
	if h.place.notes() || here && len(m.journals()) > 0 { // a journal of another run knows nothing of this one
		return
	}
	for _, o := range h.untracked() {
		taken := slices.Contains(slices.Collect(maps.Values(h.ids())), o.name)
		wanted := slices.ContainsFunc(h.config, func(w wanted) bool { return w.name == o.name })
		if !taken && wanted && h.quietly(line{machine: machine, do: "import", about: o.name, id: o.id}).ok {
			continue
		}
		h.note("somebody deletes %s (%s)", o.name, o.id)
		delete(h.cloud.objects, o.id)
	}
}

// moveAway moves a journal away that belongs to another state: what it knows was resolved
// beside the state, or isn't.
func (h *history) moveAway(machine int, r *run) {
	for _, path := range h.machine(machine).journals() {
		h.note("somebody moves away %s", strings.TrimPrefix(path, h.machine(machine).dir))
		_ = os.Remove(path)
		h.machine(machine).disk.gone(strings.TrimPrefix(path, h.machine(machine).dir+"/"))
	}
}

// peer is another program. It has the lock meanwhile, which somebody has released if its
// holder is gone, and resolves nothing.
func (h *history) peer(do, name string) {
	if holder := h.place.holder(); holder != nil && h.script.store != "local" {
		return
	}
	text := h.place.state()
	if text == nil {
		return // it would be another state
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		h.fail("torn", "another engine can't read the state: %v", err)
		return
	}
	resources, _ := s["resources"].([]any)
	at := slices.IndexFunc(resources, func(r any) bool { return r.(map[string]any)["name"] == name })
	if do == "drop" {
		if at < 0 {
			return
		}
		instances := resources[at].(map[string]any)["instances"].([]any)
		for _, i := range instances {
			delete(h.cloud.objects, i.(map[string]any)["attributes"].(map[string]any)["id"].(string))
		}
		resources = slices.Delete(resources, at, at+1)
	} else {
		if at >= 0 || len(h.cloud.named(name)) > 0 && h.script.store != "" {
			return // it would make it a second time, as engines without a journal do
		}
		o := h.cloud.create(name, "0", "0", nil)
		resources = append(resources, map[string]any{
			"mode": "managed", "type": "sim_object", "name": name, "provider": `provider["registry.opentofu.org/hashicorp/sim"]`,
			"instances": []any{map[string]any{"schema_version": 0, "attributes": map[string]any{
				"id": o.id, "name": name, "generation": "0", "value": "0", "refs": []string{},
			}}},
		})
	}
	s["resources"] = resources
	s["serial"] = s["serial"].(float64) + 1
	next, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err)
	}
	h.place.put(append(next, '\n'))
}

// end has everything resolved, applies once more, and looks whether all is well.
func (h *history) end() {
	if h.wrong != nil {
		return
	}
	h.quiet = true
	h.note("the end")
	h.arrived()
	worked := h.worked()
	for _, m := range worked {
		h.settle(m)
	}
	if h.wrong != nil {
		return
	}
	if r := h.quietly(line{machine: 1, do: "apply"}); !r.ok {
		h.fail("end", "the last apply fails: %s", r.said.text())
	}
	for _, m := range slices.Compact([]int{1, worked[len(worked)-1]}) {
		if h.wrong != nil {
			return
		}
		if r := h.quietly(line{machine: m, do: "plan"}); !r.ok || r.changes > 0 {
			h.fail("end", "the last plan on m%d has %d changes: %s", m, r.changes, r.said.text())
		}
	}
	h.whole()
}

// worked are the machines on which there were commands, by their numbers; the first one
// if there were none.
func (h *history) worked() (list []int) {
	for n, m := range h.machines {
		if slices.ContainsFunc(h.lives, func(l *life) bool { return l.machine == m }) {
			list = append(list, n+1)
		}
	}
	if list == nil {
		list = []int{1}
	}
	return list
}

// whole holds the cloud to the configuration, and the state to both.
func (h *history) whole() {
	ids, notes, noted := h.ids(), h.notes(), 0
	for _, w := range h.config {
		list := h.cloud.named(w.name)
		if w.noted {
			noted++
		}
		switch {
		case len(list) != 1:
			h.fail("end", "%s exists %d times", w.name, len(list))
		case list[0].generation != itoa(w.generation) || list[0].value != itoa(w.value):
			h.fail("end", "%s is %+v, wanted %s", w.name, *list[0], w)
		case ids[list[0].id] != w.name:
			h.fail("end", "the state has %v, not %s (%s)", ids, w.name, list[0].id)
		case w.noted && notes[w.name] != list[0].id+" "+itoa(w.value):
			h.fail("end", "the note of %s is %q, wanted %s %d", w.name, notes[w.name], list[0].id, w.value)
		}
	}
	if len(h.cloud.objects) != len(h.config) || len(ids) != len(h.config) {
		h.fail("end", "%d objects exist, the state has %d, %d are wanted", len(h.cloud.objects), len(ids), len(h.config))
	}
	if len(notes) != noted {
		h.fail("end", "the state has the notes %v, %d are wanted", notes, noted)
	}
	if h.place.note() {
		h.fail("left", "a note is left")
	}
	if holder := h.place.holder(); holder != nil {
		h.fail("left", "a lock is left: %s", holder.Info)
	}
	for _, m := range h.machines {
		if list := m.journals(); len(list) > 0 {
			h.fail("left", "journals are left: %v", list)
		}
	}
}
