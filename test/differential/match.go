package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/testing/simtest"
)

// A match is two engines that play the same histories.
type match struct{ weir, peer player }

// play plays a history step by step. Where the engines part, the next step begins for both
// with what the reference has left, so that nothing follows from a difference.
func (m *match) play(c simtest.Case) (found []difference, err error) {
	var right, left world
	for i, step := range c {
		want, err := m.peer.play(right, step)
		if err != nil {
			return nil, err
		}
		got, err := m.weir.play(left, step)
		if err != nil {
			return nil, err
		}
		list := compare(right, want, got)
		explain(list, step, left, want, got)
		for j := range list {
			list[j].Step = i
		}
		found = append(found, list...)
		right, left = want.After, got.After
		if len(list) > 0 {
			left = right
		}
	}
	return found, nil
}

// fill plays histories with the reference alone, and counts how its commands end.
func (m *match) fill(first uint64, n int) (ok bool, err error) {
	ends := map[string]int{}
	for i := range n {
		var before world
		for _, step := range history(first + uint64(i)) {
			o, err := m.peer.play(before, step)
			if err != nil {
				return false, err
			}
			before = o.After
			for _, r := range o.Results {
				ends[fmt.Sprintf("%s exits with %d", strings.Fields(r.Command)[0], r.Exit)]++
			}
		}
	}
	for _, end := range sortedKeys(ends) {
		fmt.Printf("%6d %s\n", ends[end], end)
	}
	return true, nil
}

// shrink makes a history smaller that has an unexplained difference of a kind.
func (m *match) shrink(c simtest.Case, d difference, tries int) simtest.Case {
	return simtest.Shrink(c, d.Step, func(smaller simtest.Case) bool {
		if tries--; tries < 0 {
			return false
		}
		found, err := m.play(smaller)
		return err == nil && slices.ContainsFunc(unexplained(found), func(other difference) bool { return other.kind() == d.kind() })
	})
}

// A cached player keeps outcomes in a folder, by what they follow from.
type cached struct {
	player
	dir, version string
}

func (c *cached) play(before world, step simtest.Step) (outcome, error) {
	return remember(c.dir, c.key(before, step), func() (outcome, error) { return c.player.play(before, step) })
}

// remember returns what was stored in a directory by a key, or computes and stores it. Without
// a directory nothing is stored.
func remember[T any](dir, key string, compute func() (T, error)) (v T, err error) {
	if dir == "" {
		return compute()
	}
	file := filepath.Join(dir, key)
	data, err := os.ReadFile(file)
	if err == nil && unpack(data, &v) == nil {
		return v, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v, err
	}
	if v, err = compute(); err != nil {
		return v, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return v, err
	}
	return v, os.WriteFile(file, pack(v), 0o644)
}

func (c *cached) key(before world, step simtest.Step) string {
	h := sha256.New()
	fmt.Fprintln(h, "1", c.version) // the number is that of the form of outcomes
	for _, name := range slices.Sorted(maps.Keys(before)) {
		fmt.Fprintf(h, "%s %d\n%s", name, len(before[name]), before[name])
	}
	h.Write(simtest.Case{step}.Text(""))
	return fileOf(h)
}

func fileOf(h hash.Hash) string {
	sum := fmt.Sprintf("%x", h.Sum(nil)[:16])
	return filepath.Join(sum[:2], sum)
}

func pack(o any) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := errors.Join(json.NewEncoder(z).Encode(o), z.Close()); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func unpack(data []byte, o any) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return json.NewDecoder(z).Decode(o)
}
