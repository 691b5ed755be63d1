// Package secret masks known secrets in texts of others, such as errors of providers, which
// often quote their input.
//
// It owns what is too short to be looked for and the forms in which a text is quoted. It
// doesn't know what makes a value sensitive.
package secret

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
)

// Hidden is what stands in the place of a secret.
const Hidden = "(sensitive value)"

// shortest is the length in bytes from which on a secret is looked for. Shorter ones
// are in many texts by chance, and hiding them there would tell what they are.
const shortest = 6

// Known are the secrets of an operation. Its zero value has none; so has nil, which
// stays so. Its methods may be called at the same time.
type Known struct {
	mu sync.Mutex
	// all are the texts to look for. Those that are true are a whole secret, others a line of
	// one.
	all map[string]bool
	// nil when something was added since
	masking, blotting, finding *strings.Replacer
}

// Empty reports whether no secret is known.
func (k *Known) Empty() bool {
	if k == nil {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.all) == 0
}

// AddMarked adds the strings in the parts of a value that are marked as sensitive or
// ephemeral.
func (k *Known) AddMarked(v cty.Value) {
	if k == nil || v == cty.NilVal || !value.ContainsMarked(v) {
		return
	}
	bare, marked := value.UnmarkDeepPaths(v)
	for _, at := range marked {
		_, sensitive := at.Marks[value.Sensitive]
		_, ephemeral := at.Marks[value.Ephemeral]
		if !sensitive && !ephemeral {
			continue
		}
		if part, err := at.Path.Apply(bare); err == nil {
			k.Add(part)
		}
	}
}

// Add adds the strings in a value without marks.
func (k *Known) Add(v cty.Value) {
	if k == nil {
		return
	}
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			k.AddText(v.AsString())
		}
		return true, nil
	})
}

// AddText adds a text, its lines, and how they are quoted.
func (k *Known) AddText(text string) {
	if k == nil || len(text) < shortest {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all[text] {
		return
	}
	if k.all == nil {
		k.all = map[string]bool{}
	}
	k.masking, k.blotting, k.finding = nil, nil, nil
	whole := strings.TrimSpace(text)
	for _, part := range append(strings.Split(text, "\n"), text) {
		if part = strings.TrimSpace(part); len(part) < shortest {
			continue
		}
		quoted := strconv.Quote(part)
		for _, form := range []string{part, quoted[1 : len(quoted)-1], url.QueryEscape(part), url.PathEscape(part)} {
			k.all[form] = k.all[form] || part == whole
		}
	}
	k.all[text] = true
}

// Mask is a text without the secrets.
func (k *Known) Mask(text string) string {
	if k == nil {
		return text
	}
	return k.replace(text, &k.masking, func(string) string { return Hidden })
}

// Blot is a text with stars in the place of the secrets, as many as they have bytes, so
// that everything else stays where it is.
func (k *Known) Blot(text string) string {
	if k == nil {
		return text
	}
	return k.replace(text, &k.blotting, func(secret string) string { return strings.Repeat("*", len(secret)) })
}

// replace replaces the secrets in a text by a replacer that is made when it is missing.
func (k *Known) replace(text string, with **strings.Replacer, by func(secret string) string) string {
	k.mu.Lock()
	if len(k.all) == 0 {
		k.mu.Unlock()
		return text
	}
	if *with == nil {
		// Of two that begin at the same place the longer one counts.
		list := slices.SortedFunc(maps.Keys(k.all), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
		})
		pairs := make([]string, 0, 2*len(list))
		for _, s := range list {
			if with != &k.finding || k.all[s] {
				pairs = append(pairs, s, by(s))
			}
		}
		*with = strings.NewReplacer(pairs...)
	}
	r := *with
	k.mu.Unlock()
	return r.Replace(text)
}

// Diagnostics are problems whose texts have no secrets. Addresses and places
// stay.
func (k *Known) Diagnostics(l diag.List) diag.List {
	if k == nil || len(l) == 0 {
		return l
	}
	out := slices.Clone(l)
	for i := range out {
		out[i].Summary, out[i].Detail = k.Mask(out[i].Summary), k.Mask(out[i].Detail)
	}
	return out
}

// Lines passes on what is written to it line by line, without secrets. Several
// processes may write to it at the same time.
type Lines struct {
	Known *Known
	To    io.Writer

	mu   sync.Mutex
	rest []byte
}

// longest is the length in bytes from which on a line is passed on in parts.
const longest = 1 << 20

// Write implements io.Writer.
func (w *Lines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	if end == 0 && len(w.rest) > longest {
		end = len(w.rest)
	}
	if end == 0 {
		return len(p), nil
	}
	text := w.Known.Mask(string(w.rest[:end]))
	w.rest = append(w.rest[:0], w.rest[end:]...)
	if _, err := w.To.Write([]byte(text)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// repeats reports whether a text has a whole secret in it. Lines of one don't count: a private
// key may share some with its public key.
func (k *Known) repeats(text string) bool {
	return k.replace(text, &k.finding, func(string) string { return Hidden }) != text
}

// MarkRepeated marks as sensitive the texts in a value that repeat a known secret, where where
// says that a path counts, and returns these paths. A value without any is returned as it is.
func (k *Known) MarkRepeated(v cty.Value, where func(cty.Path) bool) (cty.Value, []cty.Path) {
	if v == cty.NilVal || k.Empty() {
		return v, nil
	}
	var found []cty.Path
	out, err := cty.Transform(v, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if v.IsMarked() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() || !where(path) || !k.repeats(v.AsString()) {
			return v, nil
		}
		found = append(found, path.Copy())
		return v.Mark(value.Sensitive), nil
	})
	if err != nil || len(found) == 0 {
		return v, nil
	}
	return out, found
}
