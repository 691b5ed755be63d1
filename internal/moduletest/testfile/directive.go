package testfile

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/lang/syntax"
)

// Comments above a run that begin with this word ask for what the language of the other
// programs has no word for. To those they are comments.
const directiveWord = "weir:"

// directives reads the comments that ask for something.
func (r *reader) directives(f *File) {
	if !bytes.Contains(r.source.Bytes, []byte(directiveWord)) || strings.HasSuffix(r.source.Name, ".json") {
		return
	}
	tokens, _ := hclsyntax.LexConfig(r.source.Bytes, r.source.Name, hcl.InitialPos)
	for i, t := range tokens {
		if t.Type != hclsyntax.TokenComment {
			continue
		}
		text, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimLeft(string(t.Bytes), "#/")), directiveWord)
		if !ok {
			continue
		}
		at := t.Range
		at.End = at.Start
		at.End.Column += len(bytes.TrimRight(t.Bytes, "\r\n"))
		at.End.Byte += len(bytes.TrimRight(t.Bytes, "\r\n"))
		r.directive(f.below(tokens[i:]), strings.TrimSpace(text), at)
	}
	named := map[string]bool{}
	for _, run := range f.Runs {
		if run.Snapshot && named[run.Name] {
			r.diags.Add(BadDirective.As("Two snapshots of one name").Error(run.NameRange, "Another run with the name %s has a snapshot too. Give one of them another name.", run.Name))
		}
		named[run.Name] = named[run.Name] || run.Snapshot
	}
}

// below is the run whose header follows the comments at the start of the tokens.
func (f *File) below(tokens hclsyntax.Tokens) *Run {
	for i, t := range tokens {
		switch {
		case t.Type != hclsyntax.TokenComment:
			n := slices.IndexFunc(f.Runs, func(r *Run) bool { return r.Range.Start.Byte == t.Range.Start.Byte })
			if n < 0 {
				return nil
			}
			return f.Runs[n]
		case i > 0 && t.Range.Start.Line > tokens[i-1].Range.Start.Line+1:
			return nil
		}
	}
	return nil
}

func (r *reader) directive(run *Run, text string, at hcl.Range) {
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case word != "snapshot" && word != "generate":
		r.diags.Add(BadDirective.As("Unknown directive").Error(at, "A comment that begins with weir: asks for something, and there is no %q.%s", word, syntax.Suggest(word, []string{"generate", "snapshot"})))
	case run == nil:
		r.diags.Add(BadDirective.As("Misplaced directive").Error(at, "A comment that begins with weir: has to stand directly above the run that it is about."))
	case word == "generate":
		r.generate(run, rest, at)
	case rest != "":
		r.diags.Add(BadDirective.Error(at, "There is nothing to say after snapshot."))
	default:
		run.Snapshot = true
	}
}

// mostSamples is how many samples a run may have: each of them carries it out again.
const mostSamples = 100_000

// generate reads the variables, and perhaps how many samples: "name, size samples=50".
func (r *reader) generate(run *Run, text string, at hcl.Range) {
	g := &Generate{Range: at}
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' }) {
		name, count, counted := strings.Cut(word, "=")
		n, err := strconv.Atoi(count)
		switch {
		case counted && (name != "samples" || err != nil || n < 1):
			r.diags.Add(BadDirective.Error(at, "%q has no meaning here. A number of samples is written samples=50.", word))
			return
		case n > mostSamples:
			r.diags.Add(BadDirective.Error(at, "The run would be carried out %d times. Write %d samples at most.", n, mostSamples))
			return
		case counted:
			g.Samples = n
		case !hclsyntax.ValidIdentifier(word):
			r.diags.Add(BadDirective.Error(at, "%q is no name of a variable.", word))
			return
		default:
			g.Variables = append(g.Variables, word)
		}
	}
	switch {
	case len(g.Variables) == 0:
		r.diags.Add(BadDirective.Error(at, "Say which variables get made-up values: generate NAME, NAME."))
	case run.Generate != nil:
		r.diags.Add(BadDirective.Error(at, "There is a generate directive for this run already."))
	default:
		run.Generate = g
	}
}
