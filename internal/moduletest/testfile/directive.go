package testfile

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/addr"
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
	case !slices.Contains(directiveNames, word):
		r.diags.Add(BadDirective.As("Unknown directive").Error(at, "A comment that begins with weir: asks for something, and there is no %q.%s", word, syntax.Suggest(word, directiveNames)))
	case run == nil:
		r.diags.Add(BadDirective.As("Misplaced directive").Error(at, "A comment that begins with weir: has to stand directly above the run that it is about."))
	case word == "generate":
		r.generate(run, rest, at)
	case word == "order":
		r.order(run, rest, at)
	case rest != "" && rest != "order":
		r.diags.Add(BadDirective.Error(at, "After snapshot, only the word order has a meaning: then the snapshot has the steps of the apply too."))
	default:
		run.Snapshot, run.SnapshotOrder = true, rest == "order"
	}
}

// directiveNames are the first words of directives.
var directiveNames = []string{"generate", "order", "snapshot"}

// stepActions are the words that select steps by what they do.
var stepActions = []string{"create", "update", "read", "destroy"}

// createsFirst is the demand that replacements exist before old objects are destroyed.
const createsFirst = "create_before_destroy"

// order reads a demand on the order of steps: "create ADDRESS before destroy ADDRESS", or
// "create_before_destroy ADDRESS".
func (r *reader) order(run *Run, text string, at hcl.Range) {
	o := &Order{Range: at}
	first, then, both := strings.Cut(text, " before ")
	word, address, _ := strings.Cut(text, " ")
	ok := true
	switch {
	case both:
		o.First, ok = r.steps(first, at)
		if ok {
			o.Then, ok = r.steps(then, at)
		}
	case word == createsFirst && address == "":
		o.Replacements = true
	case word == createsFirst:
		o.Replacements = true
		o.Then, ok = r.steps(address, at)
	default:
		r.diags.Add(BadDirective.Error(at, "Write order create ADDRESS before destroy ADDRESS, with create, update, read, destroy or no word before each address, or order create_before_destroy."))
		return
	}
	if ok {
		run.Orders = append(run.Orders, o)
	}
}

// steps reads which steps are meant: an address, perhaps after an action.
func (r *reader) steps(text string, at hcl.Range) (s Steps, ok bool) {
	address := strings.TrimSpace(text)
	if word, rest, more := strings.Cut(address, " "); more && slices.Contains(stepActions, word) {
		s.Action, address = word, strings.TrimSpace(rest)
	}
	t, err := addr.ParseTarget(address)
	if err != nil {
		r.diags.Add(BadDirective.Error(at, "%s.", err))
		return s, false
	}
	s.Target = &t
	return s, true
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
