package lsp

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
	"weir.dev/weir/internal/ui/view"
)

// longestHint is how many characters of a value a hint has.
const longestHint = 40

// inlayHints are the values of local values that aren't written there, and how many instances the
// state has of a block with count or for_each. Only root modules with a state in a file have some.
func (q *request) inlayHints(p protocol.RangeParams) (any, error) {
	list := []protocol.InlayHint{}
	path := project.Path(p.TextDocument.URI)
	text, body := q.body(p.TextDocument.URI)
	m := q.Module(q, filepath.Dir(path))
	if body == nil || m == nil || !q.IsConfig(path) || !q.hints() {
		return list, nil
	}
	k, s := q.console(m)
	if k == nil {
		return list, nil
	}
	defer k.Close()
	add := func(end int, label string) {
		at := text.Position(end)
		if at.Line >= p.Range.Start.Line && at.Line <= p.Range.End.Line {
			list = append(list, protocol.InlayHint{Position: at, Label: label, PaddingLeft: true})
		}
	}
	for _, b := range body.Blocks {
		if b.Type == "locals" {
			for name, a := range b.Body.Attributes {
				if len(a.Expr.Variables()) == 0 {
					continue // a reader sees what it is
				}
				if v, ok := known(k, "local."+name); ok {
					add(a.SrcRange.End.Byte, "= "+shortened(q.options.Outside.Secrets.Mask(view.Value(v, 0))))
				}
			}
			continue
		}
		a := b.Body.Attributes["count"]
		if a == nil {
			a = b.Body.Attributes["for_each"]
		}
		if a == nil {
			continue
		}
		if n, ok := instances(s, b); ok {
			add(a.SrcRange.End.Byte, n)
		}
	}
	return list, nil
}

// hints reports whether the editor wants them.
func (s *server) hints() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return isSet(s.settings.Hints)
}

// shortened is a text on one line.
func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if all := []rune(text); len(all) > longestHint {
		return string(all[:longestHint]) + "…"
	}
	return text
}

// instances says how many instances a block of the root module has in a state; false for a block
// that has none by its kind.
func instances(s *state.Snapshot, b *hclsyntax.Block) (string, bool) {
	has := instanceKeys(s, b)
	switch {
	case has == nil:
		return "", false
	case len(has) == 1:
		return "1 instance", true
	}
	return fmt.Sprintf("%d instances", len(has)), true
}

// instanceKeys are the keys of the instances that a block of the root module has in a state; nil for
// a block that has none by its kind.
func instanceKeys(s *state.Snapshot, b *hclsyntax.Block) map[addr.Key]bool {
	mode, kept := map[string]addr.Mode{"resource": addr.Managed, "data": addr.Data}[b.Type]
	if !(kept && len(b.Labels) == 2 || b.Type == "module" && len(b.Labels) == 1) {
		return nil
	}
	has := map[addr.Key]bool{}
	for o := range s.Objects {
		steps := o.Instance.Module.Steps()
		switch {
		case kept && len(steps) == 0 && o.Instance.Name == (addr.Name{Mode: mode, Type: b.Labels[0], Name: b.Labels[1]}):
			has[o.Instance.Key] = true
		case !kept && len(steps) > 0 && steps[0].Call.Name == b.Labels[0]:
			has[steps[0].Key] = true
		}
	}
	return has
}
