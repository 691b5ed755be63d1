package output

import (
	"bufio"
	"encoding/json"
	"io"
	"os"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/ui/view/stream"
)

// A Form says what -json and -json-into make of the results of a command.
type Form int

// The forms.
const (
	// Own: the command registers what it has of them, and begins its output itself.
	Own Form = iota
	// Messages: each thing that is said is a message of a stream.
	Messages
	// Document: the result is one JSON object.
	Document
	// Verdict: the result is one JSON object that has the problems, too.
	Verdict
	// Either are messages, but a document with Terraform.
	Either
)

// Begin begins the output of a command with results of such a form; Own is for one that
// shows what it does.
func (s *Screen) Begin(f Form) int {
	if f == Either {
		if f = Messages; s.Dialect == dialect.Terraform {
			f = Document
		}
	}
	switch f {
	case Own:
		return s.Start()
	case Document, Verdict:
		file, code := s.file()
		if file != nil {
			s.document = file
		}
		return code
	}
	if code := s.open(); code != 0 {
		return code
	}
	s.messages = s.Stream != nil
	return 0
}

// open opens the stream for programs, if one is wanted.
func (s *Screen) open() int {
	file, code := s.file()
	switch {
	case code != 0:
		return code
	case file != nil:
		s.Stream = stream.NewJSON(file, s.Dialect, nil)
		s.document = file
	case s.JSON:
		s.Stream = stream.NewJSON(s.lines(), s.Dialect, nil)
	default:
		return 0
	}
	s.closers = append(s.closers, s.Stream.Close)
	return 0
}

// file opens the one that -json-into names, nil where it names none.
func (s *Screen) file() (*os.File, int) {
	switch {
	case s.Into == "":
		return nil, 0
	case s.JSON:
		return nil, s.Fail(diag.BadOption.As("Invalid output format"), "The -json and -json-into arguments are mutually exclusive")
	}
	file, err := os.OpenFile(s.Into, os.O_TRUNC|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, s.Fail(diag.BadOption.As("Invalid argument"), "Unable to open the file %q specified by -json-into for writing: %s", s.Into, diag.Cause(err))
	}
	s.closers = append(s.closers, func() { file.Close() })
	return file, 0
}

// programs is where documents for programs go, nil where none is wanted.
func (s *Screen) programs() io.Writer {
	if s.document == nil && s.JSON {
		return s.Out
	}
	return s.document
}

// Documented reports whether a document for programs is wanted.
func (s *Screen) Documented() bool { return s.programs() != nil }

// Result shows what came of a command: the document where programs want it, and the text
// unless they alone do.
func (s *Screen) Result(what string, document func() ([]byte, error), text func() int) int {
	return s.ResultTo(what, whole(document), text)
}

// ResultTo is Result for a document that is written bit by bit. It is cut off after an error.
func (s *Screen) ResultTo(what string, document func(io.Writer) error, text func() int) int {
	if w := s.programs(); w != nil {
		if code := s.marshalled(w, document, what); code != 0 {
			return code
		}
	}
	if s.JSON {
		return 0
	}
	return text()
}

// whole writes a document at once.
func whole(document func() ([]byte, error)) func(io.Writer) error {
	return func(w io.Writer) error {
		text, err := document()
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
}

func (s *Screen) marshalled(to io.Writer, document func(io.Writer) error, what string) int {
	w := bufio.NewWriterSize(to, 64<<10)
	err := document(w)
	if _, failed := w.Write(nil); failed != nil { // what it returned after that isn't of its own
		return s.Written(failed)
	}
	if err != nil {
		return s.Fail(diag.Unwritable.As("Failed to marshal "+what+" to json"), "%s.", err)
	}
	w.WriteByte('\n')
	return s.Written(w.Flush())
}

// Messaging reports whether results are messages of a stream.
func (s *Screen) Messaging() bool { return s.messages && s.Stream != nil }

// List shows things, a line or a message of the given type for each.
func (s *Screen) List(typ string, lines []string) {
	if s.Messaging() {
		for _, line := range lines {
			s.Stream.Info(line, typ, nil)
		}
	}
	if s.Messaging() && s.JSON {
		return
	}
	w := bufio.NewWriter(s.Out)
	defer w.Flush()
	for _, line := range lines {
		w.WriteString(line)
		w.WriteByte('\n')
	}
}

// Document prints a document that is for programs, unless it couldn't be made.
func (s *Screen) Document(text []byte, err error, what string) int {
	return s.marshalled(s.Out, whole(func() ([]byte, error) { return text, err }), what)
}

// PrintJSON prints a value as an indented JSON document.
func (s *Screen) PrintJSON(v any) int {
	text, err := json.MarshalIndent(v, "", "  ")
	return s.Document(text, err, "the result")
}
