package database

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
)

func info(who string) storage.LockInfo { return storage.NewLockInfo("apply", who, "1") }

// wantHeld checks that a lock isn't given, because of a run of that name.
func wantHeld(t *testing.T, err error, who string) {
	t.Helper()
	var held *storage.LockError
	if !errors.As(err, &held) || held.Holder.Who != who {
		t.Errorf("%v, want that %s has the lock", err, who)
	}
}

func TestLockParts(t *testing.T) {
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		at := fresh(t)
		a, b, c := at.open(t), at.open(t), at.open(t)
		if _, err := a.LockParts(t.Context(), info("a"), []string{"x"}, nil); !errors.Is(err, storage.ErrNoParts) {
			t.Errorf("without a state: %v", err)
		}
		storagetest.Do(t, a.Write(t.Context(), []byte("whole")))
		if _, err := a.LockParts(t.Context(), info("a"), []string{"x"}, nil); !errors.Is(err, storage.ErrNoParts) {
			t.Errorf("a state without rows: %v", err)
		}
		storagetest.Do(t, a.Write(t.Context(), sample(t, 1, "a", "b")))
		idA, err := a.LockParts(t.Context(), info("a"), []string{"x", "w"}, []string{"y"})
		storagetest.Do(t, err)
		for _, c := range []struct {
			write, read string
			free        bool
		}{
			{"x", "", false}, {"", "x", false}, {"y", "", false}, {"", "y", true}, {"z", "y", true}, {"z", "", true},
		} {
			id, err := b.LockParts(t.Context(), info("b"), strings.Fields(c.write), strings.Fields(c.read))
			if !c.free {
				if wantHeld(t, err, "a"); !strings.HasPrefix(fmt.Sprint(err), "that run works on "+c.write+c.read+"\n") {
					t.Errorf("%+v: %v", c, err)
				}
				continue
			}
			storagetest.Do(t, err)
			storagetest.Do(t, b.Unlock(t.Context(), id))
		}
		_, err = b.Lock(t.Context(), info("b"))
		wantHeld(t, err, "a")
		if holder, err := b.Holder(t.Context()); err != nil || holder == nil || holder.Who != "a" {
			t.Errorf("%v %v", holder, err)
		}
		storagetest.Do(t, a.Unlock(t.Context(), idA))
		if err := a.Unlock(t.Context(), idA); err == nil {
			t.Error("unlocked twice")
		}
		whole, err := b.Lock(t.Context(), info("b"))
		storagetest.Do(t, err)
		_, err = a.LockParts(t.Context(), info("a"), nil, []string{"z"})
		wantHeld(t, err, "b")
		storagetest.Do(t, b.SetNote(t.Context(), []byte("left")))
		storagetest.Do(t, b.Unlock(t.Context(), whole))
		if _, err := a.LockParts(t.Context(), info("a"), nil, []string{"z"}); !errors.Is(err, storage.ErrNoParts) {
			t.Errorf("beside a note: %v", err)
		}
		whole, err = c.Lock(t.Context(), info("c"))
		storagetest.Do(t, err)
		storagetest.Do(t, c.SetNote(t.Context(), nil))
		storagetest.Do(t, c.Unlock(t.Context(), whole))
		// Anybody releases a lock by its id, and its run can't write then.
		idA, err = a.LockParts(t.Context(), info("a"), []string{"x"}, nil)
		storagetest.Do(t, err)
		wantText(t, a, sample(t, 1, "a", "b"))
		storagetest.Do(t, c.Unlock(t.Context(), idA))
		if err := a.Write(t.Context(), sample(t, 2, "a", "c")); err == nil || !strings.Contains(err.Error(), "lost") {
			t.Errorf("written without the lock: %v", err)
		}
	})
}

// TestPartsLease has a run on parts of the state lose its lock that doesn't renew it. The next run
// with the lock of the state learns of its note, and the run never writes any more.
func TestPartsLease(t *testing.T) {
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		at := fresh(t)
		a, b := at.open(t), at.open(t)
		a.b.lease, b.b.lease = time.Second, time.Second
		storagetest.Do(t, a.Write(t.Context(), sample(t, 1, "a")))
		wantText(t, a, sample(t, 1, "a"))
		_, err := a.LockParts(t.Context(), info("a"), []string{"x"}, nil)
		storagetest.Do(t, err)
		storagetest.Do(t, a.SetNote(t.Context(), []byte("creating")))
		if notes, err := b.Notes(t.Context()); err != nil || len(notes) > 0 {
			t.Errorf("notes of a run under way: %q %v", notes, err)
		}
		time.Sleep(2500 * time.Millisecond)
		_, err = b.Lock(t.Context(), info("b"))
		wantHeld(t, err, "a")
		a.held.stop() // as a process that is suspended
		var id string
		for range 60 {
			if id, err = b.Lock(t.Context(), info("b")); err == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		storagetest.Do(t, err)
		if err := a.Write(t.Context(), sample(t, 2, "b")); err == nil || !strings.Contains(err.Error(), "lost") {
			t.Errorf("written after the lock was lost: %v", err)
		}
		if notes, err := b.Notes(t.Context()); err != nil || len(notes) != 1 || string(notes[0]) != "creating" {
			t.Errorf("%q %v", notes, err)
		}
		storagetest.Do(t, b.SetNote(t.Context(), nil))
		if notes, err := b.Notes(t.Context()); err != nil || len(notes) > 0 {
			t.Errorf("%q %v", notes, err)
		}
		storagetest.Do(t, b.Unlock(t.Context(), id))
	})
}

// edited is a state with another value of an object and of an output; the empty value removes it.
func edited(t *testing.T, text []byte, object, output int, value string) []byte {
	t.Helper()
	s, diags := statefile.Read(text, "the state")
	storagetest.Do(t, diags.Err())
	s = s.Clone()
	at, err := addr.ParseInstance(fmt.Sprintf("aws_instance.web[%d]", object))
	storagetest.Do(t, err)
	if value == "" {
		delete(s.Objects, addr.Object{Instance: at})
	} else {
		provider, err := addr.ParseProviderConfig(`provider["registry.opentofu.org/hashicorp/aws"]`)
		storagetest.Do(t, err)
		s.Objects[addr.Object{Instance: at}] = &state.Object{Provider: provider, JSON: []byte(`{"id":"` + value + `"}`)}
		s.Outputs[fmt.Sprintf("o%d", output)] = state.Output{Value: s.Outputs["out"].Value}
	}
	s.Serial++
	next, err := statefile.Bytes(s)
	storagetest.Do(t, err)
	return next
}

func idOf(t *testing.T, o *state.Object) string {
	t.Helper()
	var attributes struct{ ID string }
	if err := json.Unmarshal(o.JSON, &attributes); err != nil {
		t.Error(err)
	}
	return attributes.ID
}

// ids are the objects of a state in order.
func ids(t *testing.T, text []byte) string {
	t.Helper()
	s, diags := statefile.Read(text, "the state")
	storagetest.Do(t, diags.Err())
	var list []string
	for _, at := range s.Addresses() {
		list = append(list, strings.TrimPrefix(at.String(), "aws_instance.web")+"="+idOf(t, s.Objects[at]))
	}
	return fmt.Sprintf("serial %d, %d outputs: %s", s.Serial, len(s.Outputs), strings.Join(list, " "))
}

// TestMerge has two runs save their own objects in turn.
func TestMerge(t *testing.T) {
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		at := fresh(t)
		a, b := at.open(t), at.open(t)
		first := sample(t, 1, "a", "b", "c")
		storagetest.Do(t, a.Write(t.Context(), first))
		var locks []string
		for n, s := range []*store{a, b} {
			id, err := s.LockParts(t.Context(), info("me"), []string{fmt.Sprintf("aws_instance.web[%d]", n)}, nil)
			storagetest.Do(t, err)
			locks = append(locks, id)
			wantText(t, s, first)
		}
		ofA, ofB := edited(t, first, 0, 1, "A"), edited(t, first, 1, 2, "B")
		storagetest.Do(t, a.Write(t.Context(), ofA))
		storagetest.Do(t, b.Write(t.Context(), ofB))
		storagetest.Do(t, a.Write(t.Context(), edited(t, ofA, 0, 1, "AA")))
		if a.Wrote() != 4 || b.Wrote() != 3 {
			t.Errorf("serials %d and %d", a.Wrote(), b.Wrote())
		}
		storagetest.Do(t, b.Write(t.Context(), edited(t, ofB, 3, 2, "new")))
		text, err := at.open(t).Read(t.Context())
		storagetest.Do(t, err)
		const want = `serial 5, 3 outputs: [0]=AA [1]=B [2]=c [3]=new`
		if got := ids(t, text); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		list, err := a.Earlier(t.Context())
		storagetest.Do(t, err)
		if len(list) != 4 {
			t.Errorf("%d earlier states", len(list))
		}
		if text, err := a.ReadEarlier(t.Context(), 2); err != nil || ids(t, text) != `serial 2, 2 outputs: [0]=A [1]=b [2]=c` {
			t.Errorf("%v\n%s", err, ids(t, text))
		}
		// Changes of others stay, whatever the locks say.
		for _, value := range []string{"", "C"} {
			if err := a.Write(t.Context(), edited(t, ofA, 1, 1, value)); !errors.Is(err, storage.ErrChanged) || !strings.Contains(err.Error(), "web[1]") {
				t.Errorf("%q: %v", value, err)
			}
		}
		if err := a.Write(t.Context(), edited(t, ofA, 3, 1, "C")); !errors.Is(err, storage.ErrChanged) {
			t.Errorf("an object that somebody else has created: %v", err)
		}
		if err := a.Write(t.Context(), []byte("whole")); err == nil {
			t.Error("a state without rows was written")
		}
		for n, s := range []*store{a, b} {
			storagetest.Do(t, s.Unlock(t.Context(), locks[n]))
		}
		a = at.sealed(t, cipher{key: "k", fallback: true})
		whole, err := a.Lock(t.Context(), info("me"))
		storagetest.Do(t, err)
		text, err = a.Read(t.Context())
		storagetest.Do(t, err)
		storagetest.Do(t, a.Write(t.Context(), edited(t, text, 0, 1, "")))
		storagetest.Do(t, a.Unlock(t.Context(), whole))
		// Encrypted, too, only the rows that differ are written.
		sealed := at.sealed(t, cipher{key: "k"})
		id, err := sealed.LockParts(t.Context(), info("me"), []string{"aws_instance.web[1]"}, nil)
		storagetest.Do(t, err)
		wantText(t, sealed, edited(t, text, 0, 1, ""))
		before := versions(t, sealed.b, "objects")
		storagetest.Do(t, sealed.Write(t.Context(), edited(t, edited(t, text, 0, 1, ""), 1, 1, "sealed")))
		if after := versions(t, sealed.b, "objects"); after[0] == before[0] || !slices.Equal(after[1:], before[1:]) {
			t.Errorf("%q became %q", before, after)
		}
		wantText(t, at.sealed(t, cipher{key: "k"}), edited(t, edited(t, text, 0, 1, ""), 1, 1, "sealed"))
		storagetest.Do(t, sealed.Unlock(t.Context(), id))
	})
}

var (
	histories = flag.Int("histories", 1, "How many random histories are recorded and checked.")
	seed      = flag.Uint64("histories-seed", 0, "The seed of the first history, 0 for any.")
)

// A visit is what one run did: the values that it read, and those that it wrote.
type visit struct {
	name          string
	reads, writes map[int]string
}

// anomalies finds what can't be in a history in which the visits happened one after the other in
// some order. Each value is written once, and who writes a part has read it.
func anomalies(first map[int]string, history []visit, last map[int]string) (found []string) {
	type place struct {
		part  int
		value string
	}
	writer, next := map[place]int{}, map[place]int{} // who has written a value, and who has replaced it
	for n, v := range history {
		for part, value := range v.writes {
			writer[place{part, value}] = n
			before := place{part, v.reads[part]}
			if other, twice := next[before]; twice {
				found = append(found, fmt.Sprintf("lost update: %s and %s replaced %s of part %d", history[other].name, v.name, before.value, part))
			}
			next[before] = n
		}
	}
	after := make([][]int, len(history)) // who comes later
	for n, v := range history {
		for part, value := range v.reads {
			at := place{part, value}
			from, known := writer[at]
			switch {
			case !known && first[part] != value:
				found = append(found, fmt.Sprintf("dirty read: %s read %s of part %d, which nobody wrote", v.name, value, part))
			case known && from != n:
				after[from] = append(after[from], n)
			}
			if to, replaced := next[at]; replaced && to != n {
				after[n] = append(after[n], to)
			}
		}
	}
	for part, value := range last {
		if _, replaced := next[place{part, value}]; replaced {
			found = append(found, fmt.Sprintf("lost update: part %d has %s at the end, which was replaced", part, value))
		}
	}
	mark := make([]int, len(history)) // 1 on the way, 2 done
	var visitFrom func(n int) bool
	visitFrom = func(n int) bool {
		mark[n] = 1
		for _, to := range after[n] {
			if mark[to] == 1 || mark[to] == 0 && visitFrom(to) {
				return true
			}
		}
		mark[n] = 2
		return false
	}
	for n := range history {
		if mark[n] == 0 && visitFrom(n) {
			found = append(found, "write skew: no order of the visits explains what they read")
			break
		}
	}
	return found
}

// TestAnomalies has the checker find each kind, and nothing where all is well.
func TestAnomalies(t *testing.T) {
	one := func(name string, reads, writes map[int]string) visit { return visit{name, reads, writes} }
	type values = map[int]string
	first := values{0: "0", 1: "0"}
	for want, c := range map[string]struct {
		history []visit
		last    values
	}{
		"": {[]visit{one("a", values{0: "0"}, values{0: "a"}), one("b", values{0: "a", 1: "0"}, values{1: "b"})}, values{0: "a", 1: "b"}},
		"lost update: a and b replaced 0 of part 0":                  {[]visit{one("a", values{0: "0"}, values{0: "a"}), one("b", values{0: "0"}, values{0: "b"})}, values{0: "b"}},
		"lost update: part 0 has 0 at the end, which was replaced":   {[]visit{one("a", values{0: "0"}, values{0: "a"})}, values{0: "0"}},
		"dirty read: a read x of part 0, which nobody wrote":         {[]visit{one("a", values{0: "x"}, nil)}, first},
		"write skew: no order of the visits explains what they read": {[]visit{one("a", values{0: "0", 1: "0"}, values{0: "a"}), one("b", values{0: "0", 1: "0"}, values{1: "b"})}, values{0: "a", 1: "b"}},
	} {
		if got := strings.Join(anomalies(first, c.history, c.last), "; "); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestHistories has runs lock, read and write random parts of one state at the same time, some of
// them die, and checks what they have seen.
func TestHistories(t *testing.T) {
	const parts, workers, visits = 6, 4, 6
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		for n := range *histories {
			by := *seed + uint64(n)
			if *seed == 0 {
				by = rand.Uint64()
			}
			at := fresh(t)
			values := make([]string, parts)
			first := map[int]string{}
			for i := range values {
				values[i], first[i] = "0", "0"
			}
			storagetest.Do(t, at.open(t).Write(t.Context(), sample(t, 1, values...)))
			var mu sync.Mutex
			var history []visit
			shared := 0
			var under int // at once, by locks of parts
			var wait sync.WaitGroup
			for worker := range workers {
				s := at.open(t)
				s.b.lease = time.Second
				random := rand.New(rand.NewPCG(by, uint64(worker)))
				wait.Go(func() {
					for k := range visits {
						name := fmt.Sprintf("%d.%d", worker, k)
						v := visit{name, map[int]string{}, map[int]string{}}
						var write, read []string
						for i := range parts {
							switch random.IntN(5) {
							case 0:
								write, v.writes[i] = append(write, fmt.Sprintf("aws_instance.web[%d]", i)), name
							case 1:
								read, v.reads[i] = append(read, fmt.Sprintf("aws_instance.web[%d]", i)), ""
							}
						}
						whole := random.IntN(8) == 0
						id, err := "", error(nil)
						for range 4000 {
							if whole {
								id, err = s.Lock(t.Context(), info(name))
							} else {
								id, err = s.LockParts(t.Context(), info(name), write, read)
							}
							if whole = whole || errors.Is(err, storage.ErrNoParts); err == nil {
								break
							}
							time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
						}
						if err != nil {
							t.Errorf("seed %d, %s: %v", by, name, err)
							return
						}
						if !whole {
							mu.Lock()
							if under++; under > 1 {
								shared++
							}
							mu.Unlock()
						}
						text, err := s.Read(t.Context())
						if err != nil {
							t.Errorf("seed %d, %s: %v", by, name, err)
							return
						}
						now := valuesOf(t, text)
						next := slices.Clone(now)
						for i := range parts {
							_, reads := v.reads[i]
							value, writes := v.writes[i]
							if reads || writes {
								v.reads[i] = now[i]
							}
							if writes {
								next[i] = value
							}
						}
						time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
						if err = s.Write(t.Context(), sample(t, 2+uint64(worker*visits+k), next...)); err != nil {
							t.Errorf("seed %d, %s writes %v, read %v: %v", by, name, v.writes, v.reads, err)
							if text, err := at.open(t).Read(t.Context()); err == nil {
								t.Errorf("now %v; history %v", valuesOf(t, text), history)
							}
							return
						}
						mu.Lock()
						history = append(history, v)
						if !whole {
							under--
						}
						mu.Unlock()
						if random.IntN(12) == 0 { // it dies before it releases the lock
							s.mu.Lock()
							s.held.stop()
							s.held = nil
							s.mu.Unlock()
							continue
						}
						if err := s.Unlock(t.Context(), id); err != nil {
							t.Errorf("seed %d, %s: %v", by, name, err)
						}
					}
				})
			}
			wait.Wait()
			text, err := at.open(t).Read(t.Context())
			storagetest.Do(t, err)
			last := map[int]string{}
			for i, value := range valuesOf(t, text) {
				last[i] = value
			}
			if found := anomalies(first, history, last); len(found) > 0 {
				t.Errorf("seed %d: %s", by, strings.Join(found, "\n"))
			}
			t.Logf("seed %d: %d visits, %d beside others", by, len(history), shared)
		}
	})
}

// valuesOf are the values of sample.
func valuesOf(t *testing.T, text []byte) []string {
	s, diags := statefile.Read(text, "the state")
	if diags.HasErrors() {
		t.Error(diags.Err())
		return nil
	}
	var all []string
	for _, at := range s.Addresses() {
		all = append(all, idOf(t, s.Objects[at]))
	}
	return all
}
