package webui

import (
	"context"
	_ "embed"
	"html"
	"net/http"
	"strconv"
	"strings"

	"weir.dev/weir/internal/ui/view/sanitize"
)

//go:embed board.html
var boardMarkup string

//go:embed board.js
var boardScript string

// Divide makes the page a board with a card for each part of the run, which leads to a page
// of its own. It returns what serves these, in the order of their names.
func (s *Server) Divide(names []string) []*Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, name := range names {
		part := New(s.token, s.now)
		part.name, part.card = sanitize.Line(name), card{Part: i, Name: sanitize.Line(name), Heading: "Waiting…"}
		part.changed = func(c card) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.put(c)
		}
		s.parts = append(s.parts, part)
		s.put(part.card)
	}
	return s.parts
}

// Part is the one of a name.
func (s *Server) Part(name string) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range s.parts {
		if part.name == sanitize.Line(name) {
			return part
		}
	}
	return nil
}

// Over says on a board that all parts have ended. If it waits, their pages can be inspected
// until somebody ends that, or the context ends.
func (s *Server) Over(ctx context.Context, done, waits bool, say func(string)) {
	heading := "Everything is done"
	if !done {
		heading = "Not everything was done"
	}
	s.mu.Lock()
	s.add("over", map[string]any{"heading": heading, "failed": !done})
	s.mu.Unlock()
	if waits && ctx.Err() == nil {
		say("\nThe pages stay until Close is chosen on the board, or an interrupt.\n")
		_, _ = s.Ask(ctx, 0, nil, "end") // either way it is over
	}
}

// A card is what a board shows of a part.
type card struct {
	Part    int    `json:"part"`
	Name    string `json:"name"`
	Heading string `json:"heading"`
	// Mood is how it ended, or that its plan failed; empty before.
	Mood Mood `json:"mood"`
	// Asks: it waits for an answer, about the plan of that number.
	Asks     bool `json:"asks"`
	Plan     int  `json:"plan"`
	Problems int  `json:"problems"`
	Done     int  `json:"done"`
	Failed   int  `json:"failed"`
	Of       int  `json:"of"`
	// Looked and Known are objects that were queried, and how many there are.
	Looked int `json:"looked"`
	Known  int `json:"known"`
}

// put has the board show a card in place of the one of the same part; it needs the lock.
func (s *Server) put(c card) {
	kind := "card " + strconv.Itoa(c.Part)
	for i := range s.log {
		if s.log[i].kind == kind {
			s.log = append(s.log[:i], s.log[i+1:]...)
			break
		}
	}
	s.write(kind, map[string]any{"type": "card", "card": c})
}

// noted takes a message into the card of a part, and reports whether that shows; it needs
// the lock.
func (c *card) noted(kind string, payload map[string]any) bool {
	before := *c
	switch kind {
	case "planning":
		*c = card{Part: c.Part, Name: c.Name, Heading: "Planning…"}
	case "looked":
		c.Looked, _ = payload["done"].(int)
		c.Known, _ = payload["of"].(int)
	case "planned", "end", "result":
		c.Heading, _ = payload["heading"].(string)
		c.Asks, c.Looked, c.Mood = false, 0, ""
		c.Mood, _ = payload["mood"].(Mood)
		if kind == "planned" {
			c.Of = 0
		}
		if failed, _ := payload["failed"].(bool); failed {
			c.Mood = Failed
		}
	case "ask":
		c.Asks = true
		c.Plan, _ = payload["plan"].(int)
	case "answered", "withdrawn":
		c.Asks = false
	case "applying":
		c.Heading, c.Done, c.Failed = "Applying…", 0, 0
		c.Of, _ = payload["of"].(int)
	case "count":
		c.Done, _ = payload["done"].(int)
		c.Failed, _ = payload["failed"].(int)
	case "stopping":
		c.Heading = "Stopping…"
	case "problems":
		if errors, _ := payload["errors"].(bool); errors {
			c.Problems++
		}
	}
	return *c != before
}

// routeParts serves the pages of the parts below the one of the board.
func (s *Server) routeParts(mux *http.ServeMux, at string) {
	mux.HandleFunc(at+"part/{part}/", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		parts := s.parts
		s.mu.Unlock()
		i, err := strconv.Atoi(r.PathValue("part"))
		below := at + "part/" + r.PathValue("part") + "/"
		if err != nil || i < 0 || i >= len(parts) || !strings.HasPrefix(r.URL.Path, below) {
			http.NotFound(w, r)
			return
		}
		own := http.NewServeMux()
		parts[i].route(own, below)
		own.ServeHTTP(w, r)
	})
}

// written is the page with its script: that of a run, of a part of one, or the board.
func (s *Server) written() (page, program string) {
	s.mu.Lock()
	board, name := s.parts != nil, s.name
	s.mu.Unlock()
	if board {
		return strings.NewReplacer("{{css}}", css, "{{script}}", boardScript).Replace(boardMarkup), boardScript
	}
	up := ""
	if name != "" {
		up = `<nav aria-label="Where this is"><a href="../../">All deployments</a> <strong id="part">` + html.EscapeString(name) + "</strong></nav>"
	}
	return strings.NewReplacer("{{css}}", css, "{{script}}", script, "{{up}}", up).Replace(markup), script
}
