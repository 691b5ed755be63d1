package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/sys/failpoint"
)

func at(t testing.TB, text string) addr.Object {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr.Object{Instance: i}
}

func provider(t testing.TB) addr.ProviderConfig {
	t.Helper()
	p, err := addr.ParseProviderConfig(`provider["registry.opentofu.org/acme/sim"].other`)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func object(t testing.TB, id string) *state.Object {
	t.Helper()
	return &state.Object{
		Provider: provider(t), SchemaVersion: 2, JSON: fmt.Appendf(nil, `{"id":%q,"secret":"x"}`, id),
		Sensitive: []cty.Path{cty.GetAttrPath("secret")}, Private: []byte{0, 1, 0xff}, Tainted: id == "tainted",
		Dependencies: []addr.Resource{at(t, "module.m.sim_object.dep").Resource}, IdentityJSON: []byte(`{"n":"` + id + `"}`),
	}
}

func begun(t testing.TB, b Begin, carried ...Operation) (*Writer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "terraform.tfstate.journal")
	w, err := Start(nil, path, b, carried, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w, path
}

func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	do(t, err)
	return b
}

func names(list []Operation) string {
	var out []string
	for _, o := range list {
		out = append(out, o.Action+" "+o.Object.String())
	}
	return strings.Join(out, ", ")
}

func TestRoundTrip(t *testing.T) {
	w, path := begun(t, Begin{Lineage: "l", Serial: 3, Base: "b"}, Operation{Object: at(t, "sim_object.old"), Action: Create})
	a, b, c := at(t, `module.x["k"].sim_object.a[0]`), at(t, `sim_object.b["\"q"]`), at(t, "sim_object.c")
	deposed := addr.Object{Instance: c.Instance, Deposed: "0a1b2c3d"}
	do(t, w.Intent(Operation{Object: a, Action: Create, Provider: provider(t)}))
	do(t, w.Result(a, object(t, "a")))
	do(t, w.Intent(Operation{Object: b, Action: Delete, Key: "id", ID: "b-1"}))
	do(t, w.Moved(c, deposed, object(t, "tainted")))
	do(t, w.Intent(Operation{Object: c, Action: Create}))
	do(t, w.Unsure(c))
	do(t, w.Output("o", &state.Output{Value: cty.StringVal("v"), Sensitive: true}))
	do(t, w.Output("p", nil))

	prior := state.Empty()
	prior.Lineage, prior.Serial = "l", 3
	prior.Objects[b], prior.Objects[c] = object(t, "b-1"), object(t, "tainted")
	prior.Outputs["p"] = state.Output{Value: cty.True}
	before := prior.Clone()
	folded, inDoubt, err := Recover(prior, bytes.NewReader(read(t, path)))
	do(t, err)
	if !statefile.Equal(prior, before) {
		t.Error("the prior state was changed")
	}
	want := state.Empty()
	want.Objects[a], want.Objects[b], want.Objects[deposed] = object(t, "a"), object(t, "b-1"), object(t, "tainted")
	want.Outputs["o"] = state.Output{Value: cty.StringVal("v"), Sensitive: true}
	if !statefile.Equal(folded, want) {
		t.Errorf("folded %v", folded.Addresses())
	}
	if got := names(inDoubt); got != `delete sim_object.b["\"q"], create sim_object.c, create sim_object.old` {
		t.Errorf("in doubt: %s", got)
	}
	if inDoubt[0].Key != "id" || inDoubt[0].ID != "b-1" {
		t.Errorf("known of the first: %+v", inDoubt[0])
	}
	info, err := os.Stat(path)
	do(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestMoved: wherever a journal ends, an object that is put aside, and taken back, is in
// one place.
func TestMoved(t *testing.T) {
	w, path := begun(t, Begin{Lineage: "l"})
	c := at(t, "sim_object.c")
	deposed := addr.Object{Instance: c.Instance, Deposed: "0a1b2c3d"}
	do(t, w.Intent(Operation{Object: at(t, "sim_object.other"), Action: Create}))
	do(t, w.Moved(c, deposed, object(t, "c")))
	do(t, w.Moved(deposed, c, object(t, "c")))
	do(t, w.Close())
	prior := state.Empty()
	prior.Lineage, prior.Objects[c] = "l", object(t, "c")
	text := read(t, path)
	places := map[addr.Object]bool{}
	for n := bytes.IndexByte(text, '\n') + 1; n <= len(text); n++ {
		folded, _, err := Recover(prior, bytes.NewReader(text[:n]))
		do(t, err)
		if len(folded.Objects) != 1 {
			t.Fatalf("after %d bytes it is at %v", n, folded.Addresses())
		}
		for place := range folded.Objects {
			places[place] = true
		}
	}
	if !places[deposed] || !places[c] {
		t.Errorf("it was at %v", places)
	}
}

// TestInvocations: of actions, those learn that were started and haven't ended.
func TestInvocations(t *testing.T) {
	w, path := begun(t, Begin{Lineage: "l"})
	for _, label := range []string{"one", "two", "three"} {
		do(t, w.Invoke(label))
	}
	do(t, w.Invoked("two"))
	l, err := Read(bytes.NewReader(read(t, path)), nil)
	do(t, err)
	rec, err := l.Fold(nil, "")
	do(t, err)
	if got := strings.Join(rec.Invoking, " "); got != "one three" {
		t.Errorf("under way: %s", got)
	}
}

func TestFoldIntoOtherStates(t *testing.T) {
	a, b, c := at(t, "sim_object.a"), at(t, "sim_object.b"), at(t, "sim_object.c")
	path := filepath.Join(t.TempDir(), "j")
	w, err := Start(nil, path, Begin{Lineage: "l", Serial: 3, Base: "base"}, nil, map[addr.Object]*state.Object{a: object(t, "a"), b: nil}, nil)
	do(t, err)
	defer w.Close()
	do(t, w.Snapshot("between"))
	do(t, w.Result(c, object(t, "c")))
	l, err := Read(bytes.NewReader(read(t, path)), nil)
	do(t, err)
	stored := func(lineage string, objects map[addr.Object]string) *state.Snapshot {
		s := state.Empty()
		s.Lineage = lineage
		for at, id := range objects {
			s.Objects[at] = object(t, id)
		}
		return s
	}
	for _, tt := range []struct {
		name   string
		prior  *state.Snapshot
		digest string
		want   string // objects after
		rest   string
	}{
		{"none", nil, "", "a=a c=c", ""},
		{"base", stored("l", map[addr.Object]string{b: "b"}), "base", "a=a c=c", ""},
		{"its own snapshot", stored("l", map[addr.Object]string{a: "a", c: "before"}), "between", "a=a c=c", ""},
		{"written by others", stored("l", map[addr.Object]string{b: "b", c: "another"}), "?", "a=a b=b c=another", "conflict sim_object.c"},
		{"another lineage", stored("m", map[addr.Object]string{b: "b"}), "?", "b=b", "foreign"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec, err := l.Fold(tt.prior, tt.digest)
			do(t, err)
			var got []string
			for _, at := range rec.State.Addresses() {
				got = append(got, at.Name.Name+"="+nameOf(rec.State.Objects[at]))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
			rest := ""
			if rec.Foreign {
				rest = "foreign"
			}
			for _, c := range rec.Conflicts {
				rest += "conflict " + c.String()
			}
			if rest != tt.rest {
				t.Errorf("got %q, want %q", rest, tt.rest)
			}
			if again, err := l.Fold(rec.State, tt.digest); err != nil || len(again.Folded) > 0 {
				t.Errorf("folding again changes %v %v", again.Folded, err)
			}
		})
	}
}

func TestDamage(t *testing.T) {
	w, path := begun(t, Begin{Lineage: "l"})
	a, b := at(t, "sim_object.a"), at(t, "sim_object.b")
	do(t, w.Result(a, object(t, "a")))
	do(t, w.Result(b, object(t, "b")))
	do(t, w.End())
	good := read(t, path)
	lines := bytes.SplitAfter(good, []byte("\n"))
	flip := func(line []byte) []byte {
		line = slices.Clone(line)
		line[40] ^= 1
		return line
	}
	for _, tt := range []struct {
		name    string
		data    []byte
		objects int
		torn    bool
		damaged int
		bad     bool
	}{
		{"good", good, 2, false, 0, false},
		{"torn before its end", good[:len(good)-1], 2, true, 0, false},
		{"torn", good[:len(good)-2], 2, true, 0, false},
		{"torn result", slices.Concat(lines[0], lines[1], lines[2][:20]), 1, true, 0, false},
		{"changed in the middle", slices.Concat(lines[0], flip(lines[1]), lines[2]), 1, false, 1, false},
		{"changed in the last line", slices.Concat(lines[0], lines[1], flip(lines[2])), 1, false, 1, false},
		{"a line is missing", slices.Concat(lines[0], lines[2], lines[3]), 0, false, 1, false},
		{"a line is there twice", slices.Concat(lines[0], lines[1], lines[1], lines[2]), 2, false, 1, false},
		{"lines are in another order", slices.Concat(lines[0], lines[2], lines[1]), 0, false, 2, false},
		{"zeros at the end", append(slices.Clone(good), make([]byte, 100)...), 2, true, 0, false},
		{"no begin", slices.Concat(lines[1], lines[2]), 0, false, 0, true},
		{"empty", nil, 0, false, 0, true},
		{"something else", []byte("{}\n"), 0, false, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := Read(bytes.NewReader(tt.data), nil)
			if (err != nil) != tt.bad {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			rec, err := l.Fold(nil, "")
			do(t, err)
			if len(rec.Folded) != tt.objects || l.Torn != tt.torn || l.Damaged != tt.damaged {
				t.Errorf("%d objects, torn %v, damaged %d", len(rec.Folded), l.Torn, l.Damaged)
			}
		})
	}
}

// TestPrefixes cuts random journals everywhere: whatever was on disk is known, and every
// operation that was started and not ended is in doubt.
func TestPrefixes(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w, path := begun(t, Begin{Lineage: "l"})
		type point struct {
			size    int64
			objects map[string]bool
			open    map[string]bool
		}
		objects, open := map[string]bool{}, map[string]bool{}
		clone := func(m map[string]bool) map[string]bool {
			c := map[string]bool{}
			for k, v := range m {
				c[k] = v
			}
			return c
		}
		points := []point{{w.Size(), clone(objects), clone(open)}}
		for range 40 {
			name := fmt.Sprintf("sim_object.o[%d]", rng.IntN(8))
			switch {
			case open[name] && rng.IntN(3) > 0:
				delete(open, name)
				if objects[name] {
					do(t, w.Result(at(t, name), nil))
				} else {
					do(t, w.Result(at(t, name), object(t, name)))
				}
				objects[name] = !objects[name]
			case !open[name]:
				open[name] = true
				action := Create
				if objects[name] {
					action = Delete
				}
				do(t, w.Intent(Operation{Object: at(t, name), Action: action}))
			default:
				continue
			}
			points = append(points, point{w.Size(), clone(objects), clone(open)})
		}
		data := read(t, path)
		for n := points[0].size; n <= int64(len(data)); n += 1 + rng.Int64N(20) {
			p := points[0]
			for _, q := range points {
				if q.size-1 <= n { // its end may be missing
					p = q
				}
			}
			folded, inDoubt, err := Recover(nil, bytes.NewReader(data[:n]))
			do(t, err)
			count := 0
			for name, is := range p.objects {
				there := folded != nil && folded.Objects[at(t, name)] != nil
				if there != is {
					t.Fatalf("seed %d, %d bytes: %s is there: %v, want %v", seed, n, name, there, is)
				}
				if is {
					count++
				}
			}
			if folded != nil && len(folded.Objects) != count {
				t.Fatalf("seed %d, %d bytes: %d objects, want %d", seed, n, len(folded.Objects), count)
			}
			if len(inDoubt) != len(p.open) {
				t.Fatalf("seed %d, %d bytes: in doubt %s, want %v", seed, n, names(inDoubt), p.open)
			}
			for _, o := range inDoubt {
				if !p.open[o.Object.String()] {
					t.Fatalf("seed %d, %d bytes: %s in doubt", seed, n, o.Object)
				}
			}
		}
	}
}

// TestGroups has many writers at once, each record of which has to be there
// when its call returns.
func TestGroups(t *testing.T) {
	w, path := begun(t, Begin{Lineage: "l"})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 20 {
				o := at(t, fmt.Sprintf("sim_object.o[%d]", 100*g+n))
				if err := errors.Join(w.Intent(Operation{Object: o, Action: Create}), w.Result(o, object(t, o.String()))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	folded, inDoubt, err := Recover(nil, bytes.NewReader(read(t, path)))
	do(t, err)
	if len(folded.Objects) != 160 || len(inDoubt) != 0 {
		t.Errorf("%d objects, in doubt: %s", len(folded.Objects), names(inDoubt))
	}
}

// TestSyncs: an intent is on disk when its call returns, with the results
// before it; a result costs no sync of its own when an intent follows, and
// doesn't wait for ever when none does.
func TestSyncs(t *testing.T) {
	w, path := begun(t, Begin{Lineage: "l"})
	var mu sync.Mutex
	syncs, syncing, onDisk := 0, int64(0), int64(0)
	failpoint.Hit = func(point string) {
		mu.Lock()
		defer mu.Unlock()
		switch point {
		case "journal: syncing": // nobody writes meanwhile
			syncing = int64(len(read(t, path)))
		case "journal: synced":
			syncs, onDisk = syncs+1, syncing
		}
	}
	defer func() { failpoint.Hit = nil }()
	look := func() (int, int64) {
		mu.Lock()
		defer mu.Unlock()
		return syncs, onDisk
	}
	const n = 50
	began := time.Now()
	for i := range n {
		o := at(t, fmt.Sprintf("sim_object.o[%d]", i))
		do(t, w.Intent(Operation{Object: o, Action: Create}))
		if _, size := look(); size != w.Size() {
			t.Fatalf("of %d bytes %d are on disk when an intent was told", w.Size(), size)
		}
		do(t, w.Result(o, object(t, o.String())))
	}
	late := int(time.Since(began) / syncDelay)
	if got, _ := look(); got > n+late+1 {
		t.Errorf("%d syncs for %d intents", got, n)
	}
	for tries := 0; ; tries++ {
		if _, size := look(); size == w.Size() {
			break
		}
		if tries > 500 {
			t.Fatal("the last result isn't synced")
		}
		time.Sleep(syncDelay)
	}
	for name, tell := range map[string]func() error{
		"a snapshot": func() error { return w.Snapshot("x") },
		"the end":    w.End,
	} {
		o := at(t, "sim_object.last")
		do(t, errors.Join(w.Unsure(o), tell()))
		if _, size := look(); size != w.Size() {
			t.Errorf("of %d bytes %d are on disk after %s", w.Size(), size, name)
		}
	}
	do(t, errors.Join(w.Unsure(at(t, "sim_object.last")), w.Close()))
	if _, size := look(); size != w.Size() {
		t.Errorf("of %d bytes %d are on disk after closing", w.Size(), size)
	}
}

// TestConstant holds the bytes of an object to a number that doesn't depend on
// how many others there are.
func TestConstant(t *testing.T) {
	w, _ := begun(t, Begin{Lineage: "l"})
	var first int64
	for n := range 200 {
		before := w.Size()
		o := at(t, fmt.Sprintf("sim_object.o[%d]", 1000+n))
		do(t, w.Intent(Operation{Object: o, Action: Create}))
		do(t, w.Result(o, object(t, o.String())))
		if grown := w.Size() - before; n == 0 {
			first = grown
		} else if grown != first {
			t.Fatalf("object %d took %d bytes, the first %d", n, grown, first)
		}
	}
}

func TestBusy(t *testing.T) {
	w, path := begun(t, Begin{Lineage: "l"})
	f, err := os.Open(path)
	do(t, err)
	defer f.Close()
	if !Busy(f) {
		t.Error("a journal that is being written isn't busy")
	}
	if _, err := Start(nil, path, Begin{Lineage: "other"}, nil, nil, nil); !errors.Is(err, ErrBusy) {
		t.Errorf("the journal of another run is replaced: %v", err)
	}
	if err := Discard(nil, path); !errors.Is(err, ErrBusy) {
		t.Errorf("the journal of another run is removed: %v", err)
	}
	do(t, w.Close())
	if Busy(f) {
		t.Error("a journal that nobody writes is busy")
	}
	if l, err := Read(f, nil); err != nil || l.Begin.Lineage != "l" {
		t.Errorf("%v %v", l, err)
	}
	next, err := Start(nil, path, Begin{Lineage: "other"}, nil, nil, nil)
	do(t, err)
	do(t, next.Close())
	do(t, Discard(nil, path))
	do(t, Discard(nil, path))
}

func FuzzRead(f *testing.F) {
	w, path := begun(f, Begin{Lineage: "l", Base: "b"})
	a := at(f, "sim_object.a")
	do(f, w.Intent(Operation{Object: a, Action: Create, Provider: provider(f)}))
	do(f, w.Result(a, object(f, "a")))
	do(f, w.Output("o", &state.Output{Value: cty.True}))
	f.Add(read(f, path))
	f.Add([]byte("00000000 00000000 \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Read(bytes.NewReader(data), nil)
		if err != nil {
			return
		}
		_, _ = l.Fold(nil, "b")
		// The same records under right checksums reach what checksums guard.
		_ = foldUnchecked(data)
	})
}

// foldUnchecked folds lines whatever their checksums.
func foldUnchecked(data []byte) error {
	var fixed []byte
	var c chain
	for line := range bytes.Lines(data) {
		if len(line) > prefix {
			if r, ok := lenient(line[prefix:]); ok {
				fixed, _ = c.add(fixed, r)
			}
		}
	}
	l, err := Read(bytes.NewReader(fixed), nil)
	if err != nil {
		return err
	}
	_, err = l.Fold(nil, "")
	return err
}

func lenient(text []byte) (record, bool) {
	var r record
	err := json.Unmarshal(text, &r)
	return r, err == nil
}

// xor stands for the encryption of states.
func xor(key []byte) ([]byte, error) {
	out, err := json.Marshal(map[string]any{"turned": turned(key)})
	return out, err
}

func unxor(sealed []byte) ([]byte, error) {
	var s struct{ Turned []byte }
	err := json.Unmarshal(sealed, &s)
	return turned(s.Turned), err
}

func turned(b []byte) []byte {
	out := slices.Clone(b)
	for i := range out {
		out[i] ^= 0x55
	}
	return out
}

func TestSealed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	a, b := at(t, "sim_object.a"), at(t, "sim_object.b")
	w, err := Start(nil, path, Begin{Lineage: "l", Base: "base"}, []Operation{{Object: a, Action: Create, Provider: provider(t), Key: "name", ID: "wanted"}}, nil, xor)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Result(b, object(t, "b")), w.Close()); err != nil {
		t.Fatal(err)
	}
	data := read(t, path)
	for _, secret := range []string{"sim_object", "wanted", "secret", "base", "lineage", "intent"} {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%q can be read:\n%s", secret, data)
		}
	}
	l, err := Read(bytes.NewReader(data), unxor)
	if err != nil || !l.Sealed || l.Damaged != 0 || l.Torn || l.Begin.Base != "base" {
		t.Fatalf("%+v, %v", l, err)
	}
	rec, err := l.Fold(nil, "base")
	if err != nil || len(rec.Folded) != 1 || rec.Folded[0] != b || len(rec.InDoubt) != 1 || rec.InDoubt[0].ID != "wanted" {
		t.Fatalf("%+v, %v", rec, err)
	}
	if _, err := Read(bytes.NewReader(data), nil); err == nil || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("without a key: %v", err)
	}
	if _, err := Read(bytes.NewReader(data), func([]byte) ([]byte, error) { return nil, errors.New("wrong passphrase") }); err == nil || !strings.Contains(err.Error(), "wrong passphrase") {
		t.Errorf("with the wrong key: %v", err)
	}
	// A line that somebody adds without the key counts for nothing, and neither
	// does one of the journal in another place.
	lines := bytes.SplitAfter(data, []byte("\n"))
	outside := chain{}
	for _, line := range lines[:len(lines)-1] {
		outside.read(line[:len(line)-1])
	}
	forged, _ := outside.add(slices.Clone(data), record{Op: opGone, Object: "sim_object.b"})
	again, _ := lenient(lines[3][prefix:])
	forged, _ = outside.add(forged, again)
	l, err = Read(bytes.NewReader(forged), unxor)
	if err != nil || l.Damaged != 2 {
		t.Fatalf("forged: %+v, %v", l, err)
	}
	if rec, err = l.Fold(nil, "base"); err != nil || len(rec.Folded) != 1 {
		t.Errorf("forged: %+v, %v", rec, err)
	}
}

// TestEveryByte changes each byte of a journal of 300 records and cuts it everywhere:
// either that shows, or nothing is lost but the record that was being written.
func TestEveryByte(t *testing.T) {
	const records = 300
	for name, by := range map[string]Crypt{"plain": nil, "sealed": xor} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal")
			w, err := Start(nil, path, Begin{Lineage: "l"}, nil, nil, by)
			do(t, err)
			for n := range records / 3 * 2 {
				o := at(t, fmt.Sprintf("sim_object.o[%d]", n))
				do(t, w.Intent(Operation{Object: o, Action: Create}))
				if n%2 == 0 {
					do(t, w.Result(o, object(t, o.String())))
				}
			}
			do(t, w.Close())
			data := read(t, path)
			if n := bytes.Count(data, []byte("\n")); n < records {
				t.Fatalf("only %d records", n)
			}

			// Anything that is in front of the line with the changed byte is read once.
			var before Log
			var link chain
			start := 0
			from := func(rest []byte) (Log, error) {
				l, c := before, link
				var err error
				for len(rest) > 0 && l.Damaged == 0 && err == nil {
					rest, err = l.next(&c, rest, unxor)
				}
				return l, err
			}
			changed := slices.Clone(data)
			for i := range data {
				for _, bit := range []byte{1, 0x20, 0x80} {
					changed[i] ^= bit
					if l, err := from(changed[start:]); err == nil && l.Damaged == 0 {
						t.Fatalf("bit %#x of byte %d of %d changed: %+v", bit, i, len(data), l)
					}
					changed[i] = data[i]
				}
				if l, err := from(data[start:i]); err != nil || l.Damaged > 0 || len(l.records) < len(before.records) {
					t.Fatalf("cut after %d bytes: %v, %+v", i, err, l)
				}
				if data[i] != '\n' {
					continue
				}
				if _, err := before.next(&link, data[start:i+1], unxor); err != nil || before.Damaged > 0 || before.Torn {
					t.Fatalf("line at %d: %v, %+v", start, err, before)
				}
				start = i + 1
				changed[start-1] ^= 1 // the way that everybody reads them
				if l, err := Read(bytes.NewReader(changed), unxor); err == nil && l.Damaged == 0 {
					t.Fatalf("byte %d of %d changed: %+v", i, len(data), l)
				}
				changed[start-1] ^= 1
			}
			if len(before.records) < records {
				t.Fatalf("%d records were read", len(before.records))
			}
		})
	}
}

// TestStartLinks: what stands where a new journal is written first isn't written to:
// neither what a link leads to nor the other names of a file.
func TestStartLinks(t *testing.T) {
	dir := t.TempDir()
	path, victim := filepath.Join(dir, "j"), filepath.Join(dir, "victim")
	for name, plant := range map[string]func() error{
		"link":      func() error { return os.Symlink(victim, path+".new") },
		"hard link": func() error { return os.Link(victim, path+".new") },
		"crash":     func() error { return os.WriteFile(path+".new", []byte("half"), 0o600) },
	} {
		if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		w, err := Start(nil, path, Begin{Lineage: "l"}, nil, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := w.Remove(); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
			t.Errorf("%s: %q %v", name, text, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("%s: left behind: %v", name, entries)
		}
	}
}

// TestNoWriter: a nil Writer takes everything and writes nothing.
func TestNoWriter(t *testing.T) {
	var w *Writer
	at := addr.Object{}
	for name, err := range map[string]error{
		"intent": w.Intent(Operation{}), "result": w.Result(at, nil), "moved": w.Moved(at, at, nil), "unsure": w.Unsure(at), "invoke": w.Invoke("a"), "invoked": w.Invoked("a"),
		"output": w.Output("a", nil), "snapshot": w.Snapshot("a"), "end": w.End(), "close": w.Close(), "remove": w.Remove(),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.Size() != 0 {
		t.Error("it has a size")
	}
}

// TestGathered: results of objects that exist in the state and nowhere else are written together,
// in order, and before anything that comes after them.
func TestGathered(t *testing.T) {
	w, path := begun(t, Begin{Lineage: "l"})
	size := func() int { return bytes.Count(read(t, path), []byte("\n")) }
	began := size()
	var all []addr.Object
	for i := range 5 {
		o := at(t, fmt.Sprintf("terraform_data.a[%d]", i))
		all = append(all, o)
		do(t, w.ResultSoon(o, object(t, fmt.Sprint(i))))
	}
	if n := size() - began; n != 0 {
		t.Errorf("%d results are written at once", n)
	}
	if written := int64(len(read(t, path))); w.Size() <= written {
		t.Errorf("the size is %d, without the results", w.Size())
	}
	do(t, w.Intent(Operation{Object: at(t, "sim_object.b"), Action: Create}))
	if n := size() - began; n != 6 {
		t.Errorf("%d records are written before and with an intent", n)
	}
	do(t, w.ResultSoon(all[0], nil))
	for range 100 {
		if size()-began == 7 {
			break
		}
		time.Sleep(gatherDelay / 5)
	}
	if n := size() - began; n != 7 {
		t.Errorf("%d records are written after a while", n)
	}
	do(t, w.ResultSoon(all[1], object(t, strings.Repeat("x", mostGathered))))
	if n := size() - began; n != 8 {
		t.Errorf("%d records are written once many bytes are gathered", n)
	}
	do(t, w.ResultSoon(all[2], nil))
	do(t, w.Close())
	folded, inDoubt, err := Recover(&state.Snapshot{Lineage: "l", Objects: map[addr.Object]*state.Object{}}, bytes.NewReader(read(t, path)))
	do(t, err)
	if got := names(inDoubt); got != "create sim_object.b" {
		t.Errorf("in doubt are %s", got)
	}
	if len(folded.Objects) != 3 || folded.Objects[all[0]] != nil || folded.Objects[all[2]] != nil {
		t.Errorf("the journal has %v", folded.Objects)
	}
}

// TestFormerEndsNoDoubt: a creation without an answer stays in doubt, whatever becomes of the
// object that was in its place before. The object that it made, or another one, ends the doubt.
func TestFormerEndsNoDoubt(t *testing.T) {
	c := at(t, "sim_object.c")
	former := object(t, "c-1")
	create := Operation{Object: c, Action: Create, Former: Tell(former)}
	recover := func(carried bool, then func(w *Writer) error) string {
		t.Helper()
		var list []Operation
		if carried {
			list = append(list, create)
		}
		w, path := begun(t, Begin{Lineage: "l"}, list...)
		if !carried {
			do(t, errors.Join(w.Intent(create), w.Unsure(c)))
		}
		do(t, errors.Join(then(w), w.Close()))
		_, inDoubt, err := Recover(nil, bytes.NewReader(read(t, path)))
		do(t, err)
		return names(inDoubt)
	}
	for _, carried := range []bool{true, false} {
		for name, then := range map[string]func(w *Writer) error{
			"nothing":   func(*Writer) error { return nil },
			"gone":      func(w *Writer) error { return w.Result(c, nil) },
			"refreshed": func(w *Writer) error { return w.Result(c, former) },
			"deleted": func(w *Writer) error {
				return errors.Join(w.Intent(Operation{Object: c, Action: Delete}), w.Result(c, nil))
			},
			"put back": func(w *Writer) error {
				return w.Moved(addr.Object{Instance: c.Instance, Deposed: "0a1b2c3d"}, c, former)
			},
		} {
			if got := recover(carried, then); got != "create sim_object.c" {
				t.Errorf("carried %t, the former object is %s: in doubt is %q", carried, name, got)
			}
		}
		if got := recover(carried, func(w *Writer) error { return w.Result(c, object(t, "c-2")) }); got != "" {
			t.Errorf("carried %t, the new object is known: in doubt is %q", carried, got)
		}
	}
}

// TestMovedInOnePlace: an object that the run has put aside isn't in its former place as well,
// where another program has kept it in the state meanwhile.
func TestMovedInOnePlace(t *testing.T) {
	w, path := begun(t, Begin{Lineage: "l", Base: "base"})
	c := at(t, "sim_object.c")
	deposed := addr.Object{Instance: c.Instance, Deposed: "0a1b2c3d"}
	do(t, errors.Join(w.Moved(c, deposed, object(t, "c-1")), w.Close()))
	l, err := Read(bytes.NewReader(read(t, path)), nil)
	do(t, err)
	for name, has := range map[string]string{"the object": "c-1", "another": "c-2"} {
		theirs := state.Empty()
		theirs.Lineage, theirs.Objects[c] = "l", object(t, has)
		rec, err := l.Fold(theirs, "other")
		do(t, err)
		if rec.State.Objects[deposed] == nil || (rec.State.Objects[c] == nil) != (has == "c-1") {
			t.Errorf("%s is in its former place: %v", name, rec.State.Addresses())
		}
		if slices.Contains(rec.Folded, c) != (has == "c-1") || !slices.Contains(rec.Folded, deposed) {
			t.Errorf("%s is in its former place: changed are %v", name, rec.Folded)
		}
	}
}

// TestMovedAndGone: where the run has put an object aside and deleted it, what another program
// has in its former place stays for a refresh.
func TestMovedAndGone(t *testing.T) {
	w, path := begun(t, Begin{Lineage: "l", Base: "base"})
	c := at(t, "sim_object.c")
	deposed := addr.Object{Instance: c.Instance, Deposed: "0a1b2c3d"}
	do(t, errors.Join(w.Moved(c, deposed, object(t, "c-1")), w.Result(deposed, nil), w.Close()))
	l, err := Read(bytes.NewReader(read(t, path)), nil)
	do(t, err)
	theirs := state.Empty()
	theirs.Lineage, theirs.Objects[c] = "l", object(t, "c-1")
	rec, err := l.Fold(theirs, "other")
	do(t, err)
	if len(rec.State.Objects) != 1 || rec.State.Objects[c] == nil || len(rec.Folded) > 0 {
		t.Errorf("got %v, changed are %v", rec.State.Addresses(), rec.Folded)
	}
}
