package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/lang/module"
)

// texts plays plans of random types and compares what people read: the plan and the
// state.
func (t *tally) texts() bool {
	seeds := make(chan uint64)
	var workers sync.WaitGroup
	for range max(1, *parallel) {
		workers.Go(func() {
			for seed := range seeds {
				t.text(seed)
			}
		})
	}
	for i := range *cases {
		seeds <- *first + uint64(i)
	}
	close(seeds)
	workers.Wait()
	for _, entry := range slices.Sorted(maps.Keys(t.known)) {
		fmt.Printf("known in %d: %s\n", t.known[entry], entry)
	}
	fmt.Printf("%d plans, %d lines compared, %d unexplained, %d not played\n", t.played, t.lines, t.failed, t.broken)
	return t.failed == 0 && t.broken == 0
}

func (t *tally) text(seed uint64) {
	c := drawText(seed)
	var shown [2][]string
	var err error
	if shown[1], err = t.match.peer.(*cached).texts(c); err == nil {
		shown[0], err = t.match.weir.(*engine).texts(c)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.played++
	if err != nil {
		t.broken++
		fmt.Printf("seed %d: %s\n", seed, err)
		return
	}
	explained := map[string]bool{}
	for i := range shown[0] {
		weir, peer := strings.Split(shown[0][i], "\n"), strings.Split(shown[1][i], "\n")
		t.lines += len(peer)
		weir, peer = knownTexts(weir, peer, explained)
		if slices.Equal(weir, peer) {
			continue
		}
		t.failed++
		fmt.Printf("seed %d, %s:\n%s", seed, []string{"plan", "state"}[i], lineDifference(peer, weir))
		if err := c.write(filepath.Join(*outDir, fmt.Sprintf("text-%d", seed)), shown); err != nil {
			fmt.Println("  ", err)
		}
		break
	}
	for entry := range explained {
		t.known[entry]++
	}
}

func (c *cached) texts(t textCase) ([]string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "texts 1 %s\n%s\n%s\n%s", c.version, t.config, t.state, t.script)
	return remember(c.dir, fileOf(h), func() ([]string, error) { return c.player.(*engine).texts(t) })
}

// texts plans a case and returns what the plan and the state look like.
func (e *engine) texts(c textCase) ([]string, error) {
	root, err := os.MkdirTemp(e.scratch, "text")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	own := *e
	// Each case has its own schemas, so that none may be stored for the next.
	own.env = append(slices.Clone(e.env), "XDG_CACHE_HOME="+root)
	s := site{engine: &own, dir: filepath.Join(root, "work"), cloud: filepath.Join(root, "work", cloudDir)}
	s.env = []string{"SIM_CLOUD=" + s.cloud}
	before := world{stateFile: c.state, cloudDir + "/script.json": c.script}
	if err := s.prepare(before, module.Memory{"main.tf": []byte(c.config)}); err != nil {
		return nil, err
	}
	var out []string
	for _, args := range [][]string{{"plan", "-no-color"}, {"show", "-no-color"}} {
		text, exit, err := s.run(s.dir, s.env, args...)
		if err != nil {
			return nil, err
		}
		out = append(out, fmt.Sprintf("exit %d\n%s", exit, body(string(text))))
		if exit != 0 {
			return nil, fmt.Errorf("%s %v: %s", e.version, args, text)
		}
	}
	return out, nil
}

// legend introduces the symbols of a plan, with lines as wide as the terminal.
var legend = regexp.MustCompile(`weir used the selected providers to generate the following execution\s+plan\.\s+Resource actions are indicated with the following symbols:\n`)

// ownLine is what only weir prints: the reason for a read, and values that repeat a secret. Whether
// a lock is announced depends on the time it takes.
var ownLine = regexp.MustCompile(`^  # \(read during apply: |^# .* repeats a sensitive value, so it is hidden\.$|^(Acquiring|Releasing) state lock\.`)

// body leaves out the lines around a plan, which name the program and its files.
func body(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n ")
		if ownLine.MatchString(line) {
			continue
		}
		line = strings.ReplaceAll(line, "OpenTofu", "weir")
		lines = append(lines, line)
	}
	text = strings.Join(lines, "\n")
	if at := legend.FindStringIndex(text); at != nil {
		// Before it stand the progress of reads and, in some plans, the drift.
		head, found := text[:at[0]], false
		if _, head, found = strings.Cut(head, "\nNote: Objects have changed"); !found {
			head = ""
		}
		text = head + text[at[1]:]
	}
	for _, rest := range []string{"\n───", "\n\nHidden, because a provider repeats"} {
		text, _, _ = strings.Cut(text, rest)
	}
	return strings.TrimSpace(text)
}

// lineDifference is the part of two texts that isn't equal, with three lines before it.
func lineDifference(peer, weir []string) string {
	start := 0
	for start < len(peer) && start < len(weir) && peer[start] == weir[start] {
		start++
	}
	ends := [2]int{len(peer), len(weir)}
	for ends[0] > start && ends[1] > start && peer[ends[0]-1] == weir[ends[1]-1] {
		ends[0]--
		ends[1]--
	}
	var b strings.Builder
	for _, line := range peer[max(0, start-3):start] {
		b.WriteString("     " + line + "\n")
	}
	for i, side := range [][]string{peer, weir} {
		for _, line := range side[start:min(ends[i], start+*show)] {
			b.WriteString([]string{"peer ", "weir "}[i] + line + "\n")
		}
	}
	return b.String()
}

// write stores a case with both texts.
func (c textCase) write(dir string, shown [2][]string) error {
	files := map[string][]byte{"main.tf": []byte(c.config), stateFile: c.state, "script.json": c.script}
	for i, name := range []string{"weir.txt", "peer.txt"} {
		files[name] = []byte(strings.Join(shown[i], "\n\n") + "\n")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A textRule is a known difference between two texts.
type textRule struct {
	entry string // its heading in docs/where-weir-differs.md
	apply func(weir, peer []string) (w, p []string)
}

var textRules = []textRule{
	{"An unknown value forces a replacement once", func(weir, peer []string) (w, p []string) { return forcedOnce(weir), forcedOnce(peer) }},
	{"Sensitive by the schema, everywhere", func(weir, peer []string) (w, p []string) { return weir, withoutWarnings(peer) }},
	{"Repeated secrets are hidden too", func(weir, peer []string) (w, p []string) {
		weir = withoutWarnings(weir)
		return weir, withHidden(weir, peer)
	}},
}

// repeated is an attribute of one line that has a text of a secret.
var repeated = regexp.MustCompile(`^(.* = ).*"a (?:first|second) secret"`)

// withHidden hides the secrets that weir hides.
func withHidden(weir, peer []string) []string {
	if len(weir) != len(peer) {
		return peer
	}
	peer = slices.Clone(peer)
	for i, line := range peer {
		if m := repeated.FindStringSubmatch(line); m != nil && weir[i] == m[1]+"(sensitive value)" {
			peer[i] = weir[i]
		}
	}
	return peer
}

// withoutWarnings leaves out that a value stops being sensitive: by its schema it stays so.
func withoutWarnings(lines []string) (out []string) {
	for i := 0; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == "# Warning: this attribute value will no longer be marked as sensitive" {
			i++ // its second line
			continue
		}
		out = append(out, lines[i])
	}
	return out
}

const forces = " # forces replacement"

// closing ends a value of several lines.
var closing = regexp.MustCompile(`^ *([\]})]|EOT)$`)

// forcedOnce leaves the remark about a replacement out of the old value, where the unknown one
// has it too.
func forcedOnce(lines []string) []string {
	const unknown = " -> (known after apply)" + forces
	lines = slices.Clone(lines)
	for i, line := range lines {
		old, ok := strings.CutSuffix(line, unknown)
		if !ok {
			continue
		}
		if own, ok := strings.CutSuffix(old, forces); ok {
			lines[i] = own + unknown
			continue
		}
		if !closing.MatchString(old) {
			continue
		}
		// The value has several lines: the first one begins where the last one does.
		column := len(old) - len(strings.TrimLeft(old, " "))
		for first := i - 1; first >= 0; first-- {
			l := lines[first]
			if empty, ok := strings.CutSuffix(l, forces+","); ok { // an element without lines of its own
				lines[first] = empty + ","
			} else {
				lines[first] = strings.TrimSuffix(l, forces)
			}
			if len(l) > column && l[column] != ' ' && strings.TrimSpace(l[:column]) == "~" {
				break
			}
		}
	}
	return lines
}

// knownTexts takes known differences out of two texts.
func knownTexts(weir, peer []string, explained map[string]bool) (w, p []string) {
	for _, rule := range textRules {
		if slices.Equal(weir, peer) {
			break
		}
		w, p := rule.apply(weir, peer)
		if !slices.Equal(w, weir) || !slices.Equal(p, peer) {
			explained[rule.entry] = true
		}
		weir, peer = w, p
	}
	return weir, peer
}
