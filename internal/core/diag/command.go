package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Command is one that people are instructed to run. Problems made from a format with
// commands among its arguments know them, so that the caller that shows a problem can say how
// they are run there.
type Command struct {
	// Program is what people call the program, empty for its own name.
	Program string
	// Name is the command, as in "state push"; Args are its options and arguments, as
	// they are typed.
	Name, Args string
}

// Run is a command of the program by its own name.
func Run(name, args string) Command { return Command{Name: name, Args: args} }

// String is the command as it is typed.
func (c Command) String() string {
	text := cmp.Or(c.Program, "weir") + " " + c.Name
	if c.Args != "" {
		text += " " + c.Args
	}
	return text
}

func (c Command) said() []Command { return []Command{c} }

// A Text knows the commands in it. It is an argument of a format, or an error.
type Text struct {
	text     string
	commands []Command
}

// Say is a text with the commands that are among the arguments of its format.
func Say(format string, args ...any) Text { return Text{fmt.Sprintf(format, args...), said(args)} }

func (t Text) String() string  { return t.text }
func (t Text) Error() string   { return t.text }
func (t Text) said() []Command { return t.commands }

// Commands are those in the text.
func (t Text) Commands() []Command { return t.commands }

// said are the commands in what is put into a text, also those of errors within errors.
func said(args []any) (all []Command) {
	for _, a := range args {
		var t interface{ said() []Command }
		if err, ok := a.(error); ok && errors.As(err, &t) {
			all = append(all, t.said()...)
		} else if t, ok := a.(interface{ said() []Command }); ok {
			all = append(all, t.said()...)
		}
	}
	return all
}

// As are the problems with each command as the given function has it.
func (l List) As(run func(Command) Command) List {
	l = slices.Clone(l)
	for i := range l {
		l[i] = l[i].as(run)
	}
	return l
}

func (d Diagnostic) as(run func(Command) Command) Diagnostic {
	if len(d.Commands) == 0 {
		return d
	}
	d.Summary, d.Detail = restate(d.Summary, d.Commands, run), restate(d.Detail, d.Commands, run)
	d.Commands = slices.Clone(d.Commands)
	for i, c := range d.Commands {
		d.Commands[i] = run(c)
	}
	return d
}

// restate says the commands of a text in other words, where they are words of their own.
func restate(text string, all []Command, run func(Command) Command) string {
	all = slices.Clone(all)
	// One may begin as another one does: the longer ones are looked for first.
	slices.SortStableFunc(all, func(a, b Command) int { return cmp.Compare(len(b.String()), len(a.String())) })
	var out strings.Builder
	for text != "" {
		i := slices.IndexFunc(all, func(c Command) bool {
			rest, ok := strings.CutPrefix(text, c.String())
			return ok && (rest == "" || !inWord(rest[0])) && (out.Len() == 0 || !inWord(out.String()[out.Len()-1]))
		})
		if i < 0 {
			out.WriteByte(text[0])
			text = text[1:]
			continue
		}
		out.WriteString(run(all[i]).String())
		text = text[len(all[i].String()):]
	}
	return out.String()
}

func inWord(b byte) bool {
	return b == '_' || b == '-' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}
